/*
 * matrix.c: combine, map and tile on every backend compared with the reference, with the uses of
 * moving averages and blocks: state updated in place, identity matrices by block, a round trip of
 * a matrix.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "tests/support/ops.h"

static const hpc_dtype width[] = {HPC_F32, HPC_BF16};

/* ---- combine ---------------------------------------------------------------------------- */

enum { X1 = 1, X2 = 2, UNIT = 4, TURNED = 8, PARTS = 16 };
typedef enum factors { NO_FACTORS, SCALARS, BY_MATRIX, FACTORS } factors;

static hpc_type turned(hpc_type t)
{
    int64_t last = t.extent[t.rank - 1];
    t.extent[t.rank - 1] = t.extent[t.rank - 2];
    t.extent[t.rank - 2] = last;
    return t;
}

/* Far enough from 0 for each term to be seen in the sum. */
static void make_factors(hpc_value s[3], hpc_test_case *c, int parts, factors f, int64_t batch)
{
    static const int term[3] = {UNIT, X1, X2};
    hpc_type t = f == SCALARS ? hpc_type_of(HPC_F32, 0, NULL) : test_type(HPC_F32, batch);
    for (int k = 0; k < 3; k++) {
        s[k] = HPC_NONE;
        if (f == NO_FACTORS || !(parts & term[k])) continue;
        s[k] = hpc_test_input(c, t, 1);
        hpc_test_given *g = hpc_test_given_of(c, s[k]);
        for (int64_t i = 0; i < g->n; i++) g->data[i] += copysign(0.5, g->data[i]);
        hpc_test_round(g->data, HPC_F32, g->n);
    }
}

static void combine_case(void **state, hpc_type t, int parts, factors f, bool temporary)
{
    hpc_test_case c;
    hpc_combine_attr attr = {parts & UNIT ? 0.7 : 0, -0.6, 1.3, parts & TURNED};
    hpc_test_case_begin(&c, state, "combine %d rank %d type %d factors %d temporary %d", parts,
                        t.rank, t.dtype, f, temporary);
    hpc_value x1 = parts & X1 ? hpc_test_input(&c, t, 1) : HPC_NONE, x2 = HPC_NONE, s[3];
    if (temporary) x1 = hpc_test_temporary(&c, x1);
    if (parts & X2) x2 = hpc_test_input(&c, parts & TURNED ? turned(t) : t, 1);
    make_factors(s, &c, parts, f, t.extent[0]);
    hpc_value y = hpc_combine(c.p, HPC_NEW, x1, x2, s, attr);
    c.terms = 3;
    hpc_test_want(&c, y, HPC_TEST_SUMMED);
    if (temporary) hpc_test_in_place(&c, y, x1);
    hpc_test_case_check(&c);
}

static void sums(void **state)
{
    static const int64_t shape[][3] = {{3, 5, 5}, {2, 33, 33}, {1, 70, 70}, {3, 7, 40}};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int parts = 1; parts < PARTS; parts++)
            for (int f = NO_FACTORS; f < FACTORS; f++) {
                bool square = shape[s][1] == shape[s][2], terms = parts & (X1 | X2);
                if (!terms || (parts & UNIT && !square) || (parts & TURNED && !(parts & X2)))
                    continue;
                hpc_dtype d = width[(s + (size_t)(parts + f)) % 2];
                combine_case(state, hpc_type_of(d, 3, shape[s]), parts, (factors)f, parts & X1);
                if (f != BY_MATRIX)
                    combine_case(state, hpc_type_of(d, 2, shape[s] + 1), parts, (factors)f, false);
            }
}

static void sums_of_any_shape(void **state)
{
    combine_case(state, hpc_type_of(HPC_F32, 0, NULL), X1 | X2, SCALARS, true);
    combine_case(state, test_type(HPC_BF16, 1001), X1 | X2, NO_FACTORS, false);
    combine_case(state, test_type(HPC_F32, 2, 3, 4, 50), X1 | X2, SCALARS, true);
}

enum { STEPS = 4 };

/* S = 0.95 S + 0.05 X (or X^T), S being read and written by one instruction. R = 0.5 R + S^T then
 * reads what other workers have written, and S is written again after they have read it. */
static void moving_averages(void **state)
{
    for (int w = 0; w < 4; w++) {
        hpc_test_case c;
        hpc_combine_attr attr = {.a1 = 0.95, .a2 = 0.05, .trans = w & 2};
        hpc_test_case_begin(&c, state, "moving average type %d", w);
        hpc_value s = hpc_test_state(&c, test_type(HPC_F32, 2, 37, 37), 1, false);
        hpc_value r = hpc_test_state(&c, test_type(HPC_F32, 2, 37, 37), 1, false);
        for (int k = 0; k < STEPS; k++) {
            hpc_value x = hpc_test_input(&c, test_type(width[w & 1], 2, 37, 37), 1);
            hpc_combine(c.p, s, s, x, NULL, attr);
            hpc_combine(c.p, r, r, s, NULL, (hpc_combine_attr){.a1 = 0.5, .a2 = 1, .trans = true});
        }
        c.terms = 3 * STEPS * STEPS;
        hpc_test_want(&c, s, HPC_TEST_SUMMED);
        hpc_test_want(&c, r, HPC_TEST_SUMMED);
        hpc_test_case_check(&c);
    }
}

