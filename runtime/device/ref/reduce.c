/*
 * reduce.c: sums, maxima and the test for finite values over rows, columns or
 * everything.
 */
#include "runtime/device/ref/priv.h"

static double initial(int kind)
{
    return kind == HPC_MAX ? -INFINITY : kind == HPC_FINITE;
}

static double fold(int kind, double so_far, double v)
{
    switch ((hpc_reduce_kind)kind) {
    case HPC_SUM: return so_far + v;
    case HPC_SUMSQ: return so_far + v * v;
    case HPC_MAX: return isnan(so_far) || v <= so_far ? so_far : v; /* a NaN wins, and stays */
    default: return so_far > 0 && isfinite(v);
    }
}

/* Of the live elements of x in rows [r0, r1), columns [c0, c1). */
static double reduced(const hpc_reduce_args *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    int64_t cols = hpc_tensor_cols(&g->x);
    double v = initial(g->attr.kind);
    for (int64_t r = r0; r < r1; r++) {
        int64_t end = least(c1, hpc_ref_live_cols(&g->x, r));
        for (int64_t c = c0; c < end; c++) {
            v = fold(g->attr.kind, v, hpc_ref_get(&g->x, r * cols + c));
        }
    }
    return v;
}

static int reduce_run(const hpc_launch *l, const void *args)
{
    const hpc_reduce_args *g = args;
    int64_t rows = hpc_tensor_rows(&g->x), cols = hpc_tensor_cols(&g->x), lo, hi;
    switch ((hpc_reduce_over)g->attr.over) {
    case HPC_OVER_ALL:
        if (l->worker == 0) hpc_ref_put(&g->y, 0, reduced(g, 0, rows, 0, cols));
        break;
    case HPC_OVER_ROWS:
        hpc_share(&lo, &hi, cols, 1, l->worker, l->workers);
        for (int64_t c = lo; c < hi; c++) hpc_ref_put(&g->y, c, reduced(g, 0, rows, c, c + 1));
        break;
    case HPC_OVER_COLS:
        share_rows(&lo, &hi, &g->x, l);
        for (int64_t r = lo; r < hi; r++) {
            if (!hpc_tensor_row_live(&g->x, r)) continue;
            hpc_ref_put(&g->y, r, reduced(g, r, r + 1, 0, cols));
        }
    }
    return 0;
}

int hpc_ref_reduce(hpc_plan *p, int workers, const hpc_reduce_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, reduce_run, "ref_reduce");
}
