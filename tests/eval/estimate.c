/*
 * Tests of the estimators against cases computed by hand.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "eval/eval.h"

static void near(double a, double b)
{
    assert_true(fabs(a - b) < 1e-12);
}

/* 4 samples, 2 right. Of the 6 pairs, only the pair of wrong ones fails. */
static void pass_at_k_counts_subsets(void **state)
{
    (void)state;
    near(hpc_eval_pass_at(4, 2, 1), 0.5);
    near(hpc_eval_pass_at(4, 2, 2), 5.0 / 6);
    near(hpc_eval_pass_at(4, 2, 3), 1);
    near(hpc_eval_pass_at(10, 1, 5), 0.5);
    near(hpc_eval_pass_at(5, 0, 5), 0);
    near(hpc_eval_pass_at(5, 5, 1), 1);
    near(hpc_eval_pass_at(1000, 1, 100), 0.1);
    assert_true(isnan(hpc_eval_pass_at(3, 3, 4)));
}

/* Times 4, 2, 1 and base 4: speedups 1, 2, 4. Pairs have the maxima 2, 4, 4. */
static void speedup_at_k_is_the_expected_maximum(void **state)
{
    double time[] = {2, 4, 1}, failed[] = {INFINITY, 2, INFINITY, INFINITY};
    (void)state;
    near(hpc_eval_speedup_at(time, 3, 1, 4), 7.0 / 3);
    near(hpc_eval_speedup_at(time, 3, 2, 4), 10.0 / 3);
    near(hpc_eval_speedup_at(time, 3, 3, 4), 4);
    near(hpc_eval_speedup_at(failed, 4, 1, 4), 0.5);
    near(hpc_eval_speedup_at(failed, 4, 2, 4), 1); /* half of the pairs have it */
    assert_true(isnan(hpc_eval_speedup_at(time, 3, 4, 1)));
}

static void similarity_counts_edits(void **state)
{
    (void)state;
    near(hpc_eval_similarity("", 0, "", 0), 1);
    near(hpc_eval_similarity("abc", 3, "", 0), 0);
    near(hpc_eval_similarity("kitten", 6, "sitting", 7), 1 - 3.0 / 7);
    near(hpc_eval_similarity("a = b;", 6, "a = b;", 6), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pass_at_k_counts_subsets),
        cmocka_unit_test(speedup_at_k_is_the_expected_maximum),
        cmocka_unit_test(similarity_counts_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
