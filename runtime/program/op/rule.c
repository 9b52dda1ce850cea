/*
 * rule.c: helper functions for the rules of the op table. They contain no knowledge of particular
 * ops.
 */
#include <string.h>

#include "runtime/program/op/priv.h"

/* ---- types ----------------------------------------------------------------- */

int64_t hpc_op_n(const hpc_type *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->extent[d];
    return n;
}

int64_t hpc_op_cols(const hpc_type *t)
{
    return t->rank > 0 ? t->extent[t->rank - 1] : 1;
}

int64_t hpc_op_rows(const hpc_type *t)
{
    int64_t n = 1;
    for (int d = 0; d + 1 < t->rank; d++) n *= t->extent[d];
    return n;
}

hpc_dtype hpc_op_wide(const hpc_type *t)
{
    return t->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
}

hpc_type hpc_op_like(const hpc_type *t, hpc_dtype dtype)
{
    hpc_type y = hpc_type_of(dtype, t->rank, t->extent);
    y.ragged = t->ragged;
    y.count = t->count;
    y.picked = t->picked;
    return y;
}

hpc_type hpc_op_leading(const hpc_type *t, hpc_dtype dtype)
{
    if (t->rank < 1) return hpc_op_like(t, dtype);
    hpc_type y = hpc_type_of(dtype, t->rank - 1, t->extent);
    if (t->ragged >= 0 && t->ragged < y.rank) y = hpc_type_ragged(y, t->ragged, t->count);
    return y;
}

const hpc_type *hpc_op_type(const hpc_program *p, const hpc_insn *i, int k)
{
    return i->operand[k] >= 0 ? &p->value[i->operand[k]].type : NULL;
}

/* ---- shape rules ----------------------------------------------------------- */

static bool elements_fit(const hpc_type *t, hpc_op_elements e)
{
    const hpc_dtype_info *d = hpc_dtype_get((hpc_dtype)t->dtype);
    if (d->held != t->dtype) return false;
    switch (e) {
    case HPC_OP_REAL:
        return t->pack == HPC_PLAIN && d->real && !d->quantised && t->dtype != HPC_F16;
    case HPC_OP_WEIGHT: return d->real;
    case HPC_OP_INDEX: return t->pack == HPC_PLAIN && t->dtype == HPC_I32;
    case HPC_OP_LONG: return t->pack == HPC_PLAIN && t->dtype == HPC_I64;
    case HPC_OP_BYTE: return t->pack == HPC_PLAIN && t->dtype == HPC_I8;
    case HPC_OP_ANY: return t->pack == HPC_PLAIN && !d->quantised;
    }
    return false;
}

int hpc_op_expect(const hpc_insn *i, const hpc_type *type, int k, hpc_op_elements e, int least,
                  int most)
{
    static const char *const what[] = {
        [HPC_OP_REAL] = "plain f32, bf16 or f64",
        [HPC_OP_WEIGHT] = "elements with fractions",
        [HPC_OP_INDEX] = "plain i32",
        [HPC_OP_LONG] = "plain i64",
        [HPC_OP_BYTE] = "plain i8",
        [HPC_OP_ANY] = "plain, unquantised elements",
    };
    if (i->operand[k] < 0) return HPC_OK;
    const hpc_type *t = &type[k];
    if (!elements_fit(t, e)) return hpc_misfit(i, type, k, -1, "expected %s", what[e]);
    if (t->rank >= least && t->rank <= most) return HPC_OK;
    if (most == 0) return hpc_misfit(i, type, k, -1, "expected a scalar");
    if (least == most) return hpc_misfit(i, type, k, -1, "expected rank %d", least);
    return hpc_misfit(i, type, k, -1, "expected a rank of %d to %d", least, most);
}

int hpc_op_alike(const hpc_insn *i, const hpc_type *type, int k, int like)
{
    if (i->operand[k] < 0 || hpc_type_same_shape(&type[k], &type[like])) return HPC_OK;
    return hpc_misfit(i, type, k, like, "they must have the same shape");
}

int hpc_op_output(const hpc_insn *i, hpc_type *type, int k, hpc_type want)
{
    if (i->operand[k] == HPC_NONE) return HPC_OK;
    if (i->operand[k] == HPC_NEW) {
        type[k] = want;
        return HPC_OK;
    }
    bool real = hpc_dtype_get((hpc_dtype)want.dtype)->real;
    bool fits = real ? elements_fit(&type[k], HPC_OP_REAL) : type[k].dtype == want.dtype;
    if (fits && hpc_type_same_shape(&type[k], &want)) return HPC_OK;
    char text[128];
    return hpc_misfit(i, type, k, -1, "expected %s", hpc_type_text(text, &want));
}

/* ---- layout rules ---------------------------------------------------------- */

void hpc_op_label_rows(hpc_dims *dims, const hpc_program *p, const hpc_insn *i, int k, char last)
{
    const hpc_type *t = hpc_op_type(p, i, k);
    if (!t) return;
    for (int d = 0; d < t->rank; d++) dims->label[k][d] = d + 1 < t->rank ? (char)('A' + d) : last;
}

void hpc_op_label(hpc_dims *dims, const hpc_program *p, const hpc_insn *i, int k,
                  const char *letters)
{
    const hpc_type *t = hpc_op_type(p, i, k);
    if (!t) return;
    hpc_assert((size_t)t->rank <= strlen(letters));
    memcpy(dims->label[k], letters, (size_t)t->rank);
}

int hpc_op_layout_pointwise(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) hpc_op_label_rows(dims, p, i, k, 'Z');
    return HPC_OK;
}

void hpc_op_part(int64_t *first, int64_t *rows, const hpc_type *global, const hpc_type *local,
                 const hpc_grid_shape *shape, const int *coord)
{
    if (local->extent[0] == global->extent[0]) return;
    *first = hpc_type_first(local, 0, shape, coord);
    *rows = global->extent[0];
}

/* ---- costs, selection ------------------------------------------------------ */

hpc_cost hpc_op_cost(const hpc_type *type, int operand_n, double flops)
{
    hpc_cost c = {.flops = flops};
    for (int k = 0; k < operand_n; k++)
        if (type[k].rank >= 0) c.bytes += (double)hpc_type_bytes(&type[k]);
    return c;
}

int hpc_op_missing(const char *op)
{
    return hpc_fail(HPC_E_UNSUPPORTED, "this backend has no %s kernel", op);
}

/* ---- backward rules -------------------------------------------------------- */

void hpc_op_give(hpc_diff *d, hpc_value v, hpc_value gradient)
{
    hpc_program *p = hpc_diff_program(d);
    if (gradient < 0 || !hpc_diff_wants(d, v)) return;
    const hpc_type *t = &p->value[v].type;
    bool plain = t->dtype == HPC_F32 || t->dtype == HPC_BF16 || t->dtype == HPC_F64;
    hpc_dtype own = plain ? (hpc_dtype)t->dtype : HPC_F32;
    if (p->value[v].kind != HPC_VALUE_STATE && p->value[gradient].type.dtype != own)
        gradient = hpc_copy(p, gradient, own);
    hpc_diff_add(d, v, gradient);
}

hpc_value hpc_op_fresh(hpc_diff *d, hpc_value v)
{
    return hpc_diff_wants(d, v) ? HPC_NEW : HPC_NONE;
}

int hpc_op_no_gradient(hpc_diff *d, hpc_value v, const char *what)
{
    if (hpc_diff_of(d, v) == HPC_NONE) return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes through %s, use the main output", what);
}
