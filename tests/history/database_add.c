/*
 * Tests of corpus/history/database_add.c: sessions, attempts and counts, and databases of older
 * versions.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "corpus/history/database.h"
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
    hpc_history_db *d = NULL;
    int64_t n = 0;
    hpc_test_path(path, *state, "h.db");
    must(hpc_history_db_create(&d, path));
    must(hpc_history_db_add_commit(d, A, NULL, 1));
    must(hpc_history_db_add(d, &(perf_way){"make", "run", "m"}, "time", A, 1.5));
    must(hpc_history_db_add_session(d, "{\"cpu\":\"x\"}"));
    must(hpc_history_db_add(d, &(perf_way){"make", "run", "m"}, "time", A, 2.5));
    must(hpc_history_db_add(d, &(perf_way){"make", "run", "m"}, "cost", A, 7));
    must(hpc_history_db_count(&n, d, &(perf_way){"make", "run", "m"}, "time", A));
    assert_int_equal(n, 2);
    must(hpc_history_db_count(&n, d, &(perf_way){"make", "run", "m"}, "cost", A));
    assert_int_equal(n, 1);
    must(hpc_history_db_count(&n, d, &(perf_way){"make", "run", "other"}, "time", A));
    assert_int_equal(n, 0);
    must(hpc_history_db_commit(d));
    hpc_history_db_close(d);
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
    hpc_history_db *d = NULL;
    perf_attempt a = {.stage = "build", .command = "make", .machine = "m", .outcome = "failed"};
    a.log = "error: no";
    hpc_test_path(path, *state, "h.db");
    must(hpc_history_db_create(&d, path));
    must(hpc_history_db_add_commit(d, A, NULL, 1));
    assert_int_equal(hpc_history_db_find_attempt(&a, d, A), 0);
    must(hpc_history_db_add_attempt(d, A, &a));
    perf_attempt found = a;
    assert_int_equal(hpc_history_db_find_attempt(&found, d, A), 1);
    assert_string_equal(found.outcome, "failed");
    assert_string_equal(found.product, "");
    a.outcome = "done";
    snprintf(a.product, sizeof a.product, "%s", "00112233445566778899aabbccddeeff");
    must(hpc_history_db_add_attempt(d, A, &a));
    must(hpc_history_db_commit(d));
    assert_int_equal(hpc_history_db_find_attempt(&found, d, A), 1);
    assert_string_equal(found.outcome, "done");
    assert_string_equal(found.product, "00112233445566778899aabbccddeeff");
    found.command = "make fast";
    assert_int_equal(hpc_history_db_find_attempt(&found, d, A), 0);
    assert_int_equal(hpc_history_db_add_attempt(d, B, &a), HPC_E_ARG);
    hpc_error_clear();
    hpc_history_db_close(d);
}

/* A parent that is learnt later replaces the first; measurements stay. */
static void a_commit_may_get_another_parent(void **state)
{
    char path[PATH_MAX], text[256];
    hpc_history_db *d = NULL;
    hpc_test_path(path, *state, "h.db");
    must(hpc_history_db_create(&d, path));
    must(hpc_history_db_add_commit(d, A, NULL, 1));
    must(hpc_history_db_add(d, &(perf_way){"make", "run", "m"}, "time", A, 1));
    must(hpc_history_db_add_commit(d, A, B, 2));
    must(hpc_history_db_commit(d));
    hpc_history_db_close(d);
    asked(text, path, "SELECT parent || time FROM commits");
    assert_string_equal(text, B "2");
    asked(text, path, "SELECT count(*) FROM sample");
    assert_string_equal(text, "1");
}

/* ---- older versions -------------------------------------------------------------------------- */

static const char version_1[] =
    "CREATE TABLE commits (id TEXT PRIMARY KEY, parent TEXT, time INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE series (id INTEGER PRIMARY KEY, command TEXT NOT NULL, metric TEXT NOT NULL,"
    " machine TEXT NOT NULL, UNIQUE (command, metric, machine));"
    "CREATE TABLE sample (series INTEGER NOT NULL REFERENCES series, commit_id TEXT NOT NULL"
    " REFERENCES commits, run INTEGER NOT NULL, value REAL NOT NULL,"
    " PRIMARY KEY (series, commit_id, run)) WITHOUT ROWID;"
    "INSERT INTO commits VALUES ('" A "', NULL, 1);"
    "INSERT INTO series VALUES (3, 'run', 'time', 'm'), (5, 'run', 'time', 'two');"
    "INSERT INTO sample VALUES (3, '" A "', 1, 1.5), (5, '" A "', 1, 4);";
