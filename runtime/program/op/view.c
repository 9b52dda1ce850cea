/*
 * view.c: op table entries of view, which runs nothing, and nop, which does nothing. A view has
 * other extents on the same memory. It never moves an element; a transposition needs a product.
 */
#include <string.h>

#include "runtime/program/op/priv.h"

enum { VIEW_Y, VIEW_X, VIEW_N };

static const hpc_field view_field[] = {
    {"rank", HPC_FIELD_I64, offsetof(hpc_view_attr, rank), NULL, true},
    {"extent0", HPC_FIELD_I64, offsetof(hpc_view_attr, extent[0]), NULL, false},
    {"extent1", HPC_FIELD_I64, offsetof(hpc_view_attr, extent[1]), NULL, false},
    {"extent2", HPC_FIELD_I64, offsetof(hpc_view_attr, extent[2]), NULL, false},
    {"extent3", HPC_FIELD_I64, offsetof(hpc_view_attr, extent[3]), NULL, false},
    {"row", HPC_FIELD_I64, offsetof(hpc_view_attr, row), NULL, false},
    {"ragged", HPC_FIELD_I64, offsetof(hpc_view_attr, ragged), NULL, false},
    {"count", HPC_FIELD_I64, offsetof(hpc_view_attr, count), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

/* ---- shape ----------------------------------------------------------------- */

static bool is_rows(const hpc_view_attr *at, const hpc_type *x)
{
    if (at->rank != x->rank || x->rank < 1) return false;
    for (int d = 1; d < x->rank; d++)
        if (at->extent[d] != x->extent[d]) return false;
    return at->row >= 0 && at->extent[0] <= x->extent[0] - at->row;
}

static bool is_whole(const hpc_view_attr *at, const hpc_type *x)
{
    hpc_type y = hpc_type_of(HPC_F32, (int)at->rank, at->extent);
    return at->row == 0 && hpc_op_n(&y) == hpc_op_n(x);
}

/* A run-time extent keeps its position, after the same dimensions. */
static int keep_ragged(const hpc_insn *i, const hpc_type *type, hpc_type *y)
{
    const hpc_type *x = &type[VIEW_X];
    const hpc_view_attr *at = i->attr;
    if (x->ragged < 0) return HPC_OK;
    bool kept = is_whole(at, x) && y->rank > x->ragged;
    for (int d = 0; kept && d <= x->ragged; d++) kept = y->extent[d] == x->extent[d];
    if (!kept) return hpc_misfit(i, type, VIEW_X, -1, "a view keeps a run-time extent where it is");
    *y = hpc_type_ragged(*y, x->ragged, x->count);
    return HPC_OK;
}

static int add_ragged(const hpc_program *p, const hpc_insn *i, const hpc_type *type, hpc_type *y)
{
    const hpc_view_attr *at = i->attr;
    int dim = (int)at->ragged - 1;
    if (y->ragged >= 0) return hpc_misfit(i, type, VIEW_X, -1, "one extent is run-time already");
    if (dim < 0 || dim >= y->rank || at->count < 0 || at->count >= p->value_n)
        return hpc_misfit(i, type, VIEW_X, -1, "no run-time extent %d by the count %%%lld", dim,
                          (long long)at->count);
    const hpc_type *count = &p->value[at->count].type;
    hpc_type leading = hpc_type_of(HPC_I32, dim, y->extent);
    if (count->dtype != HPC_I32 || hpc_op_n(count) != hpc_op_n(&leading)) {
        char text[128];
        return hpc_misfit(i, type, VIEW_X, -1, "a run-time extent %d needs %lld counts, not %s",
                          dim, (long long)hpc_op_n(&leading), hpc_type_text(text, count));
    }
    *y = hpc_type_ragged(*y, dim, (hpc_value)at->count);
    return HPC_OK;
}

/* Records the shape of x now, because x may already be local when sharding asks for labels. */
static void note_source(hpc_view_attr *at, const hpc_type *x)
{
    at->from_rank = x->rank;
    memcpy(at->from_extent, x->extent, sizeof at->from_extent);
}

static int view_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    hpc_view_attr *at = i->attr;
    const hpc_type *x = &type[VIEW_X];
    int rc = HPC_OK;
    if (i->operand[VIEW_Y] != HPC_NEW)
        return hpc_fail(HPC_E_ARG, "a view makes its own output: it is written through x");
    if (at->rank < 0 || at->rank > HPC_RANK_MAX)
        return hpc_fail(HPC_E_ARG, "rank %lld is not 0 to %d", (long long)at->rank, HPC_RANK_MAX);
    if (x->pack != HPC_PLAIN) return hpc_misfit(i, type, VIEW_X, -1, "a packed value has no view");
    hpc_type y = hpc_type_of((hpc_dtype)x->dtype, (int)at->rank, at->extent);
    if (!is_whole(at, x) && !is_rows(at, x)) {
        char text[128];
        return hpc_misfit(i, type, VIEW_X, -1, "%s from row %lld is neither all of it nor rows",
                          hpc_type_text(text, &y), (long long)at->row);
    }
    TRY(keep_ragged(i, type, &y));
    if (at->ragged != 0) TRY(add_ragged(p, i, type, &y));
    note_source(at, x);
    type[VIEW_Y] = y;
out:
    return rc;
}

/* ---- backward, layout ------------------------------------------------------ */

static int view_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_view_attr *at = i->attr;
    hpc_value x = i->operand[VIEW_X];
    hpc_type t = p->value[x].type;
    if (!is_whole(at, &t) || at->ragged != 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes through a view of a part");
    hpc_op_give(d, x, hpc_view(p, hpc_diff_of(d, i->operand[VIEW_Y]), t.rank, t.extent));
    return HPC_OK;
}

static int first_above_one(const int64_t *extent, int from, int to)
{
    while (from < to && extent[from] == 1) from++;
    return from;
}

/* The shortest runs of dimensions with equal products hold the same elements in the same order, so
 * that their first dimensions split alike, if both divide; then the rest stays whole. */
static void label_runs(char *lx, char *ly, const int64_t *ex, int nx, const int64_t *ey, int ny)
{
    char letter = 'A';
    for (int i = 0, j = 0; i < nx && j < ny;) {
        int i0 = i, j0 = j;
        int64_t px = ex[i++], py = ey[j++];
        while (px != py && i <= nx && j <= ny) {
            if (px < py && i < nx)
                px *= ex[i++];
            else if (py < px && j < ny)
                py *= ey[j++];
            else
                return;
        }
        int x = first_above_one(ex, i0, i), y = first_above_one(ey, j0, j);
        if (px > 1) lx[x] = ly[y] = letter++;
    }
}

static int view_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_view_attr *at = i->attr;
    hpc_type x = hpc_type_of(HPC_F32, (int)at->from_rank, at->from_extent);
    hpc_op_label(dims, p, i, VIEW_Y, "abcd");
    hpc_op_label(dims, p, i, VIEW_X, "efgh");
    if (!is_whole(at, &x)) return HPC_OK;
    if (hpc_op_n(&x) > 0)
        label_runs(dims->label[VIEW_X], dims->label[VIEW_Y], x.extent, x.rank, at->extent,
                   (int)at->rank);
    dims->linear[0] = 1u << VIEW_X;
    return HPC_OK;
}

