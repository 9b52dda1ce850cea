/*
 * point.c: op table entries of element-wise ops: binary, scale, copy and fill. Activations are in
 * act.c, dropout in dropout.c.
 */
#include "runtime/program/op/priv.h"

/* ---- binary ---------------------------------------------------------------- */

enum { BINARY_Y, BINARY_A, BINARY_B, BINARY_N };

static const char *const binary_names[] = {
    [HPC_ADD] = "add", [HPC_SUB] = "sub", [HPC_MUL] = "mul", NULL};

static const hpc_field binary_field[] = {
    {"kind", HPC_FIELD_NAME, offsetof(hpc_binary_attr, kind), binary_names, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

typedef enum spread { SPREAD_NOT, SPREAD_ROW, SPREAD_COLUMN, SPREAD_SCALAR, SPREAD_MISFIT } spread;

/* How b is repeated over a. */
static spread spread_of(const hpc_type *a, const hpc_type *b)
{
    if (hpc_type_same_shape(a, b)) return SPREAD_NOT;
    if (b->rank == 0) return SPREAD_SCALAR;
    if (b->rank == 1 && a->rank > 1 && b->ragged < 0 && a->ragged != a->rank - 1 &&
        b->extent[0] == hpc_op_cols(a))
        return SPREAD_ROW;
    hpc_type column = *a;
    if (a->rank < 2 || a->ragged == a->rank - 1) return SPREAD_MISFIT;
    column.extent[column.rank - 1] = 1;
    return hpc_type_same_shape(&column, b) ? SPREAD_COLUMN : SPREAD_MISFIT;
}

static int binary_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_binary_attr *at = i->attr;
    const hpc_type *a = &type[BINARY_A];
    int rc;
    if (at->kind < HPC_ADD || at->kind > HPC_MUL)
        return hpc_fail(HPC_E_ARG, "kind %d is not add, sub or mul", at->kind);
    TRY(hpc_op_expect(i, type, BINARY_A, HPC_OP_REAL, 0, HPC_RANK_MAX));
    TRY(hpc_op_expect(i, type, BINARY_B, HPC_OP_REAL, 0, HPC_RANK_MAX));
    if (spread_of(a, &type[BINARY_B]) == SPREAD_MISFIT)
        return hpc_misfit(i, type, BINARY_A, BINARY_B,
                          "b may have a's shape, one row, one column (its last extent 1) or be a "
                          "scalar");
    TRY(hpc_op_output(i, type, BINARY_Y, hpc_op_like(a, (hpc_dtype)a->dtype)));
out:
    return rc;
}

/* The gradient of a repeated b is the sum over its repetitions. */
static void give_spread(hpc_diff *d, hpc_value b, hpc_value g, spread how)
{
    hpc_program *p = hpc_diff_program(d);
    if (g < 0) return;
    switch (how) {
    case SPREAD_ROW: g = hpc_reduce(p, hpc_diff_target(d, b), g, HPC_SUM, HPC_OVER_ROWS); break;
    case SPREAD_SCALAR: g = hpc_reduce(p, hpc_diff_target(d, b), g, HPC_SUM, HPC_OVER_ALL); break;
    case SPREAD_COLUMN: {
        hpc_type t = p->value[b].type;
        g = hpc_reduce(p, HPC_NEW, g, HPC_SUM, HPC_OVER_COLS);
        g = hpc_view(p, g, t.rank, t.extent);
        break;
    }
    default: break;
    }
    hpc_op_give(d, b, g);
}

static int binary_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_binary_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[BINARY_Y]);
    hpc_value a = i->operand[BINARY_A], b = i->operand[BINARY_B];
    spread how = spread_of(&p->value[a].type, &p->value[b].type);
    if (hpc_diff_wants(d, a))
        hpc_op_give(d, a, at->kind == HPC_MUL ? hpc_binary(p, HPC_MUL, dy, b) : dy);
    if (hpc_diff_wants(d, b)) {
        hpc_value db = dy;
        if (at->kind == HPC_SUB) db = hpc_scale(p, HPC_NEW, dy, HPC_NONE, -1);
        if (at->kind == HPC_MUL) db = hpc_binary(p, HPC_MUL, dy, a);
        give_spread(d, b, db, how);
    }
    return HPC_OK;
}

