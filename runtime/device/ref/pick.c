/*
 * pick.c: elements taken from a tensor by index, and scattered into zeros.
 */
#include "runtime/device/ref/priv.h"

static int element_check(const char *op, int64_t at, int64_t i, int64_t n)
{
    if (at < n) return 0;
    return hpc_fail(HPC_E_ARG, "%s: index %lld at %lld is past the %lld elements", op,
                    (long long)at, (long long)i, (long long)n);
}

static int pick_run(const hpc_launch *l, const void *args)
{
    const hpc_pick_args *a = args;
    int64_t lo, hi;
    hpc_share(&lo, &hi, hpc_tensor_n(&a->index), 1, l->worker, l->workers);
    for (int64_t i = lo; i < hi; i++) {
        int64_t at = hpc_ref_index(&a->index, i);
        int rc = element_check("pick", at, i, hpc_tensor_n(&a->x));
        if (rc < 0) return rc;
        hpc_ref_put(&a->y, i, at < 0 ? 0 : hpc_ref_get(&a->x, at));
    }
    return 0;
}

int hpc_ref_pick(hpc_plan *p, int workers, const hpc_pick_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, pick_run, "ref_pick");
}

static int spread_run(const hpc_launch *l, const void *args)
{
    const hpc_spread_args *a = args;
    int64_t lo, hi, n = hpc_tensor_n(&a->index);
    hpc_share(&lo, &hi, hpc_tensor_n(&a->y), 1, l->worker, l->workers);
    for (int64_t i = lo; i < hi; i++) hpc_ref_set(&a->y, i, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = hpc_ref_index(&a->index, i);
        int rc = element_check("spread", at, i, hpc_tensor_n(&a->y));
        if (rc < 0) return rc;
        if (at >= lo && at < hi) hpc_ref_set(&a->y, at, hpc_ref_get(&a->x, i));
    }
    return 0;
}

int hpc_ref_spread(hpc_plan *p, int workers, const hpc_spread_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, spread_run, "ref_spread");
}
