/*
 * bucket.c: combines sums over ranks that end in state, so that one message carries many: a bundle,
 * one collective, and views of its result. The grouping follows from the order in which the sums
 * become ready, their axes and their sizes, so it is the same on all ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/program/overlap_priv.h"

typedef struct member {
    int32_t node;
    int32_t ready; /* the last node before it */
} member;

typedef struct bucket {
    member list[HPC_BUNDLE_MAX];
    int n;
    size_t bytes;
} bucket;

typedef struct bundler {
    graph *g;
    size_t most;
    bucket *open; /* one for each kind of sum that was met */
    int64_t open_n, open_cap;
} bundler;

static const hpc_comm_attr *attr_of(const graph *g, int32_t k)
{
    return g->node[k].insn.attr;
}

static hpc_value sent(const graph *g, int32_t k)
{
    return g->node[k].insn.operand[1];
}

static size_t bytes_of(const graph *g, int32_t k)
{
    return hpc_type_bytes(&g->p->value[sent(g, k)].type);
}

static bool may_join(const bundler *b, int32_t k)
{
    const graph *g = b->g;
    const hpc_insn *i = &g->node[k].insn;
    if (g->node[k].kind != NODE_SINK || i->tags.guard >= 0) return false;
    if (i->op != &hpc_op_all_reduce && i->op != &hpc_op_reduce_scatter) return false;
    return g->p->value[i->operand[0]].kind == HPC_VALUE_TEMP && !g->p->value[i->operand[0]].kept &&
           g->p->value[sent(g, k)].type.ragged < 0 && bytes_of(g, k) < b->most;
}

static bool same_kind(const graph *g, int32_t a, int32_t b)
{
    const hpc_comm_attr *x = attr_of(g, a), *y = attr_of(g, b);
    return g->node[a].insn.op == g->node[b].insn.op && x->axes == y->axes &&
           x->reduce == y->reduce && x->ranks == y->ranks &&
           g->p->value[sent(g, a)].type.dtype == g->p->value[sent(g, b)].type.dtype;
}

static int64_t elements(const hpc_type *t)
{
    return (int64_t)(hpc_type_bytes(t) / hpc_dtype_get((hpc_dtype)t->dtype)->block_bytes);
}

/* ---- rewriting --------------------------------------------------------------------- */

/* The instruction that was emitted last becomes a node, and is taken from the segment. */
static int take_emitted(graph *g, int32_t place, int32_t turn)
{
    hpc_segment *s = &g->p->segment[g->segment];
    int rc = hpc_program_status(g->p);
    return rc < 0 ? rc : graph_add(g, &s->insn[--s->insn_n], place, turn);
}

/* y lies in `base` from now on, and so do the views of it that there are. */
static void lie_in(hpc_program *p, hpc_value y, hpc_value base, int64_t first)
{
    for (int64_t v = 0; v < p->value_n; v++) {
        if (v != y && p->value[v].base != y) continue;
        p->value[v].base = base;
        p->value[v].base_element += first;
    }
}

/* A member becomes a view of its share of what was received. */
static int take_apart(graph *g, int32_t at, int32_t comm, hpc_value all, int64_t first)
{
    hpc_program *p = g->p;
    node *d = &g->node[at];
    hpc_value y = d->insn.operand[0];
    hpc_type t = p->value[y].type;
    int64_t n = elements(&t);
    int32_t place = g->node[comm].place, turn = g->node[comm].turn;
    int rc, rows;
    p->tags = d->insn.tags;
    p->tags.queue = HPC_COMPUTE;
    hpc_value part = hpc_slice(p, all, first, n);
    TRY(rows = take_emitted(g, place, turn));
    TRY(graph_before(g, rows, comm));
    hpc_value view = hpc_view(p, part, t.rank, t.extent);
    TRY(hpc_program_status(p));
    hpc_segment *s = &p->segment[g->segment];
    hpc_insn i = s->insn[--s->insn_n];
    i.operand[0] = y; /* which is what readers know it by */
    lie_in(p, y, p->value[view].base, p->value[view].base_element);
    d = &g->node[at];
    d->insn = i;
    d->kind = NODE_PLAIN;
    d->place = place;
    d->turn = turn;
    d->pred_n = 0;
    g->node[rows].flight = d->flight = comm;
    TRY(graph_before(g, at, rows));
out:
    return rc;
}

/* The bundle reads what the member would have sent, as it was then. */
static int take_place(graph *g, int32_t bundle, int k, int32_t at)
{
    int rc = HPC_OK;
    g->node[bundle].insn.version[1 + k] = g->node[at].insn.version[1];
    for (int64_t a = 0; a < g->node[at].pred_n; a++)
        TRY(graph_before(g, bundle, g->node[at].pred[a]));
out:
    return rc;
}

