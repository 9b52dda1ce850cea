/*
 * act.c: activations, alone (act) and as the gate of another value (glu), and their gradients. All
 * work by rows, on the live elements of ragged tensors.
 */
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/vecmath.h"

#define ROOT_2_BY_PI 0.79788456f
#define GELU_CUBIC   0.044715f
#define GELU_SLOPE   (2 * ROOT_2_BY_PI)

/* ---- one element ---------------------------------------------------------------- */

/* tanh's form of GELU is x sigmoid(2 u): no digits cancel where it vanishes. */
static inline float gelu_sigmoid(float x)
{
    return vec_sigmoid(x * (GELU_SLOPE + GELU_SLOPE * GELU_CUBIC * (x * x)));
}

/* s: gelu_sigmoid(x). A NaN x gives the slope of a bound; the other factor stays NaN. */
static inline float gelu_slope(float x, float s)
{
    float t = vec_within(x, 16); /* beyond, the slope is 1 and 0, but powers overflow */

    return s + t * (s - s * s) * (GELU_SLOPE + 3 * GELU_SLOPE * GELU_CUBIC * (t * t));
}

static inline float gelu_erf_slope(float x)
{
    return vec_normal(x) + x * vec_exp_down(-0.5f * (x * x)) * (0.5f * ROOT_2_BY_PI);
}

/* s: vec_sigmoid(x) */
static inline float silu_slope(float x, float s)
{
    return s * (1 + x * (1 - s));
}

/* A NaN stays NaN, also in ReLU. */
static inline __attribute__((always_inline)) float value(float x, const int act)
{
    switch (act) {
    case HPC_GELU_TANH: return x * gelu_sigmoid(x);
    case HPC_GELU_ERF: return x * vec_normal(x);
    case HPC_SILU: return x * vec_sigmoid(x);
    case HPC_RELU: return x < 0 ? 0 : x;
    case HPC_RELU2: return x < 0 ? 0 : x * x;
    case HPC_TANH: return vec_tanh(x);
    default: return x;
    }
}

static inline __attribute__((always_inline)) float slope(float x, const int act)
{
    switch (act) {
    case HPC_GELU_TANH: return gelu_slope(x, gelu_sigmoid(x));
    case HPC_GELU_ERF: return gelu_erf_slope(x);
    case HPC_SILU: return silu_slope(x, vec_sigmoid(x));
    case HPC_RELU: return x > 0 ? 1 : 0;
    case HPC_RELU2: return x > 0 ? 2 * x : 0;
    case HPC_TANH: return vec_tanh_slope(x);
    default: return 1;
    }
}

/* Both, for what they share takes longest. */
static inline __attribute__((always_inline)) float slope_and_value(float *y, float x, const int act)
{
    float s;

    switch (act) {
    case HPC_GELU_TANH:
        s = gelu_sigmoid(x);
        *y = x * s;
        return gelu_slope(x, s);
    case HPC_SILU:
        s = vec_sigmoid(x);
        *y = x * s;
        return silu_slope(x, s);
    default: *y = value(x, act); return slope(x, act);
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
#pragma omp simd
        for (int i = 0; i < BLOCK; i++) dx[i] = dy[i] * s[i];
    }
    if (n == 0) return;
    memcpy(x_last, x, (size_t)n * sizeof *x);
    block_slope(s, x_last, act);
    for (int64_t i = 0; i < n; i++) dx[i] = dy[i] * s[i];
}

/* Gradients of act(gate) up. They may lie where an input does. */
static inline __attribute__((always_inline)) void block_glu(float *dgate, float *dup,
                                                            const float *dy, const float *gate,
                                                            const float *up, const int act)
{
    float y[BLOCK], s[BLOCK], to_gate[BLOCK], to_up[BLOCK];

#pragma omp simd
    for (int i = 0; i < BLOCK; i++) s[i] = slope_and_value(y + i, gate[i], act);
#pragma omp simd
    for (int i = 0; i < BLOCK; i++) {
        to_gate[i] = dy[i] * up[i] * s[i];
        to_up[i] = dy[i] * y[i];
    }
    memcpy(dgate, to_gate, sizeof to_gate);
    memcpy(dup, to_up, sizeof to_up);
}

static inline __attribute__((always_inline)) void glu_slopes(float *dgate, float *dup,
                                                             const float *dy, const float *gate,
                                                             const float *up, int64_t n,
                                                             const int act)
{
    float last[5][BLOCK] = {{0}};
    int64_t i = 0;

    for (; i + BLOCK <= n; i += BLOCK) block_glu(dgate + i, dup + i, dy + i, gate + i, up + i, act);
    size_t rest = (size_t)(n - i) * sizeof *dy;
    if (rest == 0) return;
    memcpy(last[0], dy + i, rest);
    memcpy(last[1], gate + i, rest);
    memcpy(last[2], up + i, rest);
    block_glu(last[3], last[4], last[0], last[1], last[2], act);
    memcpy(dgate + i, last[3], rest);
    memcpy(dup + i, last[4], rest);
}

