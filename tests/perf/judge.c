/*
 * Tests of infer/perf/judge.c, judge_baseline.c, judge_figure.c and bag.c: metrics compared with
 * plain definitions, baselines on the inputs that they can see, and coverage of intervals.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/history.h"

#include "infer/perf/judge_priv.h"
#include "tests/perf/examples.h"

/* ---- figures -----------------------------------------------------------------------------------
 */

/* Ten commits of two repositories, looked at by hand. */
static void figures_are_what_they_are_called(void **state)
{
    enum { N = 10 };
    static const hpc_perf_verdict label[N] = {
        HPC_PERF_SLOWER, HPC_PERF_SAME, HPC_PERF_SAME,   HPC_PERF_FASTER, HPC_PERF_SAME,
        HPC_PERF_SLOWER, HPC_PERF_SAME, HPC_PERF_FASTER, HPC_PERF_SAME,   HPC_PERF_SAME};
    static const int64_t group[N] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
    static const judge_prediction predicted[N] = {
        {{0.7, 0.2, 0.1}, HPC_PERF_SLOWER},  {{0.1, 0.8, 0.1}, HPC_PERF_SAME},
        {{0.8, 0.1, 0.1}, HPC_PERF_SLOWER},  {{0.1, 0.1, 0.8}, HPC_PERF_FASTER},
        {{0.2, 0.7, 0.1}, HPC_PERF_UNKNOWN}, {{0.05, 0.9, 0.05}, HPC_PERF_SAME},
        {{0, 1, 0}, HPC_PERF_SAME},          {{0, 0.9, 0.1}, HPC_PERF_UNKNOWN},
        {{0, 1, 0}, HPC_PERF_SAME},          {{0, 1, 0}, HPC_PERF_SAME}};
    const judge_prediction *all[HPC_PERF_METHODS] = {predicted, predicted, predicted, predicted};
    hpc_perf_judgement j = {.has = {true, true}};
    const double expected[HPC_PERF_FIGURES] = {
        [HPC_PERF_ACCURACY] = 0.7,
        /* Called: those of 0.8 and 0.7, of which one is; of two. */
        [HPC_PERF_F1_SLOWER] = 2.0 * 1 / (2 + 2),
        /* In the first repository 3 of 4 pairs; in the second 4 of 4. */
        [HPC_PERF_AUROC_SLOWER] = 7.0 / 8,
        /* 0.8 against 0.2, 0.9, 0.3: 2 of 3, and 0.9 ties: 2.5; in the second 6 of 6. */
        [HPC_PERF_AUROC_CHANGED] = (2 + 2.5 + 6) / 12,
        /* A bin for each: how far each probability is from 1 or, if it was wrong, from 0. */
        [HPC_PERF_CALIBRATION] = (0.3 + 0.2 + 0.8 + 0.2 + 0.3 + 0.9 + 0 + 0.9 + 0 + 0) / 10,
        [HPC_PERF_COVERAGE] = 0.8,
        [HPC_PERF_SURE] = 6.0 / 8,
        [HPC_PERF_FALSE_ALARM] = 1.0 / 8,
        [HPC_PERF_MISSED] = 1.0 / 2};
    (void)state;
    assert_int_equal(judge_figures(&j, label, group, all, N, 200, 1), 0);
    for (int f = 0; f < HPC_PERF_FIGURES; f++) {
        hpc_perf_interval i = j.figure[HPC_PERF_LEARNER][f];
        if (fabs(i.value - expected[f]) > 1e-12)
            fail_msg("%s: %g, not %g", hpc_perf_figure_name((hpc_perf_figure)f), i.value,
                     expected[f]);
        assert_true(i.low <= i.value && i.value <= i.high);
        assert_true(i.low < i.high);
        assert_true(j.ahead[HPC_PERF_MAJORITY][f].low == 0); /* of the same: always 0 */
        assert_true(j.ahead[HPC_PERF_MAJORITY][f].high == 0);
    }
}

/* Without slower examples, nothing is reported about them. */
static void without_slower_ones_nothing_is_told_of_them(void **state)
{
    static const hpc_perf_verdict label[2] = {HPC_PERF_SAME, HPC_PERF_SAME};
    static const int64_t group[2] = {0, 0};
    static const judge_prediction predicted[2] = {{{0, 1, 0}, HPC_PERF_SAME},
                                                  {{0, 1, 0}, HPC_PERF_SAME}};
    const judge_prediction *all[HPC_PERF_METHODS] = {predicted, predicted, predicted, predicted};
    hpc_perf_judgement j = {.has = {true}};
    (void)state;
    assert_int_equal(judge_figures(&j, label, group, all, 2, 50, 1), 0);
    assert_true(isnan(j.figure[0][HPC_PERF_AUROC_SLOWER].value));
    assert_true(isnan(j.figure[0][HPC_PERF_MISSED].low));
    assert_true(j.figure[0][HPC_PERF_ACCURACY].value == 1);
}