static int binary_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_binary_attr *at = i->attr;
    const hpc_type *a = hpc_op_type(p, i, BINARY_A), *b = hpc_op_type(p, i, BINARY_B);
    bool column = b->rank == a->rank && b->rank >= 2 && hpc_op_cols(b) == 1;
    hpc_op_label_rows(dims, p, i, BINARY_Y, 'Z');
    hpc_op_label_rows(dims, p, i, BINARY_A, 'Z');
    hpc_op_label_rows(dims, p, i, BINARY_B, column ? 'z' : 'Z');
    if (at->kind == HPC_MUL) {
        dims->linear[0] = 1u << BINARY_A;
        dims->linear[1] = 1u << BINARY_B;
    } else {
        dims->linear[0] = 1u << BINARY_A | 1u << BINARY_B;
    }
    return HPC_OK;
}

static hpc_cost binary_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, BINARY_N, (double)hpc_op_n(&type[BINARY_A]));
}

static int binary_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->binary ? k->binary(plan, workers, args) : hpc_op_missing("binary");
}

/* b is not rowwise: one row or a scalar is read by every worker. */
const hpc_op hpc_op_binary = {
    .sig = {.name = "binary",
            .operand_n = BINARY_N,
            .attr_bytes = sizeof(hpc_binary_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE},
                        {"a", HPC_IN | HPC_ROWWISE | HPC_INPLACE},
                        {"b", HPC_IN}}},
    .field = binary_field,
    .comm = -1,
    .shape = binary_shape,
    .backward = binary_backward,
    .layout = binary_layout,
    .cost = binary_cost,
    .select = binary_select,
};

hpc_value hpc_binary(hpc_program *p, hpc_binary_kind kind, hpc_value a, hpc_value b)
{
    hpc_value operand[BINARY_N] = {HPC_NEW, a, b};
    hpc_binary_attr attr = {.kind = (int)kind};
    return hpc_emit(p, &hpc_op_binary, operand, &attr);
}

/* ---- scale ----------------------------------------------------------------- */

enum { SCALE_Y, SCALE_X, SCALE_BY, SCALE_N };

static const hpc_field scale_field[] = {
    {"alpha", HPC_FIELD_REAL, offsetof(hpc_scale_attr, alpha), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int scale_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[SCALE_X];
    int rc;
    TRY(hpc_op_expect(i, type, SCALE_X, HPC_OP_REAL, 0, HPC_RANK_MAX));
    TRY(hpc_op_expect(i, type, SCALE_BY, HPC_OP_REAL, 0, 0));
    TRY(hpc_op_output(i, type, SCALE_Y, hpc_op_like(x, (hpc_dtype)x->dtype)));
out:
    return rc;
}

static int scale_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_scale_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[SCALE_Y]), x = i->operand[SCALE_X];
    if (hpc_diff_wants(d, x))
        hpc_op_give(d, x,
                    hpc_scale(hpc_diff_program(d), hpc_diff_target(d, x), dy, i->operand[SCALE_BY],
                              at->alpha));
    return HPC_OK;
}

static int scale_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    dims->linear[0] = 1u << SCALE_X;
    dims->linear[1] = 1u << SCALE_BY;
    return hpc_op_layout_pointwise(p, i, dims);
}

static hpc_cost scale_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, SCALE_N, (double)hpc_op_n(&type[SCALE_X]));
}

static int scale_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->scale ? k->scale(plan, workers, args) : hpc_op_missing("scale");
}

