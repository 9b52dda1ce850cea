/*
 * Tests of logs, scores and comparisons: groups, intervals, resumption, and reports.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

static const hpc_eval_metric metrics[] = {
    {.name = "mean", .title = "mean", .sum = "x", .decimals = 2},
    {.name = "power", .title = "power", .sum = "x", .weight = "w", .scale = HPC_EVAL_EXP2},
};
static const hpc_eval_suite suite = {
    .name = "test", .title = "Test", .unit = "samples", .metric = metrics, .metric_n = 2};

static hpc_eval_log *open_log(const char *dir, const char *settings)
{
    hpc_buf text = {0};
    hpc_eval_log *l;
    hpc_buf_text(&text, settings);
    test_ok(hpc_eval_log_open(&l, dir, &text));
    hpc_buf_release(&text);
    return l;
}

static void add(hpc_eval_log *l, const char *id, const char *cluster, const char *kinds, double x)
{
    hpc_buf line = {0};
    hpc_buf_printf(&line,
                   "{\"id\":\"%s\",\"cluster\":\"%s\",\"group\":{\"kind\":%s},"
                   "\"number\":{\"x\":%g,\"w\":2}}",
                   id, cluster, kinds, x);
    test_ok(hpc_eval_log_add(l, &line));
    hpc_buf_release(&line);
}

static void fill(hpc_eval_log *l)
{
    add(l, "a", "1", "\"p\"", 1);
    add(l, "b", "1", "[\"p\",\"q\"]", 2);
    add(l, "c", "2", "\"q\"", 3);
    add(l, "d", "3", "[]", 6);
}

static void samples_count_in_each_of_their_groups(void **state)
{
    hpc_eval_log *l = open_log(NULL, "{}");
    hpc_eval_scores s;
    (void)state;
    fill(l);
    test_ok(hpc_eval_score(&s, &suite, l, 1));
    assert_int_equal(s.n, 3);
    assert_string_equal(s.row[0].name, "all");
    assert_int_equal(s.row[0].samples, 4);
    assert_true(s.row[0].value[0].value == 3);
    assert_true(s.row[0].value[1].value == exp2(12.0 / 8));
    assert_string_equal(s.row[1].name, "p");
    assert_true(s.row[1].value[0].value == 1.5);
    assert_string_equal(s.row[2].name, "q");
    assert_true(s.row[2].value[0].value == 2.5);
    hpc_eval_scores_release(&s);
    hpc_eval_log_close(l);
}

/* Clusters 1 (1 and 2), 2 (3) and 3 (6): resampled means lie between 1.5 and 6; the group p has one
 * cluster, and its interval no width. */
static void intervals_resample_clusters(void **state)
{
    hpc_eval_log *l = open_log(NULL, "{}");
    hpc_eval_scores s, again;
    (void)state;
    fill(l);
    test_ok(hpc_eval_score(&s, &suite, l, 1));
    test_ok(hpc_eval_score(&again, &suite, l, 1));
    const hpc_eval_value *v = &s.row[0].value[0];
    assert_true(v->low == 1.5 && v->high == 6);
    assert_true(again.row[0].value[1].low == s.row[0].value[1].low);
    assert_true(s.row[1].value[0].low == 1.5 && s.row[1].value[0].high == 1.5);
    hpc_eval_scores_release(&s);
    hpc_eval_scores_release(&again);
    hpc_eval_log_close(l);
}

/* 200 clusters with the mean 0 and the variance 1: the interval is about 2 * 1.96 / sqrt(200). */
static void interval_has_the_width_of_the_normal_one(void **state)
{
    hpc_eval_log *l = open_log(NULL, "{}");
    hpc_eval_scores s;
    (void)state;
    for (int k = 0; k < 200; k++) {
        char id[16];
        snprintf(id, sizeof id, "%d", k);
        add(l, id, id, "[]", k % 2 ? 1 : -1);
    }
    test_ok(hpc_eval_score(&s, &suite, l, 7));
    double width = s.row[0].value[0].high - s.row[0].value[0].low;
    assert_true(fabs(width - 2 * 1.96 / sqrt(200)) < 0.03);
    hpc_eval_scores_release(&s);
    hpc_eval_log_close(l);
}