/* Intervals of an accuracy of 0.8, over 100 sets of 200: about 95 of them hold it. */
static void intervals_cover_the_truth(void **state)
{
    enum { N = 200, SETS = 100 };
    static hpc_perf_verdict label[N];
    static int64_t group[N];
    static judge_prediction predicted[N];
    const judge_prediction *all[HPC_PERF_METHODS] = {predicted, predicted, predicted, predicted};
    int held = 0;
    (void)state;
    for (int set = 0; set < SETS; set++) {
        for (int k = 0; k < N; k++) {
            label[k] = drawn(77, (uint64_t)(set * N + k)) < 0.8 ? HPC_PERF_SAME : HPC_PERF_SLOWER;
            predicted[k] = (judge_prediction){{0.1, 0.8, 0.1}, HPC_PERF_UNKNOWN};
        }
        hpc_perf_judgement j = {.has = {true}};
        assert_int_equal(judge_figures(&j, label, group, all, N, 200, (uint64_t)set), 0);
        hpc_perf_interval i = j.figure[0][HPC_PERF_ACCURACY];
        held += i.low <= 0.8 && 0.8 <= i.high;
    }
    assert_in_range(held, 88, 100);
}

/* ---- splits and rivals -------------------------------------------------------------------------
 */

static void judged(hpc_perf_judgement *j, hpc_perf_split split, const hpc_perf_example *e,
                   const hpc_perf_bag *bag, int64_t n)
{
    hpc_perf_judge_rule rule = HPC_PERF_JUDGE_DEFAULTS;
    rule.split = split;
    rule.resamples = 100;
    if (hpc_perf_judge(j, e, bag, n, &rule) < 0) fail_msg("%s", hpc_error_get()->text);
}

/* Each commit has a word that reveals its label; only a reader of words can see it. */
static hpc_perf_bag *telling_bags(const hpc_perf_example *e, int n)
{
    hpc_perf_bag *bag = calloc((size_t)n, sizeof *bag);
    for (int k = 0; k < n; k++) {
        bool changed = e[k].label != HPC_PERF_SAME, slower = e[k].label == HPC_PERF_SLOWER;
        assert_int_equal(hpc_grow(&bag[k].item, &bag[k].cap, 1, sizeof *bag[k].item), 0);
        bag[k].item[bag[k].n++] = (struct hpc_perf_bag_word){
            .column = changed ? 7 : 9, .added = !changed || slower, .removed = changed && !slower};
    }
    return bag;
}

static void rivals_see_what_they_can(void **state)
{
    enum { N = 240 };
    const planted rule = {.strength = 2, .changed = -2, .groups = 3};
    hpc_perf_example *e = planted_examples(&rule, 1, N);
    hpc_perf_bag *bag = telling_bags(e, N);
    (void)state;
    for (int split = 0; split < 2; split++) {
        hpc_perf_judgement j;
        judged(&j, (hpc_perf_split)split, e, bag, N);
        assert_int_equal(j.n[0] + j.n[1] + j.n[2], split == HPC_PERF_BY_GROUP ? N : N * 3 / 10);
        assert_int_equal(j.groups, 3);
        assert_int_equal(j.left_out, 0);
        assert_true(j.figure[HPC_PERF_BAG][HPC_PERF_AUROC_SLOWER].value > 0.999);
        assert_true(j.figure[HPC_PERF_BAG][HPC_PERF_ACCURACY].value > 0.95);
        assert_true(j.figure[HPC_PERF_MAJORITY][HPC_PERF_AUROC_SLOWER].value == 0.5);
        assert_true(j.figure[HPC_PERF_LEARNER][HPC_PERF_AUROC_SLOWER].value > 0.85);
        assert_true(j.figure[HPC_PERF_LEARNER][HPC_PERF_FALSE_ALARM].value < 0.15);
        assert_true(j.figure[HPC_PERF_DIFF_SIZE][HPC_PERF_AUROC_CHANGED].value < 0.7);
        assert_true(j.ahead[HPC_PERF_MAJORITY][HPC_PERF_AUROC_SLOWER].low > 0);
        assert_true(j.ahead[HPC_PERF_BAG][HPC_PERF_AUROC_SLOWER].high < 0);
    }
    hpc_perf_judgement j;
    judged(&j, HPC_PERF_BY_TIME, e, NULL, N);
    assert_false(j.has[HPC_PERF_BAG]);
    for (int k = 0; k < N; k++) hpc_perf_bag_release(&bag[k]);
    free(bag);
    free(e);
}

