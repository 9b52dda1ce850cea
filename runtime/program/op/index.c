/*
 * index.c: op table entries of gather, scatter and route, which move rows by index.
 *
 * Only the running kernel can check that an index lies within its table.
 */
#include "runtime/program/op/priv.h"

/* The type of what an index moves: a row of `cols` for each of its elements. */
static hpc_type rows_by(const hpc_type *index, int64_t cols, hpc_dtype dtype)
{
    hpc_type t = hpc_op_like(index, dtype);
    t.extent[t.rank++] = cols;
    return t;
}

/* ---- gather ---------------------------------------------------------------- */

enum { GATHER_Y, GATHER_X, GATHER_INDEX, GATHER_N };

static const hpc_field gather_field[] = {
    {"first", HPC_FIELD_I64, offsetof(hpc_part_attr, first), NULL, false},
    {"rows", HPC_FIELD_I64, offsetof(hpc_part_attr, rows), NULL, false},
    {"own", HPC_FIELD_BOOL, offsetof(hpc_part_attr, own), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int gather_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[GATHER_X];
    int rc;
    TRY(hpc_op_expect(i, type, GATHER_X, HPC_OP_WEIGHT, 2, HPC_RANK_MAX));
    TRY(hpc_op_expect(i, type, GATHER_INDEX, HPC_OP_INDEX, 0, HPC_RANK_MAX - 1));
    if (x->pack != HPC_PLAIN && x->rank != 2)
        return hpc_misfit(i, type, GATHER_X, -1, "packed rows are taken of one matrix");
    if (x->ragged > 0)
        return hpc_misfit(i, type, GATHER_X, -1, "only the first extent may be run-time");
    bool real = x->dtype == HPC_F32 || x->dtype == HPC_BF16 || x->dtype == HPC_F64;
    hpc_dtype dtype = real ? (hpc_dtype)x->dtype : HPC_F32;
    TRY(hpc_op_output(i, type, GATHER_Y, rows_by(&type[GATHER_INDEX], hpc_op_cols(x), dtype)));
out:
    return rc;
}

static int gather_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    hpc_value dy = hpc_diff_of(d, i->operand[GATHER_Y]), x = i->operand[GATHER_X];
    if (!hpc_diff_wants(d, x)) return HPC_OK;
    hpc_type t = p->value[x].type;
    if (t.pack != HPC_PLAIN)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes to packed rows");
    bool own = ((const hpc_part_attr *)i->attr)->own;
    hpc_scatter_attr at = {.mode = HPC_SCATTER_ADD, .rows = hpc_op_rows(&t), .own = own};
    hpc_value y = t.rank == 2 && t.ragged < 0 ? hpc_diff_target(d, x) : HPC_NEW;
    hpc_value g = hpc_scatter(p, y, dy, i->operand[GATHER_INDEX], at);
    if (t.rank > 2) g = hpc_view(p, g, t.rank, t.extent);
    if (t.ragged >= 0) g = hpc_view_ragged(p, g, t.ragged, t.count);
    hpc_op_give(d, x, g);
    return HPC_OK;
}

/* Rows of a part of a matrix are partial sums: zeros but for those that are here. With `own` they
 * go with the index. */
static int gather_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    if (((const hpc_part_attr *)i->attr)->own) {
        hpc_op_label(dims, p, i, GATHER_INDEX, "Tabc");
        hpc_op_label(dims, p, i, GATHER_Y, hpc_op_type(p, i, GATHER_Y)->rank == 2 ? "TZ" : "TabZ");
        hpc_op_label(dims, p, i, GATHER_X, hpc_op_type(p, i, GATHER_X)->rank == 2 ? "TZ" : "TwZ");
        dims->linear[0] = 1u << GATHER_X;
        return HPC_OK;
    }
    hpc_op_label(dims, p, i, GATHER_INDEX, "ABCD");
    hpc_op_label_rows(dims, p, i, GATHER_Y, 'Z');
    const hpc_type *x = hpc_op_type(p, i, GATHER_X);
    hpc_op_label(dims, p, i, GATHER_X, x->rank == 2 ? "VZ" : x->rank == 3 ? "vwZ" : "vwxZ");
    dims->linear[0] = 1u << GATHER_X;
    return HPC_OK;
}

