/*
 * norm.c: norm, norm_grad and rope on every backend compared with the reference: with and without
 * weights; gradients absent, overwritten and accumulated; all kinds of rotation; run-time rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "tests/support/ops.h"

static const struct {
    hpc_dtype a, b;
} widths[] = {{HPC_F32, HPC_F32}, {HPC_BF16, HPC_BF16}, {HPC_F32, HPC_BF16}, {HPC_BF16, HPC_F32}};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* Rows that do not end at run time, that do, and that do so for each of a batch. */
typedef enum rows { FIXED, RAGGED, BATCHED } rows;

static hpc_type rows_type(hpc_test_case *c, rows how, hpc_dtype d, int64_t n)
{
    static const int32_t count[] = {5, 0, 9};
    if (how == FIXED) return test_type(d, 13, n);
    if (how == RAGGED) {
        hpc_value one = hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), count);
        return hpc_type_ragged(test_type(d, 11, n), 0, one);
    }
    hpc_value each = hpc_test_indices(c, test_type(HPC_I32, 3), count);
    return hpc_type_ragged(test_type(d, 3, 9, n), 1, each);
}

/* ---- norm ------------------------------------------------------------------------- */

enum { NORM_Y, NORM_STATS, NORM_X, NORM_W, NORM_B, NORM_OPERANDS };

