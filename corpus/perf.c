/*
 * perf.c: the database of a performance history: made and added to by whoever measures, read by
 * packing.
 *
 * What a pair of commits comes to is perf_pairs.c's business.
 */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "corpus/perf.h"

struct perf_db {
    sqlite3 *db;
    hpc_buf path;
    sqlite3_stmt *commits, *samples;                   /* when read */
    sqlite3_stmt *add_commit, *add_series, *add_value; /* when written */
};

static int refused(const perf_db *d, int code)
{
    if (code == SQLITE_NOMEM) return hpc_fail(HPC_E_NOMEM, "out of memory for %s", d->path.data);
    bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
    return hpc_fail(damaged ? HPC_E_FORMAT : HPC_E_IO, "%.300s: %s", d->path.data,
                    d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(code));
}

static int prepare(perf_db *d, sqlite3_stmt **out, const char *sql)
{
    int code = sqlite3_prepare_v2(d->db, sql, -1, out, NULL);
    return code == SQLITE_OK ? HPC_OK : refused(d, code);
}

static int run(perf_db *d, const char *sql)
{
    int code = sqlite3_exec(d->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? HPC_OK : refused(d, code);
}

static int number(int64_t *out, perf_db *d, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int rc = prepare(d, &q, sql);
    if (rc < 0) return rc;
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return code == SQLITE_ROW ? HPC_OK : refused(d, code);
}

/* *empty: a new database, without anything in it. */
static int version_check(bool *empty, perf_db *d)
{
    int64_t application = 0, version = 0, tables = 0;
    int rc = HPC_OK;
    TRY(number(&application, d, "PRAGMA application_id"));
    TRY(number(&version, d, "PRAGMA user_version"));
    TRY(number(&tables, d, "SELECT count(*) FROM sqlite_master"));
    *empty = application == 0 && version == 0 && tables == 0;
    if (*empty) goto out;
    if (application != PERF_DB_APPLICATION)
        TRY(hpc_fail(HPC_E_FORMAT, "%.300s is no performance history of hpccoder", d->path.data));
    if (version > PERF_DB_VERSION)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%.300s is a performance history of version %lld, made by a newer hpccoder; "
                     "this one reads version %d",
                     d->path.data, (long long)version, PERF_DB_VERSION));
    if (version < 1) TRY(hpc_fail(HPC_E_FORMAT, "%.300s is damaged: no version", d->path.data));
out:
    return rc;
}

static int open_at(perf_db **out, const char *path, int flags)
{
    perf_db *d = hpc_alloc(1, sizeof *d);
    int rc = HPC_OK;
    *out = NULL;
    if (!d) return HPC_E_NOMEM;
    TRY(hpc_buf_text(&d->path, path));
    int code = sqlite3_open_v2(path, &d->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) TRY(refused(d, code));
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    TRY(run(d, "PRAGMA cell_size_check = ON"));
    *out = d;
out:
    if (rc < 0) perf_db_close(d);
    return rc;
}

void perf_db_close(perf_db *d)
{
    if (!d) return;
    sqlite3_stmt *const all[] = {d->commits, d->samples, d->add_commit, d->add_series,
                                 d->add_value};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) sqlite3_finalize(all[k]);
    sqlite3_close(d->db);
    hpc_buf_release(&d->path);
    hpc_free(d);
}

/* ---- writing ------------------------------------------------------------------------- */

static const char schema[] =
    "CREATE TABLE commits (id TEXT PRIMARY KEY, parent TEXT, time INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE series (id INTEGER PRIMARY KEY, command TEXT NOT NULL, metric TEXT NOT NULL,"
    " machine TEXT NOT NULL, UNIQUE (command, metric, machine));"
    "CREATE TABLE sample (series INTEGER NOT NULL REFERENCES series, commit_id TEXT NOT NULL"
    " REFERENCES commits, run INTEGER NOT NULL, value REAL NOT NULL,"
    " PRIMARY KEY (series, commit_id, run)) WITHOUT ROWID;";

static int make_tables(perf_db *d)
{
    char pragmas[128];
    int rc = HPC_OK;
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
             PERF_DB_APPLICATION, PERF_DB_VERSION);
    TRY(run(d, pragmas));
    TRY(run(d, schema));
out:
    return rc;
}

