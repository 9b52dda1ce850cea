/*
 * shard_convert.c: conversion of a value between layouts, axis by axis: sums, gathers, exchanges or
 * slices, along any dimension. convert.c chooses the moves. Collectives work along the first
 * dimension; the parts of another dimension are moved to the front before a collective and back
 * after it.
 */
#include <string.h>

#include "runtime/program/convert.h"
#include "runtime/program/shard_priv.h"

int shard_extent(const sharder *w, int axis)
{
    int n = w->shape->extent[axis];
    return n > 1 ? n : 1;
}

/* ---- one axis ------------------------------------------------------------------- */

/* x as [n, rows, cols / n]: the parts of dimension d, one after the other. */
static hpc_value parts_first(hpc_program *p, hpc_value x, int d, int n)
{
    const hpc_type t = p->value[x].type;
    int64_t rows = 1, cols = 1;
    for (int k = 0; k < t.rank; k++) *(k < d ? &rows : &cols) *= t.extent[k];
    x = hpc_view(p, x, 2, (int64_t[]){rows, cols});
    return hpc_tile(p, x, rows, cols / n);
}

/* The other way round, to the extents of `like`. */
static hpc_value parts_last(hpc_program *p, hpc_value x, int d, const hpc_type *like)
{
    int64_t rows = 1, cols = 1;
    for (int k = 0; k < like->rank; k++) *(k < d ? &rows : &cols) *= like->extent[k];
    x = hpc_untile(p, x, rows, cols);
    return hpc_view(p, x, like->rank, like->extent);
}

/* Collectives have a queue of their own; the operations before and after them use the compute
 * queue. */
static hpc_value over(sharder *w, hpc_value x, int axis, const hpc_op *op)
{
    hpc_program *p = w->p;
    int n = shard_extent(w, axis);
    p->tags.queue = HPC_COMM;
    hpc_value y = op == &hpc_op_all_reduce   ? hpc_all_reduce(p, x, 1u << axis, HPC_COMM_SUM)
                  : op == &hpc_op_all_gather ? hpc_all_gather(p, x, 1u << axis, n)
                  : op == &hpc_op_all_to_all ? hpc_all_to_all(p, x, 1u << axis)
                                             : hpc_reduce_scatter(p, x, 1u << axis, n);
    p->tags.queue = HPC_COMPUTE;
    return y;
}

/* log of the sum over ranks of exp(x), by their largest. */
static hpc_value join_logarithms(sharder *w, hpc_value x, int axis)
{
    hpc_program *p = w->p;
    p->tags.queue = HPC_COMM;
    hpc_value most = hpc_all_reduce(p, x, 1u << axis, HPC_COMM_MAX);
    p->tags.queue = HPC_COMPUTE;
    x = over(w, hpc_soft_of(p, HPC_SOFT_EXP, x, most, HPC_NONE), axis, &hpc_op_all_reduce);
    return hpc_soft_of(p, HPC_SOFT_LOG, x, most, HPC_NONE);
}

static hpc_value gather(sharder *w, hpc_value x, int axis, int d)
{
    hpc_program *p = w->p;
    hpc_type t = p->value[x].type;
    int n = shard_extent(w, axis);
    if (d == 0) return over(w, x, axis, &hpc_op_all_gather);
    t.extent[d] *= n;
    int64_t rows = 1, cols = 1;
    for (int k = 0; k < t.rank; k++) *(k < d ? &rows : &cols) *= t.extent[k];
    x = hpc_view(p, x, 3, (int64_t[]){1, rows, cols / n});
    return parts_last(p, over(w, x, axis, &hpc_op_all_gather), d, &t);
}

static hpc_value scatter_sum(sharder *w, hpc_value x, int axis, int d)
{
    hpc_program *p = w->p;
    hpc_type t = p->value[x].type;
    int n = shard_extent(w, axis);
    if (d == 0) return over(w, x, axis, &hpc_op_reduce_scatter);
    t.extent[d] /= n;
    x = over(w, parts_first(p, x, d, n), axis, &hpc_op_reduce_scatter);
    return hpc_view(p, x, t.rank, t.extent);
}

static hpc_value cut(sharder *w, hpc_value x, int axis, int d)
{
    hpc_program *p = w->p;
    hpc_type t = p->value[x].type;
    int n = shard_extent(w, axis), at = w->coord[axis];
    t.extent[d] /= n;
    if (d == 0) return hpc_slice(p, x, t.extent[0] * at, t.extent[0]);
    x = hpc_slice(p, parts_first(p, x, d, n), at, 1);
    return hpc_view(p, x, t.rank, t.extent);
}

/* From parts of dimension d to parts of dimension `to`: each rank sends every other the elements
 * that both have. */
static hpc_value exchange(sharder *w, hpc_value x, int axis, int d, int to)
{
    hpc_program *p = w->p;
    hpc_type t = p->value[x].type;
    int n = shard_extent(w, axis);
    int64_t elements = 1;
    for (int k = 0; k < t.rank; k++) elements *= t.extent[k];
    x = to > 0 ? parts_first(p, x, to, n) : hpc_view(p, x, 2, (int64_t[]){n, elements / n});
    x = over(w, x, axis, &hpc_op_all_to_all);
    t.extent[d] *= n;
    t.extent[to] /= n;
    if (d == 0) return hpc_view(p, x, t.rank, t.extent);
    int64_t rows = 1, cols = 1;
    for (int k = 0; k < t.rank; k++) *(k < d ? &rows : &cols) *= t.extent[k];
    x = hpc_view(p, x, 3, (int64_t[]){n, rows, cols / n});
    return parts_last(p, x, d, &t);
}

