/*
 * Tests of corpus/history/curve.c: what a history tells of its series, commit by commit.
 */
/* tsan: left out, starts no thread. */
#include "tests/history/made.h"

#include <math.h>
#include <string.h>

#include "corpus/history/curve.h"
#include "tests/support/fault.h"

enum { COMMITS = 40, BRANCH = 100, SERIES_A_TIME = 0, SERIES_A_COST, SERIES_B, SERIES_N };

static void add_failed_run(hpc_history_db *d, int commit)
{
    char id[HPC_HISTORY_ID];
    perf_attempt a = {.stage = "run",
                      .command = "a",
                      .machine = "m",
                      .build = "make",
                      .outcome = "timed out",
                      .log = "step 1\nstep 2\n==12== Memcheck\n--12-- warning: x\n\n"
                             "hpccoder: it took longer than 3 s\n"};
    assert_int_equal(hpc_history_db_add_attempt(d, id_of(id, commit), &a), 0);
}

/* 1 to 40 in a row. By a's time 22 to 40 cost 10 % more; by its cost 30 to 40 2 % more. 10 is 9's
 * bytes and 20 is 19's, neither was run. 21 does not build, 15 does not run; on another machine
 * nothing of 16 builds. 100 is of a branch from 5. b was tried on 1 to 3. */
static void fill(hpc_history_db *d)
{
    for (int k = 1; k <= COMMITS; k++) add(d, k, k - 1, 1000 * k);
    add(d, BRANCH, 5, 5500);
    for (int k = 1; k <= COMMITS; k++) {
        bool same = k == 10 || k == 20;
        add_build(d, k, "make", "m", k == 21 ? 0 : same ? k - 1 : k);
        if (same || k == 21 || k == 15) continue;
        add_runs(d, "a", "time", k, k < 22 ? 10 : 11, 5);
        add_runs(d, "a", "cost", k, k < 30 ? 1e9 : 1.02e9, k % 4 == 1 ? 2 : 1);
    }
    add_failed_run(d, 15);
    add_build(d, 16, "make", "another", 0);
    add_runs(d, "a", "time", BRANCH, 12, 5);
    for (int k = 1; k <= 3; k++) add_runs(d, "b", "time", k, 5, 3);
}

static void load(perf_curves *out, void **state, const perf_curves_options *o)
{
    char path[PATH_MAX];
    hpc_history_db *d = create(path, state);
    fill(d);
    d = reopen(d, path);
    if (perf_curves_load(out, d, o) < 0) fail_msg("%s", hpc_error_get()->text);
    hpc_history_db_close(d);
}

static int64_t place_of(const perf_curves *c, int commit)
{
    char id[HPC_HISTORY_ID];
    return perf_line_find(&c->line, id_of(id, commit));
}

static const perf_point *point_of(const perf_curves *c, int series, int commit)
{
    int64_t at = place_of(c, commit);
    assert_true(at >= 0);
    return &c->item[series].point[at];
}

static void series_are_whole(void **state)
{
    static const perf_curves_options all = {0};
    perf_curves c;
    load(&c, state, &all);
    assert_int_equal(c.n, SERIES_N);
    assert_int_equal(c.all_n, SERIES_N);
    assert_int_equal(c.line.n, COMMITS + 1);
    const perf_curve *t = &c.item[SERIES_A_TIME], *cost = &c.item[SERIES_A_COST];
    assert_string_equal(t->way.command, "a");
    assert_string_equal(t->way.build, "make");
    assert_string_equal(cost->metric, "cost");
    assert_true(t->threshold == 0.05 && cost->threshold == 0.01);
    assert_int_equal(t->measured_n, COMMITS - 4 + 1);
    assert_int_equal(t->same_n, 2);
    assert_int_equal(t->failed_n, 2);
    assert_int_equal(t->beside_n, 1);
    assert_int_equal(cost->beside_n, 0);
    assert_int_equal(c.item[SERIES_B].measured_n, 3);
    assert_int_equal(c.item[SERIES_B].failed_n, 1); /* 21's build; 15 failed a's run alone */
    perf_curves_release(&c);
}

