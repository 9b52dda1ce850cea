/*
 * sample.c: tokens drawn from rows of logits on every backend equal those of the definition in
 * double, under every kind of cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/ops.h"

enum { ROWS = 5, VOCAB = 401 };

static const hpc_sample_how cuts[] = {
    {.top_p = 1, .least = -INFINITY},
    {.inverse = 1, .top_p = 1, .least = -INFINITY},
    {.inverse = 0.5, .top_p = 1, .least = -2},
    {.inverse = 1, .top_p = 1, .least = -INFINITY, .top_k = 1},
    {.inverse = 1, .top_p = 1, .least = -INFINITY, .top_k = 7},
    {.inverse = 2, .top_p = 0.8, .least = -INFINITY},
    {.inverse = 1, .top_p = 0.7, .least = -3, .top_k = 40},
    {.inverse = 0.7, .top_p = 1, .least = -1, .top_k = 5000},
    {.inverse = 0.1, .top_p = 0.9, .least = -INFINITY}, /* more tokens than a round has */
};
enum { CUTS = sizeof cuts / sizeof *cuts };

static hpc_value records(hpc_test_case *c, hpc_type logits, const hpc_sample_how how[ROWS])
{
    const double unused[ROWS * HPC_SAMPLE_WORDS] = {0};
    hpc_type t = logits;
    t.dtype = HPC_I64;
    t.extent[1] = HPC_SAMPLE_WORDS;
    hpc_value v = hpc_test_input_of(c, t, unused);
    hpc_test_given *g = hpc_test_given_of(c, v);
    g->raw = hpc_alloc(ROWS, sizeof *how);
    assert_non_null(g->raw);
    memcpy(g->raw, how, ROWS * sizeof *how);
    return v;
}

static void check(hpc_test_case *c, hpc_value logits, const hpc_sample_how how[ROWS])
{
    hpc_value logprob, records_of = records(c, c->p->value[logits].type, how);
    hpc_value token = hpc_sample_tokens(c->p, &logprob, logits, records_of);
    hpc_test_given_of(c, logits)->constant = true;
    hpc_test_want(c, token, HPC_TEST_EXACT);
    hpc_test_want(c, logprob, HPC_TEST_CURVED);
    hpc_test_case_check(c);
}

/* The same cut in each row, with different random numbers. */
static void cut_rows(hpc_sample_how out[ROWS], int cut)
{
    for (int r = 0; r < ROWS; r++) {
        out[r] = cuts[cut];
        out[r].uniform = (double)(hpc_random_bits(7, (uint32_t)cut, (uint32_t)r, 0) >> 1) * 0x1p-31;
    }
}

static void tokens_are_those_of_the_definition(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        hpc_sample_how how[ROWS];
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "sample cut %d", cut);
        cut_rows(how, cut);
        check(&c, hpc_test_input(&c, test_type(HPC_F32, ROWS, VOCAB), 3), how);
    }
}

static void rows_beyond_the_count_are_not_read(void **state)
{
    hpc_sample_how how[ROWS];
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "sample ragged");
    cut_rows(how, 5);
    hpc_value live = hpc_test_scalar(&c, HPC_I32, 3);
    hpc_type t = hpc_type_ragged(test_type(HPC_F32, ROWS, VOCAB), 0, live);
    check(&c, hpc_test_input(&c, t, 3), how);
}

/* Equal logits, zeros of both signs, excluded tokens, and rows from which nothing can be drawn. */
static void equal_and_excluded_logits_are_ordered_by_number(void **state)
{
    for (int cut = 0; cut < CUTS; cut++) {
        double x[ROWS * VOCAB];
        hpc_sample_how how[ROWS];
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "sample of equals, cut %d", cut);
        cut_rows(how, cut);
        for (int i = 0; i < VOCAB; i++) {
            x[i] = i % 2 ? 0.0 : -0.0;
            x[VOCAB + i] = i % 3 ? -INFINITY : 1;
            x[2 * VOCAB + i] = -INFINITY;
            x[3 * VOCAB + i] = i == 300 ? (double)NAN : 0;
            x[4 * VOCAB + i] = i == 17 ? 3e38 : -3e38;
        }
        check(&c, hpc_test_input_of(&c, test_type(HPC_F32, ROWS, VOCAB), x), how);
    }
}

/* The highest random number takes the last token that is kept; the lowest, the first. */
static void extreme_random_numbers_take_the_ends(void **state)
{
    hpc_sample_how how[ROWS];
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "sample at the ends");
    for (int r = 0; r < ROWS; r++) {
        how[r] = cuts[r < 2 ? 1 : 4];
        how[r].uniform = r % 2 ? 1 - 0x1p-53 : 0;
    }
    check(&c, hpc_test_input(&c, test_type(HPC_F32, ROWS, VOCAB), 1), how);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "sample");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_those_of_the_definition),
        cmocka_unit_test(rows_beyond_the_count_are_not_read),
        cmocka_unit_test(equal_and_excluded_logits_are_ordered_by_number),
        cmocka_unit_test(extreme_random_numbers_take_the_ends),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/sample", tests, open_bench, hpc_test_bench_close);
}
