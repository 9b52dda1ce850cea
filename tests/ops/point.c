/*
 * point.c: binary, scale, copy, fill, dropout and nop on every backend compared with the
 * reference: all kinds of broadcasting, pairs of types, run-time extents, in place and
 * accumulated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/ops.h"

static const struct {
    hpc_dtype a, b;
} widths[] = {{HPC_F32, HPC_F32}, {HPC_BF16, HPC_BF16}, {HPC_F32, HPC_BF16}, {HPC_BF16, HPC_F32}};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* ---- binary -------------------------------------------------------------------------- */

typedef enum spread { ALIKE, ROW, COLUMN, ONE, SPREADS } spread;

static hpc_type spread_type(spread how, hpc_type a, hpc_dtype d)
{
    a.dtype = (uint8_t)d;
    switch (how) {
    case ROW: return test_type(d, a.extent[a.rank - 1]);
    case COLUMN: a.extent[a.rank - 1] = 1; return a;
    case ONE: return hpc_type_of(d, 0, NULL);
    default: return a;
    }
}

static void binary_case(void **state, int kind, spread how, int w, bool ragged)
{
    static const int32_t count[] = {4, 0, 7};
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "binary %d spread %d types %d ragged %d", kind, how, w, ragged);
    hpc_type t = test_type(widths[w].a, 3, 7, 291);
    if (ragged) t = hpc_type_ragged(t, 1, hpc_test_indices(&c, test_type(HPC_I32, 3), count));
    hpc_value a = hpc_test_input(&c, t, 1);
    hpc_value b = hpc_test_input(&c, spread_type(how, t, widths[w].b), 1);
    if (!ragged) a = hpc_test_temporary(&c, a);
    hpc_value y = hpc_binary(c.p, (hpc_binary_kind)kind, a, b);
    hpc_test_want(&c, y, HPC_TEST_ROUNDED);
    if (!ragged) hpc_test_in_place(&c, y, a);
    hpc_test_case_check(&c);
}

static void binaries(void **state)
{
    for (int kind = HPC_ADD; kind <= HPC_MUL; kind++)
        for (int how = ALIKE; how < SPREADS; how++)
            for (int w = 0; w < WIDTHS; w++) {
                binary_case(state, kind, (spread)how, w, false);
                binary_case(state, kind, (spread)how, w, true);
            }
}

/* Extents of 1 and a square: where one repetition could be taken for another. */
static void repetitions_are_told_apart(void **state)
{
    static const struct {
        int64_t a[2], b[2];
        int b_rank;
    } shape[] = {{{6, 6}, {6}, 1},    {{6, 6}, {6, 1}, 2}, {{1, 9}, {9}, 1}, {{1, 9}, {1, 1}, 2},
                 {{9, 1}, {9, 1}, 2}, {{9, 1}, {1}, 1},    {{1, 1}, {1}, 1}};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "repetition %d", (int)s);
        hpc_value a = hpc_test_input(&c, hpc_type_of(HPC_F32, 2, shape[s].a), 1);
        hpc_value b = hpc_test_input(&c, hpc_type_of(HPC_F32, shape[s].b_rank, shape[s].b), 1);
        hpc_test_want(&c, hpc_binary(c.p, HPC_SUB, a, b), HPC_TEST_ROUNDED);
        hpc_test_case_check(&c);
    }
}

/* ---- scale --------------------------------------------------------------------------------- */

/* parts: 1 by a scalar of the device, 2 adding, 4 run-time extents. */
static void scale_case(void **state, int parts, int w)
{
    static const int32_t count[] = {1, 0, 303, 300};
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "scale parts %d types %d", parts, w);
    hpc_type t = test_type(widths[w].a, 4, 303), sum = test_type(widths[w].b, 4, 303);
    if (parts & 4) {
        hpc_value each = hpc_test_indices(&c, test_type(HPC_I32, 4), count);
        t = hpc_type_ragged(t, 1, each);
        sum = hpc_type_ragged(sum, 1, each);
    }
    hpc_value x = hpc_test_input(&c, t, 1);
    hpc_value by = parts & 1 ? hpc_test_scalar(&c, HPC_F32, 0.3) : HPC_NONE;
    hpc_value y = parts & 2 ? hpc_test_state(&c, sum, 1, false) : HPC_NEW;
    bool place = parts < 2;
    if (place) x = hpc_test_temporary(&c, x);
    y = hpc_scale(c.p, y, x, by, -1.7);
    hpc_test_want(&c, y, HPC_TEST_ROUNDED);
    if (place) hpc_test_in_place(&c, y, x);
    hpc_test_case_check(&c);
}

