/*
 * Tests of corpus/history/database.c and pairs.c: the database of a performance history, and which
 * changes of all its series count as slower, the same or faster.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/database.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

static const char *id_of(char out[HPC_HISTORY_ID], int k)
{
    snprintf(out, HPC_HISTORY_ID, "%040d", k);
    return out;
}

/* ---- the database ---------------------------------------------------------------------------- */

static int add_runs(hpc_history_db *d, const char *command, const char *machine, int commit,
                    double value)
{
    char id[HPC_HISTORY_ID];
    int rc = HPC_OK;
    for (int run = 0; run < 3; run++)
        TRY(hpc_history_db_add(d, &(perf_way){"make", command, machine}, "time", id_of(id, commit),
                               value));
out:
    return rc;
}

/* Commits 1 to 5 in a row, 5 older than 4, and their costs with two commands. */
static int fill(const char *path)
{
    const double cost[] = {10, 12, 12, 6, 6};
    char id[HPC_HISTORY_ID], parent[HPC_HISTORY_ID];
    hpc_history_db *d = NULL;
    int rc = HPC_OK;
    TRY(hpc_history_db_create(&d, path));
    for (int k = 1; k <= 5; k++)
        TRY(hpc_history_db_add_commit(d, id_of(id, k), k > 1 ? id_of(parent, k - 1) : NULL,
                                      k == 5 ? 150 : k * 100));
    for (int k = 1; k <= 5; k++) TRY(add_runs(d, "a", "m", k, cost[k - 1]));
    TRY(add_runs(d, "b", "m", 4, 5)); /* 4 is faster by a and slower by b */
    TRY(add_runs(d, "b", "m", 3, 4));
    TRY(add_runs(d, "a", "other", 1, 100)); /* of another machine: not compared with this one */
    TRY(hpc_history_db_commit(d));
out:
    hpc_history_db_close(d);
    return rc;
}

static void assert_pair(const hpc_history_pair *p, int head, hpc_history_label label, double change)
{
    char id[HPC_HISTORY_ID];
    assert_string_equal(p->head, id_of(id, head));
    assert_string_equal(p->base, id_of(id, head - 1));
    assert_int_equal(p->label, label);
    assert_true(fabs(p->change - change) < 1e-12);
}

static void test_pairs(void **state)
{
    char path[PATH_MAX];
    hpc_history_db *d = NULL;
    hpc_history_pairs pairs;
    hpc_test_path(path, *state, "h.db");
    assert_int_equal(fill(path), 0);
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    assert_int_equal(hpc_history_pairs_load(&pairs, d, NULL), 0);
    hpc_history_db_close(d);
    assert_int_equal(pairs.n, 3);
    assert_int_equal(pairs.undecided_n, 1);
    assert_pair(&pairs.item[0], 5, HPC_HISTORY_SAME, 0); /* by time */
    assert_pair(&pairs.item[1], 2, HPC_HISTORY_SLOWER, 0.2);
    assert_pair(&pairs.item[2], 3, HPC_HISTORY_SAME, 0);
    hpc_history_pairs_release(&pairs);
}

/* 2 and 3 were not measured with a, and 3 was with b: 4 is compared with 1 only. */
static void test_pairs_over_what_is_missing(void **state)
{
    char path[PATH_MAX], id[HPC_HISTORY_ID], parent[HPC_HISTORY_ID];
    hpc_history_db *d = NULL;
    hpc_history_pairs pairs;
    hpc_test_path(path, *state, "h.db");
    assert_int_equal(hpc_history_db_create(&d, path), 0);
    for (int k = 1; k <= 5; k++)
        assert_int_equal(
            hpc_history_db_add_commit(d, id_of(id, k), k > 1 ? id_of(parent, k - 1) : NULL, k), 0);
    assert_int_equal(hpc_history_db_add_commit(d, id_of(id, 6), id_of(parent, 7), 6),
                     0); /* a circle */
    assert_int_equal(hpc_history_db_add_commit(d, id_of(id, 7), id_of(parent, 6), 7), 0);
    assert_int_equal(add_runs(d, "a", "m", 1, 10), 0);
    assert_int_equal(add_runs(d, "a", "m", 4, 12), 0);
    assert_int_equal(add_runs(d, "a", "m", 5, 12), 0);
    assert_int_equal(add_runs(d, "a", "m", 6, 12), 0);
    assert_int_equal(add_runs(d, "b", "m", 3, 10), 0);
    assert_int_equal(add_runs(d, "b", "m", 4, 1), 0);
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    assert_int_equal(hpc_history_pairs_load(&pairs, d, NULL), 0);
    hpc_history_db_close(d);
    assert_int_equal(pairs.n, 2);
    assert_string_equal(pairs.item[0].base, id_of(id, 1));
    assert_string_equal(pairs.item[0].head, id_of(id, 4));
    assert_int_equal(pairs.item[0].label, HPC_HISTORY_SLOWER);
    assert_true(fabs(pairs.item[0].change - 0.2) < 1e-12);
    assert_pair(&pairs.item[1], 5, HPC_HISTORY_SAME, 0);
    hpc_history_pairs_release(&pairs);
}

