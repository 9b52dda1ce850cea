/*
 * graph_norm.c: op table entries for graphs that normalise: softmax over the edges of a vertex and
 * its gradient, joining of softmax averages, and scaling by a power of the degree.
 */
#include "runtime/program/op/graph_priv.h"

static hpc_type per_vertex(const hpc_type *start, const hpc_type *x)
{
    return hpc_type_of(hpc_op_wide(x), 2, (int64_t[]){start->extent[0] - 1, hpc_op_cols(x)});
}

/* ---- graph_softmax --------------------------------------------------------- */

enum { SOFTMAX_Y, SOFTMAX_LSE, SOFTMAX_X, SOFTMAX_START, SOFTMAX_N };

static int softmax_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[SOFTMAX_X];
    int rc;
    TRY(hpc_op_expect_matrix(i, type, SOFTMAX_X));
    TRY(hpc_op_expect_start(i, type, SOFTMAX_START));
    TRY(hpc_op_output(i, type, SOFTMAX_Y, hpc_op_like(x, (hpc_dtype)x->dtype)));
    TRY(hpc_op_output(i, type, SOFTMAX_LSE, per_vertex(&type[SOFTMAX_START], x)));
out:
    return rc;
}

static int softmax_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_value dy = hpc_diff_of(d, i->operand[SOFTMAX_Y]), x = i->operand[SOFTMAX_X];
    int rc;
    TRY(hpc_op_no_gradient(d, i->operand[SOFTMAX_LSE], "the lse of a softmax over edges"));
    if (!hpc_diff_wants(d, x)) return HPC_OK;
    hpc_value operand[] = {HPC_NEW, dy, i->operand[SOFTMAX_Y], i->operand[SOFTMAX_START]};
    hpc_op_give(d, x, hpc_emit(hpc_diff_program(d), &hpc_op_graph_softmax_grad, operand, NULL));
out:
    return rc;
}

/* Heads are independent. */
static int softmax_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, SOFTMAX_Y, "eZ");
    hpc_op_label(dims, p, i, SOFTMAX_LSE, "vZ");
    hpc_op_label(dims, p, i, SOFTMAX_X, "eZ");
    hpc_op_label(dims, p, i, SOFTMAX_START, "s");
    return HPC_OK;
}

/* A maximum, a sum of exponentials, and the quotients. */
static hpc_cost softmax_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, SOFTMAX_N, 5 * (double)hpc_op_n(&type[SOFTMAX_X]));
}

static int softmax_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_softmax ? k->graph_softmax(plan, workers, args)
                            : hpc_op_missing("graph_softmax");
}

const hpc_op hpc_op_graph_softmax = {
    .sig = {.name = "graph_softmax",
            .operand_n = SOFTMAX_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand = {{"y", HPC_OUT}, {"lse", HPC_OUT}, {"x", HPC_IN}, {"start", HPC_IN}}},
    .comm = -1,
    .shape = softmax_shape,
    .backward = softmax_backward,
    .layout = softmax_layout,
    .cost = softmax_cost,
    .select = softmax_select,
};

hpc_value hpc_graph_softmax(hpc_program *p, hpc_value x, hpc_value start, hpc_value *lse)
{
    hpc_value operand[SOFTMAX_N] = {HPC_NEW, HPC_NEW, x, start};
    hpc_value y = hpc_emit(p, &hpc_op_graph_softmax, operand, NULL);
    if (lse) *lse = y < 0 ? HPC_NONE : operand[SOFTMAX_LSE];
    return y;
}

/* ---- graph_softmax_grad ---------------------------------------------------- */

enum { GRAD_DX, GRAD_DY, GRAD_Y, GRAD_START, GRAD_N };

static int grad_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *y = &type[GRAD_Y];
    int rc;
    TRY(hpc_op_expect_matrix(i, type, GRAD_DY));
    TRY(hpc_op_expect_matrix(i, type, GRAD_Y));
    TRY(hpc_op_alike(i, type, GRAD_DY, GRAD_Y));
    TRY(hpc_op_expect_start(i, type, GRAD_START));
    TRY(hpc_op_output(i, type, GRAD_DX, hpc_op_like(y, (hpc_dtype)y->dtype)));
out:
    return rc;
}

static int grad_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    for (int k = GRAD_DX; k <= GRAD_Y; k++) hpc_op_label(dims, p, i, k, "eZ");
    hpc_op_label(dims, p, i, GRAD_START, "s");
    dims->linear[0] = 1u << GRAD_DY;
    return HPC_OK;
}

static hpc_cost grad_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, GRAD_N, 4 * (double)hpc_op_n(&type[GRAD_Y]));
}

static int grad_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_softmax_grad ? k->graph_softmax_grad(plan, workers, args)
                                 : hpc_op_missing("graph_softmax_grad");
}

