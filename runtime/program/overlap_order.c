/*
 * overlap_order.c: a new order of a segment's instructions: collectives start as early
 * as possible, and instructions that wait for one come as late as there is other work.
 *
 * It uses neither time nor costs. Inputs of the next collective on the critical path
 * come first; while it is in flight, independent instructions run, such as weight
 * gradients. So all ranks of a grid, and all runs, have the same order.
 */
#include <string.h>

#include "runtime/program/overlap_priv.h"

/* Lists of what may be issued, but for what is in flight; collectives by their kind. */
enum { READY_VIEW = NODE_SINK + 1, READY_COMPUTE, READY_N };

typedef struct ready_list {
    int32_t *spot; /* in by_place, ascending */
    int64_t n;
} ready_list;

typedef struct order {
    graph *g;
    int ahead;
    int32_t *list;                  /* nodes in their new order */
    int64_t list_n, *at;            /* by node: its position */
    bool *issued, *landed, *wanted; /* by node */
    int32_t *began;                 /* by node: of a collective, the turn at its start */
    int32_t *by_place, *spot;       /* nodes as they were; by node: where in that */
    int32_t *missing;               /* by node: number of predecessors not yet issued */
    int64_t *follow_at;             /* by node: where its successors begin in `follow` */
    int32_t *follow;
    ready_list ready[READY_N];
    int32_t *room; /* of these lists */
    int32_t *flying;
    int64_t flying_n; /* collectives in flight that land at a given turn */
    int32_t *stack;
    int32_t next;    /* the first collective of the flow not begun yet, or -1 */
    int64_t turning; /* position in by_place: none before has a turn to wait for */
} order;

static bool is_comm(const node *d)
{
    return d->insn.op->comm >= 0;
}

static int ready_kind(const node *d)
{
    return is_comm(d) ? d->kind : d->insn.op->view ? READY_VIEW : READY_COMPUTE;
}

