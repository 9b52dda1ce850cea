/*
 * line.c: commits of a history, parents first, and the base of each comparison.
 *
 * It does not read samples: the caller names the commits that have some.
 */
#include "corpus/history/line.h"

#include <stdlib.h>
#include <string.h>

typedef struct place {
    int64_t at;   /* in the order in which they were read */
    int64_t root; /* the history it belongs to; -1: not known yet */
    int64_t root_time;
    int64_t time, depth; /* time: not before its parent's, whatever clocks said */
} place;

/* ---- reading --------------------------------------------------------------------------------- */

static int load_commits(perf_line *l, hpc_buf *parents, hpc_history_db *d)
{
    const char *id, *parent;
    int64_t time;
    int rc = HPC_OK;
    for (;;) {
        TRY(perf_next_commit(&id, &parent, &time, d));
        if (rc == 0) break;
        TRY(hpc_grow(&l->item, &l->cap, l->n + 1, sizeof *l->item));
        perf_commit *c = &l->item[l->n];
        *c = (perf_commit){.parent = -1, .time = time};
        memcpy(c->id, id, HPC_HISTORY_ID);
        TRY(hpc_map_put(l->places, id, HPC_HISTORY_ID, (uint64_t)l->n++));
        char text[HPC_HISTORY_ID] = "";
        if (parent) memcpy(text, parent, HPC_HISTORY_ID);
        TRY(hpc_buf_add(parents, text, HPC_HISTORY_ID));
    }
    for (int64_t k = 0; k < l->n; k++)
        l->item[k].parent = perf_line_find(l, parents->data + k * HPC_HISTORY_ID);
out:
    return rc;
}

/* They come by commit. */
static int load_products(perf_line *l, hpc_history_db *d)
{
    const char *id, *hash;
    uint64_t how;
    int rc = HPC_OK;
    for (;;) {
        TRY(perf_next_product(&id, &how, &hash, d));
        if (rc == 0) break;
        int64_t at = perf_line_find(l, id);
        if (at < 0) continue;
        TRY(hpc_grow(&l->product, &l->products_cap, l->products_n + 1, sizeof *l->product));
        if (l->item[at].built++ == 0) l->item[at].product = l->products_n;
        perf_product *p = &l->product[l->products_n++];
        p->how = how;
        memcpy(p->hash, hash, sizeof p->hash);
    }
out:
    return rc;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Of k, and of all on the way up to the first whose place is known, so that each is found once. */
static void find_place(place *p, const perf_line *l, int64_t k, int64_t *way)
{
    int64_t n = 0, at = k;
    while (at >= 0 && p[at].root < 0 && p[at].depth == 0) {
        p[at].depth = -1; /* on the way */
        way[n++] = at;
        at = l->item[at].parent;
    }
    if (at >= 0 && p[at].root < 0) return; /* round in a circle, or into one */
    while (n > 0) {
        const place *before = at >= 0 ? &p[at] : NULL;
        at = way[--n];
        int64_t time = l->item[at].time;
        p[at].root = before ? before->root : at;
        p[at].root_time = before ? before->root_time : time;
        p[at].time = before && before->time > time ? before->time : time;
        p[at].depth = before ? before->depth + 1 : 1;
    }
}

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if ((x->root < 0) != (y->root < 0)) return x->root < 0 ? 1 : -1;
    if (x->root_time != y->root_time) return x->root_time < y->root_time ? -1 : 1;
    if (x->root != y->root) return x->root < y->root ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* In the order of p, of which the first n are no circles. */
static int put_in_order(perf_line *l, const place *p, int64_t n)
{
    perf_commit *item = hpc_alloc((size_t)l->n + 1, sizeof *item);
    int64_t *now = hpc_alloc((size_t)l->n + 1, sizeof *now);
    int rc = item && now ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) goto out;
    for (int64_t k = 0; k < n; k++) now[p[k].at] = k;
    for (int64_t k = 0; k < n; k++) {
        item[k] = l->item[p[k].at];
        if (item[k].parent >= 0) item[k].parent = now[item[k].parent];
        TRY(hpc_map_put(l->places, item[k].id, HPC_HISTORY_ID, (uint64_t)k));
    }
    for (int64_t k = n; k < l->n; k++)
        TRY(hpc_map_put(l->places, l->item[p[k].at].id, HPC_HISTORY_ID, UINT64_MAX));
    if (n > 0) memcpy(l->item, item, (size_t)n * sizeof *item);
    l->n = n;
out:
    hpc_free(item);
    hpc_free(now);
    return rc;
}

/* The last of each history, and all that it came from. */
static void find_main(perf_line *l, const place *p)
{
    for (int64_t k = 0; k < l->n; k++) {
        if (k + 1 < l->n && p[k + 1].root == p[k].root) continue;
        for (int64_t at = k; at >= 0; at = l->item[at].parent) l->item[at].main = true;
    }
}

static int order(perf_line *l)
{
    place *p = hpc_alloc((size_t)l->n + 1, sizeof *p);
    int64_t *way = hpc_alloc((size_t)l->n + 1, sizeof *way), n = 0;
    int rc = p && way ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) goto out;
    for (int64_t k = 0; k < l->n; k++) p[k] = (place){.at = k, .root = -1};
    for (int64_t k = 0; k < l->n; k++) find_place(p, l, k, way);
    for (int64_t k = 0; k < l->n; k++) n += p[k].root >= 0;
    if (l->n > 1) qsort(p, (size_t)l->n, sizeof *p, compare_places);
    TRY(put_in_order(l, p, n));
    find_main(l, p);
out:
    hpc_free(p);
    hpc_free(way);
    return rc;
}

int perf_line_load(perf_line *out, hpc_history_db *d)
{
    hpc_buf parents = {0};
    int rc = HPC_OK;
    *out = (perf_line){.places = hpc_map_create()};
    TRY(out->places ? HPC_OK : HPC_E_NOMEM);
    TRY(load_commits(out, &parents, d));
    TRY(load_products(out, d));
    TRY(order(out));
out:
    hpc_buf_release(&parents);
    if (rc < 0) perf_line_release(out);
    return rc;
}

void perf_line_release(perf_line *l)
{
    hpc_free(l->item);
    hpc_free(l->product);
    hpc_map_free(l->places);
    *l = (perf_line){0};
}

/* ---- asking ---------------------------------------------------------------------------------- */

int64_t perf_line_find(const perf_line *l, const char *id)
{
    uint64_t at;
    hpc_assert(id);
    bool there = id[0] && hpc_map_get(l->places, id, HPC_HISTORY_ID, &at);
    return there && at != UINT64_MAX ? (int64_t)at : -1;
}

bool perf_line_same(const perf_line *l, int64_t a, int64_t b)
{
    const perf_commit *x = &l->item[a], *y = &l->item[b];
    bool same = false;
    for (int64_t k = 0; k < x->built; k++)
        for (int64_t i = 0; i < y->built; i++) {
            const perf_product *p = &l->product[x->product + k], *q = &l->product[y->product + i];
            if (p->how != q->how) continue;
            if (strcmp(p->hash, q->hash) != 0) return false;
            same = true;
        }
    return same;
}

void perf_line_bases(int64_t *base, int64_t *source, const perf_line *l, const bool *measured)
{
    for (int64_t k = 0; k < l->n; k++) {
        int64_t parent = l->item[k].parent;
        bool known = parent >= 0 && source[parent] >= 0;
        base[k] = known ? parent : parent >= 0 ? base[parent] : -1;
        source[k] = measured[k] ? k : known && perf_line_same(l, k, parent) ? source[parent] : -1;
    }
}
