/*
 * transfer.c: what the executor sends over links for a collective instruction: the collective
 * itself, or the counts and rows of mixtures of experts (runtime/program/run/exchange.c, admit.c).
 */
#include "train/transfer.h"

#include "runtime/program/op/op.h"

static int64_t elements(const hpc_type *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->extent[d];
    return n;
}

/* The counts of a plan; with dropping, also those that ranks along row have received. */
static int of_plan(hpc_transfer *out, const hpc_exchange_attr *at)
{
    out[0] = (hpc_transfer){.kind = HPC_ALL_TO_ALL,
                            .axes = (hpc_axes)at->comm.axes,
                            .dtype = HPC_I32,
                            .n = at->experts / at->comm.ranks};
    out[1] = (hpc_transfer){
        .kind = HPC_ALL_GATHER, .axes = 1u << HPC_AXIS_ROW, .dtype = HPC_I32, .n = at->experts};
    return at->rows > 1 ? 2 : 1;
}

/* Rows to their experts and, with dropping, to all ranks along row; or back to their tokens. */
static int of_rows(hpc_transfer *out, const hpc_type *y, const hpc_type *x,
                   const hpc_exchange_attr *at)
{
    int64_t n = elements(at->back ? y : x);
    out[0] = (hpc_transfer){.kind = HPC_ALL_TO_ALL,
                            .axes = (hpc_axes)at->comm.axes,
                            .dtype = (hpc_dtype)x->dtype,
                            .n = n / at->comm.ranks};
    out[1] = (hpc_transfer){
        .kind = HPC_ALL_TO_ALL, .axes = 1u << HPC_AXIS_ROW, .dtype = (hpc_dtype)x->dtype, .n = n};
    return at->rows > 1 && !at->back ? 2 : 1;
}

/* A rank's first token, and its choices by rank and expert. */
static int of_admission(hpc_transfer *out, const hpc_type *expert, const hpc_admit_attr *at)
{
    *out = (hpc_transfer){.kind = HPC_ALL_GATHER,
                          .axes = (hpc_axes)at->comm.axes,
                          .dtype = HPC_I32,
                          .n = 1 + expert->extent[1] * at->experts};
    return 1;
}

int hpc_transfers_of(hpc_transfer out[HPC_TRANSFERS], const hpc_program *p, const hpc_insn *i)
{
    const hpc_type *y = &p->value[i->operand[0]].type, *x = &p->value[i->operand[1]].type;
    const hpc_comm_attr *at = i->attr;
    if (i->op == &hpc_op_exchange_plan) return of_plan(out, i->attr);
    if (i->op == &hpc_op_exchange) return of_rows(out, y, x, i->attr);
    if (i->op == &hpc_op_admit) return of_admission(out, &p->value[i->operand[3]].type, i->attr);
    hpc_comm_kind kind = (hpc_comm_kind)i->op->comm;
    const hpc_type *t = kind == HPC_REDUCE_SCATTER ? y : x;
    out[0] = (hpc_transfer){.kind = kind,
                            .axes = (hpc_axes)at->axes,
                            .dtype = (hpc_dtype)x->dtype,
                            .n = (int64_t)(hpc_transfer_share(p, t) * (double)elements(t))};
    return 1;
}

int64_t hpc_transfer_bytes(const hpc_transfer *t)
{
    const hpc_dtype_info *d = hpc_dtype_get(t->dtype);
    return t->n / d->block * (int64_t)d->block_bytes;
}

double hpc_transfer_share(const hpc_program *p, const hpc_type *t)
{
    if (t->ragged < 0 || t->count < 0) return 1;
    const hpc_value_info *count = &p->value[t->count];
    if (count->kind != HPC_VALUE_TEMP) return 1;
    const hpc_insn *made = &p->segment[count->segment].insn[count->insn];
    if (made->op != &hpc_op_exchange_plan) return 1;
    const hpc_exchange_attr *at = made->attr;
    return 1.0 / (double)at->comm.ranks;
}
