/*
 * rope.c: op table entry of rope: rotary position embedding, full, partial and scaled. The
 * frequencies are an input, computed by the model.
 */
#include "runtime/program/op/priv.h"

enum { ROPE_Y, ROPE_X, ROPE_POS, ROPE_FREQ, ROPE_N };

static const hpc_field rope_field[] = {
    {"interleaved", HPC_FIELD_BOOL, offsetof(hpc_rope_attr, interleaved), NULL, false},
    {"inverse", HPC_FIELD_BOOL, offsetof(hpc_rope_attr, inverse), NULL, false},
    {"scale", HPC_FIELD_REAL, offsetof(hpc_rope_attr, scale), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int rope_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_rope_attr *at = i->attr;
    const hpc_type *x = &type[ROPE_X], *pos = &type[ROPE_POS], *freq = &type[ROPE_FREQ];
    int rc;
    if (at->scale == 0) return hpc_fail(HPC_E_ARG, "scale is 0, which erases x; 1 is plain");
    TRY(hpc_op_expect(i, type, ROPE_X, HPC_OP_REAL, 3, 3));
    TRY(hpc_op_expect(i, type, ROPE_POS, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect(i, type, ROPE_FREQ, HPC_OP_REAL, 1, 1));
    if (x->ragged > 0) return hpc_misfit(i, type, ROPE_X, -1, "only rows may be run-time");
    if (pos->extent[0] != x->extent[0])
        return hpc_misfit(i, type, ROPE_X, ROPE_POS, "%lld rows need as many positions, not %lld",
                          (long long)x->extent[0], (long long)pos->extent[0]);
    if (pos->ragged >= 0 && (pos->ragged != x->ragged || pos->count != x->count))
        return hpc_misfit(i, type, ROPE_X, ROPE_POS, "their run-time extents differ");
    if (2 * freq->extent[0] > x->extent[2] || freq->ragged >= 0)
        return hpc_misfit(
            i, type, ROPE_X, ROPE_FREQ, "%lld frequencies turn %lld elements, a head has %lld",
            (long long)freq->extent[0], 2 * (long long)freq->extent[0], (long long)x->extent[2]);
    TRY(hpc_op_output(i, type, ROPE_Y, hpc_op_like(x, (hpc_dtype)x->dtype)));
out:
    return rc;
}

/* A rotation's transpose turns the other way; the scale stays. */
static int rope_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_rope_attr at = *(const hpc_rope_attr *)i->attr;
    at.inverse = !at.inverse;
    hpc_value dx = hpc_rope(hpc_diff_program(d), hpc_diff_of(d, i->operand[ROPE_Y]),
                            i->operand[ROPE_POS], i->operand[ROPE_FREQ], at);
    hpc_op_give(d, i->operand[ROPE_X], dx);
    return HPC_OK;
}

static int rope_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, ROPE_Y, "TGd");
    hpc_op_label(dims, p, i, ROPE_X, "TGd");
    hpc_op_label(dims, p, i, ROPE_POS, "T");
    hpc_op_label(dims, p, i, ROPE_FREQ, "f");
    dims->linear[0] = 1u << ROPE_X;
    return HPC_OK;
}

static hpc_cost rope_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, ROPE_N, 3.0 * (double)hpc_op_n(&type[ROPE_X]));
}

static int rope_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->rope ? k->rope(plan, workers, args) : hpc_op_missing("rope");
}

/* Not rowwise: a row is one head, and a worker may well take whole tokens. */
const hpc_op hpc_op_rope = {
    .sig = {.name = "rope",
            .operand_n = ROPE_N,
            .attr_bytes = sizeof(hpc_rope_attr),
            .operand =
                {{"y", HPC_OUT}, {"x", HPC_IN | HPC_INPLACE}, {"pos", HPC_IN}, {"freq", HPC_IN}}},
    .field = rope_field,
    .comm = -1,
    .shape = rope_shape,
    .backward = rope_backward,
    .layout = rope_layout,
    .cost = rope_cost,
    .select = rope_select,
};

hpc_value hpc_rope(hpc_program *p, hpc_value x, hpc_value pos, hpc_value freq, hpc_rope_attr attr)
{
    if (attr.scale == 0) attr.scale = 1;
    hpc_value operand[ROPE_N] = {HPC_NEW, x, pos, freq};
    return hpc_emit(p, &hpc_op_rope, operand, &attr);
}
