/*
 * matrix.c: op table entries of combine, map, tile and eigh: operations of optimizers on batches of
 * small matrices, apart from products. No gradient passes, because nothing is trained through an
 * optimizer.
 */
#include <math.h>

#include "runtime/program/op/priv.h"

/* ---- combine --------------------------------------------------------------- */

enum { COMBINE_Y, COMBINE_X1, COMBINE_X2, COMBINE_S0, COMBINE_S1, COMBINE_S2, COMBINE_N };

static const hpc_field combine_field[] = {
    {"a0", HPC_FIELD_REAL, offsetof(hpc_combine_attr, a0), NULL, false},
    {"a1", HPC_FIELD_REAL, offsetof(hpc_combine_attr, a1), NULL, true},
    {"a2", HPC_FIELD_REAL, offsetof(hpc_combine_attr, a2), NULL, false},
    {"trans", HPC_FIELD_BOOL, offsetof(hpc_combine_attr, trans), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

/* True if its parts are matrices, not tensors of any shape. */
static bool of_matrices(const hpc_combine_attr *at)
{
    return at->a0 != 0 || at->trans;
}

/* The shape that operand x2 gives to y. */
static hpc_type turned(const hpc_type *x2, const hpc_combine_attr *at)
{
    hpc_type t = *x2;
    if (!at->trans) return t;
    t.extent[t.rank - 1] = x2->extent[t.rank - 2];
    t.extent[t.rank - 2] = x2->extent[t.rank - 1];
    return t;
}

static int check_terms(const hpc_insn *i, const hpc_type *type)
{
    const hpc_combine_attr *at = i->attr;
    int least = of_matrices(at) ? 2 : 0, most = of_matrices(at) ? 3 : HPC_RANK_MAX, rc;
    if (!isfinite(at->a0) || !isfinite(at->a1) || !isfinite(at->a2))
        return hpc_fail(HPC_E_ARG, "a0, a1, a2 are %g, %g, %g; they must be finite", at->a0, at->a1,
                        at->a2);
    for (int k = COMBINE_Y; k <= COMBINE_X2; k++) {
        TRY(hpc_op_expect(i, type, k, HPC_OP_REAL, least, most));
        if (i->operand[k] >= 0 && type[k].ragged >= 0)
            return hpc_misfit(i, type, k, -1, "only fixed extents are combined");
    }
    if (i->operand[COMBINE_X1] < 0 && i->operand[COMBINE_X2] < 0 && i->operand[COMBINE_Y] < 0)
        return hpc_fail(HPC_E_ARG, "without x1 and x2, nothing gives y its shape: give state");
out:
    return rc;
}

/* A scalar, or one number for each matrix of y. */
static int check_factor(const hpc_insn *i, const hpc_type *type, int k)
{
    const hpc_type *y = &type[COMBINE_Y], *s = &type[k];
    int rc = hpc_op_expect(i, type, k, HPC_OP_REAL, 0, 1);
    if (rc < 0 || i->operand[k] < 0) return rc;
    if (s->ragged >= 0) return hpc_misfit(i, type, k, -1, "only fixed extents are combined");
    if (s->rank == 0 || (y->rank == 3 && y->extent[0] == s->extent[0])) return HPC_OK;
    return hpc_misfit(i, type, k, COMBINE_Y,
                      "expected a scalar, or one for each matrix of a batch");
}

static int combine_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_combine_attr *at = i->attr;
    const hpc_type *x1 = &type[COMBINE_X1], *x2 = &type[COMBINE_X2];
    bool one = i->operand[COMBINE_X1] >= 0, two = i->operand[COMBINE_X2] >= 0;
    int rc;
    TRY(check_terms(i, type));
    hpc_type y = one ? *x1 : two ? turned(x2, at) : type[COMBINE_Y];
    hpc_type other = two ? turned(x2, at) : y;
    if (!hpc_type_same_shape(&other, &y))
        return hpc_misfit(i, type, COMBINE_X1, COMBINE_X2, "they must have the same shape%s",
                          at->trans ? ", x2 being transposed" : "");
    TRY(hpc_op_output(i, type, COMBINE_Y, hpc_op_like(&y, (hpc_dtype)y.dtype)));
    if (at->a0 != 0 && y.extent[y.rank - 1] != y.extent[y.rank - 2])
        return hpc_misfit(i, type, COMBINE_Y, -1, "only to a square matrix is I added");
    for (int k = COMBINE_S0; k <= COMBINE_S2; k++) TRY(check_factor(i, type, k));
out:
    return rc;
}

/* A batch of matrices may be split, they themselves only where they are but elements. New sums of
 * partial sums are such; state has a layout of its own. */
static int combine_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_combine_attr *at = i->attr;
    hpc_value y = i->operand[COMBINE_Y];
    int skip = p->value[y].type.rank == 3 ? 0 : 1;
    for (int k = COMBINE_Y; k <= COMBINE_X2; k++)
        if (of_matrices(at))
            hpc_op_label(dims, p, i, k, (at->trans && k == COMBINE_X2 ? "Anm" : "Amn") + skip);
        else
            hpc_op_label_rows(dims, p, i, k, 'Z');
    for (int k = COMBINE_S0; k <= COMBINE_S2; k++) hpc_op_label(dims, p, i, k, "A");
    for (int k = COMBINE_X1; k <= COMBINE_X2; k++)
        if (at->a0 == 0 && p->value[y].kind == HPC_VALUE_TEMP && i->operand[k] >= 0)
            dims->linear[0] |= (uint16_t)(1u << k);
    return HPC_OK;
}