static void scales(void **state)
{
    for (int parts = 0; parts < 8; parts++)
        for (int w = 0; w < WIDTHS; w++) scale_case(state, parts, w);
}

/* ---- copy, fill ------------------------------------------------------------------------------ */

static void copies(void **state)
{
    static const hpc_dtype from[] = {HPC_F32,  HPC_BF16,   HPC_F16,    HPC_Q8_0, HPC_Q4_0, HPC_Q4_K,
                                     HPC_Q5_K, HPC_Q6_K,   HPC_Q4_1,   HPC_Q5_0, HPC_Q5_1, HPC_Q2_K,
                                     HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS, HPC_I32,  HPC_I64};
    static const hpc_dtype to[] = {HPC_F32, HPC_BF16, HPC_F16};
    for (size_t f = 0; f < sizeof from / sizeof *from; f++)
        for (size_t k = 0; k <= sizeof to / sizeof *to; k++) {
            hpc_dtype d = k < sizeof to / sizeof *to ? to[k] : from[f];
            if (!hpc_dtype_get(from[f])->real && d != from[f]) continue;
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "copy of type %d to %d", from[f], d);
            hpc_value x = hpc_test_input(&c, test_type(from[f], 5, 512), 100);
            hpc_test_want(&c, hpc_copy(c.p, x, d), HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

static void moves_between_memories(void **state)
{
    static const hpc_dtype dtype[] = {HPC_F32, HPC_BF16};
    for (int k = 0; k < 2; k++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "fetch and stow of type %d", dtype[k]);
        hpc_type t = test_type(dtype[k], 5, 131);
        hpc_value here = hpc_test_state(&c, t, 1, false), there = hpc_test_state(&c, t, 1, false);
        hpc_test_given_of(&c, here)->constant = hpc_test_given_of(&c, there)->constant = true;
        hpc_move(c.p, &hpc_op_fetch, here, hpc_test_input(&c, t, 1));
        hpc_move(c.p, &hpc_op_stow, there, here);
        hpc_test_want(&c, here, HPC_TEST_EXACT);
        hpc_test_want(&c, there, HPC_TEST_EXACT);
        hpc_test_case_check(&c);
    }
}

/* Towards zero, and no further than the integers go; from what f64 holds exactly. */
static void copies_to_integers(void **state)
{
    static const double x[] = {0.99, -0.99, 2.5, -2.5, 1e6 + 0.5, 3e9, -3e9, 1e30, -1e30, 7};
    enum { N = sizeof x / sizeof *x };
    for (int k = 0; k < 2; k++)
        for (int w = 0; w < 2; w++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "copy to integers %d", k);
            hpc_value in = hpc_test_input_of(&c, test_type(widths[w].a, N), x);
            hpc_test_want(&c, hpc_copy(c.p, in, k ? HPC_I64 : HPC_I32), HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

static void copies_of_what_is_live(void **state)
{
    static const int32_t count[] = {0, 300, 17};
    for (int dim = 0; dim < 2; dim++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "copy, ragged %d", dim);
        hpc_type n = dim ? test_type(HPC_I32, 3) : hpc_type_of(HPC_I32, 0, NULL);
        hpc_value live = hpc_test_indices(&c, n, dim ? count : (int32_t[]){2});
        hpc_type t = hpc_type_ragged(test_type(HPC_F32, 3, 300), dim, live);
        hpc_test_want(&c, hpc_copy(c.p, hpc_test_input(&c, t, 1), HPC_BF16), HPC_TEST_EXACT);
        hpc_test_case_check(&c);
    }
}

static void fills(void **state)
{
    static const hpc_dtype types[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_I32, HPC_I64};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (double v = -2.5; v < 8; v += 5.25) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "fill type %d with %g", types[k], v);
            hpc_value y = hpc_test_state(&c, test_type(types[k], 7, 129), 1, false);
            hpc_test_given_of(&c, y)->constant = true;
            hpc_fill(c.p, y, v);
            hpc_test_want(&c, y, HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

/* ---- dropout -------------------------------------------------------------------------------- */

/* With p = 1/2 what is kept doubles: exact in any type, so that masks are compared bit for bit. */
static void dropout_case(void **state, double p, int parts, int w, int step_number)
{
    hpc_test_case c;
    hpc_dropout_attr attr = {.p = p, .seed = 0x123456789abcdef, .tensor = 17};
    hpc_test_case_begin(&c, state, "dropout %g parts %d type %d", p, parts, w);
    hpc_value x = hpc_test_input(&c, test_type(widths[w].a, 3, 11, 67), 1);
    hpc_value step = HPC_NONE, base = HPC_NONE;
    if (parts & 1) step = hpc_test_scalar(&c, HPC_I32, step_number);
    if (parts & 2) base = hpc_test_scalar(&c, HPC_I64, 5e9);
    if (parts & 4) attr.global_cols = 1000, attr.row0 = 31, attr.col0 = 99;
    if (w == 0) x = hpc_test_temporary(&c, x);
    hpc_value y = hpc_dropout(c.p, x, step, base, attr);
    hpc_test_want(&c, y, p == 0.5 || p == 0 || step_number < 0 ? HPC_TEST_EXACT : HPC_TEST_ROUNDED);
    if (w == 0) hpc_test_in_place(&c, y, x);
    hpc_test_case_check(&c);
}

static void dropouts(void **state)
{
    for (int parts = 0; parts < 8; parts++)
        for (int w = 0; w < 2; w++) {
            dropout_case(state, 0.5, parts, w, 123456);
            dropout_case(state, 0.1, parts, w, 123456);
        }
    dropout_case(state, 0, 0, 0, 0);
    dropout_case(state, 0.1, 1, 0, -1); /* evaluation: as it was */
    dropout_case(state, 0.1, 7, 1, -1);
}

static void dropout_of_what_is_live(void **state)
{
    static const int32_t count[] = {5, 0, 11};
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "dropout, ragged");
    hpc_value live = hpc_test_indices(&c, test_type(HPC_I32, 3), count);
    hpc_type t = hpc_type_ragged(test_type(HPC_F32, 3, 11, 67), 1, live);
    hpc_value y = hpc_dropout(c.p, hpc_test_input(&c, t, 1), HPC_NONE, HPC_NONE,
                              (hpc_dropout_attr){.p = 0.5, .seed = 1, .tensor = 3});
    hpc_test_want(&c, y, HPC_TEST_EXACT);
    hpc_test_case_check(&c);
}

/* ---- nop ------------------------------------------------------------------------------------ */

static void nop_changes_nothing(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "nop");
    hpc_value x = hpc_test_input(&c, test_type(HPC_F32, 9), 1), y = hpc_copy(c.p, x, HPC_F32);
    hpc_value kept = hpc_test_state(&c, test_type(HPC_F32, 9), 1, false);
    hpc_value alone[] = {HPC_NONE, HPC_NONE}, reads[] = {HPC_NEW, y}, writes[] = {kept, HPC_NONE};
    hpc_emit(c.p, &hpc_op_nop, alone, NULL);
    hpc_emit(c.p, &hpc_op_nop, reads, NULL);
    hpc_emit(c.p, &hpc_op_nop, writes, NULL);
    hpc_test_want(&c, y, HPC_TEST_EXACT);
    hpc_test_want(&c, kept, HPC_TEST_EXACT);
    hpc_test_case_check(&c);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "point");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binaries),
        cmocka_unit_test(repetitions_are_told_apart),
        cmocka_unit_test(scales),
        cmocka_unit_test(copies),
        cmocka_unit_test(moves_between_memories),
        cmocka_unit_test(copies_to_integers),
        cmocka_unit_test(copies_of_what_is_live),
        cmocka_unit_test(fills),
        cmocka_unit_test(dropouts),
        cmocka_unit_test(dropout_of_what_is_live),
        cmocka_unit_test(nop_changes_nothing),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/point", tests, open_bench, hpc_test_bench_close);
}
