/*
 * reduce.c: op table entry of reduce: sum, sum of squares, maximum and finiteness over rows,
 * columns or all elements.
 */
#include "runtime/program/op/priv.h"

enum { REDUCE_Y, REDUCE_X, REDUCE_N };

static const char *const kind_names[] = {
    [HPC_SUM] = "sum", [HPC_SUMSQ] = "sumsq", [HPC_MAX] = "max", [HPC_FINITE] = "finite", NULL};
static const char *const over_names[] = {
    [HPC_OVER_ALL] = "all", [HPC_OVER_ROWS] = "rows", [HPC_OVER_COLS] = "cols", NULL};

static const hpc_field reduce_field[] = {
    {"kind", HPC_FIELD_NAME, offsetof(hpc_reduce_attr, kind), kind_names, true},
    {"over", HPC_FIELD_NAME, offsetof(hpc_reduce_attr, over), over_names, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_attr(const hpc_reduce_attr *at)
{
    if (at->kind < HPC_SUM || at->kind > HPC_FINITE)
        return hpc_fail(HPC_E_ARG, "unknown kind %d", at->kind);
    if (at->over < HPC_OVER_ALL || at->over > HPC_OVER_COLS)
        return hpc_fail(HPC_E_ARG, "over %d is not all, rows or cols", at->over);
    if (at->kind == HPC_FINITE && at->over != HPC_OVER_ALL)
        return hpc_fail(HPC_E_ARG, "finite is found over all elements only");
    return HPC_OK;
}

/* True if only part of x's columns are live, and the number differs from row to row. */
static bool ragged_columns(const hpc_type *x)
{
    return x->rank > 1 && x->ragged == x->rank - 1;
}

static int reduce_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_reduce_attr *at = i->attr;
    const hpc_type *x = &type[REDUCE_X];
    int rc;
    TRY(check_attr(at));
    TRY(hpc_op_expect(i, type, REDUCE_X, HPC_OP_REAL, 0, HPC_RANK_MAX));
    if (at->over == HPC_OVER_ROWS && ragged_columns(x))
        return hpc_misfit(i, type, REDUCE_X, -1, "rows of differing length are not summed up");
    if ((at->kind == HPC_MAX || at->kind == HPC_FINITE) && i->operand[REDUCE_Y] >= 0)
        return hpc_misfit(i, type, REDUCE_Y, -1, "only sums are added to state");
    hpc_dtype dtype = at->kind == HPC_FINITE ? HPC_I32 : hpc_op_wide(x);
    hpc_type y = hpc_type_of(dtype, 0, NULL);
    if (at->over == HPC_OVER_COLS) y = hpc_op_leading(x, dtype);
    if (at->over == HPC_OVER_ROWS && x->rank > 0) {
        y = hpc_type_of(dtype, 1, &x->extent[x->rank - 1]);
        if (x->rank == 1 && x->ragged == 0) y = hpc_type_ragged(y, 0, x->count);
    }
    TRY(hpc_op_output(i, type, REDUCE_Y, y));
out:
    return rc;
}

/* A value of x's shape to which dy is repeated; as a column where that is what it is. */
static hpc_value repeatable(hpc_program *p, hpc_value dy, const hpc_type *x, int over)
{
    if (over != HPC_OVER_COLS || x->rank < 2) return dy;
    hpc_type column = *x;
    column.extent[column.rank - 1] = 1;
    return hpc_view(p, dy, column.rank, column.extent);
}

/* d sum = dy, repeated: added to 0 x, which has the shape, the layout and the run-time extents (and
 * where x is not finite, neither is the sum).   d sumsq = 2 x dy. */
static int reduce_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_reduce_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[REDUCE_Y]), x = i->operand[REDUCE_X];
    if (!hpc_diff_wants(d, x)) return HPC_OK;
    if (at->kind != HPC_SUM && at->kind != HPC_SUMSQ)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes through %s", kind_names[at->kind]);
    hpc_type t = p->value[x].type;
    if (at->over == HPC_OVER_COLS && ragged_columns(&t))
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient for a sum of rows of differing length");
    dy = repeatable(p, dy, &t, at->over);
    hpc_value base = hpc_scale(p, HPC_NEW, x, HPC_NONE, at->kind == HPC_SUM ? 0 : 2);
    hpc_op_give(d, x, hpc_binary(p, at->kind == HPC_SUM ? HPC_ADD : HPC_MUL, base, dy));
    return HPC_OK;
}

/* Sums of parts are partial sums; the largest of parts is no sum, so what it runs over is whole. */
static int reduce_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const char *const all[] = {"", "z", "az", "abz", "abcz"};
    static const char *const rows[] = {"", "Z", "aZ", "abZ", "abcZ"};
    const hpc_reduce_attr *at = i->attr;
    int rank = hpc_op_type(p, i, REDUCE_X)->rank;
    bool sum = at->kind == HPC_SUM || at->kind == HPC_SUMSQ;
    if (sum)
        hpc_op_label_rows(dims, p, i, REDUCE_X, 'Z');
    else if (at->over == HPC_OVER_COLS)
        hpc_op_label_rows(dims, p, i, REDUCE_X, 'z');
    else
        hpc_op_label(dims, p, i, REDUCE_X, at->over == HPC_OVER_ROWS ? rows[rank] : all[rank]);
    hpc_op_label(dims, p, i, REDUCE_Y, at->over == HPC_OVER_ROWS ? "Z" : "ABCD");
    if (at->kind == HPC_SUM) dims->linear[0] = 1u << REDUCE_X;
    return HPC_OK;
}

static hpc_cost reduce_cost(const hpc_type *type, const void *attr)
{
    const hpc_reduce_attr *at = attr;
    double n = (double)hpc_op_n(&type[REDUCE_X]);
    return hpc_op_cost(type, REDUCE_N, at->kind == HPC_SUMSQ ? 2 * n : n);
}

static int reduce_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->reduce ? k->reduce(plan, workers, args) : hpc_op_missing("reduce");
}

const hpc_op hpc_op_reduce = {
    .sig = {.name = "reduce",
            .operand_n = REDUCE_N,
            .attr_bytes = sizeof(hpc_reduce_attr),
            .operand = {{"y", HPC_ACC}, {"x", HPC_IN}}},
    .field = reduce_field,
    .comm = -1,
    .shape = reduce_shape,
    .backward = reduce_backward,
    .layout = reduce_layout,
    .cost = reduce_cost,
    .select = reduce_select,
};

hpc_value hpc_reduce(hpc_program *p, hpc_value y, hpc_value x, hpc_reduce_kind kind,
                     hpc_reduce_over over)
{
    hpc_value operand[REDUCE_N] = {y, x};
    hpc_reduce_attr attr = {.kind = (int)kind, .over = (int)over};
    return hpc_emit(p, &hpc_op_reduce, operand, &attr);
}
