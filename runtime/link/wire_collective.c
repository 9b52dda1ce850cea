/*
 * wire_collective.c: collectives over a wire.
 *
 * Every rank sends every other one a letter that describes the operation it has
 * started, with the counts of an ALL_TO_ALL and short data. Once all letters have
 * arrived, all ranks have the same information and decide alike: a mismatch fails on
 * all. From short data each rank computes its whole result, one step after the last
 * rank has started. Long data follow as pairwise flows. ALL_REDUCE scatters parts,
 * which their owners reduce in rank order, and gathers; BROADCAST scatters and gathers.
 * So no rank sends more than in a ring algorithm.
 */
#include "runtime/link/wire_priv.h"

#include <string.h>

enum { REDUCED_AT_ONCE = 64 << 10 }; /* elements, while the lock is held */

static size_t bytes_of(const wire_op *op, int64_t n)
{
    return hpc_comm_bytes(op->comm.dtype, n);
}

static flow *flow_of(const wire_op *op, int kind, int r)
{
    return &op->flow[kind * op->link->base.size + r];
}

static void *at(const wire_op *op, const void *base, int64_t elements)
{
    return (char *)(uintptr_t)base + bytes_of(op, elements);
}

/* Of the tensor of an ALL_REDUCE or BROADCAST, in whole blocks. */
static void part_of(int64_t *lo, int64_t *n, const wire_op *op, int r)
{
    int64_t hi;
    hpc_share(lo, &hi, op->comm.n, hpc_dtype_get(op->comm.dtype)->block, r, op->link->base.size);
    *n = hi - *lo;
}

static int64_t sum(const int64_t *count, int n)
{
    int64_t s = 0;
    for (int i = 0; i < n; i++) s += count[i];
    return s;
}

static int64_t sent_before(const hpc_comm *c, int r)
{
    return c->send_n ? sum(c->send_n, r) : r * c->n;
}

static int64_t received_before(const hpc_comm *c, int r)
{
    return c->recv_n ? sum(c->recv_n, r) : r * c->n;
}

static bool is_short(const wire_op *op, int64_t n)
{
    return bytes_of(op, n) <= LETTER_SHORT;
}

/* ---- what goes with the letter --------------------------------------------- */
/* Elements, from *from; 0: nothing does. */
static int64_t enclosed(const void **from, const wire_op *op, int r)
{
    const hpc_comm *c = &op->comm;
    int64_t n = c->n;
    *from = c->send;
    if (c->kind == HPC_REDUCE_SCATTER) *from = at(op, c->send, r * c->n);
    if (c->kind == HPC_ALL_TO_ALL) {
        n = hpc_comm_send_n(c, r);
        *from = at(op, c->send, sent_before(c, r));
    }
    if (c->kind == HPC_BROADCAST && c->peer != op->link->base.rank) n = 0;
    return is_short(op, n) ? n : 0;
}

static void send_join(wire_op *op, int r)
{
    const hpc_comm *c = &op->comm;
    wire_link *l = op->link;
    const void *from;
    letter *m = hpc_wire_letter(op, LETTER_JOIN);
    if (!m) return;
    if (c->send_n) {
        m->head.counts_n = 2 * (uint32_t)l->base.size;
        memcpy(m->data, op->count, m->head.counts_n * sizeof *op->count);
        m->head.bytes = m->head.counts_n * (uint32_t)sizeof *op->count;
    }
    size_t bytes = bytes_of(op, enclosed(&from, op, r));
    if (bytes > 0) memcpy(m->data + m->head.bytes, from, bytes);
    m->head.bytes += (uint32_t)bytes;
    hpc_letter_send(l->office, m, l->member[r]);
}

static const void *enclosed_in(const wire_op *op, int r)
{
    const letter *m = op->head[r];
    return m->data + m->head.counts_n * sizeof(int64_t);
}

/* ---- short data: all of it is here ------------------------------------------ */
static void copy(const wire_op *op, int64_t to, const void *from, int64_t n)
{
    size_t bytes = bytes_of(op, n);
    if (bytes > 0) memcpy(at(op, op->comm.recv, to), from, bytes);
}

static void copy_own(const wire_op *op)
{
    const hpc_comm *c = &op->comm;
    int rank = op->link->base.rank;
    if (c->kind == HPC_ALL_GATHER) copy(op, rank * c->n, c->send, c->n);
    if (c->kind == HPC_BROADCAST && c->peer == rank && c->recv) copy(op, 0, c->send, c->n);
    if (c->kind == HPC_ALL_TO_ALL)
        copy(op, received_before(c, rank), at(op, c->send, sent_before(c, rank)),
             hpc_comm_send_n(c, rank));
}

