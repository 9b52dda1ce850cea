/*
 * database.c: see database.h.
 *
 * SQLite writes to a temporary name without a journal. The result is then copied to its place
 * atomically, so an existing database is complete.
 */
#include "corpus/database.h"

static const char common[] =
    "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = NONE;"
    "BEGIN;"
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE language (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE split (id INTEGER PRIMARY KEY, name TEXT NOT NULL);";

static int refused(const corpus_database *d, int code)
{
    if (code == SQLITE_NOMEM) return hpc_fail(HPC_E_NOMEM, "out of memory for %s", d->work.data);
    return hpc_fail(HPC_E_IO, "cannot write %s: %s", d->work.data,
                    d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(code));
}

int corpus_database_run(corpus_database *d, const char *sql)
{
    int code = sqlite3_exec(d->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? HPC_OK : refused(d, code);
}

static int prepare(corpus_database *d, int k, const char *sql)
{
    int code = sqlite3_prepare_v2(d->db, sql, -1, &d->statement[k], NULL);
    return code == SQLITE_OK ? HPC_OK : refused(d, code);
}

int corpus_database_step(corpus_database *d, int statement)
{
    sqlite3_stmt *q = d->statement[statement];
    int code = sqlite3_step(q);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    return code == SQLITE_DONE ? HPC_OK : refused(d, code);
}

/* Writes tables of names for enum values, for use with other programs. */
static int write_names(corpus_database *d, const corpus_database_format *f)
{
    hpc_buf sql = {0};
    int rc = HPC_OK;
    for (int k = 0; k < HPC_LANGUAGE_N; k++)
        hpc_buf_printf(&sql, "INSERT INTO language VALUES (%d, '%s');", k,
                       hpc_language_name((hpc_language)k));
    for (int k = 0; k < HPC_SPLIT_N; k++)
        hpc_buf_printf(&sql, "INSERT INTO split VALUES (%d, '%s');", k,
                       hpc_split_name((hpc_split)k));
    hpc_buf_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;", f->application,
                   f->version);
    TRY(sql.failed);
    TRY(corpus_database_run(d, sql.data));
out:
    hpc_buf_release(&sql);
    return rc;
}

int corpus_database_create(corpus_database *d, const char *folder, const char *name,
                           const corpus_database_format *f)
{
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&d->path, "%s/%s", folder, name));
    TRY(hpc_buf_printf(&d->work, "%s/%s.new", folder, name));
    TRY(hpc_file_remove(d->work.data)); /* of a process that was killed */
    int code =
        sqlite3_open_v2(d->work.data, &d->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) TRY(refused(d, code));
    TRY(corpus_database_run(d, common));
    TRY(corpus_database_run(d, f->schema));
    TRY(write_names(d, f));
    TRY(prepare(d, 0, "INSERT INTO meta VALUES (?, ?)"));
    for (int k = 1; k < CORPUS_STATEMENTS && f->insert[k]; k++) TRY(prepare(d, k, f->insert[k]));
out:
    return rc;
}

int corpus_database_meta(corpus_database *d, const char *key, const char *value)
{
    sqlite3_bind_text(d->statement[0], 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(d->statement[0], 2, value, -1, SQLITE_STATIC);
    return corpus_database_step(d, 0);
}

static void close_database(corpus_database *d)
{
    for (int k = 0; k < CORPUS_STATEMENTS; k++) {
        sqlite3_finalize(d->statement[k]);
        d->statement[k] = NULL;
    }
    sqlite3_close(d->db);
    d->db = NULL;
}

int corpus_database_commit(corpus_database *d)
{
    hpc_file_view v = {0};
    int rc = HPC_OK;
    TRY(corpus_database_run(d, "COMMIT"));
    close_database(d);
    TRY(hpc_file_open(&v, d->work.data));
    TRY(hpc_file_save(d->path.data, v.data, v.bytes));
out:
    hpc_file_close(&v);
    return rc;
}

void corpus_database_release(corpus_database *d)
{
    close_database(d);
    bool clean = hpc_error_get()->code == HPC_OK;
    /* What cannot be removed now, the next one removes. */
    if (d->work.data && hpc_file_remove(d->work.data) < 0 && clean) hpc_error_clear();
    hpc_buf_release(&d->work);
    hpc_buf_release(&d->path);
}