static void gather_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                            const hpc_grid_shape *shape, const int *coord)
{
    hpc_part_attr *at = i->attr;
    if (!at->own)
        hpc_op_part(&at->first, &at->rows, &global[GATHER_X], &local[GATHER_X], shape, coord);
}

/* Of the table, only the rows that are named are read. */
static hpc_cost gather_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    hpc_cost c = hpc_op_cost(type, GATHER_N, 0);
    c.bytes -= (double)hpc_type_bytes(&type[GATHER_X]);
    double rows = (double)hpc_op_rows(&type[GATHER_X]);
    if (rows > 0)
        c.bytes +=
            (double)hpc_type_bytes(&type[GATHER_X]) / rows * (double)hpc_op_n(&type[GATHER_INDEX]);
    return c;
}

static int gather_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->gather ? k->gather(plan, workers, args) : hpc_op_missing("gather");
}

const hpc_op hpc_op_gather = {
    .sig = {.name = "gather",
            .operand_n = GATHER_N,
            .attr_bytes = sizeof(hpc_part_attr),
            .operand = {{"y", HPC_OUT | HPC_ROWWISE}, {"x", HPC_IN}, {"index", HPC_IN}}},
    .field = gather_field,
    .comm = -1,
    .shape = gather_shape,
    .backward = gather_backward,
    .layout = gather_layout,
    .localise = gather_localise,
    .cost = gather_cost,
    .select = gather_select,
};

hpc_value hpc_gather(hpc_program *p, hpc_value x, hpc_value index)
{
    hpc_value operand[GATHER_N] = {HPC_NEW, x, index};
    return hpc_emit(p, &hpc_op_gather, operand, NULL);
}

hpc_value hpc_gather_own(hpc_program *p, hpc_value x, hpc_value index)
{
    hpc_value operand[GATHER_N] = {HPC_NEW, x, index};
    return hpc_emit(p, &hpc_op_gather, operand, &(hpc_part_attr){.own = true});
}

/* ---- scatter --------------------------------------------------------------- */

enum { SCATTER_Y, SCATTER_X, SCATTER_INDEX, SCATTER_ROWS, SCATTER_N };

static const char *const scatter_names[] = {
    [HPC_SCATTER_ADD] = "add", [HPC_SCATTER_SET] = "set", NULL};