/* Where size is all that matters, size is enough. */
static void the_size_of_the_diff_is_seen(void **state)
{
    enum { N = 240 };
    const planted rule = {.strength = 0, .changed = -2, .groups = 3};
    hpc_perf_example *e = planted_examples(&rule, 2, N);
    hpc_perf_judgement j;
    (void)state;
    for (int k = 0; k < N; k++) {
        double lines = e[k].x.value[hpc_perf_feature_named("lines_added")];
        e[k].label = lines < 5 ? HPC_PERF_SAME : k % 2 ? HPC_PERF_SLOWER : HPC_PERF_FASTER;
        set(&e[k].x, "lines_removed", 0);
    }
    judged(&j, HPC_PERF_BY_GROUP, e, NULL, N);
    assert_true(j.figure[HPC_PERF_DIFF_SIZE][HPC_PERF_AUROC_CHANGED].value > 0.999);
    assert_true(j.figure[HPC_PERF_DIFF_SIZE][HPC_PERF_ACCURACY].value > 0.6);
    free(e);
}

static void too_little_cannot_be_judged(void **state)
{
    enum { N = 60 };
    const planted rule = {.strength = 1, .changed = -2, .groups = 2};
    hpc_perf_example *e = planted_examples(&rule, 3, N);
    hpc_perf_judge_rule by = HPC_PERF_JUDGE_DEFAULTS;
    hpc_perf_judgement j;
    (void)state;
    assert_int_equal(hpc_perf_judge(&j, e, NULL, N, &by), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "too small"));
    assert_int_equal(j.left_out, 2);
    hpc_error_clear();
    free(e);
}

/* ---- words -------------------------------------------------------------------------------------
 */

static double count_of(const hpc_perf_bag *b, const char *word, bool added)
{
    uint32_t column = hpc_token_hash(word, strlen(word)) % HPC_PERF_BAG_COLUMNS;
    for (int64_t k = 0; k < b->n; k++)
        if (b->item[k].column == column)
            return (double)(added ? b->item[k].added : b->item[k].removed);
    return 0;
}

static void bags_have_the_words_of_changed_lines(void **state)
{
    history h = {.p = *state};
    hpc_perf_bag b = {0};
    commit_from(&h, 0);
    with(&h, "a.c", "int f(int n)\n{\n    int kept = n; /* old */\n    return before;\n}\n");
    commit_from(&h, 0);
    with(&h, "a.c",
         "int f(int n)\n{\n    int kept = n; /* new */\n    return after + after;\n}\n"
         "void fresh(void)\n{\n    another();\n}\n");
    history_open(&h, NULL);
    look(&h, 1, 2);
    assert_int_equal(hpc_perf_bag_find(&b, &h.change), 0);
    assert_true(count_of(&b, "before", false) == 1 && count_of(&b, "before", true) == 0);
    assert_true(count_of(&b, "after", true) == 2 && count_of(&b, "after", false) == 0);
    assert_true(count_of(&b, "another", true) == 1 && count_of(&b, "fresh", true) == 1);
    assert_true(count_of(&b, "return", true) == 1 && count_of(&b, "return", false) == 1);
    look(&h, 2, 1);
    assert_int_equal(hpc_perf_bag_find(&b, &h.change), 0);
    assert_true(count_of(&b, "before", true) == 1 && count_of(&b, "another", false) == 1);
    hpc_perf_bag_release(&b);
    history_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_what_they_are_called),
        cmocka_unit_test(without_slower_ones_nothing_is_told_of_them),
        cmocka_unit_test(intervals_cover_the_truth),
        cmocka_unit_test(rivals_see_what_they_can),
        cmocka_unit_test(the_size_of_the_diff_is_seen),
        cmocka_unit_test(too_little_cannot_be_judged),
        cmocka_unit_test_setup_teardown(bags_have_the_words_of_changed_lines, place_setup,
                                        place_teardown),
    };
    return cmocka_run_group_tests_name("perf/judge", tests, NULL, NULL);
}
