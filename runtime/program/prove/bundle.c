/*
 * bundle.c: proof rules for bundles: each value in one moves as if it were alone.
 */
#include "runtime/program/prove/priv.h"

static bundle *bundle_of(const prover *w, hpc_value v)
{
    return w->bundle_of[v] > 0 ? &w->bundle[w->bundle_of[v] - 1] : NULL;
}

bool prove_bundles(const prover *w, const hpc_insn *i)
{
    if (i->op == &hpc_op_bundle) return true;
    return (i->op->comm >= 0 || i->op->view) && bundle_of(w, i->operand[1]) != NULL;
}

static int hold(prover *w, hpc_value v, const bundle *b)
{
    int rc = hpc_grow(&w->bundle, &w->bundle_cap, w->bundle_n + 1, sizeof *w->bundle);
    if (rc < 0) return rc;
    w->bundle[w->bundle_n++] = *b;
    w->bundle_of[v] = (int32_t)w->bundle_n;
    return HPC_OK;
}

static int put_together(prover *w, const hpc_insn *i)
{
    bundle b = {.parts = ((const hpc_bundle_attr *)i->attr)->parts};
    int rc;
    for (int k = 1; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0) TRY(prove_read(&b.part[b.n++], w, i->operand[k]));
    TRY(hold(w, i->operand[0], &b));
out:
    return rc;
}

/* All of them are summed; scattered, if they lie part by part as ranks get them. */
static int communicate(prover *w, const hpc_insn *i)
{
    bundle b = *bundle_of(w, i->operand[1]);
    bool scatters = i->op->comm == HPC_REDUCE_SCATTER;
    int rc = HPC_OK;
    if (!scatters && i->op->comm != HPC_ALL_REDUCE)
        return hpc_fail(HPC_E_STATE, "%s of a bundle mixes what it holds", i->op->sig.name);
    if (b.parts != (scatters ? ((const hpc_comm_attr *)i->attr)->ranks : 1))
        return hpc_fail(HPC_E_STATE, "the bundle lies in %lld parts", (long long)b.parts);
    for (int k = 0; k < b.n; k++) TRY(prove_communicate(w, &b.part[k], i));
    b.parts = 1;
    TRY(hold(w, i->operand[0], &b));
out:
    return rc;
}

/* A view of one of them. */
static int take_apart(prover *w, const hpc_insn *i)
{
    const bundle *b = bundle_of(w, i->operand[1]);
    const hpc_view_attr *at = i->attr;
    int64_t first = 0, n = 1;
    for (int d = 0; d < at->rank; d++) n *= at->extent[d];
    for (int k = 0; k < b->n && b->parts == 1; k++) {
        map m = b->part[k];
        if (first == at->row && map_elements(&m) == n) return prove_hold(w, i->operand[0], &m);
        first += map_elements(&m);
    }
    return hpc_fail(
        HPC_E_STATE,
        "takes %lld elements from %lld on out of a bundle, which do not match its values",
        (long long)n, (long long)at->row);
}

int prove_bundle(prover *w, const hpc_insn *i)
{
    if (i->op == &hpc_op_bundle) return put_together(w, i);
    return i->op->view ? take_apart(w, i) : communicate(w, i);
}
