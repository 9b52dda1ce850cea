/*
 * act.c: op table entries of act, glu and their gradients. An activation after a product is better
 * fused into it: see matmul.
 */
#include "runtime/program/op/priv.h"

enum { ACT_Y, ACT_X, ACT_N };
enum { ACT_GRAD_DX, ACT_GRAD_DY, ACT_GRAD_X, ACT_GRAD_N };
enum { GLU_Y, GLU_GATE, GLU_UP, GLU_N };
enum { GLU_GRAD_DGATE, GLU_GRAD_DUP, GLU_GRAD_DY, GLU_GRAD_GATE, GLU_GRAD_UP, GLU_GRAD_N };

const char *const hpc_op_act_names[] = {
    [HPC_ACT_NONE] = "none",     [HPC_GELU_TANH] = "gelu_tanh",
    [HPC_GELU_ERF] = "gelu_erf", [HPC_SILU] = "silu",
    [HPC_RELU] = "relu",         [HPC_RELU2] = "relu2",
    [HPC_TANH] = "tanh",         NULL,
};

static const hpc_field act_field[] = {
    {"act", HPC_FIELD_NAME, offsetof(hpc_act_attr, act), hpc_op_act_names, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

int hpc_op_check_act(int act)
{
    if (act >= HPC_ACT_NONE && act <= HPC_TANH) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "unknown activation %d", act);
}

/* All inputs, from operand `first` on, are real and of one shape. */
static int check_inputs(const hpc_insn *i, const hpc_type *type, int first)
{
    const hpc_act_attr *at = i->attr;
    int rc;
    TRY(hpc_op_check_act(at->act));
    for (int k = first; k < i->op->sig.operand_n; k++) {
        TRY(hpc_op_expect(i, type, k, HPC_OP_REAL, 0, HPC_RANK_MAX));
        TRY(hpc_op_alike(i, type, k, first));
    }
out:
    return rc;
}

static int output_like(const hpc_insn *i, hpc_type *type, int k, int of)
{
    return hpc_op_output(i, type, k, hpc_op_like(&type[of], (hpc_dtype)type[of].dtype));
}

/* exp or tanh, a division and some products: in the order of ten flops. */
static hpc_cost cost_of(const hpc_type *type, int operand_n)
{
    return hpc_op_cost(type, operand_n, 10.0 * (double)hpc_op_n(&type[operand_n - 1]));
}

/* ---- act ------------------------------------------------------------------- */

static int act_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc = check_inputs(i, type, ACT_X);
    return rc < 0 ? rc : output_like(i, type, ACT_Y, ACT_X);
}

hpc_value hpc_op_act_gradient(hpc_program *p, hpc_value dy, hpc_value x, int act)
{
    hpc_value operand[ACT_GRAD_N] = {HPC_NEW, dy, x};
    hpc_act_attr attr = {.act = act};
    return hpc_emit(p, &hpc_op_act_grad, operand, &attr);
}

static int act_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_act_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[ACT_Y]), x = i->operand[ACT_X];
    hpc_op_give(d, x, hpc_op_act_gradient(hpc_diff_program(d), dy, x, at->act));
    return HPC_OK;
}

static hpc_cost act_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return cost_of(type, ACT_N);
}

static int act_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->act ? k->act(plan, workers, args) : hpc_op_missing("act");
}

const hpc_op hpc_op_act = {
    .sig = {.name = "act",
            .operand_n = ACT_N,
            .attr_bytes = sizeof(hpc_act_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE}, {"x", HPC_IN | HPC_ROWWISE | HPC_INPLACE}}},
    .field = act_field,
    .comm = -1,
    .shape = act_shape,
    .backward = act_backward,
    .layout = hpc_op_layout_pointwise,
    .cost = act_cost,
    .select = act_select,
};

hpc_value hpc_activate(hpc_program *p, hpc_value x, hpc_act act)
{
    hpc_value operand[ACT_N] = {HPC_NEW, x};
    hpc_act_attr attr = {.act = (int)act};
    return hpc_emit(p, &hpc_op_act, operand, &attr);
}

/* ---- act_grad -------------------------------------------------------------- */

static int act_grad_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc = check_inputs(i, type, ACT_GRAD_DY);
    return rc < 0 ? rc : output_like(i, type, ACT_GRAD_DX, ACT_GRAD_X);
}