void HPC_WIDTH(cpu_activate)(float *y, const float *x, int64_t n, int act)
{
    switch (act) {
    case HPC_GELU_TANH: values(y, x, n, HPC_GELU_TANH); break;
    case HPC_GELU_ERF: values(y, x, n, HPC_GELU_ERF); break;
    case HPC_SILU: values(y, x, n, HPC_SILU); break;
    case HPC_RELU: values(y, x, n, HPC_RELU); break;
    case HPC_RELU2: values(y, x, n, HPC_RELU2); break;
    case HPC_TANH: values(y, x, n, HPC_TANH); break;
    default: values(y, x, n, HPC_ACT_NONE);
    }
}

void HPC_WIDTH(cpu_activate_grad)(float *dx, const float *dy, const float *x, int64_t n, int act)
{
    switch (act) {
    case HPC_GELU_TANH: slopes(dx, dy, x, n, HPC_GELU_TANH); break;
    case HPC_GELU_ERF: slopes(dx, dy, x, n, HPC_GELU_ERF); break;
    case HPC_SILU: slopes(dx, dy, x, n, HPC_SILU); break;
    case HPC_RELU: slopes(dx, dy, x, n, HPC_RELU); break;
    case HPC_RELU2: slopes(dx, dy, x, n, HPC_RELU2); break;
    case HPC_TANH: slopes(dx, dy, x, n, HPC_TANH); break;
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
        HPC_WIDTH(cpu_activate)(y, x, s.n, a->attr.act);
        put(&a->y, s.at, y, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_act)(hpc_plan *p, int workers, const hpc_act_args *a)
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
        HPC_WIDTH(cpu_activate_grad)(dx, dy, x, s.n, a->attr.act);
        put(&a->dx, s.at, dx, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_act_grad)(hpc_plan *p, int workers, const hpc_act_grad_args *a)
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
    float gate_buffer[CHUNK], up_buffer[CHUNK], act[CHUNK], y_buffer[CHUNK];
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->gate, l);
    for (stretch s; (s = chunk_from(&a->gate, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *gate = load(gate_buffer, &a->gate, s.at, s.n);
        const float *up = load(up_buffer, &a->up, s.at, s.n);
        float *y = place(y_buffer, &a->y, s.at);
        HPC_WIDTH(cpu_activate)(act, gate, s.n, a->attr.act);
        multiply(y, act, up, s.n);
        put(&a->y, s.at, y, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_glu)(hpc_plan *p, int workers, const hpc_glu_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = glu_run, .name = "glu_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"gate", &a->gate, TAKES_REAL},
                                          {"up", &a->up, TAKES_REAL},
                                          {0}});
}

/* Pieces of both gradients are complete before either is stored, so either may lie in an input's
 * memory. */
static int glu_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_glu_grad_args *a = args;
    float gate_buffer[CHUNK], up_buffer[CHUNK], dy_buffer[CHUNK], dgate_buffer[CHUNK];
    float dup_buffer[CHUNK];
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->gate, l);
    for (stretch s; (s = chunk_from(&a->gate, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *gate = load(gate_buffer, &a->gate, s.at, s.n);
        const float *up = load(up_buffer, &a->up, s.at, s.n);
        const float *dy = load(dy_buffer, &a->dy, s.at, s.n);
        float *dgate = place(dgate_buffer, &a->dgate, s.at);
        float *dup = place(dup_buffer, &a->dup, s.at);
        switch (a->attr.act) {
        case HPC_GELU_TANH: glu_slopes(dgate, dup, dy, gate, up, s.n, HPC_GELU_TANH); break;
        case HPC_GELU_ERF: glu_slopes(dgate, dup, dy, gate, up, s.n, HPC_GELU_ERF); break;
        case HPC_SILU: glu_slopes(dgate, dup, dy, gate, up, s.n, HPC_SILU); break;
        case HPC_RELU: glu_slopes(dgate, dup, dy, gate, up, s.n, HPC_RELU); break;
        case HPC_RELU2: glu_slopes(dgate, dup, dy, gate, up, s.n, HPC_RELU2); break;
        case HPC_TANH: glu_slopes(dgate, dup, dy, gate, up, s.n, HPC_TANH); break;
        default: glu_slopes(dgate, dup, dy, gate, up, s.n, HPC_ACT_NONE);
        }
        put(&a->dgate, s.at, dgate, s.n);
        put(&a->dup, s.at, dup, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_glu_grad)(hpc_plan *p, int workers, const hpc_glu_grad_args *a)
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