static int emit(sharder *w, hpc_value *y, hpc_value v, int axis, int8_t to)
{
    int8_t from = w->p->value[v].type.layout[axis];
    int d = hpc_layout_dim(to), at = hpc_layout_dim(from);
    hpc_assert(hpc_layout_can_move(&w->p->value[v].type, w->shape, (hpc_layout_move){axis, to}));
    if (from == HPC_LOGARITHM)
        *y = join_logarithms(w, v, axis);
    else if (from == HPC_PARTIAL)
        *y = to > 0 ? scatter_sum(w, v, axis, d) : over(w, v, axis, &hpc_op_all_reduce);
    else if (from > 0)
        *y = to > 0 ? exchange(w, v, axis, at, d) : gather(w, v, axis, at);
    else
        *y = cut(w, v, axis, d);
    return hpc_program_status(w->p);
}

/* ---- what is there already ------------------------------------------------------- */

/* An earlier conversion, or HPC_NONE. A conversion under a guard exists under that guard only, and
 * never for state, which may change. */
static hpc_value find(const sharder *w, hpc_value v, int axis, int8_t to, int32_t version)
{
    const hpc_program *p = w->p;
    for (int64_t k = 0; k < w->done_n; k++) {
        const converted *c = &w->done[k];
        if (c->from != v || c->axis != axis || c->version != version ||
            p->value[c->to].type.layout[axis] != to)
            continue;
        if (c->guard == HPC_NONE ||
            (c->guard == p->tags.guard && p->value[c->guard].kind != HPC_VALUE_STATE))
            return c->to;
    }
    return HPC_NONE;
}

/* True if a later segment can use the conversion. Gathered state is not kept. A conversion of
 * another segment's value exists only if this segment has run, which is not known in advance.
 * Refresh segments do not run in each step. */
static bool lasts(const sharder *w, const converted *c)
{
    const hpc_value_info *from = &w->p->value[c->from];
    if (w->p->segment[w->p->value[c->to].segment].phase == HPC_REFRESH) return false;
    if (w->p->value[hpc_value_root(w->p, c->from)].kind == HPC_VALUE_STATE)
        return from->type.layout[c->axis] <= 0;
    return from->kind == HPC_VALUE_TEMP && from->segment == w->p->value[c->to].segment;
}

void shard_forget(sharder *w)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < w->done_n; k++)
        if (lasts(w, &w->done[k])) w->done[kept++] = w->done[k];
    w->done_n = kept;
}

static int convert_axis(sharder *w, hpc_value *v, int axis, int8_t to)
{
    hpc_program *p = w->p;
    int32_t version = p->value[hpc_value_root(p, *v)].version;
    int rc = HPC_OK;
    hpc_value y = find(w, *v, axis, to, version);
    if (y == HPC_NONE) {
        TRY(emit(w, &y, *v, axis, to));
        TRY(hpc_grow(&w->done, &w->done_cap, w->done_n + 1, sizeof *w->done));
        memcpy(p->value[y].type.layout, p->value[*v].type.layout, sizeof p->value[y].type.layout);
        p->value[y].type.layout[axis] = to;
        w->done[w->done_n++] = (converted){*v, y, p->tags.guard, version, axis};
    }
    *v = y;
out:
    return rc;
}

/* ---- all axes -------------------------------------------------------------------- */

static hpc_value known(void *user, hpc_value v, hpc_layout_move m)
{
    const sharder *w = user;
    return find(w, v, m.axis, m.to, w->p->value[hpc_value_root(w->p, v)].version);
}

int shard_convert(sharder *w, hpc_value *v, const int8_t want[HPC_AXIS_N])
{
    hpc_program *p = w->p;
    bool anew = p->tags.anew;
    uint8_t queue = p->tags.queue;
    hpc_layout_path path;
    hpc_type t = p->value[*v].type;
    int rc;
    p->tags.anew = false;
    p->tags.queue = HPC_COMPUTE;
    TRY(hpc_layout_search(
        &path,
        &(hpc_layout_question){
            .value = *v, .type = &t, .want = want, .shape = w->shape, .known = known, .user = w}));
    for (int k = 0; k < path.n; k++) TRY(convert_axis(w, v, path.move[k].axis, path.move[k].to));
out:
    p->tags.anew = anew;
    p->tags.queue = queue;
    return rc;
}

int shard_gather_into(sharder *w, hpc_value whole, hpc_value x)
{
    hpc_program *p = w->p;
    int8_t want[HPC_AXIS_N];
    int last = -1;
    memcpy(want, p->value[whole].type.layout, sizeof want);
    for (int k = 0; k < HPC_AXIS_N; k++) {
        int a = hpc_axis_nesting[k];
        if (shard_extent(w, a) == 1 || p->value[x].type.layout[a] == want[a]) continue;
        if (last < 0) want[a] = p->value[x].type.layout[a], last = a; /* the coarsest */
    }
    hpc_assert(last >= 0);
    int rc = shard_convert(w, &x, want);
    if (rc < 0) return rc;
    int d = hpc_layout_dim(p->value[x].type.layout[last]), n = shard_extent(w, last);
    const hpc_type t = p->value[whole].type;
    hpc_value operand[2] = {whole, x};
    if (d == 0) {
        p->tags.queue = HPC_COMM;
        hpc_emit(p, &hpc_op_all_gather, operand, &(hpc_comm_attr){.axes = 1u << last, .ranks = n});
        return hpc_program_status(p);
    }
    hpc_assert(t.rank == 2 && d == 1);
    operand[1] = over(w, hpc_view(p, x, 3, (int64_t[]){1, t.extent[0], t.extent[1] / n}), last,
                      &hpc_op_all_gather);
    hpc_emit(p, &hpc_op_tile, operand,
             &(hpc_tile_attr){.m = t.extent[0], .n = t.extent[1], .inverse = true});
    return hpc_program_status(p);
}
