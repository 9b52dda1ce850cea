/*
 * soft.c: proof rules for combining logarithms of partial sums: the maximum over the ranks of an
 * axis, the sum of exponentials relative to it, and its logarithm. Each step must use the same
 * logarithms and the same axis.
 */
#include "runtime/program/priv.h"
#include "runtime/program/prove/priv.h"

bool prove_joins(const hpc_insn *i)
{
    return i->op == &hpc_op_soft && ((const hpc_soft_attr *)i->attr)->kind != HPC_SOFT_LESS;
}

/* True if x is at that stage of the value whose logarithms m holds. */
static bool is_stage(const map *x, const map *m, int stage)
{
    map want = *m;
    want.joins = (int8_t)stage;
    return map_equal(x, &want);
}

int prove_join(prover *w, const hpc_insn *i)
{
    bool logarithm = ((const hpc_soft_attr *)i->attr)->kind == HPC_SOFT_LOG;
    map x, most;
    value_text text;
    int rc;
    TRY(prove_read(&x, w, i->operand[1]));
    TRY(prove_read(&most, w, i->operand[2]));
    map m = x;
    m.along = most.along;
    bool fits = logarithm ? x.joins == PROVE_SUM && x.along == most.along : x.joins == 0;
    if (i->operand[3] >= 0 || !fits || !is_stage(&most, &m, PROVE_MOST))
        TRY(hpc_fail(HPC_E_STATE, "%s is not %s of the logarithms whose largest is given",
                     prove_value(text, w, i->operand[1]),
                     logarithm ? "the sum of exponentials" : "what ranks have"));
    m.joins = logarithm ? 0 : PROVE_EXPONENTIALS;
    if (logarithm) m.partial[m.along] = 0;
    if (logarithm) m.along = 0;
    TRY(prove_hold(w, i->operand[0], &m));
out:
    return rc;
}
