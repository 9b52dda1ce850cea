/*
 * update.c: rows of sgd and adamw: optimizers that treat elements one by one.
 *
 * Neither is linear, so a partial gradient is summed before it arrives.
 */
#include "runtime/program/op/priv.h"

/* Operand k, if present, is real and has the parameter's shape (operand 0). */
static int check_like_param(const hpc_insn *i, const hpc_type *type, int k)
{
    int rc = hpc_op_expect(i, type, k, HPC_OP_REAL, 0, HPC_RANK_MAX);
    return rc < 0 ? rc : hpc_op_alike(i, type, k, 0);
}

/* ---- sgd ------------------------------------------------------------------- */

enum { SGD_PARAM, SGD_MOM, SGD_GRAD, SGD_LR, SGD_N };

static const hpc_field sgd_field[] = {
    {"momentum", HPC_FIELD_REAL, offsetof(hpc_sgd_attr, momentum), NULL, false},
    {"decay", HPC_FIELD_REAL, offsetof(hpc_sgd_attr, decay), NULL, false},
    {"nesterov", HPC_FIELD_BOOL, offsetof(hpc_sgd_attr, nesterov), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int sgd_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_sgd_attr *at = i->attr;
    int rc;
    if (!(at->momentum >= 0 && at->momentum <= 1))
        return hpc_fail(HPC_E_ARG, "momentum is %g; it must be from 0 to 1", at->momentum);
    for (int k = SGD_PARAM; k <= SGD_GRAD; k++) TRY(check_like_param(i, type, k));
    TRY(hpc_op_expect(i, type, SGD_LR, HPC_OP_REAL, 0, 0));
out:
    return rc;
}

static hpc_cost sgd_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, SGD_N, 8.0 * (double)hpc_op_n(&type[SGD_PARAM]));
}

static int sgd_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->sgd ? k->sgd(plan, workers, args) : hpc_op_missing("sgd");
}

const hpc_op hpc_op_sgd = {
    .sig =
        {.name = "sgd",
         .operand_n = SGD_N,
         .attr_bytes = sizeof(hpc_sgd_attr),
         .operand = {{"param", HPC_INOUT}, {"mom", HPC_INOUT}, {"grad", HPC_IN}, {"lr", HPC_IN}}},
    .field = sgd_field,
    .comm = -1,
    .shape = sgd_shape,
    .layout = hpc_op_layout_pointwise,
    .cost = sgd_cost,
    .select = sgd_select,
};

void hpc_sgd(hpc_program *p, hpc_value param, hpc_value mom, hpc_value grad, hpc_value lr,
             hpc_sgd_attr attr)
{
    hpc_value operand[SGD_N] = {param, mom, grad, lr};
    hpc_emit(p, &hpc_op_sgd, operand, &attr);
}

/* ---- adamw ----------------------------------------------------------------- */

enum { ADAM_PARAM, ADAM_M, ADAM_V, ADAM_HALF, ADAM_GRAD, ADAM_LR, ADAM_STEP, ADAM_CLIP, ADAM_N };

static const hpc_field adamw_field[] = {
    {"beta1", HPC_FIELD_REAL, offsetof(hpc_adamw_attr, beta1), NULL, true},
    {"beta2", HPC_FIELD_REAL, offsetof(hpc_adamw_attr, beta2), NULL, true},
    {"eps", HPC_FIELD_REAL, offsetof(hpc_adamw_attr, eps), NULL, true},
    {"decay", HPC_FIELD_REAL, offsetof(hpc_adamw_attr, decay), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_adamw_attr(const hpc_adamw_attr *at)
{
    if (!(at->beta1 >= 0 && at->beta1 < 1) || !(at->beta2 >= 0 && at->beta2 < 1))
        return hpc_fail(HPC_E_ARG, "beta1 is %g and beta2 %g; both must be at least 0 and below 1",
                        at->beta1, at->beta2);
    if (!(at->eps >= 0)) return hpc_fail(HPC_E_ARG, "eps is %g; it must not be negative", at->eps);
    return HPC_OK;
}

static int adamw_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc;
    TRY(check_adamw_attr(i->attr));
    if (i->operand[ADAM_HALF] == HPC_NEW)
        return hpc_fail(HPC_E_ARG, "half outlives the update: give state for it");
    for (int k = ADAM_PARAM; k <= ADAM_GRAD; k++) TRY(check_like_param(i, type, k));
    if (i->operand[ADAM_HALF] >= 0 && type[ADAM_HALF].dtype == HPC_F32)
        return hpc_misfit(i, type, ADAM_HALF, -1, "expected bf16");
    TRY(hpc_op_expect(i, type, ADAM_LR, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_expect(i, type, ADAM_STEP, HPC_OP_INDEX, 0, 0));
    TRY(hpc_op_expect(i, type, ADAM_CLIP, HPC_OP_REAL, 0, 0));
out:
    return rc;
}

static hpc_cost adamw_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, ADAM_N, 16.0 * (double)hpc_op_n(&type[ADAM_PARAM]));
}

static int adamw_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->adamw ? k->adamw(plan, workers, args) : hpc_op_missing("adamw");
}

const hpc_op hpc_op_adamw = {
    .sig = {.name = "adamw",
            .operand_n = ADAM_N,
            .attr_bytes = sizeof(hpc_adamw_attr),
            .operand = {{"param", HPC_INOUT},
                        {"m", HPC_INOUT},
                        {"v", HPC_INOUT},
                        {"half", HPC_OUT | HPC_OPTIONAL},
                        {"grad", HPC_IN},
                        {"lr", HPC_IN},
                        {"step", HPC_IN},
                        {"clip", HPC_IN | HPC_OPTIONAL}}},
    .field = adamw_field,
    .comm = -1,
    .shape = adamw_shape,
    .layout = hpc_op_layout_pointwise,
    .cost = adamw_cost,
    .select = adamw_select,
};

void hpc_adamw(hpc_program *p, hpc_value param, hpc_value m, hpc_value v, hpc_value half,
               hpc_value grad, hpc_value lr, hpc_value step, hpc_value clip, hpc_adamw_attr attr)
{
    hpc_value operand[ADAM_N] = {param, m, v, half, grad, lr, step, clip};
    hpc_emit(p, &hpc_op_adamw, operand, &attr);
}
