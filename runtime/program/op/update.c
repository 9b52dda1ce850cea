/*
 * update.c: op table entries of sgd, adamw, its parts adam and apply, its accumulation adam_add and
 * adam_step, and below: element-wise updates, and the test that enables them. None but adam_add is
 * linear, so a partial gradient must be summed first.
 */
#include "runtime/program/op/priv.h"

/* Operand k, if present, is real and has the shape of operand `like`. */
static int check_like(const hpc_insn *i, const hpc_type *type, int k, int like)
{
    int rc = hpc_op_expect(i, type, k, HPC_OP_REAL, 0, HPC_RANK_MAX);
    return rc < 0 ? rc : hpc_op_alike(i, type, k, like);
}

/* The bf16 copy k of the parameter, if present. */
static int check_half(const hpc_insn *i, const hpc_type *type, int k)
{
    if (i->operand[k] == HPC_NEW)
        return hpc_fail(HPC_E_ARG, "half outlives the update: give state for it");
    if (i->operand[k] >= 0 && type[k].dtype == HPC_F32)
        return hpc_misfit(i, type, k, -1, "expected bf16");
    return check_like(i, type, k, 0);
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
    for (int k = SGD_PARAM; k <= SGD_GRAD; k++) TRY(check_like(i, type, k, SGD_PARAM));
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

enum {
    ADAMW_PARAM,
    ADAMW_M,
    ADAMW_V,
    ADAMW_HALF,
    ADAMW_GRAD,
    ADAMW_LR,
    ADAMW_STEP,
    ADAMW_CLIP,
    ADAMW_N
};

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
    TRY(check_half(i, type, ADAMW_HALF));
    for (int k = ADAMW_PARAM; k <= ADAMW_GRAD; k++) TRY(check_like(i, type, k, ADAMW_PARAM));
    TRY(hpc_op_expect(i, type, ADAMW_LR, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_expect(i, type, ADAMW_STEP, HPC_OP_INDEX, 0, 0));
    TRY(hpc_op_expect(i, type, ADAMW_CLIP, HPC_OP_REAL, 0, 0));
out:
    return rc;
}

static hpc_cost adamw_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, ADAMW_N, 16.0 * (double)hpc_op_n(&type[ADAMW_PARAM]));
}

static int adamw_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->adamw ? k->adamw(plan, workers, args) : hpc_op_missing("adamw");
}

const hpc_op hpc_op_adamw = {
    .sig = {.name = "adamw",
            .operand_n = ADAMW_N,
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
    hpc_value operand[ADAMW_N] = {param, m, v, half, grad, lr, step, clip};
    hpc_emit(p, &hpc_op_adamw, operand, &attr);
}

/* ---- adam: the direction --------------------------------------------------- */

enum { ADAM_U, ADAM_M, ADAM_V, ADAM_GRAD, ADAM_TOP, ADAM_STEP, ADAM_CLIP, ADAM_N };

static int adam_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc;
    TRY(check_adamw_attr(i->attr));
    if ((i->operand[ADAM_M] == HPC_NONE) == (i->operand[ADAM_TOP] == HPC_NONE))
        return hpc_fail(HPC_E_ARG, "give either m, to be updated, or top in its place");
    for (int k = ADAM_M; k <= ADAM_TOP; k++) TRY(check_like(i, type, k, ADAM_V));
    TRY(hpc_op_expect(i, type, ADAM_STEP, HPC_OP_INDEX, 0, 0));
    TRY(hpc_op_expect(i, type, ADAM_CLIP, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_output(i, type, ADAM_U, hpc_op_like(&type[ADAM_V], hpc_op_wide(&type[ADAM_V]))));
out:
    return rc;
}

static hpc_cost adam_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, ADAM_N, 14.0 * (double)hpc_op_n(&type[ADAM_V]));
}

static int adam_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->adam ? k->adam(plan, workers, args) : hpc_op_missing("adam");
}

const hpc_op hpc_op_adam = {
    .sig = {.name = "adam",
            .operand_n = ADAM_N,
            .attr_bytes = sizeof(hpc_adamw_attr),
            .operand = {{"u", HPC_OUT},
                        {"m", HPC_INOUT | HPC_OPTIONAL},
                        {"v", HPC_INOUT},
                        {"grad", HPC_IN | HPC_INPLACE},
                        {"top", HPC_IN | HPC_OPTIONAL | HPC_INPLACE},
                        {"step", HPC_IN},
                        {"clip", HPC_IN | HPC_OPTIONAL}}},
    .field = adamw_field,
    .comm = -1,
    .shape = adam_shape,
    .layout = hpc_op_layout_pointwise,
    .cost = adam_cost,
    .select = adam_select,
};

