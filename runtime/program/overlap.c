/*
 * overlap.c: hpc_overlap: builds each segment's dependency graph, classifies its
 * collectives, and emits the segment in its new order (overlap_order.c).
 *
 * The computation does not change: writes to one state keep their order. Classes and
 * order follow from ops, values and tags, never from attributes, the only difference
 * between ranks of one grid.
 */
#include <string.h>

#include "runtime/program/overlap_priv.h"

/* ---- the graph ------------------------------------------------------------------ */

typedef struct read {
    int32_t node, next;
} read;

typedef struct tracing { /* while the list is walked */
    int32_t *made;       /* by value: the node that assigned it, or -1 */
    int32_t *wrote;      /* by root: the last that wrote it, or -1 */
    int32_t *reads;      /* by root: those since, a list in `read` */
    read *read;
    int64_t read_n, read_cap;
} tracing;

int graph_before(graph *g, int32_t at, int32_t pred)
{
    node *d = &g->node[at];
    if (pred < 0 || pred == at) return HPC_OK;
    for (int64_t k = 0; k < d->pred_n; k++)
        if (d->pred[k] == pred) return HPC_OK;
    int rc = hpc_grow(&d->pred, &d->pred_cap, d->pred_n + 1, sizeof *d->pred);
    if (rc >= 0) d->pred[d->pred_n++] = pred;
    return rc;
}

int graph_add(graph *g, const hpc_insn *i, int32_t place, int32_t turn)
{
    int rc = hpc_grow(&g->node, &g->cap, g->n + 1, sizeof *g->node);
    if (rc < 0) return rc;
    g->node[g->n] = (node){.insn = *i, .flight = -1, .place = place, .turn = turn};
    return (int)g->n++;
}

static int reads(graph *g, tracing *t, int32_t at, hpc_value v)
{
    hpc_value root = hpc_value_root(g->p, v);
    int rc = HPC_OK;
    if (v < 0) return rc;
    TRY(graph_before(g, at, t->made[v]));
    TRY(graph_before(g, at, t->wrote[root]));
    TRY(hpc_grow(&t->read, &t->read_cap, t->read_n + 1, sizeof *t->read));
    t->read[t->read_n] = (read){at, t->reads[root]};
    t->reads[root] = (int32_t)t->read_n++;
out:
    return rc;
}

static int writes(graph *g, tracing *t, int32_t at, hpc_value v)
{
    hpc_value root = hpc_value_root(g->p, v);
    int rc = HPC_OK;
    t->made[v] = at;
    if (g->node[at].insn.op->view) return rc;
    TRY(graph_before(g, at, t->wrote[root]));
    for (int32_t k = t->reads[root]; k >= 0; k = t->read[k].next)
        TRY(graph_before(g, at, t->read[k].node));
    t->reads[root] = -1;
    t->wrote[root] = at;
out:
    return rc;
}

static int trace_insn(graph *g, tracing *t, int32_t at)
{
    const hpc_program *p = g->p;
    const hpc_insn i = g->node[at].insn;
    int rc = HPC_OK, n = i.op->sig.operand_n;
    for (int k = 0; k < n; k++) {
        if (i.operand[k] < 0) continue;
        const hpc_type *type = &p->value[i.operand[k]].type;
        if (hpc_insn_role(p, &i, k) & HPC_IN) TRY(reads(g, t, at, i.operand[k]));
        if (type->ragged >= 0) TRY(reads(g, t, at, type->count));
    }
    TRY(reads(g, t, at, i.tags.guard));
    for (int k = 0; k < n; k++)
        if (hpc_insn_role(p, &i, k) & HPC_OUT) TRY(writes(g, t, at, i.operand[k]));
out:
    return rc;
}

static bool is_comm(const hpc_insn *i)
{
    return i->op->comm >= 0;
}

/* Of a view that of what it views. */
static void find_flights(graph *g)
{
    for (int32_t k = 0; k < g->n; k++) {
        node *d = &g->node[k];
        if (is_comm(&d->insn)) d->flight = k;
        for (int64_t a = 0; d->insn.op->view && a < d->pred_n; a++)
            if (g->node[d->pred[a]].flight >= 0) d->flight = g->node[d->pred[a]].flight;
    }
}