const hpc_op hpc_op_graph_softmax_grad = {
    .sig = {.name = "graph_softmax_grad",
            .operand_n = GRAD_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand = {{"dx", HPC_OUT}, {"dy", HPC_IN}, {"y", HPC_IN}, {"start", HPC_IN}}},
    .comm = -1,
    .shape = grad_shape,
    .layout = grad_layout,
    .cost = grad_cost,
    .select = grad_select,
};

/* ---- graph_scale ----------------------------------------------------------- */

enum { SCALE_Y, SCALE_X, SCALE_START, SCALE_N };

static const hpc_field scale_field[] = {
    {"power", HPC_FIELD_REAL, offsetof(hpc_graph_scale_attr, power), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int scale_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[SCALE_X];
    int rc;
    TRY(hpc_op_expect_matrix(i, type, SCALE_X));
    TRY(hpc_op_expect_start(i, type, SCALE_START));
    if (x->extent[0] != type[SCALE_START].extent[0] - 1)
        return hpc_misfit(i, type, SCALE_X, SCALE_START, "each row needs a degree");
    TRY(hpc_op_output(i, type, SCALE_Y, hpc_op_like(x, (hpc_dtype)x->dtype)));
out:
    return rc;
}

static int scale_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_graph_scale_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[SCALE_Y]);
    hpc_op_give(d, i->operand[SCALE_X],
                hpc_graph_scale(hpc_diff_program(d), dy, i->operand[SCALE_START], at->power));
    return HPC_OK;
}

static int scale_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, SCALE_Y, "vZ");
    hpc_op_label(dims, p, i, SCALE_X, "vZ");
    hpc_op_label(dims, p, i, SCALE_START, "s");
    dims->linear[0] = 1u << SCALE_X;
    return HPC_OK;
}

static hpc_cost scale_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, SCALE_N, (double)hpc_op_n(&type[SCALE_X]));
}

static int scale_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_scale ? k->graph_scale(plan, workers, args) : hpc_op_missing("graph_scale");
}

const hpc_op hpc_op_graph_scale = {
    .sig = {.name = "graph_scale",
            .operand_n = SCALE_N,
            .attr_bytes = sizeof(hpc_graph_scale_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE},
                        {"x", HPC_IN | HPC_ROWWISE | HPC_INPLACE},
                        {"start", HPC_IN}}},
    .field = scale_field,
    .comm = -1,
    .shape = scale_shape,
    .backward = scale_backward,
    .layout = scale_layout,
    .cost = scale_cost,
    .select = scale_select,
};

hpc_value hpc_graph_scale(hpc_program *p, hpc_value x, hpc_value start, double power)
{
    hpc_value operand[SCALE_N] = {HPC_NEW, x, start};
    hpc_graph_scale_attr attr = {.power = power};
    return hpc_emit(p, &hpc_op_graph_scale, operand, &attr);
}

/* ---- graph_merge ----------------------------------------------------------- */

enum { MERGE_Y, MERGE_LSE, MERGE_X, MERGE_MORE, MERGE_N };

static int merge_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc;
    for (int k = 0; k < MERGE_N; k++) TRY(hpc_op_expect_matrix(i, type, k));
    TRY(hpc_op_alike(i, type, MERGE_X, MERGE_Y));
    TRY(hpc_op_alike(i, type, MERGE_MORE, MERGE_LSE));
    int64_t heads = hpc_op_cols(&type[MERGE_LSE]), cols = hpc_op_cols(&type[MERGE_Y]);
    if (type[MERGE_LSE].extent[0] != type[MERGE_Y].extent[0] || heads < 1 || cols % heads)
        return hpc_misfit(i, type, MERGE_Y, MERGE_LSE, "each row needs its heads");
out:
    return rc;
}

static hpc_cost merge_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, MERGE_N, 3 * (double)hpc_op_n(&type[MERGE_Y]));
}

static int merge_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->graph_merge ? k->graph_merge(plan, workers, args) : hpc_op_missing("graph_merge");
}

const hpc_op hpc_op_graph_merge = {
    .sig = {.name = "graph_merge",
            .operand_n = MERGE_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand = {{"y", HPC_INOUT | HPC_ROWWISE},
                        {"lse", HPC_INOUT | HPC_ROWWISE},
                        {"x", HPC_IN | HPC_ROWWISE},
                        {"more", HPC_IN | HPC_ROWWISE}}},
    .comm = -1,
    .shape = merge_shape,
    .cost = merge_cost,
    .select = merge_select,
};

void hpc_graph_merge(hpc_program *p, hpc_value y, hpc_value lse, hpc_value x, hpc_value more)
{
    hpc_value operand[MERGE_N] = {y, lse, x, more};
    hpc_emit(p, &hpc_op_graph_merge, operand, NULL);
}
