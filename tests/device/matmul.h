/*
 * matmul.h: compares matrix products of every instruction set with sums in double, and bits for
 * different numbers of workers.
 */
#ifndef HPC_TESTS_DEVICE_MATMUL_H
#define HPC_TESTS_DEVICE_MATMUL_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/launch.h"

static inline int select_matmul(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->matmul(p, workers, args);
}

static inline int select_pack(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->pack(p, workers, args);
}

/* ---- cases --------------------------------------------------------------------- */

enum { NONE, PLAIN, BATCHED }; /* bias */
enum { EVEN, RAGGED };

typedef struct product {
    int64_t batch; /* 0: rank 2 */
    int64_t m, n, k;
    bool trans_a, trans_b, shared_b, panel;
    hpc_dtype y, a, b;
    int act, bias, ragged;
    bool pre, residual, adds, halves, symmetric, int8;
    bool wide;    /* operands span 60 binades */
    double alpha; /* 0: 1 */
    int32_t live[4];
} product;

static inline hpc_tensor matrix(hpc_test_heap *h, hpc_dtype d, int64_t batch, int64_t rows,
                                int64_t cols)
{
    return batch > 0 ? hpc_test_tensor(h, d, 3, batch, rows, cols, 0)
                     : hpc_test_tensor(h, d, 2, rows, cols, 0, 0);
}

static inline hpc_tensor panels_of(hpc_test_heap *h, const hpc_tensor *plain)
{
    hpc_pack_args pack = {.y = *plain, .x = *plain};

    pack.y.pack = HPC_PANEL16;
    pack.y.data = hpc_test_heap_alloc(h, hpc_tensor_bytes(&pack.y));
    memset(pack.y.data, 0xff, hpc_tensor_bytes(&pack.y));
    assert_int_equal(hpc_test_launch(select_pack, "base", 2, &pack), 0);
    return pack.y;
}

/* Draws a tensor; some i8 elements have the largest magnitude. */
static inline void drawn(hpc_tensor *t, uint32_t seed)
{
    hpc_test_tensor_draw(t, seed, t->dtype == HPC_I8 ? 70 : 1);
}

/* Scales elements by powers of two from 2^-30 to 2^30. */
static inline void widened(hpc_test_heap *h, hpc_tensor *t)
{
    double *x = hpc_test_tensor_doubles(h, t);

    for (int64_t i = 0; i < hpc_tensor_n(t); i++)
        x[i] = ldexp(x[i], (int)(hpc_random_bits(3, 0, 0, (uint64_t)i) % 61) - 30);
    hpc_test_tensor_set(t, x);
}

/* Arguments with all inputs drawn; *b is b before packing. */
static inline hpc_matmul_args args_of(hpc_test_heap *h, const product *c, hpc_tensor *b)
{
    int64_t batch = c->batch, b_batch = c->shared_b ? 0 : batch;
    hpc_matmul_args a = {.pre = hpc_test_absent(),
                         .bias = hpc_test_absent(),
                         .residual = hpc_test_absent(),
                         .attr = {.trans_a = c->trans_a,
                                  .trans_b = c->trans_b,
                                  .halves = c->halves,
                                  .symmetric = c->symmetric,
                                  .int8 = c->int8,
                                  .act = c->act,
                                  .alpha = c->alpha != 0 ? c->alpha : 1}};

    a.y = matrix(h, c->y, batch, c->m, c->n);
    drawn(&a.y, 1);
    a.y.adds = c->adds;
    a.a = matrix(h, c->a, batch, c->trans_a ? c->k : c->m, c->trans_a ? c->m : c->k);
    drawn(&a.a, 2);
    *b = matrix(h, c->b, b_batch, c->trans_b ? c->n : c->k, c->trans_b ? c->k : c->n);
    drawn(b, 3);
    if (c->wide) widened(h, &a.a), widened(h, b);
    if (c->ragged) {
        a.a.ragged = a.y.ragged = (int8_t)(batch > 0);
        a.a.count = c->live;
        if (c->trans_a) a.y.ragged = -1;
        if (c->trans_a && !c->trans_b) b->ragged = a.a.ragged, b->count = c->live;
        a.y.count = a.y.ragged < 0 ? NULL : c->live;
    }
    a.b = c->panel ? panels_of(h, b) : *b;
    if (c->bias == PLAIN) a.bias = hpc_test_tensor(h, c->y, 1, c->n, 0, 0, 0);
    if (c->bias == BATCHED) a.bias = hpc_test_tensor(h, c->y, 2, batch, c->n, 0, 0);
    if (c->bias) drawn(&a.bias, 4);
    if (c->pre) a.pre = matrix(h, c->y, batch, c->m, c->n);
    if (c->residual) a.residual = matrix(h, c->y, batch, c->m, c->n), drawn(&a.residual, 5);
    return a;
}

