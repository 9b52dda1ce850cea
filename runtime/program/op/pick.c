/*
 * pick.c: op table entries of pick (the elements of a tensor that an index names) and
 * spread (the same elements in a tensor of zeros).
 *
 * Ranks that split a tensor hold the index of the elements in their part, relative to
 * that part. So picked elements are split where the tensor is, along any of its
 * dimensions, into parts that need not be equal (type.picked). No gradient passes,
 * because picked values are gradients.
 */
#include <string.h>

#include "runtime/program/op/priv.h"

_Static_assert((int)HPC_AXIS_N <= (int)HPC_PICK_AXES, "a layout fits");

enum { PICK_Y, PICK_X, PICK_INDEX, PICK_N };

static int check_index(const hpc_insn *i, const hpc_type *type)
{
    int rc = hpc_op_expect(i, type, PICK_INDEX, HPC_OP_INDEX, 1, 1);
    if (rc < 0) return rc;
    if (type[PICK_INDEX].ragged >= 0)
        return hpc_misfit(i, type, PICK_INDEX, -1, "an index of elements has a fixed extent");
    return HPC_OK;
}

/* Splits the whole operand as the rule states, and the picked elements like their index. */
static void lay_out(hpc_dims *dims, const hpc_program *p, const hpc_insn *i, int whole, int picked,
                    const int8_t *layout)
{
    static const char *const small[] = {"", "a", "ab", "abc", "abcd"};
    const int8_t *as = hpc_op_type(p, i, PICK_INDEX)->layout;
    hpc_op_label(dims, p, i, whole, small[hpc_op_type(p, i, whole)->rank]);
    hpc_op_label(dims, p, i, picked, "z");
    hpc_op_label(dims, p, i, PICK_INDEX, "z");
    dims->as[whole] = layout;
    dims->as[picked] = dims->as[PICK_INDEX] = as;
}

/* ---- pick ------------------------------------------------------------------ */

static int pick_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[PICK_X];
    int rc;
    TRY(check_index(i, type));
    TRY(hpc_op_expect(i, type, PICK_X, HPC_OP_REAL, 1, HPC_RANK_MAX));
    if (x->ragged >= 0)
        return hpc_misfit(i, type, PICK_X, -1, "only fixed extents are picked from");
    TRY(hpc_op_output(i, type, PICK_Y, hpc_op_like(&type[PICK_INDEX], (hpc_dtype)x->dtype)));
out:
    return rc;
}

static int pick_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_pick_attr *at = i->attr;
    lay_out(dims, p, i, PICK_X, PICK_Y, at->layout);
    dims->linear[0] = 1u << PICK_X;
    return HPC_OK;
}

static int pick_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->pick ? k->pick(plan, workers, args) : hpc_op_missing("pick");
}

const hpc_op hpc_op_pick = {
    .sig = {.name = "pick",
            .operand_n = PICK_N,
            .attr_bytes = sizeof(hpc_pick_attr),
            .operand = {{"y", HPC_ACC}, {"x", HPC_IN}, {"index", HPC_IN}}},
    .comm = -1,
    .shape = pick_shape,
    .layout = pick_layout,
    .select = pick_select,
};

hpc_value hpc_pick(hpc_program *p, hpc_value y, hpc_value x, hpc_value index, hpc_value like)
{
    hpc_value operand[PICK_N] = {y, x, index};
    hpc_pick_attr attr = {0};
    if (like >= 0) memcpy(attr.layout, p->value[like].type.layout, HPC_AXIS_N);
    return hpc_emit(p, &hpc_op_pick, operand, &attr);
}

/* ---- spread ---------------------------------------------------------------- */

enum { SPREAD_Y, SPREAD_X, SPREAD_INDEX, SPREAD_N };

static const hpc_field spread_field[] = {
    {"m", HPC_FIELD_I64, offsetof(hpc_spread_attr, m), NULL, false},
    {"n", HPC_FIELD_I64, offsetof(hpc_spread_attr, n), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int spread_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_spread_attr *at = i->attr;
    int rc;
    TRY(check_index(i, type));
    TRY(hpc_op_expect(i, type, SPREAD_X, HPC_OP_REAL, 1, 1));
    TRY(hpc_op_alike(i, type, SPREAD_X, SPREAD_INDEX));
    hpc_type y = hpc_type_of((hpc_dtype)type[SPREAD_X].dtype, 2, (int64_t[]){at->m, at->n});
    if (i->operand[SPREAD_Y] == HPC_NEW) {
        if (at->m < 1 || at->n < 1)
            return hpc_fail(HPC_E_ARG, "m is %lld and n %lld; a new y needs both", (long long)at->m,
                            (long long)at->n);
        type[SPREAD_Y] = y;
        return HPC_OK;
    }
    TRY(hpc_op_expect(i, type, SPREAD_Y, HPC_OP_REAL, 1, HPC_RANK_MAX));
out:
    return rc;
}

static int spread_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_spread_attr *at = i->attr;
    lay_out(dims, p, i, SPREAD_Y, SPREAD_X, at->layout);
    return HPC_OK;
}

static void spread_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                            const hpc_grid_shape *shape, const int *coord)
{
    (void)global, (void)shape, (void)coord;
    hpc_spread_attr *at = i->attr;
    if (at->m == 0) return;
    at->m = local[SPREAD_Y].extent[0];
    at->n = local[SPREAD_Y].extent[1];
}

static int spread_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->spread ? k->spread(plan, workers, args) : hpc_op_missing("spread");
}

const hpc_op hpc_op_spread = {
    .sig = {.name = "spread",
            .operand_n = SPREAD_N,
            .attr_bytes = sizeof(hpc_spread_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}, {"index", HPC_IN}}},
    .field = spread_field,
    .comm = -1,
    .shape = spread_shape,
    .layout = spread_layout,
    .localise = spread_localise,
    .select = spread_select,
};

hpc_value hpc_spread(hpc_program *p, hpc_value y, hpc_value x, hpc_value index, hpc_value like)
{
    hpc_value operand[SPREAD_N] = {y, x, index};
    hpc_spread_attr attr = {0};
    if (like >= 0) {
        const hpc_type *t = &p->value[like].type;
        memcpy(attr.layout, t->layout, HPC_AXIS_N);
        if (y == HPC_NEW && t->rank == 2) attr.m = t->extent[0], attr.n = t->extent[1];
    }
    return hpc_emit(p, &hpc_op_spread, operand, &attr);
}