static void points_have_costs(void **state)
{
    static const perf_curves_options all = {0};
    perf_curves c;
    load(&c, state, &all);
    const perf_point *p = point_of(&c, SERIES_A_TIME, 9);
    assert_int_equal(p->samples.n, 5);
    assert_true(fabs(p->median - 10.002) < 1e-9);
    assert_true(p->low < p->median && p->median < p->high && p->high / p->low < 1.001);
    p = point_of(&c, SERIES_A_TIME, 10); /* it costs what 9 does */
    assert_int_equal(p->samples.n, 0);
    assert_int_equal(p->source, place_of(&c, 9));
    assert_true(fabs(p->median - 10.002) < 1e-9);
    assert_true(p->same && p->effect.label == HPC_HISTORY_SAME && p->effect.change == 0);
    p = point_of(&c, SERIES_A_TIME, 11);
    assert_int_equal(p->base, place_of(&c, 10));
    assert_int_equal(p->effect.label, HPC_HISTORY_SAME);
    assert_false(p->same);
    p = point_of(&c, SERIES_A_TIME, 21);
    assert_true(isnan(p->median) && p->source == -1);
    assert_string_equal(p->failure->stage, "build");
    assert_string_equal(p->failure->outcome, "failed");
    assert_string_equal(p->failure->words, "hpccoder: it exited with status 2: x.c:3: error");
    p = point_of(&c, SERIES_A_TIME, 15);
    assert_string_equal(p->failure->words, "hpccoder: it took longer than 3 s: step 2");
    assert_null(point_of(&c, SERIES_B, 15)->failure);
    assert_null(point_of(&c, SERIES_A_TIME, 16)->failure);
    perf_curves_release(&c);
}

static void labels_are_by_metric(void **state)
{
    static const perf_curves_options all = {0}, coarse = {.threshold = 0.11};
    perf_curves c;
    load(&c, state, &all);
    assert_int_equal(point_of(&c, SERIES_A_TIME, 22)->effect.label, HPC_HISTORY_SLOWER);
    assert_int_equal(point_of(&c, SERIES_A_TIME, 22)->base, place_of(&c, 20));
    assert_true(fabs(point_of(&c, SERIES_A_TIME, 22)->effect.change - 0.1) < 1e-9);
    assert_int_equal(point_of(&c, SERIES_A_TIME, BRANCH)->effect.label, HPC_HISTORY_SLOWER);
    assert_int_equal(point_of(&c, SERIES_A_COST, 30)->effect.label, HPC_HISTORY_SLOWER);
    assert_int_equal(point_of(&c, SERIES_A_COST, 31)->effect.label, HPC_HISTORY_SAME);
    perf_curves_release(&c);
    load(&c, state, &coarse);
    assert_int_equal(point_of(&c, SERIES_A_TIME, 22)->effect.label, HPC_HISTORY_SAME);
    assert_int_equal(c.item[SERIES_A_TIME].steps.n, 0);
    assert_true(c.item[SERIES_A_COST].threshold == 0.11);
    perf_curves_release(&c);
}

/* A commit that was not run because it equals its parent is no suspect; one that did not build
 * is. */
static void steps_have_suspects(void **state)
{
    static const perf_curves_options all = {0};
    perf_curves c;
    int64_t first = -1, last = -1;
    load(&c, state, &all);
    const perf_curve *t = &c.item[SERIES_A_TIME], *cost = &c.item[SERIES_A_COST];
    assert_int_equal(t->steps.n, 1);
    const perf_step *s = &t->steps.item[0];
    assert_int_equal(s->at, place_of(&c, 22));
    assert_true(fabs(s->change - 0.1) < 1e-3 && s->low < 0.1 && s->high > 0.1);
    assert_int_equal(perf_curve_suspects(&first, &last, t, &c.line, s), 2);
    assert_int_equal(first, place_of(&c, 21));
    assert_int_equal(last, place_of(&c, 22));
    assert_int_equal(t->steps.stretches_n, 2);
    assert_int_equal(t->steps.stretch[0].last, place_of(&c, 19));
    assert_int_equal(t->steps.stretch[1].first, place_of(&c, 22));
    assert_int_equal(t->steps.stretch[1].last, place_of(&c, 40));
    assert_int_equal(cost->steps.n, 1);
    assert_int_equal(cost->steps.item[0].at, place_of(&c, 30));
    assert_int_equal(perf_curve_suspects(NULL, NULL, cost, &c.line, &cost->steps.item[0]), 1);
    perf_curves_release(&c);
}

static bool wants_cost(const perf_series *s, void *user)
{
    assert_string_equal(s->way.machine, "m");
    assert_string_equal(s->way.build, "make");
    assert_null(user);
    return s->way.command[0] == 'a' && strcmp(s->metric, "cost") == 0;
}

static void some_series_are_wanted(void **state)
{
    static const perf_curves_options some = {.wants = wants_cost};
    perf_curves c;
    load(&c, state, &some);
    assert_int_equal(c.n, 1);
    assert_int_equal(c.all_n, SERIES_N);
    assert_int_equal(c.item[0].measured_n, COMMITS - 4);
    assert_true(fabs(c.item[0].point[0].median - 1e9 * (1 + 0.5e-4)) < 1);
    perf_curves_release(&c);
}

