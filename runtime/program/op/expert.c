/*
 * expert.c: op table entries of mixtures of experts: the gate, the dispatch of tokens to experts,
 * and products whose rows belong to groups.
 *
 * Rows move with gather and scatter of index.c.
 */
#include <math.h>

#include "runtime/program/op/priv.h"

/* ---- gate ------------------------------------------------------------------ */

enum {
    GATE_WEIGHT,
    GATE_EXPERT,
    GATE_PROB,
    GATE_LSE,
    GATE_LOGITS,
    GATE_BIAS,
    GATE_ANNEAL,
    GATE_STEP,
    GATE_BASE,
    GATE_N
};
enum {
    GRAD_DLOGITS,
    GRAD_DWEIGHT,
    GRAD_DPROB,
    GRAD_DLSE,
    GRAD_LOGITS,
    GRAD_EXPERT,
    GRAD_ANNEAL,
    GRAD_STEP,
    GRAD_BASE,
    GRAD_N
};

static const char *const gate_names[] = {
    [HPC_GATE_SOFTMAX] = "softmax", [HPC_GATE_SIGMOID] = "sigmoid", NULL};

static const hpc_field gate_field[] = {
    {"kind", HPC_FIELD_NAME, offsetof(hpc_gate_attr, kind), gate_names, true},
    {"normalise", HPC_FIELD_BOOL, offsetof(hpc_gate_attr, normalise), NULL, false},
    {"noisy", HPC_FIELD_BOOL, offsetof(hpc_gate_attr, noisy), NULL, false},
    {"k", HPC_FIELD_I64, offsetof(hpc_gate_attr, k), NULL, true},
    {"seed", HPC_FIELD_I64, offsetof(hpc_gate_attr, seed), NULL, false},
    {"tensor", HPC_FIELD_I64, offsetof(hpc_gate_attr, tensor), NULL, false},
    {"row0", HPC_FIELD_I64, offsetof(hpc_gate_attr, row0), NULL, false},
    {"scale", HPC_FIELD_REAL, offsetof(hpc_gate_attr, scale), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_gate(const hpc_gate_attr *at, const hpc_type *logits)
{
    int64_t experts = logits->extent[1];
    if (at->kind != HPC_GATE_SOFTMAX && at->kind != HPC_GATE_SIGMOID)
        return hpc_fail(HPC_E_ARG, "kind %d is neither softmax nor sigmoid", at->kind);
    if (experts > HPC_EXPERTS_MOST)
        return hpc_fail(HPC_E_ARG, "%lld experts; at most %d are supported", (long long)experts,
                        HPC_EXPERTS_MOST);
    if (at->k < 1 || at->k > experts)
        return hpc_fail(HPC_E_ARG, "k is %lld; it must be between 1 and the %lld experts",
                        (long long)at->k, (long long)experts);
    if (at->row0 < 0) return hpc_fail(HPC_E_ARG, "row0 must not be negative");
    if (!isfinite(at->scale) || at->scale == 0)
        return hpc_fail(HPC_E_ARG, "scale is %g; it must be finite and not 0", at->scale);
    return HPC_OK;
}

/* [T,n] for logits of [T,E]. */
static hpc_type by_token(const hpc_type *logits, hpc_dtype dtype, int64_t n)
{
    hpc_type t = hpc_op_like(logits, dtype);
    t.extent[1] = n;
    return t;
}

static int check_anneal(const hpc_insn *i, const hpc_type *type, int anneal)
{
    int rc;
    TRY(hpc_op_expect(i, type, anneal, HPC_OP_REAL, 1, 1));
    TRY(hpc_op_expect(i, type, anneal + 1, HPC_OP_INDEX, 0, 0));
    TRY(hpc_op_expect(i, type, anneal + 2, HPC_OP_LONG, 0, 0));
    if (i->operand[anneal] >= 0 && type[anneal].extent[0] != 2)
        return hpc_misfit(i, type, anneal, -1, "expected tau and threshold");
out:
    return rc;
}

static int gate_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_gate_attr *at = i->attr;
    const hpc_type *z = &type[GATE_LOGITS], *bias = &type[GATE_BIAS];
    int rc;
    TRY(hpc_op_expect(i, type, GATE_LOGITS, HPC_OP_REAL, 2, 2));
    if (z->ragged > 0)
        return hpc_misfit(i, type, GATE_LOGITS, -1, "only the number of tokens may be run-time");
    TRY(check_gate(at, z));
    TRY(hpc_op_expect(i, type, GATE_BIAS, HPC_OP_REAL, 1, 1));
    if (i->operand[GATE_BIAS] >= 0 && bias->extent[0] != z->extent[1])
        return hpc_misfit(i, type, GATE_LOGITS, GATE_BIAS, "each expert needs its bias");
    TRY(check_anneal(i, type, GATE_ANNEAL));
    if (i->operand[GATE_ANNEAL] < 0 && at->noisy)
        return hpc_fail(HPC_E_ARG, "noisy weights need the operand anneal");
    hpc_dtype wide = hpc_op_wide(z);
    TRY(hpc_op_output(i, type, GATE_WEIGHT, by_token(z, wide, at->k)));
    TRY(hpc_op_output(i, type, GATE_EXPERT, by_token(z, HPC_I32, at->k)));
    TRY(hpc_op_output(i, type, GATE_PROB, by_token(z, wide, z->extent[1])));
    TRY(hpc_op_output(i, type, GATE_LSE, hpc_op_leading(z, wide)));
out:
    return rc;
}

static int gate_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_value operand[GRAD_N] = {HPC_NEW,
                                 hpc_diff_of(d, i->operand[GATE_WEIGHT]),
                                 HPC_NONE,
                                 HPC_NONE,
                                 i->operand[GATE_LOGITS],
                                 i->operand[GATE_EXPERT],
                                 i->operand[GATE_ANNEAL],
                                 i->operand[GATE_STEP],
                                 i->operand[GATE_BASE]};
    if (i->operand[GATE_PROB] >= 0) operand[GRAD_DPROB] = hpc_diff_of(d, i->operand[GATE_PROB]);
    if (i->operand[GATE_LSE] >= 0) operand[GRAD_DLSE] = hpc_diff_of(d, i->operand[GATE_LSE]);
    if (operand[GRAD_DWEIGHT] < 0 && operand[GRAD_DPROB] < 0 && operand[GRAD_DLSE] < 0)
        return HPC_OK;
    if (!hpc_diff_wants(d, i->operand[GATE_LOGITS])) return HPC_OK;
    hpc_op_give(d, i->operand[GATE_LOGITS],
                hpc_emit(hpc_diff_program(d), &hpc_op_gate_grad, operand, i->attr));
    return HPC_OK;
}

