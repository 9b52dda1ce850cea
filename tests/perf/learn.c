/*
 * Tests of infer/perf/learn.c, estimate.c and model_file.c: planted rules are found, probabilities
 * are calibrated, abstention keeps its guarantee, and files are bit-exact. HPC_TEST_LONG=1 draws
 * more samples.
 */
/* tsan: left out, starts no thread. */
#include "tests/perf/examples.h"

#include <stdio.h>

#include "tests/support/fault.h"
#include "tests/support/folder.h"

static hpc_perf_model *learnt(const hpc_perf_example *e, int64_t n)
{
    hpc_perf_model *m;
    if (hpc_perf_learn(&m, e, n, NULL) < 0) fail_msg("%s", hpc_error_get()->text);
    return m;
}

static hpc_perf_estimate estimate(const hpc_perf_model *m, const hpc_perf_vector *x)
{
    hpc_perf_estimate y;
    hpc_perf_estimate_find(&y, m, x);
    assert_true(fabs(y.p[0] + y.p[1] + y.p[2] - 1) < 1e-12);
    return y;
}

/* ---- what is learnt ----------------------------------------------------------------------------
 */

static double area_under(const double *score, const bool *is, int n)
{
    double won = 0, pairs = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (is[i] && !is[j]) {
                won += score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0;
                pairs++;
            }
    return won / pairs;
}

/* Nothing that is learnt can order better than the rule by which it was planted, but for chance. */
static void a_planted_rule_is_found(void **state)
{
    enum { N = 500, NEW = 800, BINS = 5 };
    const planted rule = {.strength = 1, .changed = -3, .groups = 5};
    hpc_perf_example *e = planted_examples(&rule, 1, N), *other = planted_examples(&rule, 2, NEW);
    hpc_perf_model *m = learnt(e, N);
    double score[NEW], best[NEW], said[BINS] = {0}, was[BINS] = {0}, n[BINS] = {0}, error = 0;
    bool slower[NEW];
    (void)state;
    for (int k = 0; k < NEW; k++) {
        score[k] = estimate(m, &other[k].x).p[HPC_PERF_SLOWER];
        best[k] = planted_score(&other[k].x);
        slower[k] = other[k].label == HPC_PERF_SLOWER;
        int bin = (int)fmin(BINS - 1, score[k] * BINS);
        said[bin] += score[k];
        was[bin] += slower[k];
        n[bin]++;
    }
    assert_true(area_under(best, slower, NEW) > 0.8);
    assert_true(area_under(score, slower, NEW) > area_under(best, slower, NEW) - 0.02);
    for (int bin = 0; bin < BINS; bin++) error += fabs(said[bin] - was[bin]) / NEW;
    assert_true(n[0] > 0 && n[2] > 0);
    assert_true(error < 0.05);
    hpc_perf_model_free(m);
    free(e);
    free(other);
}

/* Weights are those of the features by which the rule goes, with their sign. */
static void reasons_have_the_sign_of_the_rule(void **state)
{
    enum { N = 400 };
    const planted rule = {.strength = 2, .changed = -3, .groups = 2};
    hpc_perf_example *e = planted_examples(&rule, 4, N);
    hpc_perf_model *m = learnt(e, N);
    int allocations = hpc_perf_feature_named("allocations_work");
    int loads = hpc_perf_feature_named("loads_work");
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        hpc_perf_vector x = {0};
        x.value[allocations] = 3 * sign;
        x.value[loads] = 3;
        hpc_perf_estimate y = estimate(m, &x);
        assert_true(y.weight[allocations] > 0);
        assert_true(fabs(y.weight[allocations]) > 2 * fabs(y.weight[loads]));
        assert_true(y.weight[hpc_perf_feature_named("stores")] == 0);
        assert_true((y.p[HPC_PERF_SLOWER] > y.p[HPC_PERF_FASTER]) == (sign > 0));
    }
    hpc_perf_model_free(m);
    free(e);
}

/* Where the cost is changes nothing for a model that never heard of it, and is heard by one that
 * did: what does not run does not matter. */
