/*
 * act.c: activations, alone (act) and gating another value (glu), and their
 * gradients. All by rows, ragged tensors by their live elements.
 */
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/vecmath.h"

#define ROOT_2_BY_PI 0.79788456f
#define GELU_CUBIC   0.044715f

/* ---- one element ---------------------------------------------------------------- */

/* tanh's form of GELU is x sigmoid(2 u): no digits cancel where it vanishes. */
static inline float gelu_sigmoid(float x)
{
    return vec_sigmoid(2 * ROOT_2_BY_PI * (x + GELU_CUBIC * (x * x) * x));
}

static inline float gelu_tanh_slope(float x)
{
    float t = x > 16.0f ? 16.0f : x; /* beyond, the slope is 1 and 0, but powers overflow */
    t = t < -16.0f ? -16.0f : t;
    float s = gelu_sigmoid(t);
    return s + t * s * (1 - s) * (2 * ROOT_2_BY_PI) * (1 + 3 * GELU_CUBIC * (t * t));
}

static inline float gelu_erf_slope(float x)
{
    return vec_normal(x) + x * vec_exp(-0.5f * (x * x)) * (0.5f * ROOT_2_BY_PI);
}

static inline float silu_slope(float x)
{
    float s = vec_sigmoid(x);
    return s * (1 + x * (1 - s));
}

/* A NaN stays one, in ReLU too. */
static inline __attribute__((always_inline)) float value(float x, const int act)
{
    switch (act) {
    case HPC_GELU_TANH: return x * gelu_sigmoid(x);
    case HPC_GELU_ERF: return x * vec_normal(x);
    case HPC_SILU: return x * vec_sigmoid(x);
    case HPC_RELU: return x < 0 ? 0 : x;
    case HPC_RELU2: return x < 0 ? 0 : x * x;
    default: return x;
    }
}

static inline __attribute__((always_inline)) float slope(float x, const int act)
{
    switch (act) {
    case HPC_GELU_TANH: return gelu_tanh_slope(x);
    case HPC_GELU_ERF: return gelu_erf_slope(x);
    case HPC_SILU: return silu_slope(x);
    case HPC_RELU: return x > 0 ? 1 : 0;
    case HPC_RELU2: return x > 0 ? 2 * x : 0;
    default: return 1;
    }
}

/* ---- runs: one loop for each kind -------------------------------------------------- */

/* Elements go through the same vector code wherever a run begins or ends: the last ones are padded
 * to a block, for scalar code might round its multiply-adds otherwise. */
enum { BLOCK = 16 };

static inline __attribute__((always_inline)) void block_value(float *y, const float *x,
                                                              const int act)
{
#pragma omp simd
    for (int i = 0; i < BLOCK; i++) y[i] = value(x[i], act);
}

static inline __attribute__((always_inline)) void values(float *y, const float *x, int64_t n,
                                                         const int act)
{
    float x_last[BLOCK] = {0}, y_last[BLOCK];

    for (; n >= BLOCK; n -= BLOCK, x += BLOCK, y += BLOCK) block_value(y, x, act);
    if (n == 0) return;
    memcpy(x_last, x, (size_t)n * sizeof *x);
    block_value(y_last, x_last, act);
    memcpy(y, y_last, (size_t)n * sizeof *y);
}

/* s = act'(x); multiplied by dy in a loop of its own. */
static inline __attribute__((always_inline)) void block_slope(float *s, const float *x,
                                                              const int act)
{
#pragma omp simd
    for (int i = 0; i < BLOCK; i++) s[i] = slope(x[i], act);
}

static inline __attribute__((always_inline)) void slopes(float *dx, const float *dy, const float *x,
                                                         int64_t n, const int act)
{
    float x_last[BLOCK] = {0}, s[BLOCK];

    for (; n >= BLOCK; n -= BLOCK, x += BLOCK, dy += BLOCK, dx += BLOCK) {
        block_slope(s, x, act);
        for (int i = 0; i < BLOCK; i++) dx[i] = dy[i] * s[i];
    }
    if (n == 0) return;
    memcpy(x_last, x, (size_t)n * sizeof *x);
    block_slope(s, x_last, act);
    for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * s[i];
}

void HPC_ISA(cpu_activate)(float *y, const float *x, int64_t n, int act)
{
    switch (act) {
    case HPC_GELU_TANH: values(y, x, n, HPC_GELU_TANH); break;
    case HPC_GELU_ERF: values(y, x, n, HPC_GELU_ERF); break;
    case HPC_SILU: values(y, x, n, HPC_SILU); break;
    case HPC_RELU: values(y, x, n, HPC_RELU); break;
    case HPC_RELU2: values(y, x, n, HPC_RELU2); break;
    default: values(y, x, n, HPC_ACT_NONE);
    }
}

