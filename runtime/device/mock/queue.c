/*
 * queue.c: the mock's queues: commands wait for a fence, and then run in an order as different from
 * that of enqueueing as joins allow.
 */
#include <string.h>

#include "runtime/device/mock/priv.h"

int hpc_mock_push(mock *m, hpc_queue q, const command *c)
{
    queue *u = &m->queue[q];
    int rc = hpc_grow(&u->command, &u->cap, u->n + 1, sizeof *u->command);
    if (rc < 0) return rc;
    u->command[u->n++] = *c;
    return HPC_OK;
}

static int grow_own(mock *m, size_t bytes)
{
    if (m->own && bytes <= m->own_bytes) return HPC_OK;
    hpc_free(m->own);
    m->own_bytes = 0;
    m->own = hpc_alloc_aligned(bytes, 1, HPC_ALIGN);
    if (!m->own) return HPC_E_NOMEM;
    m->own_bytes = bytes;
    return HPC_OK;
}

static int run_launch(mock *m, const command *c)
{
    hpc_launch l = {.worker = 0,
                    .workers = 1,
                    .barrier = &m->alone,
                    .workspace = hpc_mock_host(m, c->workspace),
                    .fault = &m->noted};
    const int32_t *guard = hpc_mock_host(m, c->guard);
    if (guard && *guard == 0) return HPC_OK;
    size_t coop = (c->plan.cpu.coop_bytes + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
    int rc = grow_own(m, c->plan.cpu.worker_bytes + 2 * coop);
    if (rc < 0) return rc;
    l.cpu = (hpc_cpu_launch){.traits = c->plan.cpu.traits,
                             .worker = (char *)m->own + 2 * coop,
                             .coop = {m->own, (char *)m->own + coop}};
    bool before = m->noted.kind != HPC_FAULT_NONE;
    rc = c->plan.run(&l, m->args + c->args);
    if (rc >= 0) return HPC_OK;
    if (m->noted.kind == HPC_FAULT_NONE || hpc_error_get()->code < 0)
        return hpc_error_where("%s #%d", c->at.segment, c->at.insn);
    if (!before) m->noted.at.segment = c->at.segment, m->noted.at.insn = c->at.insn;
    return HPC_OK; /* as on a GPU, where later commands run */
}

static int run_command(mock *m, const command *c)
{
    switch (c->kind) {
    case COMMAND_LAUNCH: return run_launch(m, c);
    case COMMAND_TRANSFER: return c->transfer(c->user);
    case COMMAND_COPY: memmove(c->dst, c->src, c->bytes); return HPC_OK;
    case COMMAND_FILL: memset(c->dst, c->byte, c->bytes); return HPC_OK;
    case COMMAND_RECORD:
        m->event[c->event].reached = true;
        m->event[c->event].at = hpc_clock_ns();
        return HPC_OK;
    default: return HPC_OK;
    }
}

/* As far as it can go; returns whether it moved. After a fault nothing is computed any more, but
 * events are reached, so that every queue comes to its end. */
static bool drain(mock *m, queue *u)
{
    int64_t from = u->at;
    for (; u->at < u->n; u->at++) {
        const command *c = &u->command[u->at];
        if (c->kind == COMMAND_WAIT && !m->event[c->event].reached) break;
        if (m->fault.code < 0 && c->kind != COMMAND_RECORD) continue;
        if (run_command(m, c) < 0) hpc_mock_fault(m);
    }
    return u->at > from;
}

/* The last queue first: the compute queue, which most things wait for, is the latest. */
void hpc_mock_drain(mock *m)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (int q = HPC_QUEUE_N - 1; q >= 0; q--) moved = drain(m, &m->queue[q]) || moved;
    }
    for (int q = 0; q < HPC_QUEUE_N; q++) {
        hpc_assert(m->queue[q].at ==
                   m->queue[q].n); /* an event is recorded before it is waited for */
        m->queue[q].n = m->queue[q].at = 0;
    }
    m->args_n = 0;
}

/* A fence turns the record of faults into an error. */
static void report_noted(mock *m)
{
    if (m->noted.kind == HPC_FAULT_NONE) return;
    hpc_fault_fail(&m->noted);
    hpc_error_where("%s #%d", m->noted.at.segment, m->noted.at.insn);
    hpc_mock_fault(m);
    m->noted = (hpc_fault){0};
}

int hpc_mock_run(mock *m)
{
    hpc_mock_drain(m);
    m->recycle = true;
    hpc_mock_forget_order(m);
    report_noted(m);
    if (m->fault.code == HPC_OK) return HPC_OK;
    hpc_error_clear();
    int rc = hpc_error_adopt(&m->fault);
    m->fault = (hpc_error){0};
    return rc;
}