static const char version_2[] =
    "CREATE TABLE session (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, facts TEXT NOT NULL);"
    "CREATE TABLE attempt (commit_id TEXT NOT NULL REFERENCES commits, stage TEXT NOT NULL,"
    " command TEXT NOT NULL, machine TEXT NOT NULL, outcome TEXT NOT NULL, seconds REAL NOT NULL,"
    " product TEXT NOT NULL, log TEXT NOT NULL, session INTEGER, at INTEGER NOT NULL,"
    " PRIMARY KEY (commit_id, stage, command, machine)) WITHOUT ROWID;"
    "ALTER TABLE sample ADD COLUMN session INTEGER; ALTER TABLE sample ADD COLUMN at INTEGER;"
    "INSERT INTO attempt VALUES ('" A "', 'build', 'make', 'm', 'done', 1, 'p', '', 7, 8),"
    " ('" A "', 'build', 'make', 'two', 'done', 1, 'p', '', 7, 8),"
    " ('" A "', 'build', 'make fast', 'two', 'done', 1, 'q', '', 7, 8),"
    " ('" A "', 'run', 'run', 'm', 'failed', 1, '', 'no', 7, 8),"
    " ('" A "', 'run', 'run', 'two', 'failed', 1, '', 'no', 7, 8);";

static void made(const char *path, int version)
{
    char sql[80];
    changed(path, version_1);
    if (version > 1) changed(path, version_2);
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             PERF_DB_APPLICATION, version);
    changed(path, sql);
}

static void older_versions_are_read(void **state)
{
    char path[PATH_MAX];
    hpc_test_path(path, *state, "h.db");
    for (int version = 1; version <= 2; version++) {
        const char *commit;
        int64_t series, failed = 0;
        perf_series s;
        perf_attempt a;
        double value;
        hpc_history_db *d = NULL;
        made(path, version);
        must(hpc_history_db_open(&d, path));
        assert_int_equal(perf_next_sample(&series, &commit, &value, d), 1);
        assert_true(value == 1.5);
        assert_int_equal(perf_next_series(&s, d), 1);
        assert_string_equal(s.way.build, "");
        while (perf_next_failure(&commit, &a, d) == 1) failed++;
        assert_int_equal(failed, version == 1 ? 0 : 2);
        hpc_history_db_close(d);
        must(hpc_file_remove(path));
    }
}

/* The build command of a series is recorded if it is known, and the series continues. */
static void older_versions_are_brought_up(void **state)
{
    static const struct {
        int version;
        const char *series, *runs;
    } cases[] = {{1, "3||m,5||two,6|make|m", ""}, {2, "3|make|m,5||two", "m|make,two|"}};
    char path[PATH_MAX], text[256];
    hpc_test_path(path, *state, "h.db");
    for (int k = 0; k < 2; k++) {
        hpc_history_db *d = NULL;
        made(path, cases[k].version);
        must(hpc_history_db_create(&d, path));
        must(hpc_history_db_add_session(d, "{}"));
        must(hpc_history_db_add(d, &(perf_way){"make", "run", "m"}, "time", A, 2));
        must(hpc_history_db_commit(d));
        assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "run", "m"}, "time", B, 2),
                         HPC_E_ARG);
        hpc_error_clear();
        hpc_history_db_close(d);
        asked(text, path, "PRAGMA user_version");
        assert_string_equal(text, "4");
        asked(text, path,
              "SELECT group_concat(id || '|' || build || '|' || machine) FROM series ORDER BY id");
        assert_string_equal(text, cases[k].series);
        asked(text, path,
              "SELECT coalesce(group_concat(machine || '|' || build), '') FROM attempt"
              " WHERE stage = 'run'");
        assert_string_equal(text, cases[k].runs);
        asked(text, path, "SELECT group_concat(value) FROM sample");
        assert_string_equal(text, k == 0 ? "1.5,4.0,2.0" : "1.5,2.0,4.0");
        asked(text, path, "SELECT count(*) FROM pragma_foreign_key_check");
        assert_string_equal(text, "0");
        must(hpc_file_remove(path));
    }
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST(samples_are_of_their_session), TEST(the_last_attempt_counts),
        TEST(a_commit_may_get_another_parent), TEST(older_versions_are_read),
        TEST(older_versions_are_brought_up)};
    return cmocka_run_group_tests_name("history/database_add", tests, NULL, NULL);
}
