/*
 * soft.c: op table entry of soft: the steps of a softmax over a split vocabulary. No gradient
 * passes: head_loss_grad computes that of the whole.
 */
#include "runtime/program/op/priv.h"

enum { SOFT_Y, SOFT_A, SOFT_B, SOFT_TARGET, SOFT_N };

static const char *const soft_names[] = {
    [HPC_SOFT_EXP] = "exp", [HPC_SOFT_LOG] = "log", [HPC_SOFT_LESS] = "less", NULL};

static const hpc_field soft_field[] = {
    {"kind", HPC_FIELD_NAME, offsetof(hpc_soft_attr, kind), soft_names, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int soft_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_soft_attr *at = i->attr;
    int rc;
    if (at->kind < HPC_SOFT_EXP || at->kind > HPC_SOFT_LESS)
        return hpc_fail(HPC_E_ARG, "kind %d is not exp, log or less", at->kind);
    TRY(hpc_op_expect(i, type, SOFT_A, HPC_OP_REAL, 0, HPC_RANK_MAX));
    TRY(hpc_op_expect(i, type, SOFT_B, HPC_OP_REAL, 0, HPC_RANK_MAX));
    TRY(hpc_op_alike(i, type, SOFT_B, SOFT_A));
    TRY(hpc_op_expect(i, type, SOFT_TARGET, HPC_OP_INDEX, 0, HPC_RANK_MAX));
    TRY(hpc_op_alike(i, type, SOFT_TARGET, SOFT_A));
    TRY(hpc_op_output(i, type, SOFT_Y, hpc_op_like(&type[SOFT_A], hpc_op_wide(&type[SOFT_A]))));
out:
    return rc;
}

static int soft_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->soft ? k->soft(plan, workers, args) : hpc_op_missing("soft");
}

const hpc_op hpc_op_soft = {
    .sig = {.name = "soft",
            .operand_n = SOFT_N,
            .attr_bytes = sizeof(hpc_soft_attr),
            .operand =
                {{"y", HPC_OUT}, {"a", HPC_IN}, {"b", HPC_IN}, {"target", HPC_IN | HPC_OPTIONAL}}},
    .field = soft_field,
    .comm = -1,
    .shape = soft_shape,
    .layout = hpc_op_layout_pointwise,
    .select = soft_select,
};

hpc_value hpc_soft_of(hpc_program *p, hpc_soft_kind kind, hpc_value a, hpc_value b,
                      hpc_value target)
{
    hpc_value operand[SOFT_N] = {HPC_NEW, a, b, target};
    hpc_soft_attr attr = {.kind = (int)kind};
    return hpc_emit(p, &hpc_op_soft, operand, &attr);
}
