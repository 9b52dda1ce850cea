/*
 * wire_link.c: links over a wire: operations in flight, waiting with a time limit,
 * splitting, closing.
 *
 * Collectives are in wire_collective.c, messages in wire_message.c.
 */
#include "runtime/link/wire_priv.h"

#include <stdio.h>
#include <string.h>

#define DRAIN_S 5.0 /* for what is under way when a rank has failed */
enum { WAIT_US = 100, PENDING_OP = 0, DONE_OP = 1 };

/* ---- operations ------------------------------------------------------------------- */
static wire_op *op_make(wire_link *l, bool wide)
{
    size_t size = wide ? (size_t)l->base.size : 1, flows = wide ? FLOW_KINDS * size : 1;
    wire_op *op = hpc_alloc(1, sizeof *op + 2 * size * sizeof *op->count);
    if (!op) return NULL;
    op->link = l;
    op->wide = wide;
    op->sibling = l->owned;
    l->owned = op;
    op->go = hpc_alloc(size, sizeof *op->go);
    op->head = hpc_alloc(size, sizeof(letter *));
    op->other = hpc_alloc(size, sizeof *op->other);
    op->source = hpc_alloc(size, sizeof *op->source);
    op->flow = hpc_alloc(flows, sizeof *op->flow);
    bool whole = op->go && op->head && op->other && op->source && op->flow;
    if (!whole || hpc_office_reserve(l->office, 2 * (int)size + 2) < 0) return NULL;
    return op;
}

static wire_op *op_take(wire_link *l, const hpc_comm *c)
{
    bool wide = c->kind != HPC_SEND && c->kind != HPC_RECV;
    wire_op *op = l->spare[wide];
    if (op)
        l->spare[wide] = op->next;
    else
        op = op_make(l, wide);
    if (!op) return NULL;
    op->comm = *c;
    op->state = OP_JOINING;
    op->arrived = 0;
    op->since_ns = 0;
    op->next = NULL;
    if (!c->send_n) return op;
    memcpy(op->count, c->send_n, (size_t)l->base.size * sizeof *op->count);
    memcpy(op->count + l->base.size, c->recv_n, (size_t)l->base.size * sizeof *op->count);
    op->comm.send_n = op->count;
    op->comm.recv_n = op->count + l->base.size;
    return op;
}

static void op_spare(wire_op *op)
{
    op->next = op->link->spare[op->wide];
    op->link->spare[op->wide] = op;
}

static void op_enter(wire_op *op)
{
    wire_link *l = op->link;
    wire_op **end = &l->live;
    while (*end) end = &(*end)->next;
    *end = op;
    atomic_fetch_add(&l->office->busy, 1);
    if (l->office->asleep) pthread_cond_signal(&l->office->changed);
}

static void op_leave(wire_op *op)
{
    wire_link *l = op->link;
    wire_op **at = &l->live;
    while (*at != op) at = &(*at)->next;
    *at = op->next;
    for (int r = 0; op->wide && r < l->base.size; r++) {
        if (op->head[r]) hpc_letter_return(l->office, op->head[r]);
        op->head[r] = NULL;
    }
    op_spare(op);
    atomic_fetch_sub(&l->office->busy, 1);
}

static void op_free(wire_op *op)
{
    hpc_free(op->go);
    hpc_free(op->head);
    hpc_free(op->other);
    hpc_free(op->source);
    hpc_free(op->flow);
    hpc_free(op->scratch);
    hpc_free(op);
}

void hpc_wire_fail(wire_op *op, const hpc_error *why)
{
    if (op->state == OP_DONE || op->state == OP_FAILED) return;
    op->error = *why;
    op->state = OP_FAILED;
}

letter *hpc_wire_letter(wire_op *op, letter_type type)
{
    wire_link *l = op->link;
    const hpc_comm *c = &op->comm;
    letter *m = hpc_letter_take(l->office);
    if (!m) {
        hpc_office_abort(l->office, l->office->info.rank, "out of memory for a message");
        hpc_error_clear();
        return NULL;
    }
    m->head = (letter_head){.link = l->id,
                            .seq = op->seq,
                            .n = c->n,
                            .from = l->base.rank,
                            .type = (int16_t)type,
                            .kind = (int16_t)c->kind,
                            .dtype = (int16_t)c->dtype,
                            .reduce = (int16_t)c->reduce,
                            .peer = c->peer,
                            .tag = c->tag,
                            .data_tag = op->tag};
    return m;
}