/* New state from temporaries, and from nothing: S = eps I. */
static void state_is_written_anew(void **state)
{
    hpc_test_case c;
    hpc_type t = test_type(HPC_F32, 3, 20, 20);
    hpc_test_case_begin(&c, state, "state from temporaries");
    hpc_value s = hpc_test_state(&c, t, 1, false), unit = hpc_test_state(&c, t, 1, false);
    hpc_test_given_of(&c, s)->constant = hpc_test_given_of(&c, unit)->constant = true;
    hpc_value x = hpc_test_temporary(&c, hpc_test_input(&c, t, 1));
    hpc_value eps = hpc_test_input(&c, test_type(HPC_F32, 3), 1);
    hpc_combine(c.p, s, x, HPC_NONE, NULL, (hpc_combine_attr){.a1 = 0.5});
    hpc_combine(c.p, unit, HPC_NONE, HPC_NONE, (hpc_value[]){eps, HPC_NONE, HPC_NONE},
                (hpc_combine_attr){.a0 = 0.25});
    hpc_test_want(&c, s, HPC_TEST_ROUNDED);
    hpc_test_want(&c, unit, HPC_TEST_ROUNDED);
    hpc_test_case_check(&c);
}

/* A preconditioner's damping by its norm, the symmetric part, a polynomial's coefficients. */
static void as_optimizers_use_it(void **state)
{
    hpc_test_case c;
    enum { B = 5, N = 19 };
    hpc_test_case_begin(&c, state, "damping, symmetric part, polynomial");
    hpc_value s = hpc_test_input(&c, test_type(HPC_F32, B, N, N), 1);
    hpc_value other = hpc_test_input(&c, test_type(HPC_F32, B, N, N), 1);
    hpc_value c1 = hpc_test_input(&c, test_type(HPC_F32, B), 1);
    hpc_value c2 = hpc_test_input(&c, test_type(HPC_F32, B), 1);
    hpc_value flat = hpc_view(c.p, s, 2, (int64_t[]){B, N * N});
    hpc_value norm2 = hpc_reduce(c.p, HPC_NEW, flat, HPC_SUMSQ, HPC_OVER_COLS);
    hpc_value norm = hpc_map_each(c.p, norm2, (hpc_map_attr){.alpha = 1, .power = 0.5});
    hpc_value damped =
        hpc_combine(c.p, HPC_NEW, s, HPC_NONE, (hpc_value[]){norm, HPC_NONE, HPC_NONE},
                    (hpc_combine_attr){.a0 = 1e-2, .a1 = 1});
    hpc_value even = hpc_combine(c.p, HPC_NEW, s, s, NULL,
                                 (hpc_combine_attr){.a1 = 0.5, .a2 = 0.5, .trans = true});
    hpc_value poly = hpc_combine(c.p, HPC_NEW, s, other, (hpc_value[]){HPC_NONE, c1, c2},
                                 (hpc_combine_attr){1, -1, 1, false});
    c.terms = N * N;
    hpc_test_want(&c, damped, HPC_TEST_CHAINED);
    hpc_test_want(&c, even, HPC_TEST_SUMMED);
    hpc_test_want(&c, poly, HPC_TEST_SUMMED);
    hpc_test_case_solve(&c);
    for (int k = 0; k < B; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double *x = hpc_test_given_of(&c, s)->data + (ptrdiff_t)k * N * N;
                const double *y = c.wanted[1].correct + (ptrdiff_t)k * N * N;
                assert_true(y[i * N + j] == (x[i * N + j] + x[j * N + i]) / 2);
            }
    for (int k = 0; k < c.wanted_n; k++) hpc_free(c.wanted[k].correct), hpc_free(c.wanted[k].live);
    hpc_test_case_check(&c);
}

/* ---- map -------------------------------------------------------------------------------- */

static void powers(void **state)
{
    static const double x[] = {4, 0.25, -3, 1e-20, 1e20, 0, -0.0, INFINITY, -INFINITY, NAN, 1, 7};
    static const hpc_map_attr attr[] = {
        {.alpha = 2, .power = 1},
        {.alpha = 1, .power = -1, .guarded = true},
        {.alpha = 1, .power = 0.5, .guarded = true, .other = -7},
        {.alpha = 0.5, .power = -0.25, .beta = 3},
        {.alpha = -1, .power = 1, .beta = 1, .lo = -2, .hi = 0.5},
        {.alpha = 1, .power = 1, .lo = 0, .hi = 5, .guarded = true, .other = 9},
    };
    enum { N = sizeof x / sizeof *x };
    for (size_t k = 0; k < sizeof attr / sizeof *attr; k++)
        for (int w = 0; w < 2; w++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "map %d type %d", (int)k, w);
            hpc_value in = hpc_test_input_of(&c, test_type(width[w], N), x);
            hpc_value many = hpc_test_input(&c, test_type(width[w], 700), 1);
            hpc_test_given_of(&c, in)->constant = true;
            hpc_value t = hpc_test_temporary(&c, many), y = hpc_map_each(c.p, t, attr[k]);
            hpc_test_want(&c, hpc_map_each(c.p, in, attr[k]), HPC_TEST_CURVED);
            hpc_test_want(&c, y, HPC_TEST_CURVED);
            hpc_test_in_place(&c, y, t);
            hpc_test_case_check(&c);
        }
}

