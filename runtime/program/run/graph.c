/*
 * graph.c: repeated runs on devices that record commands: parts of a segment's steps are recorded
 * once for each slot, then replayed by one command. Addresses and arguments never change after
 * opening; run-time extents and guards are read by the device.
 *
 * A segment without transfers is one part. Otherwise each run of kernels in the compute queue is
 * one. The first run of a part is not recorded, because drivers load kernels then.
 */
#include "runtime/program/run/priv.h"

enum { LEAST = 2 }; /* kernels that are worth a graph */

static bool is_transfer(const step *s)
{
    return s->kind == STEP_START || s->kind == STEP_WAIT;
}

static bool has_transfers(const plan_segment *g)
{
    for (int64_t k = 0; k < g->step_n; k++)
        if (is_transfer(&g->step[k])) return true;
    return false;
}

static bool is_recordable(const step *s, bool whole)
{
    return whole || (s->kind == STEP_KERNEL && s->queue == HPC_COMPUTE);
}

/* The end of the part that begins at `first`, and its kernels. */
static int64_t end_of_part(int64_t *kernels, const plan_segment *g, int64_t first, bool whole)
{
    int64_t at = first;
    for (*kernels = 0; at < g->step_n && is_recordable(&g->step[at], whole); at++)
        *kernels += g->step[at].kind == STEP_KERNEL;
    return at;
}

static int add_part(hpc_exec *e, plan_segment *g, int64_t first, int64_t end)
{
    recorded_part part = {.first = first, .end = end};
    part.slot = hpc_arena_alloc(e->arena, (size_t)e->slots, sizeof *part.slot);
    int rc = part.slot ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    TRY(hpc_grow(&g->part, &g->part_cap, g->part_n + 1, sizeof *g->part));
    g->part[g->part_n++] = part;
out:
    return rc;
}

int hpc_graphs_open(hpc_exec *e)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    int rc = HPC_OK;
    if (e->timed || !b->capture || !hpc_device_about(e->device).graphs) return HPC_OK;
    for (int s = 0; s < e->p->segment_n; s++) {
        plan_segment *g = &e->segment[s];
        const bool whole = !has_transfers(g);
        int64_t kernels, end;
        for (int64_t k = 0; k<g->step_n; k = end> k ? end : k + 1) {
            end = end_of_part(&kernels, g, k, whole);
            if (kernels >= LEAST) TRY(add_part(e, g, k, end));
        }
    }
out:
    return rc;
}

void hpc_graphs_close(hpc_exec *e)
{
    const hpc_backend *b = hpc_device_backend(e->device);
    for (int s = 0; e->segment && s < e->p->segment_n; s++) {
        plan_segment *g = &e->segment[s];
        for (int64_t k = 0; k < g->part_n * e->slots; k++) {
            void *graph = g->part[k / e->slots].slot[k % e->slots].graph;
            if (graph) b->discard(e->device, graph);
        }
        hpc_free(g->part);
    }
}

const recorded_part *hpc_graph_part(const plan_segment *g, int64_t at)
{
    for (int64_t k = 0; k < g->part_n; k++)
        if (g->part[k].first == at) return &g->part[k];
    return NULL;
}

/* ---- recording ------------------------------------------------------------------------------ */

static bool writes(const hpc_exec *e, const hpc_insn *i, hpc_value v)
{
    const hpc_value root = hpc_value_root(e->p, v);
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && hpc_insn_role(e->p, i, k) & HPC_OUT &&
            hpc_value_root(e->p, i->operand[k]) == root)
            return true;
    return false;
}

/* The end of the branch that begins at step k: kernels of one queue under one guard, which none of
 * them writes. */
static int64_t end_of_branch(const hpc_run *r, int64_t k, int64_t end)
{
    const hpc_exec *e = r->exec;
    const plan_segment *g = &e->segment[r->segment];
    const hpc_insn *insn = e->p->segment[r->segment].insn;
    const hpc_value guard = g->step[k].guard;
    for (; k < end; k++) {
        const step *s = &g->step[k];
        if (s->kind != STEP_KERNEL || s->queue != HPC_COMPUTE || s->guard != guard) break;
        if (guard < 0 || writes(e, &insn[s->insn], guard)) break;
    }
    return k;
}

static int record_steps(hpc_run *r, const recorded_part *p)
{
    hpc_exec *e = r->exec;
    const hpc_backend *b = hpc_device_backend(e->device);
    const plan_segment *g = &e->segment[r->segment];
    int64_t branch_end = -1;
    int rc = HPC_OK;
    for (int64_t k = p->first; k < p->end; k++) {
        const int64_t end = k > branch_end ? end_of_branch(r, k, p->end) : k;
        if (end - k >= LEAST) {
            TRY(b->branch(e->device, hpc_exec_data(e, r->slot, g->step[k].guard)));
            branch_end = end - 1;
        }
        TRY(hpc_enqueue_step(r, k));
        if (k == branch_end) TRY(b->branch(e->device, NULL));
    }
out:
    return rc;
}

static int record(hpc_run *r, const recorded_part *p, void **graph)
{
    hpc_exec *e = r->exec;
    const hpc_backend *b = hpc_device_backend(e->device);
    int rc = b->capture(e->device);
    if (rc < 0) return rc;
    rc = record_steps(r, p);
    if (rc < 0)
        b->captured(e->device, NULL);
    else
        rc = b->captured(e->device, graph);
    return rc;
}

int hpc_graph_run(hpc_run *r, const recorded_part *p, bool *done)
{
    hpc_exec *e = r->exec;
    recorded *slot = &p->slot[r->slot];
    int rc = HPC_OK;
    *done = slot->run_n++ > 0;
    if (!*done) return HPC_OK;
    if (!slot->graph) TRY(record(r, p, &slot->graph));
    TRY(hpc_device_backend(e->device)->replay(e->device, slot->graph));
out:
    return rc;
}
