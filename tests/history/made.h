/*
 * made.h: performance histories for tests; commits are numbers.
 */
#ifndef HPC_TESTS_CORPUS_MADE_H
#define HPC_TESTS_CORPUS_MADE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>

#include "corpus/history/database.h"
#include "tests/support/folder.h"

static inline const char *id_of(char out[HPC_HISTORY_ID], int k)
{
    snprintf(out, HPC_HISTORY_ID, "%040d", k);
    return out;
}

static inline void add(hpc_history_db *d, int commit, int parent, int64_t time)
{
    char id[HPC_HISTORY_ID], above[HPC_HISTORY_ID];
    assert_int_equal(
        hpc_history_db_add_commit(d, id_of(id, commit), parent ? id_of(above, parent) : NULL, time),
        0);
}

/* Adds a build; `product` identifies its result; 0: the build failed. */
static inline void add_build(hpc_history_db *d, int commit, const char *command,
                             const char *machine, int product)
{
    char id[HPC_HISTORY_ID];
    perf_attempt a = {.stage = "build",
                      .command = command,
                      .machine = machine,
                      .outcome = product ? "done" : "failed",
                      .log = product ? "" : "x.c:3: error\n\nhpccoder: it exited with status 2\n"};
    if (product) snprintf(a.product, sizeof a.product, "%032d", product);
    assert_int_equal(hpc_history_db_add_attempt(d, id_of(id, commit), &a), 0);
}

/* Adds runs on machine "m"; each costs 0.01 % of `value` more than the previous one. */
static inline void add_runs(hpc_history_db *d, const char *command, const char *metric, int commit,
                            double value, int runs)
{
    char id[HPC_HISTORY_ID];
    for (int run = 0; run < runs; run++)
        assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", command, "m"}, metric,
                                            id_of(id, commit), value * (1 + 1e-4 * run)),
                         0);
}

static inline hpc_history_db *create(char path[PATH_MAX], void **state)
{
    hpc_history_db *d = NULL;
    assert_int_equal(hpc_history_db_create(&d, hpc_test_path(path, *state, "h.db")), 0);
    return d;
}

static inline hpc_history_db *reopen(hpc_history_db *d, const char *path)
{
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    assert_int_equal(hpc_history_db_open(&d, path), 0);
    return d;
}

static inline void change(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

#endif
