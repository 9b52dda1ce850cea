/*
 * update.c: element-wise updates of SGD and AdamW, the two parts of AdamW, its accumulation, and
 * the test that enables them. Elements are divided among workers in whole cache lines.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/priv.h"

enum { LINE = 64 }; /* elements: whole cache lines of every dtype */

/* ---- sgd ------------------------------------------------------------------------------------ */

static int sgd_run(const hpc_launch *l, const void *args)
{
    const hpc_sgd_args *a = args;
    float lr = scalar_of(&a->lr), momentum = (float)a->attr.momentum, decay = (float)a->attr.decay;
    float ahead = a->attr.nesterov ? momentum : 1, now = a->attr.nesterov ? 1 : 0;
    float buffer[CHUNK];
    int64_t lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_n(&a->param), LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        n = least(CHUNK, hi - lo);
        float *param = (float *)a->param.data + lo, *mom = (float *)a->mom.data + lo;
        const float *grad = load(buffer, &a->grad, lo, n);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float g = grad[i] + decay * param[i];
            mom[i] = momentum * mom[i] + g;
            param[i] -= lr * (now * g + ahead * mom[i]);
        }
    }
    return 0;
}

int HPC_WIDTH(cpu_sgd)(hpc_plan *p, int workers, const hpc_sgd_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = sgd_run, .name = "sgd_" HPC_ISA_TEXT},
                  (const operand_check[]){{"param", &a->param, TAKES_F32},
                                          {"mom", &a->mom, TAKES_F32},
                                          {"grad", &a->grad, TAKES_REAL},
                                          {"lr", &a->lr, TAKES_F32},
                                          {0}});
}

/* ---- adamw ---------------------------------------------------------------------------------- */

typedef struct factors {
    float clip, keep; /* of the gradient; of the parameter, as it decays */
    float beta1, rest1, beta2, rest2;
    float rate, root, eps; /* param -= rate m / (root sqrt(v) + eps) */
} factors;

static factors factors_of(const hpc_adamw_attr *t, double lr, const hpc_tensor *clip, int32_t step)
{
    double bias1 = 1 - pow(t->beta1, step), bias2 = 1 - pow(t->beta2, step);

    return (factors){.clip = clip->data ? scalar_of(clip) : 1,
                     .keep = (float)(1 - lr * t->decay),
                     .beta1 = (float)t->beta1,
                     .rest1 = (float)(1 - t->beta1),
                     .beta2 = (float)t->beta2,
                     .rest2 = (float)(1 - t->beta2),
                     .rate = (float)(lr / bias1),
                     .root = (float)(1 / sqrt(bias2)),
                     .eps = (float)t->eps};
}

static int early_step(const hpc_launch *l, const char *op, int32_t step)
{
    return hpc_kernel_fault(l, &(hpc_fault){.kind = HPC_FAULT_STEP, .at.op = op, .number = {step}});
}

static int adamw_run(const hpc_launch *l, const void *args)
{
    const hpc_adamw_args *a = args;
    int32_t step = *(const int32_t *)a->step.data;
    float buffer[CHUNK];
    int64_t lo, hi;

    if (step < 1) return early_step(l, "adamw", step);
    factors f = factors_of(&a->attr, (double)scalar_of(&a->lr), &a->clip, step);
    hpc_share(&lo, &hi, hpc_tensor_n(&a->param), LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        n = least(CHUNK, hi - lo);
        float *param = (float *)a->param.data + lo;
        float *m = (float *)a->m.data + lo, *v = (float *)a->v.data + lo;
        const float *grad = load(buffer, &a->grad, lo, n);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float g = f.clip * grad[i];
            m[i] = f.beta1 * m[i] + f.rest1 * g;
            v[i] = f.beta2 * v[i] + f.rest2 * (g * g);
            param[i] = f.keep * param[i] - f.rate * m[i] / (f.root * sqrtf(v[i]) + f.eps);
        }
        if (a->half.data) store(&a->half, lo, param, n);
    }
    return 0;
}

