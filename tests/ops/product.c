/*
 * product.c: matmul and pack on every backend compared with the reference: all transpositions,
 * batches, epilogues, run-time extents and weight formats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "tests/support/ops.h"

enum { Y, PRE, A, B, BIAS, RESIDUAL, OPERANDS };

typedef enum batching { SINGLE, SHARED, BATCHED } batching; /* of the factors; SHARED: b is one */

typedef struct product {
    int64_t batch, m, n, k;
    batching batching;
    hpc_matmul_attr attr;
    hpc_dtype a, b;
    bool bias, residual, adds;
} product;

static const struct {
    hpc_dtype a, b;
} widths[] = {{HPC_F32, HPC_F32}, {HPC_BF16, HPC_BF16}, {HPC_F32, HPC_BF16}, {HPC_BF16, HPC_F32}};
enum { WIDTHS = sizeof widths / sizeof *widths };

static hpc_type matrix(hpc_dtype d, int64_t batch, int64_t rows, int64_t cols)
{
    return batch > 0 ? test_type(d, batch, rows, cols) : test_type(d, rows, cols);
}

static hpc_type type_of_a(const product *f)
{
    bool t = f->attr.trans_a;
    return matrix(f->a, f->batching == SINGLE ? 0 : f->batch, t ? f->k : f->m, t ? f->m : f->k);
}

static hpc_type type_of_b(const product *f)
{
    bool t = f->attr.trans_b;
    return matrix(f->b, f->batching == BATCHED ? f->batch : 0, t ? f->n : f->k, t ? f->k : f->n);
}

static hpc_type type_of_y(const product *f, hpc_dtype d)
{
    return matrix(d, f->batching == SINGLE ? 0 : f->batch, f->m, f->n);
}

/* Emits a and b with the epilogue, and the outputs to check. */
static void emit(hpc_test_case *c, const product *f, hpc_value a, hpc_value b)
{
    hpc_value operand[OPERANDS] = {HPC_NEW, HPC_NONE, a, b, HPC_NONE, HPC_NONE};
    bool act = f->attr.act != HPC_ACT_NONE;
    if (act) operand[PRE] = HPC_NEW;
    if (f->bias)
        operand[BIAS] = hpc_test_input(
            c, f->batching == BATCHED ? test_type(f->b, f->batch, f->n) : test_type(f->b, f->n), 2);
    if (f->residual) operand[RESIDUAL] = hpc_test_input(c, type_of_y(f, f->a), 3);
    if (f->adds) operand[Y] = hpc_test_state(c, type_of_y(f, HPC_F32), 3, false);
    hpc_emit(c->p, &hpc_op_matmul, operand, &f->attr);
    c->terms = f->k;
    c->fixes = f->a == HPC_BF16 && f->b == HPC_BF16 && c->p->value[b].type.pack == HPC_PLAIN;
    hpc_test_bound sums = f->attr.halves ? HPC_TEST_HALVED : HPC_TEST_SUMMED;
    hpc_test_want(c, operand[Y], act ? HPC_TEST_CURVED : sums);
    if (act) hpc_test_want(c, operand[PRE], HPC_TEST_SUMMED);
}

static void check(void **state, const product *f)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "matmul %d[%lld,%lld,%lld,%lld] trans %d%d types %d,%d act %d%s",
                        f->batching, (long long)f->batch, (long long)f->m, (long long)f->n,
                        (long long)f->k, f->attr.trans_a, f->attr.trans_b, f->a, f->b, f->attr.act,
                        f->adds ? " adds" : "");
    hpc_value a = hpc_test_input(&c, type_of_a(f), 0.5), b = hpc_test_input(&c, type_of_b(f), 0.5);
    emit(&c, f, a, b);
    hpc_test_case_check(&c);
}

static product plain(int64_t m, int64_t n, int64_t k, int transposed)
{
    return (product){.batch = 3,
                     .m = m,
                     .n = n,
                     .k = k,
                     .attr = {.trans_a = transposed & 1, .trans_b = transposed >> 1, .alpha = 1}};
}

static void transpositions(void **state)
{
    for (int t = 0; t < 4; t++)
        for (int b = SINGLE; b <= BATCHED; b++)
            for (int w = 0; w < WIDTHS; w++) {
                product f = plain(29, 37, 41, t);
                f.batching = (batching)b;
                f.a = widths[w].a;
                f.b = widths[w].b;
                check(state, &f);
            }
}

static void halved_factors(void **state)
{
    for (int t = 0; t < 4; t++)
        for (int b = SINGLE; b <= BATCHED; b++) {
            product f = plain(29, 37, 41, t);
            f.batching = (batching)b;
            f.a = f.b = HPC_F32;
            f.attr.halves = true;
            check(state, &f);
        }
}

