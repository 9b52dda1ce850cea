/*
 * Writing of a performance history: tables, upgrades from older versions, and additions.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "corpus/history/database_priv.h"

/* ---- tables --------------------------------------------------------------------------------- */

static const char schema[] =
    "CREATE TABLE commits (id TEXT PRIMARY KEY, parent TEXT, time INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE series (id INTEGER PRIMARY KEY, command TEXT NOT NULL, metric TEXT NOT NULL,"
    " machine TEXT NOT NULL, UNIQUE (command, metric, machine));"
    "CREATE TABLE sample (series INTEGER NOT NULL REFERENCES series, commit_id TEXT NOT NULL"
    " REFERENCES commits, run INTEGER NOT NULL, value REAL NOT NULL,"
    " PRIMARY KEY (series, commit_id, run)) WITHOUT ROWID;";

/* From version 1 to 2. */
static const char sessions[] =
    "CREATE TABLE session (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, facts TEXT NOT NULL);"
    "CREATE TABLE attempt (commit_id TEXT NOT NULL REFERENCES commits, stage TEXT NOT NULL,"
    " command TEXT NOT NULL, machine TEXT NOT NULL, outcome TEXT NOT NULL, seconds REAL NOT NULL,"
    " product TEXT NOT NULL, log TEXT NOT NULL, session INTEGER, at INTEGER NOT NULL,"
    " PRIMARY KEY (commit_id, stage, command, machine)) WITHOUT ROWID;"
    "ALTER TABLE sample ADD COLUMN session INTEGER;"
    "ALTER TABLE sample ADD COLUMN at INTEGER;";

/* From version 2 to 3: series and runs get the command that built them, if one command built
 * everything on that machine. Foreign keys are off meanwhile. */
static const char builds[] =
    "CREATE TEMP TABLE one AS SELECT machine, min(command) AS build FROM attempt"
    " WHERE stage = 'build' GROUP BY machine HAVING count(DISTINCT command) = 1;"
    "CREATE TABLE series3 (id INTEGER PRIMARY KEY, command TEXT NOT NULL, metric TEXT NOT NULL,"
    " machine TEXT NOT NULL, build TEXT NOT NULL, UNIQUE (build, command, metric, machine));"
    "INSERT INTO series3 SELECT id, command, metric, machine, coalesce(build, '')"
    " FROM series LEFT JOIN one USING (machine);"
    "DROP TABLE series; ALTER TABLE series3 RENAME TO series;"
    "CREATE TABLE attempt3 (commit_id TEXT NOT NULL REFERENCES commits, stage TEXT NOT NULL,"
    " command TEXT NOT NULL, machine TEXT NOT NULL, build TEXT NOT NULL, outcome TEXT NOT NULL,"
    " seconds REAL NOT NULL, product TEXT NOT NULL, log TEXT NOT NULL, session INTEGER,"
    " at INTEGER NOT NULL, PRIMARY KEY (commit_id, stage, command, machine, build)) WITHOUT ROWID;"
    "INSERT INTO attempt3 SELECT commit_id, stage, command, machine,"
    " CASE stage WHEN 'run' THEN coalesce(build, '') ELSE '' END, outcome, seconds, product, log,"
    " session, at FROM attempt LEFT JOIN one USING (machine);"
    "DROP TABLE attempt; ALTER TABLE attempt3 RENAME TO attempt; DROP TABLE one;";

/* From version 3 to 4. */
static const char profiles[] =
    "CREATE TABLE profile (commit_id TEXT NOT NULL REFERENCES commits, build TEXT NOT NULL,"
    " command TEXT NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (commit_id, build, command))"
    " WITHOUT ROWID;";

