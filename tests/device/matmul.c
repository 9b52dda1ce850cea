/*
 * matmul.c: products on every instruction set compared with sums in double: shapes off every tile,
 * transposition, dtypes, epilogues, ragged rows, packed weights; equal bits for any number of
 * workers and rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/device/matmul.h"

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

/* Cooperative computation: parts of b, strips of rows and their ends; sums that continue in y from
 * part to part, and sums that do not fit there. */
static void large(void **state)
{
    static const hpc_dtype weight[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_Q8_0, HPC_Q4_K};
    static const int64_t deep[] = {515, 1024, 1300, 515};

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
    for (int i = 0; i < 2; i++) /* columns wide enough for two workers, depth for two parts */
        check(&(product){.m = 110,
                         .n = 530 + 64 * i,
                         .k = 1300,
                         .trans_a = i > 0,
                         .trans_b = i > 0,
                         .pre = true,
                         .act = HPC_SILU,
                         .bias = true});
    /* Columns that are packed ahead, in parts, to the depth that there is room for and beyond. */
    static const product ahead[] = {{.m = 150, .n = 300, .k = 1536},
                                    {.m = 200, .n = 200, .k = 1100, .adds = true},
                                    {.m = 150, .n = 300, .k = 1600, .y = HPC_BF16},
                                    {.m = 110, .n = 290, .k = 3100}};
    for (int i = 0; i < 4; i++) {
        product c = ahead[i];
        c.trans_a = true;
        check(&c);
    }
    for (int i = 0; i < 4; i++) /* few rows, by which b's may be multiplied where they lie */
        check(&(product){.m = 97 + i,
                         .n = 433 - 16 * i,
                         .k = deep[i],
                         .trans_a = i == 2,
                         .trans_b = true,
                         .a = i == 3 ? HPC_BF16 : HPC_F32,
                         .b = i > 1 ? HPC_BF16 : HPC_F32,
                         .y = i == 1 ? HPC_BF16 : HPC_F32,
                         .pre = i > 0,
                         .act = HPC_GELU_TANH,
                         .bias = i < 2,
                         .residual = i == 3});
    for (int i = 0; i < 4; i++) /* bf16 by bf16 in two parts, and deeper than a slab */
        check(&(product){.m = 110,
                         .n = 600,
                         .k = 2500,
                         .trans_a = i & 1,
                         .trans_b = i & 2,
                         .a = HPC_BF16,
                         .b = HPC_BF16});
    check(&(product){.m = 100, .n = 270, .k = 6300, .trans_b = true, .a = HPC_BF16, .b = HPC_BF16});
    for (int k = 1000; k < 1032; k += 15)
        check(&(product){.batch = 2, .m = 110, .n = 390, .k = k, .adds = k != 1030});
}

/* Operands marked as touched after the first barrier are not read before it: another worker may
 * still write them. */
static void late(void **state)
{
    static const product cases[] = {{.m = 110, .n = 530, .k = 1300, .pre = true, .bias = PLAIN},
                                    {.m = 100, .n = 420, .k = 1300, .trans_b = true},
                                    {.m = 110, .n = 330, .k = 1300, .trans_a = true},
                                    {.m = 110, .n = 530, .k = 1300, .a = HPC_BF16, .b = HPC_BF16}};

    (void)state;
    for (int i = 0; i < 4; i++)
        for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
            hpc_test_heap h = {0};
            hpc_tensor plain;
            hpc_matmul_args a = args_of(&h, &cases[i], &plain);
            const hpc_tensor *operand[] = {&a.y, &a.pre, &a.a, &a.b, &a.bias, &a.residual};
            size_t bytes = hpc_tensor_bytes(&a.y);
            assert_int_equal(hpc_test_launch(select_matmul, *isa, 2, &a), HPC_OK);
            hpc_tensor expected = hpc_test_twin(&h, &a.y);
            memset(a.y.data, 0xff, bytes);
            assert_true(hpc_test_launch_late(select_matmul, *isa, &a, operand, 6));
            assert_memory_equal(a.y.data, expected.data, bytes);
            hpc_test_heap_free(&h);
        }
}