int HPC_WIDTH(cpu_adamw)(hpc_plan *p, int workers, const hpc_adamw_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = adamw_run, .name = "adamw_" HPC_ISA_TEXT},
                  (const operand_check[]){{"param", &a->param, TAKES_F32},
                                          {"m", &a->m, TAKES_F32},
                                          {"v", &a->v, TAKES_F32},
                                          {"half", &a->half, 1 << HPC_BF16},
                                          {"grad", &a->grad, TAKES_REAL},
                                          {"lr", &a->lr, TAKES_F32},
                                          {"step", &a->step, TAKES_I32},
                                          {"clip", &a->clip, TAKES_F32},
                                          {0}});
}

/* ---- adam ----------------------------------------------------------------------------------- */

/* u and what it is made from may be the same elements. */
static void direct(float *u, float *m, float *v, const float *grad, int64_t n, const factors *by)
{
    factors f = *by;

#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float g = f.clip * grad[i];
        m[i] = f.beta1 * m[i] + f.rest1 * g;
        v[i] = f.beta2 * v[i] + f.rest2 * (g * g);
        u[i] = f.rate * m[i] / (f.root * sqrtf(v[i]) + f.eps);
    }
}

static void direct_top(float *u, const float *top, float *v, const float *grad, int64_t n,
                       const factors *by)
{
    factors f = *by;

#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float g = f.clip * grad[i];
        v[i] = f.beta2 * v[i] + f.rest2 * (g * g);
        u[i] = f.rate * top[i] / (f.root * sqrtf(v[i]) + f.eps);
    }
}

static int adam_run(const hpc_launch *l, const void *args)
{
    const hpc_adam_args *a = args;
    int32_t step = *(const int32_t *)a->step.data;
    float grads[CHUNK], tops[CHUNK];
    int64_t lo, hi;

    if (step < 1) return early_step(l, "adam", step);
    factors f = factors_of(&a->attr, 1, &a->clip, step);
    hpc_share(&lo, &hi, hpc_tensor_n(&a->v), LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        n = least(CHUNK, hi - lo);
        float *u = (float *)a->u.data + lo, *v = (float *)a->v.data + lo;
        const float *grad = load(grads, &a->grad, lo, n);
        if (a->m.data)
            direct(u, (float *)a->m.data + lo, v, grad, n, &f);
        else
            direct_top(u, load(tops, &a->top, lo, n), v, grad, n, &f);
    }
    return 0;
}

int HPC_WIDTH(cpu_adam)(hpc_plan *p, int workers, const hpc_adam_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = adam_run, .name = "adam_" HPC_ISA_TEXT},
                  (const operand_check[]){{"u", &a->u, TAKES_F32},
                                          {"m", &a->m, TAKES_F32},
                                          {"v", &a->v, TAKES_F32},
                                          {"grad", &a->grad, TAKES_REAL},
                                          {"top", &a->top, TAKES_REAL},
                                          {"step", &a->step, TAKES_I32},
                                          {"clip", &a->clip, TAKES_F32},
                                          {0}});
}

/* ---- adam_add, adam_step ------------------------------------------------------------------- */

/* y and what it is made from may be the same elements. */
static void add_gradient(float *y, float *m, float *v, const float *grad, int64_t n,
                         const factors *by)
{
    factors f = *by;

#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        float x = grad[i], g = f.clip * x;
        m[i] = f.beta1 * m[i] + f.rest1 * g;
        v[i] = f.beta2 * v[i] + f.rest2 * (g * g);
        y[i] = x * x;
    }
}

static int adam_add_run(const hpc_launch *l, const void *args)
{
    const hpc_adam_add_args *a = args;
    const float *keep = a->keep.data;
    factors f = {.clip = a->clip.data ? scalar_of(&a->clip) : 1,
                 .beta1 = keep[0],
                 .beta2 = keep[1],
                 .rest1 = (float)(1 - a->attr.beta1),
                 .rest2 = (float)(1 - a->attr.beta2)};
    float buffer[CHUNK];
    int64_t lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_n(&a->m), LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        n = least(CHUNK, hi - lo);
        add_gradient((float *)a->y.data + lo, (float *)a->m.data + lo, (float *)a->v.data + lo,
                     load(buffer, &a->grad, lo, n), n, &f);
    }
    return 0;
}

