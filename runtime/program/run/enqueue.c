/*
 * enqueue.c: execution on a device whose kernels do not run on the host: the calling thread
 * enqueues; STEP_JOIN makes one queue wait for another.
 */
#include "runtime/program/run/priv.h"

static int launch(hpc_run *r, const step *s)
{
    hpc_exec *e = r->exec;
    const hpc_segment *g = &e->p->segment[r->segment];
    const hpc_insn *i = &g->insn[s->insn];
    hpc_space space = e->place.workspace_space[r->segment];
    size_t base = space == HPC_SPACE_SLOT ? (size_t)r->slot * e->place.bytes[space] : 0;
    const int32_t *guard = s->guard >= 0 ? hpc_exec_data(e, r->slot, s->guard) : NULL;
    hpc_origin at = {.segment = g->name, .insn = s->insn, .op = i->op->sig.name};
    hpc_queue q = (hpc_queue)s->queue;
    int rc;
    TRY(hpc_profile_begin(e, q));
    TRY(hpc_device_backend(e->device)->launch(e->device, q, &e->segment[r->segment].plan[s->insn],
                                              &i->op->sig,
                                              e->args + (size_t)r->slot * e->args_bytes + s->args,
                                              e->memory[space] + base + s->workspace, guard, at));
    TRY(hpc_profile_end(e, q, r->segment, s->insn));
out:
    return rc;
}

int hpc_queue_join(hpc_exec *e, hpc_queue queue, hpc_queue from)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    int event = 0, rc;
    TRY(hpc_transfers_flush(e));
    TRY(b->record(e->device, from, &event));
    TRY(b->wait(e->device, queue, event));
out:
    return rc;
}

/* Steps know the order within their segment alone; at a yield another run comes between. */
static int join_all(hpc_exec *e)
{
    int rc = HPC_OK;
    for (int q = HPC_COMPUTE + 1; q < HPC_QUEUE_N; q++)
        TRY(hpc_queue_join(e, HPC_COMPUTE, (hpc_queue)q));
    for (int q = HPC_COMPUTE + 1; q < HPC_QUEUE_N; q++)
        TRY(hpc_queue_join(e, (hpc_queue)q, HPC_COMPUTE));
out:
    return rc;
}

/* A link is the host's business, so its guard has to be fetched. */
static int start(hpc_run *r, const step *s)
{
    hpc_exec *e = r->exec;
    int32_t open = 1;
    int rc = HPC_OK;
    if (s->guard >= 0) {
        TRY(hpc_device_copy(e->device, (hpc_queue)s->queue, &open,
                            hpc_exec_data(e, r->slot, s->guard), sizeof open, HPC_TO_HOST));
        TRY(hpc_transfers_fence(e));
        TRY(hpc_profile_fence(e));
    }
    TRY(open ? hpc_transfer_start(e, r->slot, s->transfer)
             : hpc_transfer_skip(e, r->slot, s->transfer));
out:
    return rc;
}

static int do_step(hpc_run *r, const step *s, bool block, bool *done)
{
    switch (s->kind) {
    case STEP_KERNEL: return launch(r, s);
    case STEP_JOIN: return hpc_queue_join(r->exec, (hpc_queue)s->queue, (hpc_queue)s->from);
    case STEP_START: return start(r, s);
    case STEP_WAIT: return hpc_transfer_finish(r->exec, r->slot, s->transfer, block, done);
    default: return HPC_OK;
    }
}

/* The error names the instruction. */
static int locate(const hpc_run *r, const step *s)
{
    char where[96];
    return hpc_error_where("%s", hpc_insn_where(where, r->exec->p, r->segment, s->insn));
}

int hpc_enqueue_step(hpc_run *r, int64_t k)
{
    const step *s = &r->exec->segment[r->segment].step[k];
    bool done;
    return do_step(r, s, false, &done) < 0 ? locate(r, s) : HPC_OK;
}

/* The part that begins here, if it has been recorded or now is. */
static int run_part(hpc_run *r, const plan_segment *g, bool *done)
{
    const recorded_part *p = g->part_n > 0 ? hpc_graph_part(g, r->at) : NULL;
    int rc = HPC_OK;
    *done = false;
    if (p) TRY(hpc_graph_run(r, p, done));
    if (*done) r->at = p->end;
out:
    return rc;
}

int hpc_enqueue(hpc_run *r, bool block)
{
    const plan_segment *g = &r->exec->segment[r->segment];
    for (; r->at < g->step_n; r->at++) {
        bool done = true, replayed;
        if (run_part(r, g, &replayed) < 0)
            return hpc_error_where("%s", r->exec->p->segment[r->segment].name);
        if (r->at == g->step_n) break;
        int rc = do_step(r, &g->step[r->at], block, &done);
        if (rc < 0) return locate(r, &g->step[r->at]);
        if (done) continue;
        rc = join_all(r->exec);
        return rc < 0 ? rc : HPC_RUN_YIELD;
    }
    return HPC_RUN_DONE;
}