#define OF_SERIES " WHERE s.build = ?1 AND s.command = ?2 AND s.machine = ?3 AND s.metric = ?4"
static const char *const statements[PERF_WRITES] = {
    [PERF_ADD_COMMIT] = "INSERT INTO commits VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE"
                        " SET parent = ?2, time = ?3",
    [PERF_ADD_BASE] = "INSERT OR IGNORE INTO commits VALUES (?1, NULL, ?2)",
    [PERF_ADD_SERIES] = "INSERT OR IGNORE INTO series (build, command, machine, metric)"
                        " VALUES (?, ?, ?, ?)",
    [PERF_ADD_VALUE] =
        "INSERT INTO sample SELECT s.id, ?5, (SELECT coalesce(max(run), 0) + 1 FROM sample"
        " WHERE series = s.id AND commit_id = ?5), ?6, ?7, ?8 FROM series s" OF_SERIES,
    [PERF_ADD_SESSION] = "INSERT INTO session (at, facts) VALUES (?1, ?2)",
    [PERF_ADD_ATTEMPT] =
        "INSERT OR REPLACE INTO attempt VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    [PERF_ADD_PROFILE] = "INSERT OR REPLACE INTO profile VALUES (?1, ?2, ?3, ?4)",
    [PERF_COUNT] =
        "SELECT count(*) FROM sample, series s" OF_SERIES " AND series = s.id AND commit_id = ?5",
    [PERF_FIND_ATTEMPT] = "SELECT outcome, product FROM attempt WHERE commit_id = ?1 AND stage = ?2"
                          " AND command = ?3 AND machine = ?4 AND build = ?5",
};

int perf_add_open(hpc_history_db *d, int64_t version)
{
    char pragmas[128];
    int rc = HPC_OK;
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
             PERF_DB_APPLICATION, PERF_DB_VERSION);
    if (version < 1) TRY(perf_run(d, schema));
    if (version < 2) TRY(perf_run(d, sessions));
    if (version < 3) TRY(perf_run(d, builds));
    if (version < 4) TRY(perf_run(d, profiles));
    if (version < PERF_DB_VERSION) TRY(perf_run(d, pragmas));
    TRY(perf_run(d, "COMMIT; PRAGMA foreign_keys = ON; BEGIN IMMEDIATE"));
    for (int k = 0; k < PERF_WRITES; k++) TRY(perf_prepare(d, &d->write[k], statements[k]));
out:
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void bind_text(sqlite3_stmt *q, int at, const char *text)
{
    if (text) sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void bind_session(sqlite3_stmt *q, int at, const hpc_history_db *d)
{
    if (d->session) sqlite3_bind_int64(q, at, d->session);
    sqlite3_bind_int64(q, at + 1, now_ms());
}

static void clear(sqlite3_stmt *q)
{
    sqlite3_reset(q);
    sqlite3_clear_bindings(q);
}

static int step(hpc_history_db *d, int which)
{
    sqlite3_stmt *q = d->write[which];
    int code = sqlite3_step(q);
    clear(q);
    if (code == SQLITE_CONSTRAINT)
        return hpc_fail(HPC_E_ARG, "%.300s: a record refers to a missing commit", d->path.data);
    return code == SQLITE_DONE ? HPC_OK : perf_refused(d, code);
}

static int id_check(const char *id)
{
    hpc_git_id parsed;
    if (hpc_git_id_parse(&parsed, id)) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "'%.60s' is not a commit id of 40 hexadecimal digits", id);
}

int hpc_history_db_add_commit(hpc_history_db *d, const char *id, const char *parent, int64_t time)
{
    sqlite3_stmt *q = d->write[PERF_ADD_COMMIT];
    int rc = HPC_OK;
    TRY(id_check(id));
    if (parent) TRY(id_check(parent));
    bind_text(q, 1, id);
    bind_text(q, 2, parent);
    sqlite3_bind_int64(q, 3, time);
    TRY(step(d, PERF_ADD_COMMIT));
out:
    return rc;
}

int hpc_history_db_add_base(hpc_history_db *d, const char *id, int64_t time)
{
    sqlite3_stmt *q = d->write[PERF_ADD_BASE];
    int rc = HPC_OK;
    TRY(id_check(id));
    bind_text(q, 1, id);
    sqlite3_bind_int64(q, 2, time);
    TRY(step(d, PERF_ADD_BASE));
out:
    return rc;
}

int hpc_history_db_add_session(hpc_history_db *d, const char *facts)
{
    sqlite3_stmt *q = d->write[PERF_ADD_SESSION];
    int rc = HPC_OK;
    sqlite3_bind_int64(q, 1, now_ms());
    bind_text(q, 2, facts);
    TRY(step(d, PERF_ADD_SESSION));
    d->session = sqlite3_last_insert_rowid(d->db);
out:
    return rc;
}