static void heat_is_heard_where_it_was_learnt(void **state)
{
    enum { N = 400 };
    const planted rule = {.strength = 2, .changed = -1, .groups = 4};
    hpc_perf_example *e = planted_examples(&rule, 6, N);
    int known = hpc_perf_feature_named("heat_known"), cold = hpc_perf_feature_named("cold");
    hpc_perf_model_facts facts;
    hpc_perf_vector x = {0};
    (void)state;
    x.value[hpc_perf_feature_named("allocations_work")] = 3;
    x.value[hpc_perf_feature_named("tokens_added")] = 4;
    hpc_perf_model *m = learnt(e, N);
    hpc_perf_estimate before = estimate(m, &x);
    x.value[known] = x.value[cold] = 1;
    x.value[hpc_perf_feature_named("heat_around")] = 9;
    hpc_perf_estimate y = estimate(m, &x);
    assert_memory_equal(&before, &y, sizeof y);
    hpc_perf_model_describe(&facts, m);
    assert_false(facts.heat);
    hpc_perf_model_free(m);
    for (int k = 0; k < N; k++) {
        e[k].x.value[known] = 1;
        e[k].x.value[cold] = k / 4 % 2; /* in every group */
        if (k / 4 % 2) e[k].label = HPC_PERF_SAME;
    }
    m = learnt(e, N);
    hpc_perf_model_describe(&facts, m);
    assert_true(facts.heat);
    x.value[hpc_perf_feature_named("heat_around")] = 0;
    y = estimate(m, &x);
    x.value[cold] = 0;
    hpc_perf_estimate hot = estimate(m, &x);
    assert_true(y.p[HPC_PERF_SLOWER] < 0.5 * hot.p[HPC_PERF_SLOWER]);
    hpc_perf_model_free(m);
    free(e);
}

/* Of two kinds of events either alone matters, and both together do not. */
static void trees_find_what_no_line_can_say(void **state)
{
    enum { N = 400 };
    const planted rule = {.strength = 0, .changed = 0, .groups = 5};
    hpc_perf_example *e = planted_examples(&rule, 1, 2 * N), *other = e + N;
    double score[N];
    bool changed[2 * N];
    (void)state;
    for (int k = 0; k < 2 * N; k++) {
        double loads = e[k].x.value[hpc_perf_feature_named("loads_work")];
        double branches = e[k].x.value[hpc_perf_feature_named("branches_work")];
        changed[k] = (loads != 0) != (branches != 0);
        e[k].label = !changed[k] ? HPC_PERF_SAME : k % 4 ? HPC_PERF_SLOWER : HPC_PERF_FASTER;
    }
    hpc_perf_model *m = learnt(e, N);
    for (int k = 0; k < N; k++) score[k] = 1 - estimate(m, &other[k].x).p[HPC_PERF_SAME];
    assert_true(area_under(score, changed + N, N) > 0.9);
    hpc_perf_model_free(m);
    free(e);
}

static void nothing_is_the_same(void **state)
{
    enum { N = 200 };
    const planted rule = {.strength = 2, .changed = 0, .groups = 4};
    hpc_perf_example *e = planted_examples(&rule, 5, N);
    hpc_perf_vector zero = {0}, comments = {0}, data = {0};
    (void)state;
    set(&comments, "no_effect", 1);
    set(&comments, "lines_added", 5);
    set(&data, "no_effect", 1);
    set(&data, "other_files", 1);
    /* These examples teach nothing, whatever their measurement. */
    e[0].x = comments;
    e[0].label = HPC_PERF_SLOWER;
    hpc_perf_model *m = learnt(e, N);
    hpc_perf_model_facts facts;
    hpc_perf_model_describe(&facts, m);
    assert_int_equal(facts.examples[0] + facts.examples[1] + facts.examples[2], N - 1);
    assert_int_equal(facts.groups, 4);
    assert_int_equal(estimate(m, &zero).verdict, HPC_PERF_SAME);
    assert_int_equal(estimate(m, &comments).verdict, HPC_PERF_SAME);
    assert_true(estimate(m, &comments).p[HPC_PERF_SAME] > 0.98);
    assert_true(hpc_perf_nothing_differs(&zero) && hpc_perf_nothing_differs(&comments));
    assert_false(hpc_perf_nothing_differs(&data));
    hpc_perf_model_free(m);
    free(e);
}