static int gate_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, GATE_WEIGHT, "Tk");
    hpc_op_label(dims, p, i, GATE_EXPERT, "Tk");
    hpc_op_label(dims, p, i, GATE_PROB, "Te");
    hpc_op_label(dims, p, i, GATE_LSE, "T");
    hpc_op_label(dims, p, i, GATE_LOGITS, "Te");
    hpc_op_label(dims, p, i, GATE_BIAS, "e");
    hpc_op_label(dims, p, i, GATE_ANNEAL, "n");
    return HPC_OK;
}

static void gate_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                          const hpc_grid_shape *shape, const int *coord)
{
    hpc_gate_attr *at = i->attr;
    (void)global;
    at->row0 += hpc_type_first(&local[GATE_LOGITS], 0, shape, coord);
}

/* Sums, exponentials and comparisons: some 8 operations for each logit. */
static hpc_cost gate_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, GATE_N, 8.0 * (double)hpc_op_n(&type[GATE_LOGITS]));
}

static int gate_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->gate ? k->gate(plan, workers, args) : hpc_op_missing("gate");
}

const hpc_op hpc_op_gate = {
    .sig = {.name = "gate",
            .operand_n = GATE_N,
            .attr_bytes = sizeof(hpc_gate_attr),
            .operand = {{"weight", HPC_OUT},
                        {"expert", HPC_OUT},
                        {"prob", HPC_OUT | HPC_OPTIONAL},
                        {"lse", HPC_OUT | HPC_OPTIONAL},
                        {"logits", HPC_IN},
                        {"bias", HPC_IN | HPC_OPTIONAL},
                        {"anneal", HPC_IN | HPC_OPTIONAL},
                        {"step", HPC_IN | HPC_OPTIONAL},
                        {"base", HPC_IN | HPC_OPTIONAL}}},
    .field = gate_field,
    .comm = -1,
    .shape = gate_shape,
    .backward = gate_backward,
    .layout = gate_layout,
    .localise = gate_localise,
    .cost = gate_cost,
    .select = gate_select,
};

hpc_value hpc_gate(hpc_program *p, hpc_gate_io *io, hpc_gate_attr attr)
{
    hpc_value operand[GATE_N] = {HPC_NEW,
                                 HPC_NEW,
                                 io->wants_prob ? HPC_NEW : HPC_NONE,
                                 io->wants_prob ? HPC_NEW : HPC_NONE,
                                 io->logits,
                                 io->bias,
                                 io->anneal,
                                 io->step,
                                 io->base};
    if (attr.scale == 0) attr.scale = 1;
    hpc_value weight = hpc_emit(p, &hpc_op_gate, operand, &attr);
    bool done = weight >= 0;
    io->expert = done ? operand[GATE_EXPERT] : HPC_NONE;
    io->prob = done ? operand[GATE_PROB] : HPC_NONE;
    io->lse = done ? operand[GATE_LSE] : HPC_NONE;
    return weight;
}