/* ---- what comes for a link ---------------------------------------------------------- */
wire_link *hpc_wire_find(const office *o, int64_t id)
{
    wire_link *l = o->link;
    while (l && l->id != id) l = l->next;
    return l;
}

int hpc_wire_refusal(hpc_error *out, const wire_link *l, int64_t seq, int peer)
{
    if (atomic_load(&l->office->aborted)) {
        *out = l->office->why;
        return out->code;
    }
    for (int r = 0; r < l->base.size; r++) {
        bool matters = peer < 0 ? l->gone[r] <= seq : r == peer;
        if (l->gone[r] >= 0 && matters)
            return hpc_error_note(out, HPC_E_STATE,
                                  "rank %d has closed its link and cannot take part any more",
                                  l->member[r]);
    }
    return 0;
}

static void leave(wire_link *l, const letter_head *h)
{
    hpc_error why;
    l->gone[h->from] = h->seq;
    for (wire_op *op = l->live; op; op = op->next) {
        if (op->wide && op->state == OP_MOVING && op->seq >= h->seq)
            hpc_office_abort(l->office, l->member[h->from],
                             "it closed its link during a collective");
        if (op->state == OP_JOINING &&
            hpc_wire_refusal(&why, l, op->seq, op->wide ? -1 : op->comm.peer) < 0)
            hpc_wire_fail(op, &why);
    }
}

void hpc_wire_deliver(wire_link *l, letter *m)
{
    if (m->head.type == LETTER_LEAVE) {
        leave(l, &m->head);
        hpc_letter_return(l->office, m);
        return;
    }
    bool message = m->head.type == LETTER_OFFER || m->head.type == LETTER_WANT;
    if (message ? hpc_wire_message_deliver(l, m) : hpc_wire_collective_deliver(l, m)) return;
    letter **end = &l->early;
    while (*end) end = &(*end)->next;
    m->next = NULL;
    *end = m;
}

/* Those that were waiting for collective `seq`. */
static void deliver_early(wire_link *l, int64_t seq)
{
    for (letter **at = &l->early; *at;) {
        letter *m = *at;
        if (m->head.type != LETTER_JOIN || m->head.seq != seq) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        hpc_wire_deliver(l, m);
    }
}

void hpc_wire_adopt_foreign(wire_link *l)
{
    for (letter **at = &l->office->foreign; *at;) {
        letter *m = *at;
        if (m->head.link != l->id) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        hpc_wire_deliver(l, m);
    }
}

bool hpc_wire_advance(wire_link *l)
{
    bool any = false, aborted = atomic_load(&l->office->aborted);
    for (wire_op *op = l->live; op; op = op->next) {
        if (aborted) hpc_wire_fail(op, &l->office->why);
        bool moved = op->wide ? hpc_wire_collective_advance(op) : hpc_wire_message_advance(op);
        if (moved && op->since_ns) op->since_ns = hpc_clock_ns();
        any = any || moved;
    }
    return any;
}

/* ---- starting ------------------------------------------------------------------------ */
static int start(wire_link *l, hpc_handle *h, const hpc_comm *c)
{
    bool message = c->kind == HPC_SEND || c->kind == HPC_RECV;
    hpc_error why;
    if (hpc_wire_refusal(&why, l, l->seq, message ? c->peer : -1) < 0) {
        hpc_error_adopt(&why);
        return why.code;
    }
    wire_op *op = op_take(l, c);
    if (!op) return HPC_E_NOMEM;
    if (!message && hpc_wire_collective_reserve(op) < 0) {
        op_spare(op);
        return HPC_E_NOMEM;
    }
    op->seq = message ? 0 : l->seq++;
    op_enter(op);
    if (message) {
        hpc_wire_message_start(op);
    } else {
        hpc_wire_collective_start(op);
        deliver_early(l, op->seq);
    }
    h->priv = op;
    return 0;
}

static int wire_start(hpc_link *base, hpc_handle *h, const hpc_comm *c)
{
    wire_link *l = (wire_link *)base;
    pthread_mutex_lock(&l->office->lock);
    hpc_office_poll(l->office); /* a rank that has received news of a failure starts nothing more */
    int rc = start(l, h, c);
    pthread_mutex_unlock(&l->office->lock);
    return rc;
}

