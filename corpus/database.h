/*
 * database.h: writes a SQLite database deterministically and atomically.
 */
#ifndef HPC_CORPUS_DATABASE_H
#define HPC_CORPUS_DATABASE_H

#include <sqlite3.h>

#include "corpus/corpus.h"

enum { CORPUS_STATEMENTS = 4 };
typedef struct corpus_database { /* initialise with zeros */
    sqlite3 *db;
    sqlite3_stmt *statement[CORPUS_STATEMENTS]; /* [0]: insert into meta */
    hpc_buf work, path;                         /* temporary and final path */
} corpus_database;
typedef struct corpus_database_format {
    int32_t application, version;
    const char *schema; /* tables other than meta, language and split, which always exist */
    const char *insert[CORPUS_STATEMENTS]; /* from [1]; NULL: none */
} corpus_database_format;
/* Creates the database and begins a transaction. */
int corpus_database_create(corpus_database *d, const char *folder, const char *name,
                           const corpus_database_format *format);
int corpus_database_run(corpus_database *d, const char *sql);
/* Runs a statement with bound values; also reports a failed binding. */
int corpus_database_step(corpus_database *d, int statement);
int corpus_database_meta(corpus_database *d, const char *key, const char *value);
int corpus_database_commit(corpus_database *d);
void corpus_database_release(corpus_database *d); /* committed or not */

#endif
