/*
 * loss.c: op table entries of head_loss and head_loss_grad: the head's product fused with
 * cross-entropy, without logits in memory. The loss is one number for each row. The caller averages
 * rows through the gradient that it seeds.
 */
#include <math.h>

#include "runtime/program/op/priv.h"

enum { LOSS_LOSS, LOSS_LSE, LOSS_X, LOSS_W, LOSS_TARGET, LOSS_N };
static const hpc_field head_field[] = {
    {"first", HPC_FIELD_I64, offsetof(hpc_head_attr, first), NULL, false},
    {"rows", HPC_FIELD_I64, offsetof(hpc_head_attr, rows), NULL, false},
    {"part", HPC_FIELD_BOOL, offsetof(hpc_head_attr, part), NULL, false},
    {"cap", HPC_FIELD_REAL, offsetof(hpc_head_attr, cap), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

enum { GRAD_LOSS, GRAD_DX, GRAD_DW, GRAD_DLOSS, GRAD_LSE, GRAD_X, GRAD_W, GRAD_TARGET, GRAD_N };

static int check_inputs(const hpc_insn *i, const hpc_type *type, int x, int w, int target)
{
    int rc;
    TRY(hpc_op_expect(i, type, x, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect(i, type, w, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect(i, type, target, HPC_OP_INDEX, 1, 1));
    if (type[x].extent[1] != type[w].extent[1])
        return hpc_misfit(i, type, x, w, "widths %lld and %lld differ",
                          (long long)type[x].extent[1], (long long)type[w].extent[1]);
    if (type[x].ragged > 0 || type[w].ragged >= 0)
        return hpc_misfit(i, type, x, w, "only rows of x may be run-time");
    hpc_type rows = hpc_op_leading(&type[x], HPC_I32);
    if (!hpc_type_same_shape(&type[target], &rows))
        return hpc_misfit(i, type, x, target, "each row needs its target");
out:
    return rc;
}

static int check_cap(const hpc_insn *i)
{
    double cap = ((const hpc_head_attr *)i->attr)->cap;
    if (cap >= 0 && isfinite(cap)) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "cap is %g; 0 means none", cap);
}

static int head_loss_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[LOSS_X];
    int rc;
    TRY(check_cap(i));
    TRY(check_inputs(i, type, LOSS_X, LOSS_W, LOSS_TARGET));
    TRY(hpc_op_output(i, type, LOSS_LOSS, hpc_op_leading(x, hpc_op_wide(x))));
    TRY(hpc_op_output(i, type, LOSS_LSE, hpc_op_leading(x, hpc_op_wide(x))));
out:
    return rc;
}

static int head_loss_backward(hpc_diff *d, const hpc_insn *i)
{
    int rc = hpc_op_no_gradient(d, i->operand[LOSS_LSE], "the lse of a loss");
    if (rc < 0) return rc;
    if (((const hpc_head_attr *)i->attr)->part)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes through a loss of parts alone");
    hpc_value x = i->operand[LOSS_X], w = i->operand[LOSS_W];
    hpc_value operand[GRAD_N] = {HPC_NONE,
                                 hpc_op_fresh(d, x),
                                 hpc_diff_target(d, w),
                                 hpc_diff_of(d, i->operand[LOSS_LOSS]),
                                 i->operand[LOSS_LSE],
                                 x,
                                 w,
                                 i->operand[LOSS_TARGET]};
    hpc_head_attr at = {.cap = ((const hpc_head_attr *)i->attr)->cap};
    hpc_emit(hpc_diff_program(d), &hpc_op_head_loss_grad, operand, &at);
    hpc_op_give(d, x, operand[GRAD_DX]);
    hpc_op_give(d, w, operand[GRAD_DW]);
    return HPC_OK;
}

/* The vocabulary is not split: the loss is not a sum of losses of its parts. But the targets'
 * logits are sums over the parts, and lse is the logarithm of one. */
static int head_loss_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    bool part = ((const hpc_head_attr *)i->attr)->part;
    dims->logarithm = 1u << LOSS_LSE;
    hpc_op_label(dims, p, i, LOSS_LOSS, "T");
    hpc_op_label(dims, p, i, LOSS_LSE, "T");
    hpc_op_label(dims, p, i, LOSS_X, "Th");
    hpc_op_label(dims, p, i, LOSS_W, part ? "Vh" : "vh");
    hpc_op_label(dims, p, i, LOSS_TARGET, "T");
    return HPC_OK;
}

static void head_loss_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                               const hpc_grid_shape *shape, const int *coord)
{
    hpc_head_attr *at = i->attr;
    hpc_op_part(&at->first, &at->rows, &global[LOSS_W], &local[LOSS_W], shape, coord);
}