static void view_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                          const hpc_grid_shape *shape, const int *coord)
{
    hpc_view_attr *at = i->attr;
    (void)global, (void)shape, (void)coord;
    memcpy(at->extent, local[VIEW_Y].extent, sizeof at->extent);
    note_source(at, &local[VIEW_X]);
}

static hpc_cost view_cost(const hpc_type *type, const void *attr)
{
    (void)type, (void)attr;
    return (hpc_cost){0, 0};
}

const hpc_op hpc_op_view = {
    .sig = {.name = "view",
            .operand_n = VIEW_N,
            .attr_bytes = sizeof(hpc_view_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .field = view_field,
    .comm = -1,
    .view = true,
    .shape = view_shape,
    .backward = view_backward,
    .layout = view_layout,
    .localise = view_localise,
    .cost = view_cost,
};

hpc_value hpc_view(hpc_program *p, hpc_value x, int rank, const int64_t *extent)
{
    hpc_value operand[VIEW_N] = {HPC_NEW, x};
    hpc_view_attr attr = {.rank = rank};
    for (int d = 0; d < rank && d < HPC_RANK_MAX; d++) attr.extent[d] = extent[d];
    return hpc_emit(p, &hpc_op_view, operand, &attr);
}

/* The attributes of a view with x's own extents; zeros if there is no x. */
static hpc_view_attr same_extents(const hpc_program *p, hpc_value x)
{
    hpc_view_attr attr = {0};
    if (x < 0 || x >= p->value_n) return attr;
    attr.rank = p->value[x].type.rank;
    memcpy(attr.extent, p->value[x].type.extent, sizeof attr.extent);
    return attr;
}

hpc_value hpc_slice(hpc_program *p, hpc_value x, int64_t row, int64_t rows)
{
    hpc_value operand[VIEW_N] = {HPC_NEW, x};
    hpc_view_attr attr = same_extents(p, x);
    attr.row = row;
    attr.extent[0] = rows;
    return hpc_emit(p, &hpc_op_view, operand, &attr);
}

hpc_value hpc_view_ragged(hpc_program *p, hpc_value x, int dim, hpc_value count)
{
    hpc_value operand[VIEW_N] = {HPC_NEW, x};
    hpc_view_attr attr = same_extents(p, x);
    attr.ragged = dim + 1;
    attr.count = count;
    return hpc_emit(p, &hpc_op_view, operand, &attr);
}

/* ---- nop ------------------------------------------------------------------- */

enum { NOP_Y, NOP_X, NOP_N };

static int nop_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[NOP_X];
    int rc = hpc_op_expect(i, type, NOP_X, HPC_OP_REAL, 0, HPC_RANK_MAX);
    if (rc < 0) return rc;
    if (i->operand[NOP_X] >= 0)
        return hpc_op_output(i, type, NOP_Y, hpc_op_like(x, (hpc_dtype)x->dtype));
    if (i->operand[NOP_Y] != HPC_NEW) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "without x the shape of y is unknown: pass a state for it");
}

static int nop_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->nop ? k->nop(plan, workers, args) : hpc_op_missing("nop");
}

/* For measuring what an instruction costs that does nothing, and what a dependency costs: y stays
 * undefined. */
const hpc_op hpc_op_nop = {
    .sig = {.name = "nop",
            .operand_n = NOP_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand = {{"y", HPC_OUT | HPC_OPTIONAL}, {"x", HPC_IN | HPC_OPTIONAL}}},
    .comm = -1,
    .shape = nop_shape,
    .select = nop_select,
};
