/*
 * product.c: op table entries of matmul and pack. The gradients of a product are products, so there
 * is no backward kernel.
 */
#include "runtime/program/op/priv.h"

enum { MATMUL_Y, MATMUL_PRE, MATMUL_A, MATMUL_B, MATMUL_BIAS, MATMUL_RESIDUAL, MATMUL_N };

static const hpc_field matmul_field[] = {
    {"trans_a", HPC_FIELD_BOOL, offsetof(hpc_matmul_attr, trans_a), NULL, false},
    {"trans_b", HPC_FIELD_BOOL, offsetof(hpc_matmul_attr, trans_b), NULL, false},
    {"halves", HPC_FIELD_BOOL, offsetof(hpc_matmul_attr, halves), NULL, false},
    {"int8", HPC_FIELD_BOOL, offsetof(hpc_matmul_attr, int8), NULL, false},
    {"symmetric", HPC_FIELD_BOOL, offsetof(hpc_matmul_attr, symmetric), NULL, false},
    {"act", HPC_FIELD_NAME, offsetof(hpc_matmul_attr, act), hpc_op_act_names, false},
    {"alpha", HPC_FIELD_REAL, offsetof(hpc_matmul_attr, alpha), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

/* Extents of op(a) [m,k] and op(b) [inner,n]. */
typedef struct factors {
    int64_t batch, m, k, inner, n;
} factors;

static factors factors_of(const hpc_type *a, const hpc_type *b, const hpc_matmul_attr *at)
{
    factors f = {.batch = a->rank == 3 ? a->extent[0] : 1};
    f.m = a->extent[a->rank - (at->trans_a ? 1 : 2)];
    f.k = a->extent[a->rank - (at->trans_a ? 2 : 1)];
    f.inner = b->extent[b->rank - (at->trans_b ? 1 : 2)];
    f.n = b->extent[b->rank - (at->trans_b ? 2 : 1)];
    return f;
}

/* ---- shape ----------------------------------------------------------------- */

static int check_attr(const hpc_matmul_attr *at)
{
    if (at->alpha == 0)
        return hpc_fail(HPC_E_ARG, "alpha is 0, which makes the product vanish; 1 is plain");
    int rc = hpc_op_check_act(at->act);
    if (rc < 0) return rc;
    if (at->symmetric && at->act != HPC_ACT_NONE)
        return hpc_fail(HPC_E_ARG, "a symmetric product takes no act, and this has %s",
                        hpc_op_act_names[at->act]);
    return HPC_OK;
}

/* Packed block formats are multiplied as integers; plain ones may be. */
static int check_int8(const hpc_insn *i, const hpc_type *type)
{
    const hpc_matmul_attr *at = i->attr;
    const hpc_type *b = &type[MATMUL_B];
    bool blocks = hpc_dtype_get((hpc_dtype)b->dtype)->quantised;
    if (blocks && b->pack != HPC_PLAIN && !at->int8)
        return hpc_misfit(i, type, MATMUL_B, -1, "packed blocks are multiplied as int8 alone");
    if (at->int8 && !blocks)
        return hpc_misfit(i, type, MATMUL_B, -1, "int8 takes a block format alone");
    if (at->int8 && (at->trans_a || at->symmetric || at->halves))
        return hpc_fail(HPC_E_ARG, "int8 goes with neither trans_a nor symmetric nor halves");
    return HPC_OK;
}

static bool of_bytes(const hpc_type *type)
{
    return type[MATMUL_A].dtype == HPC_I8;
}

/* Of i8 there are sums and nothing else. */
static int check_bytes(const hpc_insn *i, const hpc_type *type)
{
    const hpc_matmul_attr *at = i->attr;
    const int others[] = {MATMUL_PRE, MATMUL_BIAS, MATMUL_RESIDUAL};
    if (!of_bytes(type)) return HPC_OK;
    if (at->alpha != 1 || at->act != HPC_ACT_NONE || at->halves || at->int8 || at->symmetric)
        return hpc_fail(HPC_E_ARG,
                        "a product of i8 takes trans_a and trans_b, and no other attribute");
    for (int k = 0; k < 3; k++)
        if (i->operand[others[k]] != HPC_NONE)
            return hpc_fail(HPC_E_ARG, "a product of i8 has no %s",
                            hpc_op_matmul.sig.operand[others[k]].name);
    return HPC_OK;
}

static int check_factors(const hpc_insn *i, const hpc_type *type)
{
    const hpc_matmul_attr *at = i->attr;
    const hpc_type *a = &type[MATMUL_A], *b = &type[MATMUL_B];
    int rc;
    TRY(hpc_op_expect(i, type, MATMUL_A, of_bytes(type) ? HPC_OP_BYTE : HPC_OP_REAL, 2, 3));
    TRY(hpc_op_expect(i, type, MATMUL_B, of_bytes(type) ? HPC_OP_BYTE : HPC_OP_WEIGHT, 2, 3));
    if (b->rank > a->rank)
        return hpc_misfit(i, type, MATMUL_A, MATMUL_B, "b has a batch and a has none");
    if (b->rank == 3 && a->extent[0] != b->extent[0])
        return hpc_misfit(i, type, MATMUL_A, MATMUL_B, "batches %lld and %lld differ",
                          (long long)a->extent[0], (long long)b->extent[0]);
    bool rows_only = b->pack != HPC_PLAIN || hpc_dtype_get((hpc_dtype)b->dtype)->quantised;
    if (rows_only && !at->trans_b)
        return hpc_misfit(i, type, MATMUL_B, -1,
                          "packed and quantised factors are read by rows: set trans_b");
    TRY(check_int8(i, type));
    TRY(check_bytes(i, type));
    factors f = factors_of(a, b, at);
    char text_a[128], text_b[128];
    if (f.k != f.inner)
        return hpc_fail(HPC_E_SHAPE, "a is %s%s and b is %s%s: inner extents %lld and %lld differ",
                        hpc_type_text(text_a, a), at->trans_a ? " (transposed)" : "",
                        hpc_type_text(text_b, b), at->trans_b ? " (transposed)" : "",
                        (long long)f.k, (long long)f.inner);
out:
    return rc;
}

static bool ragged_alike(const hpc_type *a, const hpc_type *b)
{
    return a->ragged == b->ragged && a->count == b->count;
}

/* True if the product sums over a's run-time extent. */
static bool contracts_ragged(const hpc_type *a, const hpc_matmul_attr *at)
{
    return at->trans_a && a->ragged >= 0 && a->ragged == a->rank - 2;
}

static int check_ragged(const hpc_insn *i, const hpc_type *type)
{
    const hpc_matmul_attr *at = i->attr;
    const hpc_type *a = &type[MATMUL_A], *b = &type[MATMUL_B];
    if (a->ragged == a->rank - 1)
        return hpc_misfit(i, type, MATMUL_A, -1, "the last extent of a factor cannot be run-time");
    if (contracts_ragged(a, at)) {
        if (at->trans_b || b->rank != a->rank || !ragged_alike(a, b))
            return hpc_misfit(i, type, MATMUL_A, MATMUL_B,
                              "a sum over a run-time extent needs it on both");
    } else if (b->ragged >= 0 && !(b->ragged == 0 && b->rank == 3 && ragged_alike(a, b))) {
        return hpc_misfit(i, type, MATMUL_A, MATMUL_B, "only b has this run-time extent");
    }
    return HPC_OK;
}

static int check_bias(const hpc_insn *i, const hpc_type *type, int64_t n)
{
    const hpc_type *a = &type[MATMUL_A], *bias = &type[MATMUL_BIAS];
    if (i->operand[MATMUL_BIAS] < 0) return HPC_OK;
    int rc = hpc_op_expect(i, type, MATMUL_BIAS, HPC_OP_REAL, 1, a->rank - 1);
    if (rc < 0) return rc;
    if (bias->extent[bias->rank - 1] != n)
        return hpc_misfit(i, type, MATMUL_B, MATMUL_BIAS, "a bias of %lld is expected",
                          (long long)n);
    if (bias->rank == 2 && bias->extent[0] != a->extent[0])
        return hpc_misfit(i, type, MATMUL_A, MATMUL_BIAS, "batches %lld and %lld differ",
                          (long long)a->extent[0], (long long)bias->extent[0]);
    if (bias->ragged >= 0)
        return hpc_misfit(i, type, MATMUL_BIAS, -1, "a bias has no run-time extent");
    return HPC_OK;
}

static int check_symmetric(const hpc_insn *i, const hpc_type *type, const factors *f)
{
    const hpc_matmul_attr *at = i->attr;
    const hpc_type *a = &type[MATMUL_A];
    if (!at->symmetric) return HPC_OK;
    if (f->m != f->n)
        return hpc_misfit(i, type, MATMUL_A, MATMUL_B, "%lld x %lld is not symmetric",
                          (long long)f->m, (long long)f->n);
    if (a->ragged >= a->rank - 2)
        return hpc_misfit(i, type, MATMUL_A, -1, "a symmetric product has no run-time extent");
    if (i->operand[MATMUL_PRE] != HPC_NONE || i->operand[MATMUL_BIAS] != HPC_NONE)
        return hpc_fail(HPC_E_ARG, "a symmetric product has no pre and no bias");
    return HPC_OK;
}

static int matmul_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_matmul_attr *at = i->attr;
    const hpc_type *a = &type[MATMUL_A];
    int rc;
    TRY(check_attr(at));
    TRY(check_factors(i, type));
    TRY(check_ragged(i, type));
    factors f = factors_of(a, &type[MATMUL_B], at);
    TRY(check_bias(i, type, f.n));
    TRY(check_symmetric(i, type, &f));
    hpc_type y = *a;
    y.extent[y.rank - 2] = f.m;
    y.extent[y.rank - 1] = f.n;
    if (contracts_ragged(a, at)) {
        y.ragged = -1;
        y.count = HPC_NONE;
    }
    y = hpc_op_like(&y, of_bytes(type) ? HPC_I32 : (hpc_dtype)a->dtype);
    TRY(hpc_op_output(i, type, MATMUL_Y, y));
    TRY(hpc_op_output(i, type, MATMUL_PRE, y));
    TRY(hpc_op_expect(i, type, MATMUL_RESIDUAL, HPC_OP_REAL, 2, 3));
    TRY(hpc_op_alike(i, type, MATMUL_RESIDUAL, MATMUL_Y));
out:
    return rc;
}

/* ---- backward -------------------------------------------------------------- */

static hpc_value product(hpc_program *p, hpc_value y, hpc_value a, bool trans_a, hpc_value b,
                         bool trans_b, const hpc_matmul_attr *of)
{
    hpc_value operand[MATMUL_N] = {y, HPC_NONE, a, b, HPC_NONE, HPC_NONE};
    hpc_matmul_attr at = {
        .trans_a = trans_a, .trans_b = trans_b, .halves = of->halves, .alpha = of->alpha};
    return hpc_emit(p, &hpc_op_matmul, operand, &at);
}

/* The gradient of act's argument, from those of y and of pre itself. */
static int gradient_of_pre(hpc_value *out, hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_matmul_attr *at = i->attr;
    hpc_value g = hpc_diff_of(d, i->operand[MATMUL_Y]);
    hpc_value by_pre = hpc_diff_of(d, i->operand[MATMUL_PRE]);
    if (g >= 0 && at->act != HPC_ACT_NONE) {
        if (i->operand[MATMUL_PRE] < 0)
            return hpc_fail(HPC_E_ARG, "the gradient of act %s needs the output pre: ask for it",
                            hpc_op_act_names[at->act]);
        g = hpc_op_act_gradient(p, g, i->operand[MATMUL_PRE], at->act);
    }
    *out = g < 0 ? by_pre : by_pre < 0 ? g : hpc_binary(p, HPC_ADD, g, by_pre);
    return HPC_OK;
}

/* op(a) = dpre op(b)^T, turned round when a is stored transposed. */
static int gradient_of_a(hpc_diff *d, const hpc_insn *i, hpc_value dpre)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_matmul_attr *at = i->attr;
    hpc_value a = i->operand[MATMUL_A], b = i->operand[MATMUL_B];
    if (!hpc_diff_wants(d, a)) return HPC_OK;
    if (at->trans_a && p->value[b].type.rank < p->value[a].type.rank)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "no gradient for a transposed batch times a shared factor");
    hpc_value y = hpc_diff_target(d, a);
    hpc_op_give(d, a,
                at->trans_a ? product(p, y, b, at->trans_b, dpre, true, at)
                            : product(p, y, dpre, false, b, !at->trans_b, at));
    return HPC_OK;
}