/* ---- gate_grad ------------------------------------------------------------- */

static int grad_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_gate_attr *at = i->attr;
    const hpc_type *z = &type[GRAD_LOGITS];
    int rc;
    TRY(hpc_op_expect(i, type, GRAD_LOGITS, HPC_OP_REAL, 2, 2));
    TRY(check_gate(at, z));
    TRY(check_anneal(i, type, GRAD_ANNEAL));
    const hpc_type want[] = {[GRAD_DWEIGHT] = by_token(z, HPC_F32, at->k),
                             [GRAD_DPROB] = *z,
                             [GRAD_DLSE] = hpc_op_leading(z, HPC_F32)};
    for (int k = GRAD_DWEIGHT; k <= GRAD_DLSE; k++) {
        TRY(hpc_op_expect(i, type, k, HPC_OP_REAL, 1, 2));
        if (i->operand[k] >= 0 && !hpc_type_same_shape(&type[k], &want[k]))
            return hpc_misfit(i, type, k, GRAD_LOGITS, "each output needs its gradient");
    }
    TRY(hpc_op_expect(i, type, GRAD_EXPERT, HPC_OP_INDEX, 2, 2));
    TRY(hpc_op_output(i, type, GRAD_DLOGITS, hpc_op_like(z, (hpc_dtype)z->dtype)));
out:
    return rc;
}

static int grad_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, GRAD_DLOGITS, "Te");
    hpc_op_label(dims, p, i, GRAD_DWEIGHT, "Tk");
    hpc_op_label(dims, p, i, GRAD_DPROB, "Te");
    hpc_op_label(dims, p, i, GRAD_DLSE, "T");
    hpc_op_label(dims, p, i, GRAD_LOGITS, "Te");
    hpc_op_label(dims, p, i, GRAD_EXPERT, "Tk");
    hpc_op_label(dims, p, i, GRAD_ANNEAL, "n");
    return HPC_OK;
}

static void grad_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                          const hpc_grid_shape *shape, const int *coord)
{
    hpc_gate_attr *at = i->attr;
    (void)global;
    at->row0 += hpc_type_first(&local[GRAD_LOGITS], 0, shape, coord);
}

static hpc_cost grad_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    return hpc_op_cost(type, GRAD_N, 12.0 * (double)hpc_op_n(&type[GRAD_LOGITS]));
}

static int grad_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->gate_grad ? k->gate_grad(plan, workers, args) : hpc_op_missing("gate_grad");
}

const hpc_op hpc_op_gate_grad = {
    .sig = {.name = "gate_grad",
            .operand_n = GRAD_N,
            .attr_bytes = sizeof(hpc_gate_attr),
            .operand = {{"dlogits", HPC_OUT},
                        {"dweight", HPC_IN | HPC_OPTIONAL},
                        {"dprob", HPC_IN | HPC_OPTIONAL},
                        {"dlse", HPC_IN | HPC_OPTIONAL},
                        {"logits", HPC_IN},
                        {"expert", HPC_IN},
                        {"anneal", HPC_IN | HPC_OPTIONAL},
                        {"step", HPC_IN | HPC_OPTIONAL},
                        {"base", HPC_IN | HPC_OPTIONAL}}},
    .field = gate_field,
    .comm = -1,
    .shape = grad_shape,
    .layout = grad_layout,
    .localise = grad_localise,
    .cost = grad_cost,
    .select = grad_select,
};

/* ---- dispatch -------------------------------------------------------------- */

enum {
    DISPATCH_SLOT,
    DISPATCH_TOKEN,
    DISPATCH_GROUP,
    DISPATCH_START,
    DISPATCH_ROWS,
    DISPATCH_DROPPED,
    DISPATCH_LOAD,
    DISPATCH_EXPERT,
    DISPATCH_N
};

