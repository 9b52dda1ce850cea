/*
 * route.c: tokens sorted into groups, as lists of ascending indices. Every worker reads all tokens
 * and keeps those of its own groups.
 */
#include "runtime/device/cpu/kernels/priv.h"

static int route_run(const hpc_launch *l, const void *args)
{
    const hpc_route_args *a = args;
    const int32_t *group = a->group.data;
    int32_t *index = a->index.data, *count = a->count.data;
    int64_t groups = a->attr.groups, cap = a->attr.cap, from = 0, lo, hi;

    hpc_share(&lo, &hi, groups, 1, l->worker, l->workers);
    for (int64_t e = lo; e < hi; e++) count[e] = 0;
    for (stretch s; (s = live_from(&a->group, from, hpc_tensor_n(&a->group))).n > 0;
         from = s.at + s.n) {
        for (int64_t t = s.at; t < s.at + s.n; t++) {
            int64_t e = group[t];
            if (e >= groups)
                return hpc_kernel_fault(l, &(hpc_fault){.kind = HPC_FAULT_GROUP,
                                                        .at.op = "route",
                                                        .number = {t, e, groups}});
            if (e < lo || e >= hi) continue;
            if (count[e] >= cap)
                return hpc_kernel_fault(
                    l, &(hpc_fault){.kind = HPC_FAULT_FULL, .at.op = "route", .number = {e, cap}});
            index[e * cap + count[e]++] = (int32_t)t;
        }
    }
    return 0;
}

int HPC_WIDTH(cpu_route)(hpc_plan *p, int workers, const hpc_route_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = route_run, .name = "route_" HPC_ISA_TEXT},
                  (const operand_check[]){{"index", &a->index, TAKES_I32},
                                          {"count", &a->count, TAKES_I32},
                                          {"group", &a->group, TAKES_I32},
                                          {0}});
}