static hpc_cost combine_cost(const hpc_type *type, const void *attr)
{
    const hpc_combine_attr *at = attr;
    const hpc_type *y = &type[COMBINE_Y];
    double flops = at->a0 != 0 ? 2 * (double)hpc_op_rows(y) : 0;
    for (int k = COMBINE_X1; k <= COMBINE_X2; k++)
        if (type[k].rank >= 0) flops += 2 * (double)hpc_op_n(y);
    return hpc_op_cost(type, COMBINE_N, flops);
}

static int combine_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->combine ? k->combine(plan, workers, args) : hpc_op_missing("combine");
}

const hpc_op hpc_op_combine = {
    .sig = {.name = "combine",
            .operand_n = COMBINE_N,
            .attr_bytes = sizeof(hpc_combine_attr),
            .operand = {{"y", HPC_OUT},
                        {"x1", HPC_IN | HPC_OPTIONAL | HPC_INPLACE},
                        {"x2", HPC_IN | HPC_OPTIONAL},
                        {"s0", HPC_IN | HPC_OPTIONAL},
                        {"s1", HPC_IN | HPC_OPTIONAL},
                        {"s2", HPC_IN | HPC_OPTIONAL}}},
    .field = combine_field,
    .comm = -1,
    .shape = combine_shape,
    .layout = combine_layout,
    .cost = combine_cost,
    .select = combine_select,
};

hpc_value hpc_combine(hpc_program *p, hpc_value y, hpc_value x1, hpc_value x2, const hpc_value s[3],
                      hpc_combine_attr attr)
{
    hpc_value operand[COMBINE_N] = {y, x1, x2, HPC_NONE, HPC_NONE, HPC_NONE};
    for (int k = 0; s && k < 3; k++) operand[COMBINE_S0 + k] = s[k];
    return hpc_emit(p, &hpc_op_combine, operand, &attr);
}

/* ---- map ------------------------------------------------------------------- */

enum { MAP_Y, MAP_X, MAP_N };

static const hpc_field map_field[] = {
    {"alpha", HPC_FIELD_REAL, offsetof(hpc_map_attr, alpha), NULL, true},
    {"power", HPC_FIELD_REAL, offsetof(hpc_map_attr, power), NULL, true},
    {"beta", HPC_FIELD_REAL, offsetof(hpc_map_attr, beta), NULL, false},
    {"lo", HPC_FIELD_REAL, offsetof(hpc_map_attr, lo), NULL, false},
    {"hi", HPC_FIELD_REAL, offsetof(hpc_map_attr, hi), NULL, false},
    {"other", HPC_FIELD_REAL, offsetof(hpc_map_attr, other), NULL, false},
    {"guarded", HPC_FIELD_BOOL, offsetof(hpc_map_attr, guarded), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

static int map_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_map_attr *at = i->attr;
    int rc;
    bool useless = at->power == 0 || (at->alpha == 0 && !at->guarded);
    if (!isfinite(at->alpha) || !isfinite(at->power) || useless)
        return hpc_fail(HPC_E_ARG,
                        "alpha is %g and power %g; both must be finite and not 0 (alpha may be 0 "
                        "when guarded)",
                        at->alpha, at->power);
    if (!(at->lo <= at->hi))
        return hpc_fail(HPC_E_ARG, "lo is %g and hi %g; the bounds must be in order", at->lo,
                        at->hi);
    TRY(hpc_op_expect(i, type, MAP_X, HPC_OP_REAL, 0, HPC_RANK_MAX));
    if (type[MAP_X].ragged >= 0)
        return hpc_misfit(i, type, MAP_X, -1, "only fixed extents are mapped");
    TRY(hpc_op_output(i, type, MAP_Y, hpc_op_like(&type[MAP_X], (hpc_dtype)type[MAP_X].dtype)));
out:
    return rc;
}

/* dx = dy alpha power x^(power - 1), where y is not kept within bounds. */
static int map_backward(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = hpc_diff_program(d);
    const hpc_map_attr *at = i->attr;
    hpc_value dy = hpc_diff_of(d, i->operand[MAP_Y]), x = i->operand[MAP_X];
    if (!hpc_diff_wants(d, x)) return HPC_OK;
    if (at->guarded || at->lo != 0 || at->hi != 0 || at->alpha == 0)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "no gradient passes through a map with bounds or a guard");
    hpc_map_attr slope = {.alpha = at->alpha * at->power, .power = at->power - 1};
    hpc_op_give(d, x,
                at->power == 1 ? hpc_scale(p, HPC_NEW, dy, HPC_NONE, at->alpha)
                               : hpc_binary(p, HPC_MUL, hpc_map_each(p, x, slope), dy));
    return HPC_OK;
}