const hpc_op hpc_op_scale = {
    .sig = {.name = "scale",
            .operand_n = SCALE_N,
            .attr_bytes = sizeof(hpc_scale_attr),
            .operand = {{"y", HPC_ACC | HPC_ROWWISE},
                        {"x", HPC_IN | HPC_ROWWISE | HPC_INPLACE},
                        {"by", HPC_IN | HPC_OPTIONAL}}},
    .field = scale_field,
    .comm = -1,
    .shape = scale_shape,
    .backward = scale_backward,
    .layout = scale_layout,
    .cost = scale_cost,
    .select = scale_select,
};

hpc_value hpc_scale(hpc_program *p, hpc_value y, hpc_value x, hpc_value by, double alpha)
{
    hpc_value operand[SCALE_N] = {y, x, by};
    hpc_scale_attr attr = {.alpha = alpha};
    return hpc_emit(p, &hpc_op_scale, operand, &attr);
}

/* ---- copy ------------------------------------------------------------------ */

enum { COPY_Y, COPY_X, COPY_N };

static const char *const dtype_names[] = {
    [HPC_F32] = "f32",   [HPC_BF16] = "bf16",     [HPC_F16] = "f16",       [HPC_F64] = "f64",
    [HPC_I32] = "i32",   [HPC_I64] = "i64",       [HPC_I8] = "i8",         [HPC_Q8_0] = "q8_0",
    [HPC_Q4_0] = "q4_0", [HPC_Q4_K] = "q4_K",     [HPC_Q5_K] = "q5_K",     [HPC_Q6_K] = "q6_K",
    [HPC_Q4_1] = "q4_1", [HPC_Q5_0] = "q5_0",     [HPC_Q5_1] = "q5_1",     [HPC_Q2_K] = "q2_K",
    [HPC_Q3_K] = "q3_K", [HPC_IQ4_NL] = "iq4_nl", [HPC_IQ4_XS] = "iq4_xs", [HPC_DTYPE_N] = NULL};

static const hpc_field copy_field[] = {
    {"dtype", HPC_FIELD_NAME, offsetof(hpc_copy_attr, dtype), dtype_names, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int copy_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_copy_attr *at = i->attr;
    const hpc_type *x = &type[COPY_X];
    if (at->dtype < 0 || at->dtype >= HPC_DTYPE_N || !dtype_names[at->dtype])
        return hpc_fail(HPC_E_ARG, "unknown dtype %d", at->dtype);
    const hpc_dtype_info *to = hpc_dtype_get((hpc_dtype)at->dtype);
    const hpc_dtype_info *from = hpc_dtype_get((hpc_dtype)x->dtype);
    if (x->pack != HPC_PLAIN && at->dtype != x->dtype)
        return hpc_misfit(i, type, COPY_X, -1, "a packed value keeps its elements");
    if (at->dtype != x->dtype && (to->quantised || (from->quantised && !to->real) || !from->real))
        return hpc_misfit(i, type, COPY_X, -1, "no conversion to %s", to->name);
    hpc_type y = hpc_op_like(x, (hpc_dtype)at->dtype);
    y.pack = x->pack;
    if (i->operand[COPY_Y] == HPC_NEW) {
        type[COPY_Y] = y;
        return HPC_OK;
    }
    if (type[COPY_Y].dtype == y.dtype && type[COPY_Y].pack == y.pack &&
        hpc_type_same_shape(&type[COPY_Y], &y))
        return HPC_OK;
    return hpc_misfit(i, type, COPY_Y, COPY_X, "y must be as x, in %s", to->name);
}

/* Giving casts back to the width of x. */
static int copy_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_op_give(d, i->operand[COPY_X], hpc_diff_of(d, i->operand[COPY_Y]));
    return HPC_OK;
}