static void what_is_unlike_all_is_outside(void **state)
{
    enum { N = 200 };
    const planted rule = {.strength = 2, .changed = -1, .groups = 4};
    hpc_perf_example *e = planted_examples(&rule, 6, N);
    hpc_perf_model *m = learnt(e, N);
    hpc_perf_vector x = e[0].x;
    (void)state;
    assert_false(estimate(m, &x).outside);
    assert_int_equal(estimate(m, &x).outside_feature, -1);
    set(&x, "messages", 1); /* one, of what was never seen, is not */
    assert_false(estimate(m, &x).outside);
    set(&x, "messages", -40);
    hpc_perf_estimate y = estimate(m, &x);
    assert_true(y.outside);
    assert_int_equal(y.outside_feature, hpc_perf_feature_named("messages"));
    assert_int_equal(y.verdict, HPC_PERF_UNKNOWN);
    hpc_perf_model_free(m);
    free(e);
}

static void too_little_is_refused(void **state)
{
    enum { N = 200 };
    const planted rule = {.strength = 2, .changed = -1, .groups = 1};
    hpc_perf_example *e = planted_examples(&rule, 7, N);
    hpc_perf_model *m;
    (void)state;
    assert_int_equal(hpc_perf_learn(&m, e, 20, NULL), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "at least 10, 20 and 5 are needed"));
    hpc_error_clear();
    assert_int_equal(hpc_perf_learn(&m, NULL, 0, NULL), HPC_E_ARG);
    hpc_error_clear();
    for (int k = 0; k < N; k++) e[k].label = HPC_PERF_SAME;
    assert_int_equal(hpc_perf_learn(&m, e, N, NULL), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "0 slower, 200 the same, 0 faster"));
    hpc_error_clear();
    assert_null(m);
    free(e);
}

/* ---- what it promises --------------------------------------------------------------------------
 */

typedef struct tally {
    double alarms, not_slower, missed, slower, said, all;
} tally;

/* Learns from n examples, asks of as many others; `turned`: slower and faster are exchanged in what
 * is learnt from, so that nothing of the promise is true. */
static void draw(tally *t, const planted *rule, uint64_t seed, int n, bool turned)
{
    hpc_perf_example *e = planted_examples(rule, seed, n);
    hpc_perf_example *other = planted_examples(rule, seed + 1000, n);
    for (int k = 0; turned && k < n; k++)
        if (e[k].label != HPC_PERF_SAME)
            e[k].label = e[k].label == HPC_PERF_SLOWER ? HPC_PERF_FASTER : HPC_PERF_SLOWER;
    hpc_perf_model *m = learnt(e, n);
    for (int k = 0; k < n; k++) {
        bool slower = other[k].label == HPC_PERF_SLOWER;
        hpc_perf_verdict v = estimate(m, &other[k].x).verdict;
        t->not_slower += !slower;
        t->slower += slower;
        t->alarms += !slower && v == HPC_PERF_SLOWER;
        t->missed += slower && v == HPC_PERF_SAME;
        t->said += v != HPC_PERF_UNKNOWN;
        t->all++;
    }
    hpc_perf_model_free(m);
    free(e);
    free(other);
}

/* Slower ones are rare and hard to find: the limits alone would allow verdicts that are improbable.
 */
static void a_verdict_is_probable(void **state)
{
    enum { N = 600 };
    static const double LEAST = 0.45;
    const planted rule = {.strength = 0.7, .changed = -2, .groups = 5};
    hpc_perf_example *e = planted_examples(&rule, 3, N), *other = planted_examples(&rule, 4, N);
    hpc_perf_model *m = learnt(e, N);
    int improbable = 0;
    (void)state;
    for (int k = 0; k < N; k++) {
        hpc_perf_estimate y = estimate(m, &other[k].x);
        double up = y.p[HPC_PERF_SLOWER], down = y.p[HPC_PERF_FASTER];
        bool slower = up >= down && y.alarm_slower <= 0.05;
        bool faster = down > up && y.alarm_faster <= 0.05;
        improbable += !y.outside && (slower || faster) && fmax(up, down) < LEAST;
        if (y.verdict != HPC_PERF_UNKNOWN) assert_true(y.p[y.verdict] >= LEAST);
    }
    assert_true(improbable > 5);
    hpc_perf_model_free(m);
    free(e);
    free(other);
}

