/*
 * admit.c: runs the op admit: ranks give each other the numbers of tokens that chose each expert,
 * from which each rank knows how many choices come before its own.
 *
 * Choices are admitted in the order of dispatch on one rank: first choices of all tokens before
 * second ones, and tokens ascend.
 */
#include <string.h>

#include "runtime/program/run/priv.h"

enum { FIRST, COUNTS }; /* of a rank's numbers: its first token, then choices by rank and expert */

static int64_t numbers(const hpc_exec *e, const hpc_insn *i)
{
    const hpc_admit_attr *at = i->attr;
    return COUNTS + e->p->value[i->operand[3]].type.extent[1] * at->experts;
}

int hpc_admit_open(hpc_exec *e, const hpc_insn *i)
{
    const hpc_admit_attr *at = i->attr;
    hpc_link *link = e->self;
    int rc = HPC_OK;
    if (!e->host)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "choices of experts are counted in the host's memory, which backend %s does "
                     "not compute in",
                     hpc_device_about(e->device).backend));
    if (e->grid) TRY(hpc_grid_link(&link, e->grid, (hpc_axes)at->comm.axes));
    if (hpc_link_size(link) != at->comm.ranks)
        TRY(hpc_fail(HPC_E_SHAPE, "is for %lld ranks, and the grid has %d",
                     (long long)at->comm.ranks, hpc_link_size(link)));
    size_t bytes = (size_t)(numbers(e, i) * at->comm.ranks) * sizeof(int32_t);
    if (bytes > e->exchange_bytes) e->exchange_bytes = bytes;
out:
    return rc;
}

static int count(int32_t *out, const hpc_admit_attr *at, const int32_t *expert, int64_t tokens,
                 int64_t k)
{
    out[FIRST] = (int32_t)at->first;
    for (int64_t s = 0; s < tokens * k; s++) {
        if (expert[s] >= at->experts)
            return hpc_fail(HPC_E_ARG, "admit: token %lld goes to expert %lld of %lld",
                            (long long)(s / k), (long long)expert[s], (long long)at->experts);
        if (expert[s] >= 0) out[COUNTS + s % k * at->experts + expert[s]]++;
    }
    return HPC_OK;
}

/* before[j][e]: choices of expert e that come before this rank's j-th ones. all: of each rank, n
 * numbers. */
static void count_before(int32_t *before, const hpc_admit_attr *at, const int32_t *all, int64_t n,
                         int64_t k)
{
    for (int64_t e = 0; e < at->experts; e++) {
        int32_t sum = 0;
        for (int64_t j = 0; j < k; j++) {
            int64_t c = j * at->experts + e;
            before[c] = sum;
            for (int64_t r = 0; r < at->comm.ranks; r++) {
                if (all[r * n + FIRST] < at->first) before[c] += all[r * n + COUNTS + c];
                sum += all[r * n + COUNTS + c];
            }
        }
    }
}

static void put_real(void *data, int64_t i, double x, bool wide)
{
    if (wide)
        ((double *)data)[i] = x;
    else
        ((float *)data)[i] = (float)x;
}

/* Admits this rank's choices. */
static void admit(hpc_exec *e, int slot, const hpc_insn *i, int32_t *before)
{
    const hpc_admit_attr *at = i->attr;
    const hpc_type *t = &e->p->value[i->operand[3]].type;
    const int32_t *expert = hpc_exec_data(e, slot, i->operand[3]);
    int32_t *kept = hpc_exec_data(e, slot, i->operand[0]);
    int64_t k = t->extent[1], dropped = 0;
    for (int64_t s = 0; s < t->extent[0] * k; s++) {
        int64_t x = expert[s];
        bool finds = x >= 0 && before[s % k * at->experts + x]++ < at->cap;
        kept[s] = finds ? (int32_t)x : -1;
        dropped += x >= 0 && !finds;
    }
    put_real(hpc_exec_data(e, slot, i->operand[1]), 0, (double)dropped, at->wide);
}

static void put_load(hpc_exec *e, int slot, const hpc_insn *i, const int32_t *counts)
{
    const hpc_admit_attr *at = i->attr;
    const hpc_type *t = &e->p->value[i->operand[3]].type;
    double tokens = (double)(at->tokens > 0 ? at->tokens : t->extent[0]);
    for (int64_t x = 0; x < at->experts; x++) {
        int64_t n = 0;
        for (int64_t j = 0; j < t->extent[1]; j++) n += counts[j * at->experts + x];
        put_real(hpc_exec_data(e, slot, i->operand[2]), x, (double)n / tokens, at->wide);
    }
}

int hpc_admit_run(hpc_exec *e, int slot, const hpc_insn *i)
{
    const hpc_admit_attr *at = i->attr;
    const hpc_type *t = &e->p->value[i->operand[3]].type;
    int64_t n = numbers(e, i);
    int32_t *mine = e->exchange_room[0], *all = e->exchange_room[1], *before = e->exchange_room[2];
    hpc_link *link = e->self;
    int rc = HPC_OK;
    if (e->grid) TRY(hpc_grid_link(&link, e->grid, (hpc_axes)at->comm.axes));
    memset(mine, 0, (size_t)n * sizeof *mine);
    TRY(count(mine, at, hpc_exec_data(e, slot, i->operand[3]), t->extent[0], t->extent[1]));
    TRY(hpc_link_run(
        link,
        &(hpc_comm){
            .kind = HPC_ALL_GATHER, .dtype = HPC_I32, .n = n, .send = mine, .recv = all}));
    count_before(before, at, all, n, t->extent[1]);
    put_load(e, slot, i, mine + COUNTS);
    admit(e, slot, i, before);
out:
    return rc;
}