/* The first position in a list after `spot`. */
static int64_t behind(const ready_list *l, int32_t spot)
{
    int64_t low = 0, high = l->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (l->spot[middle] > spot)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void add_ready(order *o, int32_t k)
{
    ready_list *l = &o->ready[ready_kind(&o->g->node[k])];
    int64_t at = behind(l, o->spot[k]);
    memmove(l->spot + at + 1, l->spot + at, (size_t)(l->n++ - at) * sizeof *l->spot);
    l->spot[at] = o->spot[k];
}

static void drop_ready(order *o, int32_t k)
{
    ready_list *l = &o->ready[ready_kind(&o->g->node[k])];
    int64_t at = behind(l, o->spot[k]);
    memmove(l->spot + at - 1, l->spot + at, (size_t)(l->n-- - at) * sizeof *l->spot);
}

/* What a node reads that is in flight is there; views pass it on. */
static bool has_landed(const order *o, int32_t k)
{
    const node *d = &o->g->node[k];
    for (int64_t a = 0; a < d->pred_n && !d->insn.op->view; a++) {
        int32_t flight = o->g->node[d->pred[a]].flight;
        if (flight >= 0 && !o->landed[flight]) return false;
    }
    return true;
}

/* The turn of the first computation that has not been issued. Work on sums that end in state does
 * not count; it is issued when possible. */
static int32_t turn_now(order *o)
{
    const graph *g = o->g;
    for (; o->turning < g->n; o->turning++) {
        const node *d = &g->node[o->by_place[o->turning]];
        if (!o->issued[o->by_place[o->turning]] && !is_comm(d) && !d->insn.op->view && !d->late)
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
    drop_ready(o, k);
    if (is_comm(&o->g->node[k]) && o->g->node[k].kind != NODE_FLOW) o->flying[o->flying_n++] = k;
    for (int64_t a = o->follow_at[k]; a < o->follow_at[k + 1]; a++)
        if (--o->missing[o->follow[a]] == 0) add_ready(o, o->follow[a]);
    if (k == o->next) find_next(o);
}

static bool may_start(order *o, int32_t k)
{
    const node *d = &o->g->node[k];
    if (!has_landed(o, k)) return false;
    if (d->kind != NODE_AHEAD || d->needed == INT32_MAX) return true;
    return turn_now(o) >= d->needed - o->ahead - d->chain;
}

/* Of one list, in the order in which they stood. */
static bool start_all(order *o, int kind)
{
    const ready_list *l = &o->ready[kind];
    bool any = false;
    int32_t spot = -1;
    for (int64_t at; (at = behind(l, spot)) < l->n;) {
        spot = l->spot[at];
        int32_t k = o->by_place[spot];
        if (kind != READY_VIEW && !may_start(o, k)) continue;
        issue(o, k);
        any = true;
    }
    return any;
}

/* Views, which take no time, and collectives. */
static bool start(order *o)
{
    bool any = start_all(o, READY_VIEW);
    any = start_all(o, NODE_FLOW) || any;
    any = start_all(o, NODE_AHEAD) || any;
    return start_all(o, NODE_SINK) || any;
}

static int32_t find_ready(const order *o, bool wanted)
{
    const ready_list *l = &o->ready[READY_COMPUTE];
    for (int64_t at = 0; at < l->n; at++) {
        int32_t k = o->by_place[l->spot[at]];
        if ((!wanted || o->wanted[k]) && has_landed(o, k)) return k;
    }
    return -1;
}

/* ---- landing ------------------------------------------------------------------------ */

/* Lands collectives that began long enough ago, measured in turns, although nothing waits for them:
 * their operands are then no longer kept. */
static void land_old(order *o)
{
    int32_t now = turn_now(o);
    int64_t left = 0;
    for (int64_t a = 0; a < o->flying_n; a++) {
        int32_t k = o->flying[a];
        int32_t patience = o->g->node[k].kind == NODE_SINK && o->ahead > 0 ? o->ahead : 1;
        if (now - o->began[k] >= patience)
            o->landed[k] = true;
        else
            o->flying[left++] = k;
    }
    o->flying_n = left;
}

static void land_before(order *o, int32_t k)
{
    const node *d = &o->g->node[k];
    for (int64_t a = 0; a < d->pred_n; a++)
        if (o->g->node[d->pred[a]].flight >= 0) o->landed[o->g->node[d->pred[a]].flight] = true;
}

/* The last that node k waits for, by when it began; -1: nothing but its own turn. */
static int64_t waits_until(const order *o, int32_t k)
{
    const node *d = &o->g->node[k];
    int64_t last = -1;
    for (int64_t a = 0; a < d->pred_n; a++) {
        int32_t flight = o->g->node[d->pred[a]].flight;
        if (flight >= 0 && !o->landed[flight] && o->at[flight] > last) last = o->at[flight];
    }
    return last;
}

/* Waits for the node whose collectives began first. Gathers ahead are considered only with `ahead`,
 * because nothing waits for them yet. */
static bool wait_for_one(order *o, bool ahead)
{
    int32_t best = -1;
    int64_t best_at = INT64_MAX;
    for (int kind = 0; kind < READY_N; kind++) {
        const ready_list *l = &o->ready[kind];
        for (int64_t a = 0; a < l->n && (kind != NODE_AHEAD || ahead); a++) {
            int64_t at = waits_until(o, o->by_place[l->spot[a]]);
            if (at < 0 || at > best_at || (at == best_at && l->spot[a] > best)) continue;
            best = l->spot[a];
            best_at = at;
        }
    }
    if (best >= 0) land_before(o, o->by_place[best]);
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

/* Finds the successors of each node, and the nodes that may be issued at first. */
static int find_followers(order *o)
{
    const graph *g = o->g;
    int64_t edges = 0;
    for (int64_t k = 0; k < g->n; k++) {
        const node *d = &g->node[k];
        edges += d->pred_n;
        for (int64_t a = 0; a < d->pred_n; a++) o->follow_at[d->pred[a] + 1]++;
    }
    o->follow = hpc_alloc((size_t)edges + 1, sizeof *o->follow);
    if (!o->follow) return HPC_E_NOMEM;
    for (int64_t k = 0; k < g->n; k++) o->follow_at[k + 1] += o->follow_at[k];
    for (int32_t k = 0; k < g->n; k++) {
        const node *d = &g->node[k];
        for (int64_t a = 0; a < d->pred_n; a++) {
            int32_t before = d->pred[a];
            o->follow[o->follow_at[before] + o->missing[before]++] = k;
        }
    }
    for (int32_t k = 0; k < g->n; k++) {
        o->spot[o->by_place[k]] = k;
        o->missing[k] = (int32_t)g->node[k].pred_n;
    }
    for (int32_t k = 0; k < g->n; k++)
        if (o->missing[k] == 0) add_ready(o, k);
    return HPC_OK;
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

static int order_open(order *o)
{
    size_t n = (size_t)o->g->n + 1;
    o->list = hpc_alloc(n, sizeof *o->list);
    o->at = hpc_alloc(n, sizeof *o->at);
    o->issued = hpc_alloc(n, sizeof *o->issued);
    o->landed = hpc_alloc(n, sizeof *o->landed);
    o->wanted = hpc_alloc(n, sizeof *o->wanted);
    o->began = hpc_alloc(n, sizeof *o->began);
    o->by_place = hpc_alloc(n, sizeof *o->by_place);
    o->spot = hpc_alloc(n, sizeof *o->spot);
    o->missing = hpc_alloc(n, sizeof *o->missing);
    o->follow_at = hpc_alloc(n, sizeof *o->follow_at);
    o->room = hpc_alloc(n, READY_N * sizeof *o->room);
    o->flying = hpc_alloc(n, sizeof *o->flying);
    o->stack = hpc_alloc(n, sizeof *o->stack);
    if (!o->list || !o->at || !o->issued || !o->landed || !o->wanted || !o->began || !o->by_place ||
        !o->spot || !o->missing || !o->follow_at || !o->room || !o->flying || !o->stack)
        return HPC_E_NOMEM;
    for (int k = 0; k < READY_N; k++) o->ready[k].spot = o->room + n * (size_t)k;
    sort_by_place(o);
    return find_followers(o);
}

static void order_release(order *o)
{
    hpc_free(o->list);
    hpc_free(o->at);
    hpc_free(o->issued);
    hpc_free(o->landed);
    hpc_free(o->wanted);
    hpc_free(o->began);
    hpc_free(o->by_place);
    hpc_free(o->spot);
    hpc_free(o->missing);
    hpc_free(o->follow_at);
    hpc_free(o->follow);
    hpc_free(o->room);
    hpc_free(o->flying);
    hpc_free(o->stack);
}

int graph_order(graph *g, int ahead)
{
    order o = {.g = g, .ahead = ahead};
    int rc;
    TRY(order_open(&o));
    find_next(&o);
    while (o.list_n < g->n) {
        land_old(&o);
        if (start(&o) || take_one(&o)) continue;
        TRY(hpc_fail(HPC_E_STATE, "overlap: %s has instructions that wait for each other",
                     g->p->segment[g->segment].name));
    }
    TRY(write_back(&o));
out:
    order_release(&o);
    return rc;
}