static void finish_short(wire_op *op)
{
    const hpc_comm *c = &op->comm;
    int rank = op->link->base.rank, size = op->link->base.size;
    bool reduces = c->kind == HPC_ALL_REDUCE || c->kind == HPC_REDUCE_SCATTER;
    copy_own(op);
    for (int r = 0; r < size; r++) {
        if (reduces)
            op->source[r] = r != rank                   ? enclosed_in(op, r)
                            : c->kind == HPC_ALL_REDUCE ? c->send
                                                        : at(op, c->send, rank * c->n);
        else if (r == rank)
            continue;
        else if (c->kind == HPC_ALL_GATHER)
            copy(op, r * c->n, enclosed_in(op, r), c->n);
        else if (c->kind == HPC_BROADCAST && r == c->peer)
            copy(op, 0, enclosed_in(op, r), c->n);
    }
    if (reduces) hpc_link_reduce(c->recv, op->source, size, c->dtype, c->reduce, c->n);
    op->state = OP_DONE;
}

/* ---- long data --------------------------------------------------------------- */
static void open_flow(wire_op *op, int kind, int r, const void *data, int64_t n)
{
    bool out = kind == FLOW_OUT || kind == FLOW_PARTS_OUT;
    bool parts = kind == FLOW_PARTS_IN || kind == FLOW_PARTS_OUT;
    flow *f = flow_of(op, kind, r);
    hpc_flow_open(f, out, data, bytes_of(op, n), op->link->member[r], op->tag + parts);
    if (!out) hpc_flow_begin(op->link->office, f, f->bytes);
}

/* Scratch for part r of those that are to be reduced here; the own one needs none. */
static char *scratch_of(const wire_op *op, int r)
{
    int slot = r < op->link->base.rank ? r : r - 1;
    return op->scratch + (size_t)slot * bytes_of(op, op->part_n);
}

static void open_reduce(wire_op *op, int r)
{
    const hpc_comm *c = &op->comm;
    int64_t lo = r * c->n, n = c->n;
    if (c->kind == HPC_ALL_REDUCE) part_of(&lo, &n, op, r);
    open_flow(op, FLOW_IN, r, scratch_of(op, r), op->part_n);
    open_flow(op, FLOW_OUT, r, at(op, c->send, lo), n);
    op->source[r] = scratch_of(op, r);
    if (c->kind == HPC_REDUCE_SCATTER) return;
    open_flow(op, FLOW_PARTS_IN, r, at(op, c->recv, lo), n);
    open_flow(op, FLOW_PARTS_OUT, r, at(op, c->recv, op->part), op->part_n);
}

/* The root sends r its part, and its own to all; everyone else passes its own on. */
static void open_broadcast(wire_op *op, int r)
{
    const hpc_comm *c = &op->comm;
    bool root = c->peer == op->link->base.rank;
    const void *own = root ? at(op, c->send, op->part) : at(op, c->recv, op->part);
    int64_t lo, n;
    part_of(&lo, &n, op, r);
    if (root) open_flow(op, FLOW_OUT, r, at(op, c->send, lo), n);
    if (r == c->peer) open_flow(op, FLOW_IN, r, own, op->part_n);
    if (!root) open_flow(op, FLOW_PARTS_IN, r, at(op, c->recv, lo), n);
    if (root || r != c->peer) open_flow(op, FLOW_PARTS_OUT, r, own, op->part_n);
}

static void open_exchange(wire_op *op, int r)
{
    const hpc_comm *c = &op->comm;
    int64_t in = hpc_comm_recv_n(c, r), out = hpc_comm_send_n(c, r);
    int64_t to = received_before(c, r);
    if (is_short(op, in))
        copy(op, to, enclosed_in(op, r), in);
    else
        open_flow(op, FLOW_IN, r, at(op, c->recv, to), in);
    if (!is_short(op, out)) open_flow(op, FLOW_OUT, r, at(op, c->send, sent_before(c, r)), out);
}