int HPC_WIDTH(cpu_adam_add)(hpc_plan *p, int workers, const hpc_adam_add_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = adam_add_run, .name = "adam_add_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_F32},
                                          {"m", &a->m, TAKES_F32},
                                          {"v", &a->v, TAKES_F32},
                                          {"grad", &a->grad, TAKES_REAL},
                                          {"keep", &a->keep, TAKES_F32},
                                          {"clip", &a->clip, TAKES_F32},
                                          {0}});
}

static int adam_step_run(const hpc_launch *l, const void *args)
{
    const hpc_adam_step_args *a = args;
    int32_t step = *(const int32_t *)a->step.data;
    const hpc_tensor none = {0};
    int64_t lo, hi;

    if (step < 1) return early_step(l, "adam_step", step);
    factors f = factors_of(&a->attr, (double)scalar_of(&a->lr), &none, step);
    hpc_share(&lo, &hi, hpc_tensor_n(&a->param), LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        n = least(CHUNK, hi - lo);
        float *param = (float *)a->param.data + lo;
        const float *m = (const float *)a->m.data + lo, *v = (const float *)a->v.data + lo;
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            param[i] = f.keep * param[i] - f.rate * m[i] / (f.root * sqrtf(v[i]) + f.eps);
        if (a->half.data) store(&a->half, lo, param, n);
    }
    return 0;
}

int HPC_WIDTH(cpu_adam_step)(hpc_plan *p, int workers, const hpc_adam_step_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = adam_step_run, .name = "adam_step_" HPC_ISA_TEXT},
                  (const operand_check[]){{"param", &a->param, TAKES_F32},
                                          {"half", &a->half, 1 << HPC_BF16},
                                          {"m", &a->m, TAKES_F32},
                                          {"v", &a->v, TAKES_F32},
                                          {"lr", &a->lr, TAKES_F32},
                                          {"step", &a->step, TAKES_I32},
                                          {0}});
}

/* ---- apply ---------------------------------------------------------------------------------- */

/* `alike` elements at a time have the same factor `by`: a matrix of a batch, or all. */
static int apply_run(const hpc_launch *l, const void *args)
{
    const hpc_apply_args *a = args;
    int64_t all = hpc_tensor_n(&a->param), lo, hi;
    int64_t alike = a->by.data && a->by.rank > 0 ? all / a->by.extent[0] : all;
    double lr = (double)scalar_of(&a->lr);
    float keep = (float)(1 - lr * a->attr.decay), buffer[CHUNK];

    hpc_share(&lo, &hi, all, LINE, l->worker, l->workers);
    for (int64_t n; lo < hi; lo += n) {
        double by = a->by.data ? (double)((const float *)a->by.data)[lo / alike] : 1;
        float rate = (float)(lr * a->attr.alpha * by);
        n = least(least(CHUNK, hi - lo), alike - lo % alike);
        float *param = (float *)a->param.data + lo;
        const float *dir = load(buffer, &a->dir, lo, n);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) param[i] = keep * param[i] - rate * dir[i];
        if (a->half.data) store(&a->half, lo, param, n);
    }
    return 0;
}

int HPC_WIDTH(cpu_apply)(hpc_plan *p, int workers, const hpc_apply_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = apply_run, .name = "apply_" HPC_ISA_TEXT},
                  (const operand_check[]){{"param", &a->param, TAKES_F32},
                                          {"half", &a->half, 1 << HPC_BF16},
                                          {"dir", &a->dir, TAKES_REAL},
                                          {"lr", &a->lr, TAKES_F32},
                                          {"by", &a->by, TAKES_F32},
                                          {0}});
}

/* ---- below ---------------------------------------------------------------------------------- */

static int below_run(const hpc_launch *l, const void *args)
{
    const hpc_below_args *a = args;
    float x = scalar_of(&a->x);
    bool most = !a->limit.data || x <= scalar_of(&a->limit);

    if (l->worker == 0) *(int32_t *)a->ok.data = isfinite(x) && most;
    return 0;
}

int HPC_WIDTH(cpu_below)(hpc_plan *p, int workers, const hpc_below_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = below_run, .name = "below_" HPC_ISA_TEXT},
                  (const operand_check[]){{"ok", &a->ok, TAKES_I32},
                                          {"x", &a->x, TAKES_REAL},
                                          {"limit", &a->limit, TAKES_REAL},
                                          {0}});
}
