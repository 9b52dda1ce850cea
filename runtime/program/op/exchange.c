/*
 * exchange.c: op table entries of exchange_plan and exchange: rows sorted by expert go to the ranks
 * that own their experts, and back.
 *
 * The executor runs both over links (run/exchange.c). On one rank an exchange is a copy.
 */
#include "runtime/program/op/priv.h"

static const hpc_field exchange_field[] = {
    {"axes", HPC_FIELD_I64, offsetof(hpc_exchange_attr, comm.axes), NULL, true},
    {"ranks", HPC_FIELD_I64, offsetof(hpc_exchange_attr, comm.ranks), NULL, true},
    {"rows", HPC_FIELD_I64, offsetof(hpc_exchange_attr, rows), NULL, true},
    {"most", HPC_FIELD_I64, offsetof(hpc_exchange_attr, most), NULL, true},
    {"experts", HPC_FIELD_I64, offsetof(hpc_exchange_attr, experts), NULL, true},
    {"drop", HPC_FIELD_BOOL, offsetof(hpc_exchange_attr, drop), NULL, false},
    {"back", HPC_FIELD_BOOL, offsetof(hpc_exchange_attr, back), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_attr(const hpc_exchange_attr *at)
{
    if (at->experts < 1 || at->comm.ranks < 1 || at->rows < 1 || at->most < at->rows)
        return hpc_fail(HPC_E_ARG,
                        "experts is %lld, ranks %lld, rows %lld and most %lld; at least 1 are "
                        "expected, and no more rows than most",
                        (long long)at->experts, (long long)at->comm.ranks, (long long)at->rows,
                        (long long)at->most);
    if (at->experts % at->comm.ranks != 0)
        return hpc_fail(HPC_E_SHAPE, "%lld ranks do not divide %lld experts",
                        (long long)at->comm.ranks, (long long)at->experts);
    return HPC_OK;
}

static void localise(hpc_exchange_attr *at, const hpc_grid_shape *shape)
{
    int ranks = shape->extent[HPC_AXIS_EXPERT], rows = shape->extent[HPC_AXIS_ROW];
    at->comm.ranks = ranks > 1 ? ranks : 1;
    at->rows = at->drop && rows > 1 ? rows : 1;
}

/* ---- exchange_plan --------------------------------------------------------- */

enum { PLAN_PLAN, PLAN_OWN, PLAN_ROWS, PLAN_START, PLAN_N };

static int plan_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_exchange_attr *at = i->attr;
    int64_t counts = at->experts * (1 + at->most), starts = at->experts + 1;
    int rc;
    TRY(check_attr(at));
    TRY(hpc_op_expect(i, type, PLAN_START, HPC_OP_INDEX, 1, 1));
    if (type[PLAN_START].extent[0] != starts)
        return hpc_misfit(i, type, PLAN_START, -1, "%lld experts need %lld starts",
                          (long long)at->experts, (long long)starts);
    TRY(hpc_op_output(i, type, PLAN_PLAN, hpc_type_of(HPC_I32, 1, &counts)));
    TRY(hpc_op_output(i, type, PLAN_OWN, hpc_type_of(HPC_I32, 1, &starts)));
    TRY(hpc_op_output(i, type, PLAN_ROWS, hpc_type_of(HPC_I32, 0, NULL)));
out:
    return rc;
}

static int plan_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, PLAN_PLAN, "n");
    hpc_op_label(dims, p, i, PLAN_OWN, "s");
    hpc_op_label(dims, p, i, PLAN_START, "s");
    dims->own = 1u << PLAN_PLAN | 1u << PLAN_OWN | 1u << PLAN_ROWS | 1u << PLAN_START;
    return HPC_OK;
}

static void plan_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                          const hpc_grid_shape *shape, const int *coord)
{
    (void)global, (void)local, (void)coord;
    localise(i->attr, shape);
}

const hpc_op hpc_op_exchange_plan = {
    .sig = {.name = "exchange_plan",
            .operand_n = PLAN_N,
            .attr_bytes = sizeof(hpc_exchange_attr),
            .operand = {{"plan", HPC_OUT}, {"own", HPC_OUT}, {"rows", HPC_OUT}, {"start", HPC_IN}}},
    .field = exchange_field,
    .comm = HPC_ALL_TO_ALL,
    .exchange = true,
    .shape = plan_shape,
    .layout = plan_layout,
    .localise = plan_localise,
};

hpc_value hpc_exchange_plan(hpc_program *p, hpc_value *start, hpc_value *rows, int64_t experts,
                            int64_t most)
{
    hpc_value operand[PLAN_N] = {HPC_NEW, HPC_NEW, HPC_NEW, *start};
    hpc_exchange_attr at = {.comm = {.axes = 1u << HPC_AXIS_EXPERT, .ranks = 1},
                            .rows = 1,
                            .most = most,
                            .experts = experts,
                            .drop = most > 1};
    hpc_value plan = hpc_emit(p, &hpc_op_exchange_plan, operand, &at);
    *start = plan >= 0 ? operand[PLAN_OWN] : HPC_NONE;
    *rows = plan >= 0 ? operand[PLAN_ROWS] : HPC_NONE;
    return plan;
}