/* ---- the reference ---------------------------------------------------------------- */

static inline double act_of(double x, int act)
{
    switch (act) {
    case HPC_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case HPC_GELU_ERF: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case HPC_SILU: return x / (1 + exp(-x));
    case HPC_RELU: return x > 0 ? x : 0;
    case HPC_RELU2: return x > 0 ? x * x : 0;
    case HPC_TANH: return tanh(x);
    default: return x;
    }
}

typedef struct wanted {
    double *y, *pre, *size; /* size: sum of magnitudes, for the error bound */
} wanted;

static inline void halve(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float f = (float)x[i];
        uint16_t half;
        hpc_from_f32(&half, HPC_BF16, &f, 1);
        hpc_to_f32(&f, &half, HPC_BF16, 1);
        x[i] = f;
    }
}

static inline bool fixes(const product *c, const char *isa)
{
    return hpc_test_fixes(isa) && c->a == HPC_BF16 && c->b == HPC_BF16 && !c->panel;
}

/* Rounds rows to integers of magnitude at most 127 with a scale for each 32. */
static inline void round_rows(double *x, int64_t n)
{
    for (int64_t at = 0; at < n; at += 32) {
        float top = 0;
        for (int i = 0; i < 32; i++) top = fmaxf(top, fabsf((float)x[at + i]));
        float inverse = top > 0 ? 127 / top : 0, factor = top / 127;
        for (int i = 0; i < 32; i++) x[at + i] = (double)factor * rintf((float)x[at + i] * inverse);
    }
}

static inline wanted reference(hpc_test_heap *h, const product *c, const hpc_matmul_args *a,
                               const hpc_tensor *b, const char *isa)
{
    double *xa = hpc_test_tensor_doubles(h, &a->a), *xb = hpc_test_tensor_doubles(h, b);
    const double *bias = c->bias ? hpc_test_tensor_doubles(h, &a->bias) : NULL;
    const double *residual = c->residual ? hpc_test_tensor_doubles(h, &a->residual) : NULL;
    int64_t batch = c->batch > 0 ? c->batch : 1, n = hpc_tensor_n(&a->y), k = c->k;
    wanted w = {hpc_test_tensor_doubles(h, &a->y), hpc_test_heap_doubles(h, n),
                hpc_test_heap_doubles(h, n)};

    if (c->halves) {
        halve(xa, hpc_tensor_n(&a->a));
        halve(xb, hpc_tensor_n(b));
    }
    if (c->int8) round_rows(xa, hpc_tensor_n(&a->a));
    for (int64_t e = 0; e < batch && fixes(c, isa); e++) {
        if (c->ragged && c->trans_a) k = c->live[e];
        hpc_test_fix(xa + e * c->m * c->k, c->m, k, c->trans_a ? c->m : c->k, c->trans_a);
        if (e == 0 || !c->shared_b)
            hpc_test_fix(xb + e * c->n * c->k, c->n, k, c->trans_b ? c->k : c->n, !c->trans_b);
    }
    for (int64_t at = 0; at < n; at++) {
        int64_t e = at / (c->m * c->n), i = at / c->n % c->m, j = at % c->n;
        double sum = 0, size = 0;
        if (c->ragged && c->trans_a) k = c->live[e];
        for (int64_t p = 0; p < k; p++) {
            int64_t ia = e * c->m * c->k + (c->trans_a ? p * c->m + i : i * c->k + p);
            int64_t ib = (c->trans_b ? j * c->k + p : p * c->n + j);
            double t = xa[ia] * xb[(c->shared_b ? 0 : e * c->n * c->k) + ib];
            sum += t, size += fabs(t);
        }
        double x = a->attr.alpha * sum;
        if (bias) x += bias[c->bias == BATCHED ? e * c->n + j : j];
        w.pre[at] = x;
        double y = act_of(x, c->act) + (residual ? residual[at] : 0);
        w.size[at] = 2 + fabs(y) + fabs(a->attr.alpha) * size + fabs(w.y[at]);
        if (c->act == HPC_RELU2) w.size[at] *= 2 + 2 * fabs(x);
        w.y[at] = y + (c->adds ? w.y[at] : 0);
    }
    for (int64_t at = 0; at < n && c->symmetric; at++) {
        int64_t i = at / c->n % c->m, j = at % c->n, other = at + (j - i) * (c->n - 1);
        if (j > i) w.y[at] = w.y[other], w.size[at] = w.size[other];
    }
    return w;
}