static int trace_all(graph *g, tracing *t)
{
    const hpc_segment *s = &g->p->segment[g->segment];
    int rc = HPC_OK, turn = 0;
    for (int64_t k = 0; k < s->insn_n; k++) {
        if (k > 0 && s->insn[k].tags.block != s->insn[k - 1].tags.block) turn++;
        TRY(graph_add(g, &s->insn[k], (int32_t)k, turn));
        TRY(trace_insn(g, t, (int32_t)k));
    }
    find_flights(g);
    rc = HPC_OK;
out:
    return rc;
}

/* ---- kinds ------------------------------------------------------------------------ */

/* Hands on what it is given, in other places or in another form. */
static bool hands_on(const hpc_insn *i)
{
    return is_comm(i) || i->op->view || i->op == &hpc_op_tile || i->op == &hpc_op_copy ||
           i->op == &hpc_op_pack;
}

static bool makes_temporary(const hpc_program *p, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(p, i, k) & HPC_OUT && p->value[i->operand[k]].kind != HPC_VALUE_STATE)
            return true;
    return false;
}

/* leads[root]: something flows from it, in this segment, other than into state. */
static void find_sinks(graph *g, bool *leads)
{
    const hpc_program *p = g->p;
    for (int64_t k = g->n - 1; k >= 0; k--) {
        node *d = &g->node[k];
        const hpc_insn *i = &d->insn;
        hpc_value y = hpc_value_root(p, i->operand[0]);
        bool on = hands_on(i) ? makes_temporary(p, i) && y >= 0 && leads[y] : makes_temporary(p, i);
        for (int a = 0; a < i->op->sig.operand_n; a++)
            if (on && hpc_insn_role(p, i, a) & HPC_IN)
                leads[hpc_value_root(p, i->operand[a])] = true;
        if (is_comm(i)) d->kind = on ? NODE_FLOW : NODE_SINK;
    }
}

/* Made of state alone that nothing here has written, by handing it on. */
static bool is_of_state(const graph *g, const bool *of_state, const hpc_insn *i)
{
    const hpc_program *p = g->p;
    if (!hands_on(i) || i->tags.guard >= 0) return false;
    for (int a = 0; a < i->op->sig.operand_n; a++) {
        if (!(hpc_insn_role(p, i, a) & HPC_IN)) continue;
        hpc_value root = hpc_value_root(p, i->operand[a]);
        if (!of_state[root]) return false;
    }
    return true;
}

static void find_gathers(graph *g, bool *of_state)
{
    const hpc_program *p = g->p;
    for (int64_t v = 0; v < p->value_n; v++) of_state[v] = p->value[v].kind == HPC_VALUE_STATE;
    for (int64_t k = 0; k < g->n; k++) {
        node *d = &g->node[k];
        bool of = is_of_state(g, of_state, &d->insn);
        for (int a = 0; a < d->insn.op->sig.operand_n; a++)
            if (!d->insn.op->view && hpc_insn_role(p, &d->insn, a) & HPC_OUT)
                of_state[d->insn.operand[a]] =
                    of && p->value[d->insn.operand[a]].kind != HPC_VALUE_STATE;
        if (of && d->kind == NODE_FLOW && d->insn.op->comm == HPC_ALL_GATHER) d->kind = NODE_AHEAD;
    }
}

/* The first turn in which a gather's result is used, through what hands it on, and how many other
 * gathers do so. */
static void find_needs(graph *g)
{
    for (int64_t k = 0; k < g->n; k++) g->node[k].needed = INT32_MAX;
    for (int64_t k = g->n - 1; k >= 0; k--) {
        const node *d = &g->node[k];
        bool on = d->kind == NODE_AHEAD || (!is_comm(&d->insn) && hands_on(&d->insn));
        int32_t needed = on ? d->needed : d->turn, chain = on ? d->chain : 0;
        for (int64_t a = 0; a < d->pred_n; a++) {
            node *e = &g->node[d->pred[a]];
            int32_t behind = chain + (d->kind == NODE_AHEAD);
            if (needed < e->needed) e->needed = needed;
            if (behind > e->chain) e->chain = behind;
        }
    }
}

