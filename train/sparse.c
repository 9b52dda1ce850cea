/*
 * sparse.c: state of a pruned model in a step's program. Parameters that the model reads are
 * dense, zero except for the picked elements. Masters, gradients and moments hold only the picked
 * elements, by one shared index.
 *
 * Ranks along row and depth hold the elements of their part. Ranks along data have the same
 * elements, which ZeRO divides evenly.
 */
#include <math.h>

#include "train/prune.h"
#include "train/update_priv.h"

static int parts_of(const hpc_parallel *q)
{
    int data = q && q->zero > 0 ? q->grid.extent[HPC_AXIS_DATA] : 1;
    return data > 1 ? data : 1;
}

void sparse_begin(hpc_program *p, const hpc_masks *m)
{
    for (int64_t k = 0; m && k < m->mask_n; k++) {
        const hpc_mask *x = &m->mask[k];
        hpc_value v = hpc_program_find(p, x->name);
        const char *name = hpc_arena_text(p->arena, "index.%s", x->name);
        if (v < 0 || !name) continue;
        int64_t n = x->kept > 0 ? x->kept : 1; /* no element: one unused index */
        hpc_value index = hpc_program_state(p, name, hpc_type_of(HPC_I32, 1, &n), false);
        if (index < 0) return;
        p->value[index].type.picked = 1 + index;
        p->value[index].picks = n;
        p->value[v].index = index;
    }
}

/* What a rank has of a tensor, before that has become its own. */
static hpc_type part_of(const hpc_type *whole, const hpc_grid_shape *s)
{
    hpc_type t = *whole;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (t.layout[a] > 0 && s->extent[a] > 1) t.extent[t.layout[a] - 1] /= s->extent[a];
    return t;
}

void sparse_lay_out(hpc_program *p, const hpc_masks *m, const hpc_parallel *q,
                    const int coord[HPC_AXIS_N])
{
    for (int64_t k = 0; m && q && k < m->mask_n; k++) {
        hpc_value v = hpc_program_find(p, m->mask[k].name);
        if (v < 0 || p->value[v].index < 0) continue;
        const hpc_type *whole = &p->value[v].type;
        hpc_value_info *index = &p->value[p->value[v].index];
        hpc_type part = part_of(whole, &q->grid);
        int64_t n = hpc_mask_part(NULL, &m->mask[k], &part, whole, &q->grid, coord);
        int64_t parts = parts_of(q);
        index->picks = n > 0 ? (n + parts - 1) / parts * parts : parts;
        for (int a = 0; a < HPC_AXIS_N; a++)
            index->type.layout[a] = whole->layout[a] > 0 ? HPC_SPLIT(0) : HPC_REPLICATED;
    }
}

void sparse_gradient(hpc_value_info *g, const hpc_parallel *q)
{
    if (!g->type.picked) return;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (g->type.layout[a] > 0) g->type.layout[a] = HPC_SPLIT(0);
        if (g->settled[a] > 0) g->settled[a] = HPC_SPLIT(0);
    }
    if (parts_of(q) > 1) g->settled[HPC_AXIS_DATA] = HPC_SPLIT(0);
}

static hpc_value state_of(update *u, const char *prefix, const target *t, hpc_type type)
{
    const char *name = hpc_arena_text(u->p->arena, "%s.%s", prefix, t->name);
    hpc_value v = name ? hpc_program_find(u->p, name) : HPC_NONE;
    return v >= 0 || !name ? v : hpc_program_state(u->p, name, type, false);
}

void sparse_target(update *u, target *t, hpc_value v)
{
    const hpc_program *p = u->p;
    hpc_dtype own = (hpc_dtype)p->value[v].type.dtype;
    hpc_type type = p->value[p->value[v].index].type;
    t->whole = v;
    t->index = p->value[v].index;
    type.dtype = own == HPC_F64 ? HPC_F64 : HPC_F32;
    if (parts_of(u->parallel) > 1) type.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
    t->param = update_master(u, v, type);
    type.dtype = HPC_BF16;
    t->half = own == HPC_BF16 ? state_of(u, "half", t, type) : HPC_NONE;
}

/* The gradient in the type in which ranks sum it. The unrounded sum stays local to each rank. */
hpc_value update_rounded(update *u, const target *t)
{
    hpc_program *p = u->p;
    hpc_type type = p->value[t->sum].type;
    if (!u->rounds || type.dtype != HPC_F32) return t->sum;
    if (p->value[t->sum].grad >= 0) return p->value[t->sum].grad;
    type.dtype = HPC_BF16;
    hpc_value v = state_of(u, "rounded", t, type);
    if (v < 0) return t->sum;
    p->value[t->sum].grad = v;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        p->value[v].settled[a] = p->value[t->sum].settled[a];
        p->value[t->sum].settled[a] = type.layout[a];
    }
    return v;
}

hpc_value update_picked(update *u, const target *t, hpc_value x)
{
    return t->index < 0 ? x : hpc_pick(u->p, HPC_NEW, x, t->index, t->whole);
}

hpc_value update_dense(update *u, const target *t, hpc_value x)
{
    return t->index < 0 ? x : hpc_spread(u->p, HPC_NEW, x, t->index, t->whole);
}
