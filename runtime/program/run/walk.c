/*
 * walk.c: execution on a host-memory device: every worker walks the list of steps.
 *
 * Workers agree on where to stop without a lock. A failure is recorded with the number
 * of barriers passed before it; after each barrier every worker checks for an earlier
 * failure, so all see the same. Until then a failed worker continues with the others,
 * because kernels may contain barriers.
 */
#include <limits.h>

#include "runtime/program/run/priv.h"

typedef struct walk {
    hpc_run *r;
    const plan_segment *g;
    bool block;
    int64_t stop;     /* where to continue; written by worker 0 */
    int failed_phase; /* barriers passed before the first failure; INT_MAX: none. Atomic. */
    int64_t yield_at; /* step at which worker 0 chose to yield; -1. Atomic. */
} walk;

static bool guard_open(const hpc_exec *e, int slot, const step *s)
{
    return s->guard < 0 || *(const int32_t *)hpc_exec_data(e, slot, s->guard) != 0;
}

static void note_failure(walk *w, int phase)
{
    int seen = __atomic_load_n(&w->failed_phase, __ATOMIC_RELAXED);
    while (phase < seen && !__atomic_compare_exchange_n(&w->failed_phase, &seen, phase, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    {
    }
}

static int run_kernel(const walk *w, const step *s, hpc_launch *l)
{
    hpc_exec *e = w->r->exec;
    bool noted = l->worker == 0 && e->event_n < e->event_cap;
    int64_t begin = noted ? hpc_clock_ns() : 0;
    hpc_space space = e->place.workspace_space[w->r->segment];
    size_t base = space == HPC_SPACE_SLOT ? (size_t)w->r->slot * e->place.bytes[space] : 0;
    l->workspace = e->memory[space] + base + s->workspace;
    uint8_t *coop = e->memory[space] + base + e->place.own;
    l->cpu =
        (hpc_cpu_launch){.worker = coop + 2 * e->coop_bytes + (size_t)l->worker * e->worker_bytes,
                         .coop = {coop, coop + e->coop_bytes}};
    int rc = s->run(l, e->args + (size_t)w->r->slot * e->args_bytes + s->args);
    if (noted) hpc_event_note(e, HPC_EVENT_KERNEL, w->r->segment, s->insn, begin);
    return rc;
}

/* Worker 0's part of a wait; the next barrier publishes its decision. */
static int wait_transfer(walk *w, const step *s, int64_t at)
{
    bool done = false;
    int rc = hpc_transfer_finish(w->r->exec, w->r->slot, s->transfer, w->block, &done);
    if (rc >= 0 && !done) __atomic_store_n(&w->yield_at, at, __ATOMIC_RELAXED);
    return rc;
}

static int do_step(walk *w, const step *s, int64_t at, hpc_launch *l)
{
    hpc_exec *e = w->r->exec;
    int rc = HPC_OK;
    switch (s->kind) {
    case STEP_KERNEL:
        if (guard_open(e, w->r->slot, s)) rc = run_kernel(w, s, l);
        if (l->worker == 0 && rc >= 0) rc = hpc_transfers_progress(e);
        break;
    case STEP_START:
        if (l->worker == 0 && guard_open(e, w->r->slot, s))
            rc = hpc_transfer_start(e, w->r->slot, s->transfer);
        break;
    case STEP_WAIT:
        if (l->worker == 0) rc = wait_transfer(w, s, at);
        break;
    default: break;
    }
    return rc;
}

/* Of a worker's failures the first counts. */
static int fail(walk *w, const step *s, int rc, int phase)
{
    char where[96];
    hpc_error_where("%s", hpc_insn_where(where, w->r->exec->p, w->r->segment, s->insn));
    note_failure(w, phase);
    return rc;
}

typedef struct stopwatch {
    int64_t *ns, since;
    int64_t *on; /* of the instruction that runs; NULL: before the first */
} stopwatch;

/* Charges the elapsed time to the last instruction, including its time at a barrier. */
static void note_time(stopwatch *t, const step *s)
{
    int64_t now = hpc_clock_ns();
    if (t->on) *t->on += now - t->since;
    t->since = now;
    if (s && (s->kind == STEP_KERNEL || s->kind == STEP_START)) t->on = &t->ns[s->insn];
}

static int walk_list(int worker, int workers, void *user)
{
    walk *w = user;
    hpc_launch l = {.worker = worker, .workers = workers, .barrier = &w->r->exec->barrier};
    int rc = HPC_OK, phase = 0;
    int64_t at = w->r->at;
    stopwatch watch = {.ns = worker == 0 ? w->g->ns : NULL};
    for (; at < w->g->step_n; at++) {
        const step *s = &w->g->step[at];
        if (watch.ns) note_time(&watch, s);
        if (rc == HPC_OK || s->kind == STEP_KERNEL) {
            int now = do_step(w, s, at, &l);
            if (now < 0 && rc == HPC_OK) rc = fail(w, s, now, phase);
        }
        if (s->kind != STEP_BARRIER && s->kind != STEP_WAIT) continue;
        hpc_barrier_wait(l.barrier);
        if (__atomic_load_n(&w->failed_phase, __ATOMIC_RELAXED) <= phase) break;
        if (__atomic_load_n(&w->yield_at, __ATOMIC_RELAXED) == at) break;
        phase++;
    }
    if (watch.ns) note_time(&watch, NULL);
    if (worker == 0) w->stop = at;
    return rc;
}

/* Nothing to gain by waking the workers for a message that is not there. */
static int message_missing(hpc_run *r, const plan_segment *g, bool *missing)
{
    const step *s = &g->step[r->at];
    bool done = true;
    int rc = HPC_OK;
    if (r->at < g->step_n && s->kind == STEP_WAIT) {
        rc = hpc_transfer_finish(r->exec, r->slot, s->transfer, false, &done);
        if (rc < 0) return hpc_error_where("%s", r->exec->p->segment[r->segment].name);
    }
    *missing = !done;
    return rc;
}

int hpc_walk(hpc_run *r, bool block)
{
    hpc_exec *e = r->exec;
    walk w = {.r = r,
              .g = &e->segment[r->segment],
              .block = block,
              .stop = r->at,
              .failed_phase = INT_MAX,
              .yield_at = -1};
    if (!block) {
        bool missing = false;
        int rc = message_missing(r, w.g, &missing);
        if (rc < 0 || missing) return rc < 0 ? rc : HPC_RUN_YIELD;
    }
    int rc = hpc_pool_run(hpc_device_pool(e->device), walk_list, &w);
    if (rc < 0) return rc;
    r->at = w.stop;
    return r->at < w.g->step_n ? HPC_RUN_YIELD : HPC_RUN_DONE;
}