/* Marks the nodes that depend on sinks, by the present edges. */
static void find_late(graph *g)
{
    for (bool more = true; more;) {
        more = false;
        for (int64_t k = 0; k < g->n; k++) {
            node *d = &g->node[k];
            bool late = d->kind == NODE_SINK;
            for (int64_t a = 0; a < d->pred_n; a++) late = late || g->node[d->pred[a]].late;
            more = more || late != d->late;
            d->late = late;
        }
    }
}

static int find_kinds(graph *g)
{
    bool *mark = hpc_alloc((size_t)g->p->value_n + 1, sizeof *mark);
    if (!mark) return HPC_E_NOMEM;
    find_sinks(g, mark);
    find_gathers(g, mark);
    find_needs(g);
    hpc_free(mark);
    return HPC_OK;
}

/* Recomputation does not depend on backward, so it would all be available at once as work to hide
 * communication. It therefore waits until backward has begun with the block after its own. */
static int hold_back(graph *g)
{
    enum { BLOCKS = INT16_MAX + 2 };
    int32_t *begun =
        hpc_alloc(BLOCKS, sizeof *begun); /* by block: where its gradients begin, or -1 */
    int rc = HPC_OK;
    if (!begun) return HPC_E_NOMEM;
    for (int b = 0; b < BLOCKS; b++) begun[b] = -1;
    for (int32_t k = 0; k < g->n; k++) {
        const node *d = &g->node[k];
        int b = d->insn.tags.block;
        if (b < 0) continue;
        if (d->insn.tags.again)
            TRY(graph_before(g, k, begun[b + 1]));
        else if (!hands_on(&d->insn) && (begun[b] < 0 || g->node[begun[b]].turn != d->turn))
            begun[b] = k;
    }
out:
    hpc_free(begun);
    return rc;
}

/* Graph of g->segment; the caller releases it, also after an error. */
static int make_graph(graph *g)
{
    size_t n = (size_t)g->p->value_n + 1;
    int rc = HPC_OK;
    tracing t = {.made = hpc_alloc(n, sizeof *t.made),
                 .wrote = hpc_alloc(n, sizeof *t.wrote),
                 .reads = hpc_alloc(n, sizeof *t.reads)};
    if (!t.made || !t.wrote || !t.reads) TRY(HPC_E_NOMEM);
    for (size_t v = 0; v < n; v++) t.made[v] = t.wrote[v] = t.reads[v] = -1;
    TRY(trace_all(g, &t));
    TRY(find_kinds(g));
    TRY(hold_back(g));
out:
    hpc_free(t.made);
    hpc_free(t.wrote);
    hpc_free(t.reads);
    hpc_free(t.read);
    return rc;
}

static void release_graph(graph *g)
{
    for (int64_t k = 0; k < g->n; k++) hpc_free(g->node[k].pred);
    hpc_free(g->node);
}

/* ---- segments --------------------------------------------------------------------- */

static bool communicates(const hpc_segment *s)
{
    for (int64_t k = 0; k < s->insn_n; k++)
        if (is_comm(&s->insn[k])) return true;
    return false;
}

/* Messages are matched by what ranks do, not by an order that all have. */
static bool has_messages(const hpc_segment *s)
{
    for (int64_t k = 0; k < s->insn_n; k++)
        if (s->insn[k].op->comm == HPC_SEND || s->insn[k].op->comm == HPC_RECV) return true;
    return false;
}

static int overlap_segment(hpc_program *p, int s, const hpc_overlap_options *o)
{
    graph g = {.p = p, .segment = s};
    int rc = HPC_OK;
    if (!communicates(&p->segment[s]) || has_messages(&p->segment[s])) return rc;
    TRY(make_graph(&g));
    find_late(&g);
    if (o->bucket_bytes > 0) {
        TRY(graph_bundle(&g, o->bucket_bytes));
        find_late(&g);
    }
    TRY(graph_order(&g, o->ahead));
out:
    release_graph(&g);
    return rc;
}

int hpc_overlap(hpc_program *p, const hpc_overlap_options *o)
{
    int rc = hpc_program_check(p);
    for (int s = 0; rc >= 0 && s < p->segment_n; s++) rc = overlap_segment(p, s, o);
    return rc < 0 ? rc : hpc_program_check(p);
}
