/*
 * norm.c: op table entries of norm and norm_grad: RMS and layer normalisation over the last extent.
 * Statistics have x's leading extents, so they are split like its rows.
 */
#include <math.h>

#include "runtime/program/op/priv.h"

enum { NORM_Y, NORM_STATS, NORM_X, NORM_W, NORM_B, NORM_N };
enum { GRAD_DX, GRAD_DW, GRAD_DB, GRAD_DY, GRAD_X, GRAD_STATS, GRAD_W, GRAD_N };

static const char *const norm_names[] = {[HPC_RMS] = "rms", [HPC_LAYER] = "layer", NULL};

static const hpc_field norm_field[] = {
    {"kind", HPC_FIELD_NAME, offsetof(hpc_norm_attr, kind), norm_names, true},
    {"eps", HPC_FIELD_REAL, offsetof(hpc_norm_attr, eps), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_attr(const hpc_norm_attr *at)
{
    if (at->kind != HPC_RMS && at->kind != HPC_LAYER)
        return hpc_fail(HPC_E_ARG, "kind %d is neither rms nor layer", at->kind);
    if (!(at->eps >= 0) || isinf(at->eps))
        return hpc_fail(HPC_E_ARG, "eps is %g; it must be finite and at least 0", at->eps);
    return HPC_OK;
}

static hpc_type stats_of(const hpc_type *x)
{
    hpc_type t = hpc_op_like(x, hpc_op_wide(x));
    t.extent[t.rank - 1] = 2;
    return t;
}

static int check_x(const hpc_insn *i, const hpc_type *type, int x)
{
    int rc = hpc_op_expect(i, type, x, HPC_OP_REAL, 1, HPC_RANK_MAX);
    if (rc < 0) return rc;
    if (type[x].ragged >= 0 && type[x].ragged == type[x].rank - 1)
        return hpc_misfit(i, type, x, -1, "the extent that is normalised cannot be run-time");
    return HPC_OK;
}

/* Weight or bias k has an element for each column of x. */
static int check_columns(const hpc_insn *i, const hpc_type *type, int k, int x)
{
    int rc = hpc_op_expect(i, type, k, HPC_OP_REAL, 1, 1);
    if (rc < 0 || i->operand[k] < 0) return rc;
    if (type[k].extent[0] == hpc_op_cols(&type[x]) && type[k].ragged < 0) return HPC_OK;
    return hpc_misfit(i, type, k, x, "expected one element for each of %lld columns",
                      (long long)hpc_op_cols(&type[x]));
}

/* ---- norm ------------------------------------------------------------------ */

static int norm_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[NORM_X];
    int rc;
    TRY(check_attr(i->attr));
    TRY(check_x(i, type, NORM_X));
    TRY(check_columns(i, type, NORM_W, NORM_X));
    TRY(check_columns(i, type, NORM_B, NORM_X));
    TRY(hpc_op_output(i, type, NORM_Y, hpc_op_like(x, (hpc_dtype)x->dtype)));
    TRY(hpc_op_output(i, type, NORM_STATS, stats_of(x)));
out:
    return rc;
}

static int norm_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_value x = i->operand[NORM_X], w = i->operand[NORM_W], b = i->operand[NORM_B];
    int rc = hpc_op_no_gradient(d, i->operand[NORM_STATS], "the statistics of a norm");
    if (rc < 0) return rc;
    hpc_value operand[GRAD_N] = {hpc_op_fresh(d, x),
                                 hpc_diff_target(d, w),
                                 hpc_diff_target(d, b),
                                 hpc_diff_of(d, i->operand[NORM_Y]),
                                 x,
                                 i->operand[NORM_STATS],
                                 w};
    hpc_emit(hpc_diff_program(d), &hpc_op_norm_grad, operand, i->attr);
    hpc_op_give(d, x, operand[GRAD_DX]);
    hpc_op_give(d, w, operand[GRAD_DW]);
    hpc_op_give(d, b, operand[GRAD_DB]);
    return HPC_OK;
}

static int norm_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label_rows(dims, p, i, NORM_Y, 'h');
    hpc_op_label_rows(dims, p, i, NORM_STATS, 'p');
    hpc_op_label_rows(dims, p, i, NORM_X, 'h');
    hpc_op_label(dims, p, i, NORM_W, "h");
    hpc_op_label(dims, p, i, NORM_B, "h");
    return HPC_OK;
}

