/*
 * norm.c: RMS and layer normalisation over the last extent.
 */
#include "runtime/device/ref/priv.h"

static void row_stats(double *mean, double *rstd, const hpc_tensor *x, int64_t r,
                      const hpc_norm_attr *attr)
{
    int64_t n = hpc_tensor_cols(x);
    double sum = 0, square = 0;
    for (int64_t c = 0; c < n; c++) sum += hpc_ref_get(x, r * n + c);
    *mean = attr->kind == HPC_LAYER ? sum / (double)n : 0;
    for (int64_t c = 0; c < n; c++) {
        double e = hpc_ref_get(x, r * n + c) - *mean;
        square += e * e;
    }
    *rstd = 1 / sqrt(square / (double)n + attr->eps);
}

static int norm_run(const hpc_launch *l, const void *args)
{
    const hpc_norm_args *g = args;
    int64_t n = hpc_tensor_cols(&g->x), lo, hi;
    share_rows(&lo, &hi, &g->x, l);
    for (int64_t r = lo; r < hi; r++) {
        double mean, rstd;
        if (!hpc_tensor_row_live(&g->x, r)) continue;
        row_stats(&mean, &rstd, &g->x, r, &g->attr);
        if (present(&g->stats)) {
            hpc_ref_set(&g->stats, r * 2, mean);
            hpc_ref_set(&g->stats, r * 2 + 1, rstd);
        }
        for (int64_t c = 0; c < n; c++) {
            double v = (hpc_ref_get(&g->x, r * n + c) - mean) * rstd;
            if (present(&g->w)) v *= hpc_ref_get(&g->w, c);
            if (present(&g->b)) v += hpc_ref_get(&g->b, c);
            hpc_ref_set(&g->y, r * n + c, v);
        }
    }
    return 0;
}

int hpc_ref_norm(hpc_plan *p, int workers, const hpc_norm_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, norm_run, "ref_norm");
}

/* (x - mean) rstd at (r, c). */
static double normal(const hpc_norm_grad_args *g, int64_t r, int64_t c)
{
    double mean = hpc_ref_get(&g->stats, r * 2), rstd = hpc_ref_get(&g->stats, r * 2 + 1);
    return (hpc_ref_get(&g->x, r * hpc_tensor_cols(&g->x) + c) - mean) * rstd;
}

/* The gradient that reaches the normalised value. */
static double inner(const hpc_norm_grad_args *g, int64_t r, int64_t c)
{
    double w = present(&g->w) ? hpc_ref_get(&g->w, c) : 1;
    return hpc_ref_get(&g->dy, r * hpc_tensor_cols(&g->x) + c) * w;
}

/* dx = rstd (i - mean(i) - n mean(i n)) with i = inner, n = normal; RMS has no mean(i). */
static void grad_row(const hpc_norm_grad_args *g, int64_t r)
{
    int64_t n = hpc_tensor_cols(&g->x);
    double rstd = hpc_ref_get(&g->stats, r * 2 + 1), along = 0, mean = 0;
    for (int64_t c = 0; c < n; c++) {
        along += inner(g, r, c) * normal(g, r, c) / (double)n;
        mean += inner(g, r, c) / (double)n;
    }
    if (g->attr.kind == HPC_RMS) mean = 0;
    for (int64_t c = 0; c < n; c++) {
        double v = rstd * (inner(g, r, c) - mean - normal(g, r, c) * along);
        hpc_ref_put(&g->dx, r * n + c, v);
    }
}

static void grad_weights(const hpc_norm_grad_args *g, int64_t c)
{
    int64_t rows = hpc_tensor_rows(&g->x), n = hpc_tensor_cols(&g->x);
    double dw = 0, db = 0;
    for (int64_t r = 0; r < rows; r++) {
        if (!hpc_tensor_row_live(&g->x, r)) continue;
        double dy = hpc_ref_get(&g->dy, r * n + c);
        dw += dy * normal(g, r, c);
        db += dy;
    }
    if (present(&g->dw)) hpc_ref_put(&g->dw, c, dw);
    if (present(&g->db)) hpc_ref_put(&g->db, c, db);
}

static int norm_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_norm_grad_args *g = args;
    int64_t lo, hi;
    if (present(&g->dx)) {
        share_rows(&lo, &hi, &g->x, l);
        for (int64_t r = lo; r < hi; r++) {
            if (hpc_tensor_row_live(&g->x, r)) grad_row(g, r);
        }
    }
    if (present(&g->dw) || present(&g->db)) {
        hpc_share(&lo, &hi, hpc_tensor_cols(&g->x), 1, l->worker, l->workers);
        for (int64_t c = lo; c < hi; c++) grad_weights(g, c);
    }
    return 0;
}

int hpc_ref_norm_grad(hpc_plan *p, int workers, const hpc_norm_grad_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, norm_grad_run, "ref_norm_grad");
}