static int close_bucket(graph *g, const bucket *b)
{
    hpc_program *p = g->p;
    hpc_value x[HPC_BUNDLE_MAX];
    int rc = HPC_OK, bundle, comm;
    int64_t first = 0;
    if (b->n < 2) return rc;
    const node like = g->node[b->list[b->n - 1].node];
    const int32_t ready = b->list[b->n - 1].ready;
    const int32_t place = g->node[ready].place, turn = g->node[ready].turn;
    const hpc_comm_attr at = *(const hpc_comm_attr *)like.insn.attr;
    bool scatters = like.insn.op == &hpc_op_reduce_scatter;
    for (int k = 0; k < b->n; k++) x[k] = sent(g, b->list[k].node);
    p->tags = like.insn.tags;
    p->tags.queue = HPC_COMPUTE;
    hpc_value y = hpc_bundle(p, x, b->n, scatters ? at.ranks : 1);
    TRY(bundle = take_emitted(g, place, turn));
    for (int k = 0; k < b->n; k++) TRY(take_place(g, bundle, k, b->list[k].node));
    p->tags.queue = HPC_COMM;
    y = scatters ? hpc_reduce_scatter(p, y, (hpc_axes)at.axes, (int)at.ranks)
                 : hpc_all_reduce(p, y, (hpc_axes)at.axes, (hpc_comm_reduce)at.reduce);
    TRY(comm = take_emitted(g, place, turn));
    g->node[comm].kind = NODE_SINK;
    g->node[comm].flight = comm;
    TRY(graph_before(g, comm, bundle));
    for (int k = 0; k < b->n; k++) {
        int64_t n = elements(&p->value[g->node[b->list[k].node].insn.operand[0]].type);
        TRY(take_apart(g, b->list[k].node, comm, y, first));
        first += n;
    }
    rc = HPC_OK;
out:
    return rc;
}

/* ---- choosing ---------------------------------------------------------------------- */

static int by_ready(const void *a, const void *b)
{
    const member *x = a, *y = b;
    return x->ready != y->ready ? (x->ready < y->ready ? -1 : 1) : x->node - y->node;
}

static int32_t ready_at(const graph *g, int32_t k)
{
    int32_t last = 0;
    for (int64_t a = 0; a < g->node[k].pred_n; a++)
        if (g->node[k].pred[a] > last) last = g->node[k].pred[a];
    return last;
}

/* True if k follows a member that is already in the bucket, which must then be sent first. */
static bool comes_behind(const graph *g, const bucket *b, int32_t k)
{
    for (int64_t a = 0; a < g->node[k].pred_n; a++)
        for (int m = 0; m < b->n; m++)
            if (g->node[k].pred[a] == b->list[m].node ||
                (g->node[g->node[k].pred[a]].late && comes_behind(g, b, g->node[k].pred[a])))
                return true;
    return false;
}

static int put(bundler *b, member m)
{
    bucket *at = NULL;
    int rc = HPC_OK;
    for (int64_t k = 0; k < b->open_n; k++)
        if (b->open[k].n > 0 && same_kind(b->g, b->open[k].list[0].node, m.node)) at = &b->open[k];
    if (at && (at->n == HPC_BUNDLE_MAX || at->bytes + bytes_of(b->g, m.node) > b->most ||
               comes_behind(b->g, at, m.node)))
    {
        TRY(close_bucket(b->g, at));
        at->n = 0;
        at->bytes = 0;
    }
    if (!at) {
        TRY(hpc_grow(&b->open, &b->open_cap, b->open_n + 1, sizeof *b->open));
        at = &b->open[b->open_n++];
        *at = (bucket){.n = 0};
    }
    at->list[at->n++] = m;
    at->bytes += bytes_of(b->g, m.node);
    rc = HPC_OK;
out:
    return rc;
}

int graph_bundle(graph *g, size_t bytes)
{
    hpc_program *p = g->p;
    int64_t n = 0, all = g->n;
    int rc = HPC_OK, current = p->current;
    hpc_tags tags = p->tags;
    bundler b = {.g = g, .most = bytes};
    member *list = hpc_alloc((size_t)all + 1, sizeof *list);
    if (!list) TRY(HPC_E_NOMEM);
    for (int32_t k = 0; k < all; k++)
        if (may_join(&b, k)) list[n++] = (member){k, ready_at(g, k)};
    qsort(list, (size_t)n, sizeof *list, by_ready);
    p->current = g->segment;
    for (int64_t k = 0; k < n; k++) TRY(put(&b, list[k]));
    for (int64_t k = 0; k < b.open_n; k++) TRY(close_bucket(g, &b.open[k]));
    rc = HPC_OK;
out:
    p->current = current;
    p->tags = tags;
    hpc_free(list);
    hpc_free(b.open);
    return rc;
}