/* ---- limits of time -------------------------------------------------------------------- */
static bool has_come(const wire_op *op, int r)
{
    const wire_link *l = op->link;
    if (r == l->base.rank) return true;
    if (op->state == OP_JOINING) return op->head[r] != NULL;
    return hpc_flow_finished(&op->flow[FLOW_IN * l->base.size + r]) &&
           hpc_flow_finished(&op->flow[FLOW_PARTS_IN * l->base.size + r]);
}

/* "ranks 1, 3 have not started it" */
static void put_absent(char *out, size_t cap, const wire_op *op)
{
    const wire_link *l = op->link;
    bool joining = op->state == OP_JOINING;
    size_t n = 0;
    int absent = 0;
    if (!op->wide) {
        snprintf(out, cap, "rank %d %s", l->member[op->comm.peer],
                 joining ? "has not started the other end" : "does not make progress");
        return;
    }
    char list[160] = "";
    for (int r = 0; r < l->base.size; r++) {
        if (has_come(op, r)) continue;
        if (n + 16 < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%d", absent ? ", " : "",
                                  l->member[r]);
        absent++;
    }
    if (absent == 0)
        snprintf(out, cap, "other ranks do not receive the data of this rank");
    else
        snprintf(out, cap, "%s %s%s %s", absent > 1 ? "ranks" : "rank", list,
                 n + 16 < sizeof list ? "" : ", ...",
                 !joining     ? "started, but the data do not arrive"
                 : absent > 1 ? "have not started it"
                              : "has not started it");
}

static void expire(wire_op *op, double seconds)
{
    wire_link *l = op->link;
    char what[96], absent[256], where[48], peer[32] = "";
    hpc_error why;
    put_absent(absent, sizeof absent, op);
    snprintf(where, sizeof where, "%s", l->base.name);
    if (!*where) snprintf(where, sizeof where, "a link of %d ranks", l->base.size);
    if (!op->wide) snprintf(peer, sizeof peer, " under tag %d", op->comm.tag);
    hpc_error_note(&why, HPC_E_ABORTED, "%s%s on %s: gave up after %g s: %s",
                   hpc_comm_text(what, &op->comm), peer, where, seconds, absent);
    hpc_wire_fail(op, &why);
    hpc_office_abort(l->office, l->office->info.rank, why.text);
}

static void watch(wire_op *op)
{
    double seconds = op->link->base.timeout_s;
    if (op->state != OP_JOINING && op->state != OP_MOVING) return;
    int64_t now = hpc_clock_ns();
    if (op->since_ns == 0) op->since_ns = now;
    if (seconds > 0 && (double)(now - op->since_ns) > seconds * 1e9) expire(op, seconds);
}

/* ---- ending ------------------------------------------------------------------------------ */
static bool drained(wire_op *op)
{
    wire_link *l = op->link;
    office *o = l->office;
    int flows = op->wide ? FLOW_KINDS * l->base.size : 1;
    bool quiet = true;
    for (int i = 0; i < flows; i++) {
        flow *f = &op->flow[i];
        int r = op->wide ? i % l->base.size : op->comm.peer;
        if (f->begun == f->done) continue;
        quiet = hpc_flow_quiet(o, f, op->misfit || o->quiet[f->peer] || l->gone[r] >= 0) && quiet;
    }
    if (quiet || !atomic_load(&o->aborted)) return quiet;
    if ((double)(hpc_clock_ns() - o->aborted_ns) < DRAIN_S * 1e9) return false;
    o->lost = true;
    return true;
}

/* PENDING_OP, DONE_OP or a code; unless it is pending, the operation is out. */
static int settle(wire_op *op)
{
    int rc = DONE_OP;
    if (op->state == OP_JOINING || op->state == OP_MOVING) return PENDING_OP;
    if (op->state == OP_FAILED) {
        if (!drained(op)) return PENDING_OP;
        rc = op->error.code;
        hpc_error_adopt(&op->error);
    }
    op_leave(op);
    return rc;
}

