/*
 * SQLite database of a performance history: opening and reading.
 *
 * pairs.c judges pairs of commits; database_add.c writes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "corpus/history/database_priv.h"

static int number(int64_t *out, hpc_history_db *d, const char *sql)
{
    sqlite3_stmt *q = NULL;
    int rc = perf_prepare(d, &q, sql);
    if (rc < 0) return rc;
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) *out = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return code == SQLITE_ROW ? HPC_OK : perf_refused(d, code);
}

/* 0: a new database, without anything in it. */
static int version_check(int64_t *out, hpc_history_db *d)
{
    int64_t application = 0, version = 0, tables = 0;
    int rc = HPC_OK;
    *out = 0;
    TRY(number(&application, d, "PRAGMA application_id"));
    TRY(number(&version, d, "PRAGMA user_version"));
    TRY(number(&tables, d, "SELECT count(*) FROM sqlite_master"));
    if (application == 0 && version == 0 && tables == 0) goto out;
    if (application != PERF_DB_APPLICATION)
        TRY(hpc_fail(HPC_E_FORMAT, "%.300s is not a performance history of hpccoder",
                     d->path.data));
    if (version > PERF_DB_VERSION)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%.300s is a performance history of version %lld from a newer hpccoder; this "
                     "one reads version %d",
                     d->path.data, (long long)version, PERF_DB_VERSION));
    if (version < 1) TRY(hpc_fail(HPC_E_FORMAT, "%.300s is damaged: no version", d->path.data));
    *out = version;
out:
    return rc;
}

static int open_at(hpc_history_db **out, const char *path, int flags)
{
    hpc_history_db *d = hpc_alloc(1, sizeof *d);
    int rc = HPC_OK;
    *out = NULL;
    if (!d) return HPC_E_NOMEM;
    TRY(hpc_buf_text(&d->path, path));
    int code = sqlite3_open_v2(path, &d->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) TRY(perf_refused(d, code));
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    TRY(perf_run(d, "PRAGMA cell_size_check = ON"));
    *out = d;
out:
    if (rc < 0) hpc_history_db_close(d);
    return rc;
}

void hpc_history_db_close(hpc_history_db *d)
{
    if (!d) return;
    sqlite3_finalize(d->commits);
    sqlite3_finalize(d->samples);
    sqlite3_finalize(d->products);
    sqlite3_finalize(d->failures);
    sqlite3_finalize(d->series);
    for (int k = 0; k < PERF_WRITES; k++) sqlite3_finalize(d->write[k]);
    sqlite3_close(d->db);
    hpc_buf_release(&d->path);
    hpc_free(d);
}

