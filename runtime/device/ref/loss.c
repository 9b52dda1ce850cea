/*
 * loss.c: the head's product with cross-entropy, and their gradient; and the parts of softmax.
 */
#include "runtime/device/ref/priv.h"

static double logit(const hpc_tensor *x, const hpc_tensor *w, const hpc_head_attr *at, int64_t t,
                    int64_t v)
{
    int64_t h = hpc_tensor_cols(x);
    double sum = 0;
    for (int64_t e = 0; e < h; e++) sum += hpc_ref_get(x, t * h + e) * hpc_ref_get(w, v * h + e);
    return at->cap > 0 ? at->cap * tanh(sum / at->cap) : sum;
}

static double lse_of(const hpc_tensor *x, const hpc_tensor *w, const hpc_head_attr *at, int64_t t)
{
    double most = -INFINITY, sum = 0;
    for (int64_t v = 0; v < w->extent[0]; v++) most = fmax(most, logit(x, w, at, t, v));
    for (int64_t v = 0; v < w->extent[0]; v++) sum += exp(logit(x, w, at, t, v) - most);
    return most + log(sum);
}

/* Which of the words that are here. */
static int64_t word_of(const hpc_tensor *target, int64_t t, const hpc_head_attr *at,
                       const hpc_tensor *w)
{
    return hpc_part_row(hpc_ref_index(target, t), at->first, at->rows, w->extent[0]);
}

static int target_check(const hpc_tensor *target, int64_t t, const hpc_head_attr *at,
                        const hpc_tensor *w)
{
    if (word_of(target, t, at, w) != HPC_PART_PAST) return 0;
    return hpc_fail(HPC_E_ARG, "head_loss: target %lld of row %lld; the head has %lld rows",
                    (long long)hpc_ref_index(target, t), (long long)t,
                    (long long)(at->rows ? at->rows : w->extent[0]));
}

static int head_loss_run(const hpc_launch *l, const void *args)
{
    const hpc_head_loss_args *g = args;
    int64_t lo, hi;
    share_rows(&lo, &hi, &g->x, l);
    for (int64_t t = lo; t < hi; t++) {
        if (!hpc_tensor_row_live(&g->x, t)) continue;
        int64_t word = word_of(&g->target, t, &g->attr, &g->w);
        int rc = target_check(&g->target, t, &g->attr, &g->w);
        if (rc < 0) return rc;
        double lse = lse_of(&g->x, &g->w, &g->attr, t);
        double hit = word < 0 ? 0 : logit(&g->x, &g->w, &g->attr, t, word);
        hpc_ref_set(&g->lse, t, lse);
        hpc_ref_set(&g->loss, t, g->attr.part ? hit : word < 0 ? 0 : lse - hit);
    }
    return 0;
}

int hpc_ref_head_loss(hpc_plan *p, int workers, const hpc_head_loss_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, head_loss_run, "ref_head_loss");
}

/* The gradient that reaches logit (t, v): dloss (softmax - [v is the target]). */
static double logit_grad(const hpc_head_loss_grad_args *g, const double *lse, int64_t t, int64_t v)
{
    int64_t word = word_of(&g->target, t, &g->attr, &g->w);
    if (word == HPC_PART_NONE) return 0;
    double x = logit(&g->x, &g->w, &g->attr, t, v), p = exp(x - lse[t]), cap = g->attr.cap;
    double slope = cap > 0 ? (1 - x / cap) * (1 + x / cap) : 1;
    return hpc_ref_get(&g->dloss, t) * (p - (v == word)) * slope;
}

static void grad_x(const hpc_head_loss_grad_args *g, const double *lse, int64_t t, int64_t e0,
                   int64_t n)
{
    int64_t h = hpc_tensor_cols(&g->x), words = g->w.extent[0];
    double sum[REF_CHUNK] = {0};
    for (int64_t v = 0; v < words; v++) {
        double d = logit_grad(g, lse, t, v);
        for (int64_t e = 0; e < n; e++) sum[e] += d * hpc_ref_get(&g->w, v * h + e0 + e);
    }
    for (int64_t e = 0; e < n; e++) hpc_ref_put(&g->dx, t * h + e0 + e, sum[e]);
}