static int wire_test(hpc_handle *h, bool *done)
{
    wire_op *op = h->priv;
    office *o = op->link->office;
    pthread_mutex_lock(&o->lock);
    hpc_office_poll(o);
    watch(op);
    int rc = settle(op);
    pthread_mutex_unlock(&o->lock);
    *done = rc != PENDING_OP;
    return rc < 0 ? rc : 0;
}

static bool is_alone(const wire_op *op)
{
    return !op->wide && op->comm.peer == op->link->base.rank && op->state == OP_JOINING;
}

static int wire_wait(hpc_handle *h)
{
    wire_op *op = h->priv;
    office *o = op->link->office;
    int idle = 0, rc = PENDING_OP;
    atomic_store(&o->waiting, true);
    pthread_mutex_lock(&o->lock);
    op->since_ns = 0;
    while (rc == PENDING_OP) {
        bool moved = hpc_office_poll(o);
        if (is_alone(op)) {
            op_leave(op);
            rc = hpc_message_alone(&op->comm, op->link->member[op->comm.peer]);
            break;
        }
        watch(op);
        rc = settle(op);
        if (rc != PENDING_OP) break;
        pthread_mutex_unlock(&o->lock);
        hpc_office_pause(&idle, moved, WAIT_US);
        pthread_mutex_lock(&o->lock);
    }
    pthread_mutex_unlock(&o->lock);
    atomic_store(&o->waiting, false);
    return rc < 0 ? rc : 0;
}

/* Tests make progress; between them the office's own thread does. */
static void wire_pause(hpc_link *l, unsigned *seen)
{
    int idle = (int)*seen;
    (void)l;
    hpc_office_pause(&idle, idle == 0, WAIT_US);
    *seen = (unsigned)idle + 1;
}

static void wire_abort(hpc_link *base, const char *why)
{
    office *o = ((wire_link *)base)->office;
    pthread_mutex_lock(&o->lock);
    hpc_office_abort(o, o->info.rank, why);
    pthread_mutex_unlock(&o->lock);
}

/* ---- opening and closing ------------------------------------------------------------------ */
static void link_free(wire_link *l)
{
    for (wire_op *op = l->owned, *next; op; op = next) {
        next = op->sibling;
        op_free(op);
    }
    hpc_free(l->member);
    hpc_free(l->gone);
    hpc_free(l->scratch);
    hpc_free(l);
}

static wire_link *link_make(office *o, int size)
{
    wire_link *l = hpc_alloc(1, sizeof *l);
    if (!l) return NULL;
    l->office = o;
    l->member = hpc_alloc((size_t)size, sizeof *l->member);
    l->gone = hpc_alloc((size_t)size, sizeof *l->gone);
    l->scratch = hpc_alloc((size_t)size, sizeof *l->scratch);
    if (!l->member || !l->gone || !l->scratch) {
        link_free(l);
        return NULL;
    }
    for (int r = 0; r < size; r++) l->gone[r] = -1;
    return l;
}

static void link_enter(wire_link *l, int64_t id, int rank, int size, double timeout_s)
{
    office *o = l->office;
    l->base = (hpc_link){.ops = &hpc_wire_ops, .rank = rank, .size = size, .timeout_s = timeout_s};
    l->id = id;
    l->next = o->link;
    o->link = l;
    hpc_wire_adopt_foreign(l);
}

int hpc_wire_world(hpc_link **out, office *o)
{
    wire_link *l = link_make(o, o->info.size);
    if (!l) return HPC_E_NOMEM;
    memcpy(l->member, o->everyone, (size_t)o->info.size * sizeof *l->member);
    pthread_mutex_lock(&o->lock);
    o->next_id = 1;
    link_enter(l, 0, o->info.rank, o->info.size, HPC_LINK_TIMEOUT_S);
    pthread_mutex_unlock(&o->lock);
    hpc_link_name(&l->base, "the world");
    *out = &l->base;
    return 0;
}

static bool has_flows(const wire_op *op)
{
    int flows = op->wide ? FLOW_KINDS * op->link->base.size : 1;
    for (int i = 0; i < flows; i++)
        if (op->flow[i].begun > op->flow[i].done) return true;
    return false;
}

/* Abandons operations that no rank has matched; operations that move data can only be stopped by
 * all ranks. Returns the first collective in which this rank takes no part. */
