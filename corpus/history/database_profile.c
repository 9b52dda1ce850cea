/*
 * Line profiles of a performance history: that of a commit, or of the nearest commit with one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/database_priv.h"

typedef struct commit {
    char id[HPC_HISTORY_ID], parent[HPC_HISTORY_ID];
    int64_t time;
    bool has; /* a profile */
} commit;
struct hpc_history_profiles {
    hpc_history_db *db;
    sqlite3_stmt *read; /* NULL: the history is of before there were profiles */
    commit *item;       /* by id */
    int64_t n, cap;
    hpc_hot_line *hot; /* of the commit that was asked of last */
    int64_t hot_n, hot_cap;
    char of[HPC_HISTORY_ID];
};

void hpc_history_profiles_close(hpc_history_profiles *p)
{
    if (!p) return;
    sqlite3_finalize(p->read);
    hpc_free(p->item);
    hpc_free(p->hot);
    hpc_free(p);
}

/* ---- which commits have one ---------------------------------------------------------------------
 */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const commit *)a)->id, ((const commit *)b)->id);
}

static commit *find(const hpc_history_profiles *p, const char *id)
{
    commit key;
    snprintf(key.id, sizeof key.id, "%s", id);
    return p->n > 0 ? bsearch(&key, p->item, (size_t)p->n, sizeof key, by_id) : NULL;
}

static int load_commits(hpc_history_profiles *p)
{
    const char *id, *parent;
    int64_t time;
    int rc;
    while ((rc = perf_next_commit(&id, &parent, &time, p->db)) == 1) {
        TRY(hpc_grow(&p->item, &p->cap, p->n + 1, sizeof *p->item));
        commit *c = &p->item[p->n++];
        *c = (commit){.time = time};
        snprintf(c->id, sizeof c->id, "%s", id);
        snprintf(c->parent, sizeof c->parent, "%s", parent ? parent : "");
    }
    if (rc == 0 && p->n > 1) qsort(p->item, (size_t)p->n, sizeof *p->item, by_id);
out:
    return rc;
}

static int mark(hpc_history_profiles *p)
{
    sqlite3_stmt *q = NULL;
    int code, rc = HPC_OK;
    TRY(perf_prepare(p->db, &q, "SELECT DISTINCT commit_id FROM profile"));
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(q, 0);
        commit *c = id && strlen(id) < HPC_HISTORY_ID ? find(p, id) : NULL;
        if (c) c->has = true;
    }
    if (code != SQLITE_DONE) TRY(perf_refused(p->db, code));
out:
    sqlite3_finalize(q);
    return rc;
}

int hpc_history_profiles_open(hpc_history_profiles **out, hpc_history_db *d)
{
    hpc_history_profiles *p = *out = hpc_alloc(1, sizeof *p);
    int rc = HPC_OK;
    if (!p) return HPC_E_NOMEM;
    p->db = d;
    if (d->version < 4) return rc;
    TRY(load_commits(p));
    TRY(mark(p));
    TRY(perf_prepare(d, &p->read, "SELECT lines FROM profile WHERE commit_id = ?1"));
out:
    if (rc < 0) {
        hpc_history_profiles_close(p);
        *out = NULL;
    }
    return rc;
}

int64_t hpc_history_profiles_n(const hpc_history_profiles *p)
{
    int64_t n = 0;
    for (int64_t k = 0; k < p->n; k++) n += p->item[k].has;
    return n;
}

static const commit *last_before(const hpc_history_profiles *p, int64_t time)
{
    const commit *best = NULL;
    for (int64_t k = 0; k < p->n; k++) {
        const commit *c = &p->item[k];
        if (!c->has) continue;
        bool early = c->time < time, best_early = best && best->time < time;
        bool nearer = best && (early ? c->time > best->time : c->time < best->time);
        if (!best || (early && !best_early) || (early == best_early && nearer)) best = c;
    }
    return best;
}

static const commit *nearest(const hpc_history_profiles *p, const char *id, int64_t time)
{
    enum { FAR = 10000 };
    const commit *c = find(p, id);
    for (int k = 0; k < FAR && c && !c->has; k++) c = find(p, c->parent);
    return c && c->has ? c : last_before(p, time);
}

/* ---- one of them --------------------------------------------------------------------------------
 */

static int by_key(const void *a, const void *b)
{
    const hpc_hot_line *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->share > y->share) - (x->share < y->share);
}

/* The file is untrusted: skips values that are not shares. */
static int add_lines(hpc_history_profiles *p, const void *lines, size_t bytes)
{
    int64_t n = (int64_t)(bytes / sizeof *p->hot);
    int rc = HPC_OK;
    TRY(hpc_grow(&p->hot, &p->hot_cap, p->hot_n + n, sizeof *p->hot));
    for (int64_t k = 0; k < n; k++) {
        hpc_hot_line h;
        memcpy(&h, (const char *)lines + (size_t)k * sizeof h, sizeof h);
        if (h.share > 0 && h.share <= 1) p->hot[p->hot_n++] = h;
    }
out:
    return rc;
}

/* Of the same key, sums; over commands, means. */
static void put_together(hpc_history_profiles *p, int64_t commands)
{
    int64_t kept = 0;
    if (p->hot_n > 1) qsort(p->hot, (size_t)p->hot_n, sizeof *p->hot, by_key);
    for (int64_t k = 0; k < p->hot_n; k++) {
        hpc_hot_line h = p->hot[k];
        h.share /= (float)commands;
        if (kept > 0 && p->hot[kept - 1].key == h.key)
            p->hot[kept - 1].share += h.share;
        else
            p->hot[kept++] = h;
    }
    p->hot_n = kept;
}

static int read_one(hpc_history_profiles *p, const commit *c)
{
    int64_t commands = 0;
    int code, rc = HPC_OK;
    p->of[0] = '\0';
    p->hot_n = 0;
    sqlite3_bind_text(p->read, 1, c->id, -1, SQLITE_STATIC);
    while ((code = sqlite3_step(p->read)) == SQLITE_ROW) {
        const void *lines = sqlite3_column_blob(p->read, 0);
        commands++;
        if (lines) TRY(add_lines(p, lines, (size_t)sqlite3_column_bytes(p->read, 0)));
    }
    if (code != SQLITE_DONE) TRY(perf_refused(p->db, code));
    if (commands > 0) put_together(p, commands);
    snprintf(p->of, sizeof p->of, "%s", c->id);
out:
    sqlite3_reset(p->read);
    return rc;
}

int hpc_history_profiles_find(const hpc_hot_line **hot, int64_t *n, hpc_history_profiles *p,
                              const char *id, int64_t time)
{
    const commit *c = p->read ? nearest(p, id, time) : NULL;
    int rc = HPC_OK;
    *hot = NULL;
    *n = 0;
    if (!c) return rc;
    if (strcmp(p->of, c->id) != 0) TRY(read_one(p, c));
    *hot = p->hot_n > 0 ? p->hot : NULL;
    *n = p->hot_n;
out:
    return rc;
}