void HPC_ISA(cpu_activate_grad)(float *dx, const float *dy, const float *x, int64_t n, int act)
{
    switch (act) {
    case HPC_GELU_TANH: slopes(dx, dy, x, n, HPC_GELU_TANH); break;
    case HPC_GELU_ERF: slopes(dx, dy, x, n, HPC_GELU_ERF); break;
    case HPC_SILU: slopes(dx, dy, x, n, HPC_SILU); break;
    case HPC_RELU: slopes(dx, dy, x, n, HPC_RELU); break;
    case HPC_RELU2: slopes(dx, dy, x, n, HPC_RELU2); break;
    default: slopes(dx, dy, x, n, HPC_ACT_NONE);
    }
}

static inline void multiply(float *y, const float *a, const float *b, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

/* ---- act ------------------------------------------------------------------------------ */

static int act_run(const hpc_launch *l, const void *args)
{
    const hpc_act_args *a = args;
    float x_buffer[CHUNK], y_buffer[CHUNK];
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->x, l);
    for (stretch s; (s = chunk_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *x = load(x_buffer, &a->x, s.at, s.n);
        float *y = place(y_buffer, &a->y, s.at);
        HPC_ISA(cpu_activate)(y, x, s.n, a->attr.act);
        put(&a->y, s.at, y, s.n);
    }
    return 0;
}

int HPC_ISA(cpu_act)(hpc_plan *p, int workers, const hpc_act_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = act_run, .name = "act_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL}, {"x", &a->x, TAKES_REAL}, {0}});
}

static int act_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_act_grad_args *a = args;
    float x_buffer[CHUNK], dy_buffer[CHUNK], dx_buffer[CHUNK];
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->x, l);
    for (stretch s; (s = chunk_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *x = load(x_buffer, &a->x, s.at, s.n);
        const float *dy = load(dy_buffer, &a->dy, s.at, s.n);
        float *dx = place(dx_buffer, &a->dx, s.at);
        HPC_ISA(cpu_activate_grad)(dx, dy, x, s.n, a->attr.act);
        put(&a->dx, s.at, dx, s.n);
    }
    return 0;
}

int HPC_ISA(cpu_act_grad)(hpc_plan *p, int workers, const hpc_act_grad_args *a)
{
    (void)workers;
    return accept(
        p, (hpc_plan){.run = act_grad_run, .name = "act_grad_" HPC_ISA_TEXT},
        (const operand_check[]){
            {"dx", &a->dx, TAKES_REAL}, {"dy", &a->dy, TAKES_REAL}, {"x", &a->x, TAKES_REAL}, {0}});
}

/* ---- glu ------------------------------------------------------------------------------ */

static int glu_run(const hpc_launch *l, const void *args)
{
    const hpc_glu_args *a = args;
    float gate_buffer[CHUNK], up_buffer[CHUNK], y[CHUNK];
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->gate, l);
    for (stretch s; (s = chunk_from(&a->gate, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *gate = load(gate_buffer, &a->gate, s.at, s.n);
        const float *up = load(up_buffer, &a->up, s.at, s.n);
        HPC_ISA(cpu_activate)(y, gate, s.n, a->attr.act);
        multiply(y, y, up, s.n);
        put(&a->y, s.at, y, s.n);
    }
    return 0;
}

int HPC_ISA(cpu_glu)(hpc_plan *p, int workers, const hpc_glu_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = glu_run, .name = "glu_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"gate", &a->gate, TAKES_REAL},
                                          {"up", &a->up, TAKES_REAL},
                                          {0}});
}

/* Both gradients are complete before either is stored, so either may lie in an input's memory. */
static int glu_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_glu_grad_args *a = args;
    float gate_buffer[CHUNK], up_buffer[CHUNK], dy_buffer[CHUNK], dgate[CHUNK], dup[CHUNK];
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->gate, l);
    for (stretch s; (s = chunk_from(&a->gate, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *gate = load(gate_buffer, &a->gate, s.at, s.n);
        const float *up = load(up_buffer, &a->up, s.at, s.n);
        const float *dy = load(dy_buffer, &a->dy, s.at, s.n);
        multiply(dgate, dy, up, s.n);
        HPC_ISA(cpu_activate_grad)(dgate, dgate, gate, s.n, a->attr.act);
        HPC_ISA(cpu_activate)(dup, gate, s.n, a->attr.act);
        multiply(dup, dup, dy, s.n);
        put(&a->dgate, s.at, dgate, s.n);
        put(&a->dup, s.at, dup, s.n);
    }
    return 0;
}

int HPC_ISA(cpu_glu_grad)(hpc_plan *p, int workers, const hpc_glu_grad_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = glu_grad_run, .name = "glu_grad_" HPC_ISA_TEXT},
                  (const operand_check[]){{"dgate", &a->dgate, TAKES_REAL},
                                          {"dup", &a->dup, TAKES_REAL},
                                          {"dy", &a->dy, TAKES_REAL},
                                          {"gate", &a->gate, TAKES_REAL},
                                          {"up", &a->up, TAKES_REAL},
                                          {0}});
}
