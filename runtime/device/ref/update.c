/*
 * update.c: the element-wise parts of optimizers, and the test that enables them.
 */
#include "runtime/device/ref/priv.h"

static int sgd_run(const hpc_launch *l, const void *args)
{
    const hpc_sgd_args *g = args;
    int64_t cols = hpc_tensor_cols(&g->param), lo, hi;
    double lr = hpc_ref_get(&g->lr, 0);
    share_rows(&lo, &hi, &g->param, l);
    for (int64_t i = lo * cols; i < hi * cols; i++) {
        double param = hpc_ref_get(&g->param, i);
        double grad = hpc_ref_get(&g->grad, i) + g->attr.decay * param;
        double mom = g->attr.momentum * hpc_ref_get(&g->mom, i) + grad;
        double step = g->attr.nesterov ? grad + g->attr.momentum * mom : mom;
        hpc_ref_set(&g->mom, i, mom);
        hpc_ref_set(&g->param, i, param - lr * step);
    }
    return 0;
}

int hpc_ref_sgd(hpc_plan *p, int workers, const hpc_sgd_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, sgd_run, "ref_sgd");
}

static int adamw_run(const hpc_launch *l, const void *args)
{
    const hpc_adamw_args *g = args;
    const hpc_adamw_attr *t = &g->attr;
    int64_t cols = hpc_tensor_cols(&g->param), lo, hi;
    double lr = hpc_ref_get(&g->lr, 0), step = (double)hpc_ref_index(&g->step, 0);
    double clip = present(&g->clip) ? hpc_ref_get(&g->clip, 0) : 1;
    double bias1 = 1 - pow(t->beta1, step), bias2 = 1 - pow(t->beta2, step);
    if (step < 1) return hpc_fail(HPC_E_ARG, "adamw: step is %g, steps count from 1", step);
    share_rows(&lo, &hi, &g->param, l);
    for (int64_t i = lo * cols; i < hi * cols; i++) {
        double grad = hpc_ref_get(&g->grad, i) * clip;
        double m = t->beta1 * hpc_ref_get(&g->m, i) + (1 - t->beta1) * grad;
        double v = t->beta2 * hpc_ref_get(&g->v, i) + (1 - t->beta2) * grad * grad;
        double param = hpc_ref_get(&g->param, i) * (1 - lr * t->decay);
        param -= lr * (m / bias1) / (sqrt(v / bias2) + t->eps);
        hpc_ref_set(&g->m, i, m);
        hpc_ref_set(&g->v, i, v);
        hpc_ref_set(&g->param, i, param);
        if (present(&g->half)) hpc_ref_set(&g->half, i, hpc_ref_get(&g->param, i));
    }
    return 0;
}

int hpc_ref_adamw(hpc_plan *p, int workers, const hpc_adamw_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, adamw_run, "ref_adamw");
}

static int adam_run(const hpc_launch *l, const void *args)
{
    const hpc_adam_args *g = args;
    const hpc_adamw_attr *t = &g->attr;
    const hpc_tensor *top = present(&g->m) ? &g->m : &g->top;
    int64_t cols = hpc_tensor_cols(&g->v), lo, hi;
    double step = (double)hpc_ref_index(&g->step, 0);
    double clip = present(&g->clip) ? hpc_ref_get(&g->clip, 0) : 1;
    double bias1 = 1 - pow(t->beta1, step), bias2 = 1 - pow(t->beta2, step);
    if (step < 1) return hpc_fail(HPC_E_ARG, "adam: step is %g, steps count from 1", step);
    share_rows(&lo, &hi, &g->v, l);
    for (int64_t i = lo * cols; i < hi * cols; i++) {
        double grad = hpc_ref_get(&g->grad, i) * clip, m = hpc_ref_get(top, i);
        double v = t->beta2 * hpc_ref_get(&g->v, i) + (1 - t->beta2) * grad * grad;
        if (present(&g->m)) {
            m = t->beta1 * m + (1 - t->beta1) * grad;
            hpc_ref_set(&g->m, i, m);
        }
        hpc_ref_set(&g->v, i, v);
        hpc_ref_set(&g->u, i, m / bias1 / (sqrt(v / bias2) + t->eps));
    }
    return 0;
}