static int64_t abandon_all(wire_link *l)
{
    office *o = l->office;
    int64_t seq = l->seq;
    hpc_error why;
    int idle = 0;
    hpc_error_note(&why, HPC_E_STATE, "the link was closed with operations in flight");
    for (wire_op *op = l->live; op; op = op->next) {
        if (has_flows(op)) hpc_office_abort(o, o->info.rank, why.text);
        if (op->wide && op->state == OP_JOINING && op->seq < seq) seq = op->seq;
        hpc_wire_fail(op, &why);
    }
    while (l->live) {
        bool moved = hpc_office_poll(o);
        for (wire_op *op = l->live, *next; op; op = next) {
            next = op->next;
            if (op->state == OP_DONE || drained(op)) op_leave(op);
        }
        if (l->live) hpc_office_pause(&idle, moved, WAIT_US);
    }
    return seq;
}

static void say_goodbye(wire_link *l, int64_t seq)
{
    office *o = l->office;
    for (int r = 0; r < l->base.size; r++) {
        if (r == l->base.rank) continue;
        letter *m = hpc_letter_take(o);
        if (!m) {
            hpc_error_clear();
            hpc_office_abort(o, o->info.rank, "out of memory for a message");
            return;
        }
        m->head =
            (letter_head){.link = l->id, .seq = seq, .from = l->base.rank, .type = LETTER_LEAVE};
        hpc_letter_send(o, m, l->member[r]);
    }
}

static void wire_close(hpc_link *base)
{
    wire_link *l = (wire_link *)base, **at = &l->office->link;
    office *o = l->office;
    pthread_mutex_lock(&o->lock);
    say_goodbye(l, abandon_all(l));
    while (*at != l) at = &(*at)->next;
    *at = l->next;
    for (letter *m = l->early, *next; m; m = next) {
        next = m->next;
        hpc_letter_return(o, m);
    }
    bool last = !o->link;
    pthread_mutex_unlock(&o->lock);
    link_free(l);
    if (last) hpc_office_close(o, DRAIN_S);
}

/* ---- splitting ------------------------------------------------------------------------------ */
enum { CODE, NEXT_ID, OFFER_N };

static int64_t highest(const int64_t *offer, int size)
{
    int64_t id = 0;
    for (int r = 0; r < size; r++)
        if (offer[OFFER_N * r + NEXT_ID] > id) id = offer[OFFER_N * r + NEXT_ID];
    return id;
}

static int wire_split(hpc_link **out, hpc_link *base, int color, int key)
{
    wire_link *parent = (wire_link *)base, *made = NULL;
    office *o = parent->office;
    int rc = 0, size = base->size, n = 0;
    int64_t wish[HPC_CHOICE_N] = {[HPC_COLOR] = color < 0 ? -1 : color, [HPC_KEY] = key};
    int64_t brought[OFFER_N] = {[NEXT_ID] = o->next_id};
    int64_t *choice = hpc_alloc((size_t)size, sizeof wish);
    int64_t *offer = hpc_alloc((size_t)size, sizeof brought);
    if (!choice || !offer) TRY(HPC_E_NOMEM);
    TRY(hpc_link_exchange(base, choice, wish, HPC_CHOICE_N));
    if (color >= 0) {
        made = link_make(o, size);
        brought[CODE] = made ? 0 : HPC_E_NOMEM;
        if (made) n = hpc_split_members(made->member, choice, parent->member, size, base->rank);
    }
    TRY(hpc_link_exchange(base, offer, brought, OFFER_N));
    TRY(hpc_split_agree(offer + CODE, OFFER_N, parent->member, size));
    pthread_mutex_lock(&o->lock);
    int64_t id = highest(offer, size);
    o->next_id = id + 1;
    if (made)
        link_enter(made, id, hpc_split_position(choice, size, base->rank), n, base->timeout_s);
    pthread_mutex_unlock(&o->lock);
    *out = made ? &made->base : NULL;
    made = NULL;
out:
    if (made) link_free(made);
    hpc_free(choice);
    hpc_free(offer);
    return rc;
}

const hpc_link_ops hpc_wire_ops = {
    .name = "mpi",
    .start = wire_start,
    .test = wire_test,
    .wait = wire_wait,
    .pause = wire_pause,
    .abort = wire_abort,
    .split = wire_split,
    .close = wire_close,
};