static hpc_value product_for_b(hpc_program *p, hpc_value y, hpc_value a, hpc_value dpre,
                               const hpc_matmul_attr *at)
{
    return at->trans_b ? product(p, y, dpre, true, a, at->trans_a, at)
                       : product(p, y, a, !at->trans_a, dpre, false, at);
}

static hpc_value view_as_rows(hpc_program *p, hpc_value x)
{
    const hpc_type *t = &p->value[x].type;
    int64_t extent[2] = {hpc_op_rows(t), hpc_op_cols(t)};
    return hpc_view(p, x, 2, extent);
}

/* One product for each of the batch, summed: for what cannot be seen as one tall matrix. */
static void gradient_of_shared(hpc_diff *d, const hpc_insn *i, hpc_value dpre)
{
    hpc_program *p = hpc_diff_program(d);
    hpc_value b = i->operand[MATMUL_B];
    hpc_value each = product_for_b(p, HPC_NEW, i->operand[MATMUL_A], dpre, i->attr);
    if (each < 0) return;
    hpc_type t = p->value[each].type, tb = p->value[b].type;
    int64_t flat[2] = {t.extent[0], t.extent[1] * t.extent[2]};
    each = hpc_view(p, each, 2, flat);
    hpc_value sum = hpc_reduce(p, HPC_NEW, each, HPC_SUM, HPC_OVER_ROWS);
    hpc_op_give(d, b, hpc_view(p, sum, 2, tb.extent));
}