hpc_value hpc_adam(hpc_program *p, hpc_value u, hpc_value m, hpc_value v, hpc_value grad,
                   hpc_value top, hpc_value step, hpc_value clip, hpc_adamw_attr attr)
{
    hpc_value operand[ADAM_N] = {u, m, v, grad, top, step, clip};
    return hpc_emit(p, &hpc_op_adam, operand, &attr);
}

/* ---- adam_add: a gradient into the moments -------------------------------- */

enum { ADD_Y, ADD_M, ADD_V, ADD_GRAD, ADD_KEEP, ADD_CLIP, ADD_N };

static const hpc_field adam_add_field[] = {
    {"beta1", HPC_FIELD_REAL, offsetof(hpc_adam_add_attr, beta1), NULL, true},
    {"beta2", HPC_FIELD_REAL, offsetof(hpc_adam_add_attr, beta2), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int adam_add_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_adam_add_attr *at = i->attr;
    int rc;
    TRY(check_adamw_attr(&(hpc_adamw_attr){.beta1 = at->beta1, .beta2 = at->beta2}));
    for (int k = ADD_M; k <= ADD_GRAD; k++) TRY(check_like(i, type, k, ADD_M));
    TRY(hpc_op_expect(i, type, ADD_KEEP, HPC_OP_REAL, 1, 1));
    if (type[ADD_KEEP].extent[0] != 2)
        TRY(hpc_misfit(i, type, ADD_KEEP, -1, "expected a factor for m and one for v"));
    TRY(hpc_op_expect(i, type, ADD_CLIP, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_output(i, type, ADD_Y, hpc_op_like(&type[ADD_M], hpc_op_wide(&type[ADD_M]))));
out:
    return rc;
}

/* Ranks with sums m and v of their own count as separate microbatches: each adds its gradient and
 * its square. */
static int adam_add_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    for (int k = ADD_Y; k <= ADD_GRAD; k++) hpc_op_label_rows(dims, p, i, k, 'Z');
    hpc_op_label(dims, p, i, ADD_KEEP, "k");
    dims->linear[0] = 1u << ADD_M | 1u << ADD_V | 1u << ADD_GRAD;
    return HPC_OK;
}

static hpc_cost adam_add_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, ADD_N, 8.0 * (double)hpc_op_n(&type[ADD_M]));
}

static int adam_add_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->adam_add ? k->adam_add(plan, workers, args) : hpc_op_missing("adam_add");
}

const hpc_op hpc_op_adam_add = {
    .sig = {.name = "adam_add",
            .operand_n = ADD_N,
            .attr_bytes = sizeof(hpc_adam_add_attr),
            .operand = {{"y", HPC_OUT},
                        {"m", HPC_INOUT},
                        {"v", HPC_INOUT},
                        {"grad", HPC_IN | HPC_INPLACE},
                        {"keep", HPC_IN},
                        {"clip", HPC_IN | HPC_OPTIONAL}}},
    .field = adam_add_field,
    .comm = -1,
    .shape = adam_add_shape,
    .layout = adam_add_layout,
    .cost = adam_add_cost,
    .select = adam_add_select,
};

hpc_value hpc_adam_add(hpc_program *p, hpc_value m, hpc_value v, hpc_value grad, hpc_value keep,
                       hpc_value clip, hpc_adam_add_attr attr)
{
    hpc_value operand[ADD_N] = {HPC_NEW, m, v, grad, keep, clip};
    return hpc_emit(p, &hpc_op_adam_add, operand, &attr);
}

/* ---- adam_step: a parameter from the moments ------------------------------ */

enum { STEP_PARAM, STEP_HALF, STEP_M, STEP_V, STEP_LR, STEP_STEP, STEP_N };

static int adam_step_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc;
    TRY(check_adamw_attr(i->attr));
    TRY(check_half(i, type, STEP_HALF));
    for (int k = STEP_PARAM; k <= STEP_V; k++) TRY(check_like(i, type, k, STEP_PARAM));
    TRY(hpc_op_expect(i, type, STEP_LR, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_expect(i, type, STEP_STEP, HPC_OP_INDEX, 0, 0));
out:
    return rc;
}

static hpc_cost adam_step_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, STEP_N, 8.0 * (double)hpc_op_n(&type[STEP_PARAM]));
}

static int adam_step_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->adam_step ? k->adam_step(plan, workers, args) : hpc_op_missing("adam_step");
}