static void grad_w(const hpc_head_loss_grad_args *g, const double *lse, int64_t v, int64_t e0,
                   int64_t n)
{
    int64_t h = hpc_tensor_cols(&g->x), rows = hpc_tensor_rows(&g->x);
    double sum[REF_CHUNK] = {0};
    for (int64_t t = 0; t < rows; t++) {
        if (!hpc_tensor_row_live(&g->x, t)) continue;
        double d = logit_grad(g, lse, t, v);
        for (int64_t e = 0; e < n; e++) sum[e] += d * hpc_ref_get(&g->x, t * h + e0 + e);
    }
    for (int64_t e = 0; e < n; e++) hpc_ref_put(&g->dw, v * h + e0 + e, sum[e]);
}

static int targets_check(const hpc_head_loss_grad_args *g)
{
    int64_t rows = hpc_tensor_rows(&g->x);
    for (int64_t t = 0; t < rows; t++) {
        if (!hpc_tensor_row_live(&g->x, t)) continue;
        int rc = target_check(&g->target, t, &g->attr, &g->w);
        if (rc < 0) return rc;
    }
    return 0;
}

/* All of them, for this worker; the losses of its share. */
static void find_lse(const hpc_launch *l, const hpc_head_loss_grad_args *g, double *lse)
{
    int64_t lo, hi, rows = hpc_tensor_rows(&g->x);
    for (int64_t t = 0; t < rows; t++)
        if (hpc_tensor_row_live(&g->x, t))
            lse[t] = present(&g->lse) ? hpc_ref_get(&g->lse, t) : lse_of(&g->x, &g->w, &g->attr, t);
    if (!present(&g->loss)) return;
    share_rows(&lo, &hi, &g->x, l);
    for (int64_t t = lo; t < hi; t++) {
        int64_t target = hpc_ref_index(&g->target, t);
        if (hpc_tensor_row_live(&g->x, t))
            hpc_ref_set(&g->loss, t,
                        target < 0 ? 0 : lse[t] - logit(&g->x, &g->w, &g->attr, t, target));
    }
}

static int head_loss_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_head_loss_grad_args *g = args;
    int64_t h = hpc_tensor_cols(&g->x), lo, hi;
    double *lse = (double *)l->workspace + (size_t)l->worker * (size_t)hpc_tensor_rows(&g->x);
    int rc = targets_check(g);
    if (rc < 0) return rc;
    find_lse(l, g, lse);
    if (present(&g->dx)) {
        share_rows(&lo, &hi, &g->x, l);
        for (int64_t t = lo; t < hi; t++) {
            if (!hpc_tensor_row_live(&g->x, t)) continue;
            for (int64_t e = 0; e < h; e += REF_CHUNK)
                grad_x(g, lse, t, e, least(REF_CHUNK, h - e));
        }
    }
    if (present(&g->dw)) {
        hpc_share(&lo, &hi, g->w.extent[0], 1, l->worker, l->workers);
        for (int64_t v = lo; v < hi; v++) {
            for (int64_t e = 0; e < h; e += REF_CHUNK)
                grad_w(g, lse, v, e, least(REF_CHUNK, h - e));
        }
    }
    return 0;
}

int hpc_ref_head_loss_grad(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a)
{
    int rc = ref_plan(p, head_loss_grad_run, "ref_head_loss_grad");
    p->workspace = (size_t)workers * (size_t)hpc_tensor_rows(&a->x) * sizeof(double);
    return rc;
}

/* ---- soft -------------------------------------------------------------------- */

static int soft_run(const hpc_launch *l, const void *args)
{
    const hpc_soft_args *g = args;
    int64_t lo, hi;
    hpc_share(&lo, &hi, hpc_tensor_n(&g->y), 1, l->worker, l->workers);
    for (int64_t i = lo; i < hi; i++) {
        if (!hpc_ref_element_live(&g->y, i)) continue;
        bool counts = !present(&g->target) || hpc_ref_index(&g->target, i) >= 0;
        double y = hpc_soft(g->attr.kind, hpc_ref_get(&g->a, i), hpc_ref_get(&g->b, i));
        hpc_ref_set(&g->y, i, counts ? y : 0);
    }
    return 0;
}

int hpc_ref_soft(hpc_plan *p, int workers, const hpc_soft_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, soft_run, "ref_soft");
}