static void comparison_pairs_samples(void **state)
{
    hpc_eval_log *l = open_log(NULL, "{}"), *other = open_log(NULL, "{}");
    hpc_eval_comparison c;
    (void)state;
    fill(l);
    add(other, "a", "1", "[]", 0.5);
    add(other, "c", "2", "[]", 3);
    add(other, "z", "9", "[]", 3);
    test_ok(hpc_eval_compare(&c, &suite, l, other, 1));
    assert_int_equal(c.n, 2);
    assert_int_equal(c.alone_here, 2);
    assert_int_equal(c.alone_there, 1);
    assert_true(c.difference[0].here == 2 && c.difference[0].there == 1.75);
    assert_int_equal(c.difference[0].better, 1);
    assert_int_equal(c.difference[0].equal, 1);
    assert_true(c.difference[0].value.low == 0 && c.difference[0].value.high == 0.5);
    assert_string_equal(c.pair[0].id, "a");
    hpc_eval_comparison_release(&c);
    hpc_eval_log_close(l);
    hpc_eval_log_close(other);
}

/* ---- logs ------------------------------------------------------------------------------------ */

static void report(hpc_buf *out, const hpc_eval_log *l, int kind)
{
    hpc_eval_scores s;
    test_ok(hpc_eval_score(&s, &suite, l, 1));
    const hpc_eval_report r = {.suite = &suite, .log = l, .scores = &s};
    if (kind == 0) test_ok(hpc_eval_report_text(out, &r, 0));
    if (kind == 1) test_ok(hpc_eval_report_json(out, &r));
    if (kind == 2) test_ok(hpc_eval_report_page(out, &r));
    hpc_eval_scores_release(&s);
}

/* The log is closed, cut within its last line, and continued. */
static void continued_log_gives_the_same_reports(void **state)
{
    char dir[PATH_MAX], file[PATH_MAX + 16];
    hpc_buf text = {0};
    hpc_test_path(dir, *state, "out");
    snprintf(file, sizeof file, "%s/samples.jsonl", dir);
    hpc_eval_log *whole = open_log(NULL, "{\"seed\":1}"), *part = open_log(dir, "{\"seed\":1}");
    fill(whole);
    add(part, "a", "1", "\"p\"", 1);
    add(part, "b", "1", "[\"p\",\"q\"]", 2);
    hpc_eval_log_close(part);
    test_ok(hpc_file_read(&text, file, 1 << 20));
    test_ok(hpc_file_save(file, text.data, text.n - 3));
    hpc_buf_release(&text);
    part = open_log(dir, "{\"seed\":1}");
    assert_true(hpc_eval_log_has(part, "a"));
    assert_false(hpc_eval_log_has(part, "b"));
    add(part, "b", "1", "[\"p\",\"q\"]", 2);
    add(part, "c", "2", "\"q\"", 3);
    add(part, "d", "3", "[]", 6);
    hpc_eval_log_close(part);
    part = open_log(dir, "{\"seed\":1}");
    for (int kind = 0; kind < 3; kind++) {
        hpc_buf a = {0}, b = {0};
        report(&a, whole, kind);
        report(&b, part, kind);
        assert_string_equal(a.data, b.data);
        hpc_buf_release(&a);
        hpc_buf_release(&b);
    }
    hpc_eval_log_close(part);
    hpc_eval_log_close(whole);
}

static void other_settings_are_rejected(void **state)
{
    char dir[PATH_MAX];
    hpc_buf text = {0};
    hpc_eval_log *l, *second;
    hpc_test_path(dir, *state, "out");
    l = open_log(dir, "{\"seed\":1,\"model\":\"a\"}");
    add(l, "a", "1", "[]", 1);
    hpc_buf_text(&text, "{\"seed\":1,\"model\":\"b\"}");
    test_fails(hpc_eval_log_open(&second, dir, &text), HPC_E_STATE, "another process");
    hpc_eval_log_close(l);
    test_fails(hpc_eval_log_open(&second, dir, &text), HPC_E_ARG, "model \"a\", not \"b\"");
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_count_in_each_of_their_groups),
        cmocka_unit_test(intervals_resample_clusters),
        cmocka_unit_test(interval_has_the_width_of_the_normal_one),
        cmocka_unit_test(comparison_pairs_samples),
        cmocka_unit_test_setup_teardown(continued_log_gives_the_same_reports, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(other_settings_are_rejected, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