static void bind_series(sqlite3_stmt *q, const perf_way *way, const char *metric)
{
    bind_text(q, 1, way->build);
    bind_text(q, 2, way->command);
    bind_text(q, 3, way->machine);
    bind_text(q, 4, metric);
}

int hpc_history_db_add(hpc_history_db *d, const perf_way *way, const char *metric,
                       const char *commit, double value)
{
    sqlite3_stmt *q = d->write[PERF_ADD_VALUE];
    int rc = HPC_OK;
    TRY(id_check(commit));
    if (!(isfinite(value) && value > 0))
        TRY(hpc_fail(HPC_E_ARG, "%s of '%.100s' cannot be %g", metric, way->command, value));
    bind_series(d->write[PERF_ADD_SERIES], way, metric);
    TRY(step(d, PERF_ADD_SERIES));
    bind_series(q, way, metric);
    bind_text(q, 5, commit);
    sqlite3_bind_double(q, 6, value);
    bind_session(q, 7, d);
    TRY(step(d, PERF_ADD_VALUE));
out:
    return rc;
}

int hpc_history_db_count(int64_t *n, hpc_history_db *d, const perf_way *way, const char *metric,
                         const char *commit)
{
    sqlite3_stmt *q = d->write[PERF_COUNT];
    bind_series(q, way, metric);
    bind_text(q, 5, commit);
    int code = sqlite3_step(q);
    *n = code == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
    clear(q);
    return code == SQLITE_ROW ? HPC_OK : perf_refused(d, code);
}

int hpc_history_db_add_attempt(hpc_history_db *d, const char *commit, const perf_attempt *a)
{
    const char *build = a->build ? a->build : "";
    const char *const text[] = {commit, a->stage, a->command, a->machine, build, a->outcome};
    sqlite3_stmt *q = d->write[PERF_ADD_ATTEMPT];
    int rc = HPC_OK;
    TRY(id_check(commit));
    for (int k = 0; k < 6; k++) bind_text(q, k + 1, text[k]);
    sqlite3_bind_double(q, 7, a->seconds);
    bind_text(q, 8, a->product);
    bind_text(q, 9, a->log ? a->log : "");
    bind_session(q, 10, d);
    TRY(step(d, PERF_ADD_ATTEMPT));
out:
    return rc;
}

int hpc_history_db_add_profile(hpc_history_db *d, const perf_way *way, const char *commit,
                               const hpc_hot_line *hot, int64_t n)
{
    sqlite3_stmt *q = d->write[PERF_ADD_PROFILE];
    int rc = HPC_OK;
    TRY(id_check(commit));
    bind_text(q, 1, commit);
    bind_text(q, 2, way->build);
    bind_text(q, 3, way->command);
    sqlite3_bind_blob64(q, 4, hot, (sqlite3_uint64)n * sizeof *hot, SQLITE_STATIC);
    TRY(step(d, PERF_ADD_PROFILE));
out:
    return rc;
}

int hpc_history_db_find_attempt(perf_attempt *a, hpc_history_db *d, const char *commit)
{
    const char *const text[] = {commit, a->stage, a->command, a->machine, a->build ? a->build : ""};
    sqlite3_stmt *q = d->write[PERF_FIND_ATTEMPT];
    clear(q);
    for (int k = 0; k < 5; k++) bind_text(q, k + 1, text[k]);
    int code = sqlite3_step(q);
    if (code == SQLITE_DONE) return 0;
    if (code != SQLITE_ROW) return perf_refused(d, code);
    const char *product = (const char *)sqlite3_column_text(q, 1);
    a->outcome = (const char *)sqlite3_column_text(q, 0);
    if (!a->outcome || !product) return HPC_E_NOMEM;
    snprintf(a->product, sizeof a->product, "%.32s", product);
    return 1;
}

int hpc_history_db_commit(hpc_history_db *d)
{
    if (d->write[PERF_FIND_ATTEMPT]) clear(d->write[PERF_FIND_ATTEMPT]);
    int rc = perf_run(d, "COMMIT");
    return rc < 0 ? rc : perf_run(d, "BEGIN IMMEDIATE");
}
