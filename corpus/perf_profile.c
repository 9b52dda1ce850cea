/*
 * perf_profile.c: in which functions the cost of a commit is: what a performance history knows of
 * that, or of the nearest commit that it knows it of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/perf_priv.h"

typedef struct commit {
    char id[PERF_ID], parent[PERF_ID];
    int64_t time;
    int64_t first, n; /* of its functions */
} commit;
struct perf_profiles {
    commit *item; /* by id */
    int64_t n, cap;
    perf_share *share;
    size_t *name; /* of each, in `names` */
    int64_t shares_n, shares_cap, names_cap;
    hpc_buf names;
};

void perf_profiles_free(perf_profiles *p)
{
    if (!p) return;
    hpc_free(p->item);
    hpc_free(p->share);
    hpc_free(p->name);
    hpc_buf_release(&p->names);
    hpc_free(p);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const commit *)a)->id, ((const commit *)b)->id);
}

static commit *find(const perf_profiles *p, const char *id)
{
    commit key;
    snprintf(key.id, sizeof key.id, "%s", id);
    return p->n > 0 ? bsearch(&key, p->item, (size_t)p->n, sizeof key, by_id) : NULL;
}

static int load_commits(perf_profiles *p, perf_db *d)
{
    const char *id, *parent;
    int64_t time;
    int rc;
    while ((rc = perf_next_commit(&id, &parent, &time, d)) == 1) {
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

/* Rows come by commit. Numbers are of whoever wrote the file. */
static int add_row(perf_profiles *p, sqlite3_stmt *q)
{
    const char *id = (const char *)sqlite3_column_text(q, 0);
    const char *name = (const char *)sqlite3_column_text(q, 1);
    double share = sqlite3_column_double(q, 2);
    commit *c = id && strlen(id) < PERF_ID ? find(p, id) : NULL;
    int rc = HPC_OK;
    if (!c || !name || !(share > 0 && share <= 1)) return rc;
    if (c->n == 0) c->first = p->shares_n;
    TRY(hpc_grow(&p->share, &p->shares_cap, p->shares_n + 1, sizeof *p->share));
    TRY(hpc_grow(&p->name, &p->names_cap, p->shares_n + 1, sizeof *p->name));
    p->share[p->shares_n].share = share;
    p->name[p->shares_n++] = p->names.n;
    c->n++;
    TRY(hpc_buf_add(&p->names, name, strlen(name) + 1));
out:
    return rc;
}

static int load_shares(perf_profiles *p, perf_db *d)
{
    static const char sql[] =
        "SELECT commit_id, name, sum(share) / (SELECT count(DISTINCT command) FROM profile AS "
        "all_of"
        " WHERE all_of.commit_id = profile.commit_id) FROM profile GROUP BY commit_id, name"
        " ORDER BY commit_id, name";
    sqlite3_stmt *q = NULL;
    int code, rc = HPC_OK;
    TRY(perf_prepare(d, &q, sql));
    while ((code = sqlite3_step(q)) == SQLITE_ROW) TRY(add_row(p, q));
    if (code != SQLITE_DONE) TRY(perf_refused(d, code));
    for (int64_t k = 0; k < p->shares_n; k++) p->share[k].name = p->names.data + p->name[k];
out:
    sqlite3_finalize(q);
    return rc;
}

int perf_profiles_load(perf_profiles **out, perf_db *d)
{
    perf_profiles *p = hpc_alloc(1, sizeof *p);
    int rc = HPC_OK;
    *out = NULL;
    if (!p) return HPC_E_NOMEM;
    TRY(load_commits(p, d));
    if (perf_has_profiles(d)) TRY(load_shares(p, d));
    *out = p;
    p = NULL;
out:
    perf_profiles_free(p);
    return rc;
}

static const commit *last_before(const perf_profiles *p, int64_t time)
{
    const commit *best = NULL;
    for (int64_t k = 0; k < p->n; k++) {
        const commit *c = &p->item[k];
        if (c->n == 0) continue;
        bool early = c->time <= time, best_early = best && best->time <= time;
        if (!best || (early && !best_early) || (early == best_early && c->time > best->time))
            best = c;
    }
    return best;
}

const perf_share *perf_profiles_of(int64_t *n, const perf_profiles *p, const char *id, int64_t time)
{
    enum { FAR = 1000 };
    const commit *c = find(p, id);
    for (int k = 0; k < FAR && c && c->n == 0; k++) c = find(p, c->parent);
    if (!c || c->n == 0) c = last_before(p, time);
    *n = c ? c->n : 0;
    return c ? p->share + c->first : NULL;
}
