/*
 * range.c: the commits that one commit reaches and another does not, ordered so that parents come
 * first. As in git: both sides are followed by time, latest first, and commits that the other side
 * reaches are removed, until no remaining commit is older than those found.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

enum { SKEW = 16 }; /* commits that are looked at further, because clocks are wrong */

typedef struct node {
    hpc_git_id id;
    int64_t time;
    int32_t first;   /* the first parent; -1: none that is known */
    int64_t parent;  /* in `edge`, so many: */
    int32_t parents; /* known ones, of all */
    int32_t missing; /* interesting parents that have not been followed */
    bool other, seen, absent, told;
} node;

typedef struct range {
    hpc_git *g;
    const hpc_git_range_options *o;
    hpc_map *index; /* id to node */
    node *item;
    int64_t n, cap;
    int32_t *edge;
    int64_t edges, edges_cap;
    int32_t *heap; /* the latest, or the earliest, first */
    int64_t heap_n, heap_cap;
    int64_t open; /* in the heap and not the other's */
    bool earliest;
} range;

/* ---- a heap by time ------------------------------------------------------------------------- */

static bool before(const range *r, int32_t a, int32_t b)
{
    const node *x = &r->item[a], *y = &r->item[b];
    if (x->time != y->time) return r->earliest ? x->time < y->time : x->time > y->time;
    return r->earliest ? a > b : a < b; /* commits found later are older */
}

static void swap(range *r, int64_t a, int64_t b)
{
    int32_t t = r->heap[a];
    r->heap[a] = r->heap[b];
    r->heap[b] = t;
}

static int push(range *r, int32_t k)
{
    int rc = hpc_grow(&r->heap, &r->heap_cap, r->heap_n + 1, sizeof *r->heap);
    if (rc < 0) return rc;
    int64_t at = r->heap_n++;
    r->heap[at] = k;
    for (; at > 0 && before(r, r->heap[at], r->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(r, at, (at - 1) / 2);
    return HPC_OK;
}

static int32_t pop(range *r)
{
    int32_t top = r->heap[0];
    r->heap[0] = r->heap[--r->heap_n];
    for (int64_t at = 0, next; (next = 2 * at + 1) < r->heap_n; at = next) {
        if (next + 1 < r->heap_n && before(r, r->heap[next + 1], r->heap[next])) next++;
        if (!before(r, r->heap[next], r->heap[at])) break;
        swap(r, at, next);
    }
    return top;
}

/* ---- what there is ----------------------------------------------------------------------------
 */

/* The node of a commit, which is made for it. */
static int node_of(int32_t *out, range *r, const hpc_git_id *id)
{
    uint64_t known;
    int rc = HPC_OK;
    if (hpc_map_get(r->index, id->byte, sizeof id->byte, &known)) {
        *out = (int32_t)known;
        return rc;
    }
    if (r->n == INT32_MAX) return hpc_fail(HPC_E_UNSUPPORTED, "a history of too many commits");
    TRY(hpc_grow(&r->item, &r->cap, r->n + 1, sizeof *r->item));
    TRY(hpc_map_put(r->index, id->byte, sizeof id->byte, (uint64_t)r->n));
    *out = (int32_t)r->n++;
    r->item[*out] = (node){.id = *id, .first = -1};
out:
    return rc;
}

/* Reads the commit, if it is there, and waits for its turn. */
static int meet(int32_t *out, range *r, const hpc_git_id *id, bool other)
{
    git_commit_head c = {0};
    int32_t parent;
    int rc;
    TRY(node_of(out, r, id));
    hpc_assert(r->item);
    if (r->item[*out].seen) goto out;
    TRY(git_read_commit(&c, r->g, id));
    node *v = &r->item[*out];
    *v = (node){.id = *id, .first = -1, .seen = true, .other = other, .parent = r->edges};
    v->absent = rc != HPC_GIT_READ;
    v->time = c.time;
    v->parents = c.parents;
    for (int k = 0; k < c.parents; k++) {
        TRY(node_of(&parent, r, &c.parent[k]));
        TRY(hpc_grow(&r->edge, &r->edges_cap, r->edges + 1, sizeof *r->edge));
        r->edge[r->edges++] = parent;
        if (k == 0) r->item[*out].first = parent;
    }
    r->open += !other && !r->item[*out].absent;
    if (!r->item[*out].absent) TRY(push(r, *out));
out:
    git_commit_release(&c);
    return rc;
}

/* Marks all ancestors found so far as reachable from the other side. */
static int take_off(range *r, int32_t k)
{
    int32_t *stack = NULL;
    int64_t n = 0, cap = 0;
    int rc;
    TRY(hpc_grow(&stack, &cap, 1, sizeof *stack));
    stack[n++] = k;
    while (n > 0) {
        node *v = &r->item[stack[--n]];
        for (int i = 0; v->seen && !v->absent && i < v->parents; i++) {
            node *p = &r->item[r->edge[v->parent + i]];
            if (p->other) continue;
            p->other = true;
            r->open -= p->seen && !p->absent && !p->told;
            TRY(hpc_grow(&stack, &cap, n + 1, sizeof *stack));
            stack[n++] = (int32_t)(p - r->item);
        }
    }
out:
    hpc_free(stack);
    return rc;
}

static int follow(range *r, int32_t k)
{
    int32_t parents = r->item[k].parents, parent;
    bool other = r->item[k].other;
    int rc = HPC_OK;
    if (other) TRY(take_off(r, k));
    if (!other && r->o->first_parent && parents > 1) parents = 1;
    for (int i = 0; i < parents; i++) {
        int32_t at = r->edge[r->item[k].parent + i];
        hpc_git_id id = r->item[at].id;
        TRY(meet(&parent, r, &id, other || r->item[at].other));
    }
out:
    return rc;
}

/* Walks the graph; sets a node's flag when its commit has been followed. */
static int walk(range *r)
{
    int64_t oldest = INT64_MAX;
    int further = SKEW, rc = HPC_OK;
    while (r->heap_n > 0) {
        int32_t k = r->heap[0];
        if (r->open == 0 && r->item[k].time < oldest && further-- == 0) break;
        pop(r);
        node *v = &r->item[k];
        v->told = true;
        if (!v->other) {
            r->open--;
            further = SKEW;
            if (v->time < oldest) oldest = v->time;
        }
        TRY(follow(r, k));
    }
out:
    return rc;
}

/* ---- in order ---------------------------------------------------------------------------------
 */

static bool is_in(const range *r, int32_t k)
{
    const node *v = &r->item[k];
    return v->seen && v->told && !v->absent && !v->other;
}

static int32_t parents_of(const range *r, const node *v)
{
    return r->o->first_parent && v->parents > 1 ? 1 : v->parents;
}

static int touches(bool *out, hpc_git_changes *changes, range *r, const node *v)
{
    hpc_git_id parent = {0};
    *out = !r->o->wants;
    if (*out) return HPC_OK;
    if (v->first >= 0) parent = r->item[v->first].id;
    int rc = hpc_git_diff(changes, r->g, &parent, &v->id, r->o->wants, r->o->user, INT32_MAX);
    if (rc < 0) return rc;
    *out = rc != HPC_GIT_READ || changes->n > 0; /* a commit that cannot be compared is included */
    return HPC_OK;
}

/* stands[k]: which commit of the range, or before it, stands for k: itself unless it was left out.
 */
static int tell(hpc_git_range *out, range *r, int32_t *stands, hpc_git_changes *changes, int32_t k)
{
    const node *v = &r->item[k];
    bool kept;
    int rc;
    stands[k] = k;
    TRY(touches(&kept, changes, r, v));
    if (!kept && v->first >= 0) {
        stands[k] = is_in(r, v->first) ? stands[v->first] : v->first;
        return HPC_OK;
    }
    TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
    hpc_git_step *s = &out->item[out->n++];
    *s = (hpc_git_step){.id = v->id, .time = v->time, .parents = v->parents};
    if (v->first < 0) return HPC_OK;
    s->parent = r->item[is_in(r, v->first) ? stands[v->first] : v->first].id;
    s->cut = r->item[v->first].absent;
out:
    return rc;
}

/* Who waits for whom, as lists: from[k] to from[k + 1] of `to`. */
static int find_children(int64_t **from, int32_t **to, range *r)
{
    *from = hpc_alloc((size_t)r->n + 2, sizeof **from);
    *to = hpc_alloc((size_t)r->edges + 1, sizeof **to);
    if (!*from || !*to) return HPC_E_NOMEM;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t k = 0; k < r->n; k++)
            for (int i = 0; is_in(r, k) && i < parents_of(r, &r->item[k]); i++) {
                int32_t parent = r->edge[r->item[k].parent + i];
                if (!is_in(r, parent)) continue;
                r->item[k].missing += pass;
                if (pass == 0)
                    (*from)[parent + 2]++;
                else
                    (*to)[(*from)[parent + 1]++] = k;
            }
        for (int64_t k = 2; pass == 0 && k < r->n + 2; k++) (*from)[k] += (*from)[k - 1];
    }
    return HPC_OK;
}

