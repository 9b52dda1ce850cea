/*
 * matmul_bytes.c: integer products on every instruction set, exact to the last bit: rows rounded
 * to 8 bits times block formats, and i8 by i8.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/device/matmul.h"
#include "tests/support/blocks.h"

static const hpc_dtype weight[] = {HPC_Q8_0, HPC_Q4_0, HPC_Q4_K, HPC_Q5_K, HPC_Q6_K,   HPC_Q4_1,
                                   HPC_Q5_0, HPC_Q5_1, HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
enum { TYPES = sizeof weight / sizeof *weight };

/* Rows rounded to 8 bits times every block format, tiles and panels cut anywhere. */
static void integers(void **state)
{
    static const int64_t ms[] = {1, 2, 5, 6, 23, 301}, ns[] = {16, 1, 45, 70, 130, 20};

    (void)state;
    for (int i = 0; i < TYPES * 6; i++) {
        bool large = hpc_dtype_get(weight[i % TYPES])->block > 32;
        product c = {.m = ms[i / TYPES],
                     .n = ns[i / TYPES],
                     .k = large ? 512 : 32 * (1 + i % 30),
                     .trans_b = true,
                     .panel = true,
                     .int8 = true,
                     .a = i % 2 ? HPC_BF16 : HPC_F32,
                     .b = weight[i % TYPES]};
        check(&c);
    }
    for (int i = 0; i < 2 * TYPES; i++) {
        product c = {.m = 9,
                     .n = 37,
                     .k = 256,
                     .trans_b = true,
                     .panel = true,
                     .int8 = true,
                     .b = weight[i % TYPES],
                     .y = i < TYPES ? HPC_BF16 : HPC_F32,
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

/* Any bits of blocks: the ends of integers, scales and minima, of either sign. */
static void integers_of_random_blocks(void **state)
{
    static const int64_t ms[] = {1, 2, 13};

    (void)state;
    for (int i = 0; i < TYPES * 3; i++) {
        hpc_test_heap h = {0};
        hpc_tensor b;
        product c = {.m = ms[i / TYPES],
                     .n = 37,
                     .k = 768,
                     .trans_b = true,
                     .panel = true,
                     .int8 = true,
                     .b = weight[i % TYPES]};
        hpc_matmul_args a = args_of(&h, &c, &b);
        hpc_test_draw_blocks(b.data, c.b, c.n * c.k / hpc_dtype_get(c.b)->block, -6, (uint64_t)i);
        a.b = panels_of(&h, &b);
        for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
            wanted w = reference(&h, &c, &a, &b, *isa);
            assert_int_equal(hpc_test_launch(select_matmul, *isa, 2, &a), 0);
            compare(&h, &c, &a, &w, *isa);
        }
        hpc_test_heap_free(&h);
    }
}

static int select_grouped(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    return k->grouped(p, workers, args);
}

/* A group with as many rows, and the live ones of a product with all of them. */
static void check_groups(const hpc_grouped_args *plain, const hpc_tensor *want, const char *isa)
{
    hpc_test_heap h = {0};
    int64_t cols = want->extent[1];

    for (int64_t m = 1; m <= want->extent[0]; m++) {
        hpc_grouped_args t = *plain;
        int32_t start[] = {0, (int32_t)m};
        t.y = hpc_test_twin(&h, want);
        memset(t.y.data, 0xff, hpc_tensor_bytes(want));
        t.start.data = start;
        assert_int_equal(hpc_test_launch(select_grouped, isa, 1 + (int)m % 3, &t), 0);
        assert_memory_equal(t.y.data, want->data, (size_t)(m * cols) * sizeof(float));
    }
    hpc_test_heap_free(&h);
}

/* Blocks as files store them give the bits of panels, with any number of rows. */
static void plain_blocks_give_bits_of_panels(void **state)
{
    static const int64_t ns[] = {16, 45, 7};

    (void)state;
    for (int i = 0; i < TYPES * 3; i++) {
        bool large = hpc_dtype_get(weight[i % TYPES])->block > 32;
        hpc_test_heap h = {0};
        hpc_tensor b;
        product c = {.m = 13,
                     .n = ns[i / TYPES],
                     .k = large ? 768 : 32 * (1 + 3 * i),
                     .trans_b = true,
                     .int8 = true,
                     .b = weight[i % TYPES]};
        hpc_matmul_args a = args_of(&h, &c, &b);
        hpc_test_draw_blocks(b.data, c.b, c.n * c.k / hpc_dtype_get(c.b)->block, -6, (uint64_t)i);
        a.b = panels_of(&h, &b);
        hpc_grouped_args plain = {.y = a.y,
                                  .a = a.a,
                                  .b = b,
                                  .start = hpc_test_tensor(&h, HPC_I32, 1, 2, 0, 0, 0),
                                  .attr = {.trans_b = true, .int8 = true}};
        plain.b.rank = 3, plain.b.extent[0] = 1, plain.b.extent[1] = c.n, plain.b.extent[2] = c.k;
        for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
            assert_int_equal(hpc_test_launch(select_matmul, *isa, 2, &a), 0);
            check_groups(&plain, &a.y, *isa);
        }
        hpc_test_heap_free(&h);
    }
}

/* NaN and infinity stay visible. */
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

/* i8 by i8, to the last bit: tiles, words and slabs cut anywhere, and large ones by all workers. */
static void bytes(void **state)
{
    static const int64_t ms[] = {1, 2, 7, 13, 37, 60}, ns[] = {1, 15, 33, 70},
                         ks[] = {1, 6, 64, 259};
    const product of = {.y = HPC_I32, .a = HPC_I8, .b = HPC_I8};

    (void)state;
    for (int i = 0; i < 6 * 4 * 4 * 4; i++) {
        product c = of;
        c.m = ms[i % 6], c.n = ns[i / 6 % 4], c.k = ks[i / 24 % 4];
        c.trans_a = i / 96 % 2, c.trans_b = i / 192;
        check(&c);
        c.batch = 3, c.shared_b = i % 2, c.m = 5;
        if (i % 24 == 0) check(&c);
        c.shared_b = false, c.ragged = RAGGED, c.live[0] = 5 * (c.k > 4), c.live[2] = c.k > 0;
        if (i % 24 == 0) check(&c);
    }
    for (int t = 0; t < 4; t++) {
        product c = of;
        c.m = 97 + 16 * t, c.n = 1040 - 200 * t, c.k = 333 + t, c.trans_a = t & 1,
        c.trans_b = t & 2;
        check(&c);
        c.m = 100, c.n = 260, c.k = 12290 + 2 * t;
        check(&c);
        c.m = 3, c.n = 20, c.k = 0;
        check(&c);
    }
}

/* Sums as large as 32 bits hold, of factors as large as they can be. */
static void bytes_at_their_ends(void **state)
{
    enum { M = 5, N = 18, K = 1 << 17 };
    const product c = {.y = HPC_I32, .a = HPC_I8, .b = HPC_I8, .m = M, .n = N, .k = K - 1};

    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        for (int sign = -1; sign <= 1; sign += 2) {
            hpc_test_heap h = {0};
            hpc_tensor b;
            hpc_matmul_args a = args_of(&h, &c, &b);
            memset(a.a.data, -128, M * (K - 1));
            memset(a.b.data, sign < 0 ? -128 : 127, N * (K - 1));
            assert_int_equal(hpc_test_launch(select_matmul, *isa, 2, &a), 0);
            for (int i = 0; i < M * N; i++)
                assert_int_equal(((int32_t *)a.y.data)[i],
                                 sign < 0 ? 16384 * (K - 1) : -128 * 127 * (K - 1));
            hpc_test_heap_free(&h);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(integers_of_random_blocks),
        cmocka_unit_test(plain_blocks_give_bits_of_panels),
        cmocka_unit_test(integers_keep_what_is_not_finite),
        cmocka_unit_test(bytes),
        cmocka_unit_test(bytes_at_their_ends),
    };

    return cmocka_run_group_tests_name("device/matmul_bytes", tests, NULL, NULL);
}