static double logits_flops(const hpc_type *x, const hpc_type *w)
{
    return 2.0 * (double)hpc_op_n(x) * (double)w->extent[0];
}

static hpc_cost head_loss_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, LOSS_N, logits_flops(&type[LOSS_X], &type[LOSS_W]));
}

static int head_loss_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->head_loss ? k->head_loss(plan, workers, args) : hpc_op_missing("head_loss");
}

const hpc_op hpc_op_head_loss = {
    .sig = {.name = "head_loss",
            .operand_n = LOSS_N,
            .attr_bytes = sizeof(hpc_head_attr),
            .operand = {{"loss", HPC_OUT},
                        {"lse", HPC_OUT},
                        {"x", HPC_IN},
                        {"w", HPC_IN},
                        {"target", HPC_IN}}},
    .field = head_field,
    .comm = -1,
    .shape = head_loss_shape,
    .backward = head_loss_backward,
    .layout = head_loss_layout,
    .localise = head_loss_localise,
    .cost = head_loss_cost,
    .select = head_loss_select,
};

hpc_value hpc_head_loss(hpc_program *p, hpc_value x, hpc_value w, hpc_value target)
{
    return hpc_head_loss_capped(p, NULL, x, w, target, 0);
}

hpc_value hpc_head_loss_capped(hpc_program *p, hpc_value *lse, hpc_value x, hpc_value w,
                               hpc_value target, double cap)
{
    hpc_value operand[LOSS_N] = {HPC_NEW, HPC_NEW, x, w, target};
    hpc_value loss = hpc_emit(p, &hpc_op_head_loss, operand, &(hpc_head_attr){.cap = cap});
    if (lse) *lse = operand[LOSS_LSE];
    return loss;
}

typedef struct lse_of { /* of logits with a bound */
    hpc_value lse;
    double cap;
} lse_of;

/* The operand for w's gradient: its accumulator, a new value for *dw, or none. */
static hpc_value weight_target(hpc_program *p, const hpc_value *dw, hpc_value w)
{
    if (dw && *dw == HPC_NEW_WIDE) return HPC_NEW_WIDE;
    if (w >= 0 && p->value[w].trainable) return hpc_accumulator(p, w);
    return dw ? HPC_NEW : HPC_NONE;
}

/* The gradient by lse. */
static void emit_grad(hpc_program *p, hpc_value *dx, hpc_value *dw, hpc_value x, hpc_value w,
                      hpc_value target, hpc_value dloss, const lse_of *l)
{
    hpc_value to = weight_target(p, dw, w);
    hpc_value operand[GRAD_N] = {HPC_NONE, HPC_NEW, to, dloss, l->lse, x, w, target};
    hpc_emit(p, &hpc_op_head_loss_grad, operand, &(hpc_head_attr){.cap = l->cap});
    *dx = operand[GRAD_DX];
    if (dw) *dw = operand[GRAD_DW];
}

hpc_value hpc_head_loss_trained(hpc_program *p, hpc_value *dx, hpc_value *dw, hpc_value x,
                                hpc_value w, hpc_value target, hpc_value dloss, double cap)
{
    if (cap > 0) {
        lse_of l = {.cap = cap};
        hpc_value losses = hpc_head_loss_capped(p, &l.lse, x, w, target, cap);
        emit_grad(p, dx, dw, x, w, target, dloss, &l);
        return losses;
    }
    hpc_value to = weight_target(p, dw, w);
    hpc_value operand[GRAD_N] = {HPC_NEW, HPC_NEW, to, dloss, HPC_NONE, x, w, target};
    hpc_value loss = hpc_emit(p, &hpc_op_head_loss_grad, operand, NULL);
    *dx = operand[GRAD_DX];
    if (dw) *dw = operand[GRAD_DW];
    return loss;
}

hpc_value hpc_head_loss_of_parts(hpc_program *p, hpc_value *lse, hpc_value x, hpc_value w,
                                 hpc_value target, double cap)
{
    hpc_value operand[LOSS_N] = {HPC_NEW, HPC_NEW, x, w, target};
    hpc_emit(p, &hpc_op_head_loss, operand, &(hpc_head_attr){.part = true, .cap = cap});
    if (lse) *lse = operand[LOSS_LSE];
    return hpc_soft_of(p, HPC_SOFT_LESS, operand[LOSS_LSE], operand[LOSS_LOSS], target);
}