/* 2 % is a change of what is counted, and none of what is measured. */
static void test_pairs_by_metric(void **state)
{
    static const char *const cost[] = {"cost"}, *const seconds[] = {"time"}, *const none[] = {"x"};
    static const struct {
        hpc_history_pairs_rule rule;
        int n;
        hpc_history_label label;
        double change;
    } cases[] = {{{cost, 1, 0}, 1, HPC_HISTORY_SLOWER, 0.02},
                 {{seconds, 1, 0}, 1, HPC_HISTORY_SAME, 0.02},
                 {{cost, 1, 0.03}, 1, HPC_HISTORY_SAME, 0.02},
                 {{seconds, 1, 0.005}, 1, HPC_HISTORY_SLOWER, 0.02},
                 {{none, 1, 0}, 0, HPC_HISTORY_SAME, 0}};
    char path[PATH_MAX], id[HPC_HISTORY_ID], parent[HPC_HISTORY_ID];
    hpc_history_db *d = NULL;
    hpc_buf text = {0};
    hpc_test_path(path, *state, "h.db");
    assert_int_equal(hpc_history_db_create(&d, path), 0);
    for (int k = 1; k <= 2; k++)
        assert_int_equal(
            hpc_history_db_add_commit(d, id_of(id, k), k > 1 ? id_of(parent, k - 1) : NULL, k), 0);
    for (int k = 1; k <= 2; k++)
        for (int metric = 0; metric < 2; metric++)
            for (int run = 0; run < 2; run++)
                assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "a", "m"},
                                                    metric ? "time" : "cost", id_of(id, k),
                                                    k == 1 ? 100 : 102),
                                 0);
    assert_int_equal(hpc_history_db_add_session(d, "{\"repository\": \"/a b\"}"), 0);
    assert_int_equal(hpc_history_db_add_session(d, "{\"cpu\": 1}"), 0);
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_history_pairs pairs;
        assert_int_equal(hpc_history_pairs_load(&pairs, d, &cases[k].rule), 0);
        assert_int_equal(pairs.n, cases[k].n);
        assert_int_equal(pairs.series_n, cases[k].n);
        if (pairs.n > 0) assert_pair(&pairs.item[0], 2, cases[k].label, cases[k].change);
        hpc_history_pairs_release(&pairs);
    }
    hpc_buf name = {0};
    int64_t metrics;
    assert_int_equal(hpc_history_db_metrics(&text, &metrics, d), 0);
    assert_int_equal(metrics, 2);
    assert_memory_equal(text.data, "cost\0time", 10);
    assert_int_equal(hpc_history_db_repository(&text, &name, d), 0);
    assert_string_equal(text.data, "/a b");
    assert_string_equal(name.data, "");
    hpc_history_db_close(d);
    hpc_buf_release(&text);
    hpc_buf_release(&name);
}

/* Uncommitted additions are lost; later ones add to the committed state. */
static void test_adding(void **state)
{
    char path[PATH_MAX], id[HPC_HISTORY_ID];
    hpc_history_db *d = NULL;
    const char *commit;
    double value = 0;
    int64_t series = 0, n = 0;
    hpc_test_path(path, *state, "h.db");
    for (int round = 0; round < 3; round++) {
        assert_int_equal(hpc_history_db_create(&d, path), 0);
        assert_int_equal(hpc_history_db_add_commit(d, id_of(id, 1), NULL, 1), 0);
        assert_int_equal(
            hpc_history_db_add(d, &(perf_way){"make", "a", "m"}, "time", id, 1 + round), 0);
        if (round != 1) assert_int_equal(hpc_history_db_commit(d), 0);
        hpc_history_db_close(d);
    }
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    for (; perf_next_sample(&series, &commit, &value, d) == 1; n++)
        assert_true(value == (n == 0 ? 1 : 3));
    assert_int_equal(n, 2);
    hpc_history_db_close(d);
}

