/*
 * dropout.c: op table entry of dropout.
 *
 * The mask depends on global indices only, so recomputing, slicing and sharding
 * reproduce it. localise sets where a rank's part begins.
 */
#include "runtime/program/op/priv.h"

enum { DROP_Y, DROP_X, DROP_STEP, DROP_BASE, DROP_N };

static const hpc_field dropout_field[] = {
    {"p", HPC_FIELD_REAL, offsetof(hpc_dropout_attr, p), NULL, true},
    {"seed", HPC_FIELD_I64, offsetof(hpc_dropout_attr, seed), NULL, false},
    {"tensor", HPC_FIELD_I64, offsetof(hpc_dropout_attr, tensor), NULL, false},
    {"global_cols", HPC_FIELD_I64, offsetof(hpc_dropout_attr, global_cols), NULL, false},
    {"row0", HPC_FIELD_I64, offsetof(hpc_dropout_attr, row0), NULL, false},
    {"col0", HPC_FIELD_I64, offsetof(hpc_dropout_attr, col0), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int dropout_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_dropout_attr *at = i->attr;
    const hpc_type *x = &type[DROP_X];
    int rc;
    if (!(at->p >= 0 && at->p < 1))
        return hpc_fail(HPC_E_ARG, "p is %g; it must be at least 0 and below 1", at->p);
    if (at->global_cols < 0 || at->row0 < 0 || at->col0 < 0)
        return hpc_fail(HPC_E_ARG, "global_cols, row0 and col0 must not be negative");
    TRY(hpc_op_expect(i, type, DROP_X, HPC_OP_REAL, 0, HPC_RANK_MAX));
    TRY(hpc_op_expect(i, type, DROP_STEP, HPC_OP_INDEX, 0, 0));
    TRY(hpc_op_expect(i, type, DROP_BASE, HPC_OP_LONG, 0, 0));
    TRY(hpc_op_output(i, type, DROP_Y, hpc_op_like(x, (hpc_dtype)x->dtype)));
out:
    return rc;
}

/* The same elements, by the same numbers. */
static int dropout_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_value dx =
        hpc_dropout(hpc_diff_program(d), hpc_diff_of(d, i->operand[DROP_Y]), i->operand[DROP_STEP],
                    i->operand[DROP_BASE], *(const hpc_dropout_attr *)i->attr);
    hpc_op_give(d, i->operand[DROP_X], dx);
    return HPC_OK;
}

/* Rows are counted over all leading dimensions, so that only a split of the first of them leaves a
 * rank rows that follow each other. */
static int dropout_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const char *const letters[] = {"", "C", "RC", "RsC", "RstC"};
    const char *l = letters[hpc_op_type(p, i, DROP_X)->rank];
    hpc_op_label(dims, p, i, DROP_Y, l);
    hpc_op_label(dims, p, i, DROP_X, l);
    dims->linear[0] = 1u << DROP_X;
    return HPC_OK;
}

static void dropout_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                             const hpc_grid_shape *shape, const int *coord)
{
    hpc_dropout_attr *at = i->attr;
    const hpc_type *x = &local[DROP_X];
    if (x->rank < 1) return;
    if (at->global_cols == 0) at->global_cols = hpc_op_cols(&global[DROP_X]);
    int64_t below = x->extent[0] > 0 ? hpc_op_rows(x) / x->extent[0] : 0; /* rows of one of them */
    at->col0 += hpc_type_first(x, x->rank - 1, shape, coord);
    if (x->rank > 1) at->row0 += hpc_type_first(x, 0, shape, coord) * below;
}

static hpc_cost dropout_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, DROP_N, 2.0 * (double)hpc_op_n(&type[DROP_X]));
}

static int dropout_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->dropout ? k->dropout(plan, workers, args) : hpc_op_missing("dropout");
}

const hpc_op hpc_op_dropout = {
    .sig = {.name = "dropout",
            .operand_n = DROP_N,
            .attr_bytes = sizeof(hpc_dropout_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE},
                        {"x", HPC_IN | HPC_ROWWISE | HPC_INPLACE},
                        {"step", HPC_IN | HPC_OPTIONAL},
                        {"base", HPC_IN | HPC_OPTIONAL}}},
    .field = dropout_field,
    .comm = -1,
    .shape = dropout_shape,
    .backward = dropout_backward,
    .layout = dropout_layout,
    .localise = dropout_localise,
    .cost = dropout_cost,
    .select = dropout_select,
};

hpc_value hpc_dropout(hpc_program *p, hpc_value x, hpc_value step, hpc_value base,
                      hpc_dropout_attr attr)
{
    hpc_value operand[DROP_N] = {HPC_NEW, x, step, base};
    return hpc_emit(p, &hpc_op_dropout, operand, &attr);
}
