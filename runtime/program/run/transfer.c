/*
 * transfer.c: collectives and messages as instructions: their links, their buffers, and the
 * operations in flight for each slot. If the host cannot access the device's memory, links that can
 * issue operations in the device's streams do, and for others buffers are staged.
 */
#include "runtime/program/run/priv.h"

enum { EDGES = 64 }; /* edges of one microbatch; tag = microbatch * EDGES + edge */

static int64_t elements(const hpc_program *p, hpc_value v)
{
    int64_t n = 1;
    if (v < 0) return 0;
    for (int k = 0; k < p->value[v].type.rank; k++) n *= p->value[v].type.extent[k];
    return n;
}

static size_t value_bytes(const hpc_exec *e, hpc_value v)
{
    return v < 0 ? 0 : hpc_type_bytes(&e->p->value[v].type);
}

static void find_buffers(const hpc_program *p, const hpc_insn *i, transfer_plan *t)
{
    t->send = t->recv = HPC_NONE;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        int role = hpc_insn_role(p, i, k);
        if (role & HPC_OUT)
            t->recv = i->operand[k];
        else if (role & HPC_IN)
            t->send = i->operand[k];
    }
}

static int link_for(hpc_exec *e, const hpc_comm_attr *a, transfer_plan *t)
{
    if (!e->grid) {
        t->link = e->self;
        return HPC_OK;
    }
    return hpc_grid_link(&t->link, e->grid, (hpc_axes)a->axes);
}

/* comm.n from the values' sizes, which must fit the number of ranks. */
static int count_elements(const hpc_exec *e, transfer_plan *t)
{
    int size = hpc_link_size(t->link);
    int64_t sent = elements(e->p, t->send), received = elements(e->p, t->recv);
    hpc_assert(size > 0);
    int64_t part = sent / size;
    bool fits = true;
    switch (t->comm.kind) {
    case HPC_REDUCE_SCATTER: fits = received * size == sent; break;
    case HPC_ALL_GATHER: fits = sent * size == received; break;
    case HPC_ALL_TO_ALL: fits = part * size == sent; break;
    default: break;
    }
    if (!fits)
        return hpc_fail(HPC_E_SHAPE, "%lld elements sent and %lld received do not fit %d ranks",
                        (long long)sent, (long long)received, size);
    bool by_received = t->comm.kind == HPC_REDUCE_SCATTER || t->comm.kind == HPC_RECV;
    t->comm.n = by_received ? received : t->comm.kind == HPC_ALL_TO_ALL ? part : sent;
    return HPC_OK;
}

static int open_transfer(hpc_exec *e, transfer_plan *t, int segment, int64_t insn)
{
    const hpc_insn *i = &e->p->segment[segment].insn[insn];
    const hpc_comm_attr *a = i->attr;
    t->segment = segment;
    t->insn = (int32_t)insn;
    t->edge = a->tag;
    t->queue = (hpc_queue)i->tags.queue;
    if (a->tag < 0 || a->tag >= EDGES)
        return hpc_fail(HPC_E_ARG, "edge %lld; a segment has edges 0 to %d", (long long)a->tag,
                        EDGES - 1);
    int rc;
    if (i->op->exchange) {
        t->exchange = true;
        t->send = t->recv = HPC_NONE;
        return hpc_exchange_open(e, i);
    }
    find_buffers(e->p, i, t);
    TRY(link_for(e, a, t));
    hpc_value any = t->recv >= 0 ? t->recv : t->send;
    t->comm = (hpc_comm){.kind = (hpc_comm_kind)i->op->comm,
                         .dtype = (hpc_dtype)e->p->value[any].type.dtype,
                         .reduce = (hpc_comm_reduce)a->reduce,
                         .peer = (int)a->peer};
    TRY(count_elements(e, t));
    const hpc_backend *b = hpc_device_backend(e->device);
    if (!e->host && b->stream && t->link->ops->device_memory)
        t->comm.stream = t->stream = b->stream(e->device, t->queue);
    /* Inputs are written between segments, state by any slot: those must have left by the end. */
    t->outlives = t->comm.kind == HPC_SEND && !t->stream &&
                  e->p->value[hpc_value_root(e->p, t->send)].kind == HPC_VALUE_TEMP;
out:
    return rc;
}

static bool staged(const hpc_exec *e, const transfer_plan *t)
{
    return !e->host && !t->stream;
}