int hpc_history_db_create(hpc_history_db **out, const char *path)
{
    int64_t version = 0;
    hpc_history_db *d = NULL;
    int rc = HPC_OK;
    *out = NULL;
    TRY(open_at(&d, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    TRY(perf_run(d, "PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE"));
    TRY(version_check(&version, d));
    TRY(perf_add_open(d, version));
    *out = d;
    d = NULL;
out:
    hpc_history_db_close(d);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------- */

static int prepare_reading(hpc_history_db *d, int64_t version)
{
    int rc = HPC_OK;
    TRY(perf_prepare(d, &d->commits, "SELECT id, parent, time FROM commits ORDER BY id"));
    TRY(perf_prepare(d, &d->series,
                     version < 3 ? "SELECT id, command, metric, machine, '' FROM series ORDER BY id"
                                 : "SELECT id, command, metric, machine, build FROM series"
                                   " ORDER BY id"));
    TRY(perf_prepare(
        d, &d->samples,
        "SELECT series, commit_id, value FROM sample ORDER BY series, commit_id, run"));
    if (version < 2) goto out;
    TRY(perf_prepare(d, &d->products,
                     "SELECT commit_id, command || char(10) || machine, product FROM attempt "
                     "WHERE stage = 'build' AND product <> '' ORDER BY commit_id"));
    TRY(perf_prepare(d, &d->failures,
                     version < 3
                         ? "SELECT commit_id, stage, command, machine, outcome, log, seconds, ''"
                           " FROM attempt WHERE outcome <> 'done'"
                           " ORDER BY commit_id, stage, command, machine"
                         : "SELECT commit_id, stage, command, machine, outcome, log, seconds, build"
                           " FROM attempt WHERE outcome <> 'done'"
                           " ORDER BY commit_id, stage, command, machine, build"));
out:
    return rc;
}

int hpc_history_db_open(hpc_history_db **out, const char *path)
{
    int64_t version = 0;
    hpc_history_db *d = NULL;
    int rc = HPC_OK;
    *out = NULL;
    if (!hpc_file_exists(path))
        TRY(hpc_fail(HPC_E_IO, "%.300s: there is no such performance history", path));
    TRY(open_at(&d, path, SQLITE_OPEN_READONLY));
    TRY(version_check(&version, d));
    if (version == 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%.300s is not a performance history of hpccoder", path));
    d->version = version;
    TRY(prepare_reading(d, version));
    *out = d;
    d = NULL;
out:
    hpc_history_db_close(d);
    return rc;
}

static int damaged(const hpc_history_db *d, const char *what)
{
    return hpc_fail(HPC_E_FORMAT, "%.300s is damaged: %s", d->path.data, what);
}

static int next(hpc_history_db *d, sqlite3_stmt *q)
{
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) return 1;
    sqlite3_reset(q);
    return code == SQLITE_DONE ? 0 : perf_refused(d, code);
}

static bool is_id(const char *text)
{
    hpc_git_id id;
    return text && hpc_git_id_parse(&id, text);
}

int perf_next_commit(const char **id, const char **parent, int64_t *time, hpc_history_db *d)
{
    int rc = next(d, d->commits);
    if (rc <= 0) return rc;
    *id = (const char *)sqlite3_column_text(d->commits, 0);
    *parent = (const char *)sqlite3_column_text(d->commits, 1);
    *time = sqlite3_column_int64(d->commits, 2);
    if (!is_id(*id) || (*parent && !is_id(*parent))) return damaged(d, "an invalid commit id");
    return 1;
}

int perf_next_sample(int64_t *series, const char **commit, double *value, hpc_history_db *d)
{
    int rc = next(d, d->samples);
    if (rc <= 0) return rc;
    *series = sqlite3_column_int64(d->samples, 0);
    *commit = (const char *)sqlite3_column_text(d->samples, 1);
    *value = sqlite3_column_double(d->samples, 2);
    if (!is_id(*commit)) return damaged(d, "an invalid commit id");
    if (!(isfinite(*value) && *value > 0)) return damaged(d, "a sample is not above 0");
    return 1;
}

int perf_next_product(const char **commit, uint64_t *how, const char **product, hpc_history_db *d)
{
    int rc = d->products ? next(d, d->products) : 0;
    if (rc <= 0) return rc;
    *commit = (const char *)sqlite3_column_text(d->products, 0);
    const char *text = (const char *)sqlite3_column_text(d->products, 1);
    *product = (const char *)sqlite3_column_text(d->products, 2);
    if (!is_id(*commit)) return damaged(d, "an invalid commit id");
    if (!text || !*product || strlen(*product) != PERF_PRODUCT - 1)
        return damaged(d, "the hash of a product is invalid");
    *how = hpc_hash(text, strlen(text), 0);
    return 1;
}

int perf_next_series(perf_series *out, hpc_history_db *d)
{
    int rc = next(d, d->series);
    if (rc <= 0) return rc;
    out->id = sqlite3_column_int64(d->series, 0);
    out->way.command = (const char *)sqlite3_column_text(d->series, 1);
    out->metric = (const char *)sqlite3_column_text(d->series, 2);
    out->way.machine = (const char *)sqlite3_column_text(d->series, 3);
    out->way.build = (const char *)sqlite3_column_text(d->series, 4);
    if (!out->way.command || !out->metric || !out->way.machine || !out->way.build)
        return damaged(d, "a series has no command, metric, machine or build");
    return 1;
}

int perf_next_failure(const char **commit, perf_attempt *a, hpc_history_db *d)
{
    int rc = d->failures ? next(d, d->failures) : 0;
    if (rc <= 0) return rc;
    *commit = (const char *)sqlite3_column_text(d->failures, 0);
    *a = (perf_attempt){.stage = (const char *)sqlite3_column_text(d->failures, 1),
                        .command = (const char *)sqlite3_column_text(d->failures, 2),
                        .machine = (const char *)sqlite3_column_text(d->failures, 3),
                        .outcome = (const char *)sqlite3_column_text(d->failures, 4),
                        .log = (const char *)sqlite3_column_text(d->failures, 5),
                        .seconds = sqlite3_column_double(d->failures, 6),
                        .build = (const char *)sqlite3_column_text(d->failures, 7)};
    if (!is_id(*commit)) return damaged(d, "an invalid commit id");
    if (!a->stage || !a->command || !a->machine || !a->outcome || !a->log || !a->build)
        return damaged(d, "an attempt is incomplete");
    return 1;
}

/* ---- logs ------------------------------------------------------------------------------------ */

/* "==123== " or "--123-- ": valgrind's. */
static bool is_valgrinds(const char *line, size_t n)
{
    size_t digits = n > 2 ? strspn(line + 2, "0123456789") : 0;
    return digits > 0 && digits + 4 <= n && (line[0] == '=' || line[0] == '-') &&
           line[1] == line[0] && line[digits + 2] == line[0] && line[digits + 3] == line[0];
}

/* Of text[0..*end), which becomes shorter, the last line with something in it. */
static const char *last_line(const char *text, size_t *end, size_t *n)
{
    while (*end > 0 && strchr(" \n\r\t", text[*end - 1])) --*end;
    size_t from = *end;
    while (from > 0 && text[from - 1] != '\n') from--;
    *n = *end - from;
    *end = from;
    return text + from;
}

void perf_last_words(char out[PERF_WORDS], const char *log)
{
    size_t end = strlen(log), n, said_n = 0;
    const char *own = last_line(log, &end, &n), *said = "";
    for (bool more = true; more && end > 0;) {
        said = last_line(log, &end, &said_n);
        more = said_n > 0 && is_valgrinds(said, said_n);
    }
    snprintf(out, PERF_WORDS, "%.*s%s%.*s", n < 160 ? (int)n : 160, own, said_n ? ": " : "",
             said_n < 160 ? (int)said_n : 160, said);
}
