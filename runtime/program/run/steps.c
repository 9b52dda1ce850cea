/*
 * steps.c: turns a segment's instructions into steps, with the barriers of workers, the joins of
 * queues and the waits for transfers that they need. A transfer in a stream is like a kernel. All
 * three follow from one test on memory, not on names, so it also covers memory that is reused. The
 * test: does this instruction access bytes that a pending access has written, or write bytes that
 * one has accessed?
 */
#include "runtime/program/run/priv.h"

typedef struct access {
    int64_t first, end; /* bytes */
    int64_t rows;       /* > 0: each worker touches only its share of so many rows */
    int32_t transfer;   /* of a transfer in flight, else -1 */
    uint8_t space, queue;
    uint8_t behind; /* queues that have joined it: bit 1 << queue */
    bool write;
    bool late; /* after a barrier within the kernel */
} access;

typedef struct tracker {
    hpc_exec *e;
    int segment;
    access *open; /* since the last point where everything was waited for */
    int64_t open_n, open_cap;
    access *now; /* of the current instruction */
    int64_t now_n, now_cap;
    bool used[HPC_QUEUE_N];
} tracker;

static int push(access **list, int64_t *n, int64_t *cap, access a)
{
    int rc = hpc_grow(list, cap, *n + 1, sizeof **list);
    if (rc < 0) return rc;
    (*list)[(*n)++] = a;
    return HPC_OK;
}

static int add_step(tracker *t, step s)
{
    plan_segment *g = &t->e->segment[t->segment];
    int rc = hpc_grow(&g->step, &g->step_cap, g->step_n + 1, sizeof *g->step);
    if (rc < 0) return rc;
    g->step[g->step_n++] = s;
    return HPC_OK;
}

static access *last(tracker *t)
{
    return &t->now[t->now_n - 1];
}

static int touch(tracker *t, hpc_value v, int64_t bytes, int64_t rows, bool write, int queue)
{
    const hpc_placement *pl = &t->e->place;
    access a = {.first = pl->offset[v],
                .end = pl->offset[v] + bytes,
                .rows = rows,
                .transfer = -1,
                .space = pl->space[v],
                .queue = (uint8_t)queue,
                .write = write};
    return push(&t->now, &t->now_n, &t->now_cap, a);
}

static int touch_read(tracker *t, hpc_value v, int queue)
{
    if (v < 0) return HPC_OK;
    return touch(t, v, (int64_t)hpc_type_bytes(&t->e->p->value[v].type), 0, false, queue);
}

static int64_t rows_of(const hpc_type *t)
{
    int64_t n = 1;
    for (int k = 0; k + 1 < t->rank; k++) n *= t->extent[k];
    return n;
}

/* Operands that an instruction accesses only after a barrier in its kernel. On queues, or under a
 * guard that may be closed, there is no such barrier. */
static unsigned late_operands(const tracker *t, int64_t k)
{
    const hpc_insn *i = &t->e->p->segment[t->segment].insn[k];
    bool meets = t->e->host && i->tags.guard < 0;

    return meets ? t->e->segment[t->segment].plan[k].cpu.after_barrier : 0;
}