static void gradient_of_b(hpc_diff *d, const hpc_insn *i, hpc_value dpre)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_matmul_attr *at = i->attr;
    hpc_value a = i->operand[MATMUL_A], b = i->operand[MATMUL_B];
    if (!hpc_diff_wants(d, b)) return;
    bool shared = p->value[b].type.rank < p->value[a].type.rank;
    if (shared && (at->trans_a || p->value[a].type.ragged >= 0)) {
        gradient_of_shared(d, i, dpre);
        return;
    }
    if (shared) {
        a = view_as_rows(p, a);
        dpre = view_as_rows(p, dpre);
    }
    hpc_op_give(d, b, product_for_b(p, hpc_diff_target(d, b), a, dpre, at));
}

static int gradient_of_bias(hpc_diff *d, const hpc_insn *i, hpc_value dpre)
{
    hpc_program *p = hpc_diff_program(d);
    hpc_value bias = i->operand[MATMUL_BIAS];
    if (!hpc_diff_wants(d, bias)) return HPC_OK;
    if (p->value[bias].type.rank == 2)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient for a bias of its own for each of a batch");
    hpc_value y = hpc_diff_target(d, bias);
    hpc_op_give(d, bias, hpc_reduce(p, y, dpre, HPC_SUM, HPC_OVER_ROWS));
    return HPC_OK;
}

