/*
 * reduce.c: reduce on every backend compared with the reference: all kinds over all, rows and
 * columns, accumulated to state, run-time extents, empty input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "tests/support/ops.h"

static const hpc_dtype width[] = {HPC_F32, HPC_BF16};

typedef enum live { WHOLE, ROWS, BATCHED, COLUMNS, LIVES } live;

static hpc_type live_type(hpc_test_case *c, live how, hpc_dtype d, int64_t rows, int64_t cols)
{
    static const int32_t count[] = {0, 5, 3};
    hpc_type t = test_type(d, 3, rows, cols);
    hpc_type one = hpc_type_of(HPC_I32, 0, NULL), three = test_type(HPC_I32, 3);
    switch (how) {
    case ROWS: return hpc_type_ragged(t, 0, hpc_test_indices(c, one, (int32_t[]){2}));
    case BATCHED: return hpc_type_ragged(t, 1, hpc_test_indices(c, three, count));
    case COLUMNS:
        return hpc_type_ragged(test_type(d, 3, cols), 1, hpc_test_indices(c, three, count));
    default: return t;
    }
}

static hpc_type type_of_y(const hpc_type *x, int over)
{
    hpc_type y = *x;
    y.dtype = HPC_F32;
    if (over == HPC_OVER_ALL) return hpc_type_of(HPC_F32, 0, NULL);
    if (over == HPC_OVER_ROWS) return test_type(HPC_F32, x->extent[x->rank - 1]);
    y.rank--;
    if (y.ragged == y.rank) y.ragged = -1, y.count = HPC_NONE;
    y.extent[y.rank] = 0;
    return y;
}

static void reduce_case(void **state, int kind, int over, live how, int w, bool adds)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "reduce kind %d over %d live %d type %d adds %d", kind, over,
                        how, w, adds);
    hpc_type t = live_type(&c, how, width[w], 9, 700);
    hpc_value x = hpc_test_input(&c, t, 1), y = HPC_NEW;
    if (adds) y = hpc_test_state(&c, type_of_y(&t, over), 30, false);
    y = hpc_reduce(c.p, y, x, (hpc_reduce_kind)kind, (hpc_reduce_over)over);
    bool chosen = kind == HPC_MAX || kind == HPC_FINITE;
    hpc_test_given_of(&c, x)->constant = chosen;
    c.terms = 256; /* between chunks of so many, sums are in f64 */
    hpc_test_want(&c, y, chosen ? HPC_TEST_EXACT : HPC_TEST_SUMMED);
    hpc_test_case_check(&c);
}

static void reductions(void **state)
{
    for (int kind = HPC_SUM; kind <= HPC_FINITE; kind++)
        for (int over = HPC_OVER_ALL; over <= HPC_OVER_COLS; over++)
            for (int how = WHOLE; how < LIVES; how++)
                for (int w = 0; w < 2; w++) {
                    if (kind == HPC_FINITE && over != HPC_OVER_ALL) continue;
                    if (over == HPC_OVER_ROWS && how == COLUMNS) continue;
                    reduce_case(state, kind, over, (live)how, w, false);
                    if (kind <= HPC_SUMSQ) reduce_case(state, kind, over, (live)how, w, true);
                }
}

/* More than one part of a whole tensor, more than one slab of columns, a single vector. */
static void other_shapes(void **state)
{
    static const int64_t shape[][2] = {{41, 1000}, {1, 40000}, {3000, 1}, {2, 257}};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; s++)
        for (int over = HPC_OVER_ALL; over <= HPC_OVER_COLS; over++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "reduce shape %d over %d", (int)s, over);
            hpc_value x = hpc_test_input(&c, hpc_type_of(HPC_F32, 2, shape[s]), 1);
            c.terms = 256;
            for (int kind = HPC_SUM; kind <= HPC_MAX; kind++)
                hpc_test_want(
                    &c, hpc_reduce(c.p, HPC_NEW, x, (hpc_reduce_kind)kind, (hpc_reduce_over)over),
                    kind == HPC_MAX ? HPC_TEST_EXACT : HPC_TEST_SUMMED);
            hpc_test_case_check(&c);
        }
}

static void reductions_of_nothing(void **state)
{
    for (int over = HPC_OVER_ALL; over <= HPC_OVER_ROWS; over++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "reduce nothing over %d", over);
        hpc_value none = hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){0});
        hpc_type t = hpc_type_ragged(test_type(HPC_F32, 5, 40), 0, none);
        hpc_value x = hpc_test_input(&c, t, 1);
        hpc_test_given_of(&c, x)->constant = true;
        for (int kind = HPC_SUM; kind <= (over ? HPC_MAX : HPC_FINITE); kind++)
            hpc_test_want(&c,
                          hpc_reduce(c.p, HPC_NEW, x, (hpc_reduce_kind)kind, (hpc_reduce_over)over),
                          HPC_TEST_EXACT);
        hpc_test_case_check(&c);
    }
}

/* One element that is not finite, wherever it lies, shows; the largest of NaNs is one. */
static void what_is_not_finite(void **state)
{
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    enum { N = 35000 };
    double *x = hpc_alloc(N, sizeof *x);
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++)
        for (int at = 0; at < N; at += 11657) {
            hpc_test_case c;
            hpc_test_draw(x, N, 3, 1);
            x[at] = odd[k];
            hpc_test_case_begin(&c, state, "%g at %d", odd[k], at);
            hpc_value in = hpc_test_input_of(&c, test_type(HPC_BF16, N), x);
            hpc_test_given_of(&c, in)->constant = true;
            hpc_test_want(&c, hpc_reduce(c.p, HPC_NEW, in, HPC_FINITE, HPC_OVER_ALL),
                          HPC_TEST_EXACT);
            hpc_test_want(&c, hpc_reduce(c.p, HPC_NEW, in, HPC_MAX, HPC_OVER_ALL), HPC_TEST_EXACT);
            hpc_test_case_solve(&c);
            assert_true(c.wanted[0].correct[0] == 0);
            hpc_free(c.wanted[0].correct), hpc_free(c.wanted[0].live);
            hpc_free(c.wanted[1].correct), hpc_free(c.wanted[1].live);
            hpc_test_case_check(&c);
        }
    hpc_free(x);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "reduce");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions),
        cmocka_unit_test(other_shapes),
        cmocka_unit_test(reductions_of_nothing),
        cmocka_unit_test(what_is_not_finite),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/reduce", tests, open_bench, hpc_test_bench_close);
}