static void open_flows(wire_op *op)
{
    const hpc_comm *c = &op->comm;
    wire_link *l = op->link;
    int rank = l->base.rank, size = l->base.size;
    op->state = OP_MOVING;
    op->source[rank] = c->kind == HPC_REDUCE_SCATTER || c->kind == HPC_ALL_REDUCE
                           ? at(op, c->send, op->part)
                           : NULL;
    copy_own(op);
    for (int r = 0; r < size; r++) {
        if (r == rank) continue;
        switch (c->kind) {
        case HPC_ALL_REDUCE:
        case HPC_REDUCE_SCATTER: open_reduce(op, r); break;
        case HPC_BROADCAST: open_broadcast(op, r); break;
        case HPC_ALL_TO_ALL: open_exchange(op, r); break;
        default:
            open_flow(op, FLOW_IN, r, at(op, c->recv, r * c->n), c->n);
            open_flow(op, FLOW_OUT, r, c->send, c->n);
        }
        bool waits = flow_of(op, FLOW_IN, r)->n > 0 || flow_of(op, FLOW_PARTS_IN, r)->n > 0;
        letter *m = waits ? hpc_wire_letter(op, LETTER_GO) : NULL;
        if (m) hpc_letter_send(l->office, m, l->member[r]);
    }
}

/* ---- the others have come ---------------------------------------------------- */
static void decide(wire_op *op)
{
    if (op->state != OP_JOINING || op->arrived < op->link->base.size - 1) return;
    if (op->shortly)
        finish_short(op);
    else
        open_flows(op);
}

static void join(wire_op *op, letter *m)
{
    const letter_head *h = &m->head;
    wire_link *l = op->link;
    int r = h->from, size = l->base.size;
    const int64_t *counts = (const int64_t *)(const void *)m->data;
    hpc_error why;
    op->head[r] = m;
    op->arrived++;
    op->since_ns = op->since_ns ? hpc_clock_ns() : 0;
    op->other[r] = (hpc_comm){.kind = (hpc_comm_kind)h->kind,
                              .dtype = (hpc_dtype)h->dtype,
                              .reduce = (hpc_comm_reduce)h->reduce,
                              .peer = h->peer,
                              .n = h->n,
                              .send_n = h->counts_n ? counts : NULL,
                              .recv_n = h->counts_n ? counts + size : NULL};
    for (int s = 0; s < size; s++) l->scratch[s] = op->head[s] ? &op->other[s] : NULL;
    l->scratch[l->base.rank] = &op->comm;
    if (hpc_comm_compare(&why, op->seq, l->scratch, size, r, l->member) < 0)
        hpc_wire_fail(op, &why);
    else
        decide(op);
}

static wire_op *find(const wire_link *l, int64_t seq)
{
    wire_op *op = l->live;
    while (op && (!op->wide || op->seq != seq)) op = op->next;
    return op;
}

bool hpc_wire_collective_deliver(wire_link *l, letter *m)
{
    wire_op *op = find(l, m->head.seq);
    if (m->head.type == LETTER_JOIN && !op && m->head.seq >= l->seq) return false;
    if (op && op->state == OP_JOINING && m->head.type == LETTER_JOIN) {
        join(op, m);
        return true;
    }
    if (op && m->head.type == LETTER_GO) {
        op->go[m->head.from] = true;
        op->other[m->head.from].tag = m->head.data_tag;
    }
    hpc_letter_return(l->office, m);
    return true;
}

/* ---- starting ---------------------------------------------------------------- */
/* True if the letters carry the whole result for every rank. */
static bool all_short(const wire_op *op)
{
    return op->comm.kind != HPC_ALL_TO_ALL && is_short(op, op->comm.n); /* see open_exchange */
}

int hpc_wire_collective_reserve(wire_op *op)
{
    const hpc_comm *c = &op->comm;
    int size = op->link->base.size;
    bool reduces = c->kind == HPC_ALL_REDUCE || c->kind == HPC_REDUCE_SCATTER;
    op->shortly = all_short(op);
    op->part = op->link->base.rank * c->n;
    op->part_n = c->n;
    op->reduced = 0;
    if (c->kind == HPC_ALL_REDUCE || c->kind == HPC_BROADCAST)
        part_of(&op->part, &op->part_n, op, op->link->base.rank);
    memset(op->go, 0, (size_t)size * sizeof *op->go);
    memset(op->head, 0, (size_t)size * sizeof(letter *));
    if (!op->shortly) memset(op->flow, 0, (size_t)(FLOW_KINDS * size) * sizeof *op->flow);
    size_t bytes = reduces && !op->shortly ? (size_t)(size - 1) * bytes_of(op, op->part_n) : 0;
    if (bytes <= op->scratch_bytes) return 0;
    hpc_free(op->scratch);
    op->scratch_bytes = 0;
    op->scratch = hpc_alloc_aligned(bytes, 1, HPC_ALIGN);
    if (!op->scratch) return HPC_E_NOMEM;
    op->scratch_bytes = bytes;
    return 0;
}