hpc_value hpc_head_loss_of_parts_trained(hpc_program *p, hpc_value *dx, hpc_value *dw, hpc_value x,
                                         hpc_value w, hpc_value target, hpc_value dloss, double cap)
{
    lse_of l = {.cap = cap};
    hpc_value loss = hpc_head_loss_of_parts(p, &l.lse, x, w, target, cap);
    emit_grad(p, dx, dw, x, w, target, dloss, &l);
    return loss;
}

/* ---- head_loss_grad -------------------------------------------------------- */

static int head_loss_grad_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[GRAD_X], *w = &type[GRAD_W];
    int rc;
    TRY(check_cap(i));
    TRY(check_inputs(i, type, GRAD_X, GRAD_W, GRAD_TARGET));
    if (((const hpc_head_attr *)i->attr)->cap > 0 && i->operand[GRAD_LSE] == HPC_NONE)
        TRY(hpc_fail(HPC_E_ARG, "with cap the gradient needs lse, which is absent"));
    hpc_type rows = hpc_op_leading(x, hpc_op_wide(x));
    for (int k = GRAD_DLOSS; k <= GRAD_LSE; k++) {
        if (i->operand[k] == HPC_NONE) continue;
        TRY(hpc_op_expect(i, type, k, HPC_OP_REAL, 1, 1));
        if (!hpc_type_same_shape(&type[k], &rows))
            TRY(hpc_misfit(i, type, k, GRAD_X, "expected one for each row"));
    }
    TRY(hpc_op_output(i, type, GRAD_LOSS, rows));
    TRY(hpc_op_output(i, type, GRAD_DX, hpc_op_like(x, (hpc_dtype)x->dtype)));
    TRY(hpc_op_output(i, type, GRAD_DW, hpc_op_like(w, (hpc_dtype)w->dtype)));
out:
    return rc;
}

/* By the lse of all, each part of the vocabulary has its terms of dx and its rows of dw. */
static int head_loss_grad_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    bool part = i->operand[GRAD_LSE] >= 0 && i->operand[GRAD_LOSS] == HPC_NONE;
    const char *words = part ? "Vh" : "vh";
    hpc_op_label(dims, p, i, GRAD_LOSS, "T");
    hpc_op_label(dims, p, i, GRAD_DX, "Th");
    hpc_op_label(dims, p, i, GRAD_DW, words);
    hpc_op_label(dims, p, i, GRAD_DLOSS, "T");
    hpc_op_label(dims, p, i, GRAD_LSE, "T");
    hpc_op_label(dims, p, i, GRAD_X, "Th");
    hpc_op_label(dims, p, i, GRAD_W, words);
    hpc_op_label(dims, p, i, GRAD_TARGET, "T");
    if (i->operand[GRAD_LOSS] == HPC_NONE) dims->linear[0] = 1u << GRAD_DLOSS;
    return HPC_OK;
}

static void head_loss_grad_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                                    const hpc_grid_shape *shape, const int *coord)
{
    hpc_head_attr *at = i->attr;
    hpc_op_part(&at->first, &at->rows, &global[GRAD_W], &local[GRAD_W], shape, coord);
}

/* The logits (again), and a product for each gradient. */
static hpc_cost head_loss_grad_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    int products = 1 + (type[GRAD_DX].rank >= 0) + (type[GRAD_DW].rank >= 0);
    return hpc_op_cost(type, GRAD_N, products * logits_flops(&type[GRAD_X], &type[GRAD_W]));
}

static int head_loss_grad_select(hpc_plan *plan, const hpc_kernels *k, int workers,
                                 const void *args)
{
    return k->head_loss_grad ? k->head_loss_grad(plan, workers, args)
                             : hpc_op_missing("head_loss_grad");
}

const hpc_op hpc_op_head_loss_grad = {
    .sig = {.name = "head_loss_grad",
            .operand_n = GRAD_N,
            .attr_bytes = sizeof(hpc_head_attr),
            .operand = {{"loss", HPC_OUT | HPC_OPTIONAL},
                        {"dx", HPC_OUT | HPC_OPTIONAL},
                        {"dw", HPC_ACC | HPC_OPTIONAL},
                        {"dloss", HPC_IN},
                        {"lse", HPC_IN | HPC_OPTIONAL},
                        {"x", HPC_IN},
                        {"w", HPC_IN},
                        {"target", HPC_IN}}},
    .field = head_field,
    .comm = -1,
    .shape = head_loss_grad_shape,
    .layout = head_loss_grad_layout,
    .localise = head_loss_grad_localise,
    .cost = head_loss_grad_cost,
    .select = head_loss_grad_select,
};