static int open_stages(hpc_exec *e)
{
    for (int slot = 0; slot < e->slots; slot++)
        for (int32_t k = 0; k < e->transfer_n; k++) {
            const transfer_plan *t = &e->transfer[k];
            flight *f = hpc_flight_of(e, slot, k);
            if (!staged(e, t)) continue;
            f->send_stage = hpc_arena_alloc(e->arena, value_bytes(e, t->send) + 1, 1);
            f->recv_stage = hpc_arena_alloc(e->arena, value_bytes(e, t->recv) + 1, 1);
            if (!f->send_stage || !f->recv_stage) return HPC_E_NOMEM;
        }
    return HPC_OK;
}

/* Links are made by all ranks in one order, but ranks may run different programs (stages of a
 * pipeline): so all make those that any of them names, in ascending order of their axes. */
static int make_links(hpc_exec *e, uint64_t mine)
{
    hpc_link *world = hpc_grid_world(e->grid), *link;
    int size = hpc_link_size(world), rc = HPC_OK;
    uint64_t any = 0, *all = hpc_alloc((size_t)size, sizeof *all);
    if (!all) return HPC_E_NOMEM;
    TRY(hpc_link_run(
        world,
        &(hpc_comm){.kind = HPC_ALL_GATHER, .dtype = HPC_I64, .n = 1, .send = &mine, .recv = all}));
    for (int r = 0; r < size; r++) any |= all[r];
    for (hpc_axes axes = 0; axes < 1u << HPC_AXIS_N; axes++)
        if (any >> axes & 1) TRY(hpc_grid_link(&link, e->grid, axes));
out:
    hpc_free(all);
    return rc;
}

static int note_links(hpc_exec *e)
{
    e->issuing = hpc_arena_alloc(e->arena, (size_t)e->transfer_n + 1, sizeof(hpc_link *));
    if (!e->issuing) return HPC_E_NOMEM;
    for (int32_t k = 0; k < e->transfer_n; k++) {
        const transfer_plan *t = &e->transfer[k];
        int n = 0;
        while (n < e->issuing_n && e->issuing[n] != t->link) n++;
        if (t->stream && n == e->issuing_n) e->issuing[e->issuing_n++] = t->link;
    }
    return HPC_OK;
}

int hpc_transfers_open(hpc_exec *e)
{
    _Static_assert(1 << HPC_AXIS_N <= 64, "a bit for each set of axes");
    int64_t n = 0;
    uint64_t named = 0;
    for (int s = 0; s < e->p->segment_n; s++)
        for (int64_t k = 0; k < e->p->segment[s].insn_n; k++) {
            const hpc_insn *i = &e->p->segment[s].insn[k];
            if (i->op->comm < 0) continue;
            named |= (uint64_t)1 << ((const hpc_comm_attr *)i->attr)->axes;
            if (i->op->exchange) named |= (uint64_t)1 << (1u << HPC_AXIS_ROW);
            n++;
        }
    if (e->grid && make_links(e, named) < 0) return hpc_error_where("links of the grid");
    e->transfer = hpc_arena_alloc(e->arena, (size_t)n + 1, sizeof *e->transfer);
    e->flight = hpc_arena_alloc(e->arena, (size_t)(n * e->slots) + 1, sizeof *e->flight);
    e->air = hpc_arena_alloc(e->arena, (size_t)(n * e->slots) + 1, sizeof *e->air);
    if (!e->transfer || !e->flight || !e->air) return HPC_E_NOMEM;
    for (int s = 0; s < e->p->segment_n; s++)
        for (int64_t k = 0; k < e->p->segment[s].insn_n; k++) {
            if (e->p->segment[s].insn[k].op->comm < 0) continue;
            if (open_transfer(e, &e->transfer[e->transfer_n], s, k) < 0) {
                char where[96];
                return hpc_error_where("%s", hpc_insn_where(where, e->p, s, k));
            }
            e->transfer_n++;
        }
    int rc;
    TRY(note_links(e));
    TRY(hpc_exchange_room(e));
    TRY(open_stages(e));
out:
    return rc;
}

/* Elements of the live rows: sums of run-time many rows are of these alone. */
static int64_t live_elements(const hpc_exec *e, int slot, const transfer_plan *t)
{
    const hpc_type *x = t->send >= 0 ? &e->p->value[t->send].type : NULL;
    if (!e->host || !x || t->comm.kind != HPC_ALL_REDUCE || x->ragged != 0) return t->comm.n;
    int64_t rows = *(const int32_t *)hpc_exec_data(e, slot, x->count);
    return rows * (t->comm.n / x->extent[0]);
}

static bool is_message(const transfer_plan *t)
{
    return t->comm.kind == HPC_SEND || t->comm.kind == HPC_RECV;
}