/* By 5 % and 10 %, whether there is much to learn or nothing, and three standard errors more. */
static void false_alarms_stay_within_their_share(void **state)
{
    const planted rules[] = {{.strength = 0.7, .changed = -2, .groups = 5},
                             {.strength = 0, .changed = -1, .groups = 5},
                             {.strength = 2, .changed = -1, .groups = 2}};
    int draws = getenv("HPC_TEST_LONG") ? 100 : 8;
    (void)state;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        tally t = {0};
        for (int i = 0; i < draws; i++) draw(&t, &rules[k], 10 + (uint64_t)i, 160, false);
        double alarm = t.alarms / t.not_slower, miss = t.missed / t.slower;
        assert_true(alarm <= 0.05 + 3 * sqrt(0.05 * 0.95 / t.not_slower));
        assert_true(miss <= 0.10 + 3 * sqrt(0.10 * 0.90 / t.slower));
        if (rules[k].strength > 1) assert_true(t.said > 0.2 * t.all);
    }
}

/* If what is learnt from is not like what is asked, it does not hold: so the test above can fail.
 */
static void the_promise_takes_likeness_for_granted(void **state)
{
    const planted rule = {.strength = 2, .changed = -1, .groups = 2};
    tally t = {0};
    (void)state;
    for (int i = 0; i < 2; i++) draw(&t, &rule, 10 + (uint64_t)i, 160, true);
    assert_true(t.alarms / t.not_slower > 0.15);
}

/* ---- files -------------------------------------------------------------------------------------
 */

static hpc_buf written(const hpc_perf_model *m, const char *path)
{
    hpc_buf text = {0};
    assert_int_equal(hpc_perf_model_write(m, path), 0);
    assert_int_equal(hpc_file_read(&text, path, 1 << 26), 0);
    return text;
}

static void a_file_comes_back_to_equal_bits(void **state)
{
    enum { N = 200 };
    const planted rule = {.strength = 2, .changed = -2, .groups = 2};
    hpc_perf_example *e = planted_examples(&rule, 3, N);
    hpc_perf_model *m = learnt(e, N), *again = learnt(e, N), *back;
    char path[4096];
    hpc_test_path(path, *state, "model.json");
    hpc_buf first = written(again, path), second = written(m, path);
    assert_int_equal(hpc_perf_model_read(&back, path), 0);
    hpc_buf third = written(back, path);
    assert_string_equal(first.data, second.data); /* learnt twice */
    assert_string_equal(first.data, third.data);
    for (int k = 0; k < N; k++) {
        hpc_perf_estimate x = estimate(m, &e[k].x), y = estimate(back, &e[k].x);
        assert_memory_equal(&x, &y, sizeof x);
    }
    hpc_buf_release(&first);
    hpc_buf_release(&second);
    hpc_buf_release(&third);
    hpc_perf_model_free(m);
    hpc_perf_model_free(again);
    hpc_perf_model_free(back);
    free(e);
}

/* The text with the first `from` become `to`. */
static hpc_buf with(const hpc_buf *text, const char *from, const char *to)
{
    hpc_buf out = {0};
    const char *at = strstr(text->data, from);
    if (!at) fail_msg("there is no %s", from);
    hpc_buf_add(&out, text->data, (size_t)(at - text->data));
    hpc_buf_text(&out, to);
    hpc_buf_text(&out, at + strlen(from));
    return out;
}

static void refused(const char *path, const hpc_buf *text, const char *why)
{
    hpc_perf_model *m;
    assert_int_equal(hpc_file_save(path, text->data, text->n), 0);
    int rc = hpc_perf_model_read(&m, path);
    if (rc != HPC_E_FORMAT || !strstr(hpc_error_get()->text, why))
        fail_msg("%d: '%s' has no '%s'", rc, hpc_error_get()->text, why);
    assert_non_null(strstr(hpc_error_get()->text, "model.json"));
    assert_null(m);
    hpc_error_clear();
}

