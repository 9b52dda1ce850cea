/*
 * database_priv.h: the open database, shared by the files that read and write it.
 */
#ifndef HPC_HISTORY_DATABASE_PRIV_H
#define HPC_HISTORY_DATABASE_PRIV_H

#include <sqlite3.h>

#include "corpus/history/database.h"

enum { /* statements of a database that is written */
       PERF_ADD_COMMIT,
       PERF_ADD_BASE,
       PERF_ADD_SERIES,
       PERF_ADD_VALUE,
       PERF_ADD_SESSION,
       PERF_ADD_ATTEMPT,
       PERF_ADD_PROFILE,
       PERF_COUNT,
       PERF_FIND_ATTEMPT,
       PERF_WRITES
};

struct hpc_history_db {
    sqlite3 *db;
    hpc_buf path;
    sqlite3_stmt *commits, *samples;   /* for reading */
    sqlite3_stmt *products, *failures; /* NULL in version 1 */
    sqlite3_stmt *series;
    sqlite3_stmt *write[PERF_WRITES]; /* for writing */
    int64_t version;                  /* of the file */
    int64_t session;                  /* of new samples; 0: none */
};

/* database_sql.c */
int perf_refused(const hpc_history_db *d, int code); /* maps a code of SQLite to a code of ours */
int perf_prepare(hpc_history_db *d, sqlite3_stmt **out, const char *sql);
int perf_run(hpc_history_db *d, const char *sql);
/* database_add.c: tables and statements; a database of an older version, or none (0), gets what it
 * lacks. */
int perf_add_open(hpc_history_db *d, int64_t version);

#endif