static int act_grad_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    dims->linear[0] = 1u << ACT_GRAD_DY;
    return hpc_op_layout_pointwise(p, i, dims);
}

static hpc_cost act_grad_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return cost_of(type, ACT_GRAD_N);
}

static int act_grad_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->act_grad ? k->act_grad(plan, workers, args) : hpc_op_missing("act_grad");
}

const hpc_op hpc_op_act_grad = {
    .sig = {.name = "act_grad",
            .operand_n = ACT_GRAD_N,
            .attr_bytes = sizeof(hpc_act_attr),
            .operand = {{"dx", HPC_OUT | HPC_ROWWISE},
                        {"dy", HPC_IN | HPC_ROWWISE | HPC_INPLACE},
                        {"x", HPC_IN | HPC_ROWWISE}}},
    .field = act_field,
    .comm = -1,
    .shape = act_grad_shape,
    .layout = act_grad_layout,
    .cost = act_grad_cost,
    .select = act_grad_select,
};

/* ---- glu ------------------------------------------------------------------- */

static int glu_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc = check_inputs(i, type, GLU_GATE);
    return rc < 0 ? rc : output_like(i, type, GLU_Y, GLU_GATE);
}

static int glu_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_value gate = i->operand[GLU_GATE], up = i->operand[GLU_UP];
    hpc_value operand[GLU_GRAD_N] = {HPC_NEW, HPC_NEW, hpc_diff_of(d, i->operand[GLU_Y]), gate, up};
    if (hpc_emit(hpc_diff_program(d), &hpc_op_glu_grad, operand, i->attr) < 0) return HPC_OK;
    hpc_op_give(d, gate, operand[GLU_GRAD_DGATE]);
    hpc_op_give(d, up, operand[GLU_GRAD_DUP]);
    return HPC_OK;
}

static int glu_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    dims->linear[0] = 1u << GLU_UP;
    return hpc_op_layout_pointwise(p, i, dims);
}

static hpc_cost glu_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return cost_of(type, GLU_N);
}

static int glu_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->glu ? k->glu(plan, workers, args) : hpc_op_missing("glu");
}

const hpc_op hpc_op_glu = {
    .sig = {.name = "glu",
            .operand_n = GLU_N,
            .attr_bytes = sizeof(hpc_act_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE},
                        {"gate", HPC_IN | HPC_ROWWISE | HPC_INPLACE},
                        {"up", HPC_IN | HPC_ROWWISE}}},
    .field = act_field,
    .comm = -1,
    .shape = glu_shape,
    .backward = glu_backward,
    .layout = glu_layout,
    .cost = glu_cost,
    .select = glu_select,
};

hpc_value hpc_glu(hpc_program *p, hpc_value gate, hpc_value up, hpc_act act)
{
    hpc_value operand[GLU_N] = {HPC_NEW, gate, up};
    hpc_act_attr attr = {.act = (int)act};
    return hpc_emit(p, &hpc_op_glu, operand, &attr);
}

/* ---- glu_grad -------------------------------------------------------------- */

static int glu_grad_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc;
    TRY(check_inputs(i, type, GLU_GRAD_DY));
    TRY(output_like(i, type, GLU_GRAD_DGATE, GLU_GRAD_GATE));
    TRY(output_like(i, type, GLU_GRAD_DUP, GLU_GRAD_UP));
out:
    return rc;
}

static int glu_grad_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    dims->linear[0] = 1u << GLU_GRAD_DY;
    return hpc_op_layout_pointwise(p, i, dims);
}

static hpc_cost glu_grad_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return cost_of(type, GLU_GRAD_N);
}

static int glu_grad_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->glu_grad ? k->glu_grad(plan, workers, args) : hpc_op_missing("glu_grad");
}

const hpc_op hpc_op_glu_grad = {
    .sig = {.name = "glu_grad",
            .operand_n = GLU_GRAD_N,
            .attr_bytes = sizeof(hpc_act_attr),
            .operand = {{"dgate", HPC_OUT | HPC_ROWWISE},
                        {"dup", HPC_OUT | HPC_ROWWISE},
                        {"dy", HPC_IN | HPC_ROWWISE},
                        {"gate", HPC_IN | HPC_ROWWISE},
                        {"up", HPC_IN | HPC_ROWWISE}}},
    .field = act_field,
    .comm = -1,
    .shape = glu_grad_shape,
    .layout = glu_grad_layout,
    .cost = glu_grad_cost,
    .select = glu_grad_select,
};