void hpc_wire_collective_start(wire_op *op)
{
    wire_link *l = op->link;
    op->tag = hpc_office_tag(l->office);
    for (int k = 1; k < l->base.size; k++) send_join(op, (l->base.rank + k) % l->base.size);
    if (l->base.size > 1) return;
    hpc_error why;
    l->scratch[0] = &op->comm;
    if (hpc_comm_compare(&why, op->seq, l->scratch, 1, 0, l->member) < 0)
        hpc_wire_fail(op, &why);
    else
        decide(op);
}

/* ---- moving on ----------------------------------------------------------------- */
/* Elements of this rank's part that have come from all. */
static int64_t parts_here(const wire_op *op)
{
    size_t element = bytes_of(op, 1);
    int64_t least = op->part_n;
    for (int r = 0; r < op->link->base.size; r++) {
        if (r == op->link->base.rank) continue;
        int64_t n = (int64_t)(hpc_flow_moved(flow_of(op, FLOW_IN, r)) / element);
        if (n < least) least = n;
    }
    return least;
}

static bool reduce_some(wire_op *op)
{
    const hpc_comm *c = &op->comm;
    int size = op->link->base.size, rank = op->link->base.rank;
    int64_t n = parts_here(op) - op->reduced;
    char *to = c->recv;
    if (n <= 0) return false;
    if (n > REDUCED_AT_ONCE) n = REDUCED_AT_ONCE;
    if (c->kind == HPC_ALL_REDUCE) to = at(op, c->recv, op->part);
    for (int r = 0; r < size; r++) {
        const void *base = r == rank ? at(op, c->send, op->part) : (void *)scratch_of(op, r);
        op->source[r] = at(op, base, op->reduced);
    }
    hpc_link_reduce(at(op, to, op->reduced), op->source, size, c->dtype, c->reduce, n);
    op->reduced += n;
    return true;
}

/* Bytes of this rank's part that may be passed on. */
static size_t to_pass_on(const wire_op *op)
{
    const hpc_comm *c = &op->comm;
    if (c->kind == HPC_ALL_REDUCE) return bytes_of(op, op->reduced);
    if (c->peer == op->link->base.rank) return bytes_of(op, op->part_n);
    return hpc_flow_moved(flow_of(op, FLOW_IN, c->peer));
}

static bool advance_pair(wire_op *op, int r, size_t passed)
{
    office *o = op->link->office;
    bool moved = false;
    if (op->go[r]) {
        flow *out = flow_of(op, FLOW_OUT, r), *parts = flow_of(op, FLOW_PARTS_OUT, r);
        out->tag = op->other[r].tag; /* where r's receives are */
        parts->tag = out->tag + 1;
        hpc_flow_begin(o, out, out->bytes);
        hpc_flow_begin(o, parts, passed < parts->bytes ? passed : parts->bytes);
    }
    for (int k = 0; k < FLOW_KINDS; k++) moved = hpc_flow_advance(o, flow_of(op, k, r)) || moved;
    return moved;
}

static bool all_finished(const wire_op *op)
{
    for (int i = 0; i < FLOW_KINDS * op->link->base.size; i++)
        if (!hpc_flow_finished(&op->flow[i])) return false;
    return true;
}

bool hpc_wire_collective_advance(wire_op *op)
{
    const hpc_comm *c = &op->comm;
    bool reduces = c->kind == HPC_ALL_REDUCE || c->kind == HPC_REDUCE_SCATTER, moved = false;
    if (op->state != OP_MOVING) return false;
    size_t passed = c->kind == HPC_ALL_REDUCE || c->kind == HPC_BROADCAST ? to_pass_on(op) : 0;
    for (int r = 0; r < op->link->base.size; r++)
        if (r != op->link->base.rank) moved = advance_pair(op, r, passed) || moved;
    if (reduces) moved = reduce_some(op) || moved;
    if (all_finished(op) && (!reduces || op->reduced == op->part_n)) op->state = OP_DONE;
    return moved;
}