int hpc_ref_adam(hpc_plan *p, int workers, const hpc_adam_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, adam_run, "ref_adam");
}

static int adam_add_run(const hpc_launch *l, const void *args)
{
    const hpc_adam_add_args *g = args;
    const hpc_adam_add_attr *t = &g->attr;
    int64_t cols = hpc_tensor_cols(&g->m), lo, hi;
    double keep1 = hpc_ref_get(&g->keep, 0), keep2 = hpc_ref_get(&g->keep, 1);
    double clip = present(&g->clip) ? hpc_ref_get(&g->clip, 0) : 1;
    share_rows(&lo, &hi, &g->m, l);
    for (int64_t i = lo * cols; i < hi * cols; i++) {
        double x = hpc_ref_get(&g->grad, i), grad = x * clip;
        hpc_ref_set(&g->m, i, keep1 * hpc_ref_get(&g->m, i) + (1 - t->beta1) * grad);
        hpc_ref_set(&g->v, i, keep2 * hpc_ref_get(&g->v, i) + (1 - t->beta2) * grad * grad);
        hpc_ref_set(&g->y, i, x * x);
    }
    return 0;
}

int hpc_ref_adam_add(hpc_plan *p, int workers, const hpc_adam_add_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, adam_add_run, "ref_adam_add");
}

static int adam_step_run(const hpc_launch *l, const void *args)
{
    const hpc_adam_step_args *g = args;
    const hpc_adamw_attr *t = &g->attr;
    int64_t cols = hpc_tensor_cols(&g->param), lo, hi;
    double lr = hpc_ref_get(&g->lr, 0), step = (double)hpc_ref_index(&g->step, 0);
    double bias1 = 1 - pow(t->beta1, step), bias2 = 1 - pow(t->beta2, step);
    if (step < 1) return hpc_fail(HPC_E_ARG, "adam_step: step is %g, steps count from 1", step);
    share_rows(&lo, &hi, &g->param, l);
    for (int64_t i = lo * cols; i < hi * cols; i++) {
        double param = hpc_ref_get(&g->param, i) * (1 - lr * t->decay);
        param -=
            lr * (hpc_ref_get(&g->m, i) / bias1) / (sqrt(hpc_ref_get(&g->v, i) / bias2) + t->eps);
        hpc_ref_set(&g->param, i, param);
        if (present(&g->half)) hpc_ref_set(&g->half, i, hpc_ref_get(&g->param, i));
    }
    return 0;
}

int hpc_ref_adam_step(hpc_plan *p, int workers, const hpc_adam_step_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, adam_step_run, "ref_adam_step");
}

static int apply_run(const hpc_launch *l, const void *args)
{
    const hpc_apply_args *g = args;
    int64_t cols = hpc_tensor_cols(&g->param), lo, hi;
    int64_t parts = present(&g->by) ? hpc_tensor_n(&g->by) : 1;
    int64_t alike = hpc_tensor_n(&g->param) / parts;
    double lr = hpc_ref_get(&g->lr, 0);
    share_rows(&lo, &hi, &g->param, l);
    for (int64_t i = lo * cols; i < hi * cols; i++) {
        double by = present(&g->by) ? hpc_ref_get(&g->by, i / alike) : 1;
        double param = hpc_ref_get(&g->param, i) * (1 - lr * g->attr.decay);
        hpc_ref_set(&g->param, i, param - lr * g->attr.alpha * by * hpc_ref_get(&g->dir, i));
        if (present(&g->half)) hpc_ref_set(&g->half, i, hpc_ref_get(&g->param, i));
    }
    return 0;
}

int hpc_ref_apply(hpc_plan *p, int workers, const hpc_apply_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, apply_run, "ref_apply");
}

static int below_run(const hpc_launch *l, const void *args)
{
    const hpc_below_args *g = args;
    double x = hpc_ref_get(&g->x, 0);
    bool most = !present(&g->limit) || x <= hpc_ref_get(&g->limit, 0);
    if (l->worker == 0) *(int32_t *)g->ok.data = isfinite(x) && most;
    return 0;
}

int hpc_ref_below(hpc_plan *p, int workers, const hpc_below_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, below_run, "ref_below");
}
