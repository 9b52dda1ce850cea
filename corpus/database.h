/*
 * database.h: writing a SQLite database of ours: the same rows give the same
 * bytes, and it is there whole or not at all.
 */
#ifndef HPC_CORPUS_DATABASE_H
#define HPC_CORPUS_DATABASE_H

#include <sqlite3.h>

#include "corpus/corpus.h"

enum { CORPUS_STATEMENTS = 4 };
typedef struct corpus_database { /* zero to begin with */
    sqlite3 *db;
    sqlite3_stmt *statement[CORPUS_STATEMENTS]; /* [0] is the one for meta */
    hpc_buf work, path;                         /* while it is written, and where it goes */
} corpus_database;
typedef struct corpus_database_format {
    int32_t application, version;
    const char *schema; /* beside the tables meta, language and split, which all have */
    const char *insert[CORPUS_STATEMENTS]; /* [1] and on; NULL: none */
} corpus_database_format;
/* One transaction is open afterwards. */
int corpus_database_create(corpus_database *d, const char *folder, const char *name,
                           const corpus_database_format *format);
int corpus_database_run(corpus_database *d, const char *sql);
/* Runs a statement whose values are bound. A failed binding shows here, as a failed step. */
int corpus_database_step(corpus_database *d, int statement);
int corpus_database_meta(corpus_database *d, const char *key, const char *value);
int corpus_database_commit(corpus_database *d);
void corpus_database_release(corpus_database *d); /* committed or not */

#endif