static void dtypes(void **state)
{
    static const hpc_dtype weight[] = {HPC_F32,  HPC_BF16, HPC_F16,  HPC_Q8_0,   HPC_Q4_0,
                                       HPC_Q4_K, HPC_Q5_K, HPC_Q6_K, HPC_Q4_1,   HPC_Q5_0,
                                       HPC_Q5_1, HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
    enum { TYPES = sizeof weight / sizeof *weight };

    (void)state;
    for (int i = 0; i < TYPES; i++) {
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

static void set(hpc_tensor *t, int64_t at, float x)
{
    hpc_from_f32((char *)t->data + (size_t)at * 2, HPC_BF16, &x, 1);
}

enum { M = 50, N = 70, K = 100, LARGEST = 1, SMALLEST, INFINITE, NAN_ROW, NAN_COLUMN = 40 };

/* Numbers within a 32nd of the largest, sums of which are exact however they are multiplied; the
 * largest and the smallest there are; and rows and a column with what is no number. */
static void extremes(hpc_matmul_args *a)
{
    int64_t row = a->attr.trans_a ? 1 : K, along = a->attr.trans_a ? M : 1;
    int64_t column = a->attr.trans_b ? K : 1, down = a->attr.trans_b ? 1 : N;

    for (int64_t i = 0; i < M * K; i++) set(&a->a, i, (float)(i * 37 % 65 - 32));
    for (int64_t i = 0; i < N * K; i++) set(&a->b, i, ldexpf((float)(i * 29 % 33 - 16), -9));
    for (int64_t p = 0; p < K; p++) {
        set(&a->a, LARGEST * row + p * along, p % 2 ? -0x1.8p126F : 0x1.8p126F);
        set(&a->a, SMALLEST * row + p * along, p == 5 ? 0x1.8p-114F : 0);
    }
    set(&a->a, INFINITE * row + 3 * along, INFINITY);
    set(&a->a, NAN_ROW * row + 99 * along, NAN);
    set(&a->b, NAN_COLUMN * column + 77 * down, NAN);
}

static void check_extremes(hpc_test_heap *h, const hpc_matmul_args *a)
{
    const double *x = hpc_test_tensor_doubles(h, &a->a), *w = hpc_test_tensor_doubles(h, &a->b);
    const double *y = hpc_test_tensor_doubles(h, &a->y);

    for (int64_t i = 0; i < M * N; i++) {
        int64_t row = i / N, column = i % N;
        double sum = 0;
        for (int64_t p = 0; p < K; p++)
            sum += x[a->attr.trans_a ? p * M + row : row * K + p] *
                   w[a->attr.trans_b ? column * K + p : p * N + column];
        if (row == INFINITE || row == NAN_ROW || column == NAN_COLUMN)
            assert_false(isfinite(y[i]));
        else
            assert_true(y[i] == (double)(float)sum);
    }
}

/* bf16 numbers of unrelated magnitudes, and of extreme ones. */
static void magnitudes(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        product c = {.m = 29,
                     .n = 47,
                     .k = 135,
                     .trans_a = i & 1,
                     .trans_b = i & 2,
                     .a = HPC_BF16,
                     .b = HPC_BF16,
                     .wide = true};
        check(&c);
        c.m = M, c.n = N, c.k = K, c.wide = false;
        for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
            hpc_test_heap h = {0};
            hpc_tensor b;
            hpc_matmul_args a = args_of(&h, &c, &b);
            extremes(&a);
            assert_int_equal(hpc_test_launch(select_matmul, *isa, 2, &a), HPC_OK);
            check_extremes(&h, &a);
            hpc_test_heap_free(&h);
        }
    }
}

/* f32 operands that are rounded, together with each other and with bf16. */
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
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
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
        check(&(product){.batch = 2,
                         .m = 20,
                         .n = 34,
                         .k = 70,
                         .trans_a = ta,
                         .trans_b = tb,
                         .a = HPC_BF16,
                         .b = HPC_BF16,
                         .ragged = RAGGED,
                         .live = {17, 9}});
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

/* A row's bits do not depend on other rows. */
static void batch_invariance(void **state)
{
    static const hpc_dtype types[] = {
        HPC_F32,  HPC_BF16,   HPC_Q4_K,   HPC_F32,  HPC_F32,  HPC_BF16, HPC_F16,  HPC_Q8_0,
        HPC_Q4_0, HPC_Q4_K,   HPC_Q5_K,   HPC_Q6_K, HPC_Q4_1, HPC_Q5_0, HPC_Q5_1, HPC_Q2_K,
        HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS, HPC_BF16, HPC_BF16, HPC_BF16};
    enum { HALVES = 19, PAIRS, PAIRS_TRANS, TYPES };

    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        for (int i = 0; i < TYPES; i++) {
            hpc_test_heap h = {0};
            hpc_tensor b;
            product c = {.m = 37,
                         .n = 83,
                         .k = i == HALVES  ? 515
                              : i > HALVES ? 1100
                                           : 512,
                         .trans_b = i != 3 && i != PAIRS,
                         .a = i > HALVES ? HPC_BF16 : HPC_F32,
                         .b = types[i],
                         .panel = (i > 3) && (i < PAIRS),
                         .int8 = (i > 6) && (i < HALVES),
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
                    part.a.data =
                        (char *)all.a.data + first * c.k * (int64_t)hpc_dtype_get(c.a)->block_bytes;
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
    t = a;
    t.a.dtype = HPC_I8;
    assert_int_equal(hpc_test_launch(select_matmul, isa, 1, &t), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "products of i8 as i32, and only so"));
    hpc_error_clear();
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),           cmocka_unit_test(large),
        cmocka_unit_test(dtypes),           cmocka_unit_test(magnitudes),
        cmocka_unit_test(halves),           cmocka_unit_test(symmetric),
        cmocka_unit_test(epilogues),        cmocka_unit_test(ragged),
        cmocka_unit_test(panels),           cmocka_unit_test(refusals),
        cmocka_unit_test(batch_invariance), cmocka_unit_test(late),
    };

    return cmocka_run_group_tests_name("device/matmul", tests, NULL, NULL);
}