static int put_in_order(hpc_git_range *out, range *r)
{
    hpc_git_changes changes = {0};
    int32_t *stands = hpc_alloc((size_t)r->n + 1, sizeof *stands), *to = NULL;
    int64_t *from = NULL;
    int rc = HPC_E_NOMEM;
    if (!stands) goto out;
    TRY(find_children(&from, &to, r));
    r->heap_n = 0;
    r->earliest = true;
    for (int32_t k = 0; k < r->n; k++)
        if (is_in(r, k) && r->item[k].missing == 0) TRY(push(r, k));
    while (r->heap_n > 0) {
        int32_t k = pop(r);
        TRY(tell(out, r, stands, &changes, k));
        for (int64_t a = from[k]; a < from[k + 1]; a++)
            if (--r->item[to[a]].missing == 0) TRY(push(r, to[a]));
    }
out:
    hpc_git_changes_release(&changes);
    hpc_free(stands);
    hpc_free(from);
    hpc_free(to);
    return rc;
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static int missing(const range *r, const hpc_git_id *id)
{
    char hex[41];
    hpc_git_id_text(hex, id);
    return hpc_fail(HPC_E_ARG, SHOWN ": commit %s is not in this clone", r->g->path, hex);
}

int hpc_git_range_find(hpc_git_range *out, hpc_git *g, const hpc_git_id *base,
                       const hpc_git_id *head, const hpc_git_range_options *o)
{
    range r = {.g = g, .o = o, .index = hpc_map_create()};
    int32_t k;
    int rc = HPC_E_NOMEM;
    *out = (hpc_git_range){0};
    if (!r.index) goto out;
    if (base) {
        TRY(meet(&k, &r, base, true));
        if (r.item[k].absent) TRY(missing(&r, base));
    }
    TRY(meet(&k, &r, head, false));
    if (r.item[k].absent) TRY(missing(&r, head));
    TRY(walk(&r));
    TRY(put_in_order(out, &r));
out:
    hpc_map_free(r.index);
    hpc_free(r.item);
    hpc_free(r.edge);
    hpc_free(r.heap);
    if (rc < 0) hpc_git_range_release(out);
    return rc;
}

void hpc_git_range_release(hpc_git_range *r)
{
    hpc_free(r->item);
    *r = (hpc_git_range){0};
}
