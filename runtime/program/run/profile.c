/*
 * profile.c: the time of each instruction: on host-memory devices by the clock of worker 0
 * (walk.c), on others by events around each kernel, which are read after the next fence.
 */
#include "runtime/program/run/priv.h"

int hpc_profile_open(hpc_exec *e)
{
    int64_t steps = 0;
    for (int s = 0; s < e->p->segment_n; s++) {
        size_t n = (size_t)e->p->segment[s].insn_n + 1;
        e->segment[s].ns = hpc_arena_alloc(e->arena, n, sizeof *e->segment[s].ns);
        if (!e->segment[s].ns) return HPC_E_NOMEM;
        steps += e->segment[s].step_n;
    }
    if (e->host) return HPC_OK;
    e->timed = hpc_arena_alloc(e->arena, (size_t)steps + 1, sizeof *e->timed);
    e->timed_cap = steps + 1;
    return e->timed ? HPC_OK : HPC_E_NOMEM;
}

int hpc_profile_begin(hpc_exec *e, hpc_queue q)
{
    int rc = HPC_OK;
    if (!e->timed) return HPC_OK;
    if (e->timed_n == e->timed_cap) TRY(hpc_profile_fence(e));
    e->timed_fence = hpc_device_about(e->device).fence_n;
    TRY(hpc_device_backend(e->device)->record(e->device, q, &e->timed[e->timed_n].from));
out:
    return rc;
}

int hpc_profile_end(hpc_exec *e, hpc_queue q, int segment, int32_t insn)
{
    if (!e->timed) return HPC_OK;
    timing *t = &e->timed[e->timed_n++];
    t->segment = segment;
    t->insn = insn;
    return hpc_device_backend(e->device)->record(e->device, q, &t->to);
}

/* A fence of someone else's has recycled the events: their times are lost. */
static bool are_readable(const hpc_exec *e)
{
    return hpc_device_about(e->device).fence_n == e->timed_fence + 1;
}

int hpc_profile_fence(hpc_exec *e)
{
    int rc = HPC_OK;
    TRY(hpc_device_fence(e->device));
    for (int64_t k = 0; k < e->timed_n && are_readable(e); k++) {
        const timing *t = &e->timed[k];
        int64_t ns;
        TRY(hpc_device_backend(e->device)->elapsed(e->device, t->from, t->to, &ns));
        e->segment[t->segment].ns[t->insn] += ns;
    }
out:
    e->timed_n = 0;
    return rc;
}