const hpc_op hpc_op_adam_step = {
    .sig = {.name = "adam_step",
            .operand_n = STEP_N,
            .attr_bytes = sizeof(hpc_adamw_attr),
            .operand = {{"param", HPC_INOUT},
                        {"half", HPC_OUT | HPC_OPTIONAL},
                        {"m", HPC_IN},
                        {"v", HPC_IN},
                        {"lr", HPC_IN},
                        {"step", HPC_IN}}},
    .field = adamw_field,
    .comm = -1,
    .shape = adam_step_shape,
    .layout = hpc_op_layout_pointwise,
    .cost = adam_step_cost,
    .select = adam_step_select,
};

void hpc_adam_step(hpc_program *p, hpc_value param, hpc_value half, hpc_value m, hpc_value v,
                   hpc_value lr, hpc_value step, hpc_adamw_attr attr)
{
    hpc_value operand[STEP_N] = {param, half, m, v, lr, step};
    hpc_emit(p, &hpc_op_adam_step, operand, &attr);
}

/* ---- apply ----------------------------------------------------------------- */

enum { APPLY_PARAM, APPLY_HALF, APPLY_DIR, APPLY_LR, APPLY_BY, APPLY_N };

static const hpc_field apply_field[] = {
    {"alpha", HPC_FIELD_REAL, offsetof(hpc_apply_attr, alpha), NULL, true},
    {"decay", HPC_FIELD_REAL, offsetof(hpc_apply_attr, decay), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int apply_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_apply_attr *at = i->attr;
    int rc;
    if (at->alpha == 0)
        return hpc_fail(HPC_E_ARG, "alpha is 0, with which nothing is applied; 1 is plain");
    TRY(check_half(i, type, APPLY_HALF));
    TRY(check_like(i, type, APPLY_PARAM, APPLY_PARAM));
    TRY(check_like(i, type, APPLY_DIR, APPLY_PARAM));
    TRY(hpc_op_expect(i, type, APPLY_LR, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_expect(i, type, APPLY_BY, HPC_OP_REAL, 0, 1));
    const hpc_type *param = &type[APPLY_PARAM], *by = &type[APPLY_BY];
    if (i->operand[APPLY_BY] >= 0 && by->rank > 0 &&
        (param->rank != 3 || param->extent[0] != by->extent[0]))
        return hpc_misfit(i, type, APPLY_BY, APPLY_PARAM,
                          "expected a scalar, or one for each matrix of a batch");
out:
    return rc;
}

/* Element-wise but for `by`, which may have one number for each matrix. */
static int apply_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    int rc = hpc_op_layout_pointwise(p, i, dims);
    hpc_op_label(dims, p, i, APPLY_BY, "A");
    return rc;
}

static hpc_cost apply_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, APPLY_N, 4.0 * (double)hpc_op_n(&type[APPLY_PARAM]));
}

static int apply_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->apply ? k->apply(plan, workers, args) : hpc_op_missing("apply");
}

const hpc_op hpc_op_apply = {
    .sig = {.name = "apply",
            .operand_n = APPLY_N,
            .attr_bytes = sizeof(hpc_apply_attr),
            .operand = {{"param", HPC_INOUT},
                        {"half", HPC_OUT | HPC_OPTIONAL},
                        {"dir", HPC_IN},
                        {"lr", HPC_IN},
                        {"by", HPC_IN | HPC_OPTIONAL}}},
    .field = apply_field,
    .comm = -1,
    .shape = apply_shape,
    .layout = apply_layout,
    .cost = apply_cost,
    .select = apply_select,
};

void hpc_apply(hpc_program *p, hpc_value param, hpc_value half, hpc_value dir, hpc_value lr,
               hpc_value by, hpc_apply_attr attr)
{
    if (attr.alpha == 0) attr.alpha = 1;
    hpc_value operand[APPLY_N] = {param, half, dir, lr, by};
    hpc_emit(p, &hpc_op_apply, operand, &attr);
}

/* ---- below ----------------------------------------------------------------- */

enum { BELOW_OK, BELOW_X, BELOW_LIMIT, BELOW_N };

static int below_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc;
    TRY(hpc_op_expect(i, type, BELOW_X, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_expect(i, type, BELOW_LIMIT, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_output(i, type, BELOW_OK, hpc_type_of(HPC_I32, 0, NULL)));
out:
    return rc;
}

static int below_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->below ? k->below(plan, workers, args) : hpc_op_missing("below");
}

const hpc_op hpc_op_below = {
    .sig = {.name = "below",
            .operand_n = BELOW_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand = {{"ok", HPC_OUT}, {"x", HPC_IN}, {"limit", HPC_IN | HPC_OPTIONAL}}},
    .comm = -1,
    .shape = below_shape,
    .select = below_select,
};

hpc_value hpc_below(hpc_program *p, hpc_value y, hpc_value x, hpc_value limit)
{
    hpc_value operand[BELOW_N] = {y, x, limit};
    return hpc_emit(p, &hpc_op_below, operand, NULL);
}