static hpc_cost norm_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, NORM_N, 6.0 * (double)hpc_op_n(&type[NORM_X]));
}

static int norm_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->norm ? k->norm(plan, workers, args) : hpc_op_missing("norm");
}

const hpc_op hpc_op_norm = {
    .sig = {.name = "norm",
            .operand_n = NORM_N,
            .attr_bytes = sizeof(hpc_norm_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE},
                        {"stats", HPC_OUT | HPC_ROWWISE},
                        {"x", HPC_IN | HPC_ROWWISE | HPC_INPLACE},
                        {"w", HPC_IN | HPC_OPTIONAL},
                        {"b", HPC_IN | HPC_OPTIONAL}}},
    .field = norm_field,
    .comm = -1,
    .shape = norm_shape,
    .backward = norm_backward,
    .layout = norm_layout,
    .cost = norm_cost,
    .select = norm_select,
};

hpc_value hpc_norm(hpc_program *p, hpc_value x, hpc_value w, hpc_value b, hpc_norm_attr attr)
{
    hpc_value operand[NORM_N] = {HPC_NEW, HPC_NEW, x, w, b};
    return hpc_emit(p, &hpc_op_norm, operand, &attr);
}

/* ---- norm_grad ------------------------------------------------------------- */

static int norm_grad_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[GRAD_X];
    int rc;
    TRY(check_attr(i->attr));
    TRY(check_x(i, type, GRAD_X));
    TRY(hpc_op_expect(i, type, GRAD_DY, HPC_OP_REAL, 1, HPC_RANK_MAX));
    TRY(hpc_op_alike(i, type, GRAD_DY, GRAD_X));
    TRY(check_columns(i, type, GRAD_W, GRAD_X));
    TRY(hpc_op_expect(i, type, GRAD_STATS, HPC_OP_REAL, 1, HPC_RANK_MAX));
    hpc_type stats = stats_of(x);
    if (!hpc_type_same_shape(&type[GRAD_STATS], &stats))
        TRY(hpc_misfit(i, type, GRAD_STATS, GRAD_X, "expected mean and rstd of each row"));
    hpc_dtype own = (hpc_dtype)(i->operand[GRAD_W] >= 0 ? type[GRAD_W].dtype : x->dtype);
    hpc_type dw = hpc_type_of(own, 1, &x->extent[x->rank - 1]);
    TRY(hpc_op_output(i, type, GRAD_DX, hpc_op_like(x, (hpc_dtype)x->dtype)));
    TRY(hpc_op_output(i, type, GRAD_DW, dw));
    TRY(hpc_op_output(i, type, GRAD_DB, dw));
out:
    return rc;
}

static int norm_grad_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label_rows(dims, p, i, GRAD_DX, 'h');
    hpc_op_label(dims, p, i, GRAD_DW, "h");
    hpc_op_label(dims, p, i, GRAD_DB, "h");
    hpc_op_label_rows(dims, p, i, GRAD_DY, 'h');
    hpc_op_label_rows(dims, p, i, GRAD_X, 'h');
    hpc_op_label_rows(dims, p, i, GRAD_STATS, 'p');
    hpc_op_label(dims, p, i, GRAD_W, "h");
    dims->linear[0] = 1u << GRAD_DY;
    return HPC_OK;
}

static hpc_cost norm_grad_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, GRAD_N, 14.0 * (double)hpc_op_n(&type[GRAD_X]));
}

static int norm_grad_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->norm_grad ? k->norm_grad(plan, workers, args) : hpc_op_missing("norm_grad");
}

const hpc_op hpc_op_norm_grad = {
    .sig = {.name = "norm_grad",
            .operand_n = GRAD_N,
            .attr_bytes = sizeof(hpc_norm_attr),
            .operand = {{"dx", HPC_OUT | HPC_OPTIONAL},
                        {"dw", HPC_ACC | HPC_OPTIONAL},
                        {"db", HPC_ACC | HPC_OPTIONAL},
                        {"dy", HPC_IN},
                        {"x", HPC_IN},
                        {"stats", HPC_IN},
                        {"w", HPC_IN | HPC_OPTIONAL}}},
    .field = norm_field,
    .comm = -1,
    .shape = norm_grad_shape,
    .layout = norm_grad_layout,
    .cost = norm_grad_cost,
    .select = norm_grad_select,
};