/* Number of live rows; rows beyond them are not compared. */
static inline int64_t rows_live(const product *c, int64_t e)
{
    return c->ragged && !c->trans_a ? c->live[e] : c->m;
}

static inline void compare(hpc_test_heap *h, const product *c, const hpc_matmul_args *a,
                           const wanted *w, const char *isa)
{
    const double *y = hpc_test_tensor_doubles(h, &a->y);
    const double *pre = c->pre ? hpc_test_tensor_doubles(h, &a->pre) : NULL;
    double tolerance = c->y == HPC_I32 ? 0 : c->y == HPC_BF16 ? 6e-3 : 2e-6;
    char what[160];

    snprintf(what, sizeof what, "%s %lld x %lldx%lldx%lld %d%d %s*%s act %d", isa,
             (long long)c->batch, (long long)c->m, (long long)c->n, (long long)c->k, c->trans_a,
             c->trans_b, hpc_dtype_get(c->a)->name, hpc_dtype_get(c->b)->name, c->act);
    for (int64_t e = 0; e < (c->batch > 0 ? c->batch : 1); e++) {
        int64_t at = e * c->m * c->n, n = rows_live(c, e) * c->n;
        hpc_test_near(what, y + at, w->y + at, w->size + at, tolerance, n);
        if (pre) hpc_test_near(what, pre + at, w->pre + at, w->size + at, tolerance, n);
    }
}

static inline void same_live_bits(const product *c, const hpc_tensor *x, const hpc_tensor *y)
{
    size_t row = (size_t)c->n * hpc_dtype_get((hpc_dtype)x->dtype)->block_bytes;

    for (int64_t e = 0; e < (c->batch > 0 ? c->batch : 1); e++) {
        size_t at = (size_t)(e * c->m) * row;
        assert_memory_equal((char *)x->data + at, (char *)y->data + at,
                            (size_t)rows_live(c, e) * row);
    }
}

static inline void check(const product *c)
{
#if defined(__SANITIZE_THREAD__) /* takes minutes with more workers than cores */
    static const int workers[] = {1, 2, 3};
#else
    static const int workers[] = {1, 2, 7};
#endif
    hpc_test_heap h = {0};
    hpc_tensor b;
    hpc_matmul_args a = args_of(&h, c, &b);
    wanted w = {0};
    bool fixed = false;

    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        hpc_matmul_args first = a;
        if (!w.y || fixes(c, *isa) != fixed) w = reference(&h, c, &a, &b, *isa);
        fixed = fixes(c, *isa);
        for (int i = 0; i < 3; i++) {
            hpc_matmul_args t = a;
            t.y = hpc_test_twin(&h, &a.y);
            t.pre = hpc_test_twin(&h, &a.pre);
            assert_int_equal(hpc_test_launch(select_matmul, *isa, workers[i], &t), 0);
            if (i == 0) {
                compare(&h, c, &t, &w, *isa);
                first = t;
            } else {
                same_live_bits(c, &first.y, &t.y);
                if (c->pre) same_live_bits(c, &first.pre, &t.pre);
            }
        }
    }
    hpc_test_heap_free(&h);
}

#endif