/* ---- exchange -------------------------------------------------------------- */

enum { EXCHANGE_Y, EXCHANGE_X, EXCHANGE_PLAN, EXCHANGE_ROWS, EXCHANGE_N };

static int exchange_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_exchange_attr *at = i->attr;
    const hpc_type *x = &type[EXCHANGE_X];
    int64_t times = at->comm.ranks * at->rows;
    int rc;
    TRY(check_attr(at));
    TRY(hpc_op_expect(i, type, EXCHANGE_X, HPC_OP_REAL, 2, 2));
    TRY(hpc_op_expect(i, type, EXCHANGE_PLAN, HPC_OP_INDEX, 1, 1));
    TRY(hpc_op_expect(i, type, EXCHANGE_ROWS, HPC_OP_INDEX, 0, 0));
    if (x->ragged != 0)
        return hpc_misfit(i, type, EXCHANGE_X, -1, "expected rows with a run-time count");
    if (type[EXCHANGE_PLAN].extent[0] != at->experts * (1 + at->most))
        return hpc_misfit(i, type, EXCHANGE_PLAN, -1, "it is not a plan for %lld experts",
                          (long long)at->experts);
    if (at->back && x->extent[0] % times != 0)
        return hpc_misfit(i, type, EXCHANGE_X, -1, "%lld ranks do not divide the rows",
                          (long long)times);
    int64_t extent[] = {at->back ? x->extent[0] / times : x->extent[0] * times, x->extent[1]};
    hpc_type y = hpc_type_of((hpc_dtype)x->dtype, 2, extent);
    TRY(hpc_op_output(i, type, EXCHANGE_Y, hpc_type_ragged(y, 0, i->operand[EXCHANGE_ROWS])));
out:
    return rc;
}

static int exchange_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_exchange_attr *at = i->attr;
    hpc_value x = i->operand[EXCHANGE_X], dy = hpc_diff_of(d, i->operand[EXCHANGE_Y]);
    if (!hpc_diff_wants(d, x)) return HPC_OK;
    hpc_op_give(d, x,
                hpc_exchange(p, dy, i->operand[EXCHANGE_PLAN], p->value[x].type.count, !at->back));
    return HPC_OK;
}

static int exchange_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const int8_t own[HPC_AXIS_N] = {[HPC_AXIS_EXPERT] = HPC_OWN(0)},
                        sent[HPC_AXIS_N] = {[HPC_AXIS_EXPERT] = HPC_SPLIT(0)},
                        dropped[HPC_AXIS_N] = {
                            [HPC_AXIS_EXPERT] = HPC_SPLIT(0), [HPC_AXIS_ROW] = HPC_INNER(0)};
    const hpc_exchange_attr *at = i->attr;
    hpc_op_label(dims, p, i, EXCHANGE_Y, "MH");
    hpc_op_label(dims, p, i, EXCHANGE_X, "MH");
    hpc_op_label(dims, p, i, EXCHANGE_PLAN, "n");
    dims->own = 1u << EXCHANGE_PLAN | 1u << EXCHANGE_ROWS;
    dims->own_rows = 'M';
    dims->as[at->back ? EXCHANGE_X : EXCHANGE_Y] = own;
    dims->as[at->back ? EXCHANGE_Y : EXCHANGE_X] = at->drop ? dropped : sent;
    return HPC_OK;
}

static void exchange_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                              const hpc_grid_shape *shape, const int *coord)
{
    (void)global, (void)local, (void)coord;
    localise(i->attr, shape);
}

const hpc_op hpc_op_exchange = {
    .sig = {.name = "exchange",
            .operand_n = EXCHANGE_N,
            .attr_bytes = sizeof(hpc_exchange_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}, {"plan", HPC_IN}, {"rows", HPC_IN}}},
    .field = exchange_field,
    .comm = HPC_ALL_TO_ALL,
    .exchange = true,
    .shape = exchange_shape,
    .backward = exchange_backward,
    .layout = exchange_layout,
    .localise = exchange_localise,
};

/* The attributes are those of the plan. */
hpc_value hpc_exchange(hpc_program *p, hpc_value x, hpc_value plan, hpc_value rows, bool back)
{
    hpc_value operand[EXCHANGE_N] = {HPC_NEW, x, plan, rows};
    if (plan < 0) return HPC_NONE;
    const hpc_value_info *info = &p->value[plan];
    const hpc_insn *made = &p->segment[info->segment].insn[info->insn];
    hpc_assert(made->op == &hpc_op_exchange_plan);
    hpc_exchange_attr at = *(const hpc_exchange_attr *)made->attr;
    at.back = back;
    return hpc_emit(p, &hpc_op_exchange, operand, &at);
}