static const hpc_field scatter_field[] = {
    {"mode", HPC_FIELD_NAME, offsetof(hpc_scatter_attr, mode), scatter_names, true},
    {"rows", HPC_FIELD_I64, offsetof(hpc_scatter_attr, rows), NULL, false},
    {"first", HPC_FIELD_I64, offsetof(hpc_scatter_attr, first), NULL, false},
    {"own", HPC_FIELD_BOOL, offsetof(hpc_scatter_attr, own), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int check_scatter_y(const hpc_insn *i, hpc_type *type)
{
    const hpc_scatter_attr *at = i->attr;
    const hpc_type *x = &type[SCATTER_X], *y = &type[SCATTER_Y];
    if (i->operand[SCATTER_Y] == HPC_NEW) {
        if (at->mode == HPC_SCATTER_SET)
            return hpc_fail(HPC_E_ARG, "mode set writes into state: give y");
        if (at->rows < 1)
            return hpc_fail(HPC_E_ARG, "rows is %lld; a new y needs its number of rows",
                            (long long)at->rows);
        int64_t extent[2] = {at->rows, hpc_op_cols(x)};
        hpc_type y_type = hpc_type_of((hpc_dtype)x->dtype, 2, extent);
        if (i->operand[SCATTER_ROWS] >= 0)
            y_type = hpc_type_ragged(y_type, 0, HPC_COUNT_OF(SCATTER_ROWS));
        type[SCATTER_Y] = y_type;
        return HPC_OK;
    }
    if (i->operand[SCATTER_ROWS] >= 0)
        return hpc_fail(HPC_E_ARG, "rows is of a new y only, and y is state");
    int rc = hpc_op_expect(i, type, SCATTER_Y, HPC_OP_REAL, 2, HPC_RANK_MAX);
    if (rc < 0) return rc;
    if (hpc_op_cols(y) != hpc_op_cols(x) || y->ragged >= 0)
        return hpc_misfit(i, type, SCATTER_Y, SCATTER_X, "rows of %lld and %lld elements differ",
                          (long long)hpc_op_cols(y), (long long)hpc_op_cols(x));
    if (at->rows != 0 && at->rows != hpc_op_rows(y))
        return hpc_misfit(i, type, SCATTER_Y, -1, "rows is %lld", (long long)at->rows);
    return HPC_OK;
}

static int scatter_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_scatter_attr *at = i->attr;
    int rc;
    if (at->mode != HPC_SCATTER_ADD && at->mode != HPC_SCATTER_SET)
        return hpc_fail(HPC_E_ARG, "mode %d is neither add nor set", at->mode);
    TRY(hpc_op_expect(i, type, SCATTER_X, HPC_OP_REAL, 1, HPC_RANK_MAX));
    TRY(hpc_op_expect(i, type, SCATTER_INDEX, HPC_OP_INDEX, 0, HPC_RANK_MAX - 1));
    const hpc_type *x = &type[SCATTER_X];
    hpc_type want = rows_by(&type[SCATTER_INDEX], hpc_op_cols(x), (hpc_dtype)x->dtype);
    if (!hpc_type_same_shape(x, &want))
        return hpc_misfit(i, type, SCATTER_X, SCATTER_INDEX, "each row needs its index");
    TRY(hpc_op_expect(i, type, SCATTER_ROWS, HPC_OP_INDEX, 0, 0));
    TRY(check_scatter_y(i, type));
out:
    return rc;
}

static int scatter_backward(hpc_diff *d, const hpc_insn *i)
{
    const hpc_scatter_attr *at = i->attr;
    if (at->mode == HPC_SCATTER_SET)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes through rows that are replaced");
    hpc_value dy = hpc_diff_of(d, i->operand[SCATTER_Y]);
    hpc_op_give(d, i->operand[SCATTER_X],
                (at->own ? hpc_gather_own : hpc_gather)(hpc_diff_program(d), dy,
                                                        i->operand[SCATTER_INDEX]));
    return HPC_OK;
}

/* Sums of split rows are partial; replaced rows are no sums, so those stay whole. */
static int scatter_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    static const char *const set_x[] = {"", "Z", "aZ", "abZ", "abcZ"};
    const hpc_scatter_attr *at = i->attr;
    bool add = at->mode == HPC_SCATTER_ADD;
    int rank_y = hpc_op_type(p, i, SCATTER_Y)->rank;
    if (at->own) {
        hpc_op_label(dims, p, i, SCATTER_Y, "TZ");
        hpc_op_label(dims, p, i, SCATTER_INDEX, "T");
        hpc_op_label(dims, p, i, SCATTER_X, "TZ");
        dims->linear[0] = 1u << SCATTER_X;
        return HPC_OK;
    }
    const char *y = add ? "VZ" : "vZ"; /* each part of it takes what goes there */
    hpc_op_label(dims, p, i, SCATTER_Y, rank_y == 2 ? y : rank_y == 3 ? "vwZ" : "vwxZ");
    hpc_op_label(dims, p, i, SCATTER_INDEX, add ? "ABCD" : "abcd");
    if (add)
        hpc_op_label_rows(dims, p, i, SCATTER_X, 'Z');
    else
        hpc_op_label(dims, p, i, SCATTER_X, set_x[hpc_op_type(p, i, SCATTER_X)->rank]);
    if (add) dims->linear[0] = 1u << SCATTER_X;
    return HPC_OK;
}

static void scatter_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                             const hpc_grid_shape *shape, const int *coord)
{
    hpc_scatter_attr *at = i->attr;
    if (at->own) at->rows = local[SCATTER_Y].extent[0];
    if (!at->own)
        hpc_op_part(&at->first, &at->rows, &global[SCATTER_Y], &local[SCATTER_Y], shape, coord);
}

static hpc_cost scatter_cost(const hpc_type *type, const void *attr)
{
    const hpc_scatter_attr *at = attr;
    bool add = at->mode == HPC_SCATTER_ADD;
    return hpc_op_cost(type, SCATTER_N, add ? (double)hpc_op_n(&type[SCATTER_X]) : 0);
}

static int scatter_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->scatter ? k->scatter(plan, workers, args) : hpc_op_missing("scatter");
}