static void assert_error(int rc, int code, const char *part)
{
    assert_int_equal(rc, code);
    if (!strstr(hpc_error_get()->text, part)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
}

static void test_what_cannot_be_added(void **state)
{
    char path[PATH_MAX], id[HPC_HISTORY_ID];
    hpc_history_db *d = NULL;
    hpc_test_path(path, *state, "h.db");
    assert_int_equal(hpc_history_db_create(&d, path), 0);
    assert_error(hpc_history_db_add_commit(d, "HEAD", NULL, 1), HPC_E_ARG,
                 "'HEAD' is not a commit id");
    assert_error(hpc_history_db_add_commit(d, id_of(id, 1), "x", 1), HPC_E_ARG,
                 "'x' is not a commit id");
    assert_int_equal(hpc_history_db_add_commit(d, id, NULL, 1), 0);
    const double wrong[] = {0, -1, NAN, INFINITY};
    for (int k = 0; k < 4; k++)
        assert_error(hpc_history_db_add(d, &(perf_way){"make", "a", "m"}, "time", id, wrong[k]),
                     HPC_E_ARG, "cannot be");
    assert_error(hpc_history_db_add(d, &(perf_way){"make", "a", "m"}, "time", id_of(id, 2), 1),
                 HPC_E_ARG, "refers to a missing commit");
    hpc_history_db_close(d);
}

static void change(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void refuses(const char *path, const char *part)
{
    hpc_history_db *d = NULL;
    assert_error(hpc_history_db_open(&d, path), HPC_E_FORMAT, part);
    assert_null(d);
}

static void assert_hot(hpc_history_profiles *p, int commit, int64_t time, uint32_t key,
                       double share)
{
    const hpc_hot_line *hot;
    char id[HPC_HISTORY_ID];
    int64_t n;
    assert_int_equal(hpc_history_profiles_find(&hot, &n, p, id_of(id, commit), time), 0);
    assert_true(fabs((double)hpc_hot_share(hot, n, key) - share) < 1e-6);
}

/* A commit's own, else that of the nearest before it, else of the last before its time. */
static void test_profiles(void **state)
{
    const hpc_hot_line first[] = {{3, 0.5f}, {9, 0.25f}}, second[] = {{3, 0.25f}, {4, 0.5f}},
                       third[] = {{1, 7}, {4, NAN}, {6, 1}};
    const perf_way a = {"make", "a", "m"}, b = {"make", "b", "m"};
    char path[PATH_MAX], id[HPC_HISTORY_ID];
    hpc_history_profiles *p = NULL;
    hpc_history_db *d = NULL;
    hpc_test_path(path, *state, "h.db");
    assert_int_equal(fill(path), 0);
    assert_int_equal(hpc_history_db_create(&d, path), 0);
    assert_int_equal(hpc_history_db_add_profile(d, &a, id_of(id, 2), third, 3), 0);
    assert_int_equal(hpc_history_db_add_profile(d, &a, id_of(id, 2), first, 2),
                     0); /* in its place */
    assert_int_equal(hpc_history_db_add_profile(d, &b, id_of(id, 2), second, 2), 0);
    assert_int_equal(hpc_history_db_add_profile(d, &a, id_of(id, 4), third, 3), 0);
    assert_error(hpc_history_db_add_profile(d, &a, id_of(id, 9), first, 2), HPC_E_ARG,
                 "refers to a missing commit");
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    assert_int_equal(hpc_history_profiles_open(&p, d), 0);
    for (int k = 2; k <= 3; k++) {
        assert_hot(p, k, 0, 3, 0.375); /* of two commands the mean */
        assert_hot(p, k, 0, 4, 0.25);
        assert_hot(p, k, 0, 9, 0.125);
    }
    assert_hot(p, 5, 0, 6, 1);
    assert_hot(p, 5, 0, 1, 0); /* no share is 7 */
    assert_hot(p, 9, 400, 3, 0.375);
    assert_hot(p, 9, 401, 6, 1);
    assert_hot(p, 9, 1, 3, 0.375); /* none is before: the first */
    hpc_history_profiles_close(p);
    hpc_history_db_close(d);
}

/* A history of before there were profiles has none, and gets them when it is added to. */
static void test_no_profiles(void **state)
{
    const hpc_hot_line one = {3, 0.5f};
    char path[PATH_MAX], id[HPC_HISTORY_ID];
    const hpc_hot_line *hot = &one;
    hpc_history_profiles *p = NULL;
    hpc_history_db *d = NULL;
    int64_t n = 7;
    hpc_test_path(path, *state, "h.db");
    assert_int_equal(fill(path), 0);
    change(path, "DROP TABLE profile; PRAGMA user_version = 3");
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    assert_int_equal(hpc_history_profiles_open(&p, d), 0);
    assert_int_equal(hpc_history_profiles_find(&hot, &n, p, id_of(id, 2), 0), 0);
    assert_null(hot);
    assert_int_equal(n, 0);
    hpc_history_profiles_close(p);
    hpc_history_db_close(d);
    assert_int_equal(hpc_history_db_create(&d, path), 0);
    assert_int_equal(hpc_history_db_add_profile(d, &(perf_way){"", "a", "m"}, id, &one, 1), 0);
    hpc_history_db_close(d);
}

static void test_what_is_no_history(void **state)
{
    char path[PATH_MAX];
    hpc_history_db *d = NULL;
    hpc_test_path(path, *state, "h.db");
    assert_error(hpc_history_db_open(&d, path), HPC_E_IO, "there is no such performance history");
    assert_int_equal(fill(path), 0);
    change(path, "PRAGMA user_version = 5");
    refuses(path, "version 5 from a newer hpccoder; this one reads version 4");
    assert_error(hpc_history_db_create(&d, path), HPC_E_FORMAT, "version 5");
    change(path, "PRAGMA user_version = 4; PRAGMA application_id = 7");
    refuses(path, "is not a performance history");
    assert_int_equal(hpc_file_save(path, "some text that is no database at all", 36), 0);
    refuses(path, "not a database");
    assert_int_equal(hpc_file_save(path, "", 0), 0);
    refuses(path, "is not a performance history");
}

static void test_damaged_rows(void **state)
{
    static const char *const damage[] = {
        "INSERT INTO commits VALUES ('short', NULL, 1)",
        "UPDATE commits SET parent = 'x' WHERE time = 100",
        "UPDATE sample SET value = -1 WHERE run = 2",
        "UPDATE sample SET value = 'text' WHERE run = 2",
        "UPDATE sample SET commit_id = x'00' WHERE run = 2 AND commit_id LIKE '%1'",
    };
    char path[PATH_MAX];
    hpc_test_path(path, *state, "h.db");
    for (size_t k = 0; k < sizeof damage / sizeof *damage; k++) {
        hpc_history_db *d = NULL;
        hpc_history_pairs pairs;
        assert_int_equal(hpc_file_remove(path), 0);
        assert_int_equal(fill(path), 0);
        change(path, damage[k]);
        assert_int_equal(hpc_history_db_open(&d, path), 0);
        assert_error(hpc_history_pairs_load(&pairs, d, NULL), HPC_E_FORMAT, "is damaged");
        assert_int_equal(pairs.n, 0);
        hpc_history_db_close(d);
    }
}

static int load_body(void *user)
{
    hpc_history_db *d = NULL;
    hpc_history_pairs pairs = {0};
    hpc_history_profiles *p = NULL;
    const hpc_hot_line *hot;
    int64_t n;
    int rc = HPC_OK;
    TRY(hpc_history_db_open(&d, user));
    TRY(hpc_history_pairs_load(&pairs, d, NULL));
    hpc_history_pairs_release(&pairs);
    TRY(hpc_history_profiles_open(&p, d));
    TRY(hpc_history_profiles_find(&hot, &n, p, "", 0));
out:
    hpc_history_profiles_close(p);
    hpc_history_db_close(d);
    return rc;
}

static void test_every_allocation_fails(void **state)
{
    char path[PATH_MAX];
    hpc_test_path(path, *state, "h.db");
    assert_int_equal(fill(path), 0);
    assert_true(hpc_test_each_alloc(load_body, path) >= 5);
}

#define IN_A_FOLDER(test)                                                                          \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {

        IN_A_FOLDER(test_pairs),
        IN_A_FOLDER(test_pairs_over_what_is_missing),
        IN_A_FOLDER(test_pairs_by_metric),
        IN_A_FOLDER(test_adding),
        IN_A_FOLDER(test_what_cannot_be_added),
        IN_A_FOLDER(test_profiles),
        IN_A_FOLDER(test_no_profiles),
        IN_A_FOLDER(test_what_is_no_history),
        IN_A_FOLDER(test_damaged_rows),
        IN_A_FOLDER(test_every_allocation_fails),
    };
    return cmocka_run_group_tests_name("history/database", tests, NULL, NULL);
}
