/*
 * plan.c: which part of a step each rank of a grid holds, as layouts on the
 * global program's state and inputs; what follows from them is hpc_shard's.
 */
#include "train/update_priv.h"

static int extent_of(const hpc_grid_shape *s, int axis)
{
    return s->extent[axis] > 1 ? s->extent[axis] : 1;
}

int hpc_parallel_check(const hpc_parallel *q, int64_t rows)
{
    static const hpc_axes known = 1u << HPC_AXIS_DATA | 1u << HPC_AXIS_DEPTH;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (extent_of(&q->grid, a) > 1 && !(known >> a & 1))
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "%s=%d: training does not split along this axis yet; use data and "
                            "depth",
                            hpc_axis_name((hpc_axis)a), q->grid.extent[a]);
    int64_t parts = extent_of(&q->grid, HPC_AXIS_DATA) * extent_of(&q->grid, HPC_AXIS_DEPTH);
    if (q->zero < 0 || q->zero > 3)
        return hpc_fail(HPC_E_ARG, "zero=%d: the stages are 0 to 3", q->zero);
    if (rows % parts == 0) return HPC_OK;
    return hpc_fail(HPC_E_SHAPE,
                    "rows=%lld, of all ranks in a microbatch: data and depth split them in %lld; "
                    "rows=%lld and rows=%lld are the nearest that work",
                    (long long)rows, (long long)parts,
                    (long long)(rows < parts ? parts : rows / parts * parts),
                    (long long)((rows / parts + 1) * parts));
}

int hpc_parallel_part(int *parts, const hpc_grid_shape *s, const int coord[HPC_AXIS_N])
{
    int part = 0;
    *parts = 1;
    for (int k = 0; k < HPC_AXIS_N; k++) {
        int a = hpc_axis_nesting[k];
        if (a != HPC_AXIS_DATA && a != HPC_AXIS_DEPTH) continue;
        part = part * extent_of(s, a) + coord[a];
        *parts *= extent_of(s, a);
    }
    return part;
}

void plan_rows(hpc_type *t)
{
    t->layout[HPC_AXIS_DATA] = t->layout[HPC_AXIS_DEPTH] = HPC_SPLIT(0);
}

/* Depth splits matrices, whose gathering is worth a message; data whatever it divides. */
static void plan_parameter(hpc_value_info *v, const hpc_parallel *q)
{
    int64_t left = v->type.extent[0];
    int depth = extent_of(&q->grid, HPC_AXIS_DEPTH), data = extent_of(&q->grid, HPC_AXIS_DATA);
    if (v->type.rank < 1) return;
    if (depth > 1 && v->type.rank > 1 && left % depth == 0) {
        v->type.layout[HPC_AXIS_DEPTH] = HPC_SPLIT(0);
        left /= depth;
    }
    bool split = v->trainable ? q->zero > 0 : q->zero == 3 && v->type.rank > 1;
    if (split && data > 1 && left % data == 0) v->type.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
}

void plan_parameters(hpc_program *p, const hpc_parallel *q)
{
    for (int64_t v = 0; v < p->value_n; v++)
        if (p->value[v].kind == HPC_VALUE_STATE && p->value[v].base < 0)
            plan_parameter(&p->value[v], q);
}

/* A gradient is summed in full on each rank, and read as its parameter lies; or summed into that
 * part by each run of backward. */
static void plan_gradient(hpc_value_info *g, const hpc_value_info *v, const hpc_parallel *q)
{
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (a != HPC_AXIS_DATA && a != HPC_AXIS_DEPTH) continue;
        bool whole = v->type.layout[a] == HPC_REPLICATED || (a == HPC_AXIS_DATA && q->zero < 2);
        g->type.layout[a] = whole ? HPC_PARTIAL : v->type.layout[a];
        g->settled[a] = v->type.layout[a];
    }
}

void plan_gradients(hpc_program *p, const hpc_parallel *q)
{
    for (int64_t v = 0; v < p->value_n; v++)
        if (p->value[v].trainable && p->value[v].grad >= 0)
            plan_gradient(&p->value[p->value[v].grad], &p->value[v], q);
}

int hpc_step_shard(hpc_step *io, hpc_program *p, const hpc_parallel *q, const int coord[HPC_AXIS_N])
{
    hpc_shard_options o = {.gather = -1};
    bool data = q->zero == 1 || q->zero == 2;
    if (data) o.keep |= 1u << HPC_AXIS_DATA;
    if (q->keep_depth && q->zero < 3) o.keep |= 1u << HPC_AXIS_DEPTH;
    int rc = hpc_shard(p, &q->grid, coord, &o);
    io->gather = o.gather;
    return rc;
}