static int matmul_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_matmul_attr *at = i->attr;
    hpc_value dpre = HPC_NONE, dy = hpc_diff_of(d, i->operand[MATMUL_Y]);
    int rc;
    if (at->symmetric) return hpc_fail(HPC_E_UNSUPPORTED, "no gradient of a symmetric product");
    if (dy >= 0) hpc_op_give(d, i->operand[MATMUL_RESIDUAL], dy);
    if (!hpc_diff_wants(d, i->operand[MATMUL_A]) && !hpc_diff_wants(d, i->operand[MATMUL_B]) &&
        !hpc_diff_wants(d, i->operand[MATMUL_BIAS]))
        return HPC_OK;
    TRY(gradient_of_pre(&dpre, d, i));
    if (dpre < 0) return HPC_OK;
    TRY(gradient_of_bias(d, i, dpre));
    TRY(gradient_of_a(d, i, dpre));
    gradient_of_b(d, i, dpre);
out:
    return rc;
}

/* ---- layout, cost, selection ----------------------------------------------- */

/* Where something is added to the product, or it goes through a function, a split of the inner
 * extent would do so once on every rank: it may not be split then. Rows of a symmetric product
 * are not symmetric, sums of them are. */
static int matmul_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_matmul_attr *at = i->attr;
    bool bias = i->operand[MATMUL_BIAS] >= 0, residual = i->operand[MATMUL_RESIDUAL] >= 0;
    bool pure = at->act == HPC_ACT_NONE && !bias && !residual;
    int skip = hpc_op_type(p, i, MATMUL_A)->rank == 3 ? 0 : 1;
    int skip_b = hpc_op_type(p, i, MATMUL_B)->rank == 3 ? 0 : 1;
    const char *a = at->trans_a ? (pure ? "BKM" : "BkM") : (pure ? "BMK" : "BMk");
    const char *b = at->trans_b ? (pure ? "BNK" : "BNk") : (pure ? "BKN" : "BkN");
    const char *y = &"BMN"[skip];
    if (at->symmetric) {
        a = at->trans_a ? (pure ? "BKm" : "Bkm") : (pure ? "BmK" : "Bmk");
        b = at->trans_b ? (pure ? "BnK" : "Bnk") : (pure ? "BKn" : "Bkn");
        y = &"Bmn"[skip];
    }
    hpc_op_label(dims, p, i, MATMUL_Y, y);
    hpc_op_label(dims, p, i, MATMUL_PRE, y);
    hpc_op_label(dims, p, i, MATMUL_RESIDUAL, y);
    hpc_op_label(dims, p, i, MATMUL_A, a + skip);
    hpc_op_label(dims, p, i, MATMUL_B, b + skip_b);
    if (bias)
        hpc_op_label(dims, p, i, MATMUL_BIAS,
                     hpc_op_type(p, i, MATMUL_BIAS)->rank == 2 ? "BN" : "N");
    if (at->act == HPC_ACT_NONE) {
        unsigned added = (bias ? 1u << MATMUL_BIAS : 0) | (residual ? 1u << MATMUL_RESIDUAL : 0);
        dims->linear[0] = (uint16_t)(1u << MATMUL_A | added);
        dims->linear[1] = (uint16_t)(1u << MATMUL_B | added);
    }
    return HPC_OK;
}