/* Everything that instruction k reads or writes, workspace included. */
static int collect(tracker *t, int64_t k)
{
    const hpc_exec *e = t->e;
    const hpc_insn *i = &e->p->segment[t->segment].insn[k];
    unsigned late = late_operands(t, k);
    int rc = HPC_OK, queue = i->tags.queue;
    t->now_n = 0;
    for (int a = 0; a < i->op->sig.operand_n; a++) {
        hpc_value v = i->operand[a];
        if (v < 0) continue;
        const hpc_type *type = &e->p->value[v].type;
        int64_t rows = i->op->sig.operand[a].flags & HPC_ROWWISE ? rows_of(type) : 0;
        bool write = hpc_insn_role(e->p, i, a) & HPC_OUT;
        TRY(touch(t, v, (int64_t)hpc_type_bytes(type), rows, write, queue));
        last(t)->late = late >> a & 1;
        if (type->ragged >= 0) TRY(touch_read(t, type->count, queue));
    }
    TRY(touch_read(t, i->tags.guard, queue));
    int64_t bytes = (int64_t)e->segment[t->segment].plan[k].workspace;
    if (bytes) {
        int64_t at = e->place.workspace[t->segment][k];
        access a = {.first = at,
                    .end = at + bytes,
                    .transfer = -1,
                    .queue = (uint8_t)queue,
                    .space = (uint8_t)e->place.workspace_space[t->segment],
                    .write = true};
        TRY(push(&t->now, &t->now_n, &t->now_cap, a));
        a.late = true; /* as well */
        if (late) TRY(push(&t->now, &t->now_n, &t->now_cap, a));
    }
out:
    return rc;
}

static bool conflict(const access *a, const access *b)
{
    if (a->space != b->space || a->end <= b->first || b->end <= a->first) return false;
    if (!a->write && !b->write) return false;
    /* The same rows by the same worker: in order already. */
    return !(a->rows > 0 && a->rows == b->rows && a->first == b->first && a->end == b->end);
}

static bool conflicts_now(const tracker *t, const access *o)
{
    for (int64_t k = 0; k < t->now_n; k++)
        if (conflict(&t->now[k], o)) return true;
    return false;
}

/* True if any worker may access it before the kernel's own barrier, if it has one. */
static bool conflicts_early(const tracker *t, const access *o)
{
    for (int64_t k = 0; k < t->now_n; k++)
        if (!t->now[k].late && conflict(&t->now[k], o)) return true;
    return false;
}

static void forget_transfer(tracker *t, int32_t transfer)
{
    int64_t n = 0;
    for (int64_t k = 0; k < t->open_n; k++)
        if (t->open[k].transfer != transfer) t->open[n++] = t->open[k];
    t->open_n = n;
}

static void forget_kernels(tracker *t)
{
    int64_t n = 0;
    for (int64_t k = 0; k < t->open_n; k++)
        if (t->open[k].transfer >= 0) t->open[n++] = t->open[k];
    t->open_n = n;
}

static int wait_for(tracker *t, int32_t transfer, int64_t insn)
{
    int rc = add_step(t, (step){.kind = STEP_WAIT, .insn = (int32_t)insn, .transfer = transfer});
    if (rc < 0) return rc;
    forget_transfer(t, transfer);
    if (t->e->host) forget_kernels(t);
    return HPC_OK;
}

/* Transfers first, because a wait for one is also a barrier. */
static int settle_transfers(tracker *t, int64_t insn)
{
    for (int64_t k = 0; k < t->open_n;) {
        const access *o = &t->open[k];
        if (o->transfer < 0 || !conflicts_now(t, o)) {
            k++;
            continue;
        }
        int rc = wait_for(t, o->transfer, insn);
        if (rc < 0) return rc;
        k = 0;
    }
    return HPC_OK;
}

static int settle_workers(tracker *t, int64_t insn)
{
    for (int64_t k = 0; k < t->open_n; k++) {
        if (t->open[k].transfer >= 0 || !conflicts_early(t, &t->open[k])) continue;
        forget_kernels(t);
        return add_step(t, (step){.kind = STEP_BARRIER, .insn = (int32_t)insn});
    }
    return HPC_OK;
}

/* The barrier inside a kernel waits for all earlier accesses, including the kernel's own early
 * ones. */
static void settle_by_meeting(tracker *t, int64_t insn)
{
    int64_t n = 0;

    if (late_operands(t, insn) == 0) return;
    forget_kernels(t);
    for (int64_t k = 0; k < t->now_n; k++)
        if (t->now[k].late) t->now[n++] = t->now[k];
    t->now_n = n;
}