static void empty_histories_have_none(void **state)
{
    static const perf_curves_options all = {0};
    char path[PATH_MAX];
    perf_curves c;
    hpc_history_db *d = create(path, state);
    for (int commits = 0; commits < 2; commits++) {
        d = reopen(d, path);
        assert_int_equal(perf_curves_load(&c, d, &all), 0);
        assert_int_equal(c.n, 0);
        assert_int_equal(c.line.n, commits);
        perf_curves_release(&c);
        hpc_history_db_close(d);
        assert_int_equal(hpc_history_db_create(&d, path), 0);
        add(d, 1, 0, 1);
    }
    hpc_history_db_close(d);
}

static void damage_is_told(void **state)
{
    static const struct {
        const char *sql, *part;
    } damage[] = {
        {"UPDATE series SET metric = NULL", "a series has no command, metric"},
        {"UPDATE attempt SET log = NULL", "an attempt is incomplete"},
        {"UPDATE attempt SET commit_id = 'x' WHERE outcome = 'timed out'", "an invalid commit id"},
        {"UPDATE sample SET value = 0 WHERE run = 5", "a sample is not above 0"}};
    static const perf_curves_options all = {0};
    char path[PATH_MAX], sql[2048];
    for (size_t k = 0; k < sizeof damage / sizeof *damage; k++) {
        perf_curves c;
        hpc_history_db *d = create(path, state);
        fill(d);
        d = reopen(d, path);
        hpc_history_db_close(d);
        /* Without what forbids it. */
        snprintf(sql, sizeof sql,
                 "CREATE TABLE s AS SELECT * FROM series; DROP TABLE series;"
                 "ALTER TABLE s RENAME TO series; CREATE TABLE t AS SELECT * FROM attempt;"
                 "DROP TABLE attempt; ALTER TABLE t RENAME TO attempt; %s",
                 damage[k].sql);
        change(path, sql);
        assert_int_equal(hpc_history_db_open(&d, path), 0);
        assert_int_equal(perf_curves_load(&c, d, &all), HPC_E_FORMAT);
        if (!strstr(hpc_error_get()->text, damage[k].part)) fail_msg("%s", hpc_error_get()->text);
        hpc_error_clear();
        hpc_history_db_close(d);
        assert_int_equal(hpc_file_remove(path), 0);
    }
}

static void last_words(void **state)
{
    static const struct {
        const char *log, *words;
    } cases[] = {{"", ""},
                 {"\n \n", ""},
                 {"one", "one"},
                 {"one\ntwo\r\n\n", "two: one"},
                 {"==1== a\n--1-- b\nend\n", "end: ==1== a"},
                 {"said\n==1== a\n==22==\n--1-- b\nend\n", "end: said"},
                 {"==x== a\n==1== b\nend", "end: ==x== a"}};
    char out[PERF_WORDS], log[1000];
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        perf_last_words(out, cases[k].log);
        assert_string_equal(out, cases[k].words);
    }
    memset(log, 'x', sizeof log);
    log[sizeof log - 1] = '\0';
    log[500] = '\n';
    perf_last_words(out, log);
    assert_int_equal(strlen(out), 160 + 2 + 160);
}

static int load_body(void *user)
{
    static const perf_curves_options all = {0};
    hpc_history_db *d = NULL;
    perf_curves c = {0};
    int rc = HPC_OK;
    TRY(hpc_history_db_open(&d, user));
    TRY(perf_curves_load(&c, d, &all));
    perf_curves_release(&c);
out:
    hpc_history_db_close(d);
    return rc;
}

static void every_allocation_fails(void **state)
{
    char path[PATH_MAX];
    hpc_history_db *d = create(path, state);
    fill(d);
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    assert_true(hpc_test_each_alloc(load_body, path) >= 10);
}

#define IN_A_FOLDER(test)                                                                          \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(series_are_whole),       IN_A_FOLDER(points_have_costs),
        IN_A_FOLDER(labels_are_by_metric),   IN_A_FOLDER(steps_have_suspects),
        IN_A_FOLDER(some_series_are_wanted), IN_A_FOLDER(empty_histories_have_none),
        IN_A_FOLDER(damage_is_told),         cmocka_unit_test(last_words),
        IN_A_FOLDER(every_allocation_fails),
    };
    return cmocka_run_group_tests_name("history/curve", tests, NULL, NULL);
}
