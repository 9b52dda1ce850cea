/*
 * stage_balance.c: divides the blocks of a program into stages of about equal cost.
 */
#include "runtime/program/stage_priv.h"

int stage_blocks(const hpc_program *p, int s)
{
    int n = 0;
    for (int64_t k = 0; k < p->segment[s].insn_n; k++)
        if (p->segment[s].insn[k].tags.block >= n) n = p->segment[s].insn[k].tags.block + 1;
    return n;
}

static void add_costs(double *cost, int blocks, const hpc_program *p, int s)
{
    bool first = p->segment[s].phase == HPC_FORWARD;
    int before = 0;
    for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
        const hpc_insn *i = &p->segment[s].insn[k];
        if (stage_has_parts(p, i)) continue;
        hpc_cost c = hpc_insn_cost(p, i);
        if (i->tags.block >= 0) before = 1;
        int at = i->tags.block >= 0 ? i->tags.block : first != before ? 0 : blocks - 1;
        cost[at] += c.flops + c.bytes;
    }
}

/* Blocks from `from` on in `stages` groups of at most `most`; false: they do not fit. */
static bool divide_by(int *first, const double *cost, int blocks, int stages, double most)
{
    int at = 0;
    for (int k = 0; k < stages; k++) {
        double sum = 0;
        first[k] = at;
        int end = blocks - (stages - 1 - k); /* the others need a block each */
        while (at < end && (at == first[k] || sum + cost[at] <= most)) sum += cost[at++];
        if (sum > most) return false;
    }
    return at == blocks;
}

int hpc_stage_balance(int *first, int stages, const hpc_program *p, int forward, int backward)
{
    enum { HALVINGS = 60 };
    int blocks = stage_blocks(p, forward);
    double low = 0, high = 0;
    if (stages > blocks)
        return hpc_fail(HPC_E_SHAPE, "%d stages for %d blocks: use at most %d", stages, blocks,
                        blocks);
    double *cost = hpc_alloc((size_t)blocks + 1, sizeof *cost);
    if (!cost) return HPC_E_NOMEM;
    add_costs(cost, blocks, p, forward);
    add_costs(cost, blocks, p, backward);
    for (int k = 0; k < blocks; k++) high += cost[k];
    for (int k = 0; k < HALVINGS; k++) {
        double middle = (low + high) / 2;
        if (divide_by(first, cost, blocks, stages, middle))
            high = middle;
        else
            low = middle;
    }
    hpc_assert(divide_by(first, cost, blocks, stages, high));
    hpc_free(cost);
    return HPC_OK;
}