static int tell_written(hpc_exec *e, int slot, const transfer_plan *t)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    if (!b->wrote || t->recv < 0) return HPC_OK;
    return b->wrote(e->device, t->queue, hpc_exec_data(e, slot, t->recv), value_bytes(e, t->recv),
                    hpc_exec_id(e, t->recv));
}

int hpc_transfer_start(hpc_exec *e, int slot, int32_t k)
{
    const transfer_plan *t = &e->transfer[k];
    flight *f = hpc_flight_of(e, slot, k);
    hpc_comm c = t->comm;
    int64_t begin = hpc_clock_ns();
    int rc = HPC_OK;
    if (f->posted) {
        f->posted = false;
        return HPC_OK;
    }
    if (t->exchange) {
        TRY(hpc_exchange_run(e, slot, &e->p->segment[t->segment].insn[t->insn]));
        hpc_event_note(e, HPC_EVENT_START, t->segment, t->insn, begin);
        return HPC_OK;
    }
    c.n = live_elements(e, slot, t);
    c.tag = (int)(e->microbatch[slot] * EDGES + t->edge);
    c.send = t->send >= 0 ? hpc_exec_data(e, slot, t->send) : NULL;
    c.recv = t->recv >= 0 ? hpc_exec_data(e, slot, t->recv) : NULL;
    /* The handle's last operation was issued long ago, and the new one comes after it. */
    if (t->stream) TRY(hpc_link_wait(&f->handle));
    if (staged(e, t)) {
        if (t->send >= 0) {
            TRY(hpc_device_copy(e->device, t->queue, f->send_stage, c.send, value_bytes(e, t->send),
                                HPC_TO_HOST));
            TRY(hpc_profile_fence(e));
        }
        c.send = f->send_stage;
        c.recv = f->recv_stage;
    }
    TRY(hpc_link_start(t->link, &f->handle, &c));
    f->pending = true;
    f->since = begin;
    if (t->stream)
        TRY(tell_written(e, slot, t));
    else if (!is_message(t))
        e->air[e->air_n++] = slot * (int32_t)e->transfer_n + k;
    hpc_event_note(e, HPC_EVENT_START, t->segment, t->insn, begin);
out:
    return rc;
}

int hpc_transfer_skip(hpc_exec *e, int slot, int32_t k)
{
    return tell_written(e, slot, &e->transfer[k]);
}

/* Uploads the received bytes; everything issued afterwards, on any queue, waits for them. */
static int unstage(hpc_exec *e, int slot, const transfer_plan *t, const flight *f)
{
    if (!staged(e, t) || t->recv < 0) return HPC_OK;
    int rc = HPC_OK;
    TRY(hpc_device_copy(e->device, t->queue, hpc_exec_data(e, slot, t->recv), f->recv_stage,
                        value_bytes(e, t->recv), HPC_TO_DEVICE));
    TRY(tell_written(e, slot, t));
    TRY(hpc_profile_fence(e));
out:
    return rc;
}

static void land(hpc_exec *e, int slot, int32_t k)
{
    const transfer_plan *t = &e->transfer[k];
    int32_t n = 0, mine = slot * (int32_t)e->transfer_n + k;
    hpc_flight_of(e, slot, k)->pending = false;
    for (int32_t a = 0; a < e->air_n; a++)
        if (e->air[a] != mine) e->air[n++] = e->air[a];
    e->air_n = n;
    hpc_event_note(e, HPC_EVENT_TRANSFER, t->segment, t->insn, hpc_flight_of(e, slot, k)->since);
}

int hpc_transfer_finish(hpc_exec *e, int slot, int32_t k, bool block, bool *done)
{
    const transfer_plan *t = &e->transfer[k];
    flight *f = hpc_flight_of(e, slot, k);
    int rc = HPC_OK;
    *done = true;
    if (!f->pending) return HPC_OK;
    int64_t begin = block ? hpc_clock_ns() : 0;
    if (block)
        TRY(hpc_link_wait(&f->handle));
    else
        TRY(hpc_link_test(&f->handle, done));
    if (!*done) return HPC_OK;
    TRY(unstage(e, slot, t, f));
out:
    if (block) hpc_event_note(e, HPC_EVENT_WAIT, t->segment, t->insn, begin);
    if (rc < 0 || *done) land(e, slot, k);
    return rc;
}