/* Sums of i8 are whole numbers, which nothing rounds. */
static void bytes(void **state)
{
    for (int t = 0; t < 4; t++)
        for (int b = SINGLE; b <= BATCHED; b++) {
            product f = plain(29, 37, 41, t);
            hpc_test_case c;
            f.batching = (batching)b;
            f.a = f.b = HPC_I8;
            hpc_test_case_begin(&c, state, "i8 %d trans %d", b, t);
            hpc_value x = hpc_test_input(&c, type_of_a(&f), 60);
            hpc_value y = hpc_matmul(c.p, x, hpc_test_input(&c, type_of_b(&f), 60), f.attr);
            assert_int_equal(c.p->value[y].type.dtype, HPC_I32);
            hpc_test_want(&c, y, HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

/* Half of the result is computed; factors that do not commute show which half. */
static void symmetric_results(void **state)
{
    static const int64_t side[] = {1, 12, 37, 64, 130, 300};
    enum { SIDES = sizeof side / sizeof *side };
    for (int k = 0; k < SIDES * (WIDTHS + 1); k++) {
        int s = k % SIDES, w = k / SIDES, b = (s + w) % 3;
        product f = plain(side[s], side[s], 41, (s + 3 * w) % 4);
        f.batching = (batching)b;
        f.a = widths[w % WIDTHS].a;
        f.b = widths[w % WIDTHS].b;
        f.attr.symmetric = true;
        f.attr.halves = w == WIDTHS;
        f.attr.alpha = b == SHARED ? -1.75 : 1;
        f.residual = b == BATCHED;
        f.adds = (s + w / 2) % 2;
        check(state, &f);
    }
}

/* One more and one less than tiles, panels and blocks; single rows, columns and terms. */
static void shapes(void **state)
{
    static const int64_t shape[][3] = {{1, 1, 1},     {1, 300, 33},  {130, 1, 17},  {12, 16, 256},
                                       {13, 17, 257}, {11, 255, 63}, {3, 257, 600}, {97, 15, 31}};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int t = 0; t < 4; t++)
            for (int w = 0; w < 2; w++) {
                product f = plain(shape[s][0], shape[s][1], shape[s][2], t);
                f.a = f.b = widths[w].a;
                check(state, &f);
            }
}

static void epilogues(void **state)
{
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int parts = 0; parts < 8; parts++)
            for (int w = 0; w < WIDTHS; w++) {
                product f = plain(19, 35, 27, (act + parts) % 4);
                f.batching = parts & 1 ? BATCHED : SINGLE;
                f.attr.act = act;
                f.attr.alpha = parts == 5 ? -1.75 : 1;
                f.bias = parts & 1;
                f.residual = parts & 2;
                f.adds = parts & 4;
                f.a = widths[w].a;
                f.b = widths[w].b;
                check(state, &f);
            }
}

/* ---- weights ------------------------------------------------------------------------- */

static void quantised_weights(void **state)
{
    static const hpc_dtype formats[] = {HPC_F16,  HPC_Q8_0,   HPC_Q4_0,  HPC_Q4_K, HPC_Q5_K,
                                        HPC_Q6_K, HPC_Q4_1,   HPC_Q5_0,  HPC_Q5_1, HPC_Q2_K,
                                        HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        for (int w = 0; w < 2; w++)
            for (int b = SINGLE; b <= BATCHED; b += BATCHED) {
                product f = plain(b ? 5 : 14, 33, 512, 2);
                f.batching = (batching)b;
                f.a = widths[w].a;
                f.b = formats[k];
                check(state, &f);
            }
}

static void packed_weights(void **state)
{
    for (int64_t n = 15; n <= 40; n += 12)
        for (int w = 0; w < WIDTHS; w++)
            for (int b = SINGLE; b <= BATCHED; b++) {
                product f = plain(21, n, 70, 2);
                hpc_test_case c;
                f.batching = (batching)b;
                f.a = widths[w].a;
                f.b = widths[w].b;
                f.residual = b == SHARED;
                f.attr.act = b == SINGLE ? HPC_SILU : HPC_ACT_NONE;
                hpc_test_case_begin(&c, state, "packed %d, n %lld, types %d,%d", b, (long long)n,
                                    f.a, f.b);
                hpc_value a = hpc_test_input(&c, type_of_a(&f), 0.5);
                hpc_value packed = hpc_pack(c.p, hpc_test_input(&c, type_of_b(&f), 0.5));
                hpc_test_want(&c, packed, HPC_TEST_EXACT);
                emit(&c, &f, a, packed);
                hpc_test_case_check(&c);
            }
}

/* ---- run-time extents ---------------------------------------------------------------------- */

static hpc_value counts(hpc_test_case *c, batching how, int64_t most)
{
    const int32_t count[] = {(int32_t)most - 2, 0, (int32_t)most};
    if (how == SINGLE) return hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), count);
    return hpc_test_indices(c, test_type(HPC_I32, 3), count);
}

