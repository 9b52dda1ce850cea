/*
 * bundle.c: concatenates several tensors part by part. It copies bits of any type.
 */
#include "runtime/device/cpu/kernels/priv.h"

/* Every worker takes its share of each piece. */
static int bundle_run(const hpc_launch *l, const void *args)
{
    const hpc_bundle_args *a = args;
    size_t size = hpc_dtype_get((hpc_dtype)a->y.dtype)->block_bytes;
    int64_t at = 0;

    for (int64_t part = 0; part < a->attr.parts; part++)
        for (int k = 0; k < HPC_BUNDLE_MAX && a->x[k].data; k++) {
            int64_t n = hpc_tensor_n(&a->x[k]) / a->attr.parts, lo, hi;
            hpc_share(&lo, &hi, n, 16, l->worker, l->workers);
            if (hi > lo)
                memcpy((char *)a->y.data + (size_t)(at + lo) * size,
                       (const char *)a->x[k].data + (size_t)(part * n + lo) * size,
                       (size_t)(hi - lo) * size);
            at += n;
        }
    return 0;
}

int HPC_WIDTH(cpu_bundle)(hpc_plan *p, int workers, const hpc_bundle_args *a)
{
    unsigned any = TAKES_REAL | 1u << HPC_F16 | TAKES_I32 | TAKES_I64;

    (void)workers;
    return accept(p, (hpc_plan){.run = bundle_run, .name = "bundle_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, any}, {"x0", &a->x[0], any}, {0}});
}