/* What the definition says, in figures. */
static void powers_are_these(void **state)
{
    static const double x[] = {4, 0, NAN, 16, INFINITY}, want[] = {0.5, 3, 3, 0.25, 3};
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "map by hand");
    hpc_value in = hpc_test_input_of(&c, test_type(HPC_F32, 5), x);
    hpc_map_attr attr = {.alpha = 1, .power = -0.5, .guarded = true, .other = 3};
    hpc_test_want(&c, hpc_map_each(c.p, in, attr), HPC_TEST_EXACT);
    hpc_test_case_solve(&c);
    for (int k = 0; k < 5; k++) assert_true(c.wanted[0].correct[k] == want[k]);
    hpc_test_case_free(&c);
}

/* ---- tile ------------------------------------------------------------------------------- */

static void blocks_and_back(void **state)
{
    static const int64_t shape[][4] = {
        {12, 20, 4, 5}, {64, 64, 16, 16}, {6, 1200, 3, 300}, {7, 3, 7, 3}, {9, 4, 1, 1}};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int w = 0; w < 2; w++) {
            hpc_test_case c;
            const int64_t *n = shape[s];
            hpc_test_case_begin(&c, state, "tile %d type %d", (int)s, w);
            hpc_value x = hpc_test_input(&c, hpc_type_of(width[w], 2, n), 1);
            hpc_value y = hpc_tile(c.p, x, n[2], n[3]), z = hpc_untile(c.p, y, n[0], n[1]);
            hpc_test_want(&c, y, HPC_TEST_EXACT);
            hpc_test_want(&c, z, HPC_TEST_EXACT);
            hpc_test_case_solve(&c);
            const double *in = hpc_test_given_of(&c, x)->data;
            int64_t at = 0;
            for (int64_t i = 0; i < n[0]; i += n[2]) /* the definition, block by block */
                for (int64_t j = 0; j < n[1]; j += n[3])
                    for (int64_t r = 0; r < n[2]; r++)
                        for (int64_t k = 0; k < n[3]; k++)
                            assert_true(c.wanted[0].correct[at++] == in[(i + r) * n[1] + j + k]);
            assert_int_equal(at, n[0] * n[1]);
            assert_memory_equal(c.wanted[1].correct, in, (size_t)at * sizeof *in);
            for (int k = 0; k < 2; k++) hpc_free(c.wanted[k].correct), hpc_free(c.wanted[k].live);
            hpc_test_case_check(&c);
        }
}

static void one_behind_the_other(void **state)
{
    static const int64_t extent[3][2] = {{12, 5}, {4, 3}, {40, 7}};
    for (int w = 0; w < 2; w++)
        for (int64_t parts = 1; parts <= 4; parts *= 2) {
            hpc_test_case c;
            hpc_value x[3];
            hpc_test_case_begin(&c, state, "bundle %d type %d", (int)parts, w);
            for (int k = 0; k < 3; k++)
                x[k] = hpc_test_input(&c, hpc_type_of(width[w], 2, extent[k]), 1);
            hpc_test_want(&c, hpc_bundle(c.p, x, 3, parts), HPC_TEST_EXACT);
            hpc_test_case_solve(&c);
            int64_t at = 0;
            for (int64_t part = 0; part < parts; part++)
                for (int k = 0; k < 3; k++) {
                    int64_t n = extent[k][0] * extent[k][1] / parts;
                    const double *in = hpc_test_given_of(&c, x[k])->data;
                    for (int64_t e = 0; e < n; e++)
                        assert_true(c.wanted[0].correct[at++] == in[part * n + e]);
                }
            hpc_free(c.wanted[0].correct), hpc_free(c.wanted[0].live);
            hpc_test_case_check(&c);
        }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "matrix");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_behind_the_other),
        cmocka_unit_test(sums),
        cmocka_unit_test(sums_of_any_shape),
        cmocka_unit_test(moving_averages),
        cmocka_unit_test(state_is_written_anew),
        cmocka_unit_test(as_optimizers_use_it),
        cmocka_unit_test(powers),
        cmocka_unit_test(powers_are_these),
        cmocka_unit_test(blocks_and_back),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/matrix", tests, open_bench, hpc_test_bench_close);
}