static int copy_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_type *y = hpc_op_type(p, i, COPY_Y);
    if (hpc_dtype_get((hpc_dtype)y->dtype)->real) dims->linear[0] = 1u << COPY_X;
    return hpc_op_layout_pointwise(p, i, dims);
}

static int copy_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->copy ? k->copy(plan, workers, args) : hpc_op_missing("copy");
}

const hpc_op hpc_op_copy = {
    .sig = {.name = "copy",
            .operand_n = COPY_N,
            .attr_bytes = sizeof(hpc_copy_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE}, {"x", HPC_IN | HPC_ROWWISE}}},
    .field = copy_field,
    .comm = -1,
    .shape = copy_shape,
    .backward = copy_backward,
    .layout = copy_layout,
    .select = copy_select,
};

hpc_value hpc_copy(hpc_program *p, hpc_value x, hpc_dtype to)
{
    hpc_value operand[COPY_N] = {HPC_NEW, x};
    hpc_copy_attr attr = {.dtype = (int)to};
    return hpc_emit(p, &hpc_op_copy, operand, &attr);
}

/* ---- fetch, stow: copies between memories ---------------------------------- */

static int move_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    if (i->operand[COPY_Y] < 0)
        return hpc_fail(HPC_E_ARG, "%s writes state: give it as y", i->op->sig.name);
    if (type[COPY_Y].dtype == type[COPY_X].dtype &&
        hpc_type_same_shape(&type[COPY_Y], &type[COPY_X]))
        return HPC_OK;
    return hpc_misfit(i, type, COPY_Y, COPY_X, "y must be as x");
}

static int fetch_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->copy ? k->copy(plan, workers, args) : hpc_op_missing("fetch");
}

static int stow_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->copy ? k->copy(plan, workers, args) : hpc_op_missing("stow");
}

const hpc_op hpc_op_fetch = {
    .sig = {.name = "fetch",
            .operand_n = COPY_N,
            .attr_bytes = sizeof(hpc_copy_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE}, {"x", HPC_IN | HPC_ROWWISE}}},
    .comm = -1,
    .shape = move_shape,
    .select = fetch_select,
};

const hpc_op hpc_op_stow = {
    .sig = {.name = "stow",
            .operand_n = COPY_N,
            .attr_bytes = sizeof(hpc_copy_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE}, {"x", HPC_IN | HPC_ROWWISE}}},
    .comm = -1,
    .shape = move_shape,
    .select = stow_select,
};

void hpc_move(hpc_program *p, const hpc_op *op, hpc_value y, hpc_value x)
{
    hpc_value operand[COPY_N] = {y, x};
    hpc_copy_attr attr = {.dtype = x >= 0 ? p->value[x].type.dtype : 0};
    hpc_emit(p, op, operand, &attr);
}

/* ---- fill ------------------------------------------------------------------ */

enum { FILL_Y, FILL_N };

static const hpc_field fill_field[] = {
    {"value", HPC_FIELD_REAL, offsetof(hpc_fill_attr, value), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int fill_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    if (i->operand[FILL_Y] == HPC_NEW)
        return hpc_fail(HPC_E_ARG, "fill writes state: only the state gives its shape");
    return hpc_op_expect(i, type, FILL_Y, HPC_OP_ANY, 0, HPC_RANK_MAX);
}

static int fill_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->fill ? k->fill(plan, workers, args) : hpc_op_missing("fill");
}

const hpc_op hpc_op_fill = {
    .sig = {.name = "fill",
            .operand_n = FILL_N,
            .attr_bytes = sizeof(hpc_fill_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE}}},
    .field = fill_field,
    .comm = -1,
    .shape = fill_shape,
    .layout = hpc_op_layout_pointwise,
    .select = fill_select,
};

hpc_value hpc_fill(hpc_program *p, hpc_value state, double value)
{
    hpc_value operand[FILL_N] = {state};
    hpc_fill_attr attr = {.value = value};
    return hpc_emit(p, &hpc_op_fill, operand, &attr);
}
