/*
 * matmul.c: products on every instruction set against sums in double: shapes
 * off every tile, transpositions, dtypes, epilogues, raggedness, packed
 * weights; and the same bits however many workers and rows there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/launch.h"

static int select_matmul(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->matmul(p, workers, args);
}

static int select_pack(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
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
    double alpha; /* 0: 1 */
    int32_t live[4];
} product;

static hpc_tensor matrix(hpc_test_heap *h, hpc_dtype d, int64_t batch, int64_t rows, int64_t cols)
{
    return batch > 0 ? hpc_test_tensor(h, d, 3, batch, rows, cols, 0)
                     : hpc_test_tensor(h, d, 2, rows, cols, 0, 0);
}

static hpc_tensor panels_of(hpc_test_heap *h, const hpc_tensor *plain)
{
    hpc_pack_args pack = {.y = *plain, .x = *plain};

    pack.y.pack = HPC_PANEL16;
    pack.y.data = hpc_test_heap_alloc(h, hpc_tensor_bytes(&pack.y));
    memset(pack.y.data, 0xff, hpc_tensor_bytes(&pack.y));
    assert_int_equal(hpc_test_launch(select_pack, "base", 2, &pack), 0);
    return pack.y;
}

static void drawn(hpc_tensor *t, uint32_t seed)
{
    hpc_test_tensor_draw(t, seed, 1);
}

/* Arguments with every input drawn, and b as it is before packing. */
static hpc_matmul_args args_of(hpc_test_heap *h, const product *c, hpc_tensor *b)
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

static double act_of(double x, int act)
{
    switch (act) {
    case HPC_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case HPC_GELU_ERF: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case HPC_SILU: return x / (1 + exp(-x));
    case HPC_RELU: return x > 0 ? x : 0;
    case HPC_RELU2: return x > 0 ? x * x : 0;
    default: return x;
    }
}

typedef struct wanted {
    double *y, *pre, *size; /* size: of what was added up, for the error's bound */
} wanted;

static void halve(double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float f = (float)x[i];
        uint16_t half;
        hpc_from_f32(&half, HPC_BF16, &f, 1);
        hpc_to_f32(&f, &half, HPC_BF16, 1);
        x[i] = f;
    }
}

/* Rows to integers of at most 127 with a factor for each 32. */
static void round_rows(double *x, int64_t n)
{
    for (int64_t at = 0; at < n; at += 32) {
        float top = 0;
        for (int i = 0; i < 32; i++) top = fmaxf(top, fabsf((float)x[at + i]));
        float inverse = top > 0 ? 127 / top : 0, factor = top / 127;
        for (int i = 0; i < 32; i++) x[at + i] = (double)factor * rintf((float)x[at + i] * inverse);
    }
}