static int join(tracker *t, int queue, int from, int64_t insn)
{
    for (int64_t k = 0; k < t->open_n; k++)
        if (t->open[k].queue == from) t->open[k].behind |= (uint8_t)(1u << queue);
    return add_step(t, (step){.kind = STEP_JOIN,
                              .queue = (uint8_t)queue,
                              .from = (uint8_t)from,
                              .insn = (int32_t)insn});
}

static int settle_queues(tracker *t, int queue, int64_t insn)
{
    int rc = HPC_OK;
    /* The compute queue is ordered after earlier segments. */
    if (!t->used[queue] && queue != HPC_COMPUTE) TRY(join(t, queue, HPC_COMPUTE, insn));
    t->used[queue] = true;
    for (int64_t k = 0; k < t->open_n; k++) {
        const access *o = &t->open[k];
        if (o->transfer >= 0 || o->queue == queue || o->behind & 1u << queue ||
            !conflicts_now(t, o))
            continue;
        TRY(join(t, queue, o->queue, insn));
    }
out:
    return rc;
}

static int remember(tracker *t, int32_t transfer)
{
    for (int64_t k = 0; k < t->now_n; k++) {
        access a = t->now[k];
        a.transfer = transfer;
        int rc = push(&t->open, &t->open_n, &t->open_cap, a);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

static int32_t transfer_of(const hpc_exec *e, int segment, int64_t insn)
{
    for (int64_t k = 0; k < e->transfer_n; k++)
        if (e->transfer[k].segment == segment && e->transfer[k].insn == insn) return (int32_t)k;
    return -1;
}

static int add_insn(tracker *t, int64_t k)
{
    hpc_exec *e = t->e;
    const hpc_insn *i = &e->p->segment[t->segment].insn[k];
    int rc = HPC_OK;
    TRY(collect(t, k));
    TRY(settle_transfers(t, k));
    if (e->host)
        TRY(settle_workers(t, k));
    else
        TRY(settle_queues(t, i->tags.queue, k));
    settle_by_meeting(t, k);
    if (i->op->comm >= 0) {
        int32_t transfer = transfer_of(e, t->segment, k);
        TRY(remember(t, e->transfer[transfer].stream ? -1 : transfer));
        TRY(add_step(t, (step){.kind = STEP_START,
                               .insn = (int32_t)k,
                               .transfer = transfer,
                               .queue = i->tags.queue,
                               .guard = i->tags.guard}));
    } else {
        TRY(remember(t, -1));
        TRY(add_step(t, (step){.kind = STEP_KERNEL,
                               .insn = (int32_t)k,
                               .queue = i->tags.queue,
                               .run = e->segment[t->segment].plan[k].run,
                               .workspace = e->place.workspace[t->segment][k],
                               .guard = i->tags.guard}));
    }
out:
    return rc;
}

static int finish(tracker *t, int64_t insn)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->open_n;) {
        int32_t transfer = t->open[k].transfer;
        if (transfer < 0 || t->e->transfer[transfer].outlives) {
            k++;
            continue;
        }
        TRY(wait_for(t, transfer, insn));
        k = 0;
    }
    for (int q = 0; !t->e->host && q < HPC_QUEUE_N; q++)
        if (t->used[q] && q != HPC_COMPUTE) TRY(join(t, HPC_COMPUTE, q, insn));
out:
    return rc;
}

int hpc_steps_make(hpc_exec *e, int segment)
{
    int rc = HPC_OK;
    tracker t = {.e = e, .segment = segment};
    const hpc_segment *g = &e->p->segment[segment];
    for (int64_t k = 0; k < g->insn_n; k++)
        if (!g->insn[k].op->view && !g->insn[k].tags.idle) TRY(add_insn(&t, k));
    TRY(finish(&t, g->insn_n - 1));
out:
    hpc_free(t.open);
    hpc_free(t.now);
    return rc;
}