static hpc_cost matmul_cost(const hpc_type *type, const void *attr)
{
    factors f = factors_of(&type[MATMUL_A], &type[MATMUL_B], attr);
    double sums = ((const hpc_matmul_attr *)attr)->symmetric ? ((double)f.n + 1) / 2 : (double)f.n;
    double flops = 2.0 * (double)f.batch * (double)f.m * sums * (double)f.k;
    return hpc_op_cost(type, MATMUL_N, flops);
}

static int matmul_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->matmul ? k->matmul(plan, workers, args) : hpc_op_missing("matmul");
}

const hpc_op hpc_op_matmul = {
    .sig = {.name = "matmul",
            .operand_n = MATMUL_N,
            .attr_bytes = sizeof(hpc_matmul_attr),
            .operand = {{"y", HPC_ACC},
                        {"pre", HPC_OUT | HPC_OPTIONAL},
                        {"a", HPC_IN},
                        {"b", HPC_IN},
                        {"bias", HPC_IN | HPC_OPTIONAL},
                        {"residual", HPC_IN | HPC_OPTIONAL}}},
    .field = matmul_field,
    .comm = -1,
    .shape = matmul_shape,
    .backward = matmul_backward,
    .layout = matmul_layout,
    .cost = matmul_cost,
    .select = matmul_select,
};