static wanted reference(hpc_test_heap *h, const product *c, const hpc_matmul_args *a,
                        const hpc_tensor *b)
{
    double *xa = hpc_test_tensor_doubles(h, &a->a), *xb = hpc_test_tensor_doubles(h, b);
    const double *bias = c->bias ? hpc_test_tensor_doubles(h, &a->bias) : NULL;
    const double *residual = c->residual ? hpc_test_tensor_doubles(h, &a->residual) : NULL;
    int64_t batch = c->batch > 0 ? c->batch : 1, n = hpc_tensor_n(&a->y);
    wanted w = {hpc_test_tensor_doubles(h, &a->y), hpc_test_heap_doubles(h, n),
                hpc_test_heap_doubles(h, n)};

    if (c->halves) {
        halve(xa, hpc_tensor_n(&a->a));
        halve(xb, hpc_tensor_n(b));
    }
    if (c->int8) round_rows(xa, hpc_tensor_n(&a->a));
    for (int64_t at = 0; at < n; at++) {
        int64_t e = at / (c->m * c->n), i = at / c->n % c->m, j = at % c->n;
        int64_t k = c->ragged && c->trans_a ? c->live[e] : c->k;
        double sum = 0, size = 0;
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
    (void)batch;
    return w;
}

/* Beyond the live rows there is nothing to compare. */
static int64_t rows_live(const product *c, int64_t e)
{
    return c->ragged && !c->trans_a ? c->live[e] : c->m;
}

static void compare(hpc_test_heap *h, const product *c, const hpc_matmul_args *a, const wanted *w,
                    const char *isa)
{
    const double *y = hpc_test_tensor_doubles(h, &a->y);
    const double *pre = c->pre ? hpc_test_tensor_doubles(h, &a->pre) : NULL;
    double tolerance = c->y == HPC_BF16 ? 6e-3 : 2e-6;
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

static void same_live_bits(const product *c, const hpc_tensor *x, const hpc_tensor *y)
{
    size_t row = (size_t)c->n * hpc_dtype_get((hpc_dtype)x->dtype)->block_bytes;

    for (int64_t e = 0; e < (c->batch > 0 ? c->batch : 1); e++) {
        size_t at = (size_t)(e * c->m) * row;
        assert_memory_equal((char *)x->data + at, (char *)y->data + at,
                            (size_t)rows_live(c, e) * row);
    }
}

static void check(const product *c)
{
    static const int workers[] = {1, 2, 7};
    hpc_test_heap h = {0};
    hpc_tensor b;
    hpc_matmul_args a = args_of(&h, c, &b);
    wanted w = reference(&h, c, &a, &b);

    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        hpc_matmul_args first = a;
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

/* ---- tests --------------------------------------------------------------------------- */

static void shapes(void **state)
{
    static const int64_t ms[] = {1, 2, 7, 13, 37}, ns[] = {1, 15, 33, 70}, ks[] = {1, 5, 259};

    (void)state;
    for (int i = 0; i < 5 * 4 * 3 * 4; i++) {
        product c = {.m = ms[i % 5],
                     .n = ns[i / 5 % 4],
                     .k = ks[i / 20 % 3],
                     .trans_a = i / 60 % 2,
                     .trans_b = i / 120};
        check(&c);
    }
    check(&(product){.m = 401, .n = 290, .k = 300, .trans_b = true});
    check(&(product){.m = 401, .n = 290, .k = 300, .trans_a = true, .pre = true});
    check(&(product){.m = 3, .n = 40, .k = 0, .adds = true});
}

/* What all workers compute together: parts of b, strips of rows and their ends; sums that go on in
 * y from part to part, and those that have no room there. */
static void large(void **state)
{
    static const hpc_dtype weight[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_Q8_0, HPC_Q4_K};

    (void)state;
    for (int i = 0; i < 4; i++)
        check(&(product){.m = 101 + 11 * i,
                         .n = i % 2 ? 300 : 1100,
                         .k = i % 2 ? 1300 : 340,
                         .trans_a = i / 2,
                         .trans_b = i != 1,
                         .y = i == 2 ? HPC_BF16 : HPC_F32,
                         .pre = i > 0,
                         .act = i > 1 ? HPC_SILU : HPC_ACT_NONE,
                         .bias = i > 0,
                         .residual = i == 1,
                         .alpha = i == 1 ? -0.5 : 1});
    for (int i = 0; i < 5; i++)
        check(&(product){.m = 97,
                         .n = 370,
                         .k = 1280,
                         .trans_b = true,
                         .b = weight[i],
                         .panel = i < 3,
                         .halves = i == 1});
    for (int k = 1000; k < 1032; k += 15)
        check(&(product){.batch = 2, .m = 110, .n = 390, .k = k, .adds = k != 1030});
}

static void dtypes(void **state)
{
    static const hpc_dtype weight[] = {HPC_F32,  HPC_BF16, HPC_F16,  HPC_Q8_0,
                                       HPC_Q4_0, HPC_Q4_K, HPC_Q5_K, HPC_Q6_K};

    (void)state;
    for (int i = 0; i < 8; i++) {
        product c = {.m = i % 2 ? 3 : 29,
                     .n = 53,
                     .k = 768,
                     .trans_b = true,
                     .a = i % 2 ? HPC_BF16 : HPC_F32,
                     .b = weight[i],
                     .y = HPC_F32};
        check(&c);
        c.m = 32 - c.m;
        c.trans_a = i == 2;
        c.y = HPC_BF16;
        check(&c);
    }
    for (int i = 0; i < 8; i++)
        check(&(product){.m = 21,
                         .n = 45,
                         .k = 66,
                         .trans_a = i & 1,
                         .trans_b = i & 2,
                         .a = HPC_BF16,
                         .b = i & 4 ? HPC_BF16 : HPC_F32,
                         .y = HPC_BF16});
}

/* Factors of f32 that count rounded, beside each other and beside bf16. */
static void halves(void **state)
{
    static const int64_t ms[] = {1, 9, 50, 33}, ns[] = {17, 64, 31, 90}, ks[] = {300, 64, 7, 515};

    (void)state;
    for (int i = 0; i < 4 * 4 * 3; i++)
        check(&(product){.m = ms[i / 4 % 4],
                         .n = ns[i / 4 % 4],
                         .k = ks[i / 4 % 4],
                         .trans_a = i & 1,
                         .trans_b = i & 2,
                         .a = i / 16 == 1 ? HPC_BF16 : HPC_F32,
                         .b = i / 16 == 2 ? HPC_BF16 : HPC_F32,
                         .halves = true,
                         .adds = i % 3 == 0});
    check(&(product){.batch = 3, .m = 40, .n = 24, .k = 24, .trans_a = true, .halves = true});
    check(&(product){.m = 20, .n = 50, .k = 70, .trans_b = true, .halves = true, .panel = true});
}

/* Above the diagonal lies what is below it; shares of work end anywhere. */
static void symmetric(void **state)
{
    static const int64_t ms[] = {1, 17, 63, 129, 290}, ks[] = {300, 64, 7};

    (void)state;
    for (int i = 0; i < 5 * 3 * 4; i++)
        check(&(product){.m = ms[i % 5],
                         .n = ms[i % 5],
                         .k = ks[i / 5 % 3],
                         .batch = i % 4 == 1 ? 3 : 0,
                         .trans_a = i & 1,
                         .trans_b = i & 2,
                         .y = i % 3 == 1 ? HPC_BF16 : HPC_F32,
                         .a = i % 7 == 3 ? HPC_BF16 : HPC_F32,
                         .b = i % 7 == 3 ? HPC_BF16 : HPC_F32,
                         .halves = i / 4 % 2,
                         .adds = i / 2 % 2,
                         .alpha = i % 7 == 0 ? -0.5 : 1,
                         .symmetric = true});
    check(&(product){.m = 801, .n = 801, .k = 20, .trans_b = true, .symmetric = true});
    check(&(product){.m = 40, .n = 40, .k = 0, .adds = true, .symmetric = true});
}

static void epilogues(void **state)
{
    (void)state;
    for (int act = HPC_ACT_NONE; act <= HPC_RELU2; act++)
        for (int i = 0; i < 4; i++) {
            product c = {.m = 19,
                         .n = 75,
                         .k = 24,
                         .trans_b = true,
                         .act = act,
                         .alpha = 0.25,
                         .y = i & 1 ? HPC_BF16 : HPC_F32,
                         .bias = i & 2 ? NONE : PLAIN,
                         .pre = i != 1,
                         .residual = i != 2,
                         .adds = i == 3};
            check(&c);
            c.batch = 3, c.shared_b = i & 1, c.bias = i & 2 ? BATCHED : PLAIN, c.m = 5;
            check(&c);
        }
}

static void ragged(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        bool ta = i & 1, tb = i & 2, adds = i & 4;
        check(&(product){.m = 30,
                         .n = 41,
                         .k = 35,
                         .trans_a = ta,
                         .trans_b = tb,
                         .adds = adds,
                         .ragged = RAGGED,
                         .live = {17}});
        check(&(product){.m = 30,
                         .n = 41,
                         .k = 35,
                         .trans_a = ta,
                         .trans_b = tb,
                         .adds = adds,
                         .ragged = RAGGED,
                         .live = {0},
                         .bias = PLAIN});
        check(&(product){.batch = 4,
                         .m = 20,
                         .n = 34,
                         .k = 26,
                         .trans_a = ta,
                         .trans_b = tb,
                         .adds = adds,
                         .ragged = RAGGED,
                         .live = {3, 0, 20, 11}});
    }
}

static void panels(void **state)
{
    static const int64_t ms[] = {1, 2, 50};

    (void)state;
    for (int i = 0; i < 12; i++) {
        product c = {.m = ms[i / 2 % 3], .n = 61, .k = 300, .trans_b = true, .panel = true};
        if (i & 1) c.b = HPC_BF16;
        c.halves = i >= 6;
        check(&c);
        c.batch = 2, c.n = 17, c.k = 9, c.bias = BATCHED;
        check(&c);
    }
}

/* Rows rounded to 8 bits times every block format, tiles and panels cut anywhere. */
static void integers(void **state)
{
    static const hpc_dtype weight[] = {HPC_Q8_0, HPC_Q4_0, HPC_Q4_K, HPC_Q5_K, HPC_Q6_K};
    static const int64_t ms[] = {1, 2, 5, 6, 23, 301}, ns[] = {16, 1, 45, 70, 130, 20};

    (void)state;
    for (int i = 0; i < 5 * 6; i++) {
        bool large = i % 5 > 1;
        product c = {.m = ms[i / 5],
                     .n = ns[i / 5],
                     .k = large ? 512 : 32 * (1 + i),
                     .trans_b = true,
                     .panel = true,
                     .int8 = true,
                     .a = i % 2 ? HPC_BF16 : HPC_F32,
                     .b = weight[i % 5]};
        check(&c);
    }
    for (int i = 0; i < 10; i++) {
        product c = {.m = 9,
                     .n = 37,
                     .k = 256,
                     .trans_b = true,
                     .panel = true,
                     .int8 = true,
                     .b = weight[i % 5],
                     .y = i < 5 ? HPC_BF16 : HPC_F32,
                     .bias = PLAIN,
                     .act = i % 2 ? HPC_SILU : HPC_ACT_NONE,
                     .pre = i % 3 == 0,
                     .residual = i % 3 != 1,
                     .adds = i % 4 == 3,
                     .alpha = i % 2 ? 0.5 : 1};
        check(&c);
        c.batch = 4, c.shared_b = i % 2, c.ragged = RAGGED;
        c.live[0] = 3, c.live[2] = 9, c.live[3] = 1;
        check(&c);
    }
    check(&(product){.m = 3,
                     .n = 20,
                     .k = 0,
                     .trans_b = true,
                     .panel = true,
                     .int8 = true,
                     .b = HPC_Q8_0,
                     .adds = true});
}

/* What is not a number stays visible. */
static void integers_keep_what_is_not_finite(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};

    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        for (int i = 0; i < 3; i++) {
            hpc_test_heap h = {0};
            hpc_tensor b;
            product c = {.m = 2,
                         .n = 20,
                         .k = 64,
                         .trans_b = true,
                         .panel = true,
                         .int8 = true,
                         .b = HPC_Q8_0};
            hpc_matmul_args a = args_of(&h, &c, &b);
            ((float *)a.a.data)[40] = bad[i];
            assert_int_equal(hpc_test_launch(select_matmul, *isa, 2, &a), 0);
            const float *y = a.y.data;
            for (int j = 0; j < 20; j++) {
                assert_false(isfinite(y[j]));
                assert_true(isfinite(y[20 + j]));
            }
            hpc_test_heap_free(&h);
        }
}

/* A row's bits do not depend on the rows beside it, nor on how b is stored. */
static void batch_invariance(void **state)
{
    static const hpc_dtype types[] = {HPC_F32,  HPC_BF16, HPC_Q4_K, HPC_F32,  HPC_F32,
                                      HPC_BF16, HPC_F16,  HPC_Q8_0, HPC_Q4_0, HPC_Q4_K,
                                      HPC_Q5_K, HPC_Q6_K, HPC_BF16};
    enum { HALVES = 12, TYPES };

    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        for (int i = 0; i < TYPES; i++) {
            hpc_test_heap h = {0};
            hpc_tensor b;
            product c = {.m = 37,
                         .n = 83,
                         .k = i == HALVES ? 515 : 512,
                         .trans_b = i != 3,
                         .b = types[i],
                         .panel = i > 3,
                         .int8 = i > 6 && i < HALVES,
                         .halves = i == HALVES,
                         .bias = PLAIN,
                         .act = HPC_SILU,
                         .alpha = 0.1};
            hpc_matmul_args all = args_of(&h, &c, &b);
            assert_int_equal(hpc_test_launch(select_matmul, *isa, 2, &all), 0);
            for (int64_t m = 1; m <= 13; m++)
                for (int64_t first = 0; first + m <= c.m; first += 9) {
                    hpc_matmul_args part = all;
                    part.a.extent[0] = part.y.extent[0] = m;
                    part.a.data = (float *)all.a.data + first * c.k;
                    part.y = hpc_test_tensor(&h, HPC_F32, 2, m, c.n, 0, 0);
                    assert_int_equal(hpc_test_launch(select_matmul, *isa, 1, &part), 0);
                    assert_memory_equal(part.y.data, (float *)all.y.data + first * c.n,
                                        (size_t)(m * c.n) * sizeof(float));
                }
            hpc_test_heap_free(&h);
        }
}

static void refusals(void **state)
{
    const char *isa = hpc_device_isas()[0];
    hpc_test_heap h = {0};
    hpc_tensor b;
    hpc_matmul_args a = args_of(&h, &(product){.m = 2, .n = 32, .k = 32, .trans_b = true}, &b);

    (void)state;
    hpc_matmul_args t = a;
    t.residual = hpc_test_tensor(&h, HPC_F64, 2, 2, 32, 0, 0);
    assert_int_equal(hpc_test_launch(select_matmul, isa, 1, &t), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "f64[2,32] as its operand residual"));
    hpc_error_clear();
    t = a;
    t.b = hpc_test_tensor(&h, HPC_Q8_0, 2, 32, 32, 0, 0);
    t.attr.trans_b = false;
    assert_int_equal(hpc_test_launch(select_matmul, isa, 1, &t), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "q8_0[32,32] as its operand b"));
    hpc_error_clear();
    t = a;
    t.a.pack = HPC_PANEL16;
    assert_int_equal(hpc_test_launch(select_matmul, isa, 1, &t), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "operand a"));
    hpc_error_clear();
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),    cmocka_unit_test(large),
        cmocka_unit_test(dtypes),    cmocka_unit_test(halves),
        cmocka_unit_test(symmetric), cmocka_unit_test(epilogues),
        cmocka_unit_test(ragged),    cmocka_unit_test(panels),
        cmocka_unit_test(refusals),  cmocka_unit_test(batch_invariance),
        cmocka_unit_test(integers),  cmocka_unit_test(integers_keep_what_is_not_finite),
    };

    return cmocka_run_group_tests_name("device/matmul", tests, NULL, NULL);
}