static const hpc_field dispatch_field[] = {
    {"experts", HPC_FIELD_I64, offsetof(hpc_dispatch_attr, experts), NULL, true},
    {"cap", HPC_FIELD_I64, offsetof(hpc_dispatch_attr, cap), NULL, false},
    {"tokens", HPC_FIELD_I64, offsetof(hpc_dispatch_attr, tokens), NULL, false},
    {"wide", HPC_FIELD_BOOL, offsetof(hpc_dispatch_attr, wide), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

int hpc_op_choices(const hpc_insn *i, hpc_type *type, int k, const hpc_dispatch_attr *at,
                   int64_t least)
{
    hpc_dtype real = at->wide ? HPC_F64 : HPC_F32;
    int rc;
    if (at->experts < 1 || at->cap < least)
        return hpc_fail(HPC_E_ARG, "experts is %lld and cap %lld; at least 1 and %lld are expected",
                        (long long)at->experts, (long long)at->cap, (long long)least);
    TRY(hpc_op_output(i, type, k, hpc_type_of(real, 0, NULL)));
    TRY(hpc_op_output(i, type, k + 1, hpc_type_of(real, 1, &at->experts)));
    TRY(hpc_op_expect(i, type, k + 2, HPC_OP_INDEX, 2, 2));
out:
    return rc;
}

static int dispatch_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_dispatch_attr *at = i->attr;
    const hpc_type *expert = &type[DISPATCH_EXPERT];
    int rc;
    TRY(hpc_op_choices(i, type, DISPATCH_DROPPED, at, 0));
    if (expert->ragged > 0)
        return hpc_misfit(i, type, DISPATCH_EXPERT, -1,
                          "only the number of tokens may be run-time");
    int64_t slots = expert->extent[0] * expert->extent[1], starts = at->experts + 1;
    hpc_type list = hpc_type_of(HPC_I32, 1, &slots), one = hpc_type_of(HPC_I32, 0, NULL);
    list = hpc_type_ragged(list, 0, HPC_COUNT_OF(DISPATCH_ROWS));
    TRY(hpc_op_output(i, type, DISPATCH_SLOT, list));
    TRY(hpc_op_output(i, type, DISPATCH_TOKEN, list));
    TRY(hpc_op_output(i, type, DISPATCH_GROUP, list));
    TRY(hpc_op_output(i, type, DISPATCH_START, hpc_type_of(HPC_I32, 1, &starts)));
    TRY(hpc_op_output(i, type, DISPATCH_ROWS, one));
out:
    return rc;
}

/* Each rank sorts its own tokens. A capacity counts those of all: then nothing may be split. */
static int dispatch_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_dispatch_attr *at = i->attr;
    const char *rows = at->cap > 0 ? "t" : "T";
    hpc_op_label(dims, p, i, DISPATCH_SLOT, rows);
    hpc_op_label(dims, p, i, DISPATCH_TOKEN, rows);
    hpc_op_label(dims, p, i, DISPATCH_GROUP, rows);
    hpc_op_label(dims, p, i, DISPATCH_START, "s");
    hpc_op_label(dims, p, i, DISPATCH_LOAD, "e");
    hpc_op_label(dims, p, i, DISPATCH_EXPERT, at->cap > 0 ? "tk" : "Tk");
    dims->own = 1u << DISPATCH_START | 1u << DISPATCH_ROWS;
    dims->own_rows = 'T';
    return HPC_OK;
}

static void dispatch_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                              const hpc_grid_shape *shape, const int *coord)
{
    hpc_dispatch_attr *at = i->attr;
    (void)shape, (void)coord;
    if (local[DISPATCH_EXPERT].extent[0] != global[DISPATCH_EXPERT].extent[0])
        at->tokens = global[DISPATCH_EXPERT].extent[0];
}

static int dispatch_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->dispatch ? k->dispatch(plan, workers, args) : hpc_op_missing("dispatch");
}

const hpc_op hpc_op_dispatch = {
    .sig = {.name = "dispatch",
            .operand_n = DISPATCH_N,
            .attr_bytes = sizeof(hpc_dispatch_attr),
            .operand = {{"slot", HPC_OUT},
                        {"token", HPC_OUT},
                        {"group", HPC_OUT},
                        {"start", HPC_OUT},
                        {"rows", HPC_OUT},
                        {"dropped", HPC_OUT},
                        {"load", HPC_OUT},
                        {"expert", HPC_IN}}},
    .field = dispatch_field,
    .comm = -1,
    .shape = dispatch_shape,
    .layout = dispatch_layout,
    .localise = dispatch_localise,
    .select = dispatch_select,
};

hpc_dispatched hpc_dispatch(hpc_program *p, hpc_value expert, hpc_dispatch_attr attr)
{
    hpc_value operand[DISPATCH_N] = {HPC_NEW, HPC_NEW, HPC_NEW, HPC_NEW,
                                     HPC_NEW, HPC_NEW, HPC_NEW, expert};
    if (hpc_emit(p, &hpc_op_dispatch, operand, &attr) < 0)
        return (hpc_dispatched){HPC_NONE, HPC_NONE, HPC_NONE, HPC_NONE,
                                HPC_NONE, HPC_NONE, HPC_NONE};
    return (hpc_dispatched){.slot = operand[DISPATCH_SLOT],
                            .token = operand[DISPATCH_TOKEN],
                            .group = operand[DISPATCH_GROUP],
                            .start = operand[DISPATCH_START],
                            .dropped = operand[DISPATCH_DROPPED],
                            .load = operand[DISPATCH_LOAD],
                            .rows = operand[DISPATCH_ROWS]};
}
