/*
 * Tests of corpus/perf_add.c: sessions, attempts and counts, and a database of version 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "corpus/perf.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

#define A "1111111111111111111111111111111111111111"
#define B "2222222222222222222222222222222222222222"

static void must(int rc)
{
    if (rc < 0) fail_msg("%s", hpc_error_get()->text);
}

/* The first column of the first row, as text. */
static void asked(char out[256], const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(q), SQLITE_ROW);
    const unsigned char *text = sqlite3_column_text(q, 0);
    snprintf(out, 256, "%s", text ? (const char *)text : "NULL");
    sqlite3_finalize(q);
    sqlite3_close(db);
}

static void changed(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void samples_are_of_their_session(void **state)
{
    char path[PATH_MAX], text[256];
    perf_db *d = NULL;
    int64_t n = 0;
    hpc_test_path(path, *state, "h.db");
    must(perf_db_create(&d, path));
    must(perf_db_add_commit(d, A, NULL, 1));
    must(perf_db_add(d, "run", "time", "m", A, 1.5));
    must(perf_db_add_session(d, "{\"cpu\":\"x\"}"));
    must(perf_db_add(d, "run", "time", "m", A, 2.5));
    must(perf_db_add(d, "run", "cost", "m", A, 7));
    must(perf_db_count(&n, d, "run", "time", "m", A));
    assert_int_equal(n, 2);
    must(perf_db_count(&n, d, "run", "cost", "m", A));
    assert_int_equal(n, 1);
    must(perf_db_count(&n, d, "run", "time", "other", A));
    assert_int_equal(n, 0);
    must(perf_db_commit(d));
    perf_db_close(d);
    asked(text, path,
          "SELECT group_concat(run || ':' || value || ':' || coalesce(session, '-')) "
          "FROM sample WHERE series = 1 ORDER BY run");
    assert_string_equal(text, "1:1.5:-,2:2.5:1");
    asked(text, path, "SELECT facts FROM session WHERE id = 1 AND at > 1700000000000");
    assert_string_equal(text, "{\"cpu\":\"x\"}");
    asked(text, path, "SELECT count(*) FROM sample WHERE at > 1700000000000");
    assert_string_equal(text, "3");
}

static void the_last_attempt_counts(void **state)
{
    char path[PATH_MAX];
    perf_db *d = NULL;
    perf_attempt a = {.stage = "build", .command = "make", .machine = "m", .outcome = "failed"};
    a.log = "error: no";
    hpc_test_path(path, *state, "h.db");
    must(perf_db_create(&d, path));
    must(perf_db_add_commit(d, A, NULL, 1));
    assert_int_equal(perf_db_find_attempt(&a, d, A), 0);
    must(perf_db_add_attempt(d, A, &a));
    perf_attempt found = a;
    assert_int_equal(perf_db_find_attempt(&found, d, A), 1);
    assert_string_equal(found.outcome, "failed");
    assert_string_equal(found.product, "");
    a.outcome = "done";
    snprintf(a.product, sizeof a.product, "%s", "00112233445566778899aabbccddeeff");
    must(perf_db_add_attempt(d, A, &a));
    must(perf_db_commit(d));
    assert_int_equal(perf_db_find_attempt(&found, d, A), 1);
    assert_string_equal(found.outcome, "done");
    assert_string_equal(found.product, "00112233445566778899aabbccddeeff");
    found.command = "make fast";
    assert_int_equal(perf_db_find_attempt(&found, d, A), 0);
    assert_int_equal(perf_db_add_attempt(d, B, &a), HPC_E_ARG);
    hpc_error_clear();
    perf_db_close(d);
}

/* A parent that is learnt later replaces the first; what was measured stays. */
static void a_commit_may_get_another_parent(void **state)
{
    char path[PATH_MAX], text[256];
    perf_db *d = NULL;
    hpc_test_path(path, *state, "h.db");
    must(perf_db_create(&d, path));
    must(perf_db_add_commit(d, A, NULL, 1));
    must(perf_db_add(d, "run", "time", "m", A, 1));
    must(perf_db_add_commit(d, A, B, 2));
    must(perf_db_commit(d));
    perf_db_close(d);
    asked(text, path, "SELECT parent || time FROM commits");
    assert_string_equal(text, B "2");
    asked(text, path, "SELECT count(*) FROM sample");
    assert_string_equal(text, "1");
}

static void version_1_is_read_and_brought_up(void **state)
{
    char path[PATH_MAX], text[256];
    const char *commit;
    int64_t series;
    double value;
    perf_db *d = NULL;
    hpc_test_path(path, *state, "h.db");
    must(perf_db_create(&d, path));
    must(perf_db_add_commit(d, A, NULL, 1));
    must(perf_db_add(d, "run", "time", "m", A, 1.5));
    must(perf_db_commit(d));
    perf_db_close(d);
    changed(path, "DROP TABLE session; DROP TABLE attempt; ALTER TABLE sample DROP COLUMN session;"
                  "ALTER TABLE sample DROP COLUMN at; PRAGMA user_version = 1");
    must(perf_db_open(&d, path));
    assert_int_equal(perf_next_sample(&series, &commit, &value, d), 1);
    assert_true(value == 1.5);
    perf_db_close(d);
    must(perf_db_create(&d, path));
    must(perf_db_add_session(d, "{}"));
    must(perf_db_add(d, "run", "time", "m", A, 2));
    must(perf_db_commit(d));
    perf_db_close(d);
    asked(text, path, "PRAGMA user_version");
    assert_string_equal(text, "2");
    asked(text, path, "SELECT group_concat(value) FROM sample");
    assert_string_equal(text, "1.5,2.0");
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST(samples_are_of_their_session), TEST(the_last_attempt_counts),
        TEST(a_commit_may_get_another_parent), TEST(version_1_is_read_and_brought_up)};
    return cmocka_run_group_tests_name("corpus/perf_add", tests, NULL, NULL);
}