/* pre is emitted with every activation, because a gradient may be requested later. */
hpc_value hpc_matmul(hpc_program *p, hpc_value a, hpc_value b, hpc_matmul_attr attr)
{
    if (attr.alpha == 0) attr.alpha = 1;
    hpc_value pre = attr.act == HPC_ACT_NONE ? HPC_NONE : HPC_NEW;
    hpc_value operand[MATMUL_N] = {HPC_NEW, pre, a, b, HPC_NONE, HPC_NONE};
    return hpc_emit(p, &hpc_op_matmul, operand, &attr);
}

hpc_value hpc_linear(hpc_program *p, hpc_value x, hpc_value w, hpc_value bias, hpc_value residual)
{
    hpc_value operand[MATMUL_N] = {HPC_NEW, HPC_NONE, x, w, bias, residual};
    hpc_matmul_attr attr = {.trans_b = true, .alpha = 1};
    return hpc_emit(p, &hpc_op_matmul, operand, &attr);
}

/* ---- pack ------------------------------------------------------------------ */

enum { PACK_Y, PACK_X, PACK_N };

static int pack_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    int rc = hpc_op_expect(i, type, PACK_X, HPC_OP_WEIGHT, 2, 3);
    if (rc < 0) return rc;
    const hpc_type *x = &type[PACK_X];
    if (x->pack != HPC_PLAIN) return hpc_misfit(i, type, PACK_X, -1, "it is packed already");
    if (x->ragged >= 0) return hpc_misfit(i, type, PACK_X, -1, "only fixed extents are packed");
    hpc_type y = hpc_op_like(x, (hpc_dtype)x->dtype);
    y.pack = HPC_PANEL16;
    if (i->operand[PACK_Y] == HPC_NEW) {
        type[PACK_Y] = y;
        return HPC_OK;
    }
    if (type[PACK_Y].pack == HPC_PANEL16 && type[PACK_Y].dtype == y.dtype &&
        hpc_type_same_shape(&type[PACK_Y], &y))
        return HPC_OK;
    return hpc_misfit(i, type, PACK_Y, PACK_X, "y must be as x, in panels");
}

/* The elements are the same ones: only where they lie differs, and gradients lie plainly. */
static int pack_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_op_give(d, i->operand[PACK_X], hpc_diff_of(d, i->operand[PACK_Y]));
    return HPC_OK;
}

static int pack_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    dims->linear[0] = 1u << PACK_X;
    return hpc_op_layout_pointwise(p, i, dims);
}

static int pack_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->pack ? k->pack(plan, workers, args) : hpc_op_missing("pack");
}

const hpc_op hpc_op_pack = {
    .sig = {.name = "pack",
            .operand_n = PACK_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .comm = -1,
    .shape = pack_shape,
    .backward = pack_backward,
    .layout = pack_layout,
    .select = pack_select,
};

hpc_value hpc_pack(hpc_program *p, hpc_value x)
{
    hpc_value operand[PACK_N] = {HPC_NEW, x};
    return hpc_emit(p, &hpc_op_pack, operand, NULL);
}