static int map_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->map ? k->map(plan, workers, args) : hpc_op_missing("map");
}

const hpc_op hpc_op_map = {
    .sig = {.name = "map",
            .operand_n = MAP_N,
            .attr_bytes = sizeof(hpc_map_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN | HPC_INPLACE}}},
    .field = map_field,
    .comm = -1,
    .shape = map_shape,
    .backward = map_backward,
    .layout = hpc_op_layout_pointwise,
    .select = map_select,
};

hpc_value hpc_map_each(hpc_program *p, hpc_value x, hpc_map_attr attr)
{
    hpc_value operand[MAP_N] = {HPC_NEW, x};
    return hpc_emit(p, &hpc_op_map, operand, &attr);
}

/* ---- tile ------------------------------------------------------------------ */

enum { TILE_Y, TILE_X, TILE_N };

static const hpc_field tile_field[] = {
    {"rows", HPC_FIELD_I64, offsetof(hpc_tile_attr, rows), NULL, true},
    {"cols", HPC_FIELD_I64, offsetof(hpc_tile_attr, cols), NULL, true},
    {"m", HPC_FIELD_I64, offsetof(hpc_tile_attr, m), NULL, false},
    {"n", HPC_FIELD_I64, offsetof(hpc_tile_attr, n), NULL, false},
    {"inverse", HPC_FIELD_BOOL, offsetof(hpc_tile_attr, inverse), NULL, false},
    {"batch", HPC_FIELD_I64, offsetof(hpc_tile_attr, batch), NULL, false},
    {NULL, HPC_FIELD_INT, 0, NULL, false},
};

/* Matrices of the batch (1: a matrix alone) and their extents. */
typedef struct tiled {
    int64_t batch, m, n;
    bool alone;
} tiled;

static tiled tiled_of(const hpc_tile_attr *at, const hpc_type *x)
{
    if (at->inverse) return (tiled){at->batch > 0 ? at->batch : 1, at->m, at->n, at->batch == 0};
    bool alone = x->rank == 2;
    return (tiled){alone ? 1 : x->extent[0], x->extent[x->rank - 2], x->extent[x->rank - 1], alone};
}

static int tile_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_tile_attr *at = i->attr;
    const hpc_type *x = &type[TILE_X];
    int rc;
    TRY(hpc_op_expect(i, type, TILE_X, HPC_OP_REAL, at->inverse ? 3 : 2, 3));
    if (x->ragged >= 0) return hpc_misfit(i, type, TILE_X, -1, "only fixed extents are tiled");
    tiled t = tiled_of(at, x);
    int64_t rows = at->inverse ? x->extent[1] : at->rows;
    int64_t cols = at->inverse ? x->extent[2] : at->cols;
    if (rows < 1 || cols < 1 || t.m < 0 || t.n < 0 || t.m % rows || t.n % cols)
        return hpc_misfit(i, type, TILE_X, -1, "blocks of %lld by %lld do not divide %lld by %lld",
                          (long long)rows, (long long)cols, (long long)t.m, (long long)t.n);
    const int64_t blocks[] = {t.batch * (t.m / rows) * (t.n / cols), rows, cols};
    const int64_t whole[] = {t.batch, t.m, t.n};
    if (at->inverse && x->extent[0] != blocks[0])
        return hpc_misfit(i, type, TILE_X, -1, "%lld by %lld are %lld such blocks", (long long)t.m,
                          (long long)t.n, (long long)blocks[0]);
    hpc_dtype dtype = (hpc_dtype)x->dtype;
    hpc_type y = !at->inverse ? hpc_type_of(dtype, 3, blocks)
                 : t.alone    ? hpc_type_of(dtype, 2, whole + 1)
                              : hpc_type_of(dtype, 3, whole);
    TRY(hpc_op_output(i, type, TILE_Y, y));
out:
    return rc;
}

/* The matrices of a batch may be split. Within one, a rank's share of the blocks is no rectangle.
 */
static int tile_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    const hpc_tile_attr *at = i->attr;
    bool batch = at->inverse ? at->batch > 0 : hpc_op_type(p, i, TILE_X)->rank == 3;
    for (int k = TILE_Y; batch && k <= TILE_X; k++) hpc_op_label(dims, p, i, k, "Amn");
    return HPC_OK;
}