static void norm_case(void **state, int kind, int parts, rows how, int w, int64_t cols)
{
    hpc_test_case c;
    hpc_norm_attr attr = {.kind = kind, .eps = 1e-5};
    hpc_test_case_begin(&c, state, "norm kind %d parts %d rows %d types %d cols %d", kind, parts,
                        how, w, (int)cols);
    hpc_type t = rows_type(&c, how, widths[w].a, cols), v = test_type(widths[w].b, cols);
    hpc_value operand[] = {HPC_NEW, HPC_NEW, hpc_test_input(&c, t, 3),
                           parts & 1 ? hpc_test_input(&c, v, 1) : HPC_NONE,
                           parts & 2 ? hpc_test_input(&c, v, 1) : HPC_NONE};
    hpc_emit(c.p, &hpc_op_norm, operand, &attr);
    hpc_test_want(&c, operand[NORM_Y], HPC_TEST_CURVED);
    hpc_test_want(&c, operand[NORM_STATS], HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static void norms(void **state)
{
    for (int kind = HPC_RMS; kind <= HPC_LAYER; kind++)
        for (int parts = 0; parts < 4; parts++)
            for (int w = 0; w < WIDTHS; w++) {
                norm_case(state, kind, parts, FIXED, w, 45);
                norm_case(state, kind, parts, (rows)(parts % 2 + 1), w, 600);
            }
}

static void norm_in_place(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "norm in place");
    hpc_value x = hpc_test_temporary(&c, hpc_test_input(&c, test_type(HPC_F32, 7, 301), 1));
    hpc_value w = hpc_test_input(&c, test_type(HPC_F32, 301), 1);
    hpc_value y = hpc_norm(c.p, x, w, HPC_NONE, (hpc_norm_attr){.kind = HPC_LAYER, .eps = 1e-5});
    hpc_test_want(&c, y, HPC_TEST_CURVED);
    hpc_test_in_place(&c, y, x);
    hpc_test_case_check(&c);
}

/* A mean that is large against the deviation: one pass over the squares would lose all digits. */
static void norm_of_a_large_mean(void **state)
{
    double x[4 * 128];
    hpc_test_case c;
    hpc_test_draw(x, 4 * 128, 5, 1);
    for (int i = 0; i < 4 * 128; i++) x[i] += 1024;
    hpc_test_case_begin(&c, state, "norm of a large mean");
    hpc_value in = hpc_test_input_of(&c, test_type(HPC_F32, 4, 128), x);
    hpc_value y =
        hpc_norm(c.p, in, HPC_NONE, HPC_NONE, (hpc_norm_attr){.kind = HPC_LAYER, .eps = 1e-5});
    c.terms = 1 << 20; /* the mean is good to half a step of 1024, of deviations of 1 */
    hpc_test_want(&c, y, HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

/* ---- norm_grad ------------------------------------------------------------------------ */

enum { GRAD_DX, GRAD_DW, GRAD_DB, GRAD_DY, GRAD_X, GRAD_STATS, GRAD_W, GRAD_OPERANDS };

/* parts: 1 dx, 2 dw, 4 db, 8 w; sums are added to what is there if `adds`. */
static void grad_case(void **state, int kind, int parts, rows how, int w, bool adds)
{
    enum { COLS = 290 };
    hpc_test_case c;
    hpc_norm_attr attr = {.kind = kind, .eps = 1e-5};
    hpc_test_case_begin(&c, state, "norm_grad kind %d parts %d rows %d types %d adds %d", kind,
                        parts, how, w, adds);
    hpc_type t = rows_type(&c, how, widths[w].a, COLS), v = test_type(widths[w].b, COLS);
    hpc_type sums = test_type(HPC_F32, COLS);
    hpc_value norm[] = {HPC_NEW, HPC_NEW, hpc_test_input(&c, t, 3), HPC_NONE, HPC_NONE};
    hpc_emit(c.p, &hpc_op_norm, norm, &attr);
    hpc_value sum[2] = {HPC_NEW, HPC_NEW};
    for (int k = 0; k < 2 && adds; k++)
        if (parts >> k & 2) sum[k] = hpc_test_state(&c, sums, 2, false);
    hpc_value operand[] = {parts & 1 ? HPC_NEW : HPC_NONE,
                           parts & 2 ? sum[0] : HPC_NONE,
                           parts & 4 ? sum[1] : HPC_NONE,
                           hpc_test_input(&c, t, 1),
                           norm[NORM_X],
                           norm[NORM_STATS],
                           parts & 8 ? hpc_test_input(&c, v, 1) : HPC_NONE};
    hpc_test_given_of(&c, norm[NORM_X])->constant = parts == 4; /* db is a sum of dy alone */
    if (parts & 8) hpc_test_given_of(&c, operand[GRAD_W])->constant = !(parts & 1);
    hpc_emit(c.p, &hpc_op_norm_grad, operand, &attr);
    for (int k = GRAD_DX; k <= GRAD_DB; k++)
        if (operand[k] >= 0) hpc_test_want(&c, operand[k], HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static void norm_grads(void **state)
{
    for (int kind = HPC_RMS; kind <= HPC_LAYER; kind++)
        for (int w = 0; w < WIDTHS; w++) {
            grad_case(state, kind, 1, FIXED, w, false);
            grad_case(state, kind, 4, RAGGED, w, false);
            grad_case(state, kind, 9, RAGGED, w, false);
            grad_case(state, kind, 10, FIXED, w, true);
            grad_case(state, kind, 14, BATCHED, w, false);
            grad_case(state, kind, 15, (rows)(w % 3), w, true);
        }
}

/* ---- rope -------------------------------------------------------------------------------- */

/* freq[i] = 100^(-i/n), of n pairs. */
static hpc_value frequencies(hpc_test_case *c, int n)
{
    double f[16];
    for (int i = 0; i < n; i++) f[i] = pow(100, -(double)i / n);
    return hpc_test_input_of(c, test_type(HPC_F32, n), f);
}

static void rope_case(void **state, int kind, int pairs, int w, bool ragged)
{
    enum { T = 12, HEADS = 3, D = 20 };
    static const int32_t pos[T] = {0, 1, 2, 3, 4, 0, 1, 2, 90, 91, 92, 93};
    hpc_test_case c;
    hpc_rope_attr attr = {
        .interleaved = kind & 1, .inverse = kind & 2, .scale = kind & 4 ? 1.25 : 0};
    hpc_test_case_begin(&c, state, "rope kind %d, %d pairs, type %d", kind, pairs, widths[w].a);
    hpc_type t = test_type(widths[w].a, T, HEADS, D), index = test_type(HPC_I32, T);
    if (ragged) {
        hpc_value n = hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){10});
        t = hpc_type_ragged(t, 0, n);
        index = hpc_type_ragged(index, 0, n);
    }
    hpc_value x = hpc_test_input(&c, t, 1), at = hpc_test_indices(&c, index, pos);
    if (kind == 1) x = hpc_test_temporary(&c, x);
    hpc_value y = hpc_rope(c.p, x, at, frequencies(&c, pairs), attr);
    c.terms = 93 * 93; /* an angle of 93 is good to half a step of itself */
    hpc_test_want(&c, y, HPC_TEST_CURVED);
    if (kind == 1) hpc_test_in_place(&c, y, x);
    hpc_test_case_check(&c);
}

static void ropes(void **state)
{
    for (int kind = 0; kind < 8; kind++)
        for (int w = 0; w < 2; w++) {
            rope_case(state, kind, 10, w, false);
            rope_case(state, kind, 4, w, kind > 1);
        }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "norm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms),
        cmocka_unit_test(norm_in_place),
        cmocka_unit_test(norm_of_a_large_mean),
        cmocka_unit_test(norm_grads),
        cmocka_unit_test(ropes),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/norm", tests, open_bench, hpc_test_bench_close);
}