static void damaged_files_are_refused(void **state)
{
    static const struct {
        const char *from, *to, *why;
    } cases[] = {
        {"hpccoder performance model", "x", "not a performance model"},
        {"\"version\":1", "\"version\":2", "the newest that this program supports"},
        {"\"lines_added\"", "\"lines_more\"", "'lines_more' instead of 'lines_added'"},
        {"\"alarm\":0.05", "\"alarm\":1.5", "alarm: 1.5 is not in 0 to 1"},
        {"\"alarm\":0.05", "\"alarm\":null", "alarm"},
        {"\"slope\":[", "\"slope\":[1.0,", "slope: has 3 items"},
        {"\"slope\":[", "\"slope\":[-1.0,", "slope"},
        {"\"weight\":[", "\"weight\":[1e300,", "weight"},
        {"\"share\":", "\"share\":7,\"x\":", "share: 7 is not in 0 to 1"},
        {"\"trees\":[", "\"trees\":[{}],\"x\":[", "column: is not a list"},
        {"\"trees\":", "\"trees\":{},\"x\":", "trees: is not a list"},
        {"\"members\":[", "\"members\":[],\"x\":[", "members: has 0 items"},
        {"\"scored\":[[", "\"scored\":[[9,", "scored: has 5 items"},
        {"\"scored\":[[0", "\"scored\":[[9", "scored: 9 is not in 0 to"},
        {"\"scored\":[", "\"scored\":[[0,1,0.5,0.5],", "their number differs from the scores"},
        {"\"groups\":2", "\"groups\":0", "groups: 0"},
        {"\"columns\":[", "\"columns\":[\"x\",", "it belongs to another version; retrain it"},
        {"}", "", "model.json"}};
    enum { N = 160 };
    const planted rule = {.strength = 0.5, .changed = -1, .groups = 2};
    hpc_perf_example *e = planted_examples(&rule, 8, N);
    hpc_perf_model *m = learnt(e, N);
    char path[4096];
    hpc_test_path(path, *state, "model.json");
    hpc_buf text = written(m, path);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_buf other = with(&text, cases[k].from, cases[k].to);
        refused(path, &other, cases[k].why);
        hpc_buf_release(&other);
    }
    for (size_t n = 0; n < text.n - 2; n += text.n / 7) { /* cut off */
        hpc_buf cut = {.data = text.data, .n = n};
        refused(path, &cut, "model.json");
    }
    hpc_buf_release(&text);
    hpc_perf_model_free(m);
    free(e);
}

typedef struct walk {
    hpc_perf_example *e;
    char path[4096];
} walk;

static int learn_and_keep(void *user)
{
    walk *w = user;
    hpc_perf_model *m = NULL, *back = NULL;
    int rc = HPC_OK;
    TRY(hpc_perf_learn(&m, w->e, 160, NULL));
    TRY(hpc_perf_model_write(m, w->path));
    TRY(hpc_perf_model_read(&back, w->path));
out:
    hpc_perf_model_free(m);
    hpc_perf_model_free(back);
    return rc;
}

/* Hundreds of times over: only at some of them. */
static void allocations_fail(void **state)
{
    const planted rule = {.strength = 2, .changed = 0, .groups = 4};
    walk w = {.e = planted_examples(&rule, 9, 160)};
    hpc_test_path(w.path, *state, "model.json");
    hpc_test_fault_reset();
    assert_int_equal(learn_and_keep(&w), 0);
    int64_t all = hpc_test_alloc_count();
    for (int64_t n = 1; n < all; n += 1 + all / 40) {
        hpc_test_fault_reset();
        hpc_test_fail_alloc(n);
        assert_int_equal(learn_and_keep(&w), HPC_E_NOMEM);
        hpc_error_clear();
    }
    hpc_test_fault_reset();
    free(w.e);
}

int main(void)
{
#define FOLDER(name)                                                                               \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planted_rule_is_found),
        cmocka_unit_test(reasons_have_the_sign_of_the_rule),
        cmocka_unit_test(trees_find_what_no_line_can_say),
        cmocka_unit_test(heat_is_heard_where_it_was_learnt),
        cmocka_unit_test(nothing_is_the_same),
        cmocka_unit_test(what_is_unlike_all_is_outside),
        cmocka_unit_test(too_little_is_refused),
        cmocka_unit_test(a_verdict_is_probable),
        cmocka_unit_test(false_alarms_stay_within_their_share),
        cmocka_unit_test(the_promise_takes_likeness_for_granted),
        FOLDER(a_file_comes_back_to_equal_bits),
        FOLDER(damaged_files_are_refused),
        FOLDER(allocations_fail),
    };
    return cmocka_run_group_tests_name("perf/learn", tests, NULL, NULL);
}