static void tile_localise(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                          const hpc_grid_shape *shape, const int *coord)
{
    hpc_tile_attr *at = i->attr;
    (void)global, (void)shape, (void)coord;
    if (at->inverse && at->batch > 0) at->batch = local[TILE_Y].extent[0];
}

static int tile_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->tile ? k->tile(plan, workers, args) : hpc_op_missing("tile");
}

const hpc_op hpc_op_tile = {
    .sig = {.name = "tile",
            .operand_n = TILE_N,
            .attr_bytes = sizeof(hpc_tile_attr),
            .operand = {{"y", HPC_OUT}, {"x", HPC_IN}}},
    .field = tile_field,
    .comm = -1,
    .shape = tile_shape,
    .layout = tile_layout,
    .localise = tile_localise,
    .select = tile_select,
};

hpc_value hpc_tile(hpc_program *p, hpc_value x, int64_t rows, int64_t cols)
{
    hpc_value operand[TILE_N] = {HPC_NEW, x};
    hpc_tile_attr attr = {.rows = rows, .cols = cols};
    return hpc_emit(p, &hpc_op_tile, operand, &attr);
}

hpc_value hpc_untile(hpc_program *p, hpc_value x, int64_t m, int64_t n)
{
    return hpc_untile_batch(p, x, 0, m, n);
}

hpc_value hpc_untile_batch(hpc_program *p, hpc_value x, int64_t batch, int64_t m, int64_t n)
{
    hpc_value operand[TILE_N] = {HPC_NEW, x};
    hpc_tile_attr attr = {.m = m, .n = n, .inverse = true, .batch = batch};
    return hpc_emit(p, &hpc_op_tile, operand, &attr);
}

/* ---- eigh ------------------------------------------------------------------ */

enum { EIGH_VALUES, EIGH_VECTORS, EIGH_X, EIGH_N };

static int eigh_shape(const hpc_program *p, const hpc_insn *i, hpc_type *type)
{
    (void)p;
    const hpc_type *x = &type[EIGH_X];
    int rc;
    TRY(hpc_op_expect(i, type, EIGH_X, HPC_OP_REAL, 2, 3));
    if (x->ragged >= 0) return hpc_misfit(i, type, EIGH_X, -1, "only fixed extents have vectors");
    if (x->extent[x->rank - 1] != x->extent[x->rank - 2])
        return hpc_misfit(i, type, EIGH_X, -1, "expected square matrices");
    TRY(hpc_op_output(i, type, EIGH_VALUES, hpc_op_leading(x, hpc_op_wide(x))));
    TRY(hpc_op_output(i, type, EIGH_VECTORS, hpc_op_like(x, hpc_op_wide(x))));
out:
    return rc;
}

static int eigh_layout(const hpc_program *p, const hpc_insn *i, hpc_dims *dims)
{
    int skip = hpc_op_type(p, i, EIGH_X)->rank == 3 ? 0 : 1;
    hpc_op_label(dims, p, i, EIGH_VALUES, &"Av"[skip]);
    hpc_op_label(dims, p, i, EIGH_VECTORS, &"Avn"[skip]);
    hpc_op_label(dims, p, i, EIGH_X, &"Amn"[skip]);
    return HPC_OK;
}

/* 4/3 n^3 for T, as many for Q', 6 n^3 for rotations. */
static hpc_cost eigh_cost(const hpc_type *type, const void *attr)
{
    (void)attr;
    double n = (double)hpc_op_cols(&type[EIGH_X]);
    return hpc_op_cost(type, EIGH_N, 9 * n * n * (double)hpc_op_rows(&type[EIGH_X]));
}

static int eigh_select(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args)
{
    return k->eigh ? k->eigh(plan, workers, args) : hpc_op_missing("eigh");
}

const hpc_op hpc_op_eigh = {
    .sig = {.name = "eigh",
            .operand_n = EIGH_N,
            .attr_bytes = sizeof(hpc_no_attr),
            .operand = {{"values", HPC_OUT}, {"vectors", HPC_OUT}, {"x", HPC_IN}}},
    .comm = -1,
    .shape = eigh_shape,
    .layout = eigh_layout,
    .cost = eigh_cost,
    .select = eigh_select,
};

hpc_value hpc_eigh(hpc_program *p, hpc_value x, hpc_value *values)
{
    hpc_value operand[EIGH_N] = {HPC_NEW, HPC_NEW, x};
    bool done = hpc_emit(p, &hpc_op_eigh, operand, NULL) >= 0;
    if (values) *values = done ? operand[EIGH_VALUES] : HPC_NONE;
    return done ? operand[EIGH_VECTORS] : HPC_NONE;
}
