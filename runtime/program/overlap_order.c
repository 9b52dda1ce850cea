/*
 * overlap_order.c: a new order of a segment's instructions: collectives start as
 * soon as they can, and what waits for one comes as late as there is other work.
 *
 * No clock is asked and no cost: what the next collective of the flow needs is
 * computed first; while it is under way comes what nobody waits for, as the
 * gradients of weights are. So all ranks of a grid, and every run, have the
 * same order.
 */
#include "runtime/program/overlap_priv.h"

typedef struct order {
    graph *g;
    int ahead;
    int32_t *list;                  /* nodes in their new order */
    int64_t list_n, *at;            /* by node: its position */
    bool *issued, *landed, *wanted; /* by node */
    int32_t *began;                 /* by node: of a collective, the turn at its start */
    int32_t *by_place;              /* nodes as they were */
    int32_t *stack;
    int32_t next;  /* the first collective of the flow not begun yet, or -1 */
    int64_t first; /* position in by_place: all before are issued */
} order;

static bool is_comm(const node *d)
{
    return d->insn.op->comm >= 0;
}

/* What it reads or overwrites is there, but for what is in flight. */
static bool may_issue(const order *o, int32_t k, bool landed)
{
    const node *d = &o->g->node[k];
    for (int64_t a = 0; a < d->pred_n; a++) {
        int32_t flight = o->g->node[d->pred[a]].flight;
        if (!o->issued[d->pred[a]]) return false;
        if (landed && !d->insn.op->view && flight >= 0 && !o->landed[flight]) return false;
    }
    return true;
}

/* How far the segment has come: the turn of the first that computes and has not been issued; what
 * is made of sums that end in state comes when it can. */
static int32_t turn_now(order *o)
{
    const graph *g = o->g;
    while (o->first < g->n && o->issued[o->by_place[o->first]]) o->first++;
    for (int64_t k = o->first; k < g->n; k++) {
        const node *d = &g->node[o->by_place[k]];
        if (!o->issued[o->by_place[k]] && !is_comm(d) && !d->insn.op->view && !d->late)
            return d->turn;
    }
    return INT32_MAX;
}

/* ---- what leads to the next collective of the flow --------------------------------- */

/* It, and all that comes before it and has not been issued. */
static void want(order *o, int32_t k)
{
    int64_t n = 1;
    o->stack[0] = k;
    o->wanted[k] = true;
    while (n > 0) {
        const node *d = &o->g->node[o->stack[--n]];
        for (int64_t a = 0; a < d->pred_n; a++) {
            int32_t i = d->pred[a];
            if (o->wanted[i] || o->issued[i]) continue;
            o->wanted[i] = true;
            o->stack[n++] = i;
        }
    }
}

static void find_next(order *o)
{
    o->next = -1;
    for (int64_t k = 0; k < o->g->n && o->next < 0; k++)
        if (o->g->node[o->by_place[k]].kind == NODE_FLOW && !o->issued[o->by_place[k]])
            o->next = o->by_place[k];
    for (int64_t k = 0; k < o->g->n; k++) o->wanted[k] = false;
    if (o->next >= 0) want(o, o->next);
}

/* ---- issuing ------------------------------------------------------------------------ */

static void issue(order *o, int32_t k)
{
    o->began[k] = turn_now(o);
    o->issued[k] = true;
    o->at[k] = o->list_n;
    o->list[o->list_n++] = k;
    if (k == o->next) find_next(o);
}

static bool may_start(order *o, int32_t k)
{
    const node *d = &o->g->node[k];
    if (!may_issue(o, k, true)) return false;
    if (d->kind != NODE_AHEAD || d->needed == INT32_MAX) return true;
    return turn_now(o) >= d->needed - o->ahead - d->chain;
}

/* Collectives of one kind, and views, which take no time. */
static bool start_all(order *o, uint8_t kind, bool views)
{
    bool any = false;
    for (int64_t k = o->first; k < o->g->n; k++) {
        int32_t i = o->by_place[k];
        const node *d = &o->g->node[i];
        if (o->issued[i]) continue;
        bool is = views ? d->insn.op->view && may_issue(o, i, false)
                        : is_comm(d) && d->kind == kind && may_start(o, i);
        if (is) issue(o, i);
        any = any || is;
    }
    return any;
}

static bool start(order *o)
{
    bool any = start_all(o, NODE_PLAIN, true);
    any = start_all(o, NODE_FLOW, false) || any;
    any = start_all(o, NODE_AHEAD, false) || any;
    return start_all(o, NODE_SINK, false) || any;
}

static int32_t find_ready(const order *o, bool wanted)
{
    for (int64_t k = o->first; k < o->g->n; k++) {
        int32_t i = o->by_place[k];
        if (o->issued[i] || is_comm(&o->g->node[i]) || (wanted && !o->wanted[i])) continue;
        if (may_issue(o, i, true)) return i;
    }
    return -1;
}

/* ---- landing ------------------------------------------------------------------------ */

/* What nobody is held up by has had its time when the segment is that much further: then what it
 * has sent need not be kept any longer; a gather that another waits for has a turn, as that was
 * reckoned with. */
