/*
 * print.c: text form of an opened program: kernels, barriers, addresses, totals.
 */
#include "runtime/program/run/priv.h"

static const char *const space_name[HPC_SPACE_N] = {"state", "slot", "local"};

static const char *sync_name(int kind)
{
    switch (kind) {
    case STEP_BARRIER: return "  | barrier";
    case STEP_JOIN: return "  | join";
    case STEP_WAIT: return "  | wait";
    default: return NULL;
    }
}

/* Where its first output lies, its kernel, and what had to be waited for before it. */
static int note(hpc_buf *out, void *user, int segment, int64_t insn)
{
    const hpc_exec *e = user;
    const plan_segment *g = &e->segment[segment];
    const hpc_insn *i = &e->p->segment[segment].insn[insn];
    if (g->plan[insn].name) hpc_buf_printf(out, "  <%s>", g->plan[insn].name);
    if (i->op->sig.operand_n && hpc_insn_role(e->p, i, 0) & HPC_OUT)
        hpc_buf_printf(out, "  @%s+%lld", space_name[e->place.space[i->operand[0]]],
                       (long long)e->place.offset[i->operand[0]]);
    for (int64_t k = 0; k < g->step_n; k++)
        if (g->step[k].insn == insn && sync_name(g->step[k].kind))
            hpc_buf_text(out, sync_name(g->step[k].kind));
    return HPC_OK;
}

int hpc_exec_print(hpc_buf *out, const hpc_exec *e)
{
    int rc = hpc_program_print(out, e->p, note, (void *)e);
    if (rc < 0) return rc;
    hpc_buf_text(out, "\n");
    for (int s = 0; s < e->p->segment_n; s++) {
        const hpc_exec_stats *st = &e->segment[s].stats;
        hpc_buf_printf(
            out, "%-14s %5lld instructions  %4lld barriers  %3lld yields  %.4g flops  %.4g bytes\n",
            e->p->segment[s].name, (long long)st->instructions, (long long)st->barriers,
            (long long)st->yields, st->flops, st->bytes);
    }
    for (int s = 0; s < HPC_SPACE_N; s++)
        hpc_buf_printf(out, "%-14s %12zu bytes, at most %zu alive%s\n", space_name[s],
                       e->place.bytes[s], e->place.live[s],
                       s == HPC_SPACE_SLOT && e->slots > 1 ? ", each" : "");
    return out->failed ? HPC_E_NOMEM : HPC_OK;
}
