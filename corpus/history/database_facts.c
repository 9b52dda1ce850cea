/*
 * Facts of a performance history: metrics of its series, and its repository.
 */
#include <stdio.h>
#include <string.h>

#include "corpus/history/database_priv.h"

double perf_metric_threshold(const char *metric)
{
    bool counted = strcmp(metric, "cost") == 0 || strncmp(metric, "instructions", 12) == 0;
    return counted ? 0.01 : 0.05;
}

static int one_text(hpc_buf *out, hpc_history_db *d, const char *sql, int64_t which)
{
    sqlite3_stmt *q = NULL;
    int rc = perf_prepare(d, &q, sql);
    if (rc < 0) return rc;
    sqlite3_bind_int64(q, 1, which);
    int code = sqlite3_step(q);
    const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    out->n = 0;
    rc = code != SQLITE_ROW && code != SQLITE_DONE ? perf_refused(d, code)
         : text                                    ? hpc_buf_text(out, text)
                                                   : hpc_buf_text(out, "");
    sqlite3_finalize(q);
    return rc;
}

int hpc_history_db_metric(hpc_buf *out, hpc_history_db *d, int64_t series)
{
    return one_text(out, d, "SELECT metric FROM series WHERE id = ?", series);
}

int hpc_history_db_metrics(hpc_buf *names, int64_t *n, hpc_history_db *d)
{
    sqlite3_stmt *q = NULL;
    int code, rc = HPC_OK;
    *n = 0;
    names->n = 0;
    TRY(perf_prepare(d, &q, "SELECT DISTINCT metric FROM series ORDER BY metric"));
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(q, 0);
        if (!name) name = "";
        TRY(hpc_buf_add(names, name, strlen(name) + 1));
        ++*n;
    }
    if (code != SQLITE_DONE) TRY(perf_refused(d, code));
out:
    sqlite3_finalize(q);
    return rc;
}

/* Facts are untrusted: a value that is not text counts as missing. */
static int put(hpc_buf *out, const hpc_json *facts, const char *key)
{
    const char *text = "";
    out->n = 0;
    if (hpc_json_text(&text, hpc_json_get(facts, key), key) < 0) {
        hpc_error_clear();
        text = "";
    }
    return hpc_buf_text(out, text);
}

int hpc_history_db_repository(hpc_buf *path, hpc_buf *name, hpc_history_db *d)
{
    hpc_buf text = {0};
    hpc_json *facts = NULL;
    int rc = HPC_OK;
    TRY(one_text(&text, d, "SELECT name FROM sqlite_master WHERE name = 'session' AND ? = 0", 0));
    if (text.n > 0)
        TRY(one_text(&text, d,
                     "SELECT facts FROM session WHERE facts LIKE '%\"repository\":%' AND id > ? "
                     "ORDER BY id DESC LIMIT 1",
                     -1));
    if (text.n > 0 && hpc_json_parse(&facts, text.data, text.n, d->path.data) < 0)
        TRY(hpc_error_where("the properties of a session"));
    TRY(put(path, facts, "repository"));
    TRY(put(name, facts, "repository_name"));
out:
    hpc_json_free(facts);
    hpc_buf_release(&text);
    return rc;
}

/* 1: g has one of the measured commits; 0: none. *n counts the commits that were looked up. */
static int find_commit(int64_t *n, hpc_history_db *d, hpc_git *g)
{
    static const char samples[] = "SELECT id FROM commits WHERE EXISTS (SELECT 1 FROM sample)";
    static const char profiles[] = "SELECT id FROM commits WHERE EXISTS (SELECT 1 FROM sample) OR "
                                   "EXISTS (SELECT 1 FROM profile)";
    sqlite3_stmt *q = NULL;
    int code, rc = 0;
    TRY(perf_prepare(d, &q, d->version < 4 ? samples : profiles));
    while (rc == 0 && (code = sqlite3_step(q)) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(q, 0);
        (*n)++;
        TRY(id ? hpc_git_has_commit(g, id) : 0);
    }
    if (rc == 0 && code != SQLITE_DONE) TRY(perf_refused(d, code));
out:
    sqlite3_finalize(q);
    return rc;
}

int hpc_history_db_expect(hpc_history_db *d, hpc_git *g)
{
    hpc_git_facts facts;
    int64_t n = 0;
    int rc;
    TRY(find_commit(&n, d, g));
    if (rc == 1 || n == 0) return HPC_OK;
    TRY(hpc_git_describe(&facts, g));
    if (facts.shallow || facts.partial) return HPC_OK; /* who knows what is cut off */
    TRY(hpc_fail(HPC_E_ARG,
                 "%.300s is the history of another repository: none of its %lld commits is in this "
                 "repository",
                 d->path.data, (long long)n));
out:
    return rc;
}