static void land_old(order *o)
{
    int32_t now = turn_now(o);
    for (int32_t k = 0; k < o->g->n; k++) {
        const node *d = &o->g->node[k];
        if (!is_comm(d) || !o->issued[k] || d->kind == NODE_FLOW) continue;
        int32_t patience = d->kind == NODE_SINK && o->ahead > 0 ? o->ahead : 1;
        if (now - o->began[k] >= patience) o->landed[k] = true;
    }
}

static void land_before(order *o, int32_t k)
{
    const node *d = &o->g->node[k];
    for (int64_t a = 0; a < d->pred_n; a++)
        if (o->g->node[d->pred[a]].flight >= 0) o->landed[o->g->node[d->pred[a]].flight] = true;
}

/* The last that node k waits for, by when it began; -1: nothing but its own turn, or more than what
 * is in flight. */
static int64_t waits_until(const order *o, int32_t k)
{
    const node *d = &o->g->node[k];
    int64_t last = -1;
    if (o->issued[k] || !may_issue(o, k, false)) return -1;
    for (int64_t a = 0; a < d->pred_n; a++) {
        int32_t flight = o->g->node[d->pred[a]].flight;
        if (flight >= 0 && !o->landed[flight] && o->at[flight] > last) last = o->at[flight];
    }
    return last;
}

/* What has been under way for longest is there first; gathers ahead have nobody waiting. */
static bool wait_for_one(order *o, bool ahead)
{
    int32_t best = -1;
    int64_t best_at = INT64_MAX;
    for (int64_t k = o->first; k < o->g->n; k++) {
        int32_t i = o->by_place[k];
        if (o->g->node[i].kind == NODE_AHEAD && !ahead) continue;
        int64_t at = waits_until(o, i);
        if (at < 0 || at >= best_at) continue;
        best = i;
        best_at = at;
    }
    if (best >= 0) land_before(o, best);
    return best >= 0;
}

/* ---- all of it ---------------------------------------------------------------------- */

static bool take_one(order *o)
{
    int32_t k = find_ready(o, true);
    if (k < 0) k = find_ready(o, false);
    if (k < 0) return wait_for_one(o, false) || wait_for_one(o, true);
    issue(o, k);
    return true;
}

static int compare_places(const order *o, int32_t a, int32_t b)
{
    const node *x = &o->g->node[a], *y = &o->g->node[b];
    return x->place != y->place ? (x->place < y->place ? -1 : 1) : a - b;
}

/* By insertion: nearly all are where they were. */
static void sort_by_place(order *o)
{
    for (int32_t k = 0; k < o->g->n; k++) {
        int64_t at = k;
        while (at > 0 && compare_places(o, o->by_place[at - 1], k) > 0) {
            o->by_place[at] = o->by_place[at - 1];
            at--;
        }
        o->by_place[at] = k;
    }
}

static int write_back(const order *o)
{
    hpc_program *p = o->g->p;
    hpc_segment *s = &p->segment[o->g->segment];
    int rc = hpc_grow(&s->insn, &s->insn_cap, o->g->n, sizeof *s->insn);
    if (rc < 0) return rc;
    for (int64_t k = 0; k < o->g->n; k++) {
        s->insn[k] = o->g->node[o->list[k]].insn;
        for (int a = 0; a < s->insn[k].op->sig.operand_n; a++)
            if (hpc_insn_role(p, &s->insn[k], a) & HPC_OUT)
                p->value[s->insn[k].operand[a]].insn = (int32_t)k;
    }
    s->insn_n = o->g->n;
    return HPC_OK;
}

int graph_order(graph *g, int ahead)
{
    size_t n = (size_t)g->n + 1;
    int rc = HPC_OK;
    order o = {.g = g,
               .ahead = ahead,
               .list = hpc_alloc(n, sizeof *o.list),
               .issued = hpc_alloc(n, sizeof *o.issued),
               .landed = hpc_alloc(n, sizeof *o.landed),
               .wanted = hpc_alloc(n, sizeof *o.wanted),
               .began = hpc_alloc(n, sizeof *o.began),
               .stack = hpc_alloc(n, sizeof *o.stack),
               .at = hpc_alloc(n, sizeof *o.at),
               .by_place = hpc_alloc(n, sizeof *o.by_place)};
    if (!o.list || !o.issued || !o.landed || !o.wanted || !o.began || !o.stack || !o.at ||
        !o.by_place)
        TRY(HPC_E_NOMEM);
    sort_by_place(&o);
    find_next(&o);
    while (o.list_n < g->n) {
        land_old(&o);
        if (start(&o) || take_one(&o)) continue;
        TRY(hpc_fail(HPC_E_STATE, "overlap: %s has instructions that wait for each other",
                     g->p->segment[g->segment].name));
    }
    TRY(write_back(&o));
out:
    hpc_free(o.list);
    hpc_free(o.issued);
    hpc_free(o.landed);
    hpc_free(o.wanted);
    hpc_free(o.began);
    hpc_free(o.stack);
    hpc_free(o.at);
    hpc_free(o.by_place);
    return rc;
}