/* Rows of a that end at run time, those of y with them. */
static void ragged_rows(void **state)
{
    for (int b = SINGLE; b <= BATCHED; b++)
        for (int t = 0; t < 4; t += 2)
            for (int w = 0; w < 2; w++) {
                product f = plain(26, 40, 33, t);
                hpc_test_case c;
                f.batching = (batching)b;
                f.a = f.b = widths[w].a;
                f.bias = true;
                f.attr.act = t ? HPC_GELU_TANH : HPC_ACT_NONE;
                hpc_test_case_begin(&c, state, "ragged rows, batching %d, types %d", b, f.a);
                hpc_value count = counts(&c, f.batching, f.m);
                hpc_type ta = hpc_type_ragged(type_of_a(&f), b == SINGLE ? 0 : 1, count);
                hpc_value a = hpc_test_input(&c, ta, 0.5);
                emit(&c, &f, a, hpc_test_input(&c, type_of_b(&f), 0.5));
                hpc_test_case_check(&c);
            }
}

/* A sum over an extent that ends at run time; nothing is live of one entry. */
static void ragged_sums(void **state)
{
    for (int b = SINGLE; b <= BATCHED; b += BATCHED)
        for (int adds = 0; adds < 2; adds++)
            for (int w = 0; w < 2; w++) {
                product f = plain(18, 21, 50, 1);
                hpc_test_case c;
                f.batching = (batching)b;
                f.a = f.b = widths[w].a;
                f.adds = adds;
                hpc_test_case_begin(&c, state, "ragged sum, batching %d, types %d", b, f.a);
                hpc_value count = counts(&c, f.batching, f.k);
                int dim = b == SINGLE ? 0 : 1;
                hpc_value a = hpc_test_input(&c, hpc_type_ragged(type_of_a(&f), dim, count), 0.5);
                hpc_type tb = hpc_type_ragged(type_of_b(&f), dim, count);
                emit(&c, &f, a, hpc_test_input(&c, tb, 0.5));
                hpc_test_case_check(&c);
            }
}

/* Whole entries of the batch that end at run time. */
static void ragged_batches(void **state)
{
    for (int k = 0; k < 4; k++) {
        int b = k % 2 ? SHARED : BATCHED;
        product f = plain(9, k < 2 ? 20 : 9, 31, 2);
        hpc_test_case c;
        f.attr.symmetric = k >= 2;
        f.batching = (batching)b;
        f.a = f.b = HPC_F32;
        hpc_test_case_begin(&c, state, "ragged batch, batching %d", b);
        hpc_value count = hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){2});
        hpc_value a = hpc_test_input(&c, hpc_type_ragged(type_of_a(&f), 0, count), 0.5);
        hpc_type tb = type_of_b(&f);
        if (b == BATCHED) tb = hpc_type_ragged(tb, 0, count);
        emit(&c, &f, a, hpc_test_input(&c, tb, 0.5));
        hpc_test_case_check(&c);
    }
}

/* A batch-invariant product: a row's bits do not depend on how many rows there are. */
static void rows_do_not_depend_on_each_other(void **state)
{
    enum { M = 30, N = 50, K = 270 };
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "rows");
    hpc_value a = hpc_test_input(&c, test_type(HPC_F32, M, K), 1);
    hpc_value b = hpc_test_input(&c, test_type(HPC_BF16, N, K), 1);
    hpc_matmul_attr attr = {.trans_b = true, .act = HPC_GELU_ERF};
    hpc_value all = hpc_matmul(c.p, a, b, attr), part[3];
    static const int64_t first[] = {0, 17, 29}, rows[] = {17, 12, 1};
    for (int k = 0; k < 3; k++)
        part[k] = hpc_matmul(c.p, hpc_slice(c.p, a, first[k], rows[k]), b, attr);
    hpc_program_keep(c.p, all);
    for (int k = 0; k < 3; k++) hpc_program_keep(c.p, part[k]);
    hpc_exec *e;
    test_ok(hpc_exec_open(&e, c.p, hpc_test_bench_device(c.bench), NULL, NULL));
    hpc_test_give(e, c.p, &c);
    test_ok(hpc_exec_run(e, 0, 0));
    int64_t n;
    double *whole = hpc_test_fetch(e, c.p, all, &n);
    for (int k = 0; k < 3; k++) {
        double *x = hpc_test_fetch(e, c.p, part[k], &n);
        assert_int_equal(n, rows[k] * N);
        assert_memory_equal(x, whole + first[k] * N, (size_t)n * sizeof *x);
        hpc_free(x);
    }
    hpc_free(whole);
    hpc_exec_close(e);
    hpc_test_case_free(&c);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "product");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transpositions),
        cmocka_unit_test(halved_factors),
        cmocka_unit_test(bytes),
        cmocka_unit_test(symmetric_results),
        cmocka_unit_test(shapes),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(quantised_weights),
        cmocka_unit_test(packed_weights),
        cmocka_unit_test(ragged_rows),
        cmocka_unit_test(ragged_sums),
        cmocka_unit_test(ragged_batches),
        cmocka_unit_test(rows_do_not_depend_on_each_other),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/product", tests, open_bench, hpc_test_bench_close);
}