int perf_db_create(perf_db **out, const char *path)
{
    bool empty = false;
    perf_db *d = NULL;
    int rc = HPC_OK;
    *out = NULL;
    TRY(open_at(&d, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    TRY(run(d, "PRAGMA foreign_keys = ON; BEGIN IMMEDIATE"));
    TRY(version_check(&empty, d));
    if (empty) TRY(make_tables(d));
    TRY(prepare(d, &d->add_commit, "INSERT OR REPLACE INTO commits VALUES (?, ?, ?)"));
    TRY(prepare(d, &d->add_series,
                "INSERT OR IGNORE INTO series (command, metric, machine) VALUES (?, ?, ?)"));
    TRY(prepare(d, &d->add_value,
                "INSERT INTO sample SELECT s.id, ?4, (SELECT coalesce(max(run), 0) + 1 FROM sample"
                " WHERE series = s.id AND commit_id = ?4), ?5 FROM series s"
                " WHERE s.command = ?1 AND s.metric = ?2 AND s.machine = ?3"));
    *out = d;
    d = NULL;
out:
    perf_db_close(d);
    return rc;
}

static int step(perf_db *d, sqlite3_stmt *q)
{
    int code = sqlite3_step(q);
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
    if (code == SQLITE_CONSTRAINT)
        return hpc_fail(HPC_E_ARG, "%.300s: a sample of a commit that was not added", d->path.data);
    return code == SQLITE_DONE ? HPC_OK : refused(d, code);
}

static int id_check(const char *id)
{
    hpc_git_id parsed;
    if (hpc_git_id_parse(&parsed, id)) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "'%.60s' is no id of a commit: 40 hexadecimal digits", id);
}

int perf_db_add_commit(perf_db *d, const char *id, const char *parent, int64_t time)
{
    int rc = HPC_OK;
    TRY(id_check(id));
    if (parent) TRY(id_check(parent));
    sqlite3_bind_text(d->add_commit, 1, id, -1, SQLITE_STATIC);
    if (parent) sqlite3_bind_text(d->add_commit, 2, parent, -1, SQLITE_STATIC);
    sqlite3_bind_int64(d->add_commit, 3, time);
    TRY(step(d, d->add_commit));
out:
    return rc;
}

int perf_db_add(perf_db *d, const char *command, const char *metric, const char *machine,
                const char *commit, double value)
{
    const char *const text[] = {command, metric, machine, commit};
    int rc = HPC_OK;
    TRY(id_check(commit));
    if (!(isfinite(value) && value > 0))
        TRY(hpc_fail(HPC_E_ARG, "%s of '%.100s' cannot be %g", metric, command, value));
    for (int k = 0; k < 3; k++) sqlite3_bind_text(d->add_series, k + 1, text[k], -1, SQLITE_STATIC);
    TRY(step(d, d->add_series));
    for (int k = 0; k < 4; k++) sqlite3_bind_text(d->add_value, k + 1, text[k], -1, SQLITE_STATIC);
    sqlite3_bind_double(d->add_value, 5, value);
    TRY(step(d, d->add_value));
out:
    return rc;
}

int perf_db_commit(perf_db *d)
{
    int rc = run(d, "COMMIT");
    return rc < 0 ? rc : run(d, "BEGIN IMMEDIATE");
}

/* ---- reading --------------------------------------------------------------------------- */

int perf_db_open(perf_db **out, const char *path)
{
    bool empty = false;
    perf_db *d = NULL;
    int rc = HPC_OK;
    *out = NULL;
    if (!hpc_file_exists(path))
        TRY(hpc_fail(HPC_E_IO, "%.300s: there is no such performance history", path));
    TRY(open_at(&d, path, SQLITE_OPEN_READONLY));
    TRY(version_check(&empty, d));
    if (empty) TRY(hpc_fail(HPC_E_FORMAT, "%.300s is no performance history of hpccoder", path));
    TRY(prepare(d, &d->commits, "SELECT id, parent, time FROM commits ORDER BY id"));
    TRY(prepare(d, &d->samples,
                "SELECT series, commit_id, value FROM sample ORDER BY series, commit_id, run"));
    *out = d;
    d = NULL;
out:
    perf_db_close(d);
    return rc;
}

static int damaged(const perf_db *d, const char *what)
{
    return hpc_fail(HPC_E_FORMAT, "%.300s is damaged: %s", d->path.data, what);
}

static int next(perf_db *d, sqlite3_stmt *q)
{
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) return 1;
    sqlite3_reset(q);
    return code == SQLITE_DONE ? 0 : refused(d, code);
}

static bool is_id(const char *text)
{
    hpc_git_id id;
    return text && hpc_git_id_parse(&id, text);
}

int perf_next_commit(const char **id, const char **parent, int64_t *time, perf_db *d)
{
    int rc = next(d, d->commits);
    if (rc <= 0) return rc;
    *id = (const char *)sqlite3_column_text(d->commits, 0);
    *parent = (const char *)sqlite3_column_text(d->commits, 1);
    *time = sqlite3_column_int64(d->commits, 2);
    if (!is_id(*id) || (*parent && !is_id(*parent))) return damaged(d, "an id of a commit is none");
    return 1;
}

int perf_next_sample(int64_t *series, const char **commit, double *value, perf_db *d)
{
    int rc = next(d, d->samples);
    if (rc <= 0) return rc;
    *series = sqlite3_column_int64(d->samples, 0);
    *commit = (const char *)sqlite3_column_text(d->samples, 1);
    *value = sqlite3_column_double(d->samples, 2);
    if (!is_id(*commit)) return damaged(d, "an id of a commit is none");
    if (!(isfinite(*value) && *value > 0)) return damaged(d, "a sample is no cost above 0");
    return 1;
}