const hpc_op hpc_op_scatter = {
    .sig = {.name = "scatter",
            .operand_n = SCATTER_N,
            .attr_bytes = sizeof(hpc_scatter_attr),
            .operand = {{"y", HPC_ACC},
                        {"x", HPC_IN},
                        {"index", HPC_IN},
                        {"rows", HPC_IN | HPC_OPTIONAL}}},
    .field = scatter_field,
    .comm = -1,
    .shape = scatter_shape,
    .backward = scatter_backward,
    .layout = scatter_layout,
    .localise = scatter_localise,
    .cost = scatter_cost,
    .select = scatter_select,
};

hpc_value hpc_scatter(hpc_program *p, hpc_value y, hpc_value x, hpc_value index,
                      hpc_scatter_attr attr)
{
    hpc_value operand[SCATTER_N] = {y, x, index, HPC_NONE};
    return hpc_emit(p, &hpc_op_scatter, operand, &attr);
}

static hpc_value scatter_like(hpc_program *p, hpc_value x, hpc_value index, hpc_value like,
                              bool own)
{
    if (like < 0) return HPC_NONE;
    const hpc_type *t = &p->value[like].type;
    hpc_value operand[SCATTER_N] = {HPC_NEW, x, index, t->ragged == 0 ? t->count : HPC_NONE};
    hpc_scatter_attr attr = {.mode = HPC_SCATTER_ADD, .rows = t->extent[0], .own = own};
    return hpc_emit(p, &hpc_op_scatter, operand, &attr);
}

hpc_value hpc_scatter_to(hpc_program *p, hpc_value x, hpc_value index, hpc_value like)
{
    return scatter_like(p, x, index, like, false);
}

hpc_value hpc_scatter_own(hpc_program *p, hpc_value x, hpc_value index, hpc_value like)
{
    return scatter_like(p, x, index, like, true);
}

/* ---- route ----------------------------------------------------------------- */

enum { ROUTE_INDEX, ROUTE_COUNT, ROUTE_GROUP, ROUTE_N };

static const hpc_field route_field[] = {
    {"groups", HPC_FIELD_I64, offsetof(hpc_route_attr, groups), NULL, true},
    {"cap", HPC_FIELD_I64, offsetof(hpc_route_attr, cap), NULL, true},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int route_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_route_attr *at = i->attr;
    int rc;
    if (at->groups < 1 || at->cap < 1)
        return hpc_fail(HPC_E_ARG, "groups is %lld and cap %lld; both must be at least 1",
                        (long long)at->groups, (long long)at->cap);
    TRY(hpc_op_expect(i, type, ROUTE_GROUP, HPC_OP_INDEX, 1, 1));
    int64_t extent[2] = {at->groups, at->cap};
    hpc_type index = hpc_type_of(HPC_I32, 2, extent);
    TRY(hpc_op_output(i, type, ROUTE_INDEX, hpc_type_ragged(index, 1, HPC_COUNT_OF(ROUTE_COUNT))));
    TRY(hpc_op_output(i, type, ROUTE_COUNT, hpc_type_of(HPC_I32, 1, extent)));
out:
    return rc;
}

/* Which tokens a group has depends on all of them: nothing may be split. */
static int route_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    hpc_op_label(dims, p, i, ROUTE_INDEX, "ec");
    hpc_op_label(dims, p, i, ROUTE_COUNT, "e");
    hpc_op_label(dims, p, i, ROUTE_GROUP, "t");
    return HPC_OK;
}

static int route_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->route ? k->route(plan, workers, args) : hpc_op_missing("route");
}

const hpc_op hpc_op_route = {
    .sig = {.name = "route",
            .operand_n = ROUTE_N,
            .attr_bytes = sizeof(hpc_route_attr),
            .operand = {{"index", HPC_OUT}, {"count", HPC_OUT}, {"group", HPC_IN}}},
    .field = route_field,
    .comm = -1,
    .shape = route_shape,
    .layout = route_layout,
    .select = route_select,
};

hpc_value hpc_route(hpc_program *p, hpc_value group, int64_t groups, int64_t cap, hpc_value *count)
{
    hpc_value operand[ROUTE_N] = {HPC_NEW, HPC_NEW, group};
    hpc_route_attr attr = {.groups = groups, .cap = cap};
    hpc_value index = hpc_emit(p, &hpc_op_route, operand, &attr);
    if (count) *count = index < 0 ? HPC_NONE : operand[ROUTE_COUNT];
    return index;
}
