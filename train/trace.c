/*
 * trace.c: collects the trace events of all ranks on the first rank.
 */
#include "train/run_priv.h"

enum { TRACE_TAG = 1 };

/* One event per instruction; for a transfer events when it is started, waited for and complete. In
 * between, progress of transfers in flight may be recorded. */
int64_t trainer_events(const hpc_trainer *t, int64_t steps)
{
    int64_t n = 1; /* the step */
    for (int s = 0; s < t->p->segment_n; s++) {
        const hpc_segment *g = &t->p->segment[s];
        int64_t transfers = 0;
        for (int64_t k = 0; k < g->insn_n; k++) transfers += g->insn[k].op->comm >= 0;
        n += (2 + (transfers ? 2 : 1) * g->insn_n + 2 * transfers) * trainer_times(t, s);
    }
    return steps * n;
}

/* Ranks of several machines have clocks of their own: all begin to count when they have met. */
int trainer_begin(hpc_trainer *t)
{
    int64_t one = 1, all;
    int rc = HPC_OK;
    if (t->o.grid && t->o.traced > 0)
        rc = hpc_link_run(
            hpc_grid_world(t->o.grid),
            &(hpc_comm){
                .kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &one, .recv = &all});
    hpc_exec_events_clear(t->exec);
    t->zero = hpc_clock_ns();
    return rc;
}

static hpc_comm message(hpc_comm_kind kind, int peer, int64_t n)
{
    return (hpc_comm){.kind = kind, .dtype = HPC_I32, .peer = peer, .tag = TRACE_TAG, .n = n};
}

/* Pads the text with blanks to a multiple of four bytes; JSON ignores them. */
static int pad(hpc_buf *text)
{
    while (text->n % 4 && !text->failed) hpc_buf_text(text, " ");
    return text->failed ? HPC_E_NOMEM : HPC_OK;
}

static int tell_first(hpc_link *world, const hpc_buf *text)
{
    hpc_comm c = message(HPC_SEND, 0, (int64_t)text->n / 4);
    c.send = text->data;
    return hpc_link_run(world, &c);
}

static int hear(hpc_buf *out, hpc_link *world, int rank, int64_t words)
{
    hpc_comm c = message(HPC_RECV, rank, words);
    int32_t *room = hpc_alloc((size_t)words + 1, sizeof *room);
    int rc = room ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    c.recv = room;
    TRY(hpc_link_run(world, &c));
    TRY(hpc_buf_text(out, ",\n"));
    TRY(hpc_buf_add(out, room, (size_t)words * 4));
out:
    hpc_free(room);
    return rc;
}

/* Appends the texts of the other ranks in rank order; they clear theirs. */
static int bring_together(hpc_buf *text, hpc_link *world)
{
    int size = hpc_link_size(world), rc;
    int64_t mine = (int64_t)text->n / 4, *words = hpc_alloc((size_t)size, sizeof *words);
    if (!words) return HPC_E_NOMEM;
    TRY(hpc_link_run(
        world,
        &(hpc_comm){
            .kind = HPC_ALL_GATHER, .dtype = HPC_I64, .n = 1, .send = &mine, .recv = words}));
    if (hpc_link_rank(world) > 0) {
        TRY(tell_first(world, text));
        text->n = 0;
    } else {
        for (int r = 1; r < size; r++) TRY(hear(text, world, r, words[r]));
    }
out:
    hpc_free(words);
    return rc;
}

int hpc_trainer_trace(hpc_buf *out, hpc_trainer *t)
{
    hpc_link *world = t->o.grid ? hpc_grid_world(t->o.grid) : NULL;
    hpc_buf text = {0};
    int rc;
    hpc_exec_events_end(t->exec);
    TRY(hpc_exec_trace(&text, t->exec, world ? hpc_link_rank(world) : 0, t->zero));
    TRY(pad(&text));
    if (world) TRY(bring_together(&text, world));
    if (!trainer_leads(t)) goto out;
    TRY(hpc_buf_text(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"));
    TRY(hpc_buf_add(out, text.data, text.n));
    TRY(hpc_buf_text(out, "]}\n"));
out:
    hpc_buf_release(&text);
    return rc;
}