int hpc_transfers_progress(hpc_exec *e)
{
    if (e->air_n == 0) return HPC_OK;
    int64_t begin = hpc_clock_ns();
    int32_t n = (int32_t)e->transfer_n, first = e->air[0] % n, rc = HPC_OK;
    for (int32_t a = 0; a < e->air_n && rc >= 0;) {
        bool done;
        rc = hpc_transfer_finish(e, e->air[a] / n, e->air[a] % n, false, &done);
        a += !done;
    }
    hpc_event_note(e, HPC_EVENT_PROGRESS, e->transfer[first].segment, e->transfer[first].insn,
                   begin);
    return rc;
}

static bool is_posted_early(const hpc_exec *e, const transfer_plan *t, int segment)
{
    return t->segment == segment && t->comm.kind == HPC_RECV && !t->stream &&
           e->p->segment[segment].insn[t->insn].tags.guard < 0;
}

int hpc_transfers_post(hpc_exec *e, int segment, int slot)
{
    bool fenced = false;
    for (int32_t k = 0; k < e->transfer_n; k++) {
        if (!is_posted_early(e, &e->transfer[k], segment)) continue;
        if (hpc_flight_of(e, slot, k)->posted) continue;
        int rc = fenced ? HPC_OK : hpc_exec_fence(e); /* queues may still read the slot */
        fenced = true;
        if (rc >= 0) rc = hpc_transfer_start(e, slot, k);
        if (rc < 0) return rc;
        hpc_flight_of(e, slot, k)->posted = true;
    }
    return HPC_OK;
}

int hpc_transfers_landed(hpc_exec *e, int segment, int slot, bool *done)
{
    *done = true;
    for (int32_t k = 0; k < e->transfer_n; k++) {
        bool one = true;
        if (e->transfer[k].segment != segment || !hpc_flight_of(e, slot, k)->posted) continue;
        int rc = hpc_transfer_finish(e, slot, k, false, &one);
        if (rc < 0) return rc;
        *done = *done && one;
    }
    return HPC_OK;
}

int hpc_transfers_settle(hpc_exec *e, int slot, bool block, bool *done)
{
    *done = true;
    for (int32_t k = 0; k < e->transfer_n; k++) {
        bool one = true;
        if (!e->transfer[k].outlives) continue;
        int rc = hpc_transfer_finish(e, slot, k, block, &one);
        if (rc < 0) return rc;
        *done = *done && one;
    }
    return HPC_OK;
}

void hpc_transfers_end(hpc_exec *e, int slot)
{
    for (int32_t k = 0; k < e->transfer_n; k++) {
        flight *f = hpc_flight_of(e, slot, k);
        f->posted = false;
        if (!f->pending) continue;
        hpc_link_wait(&f->handle);
        land(e, slot, k);
    }
}

int hpc_transfers_register(hpc_exec *e)
{
    int rc = HPC_OK;
    const size_t n = (size_t)e->issuing_n * HPC_SPACE_N;
    e->registered = hpc_arena_alloc(e->arena, n + 1, sizeof *e->registered);
    if (!e->registered) return HPC_E_NOMEM;
    for (int k = 0; k < e->issuing_n; k++)
        for (int s = 0; s < HPC_SPACE_N; s++) {
            const size_t slots = s == HPC_SPACE_SLOT ? (size_t)e->slots : 1;
            const hpc_link_ops *ops = e->issuing[k]->ops;
            void **handle = &e->registered[k * HPC_SPACE_N + s];
            if (!ops->register_memory || e->place.bytes[s] == 0) continue;
            TRY(ops->register_memory(e->issuing[k], handle, e->memory[s],
                                     e->place.bytes[s] * slots));
        }
out:
    return rc;
}

void hpc_transfers_deregister(hpc_exec *e)
{
    for (int k = 0; e->registered && k < e->issuing_n; k++)
        for (int s = 0; s < HPC_SPACE_N; s++) {
            void *handle = e->registered[k * HPC_SPACE_N + s];
            if (handle) e->issuing[k]->ops->deregister_memory(e->issuing[k], handle);
        }
}

int hpc_transfers_flush(hpc_exec *e)
{
    int rc = HPC_OK;
    for (int k = 0; k < e->issuing_n && rc >= 0; k++) rc = hpc_link_flush(e->issuing[k]);
    return rc;
}

int hpc_transfers_fence(hpc_exec *e)
{
    int rc = hpc_transfers_flush(e);
    for (int slot = 0; slot < e->slots && e->issuing_n > 0; slot++)
        for (int32_t k = 0; k < e->transfer_n; k++) {
            if (!e->transfer[k].stream || !hpc_flight_of(e, slot, k)->pending) continue;
            const int one = hpc_link_wait(&hpc_flight_of(e, slot, k)->handle);
            land(e, slot, k);
            if (one < 0 && rc >= 0) rc = one;
        }
    return rc;
}
