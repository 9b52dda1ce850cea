/*
 * picked.c: elements that an index picks from a tensor, in the proof.
 *
 * Which elements they are is data. A rank's index picks from its part of the tensor, so
 * the picked elements are a fixed number for each part, concatenated, and may be split
 * further inside each part. Other parts may have other numbers of them. Picked elements
 * never move between parts, so the proof counts every part like the first rank's.
 */
#include <string.h>

#include "runtime/program/prove/priv.h"

static int64_t extents(const hpc_type *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->extent[d];
    return n;
}

/* The parts, and in each so many elements: of all picked ones, whose index lies as `index` says. */
static hpc_type all_of(const prover *w, const hpc_type *index)
{
    int64_t parts = 1;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (index->layout[a] > 0) parts *= prove_extent(w->w, a);
    return hpc_type_of((hpc_dtype)index->dtype, 2, (int64_t[]){parts, index->extent[0]});
}

int64_t prove_elements(const prover *w, const hpc_type *global)
{
    if (!global->picked) return extents(global);
    hpc_type all = all_of(w, &w->p->value[global->picked - 1].type);
    return extents(&all);
}

bool prove_place(map *out, int *dim, const prover *w, const map *whole, const hpc_type *global,
                 const hpc_type *local)
{
    if (!global->picked) return map_place(out, dim, whole, global, local, w->w->shape);
    const hpc_type *index = &w->p->value[global->picked - 1].type;
    hpc_type all = all_of(w, index);
    hpc_type own = hpc_type_of((hpc_dtype)local->dtype, 2, (int64_t[]){1, local->extent[0]});
    *dim = 0;
    if (local->rank != 1) return false;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (prove_extent(w->w, a) == 1) continue;
        own.layout[a] = local->layout[a] > 0 ? HPC_SPLIT(1) : local->layout[a];
        if (index->layout[a] > 0) own.layout[a] = HPC_SPLIT(0);
        if ((index->layout[a] > 0 || local->layout[a] > 0) && local->layout[a] != HPC_SPLIT(0))
            return false;
    }
    return map_place(out, dim, whole, &all, &own, w->w->shape);
}

/* ---- which instructions have a rule --------------------------------------------------------- */

static int no_rule(const prover *w, hpc_value index, const char *why)
{
    const char *name = w->g->value[index].name;
    return hpc_fail(HPC_E_UNSUPPORTED, "elements picked by %s have no rule where %s",
                    name ? name : "an index", why);
}

/* The tensor whose mask the index is, or HPC_NONE. */
static hpc_value picked_from(const prover *w, hpc_value index)
{
    for (hpc_value v = 0; v < w->g->value_n; v++)
        if (w->g->value[v].index == index) return v;
    return HPC_NONE;
}

/* The operand is split as the tensor is of whose part the index speaks, and that where it is. */
static int check_whole(const prover *w, const hpc_type *x, const int8_t *as, hpc_value index)
{
    hpc_value from = picked_from(w, index);
    if (from == HPC_NONE) return no_rule(w, index, "no tensor has it for its mask");
    const hpc_type *t = &w->g->value[from].type;
    const int8_t *is = w->p->value[from].type.layout, *of = w->p->value[index].type.layout;
    if (x->rank != t->rank ||
        memcmp(x->extent, t->extent, sizeof *x->extent * (size_t)t->rank) != 0)
        return no_rule(w, index, "the tensor is of another shape than its mask");
    for (int a = 0; a < HPC_AXIS_N; a++) {
        int8_t lies = is[a] > 0 ? HPC_SPLIT(0) : HPC_REPLICATED;
        if (prove_extent(w->w, a) == 1) continue;
        if (is[a] < 0 || (as[a] > 0 ? as[a] : 0) != is[a] || of[a] != lies)
            return hpc_fail(HPC_E_STATE, "along %s %s does not lie where the part of %s does",
                            hpc_axis_name((hpc_axis)a), w->g->value[index].name,
                            w->g->value[from].name);
    }
    return HPC_OK;
}

/* Of unpicked operands none has rows that go with picked ones: they go by place. */
static int check_others(const prover *w, const hpc_insn *g, const hpc_dims *dims, hpc_value index)
{
    for (int k = 0; k < g->op->sig.operand_n; k++)
        for (int o = 0; o < g->op->sig.operand_n; o++) {
            if (g->operand[k] < 0 || g->operand[o] < 0) continue;
            if (!w->g->value[g->operand[k]].type.picked || w->g->value[g->operand[o]].type.picked)
                continue;
            if (dims->label[k][0] && strchr(dims->label[o], dims->label[k][0]))
                return no_rule(w, index, "others go with them by their places");
        }
    return HPC_OK;
}

int prove_picked(const prover *w, const hpc_insn *g, const hpc_dims *dims)
{
    bool selects = g->op == &hpc_op_pick || g->op == &hpc_op_spread;
    hpc_value index = HPC_NONE;
    int rc = HPC_OK;
    for (int k = 0; k < g->op->sig.operand_n; k++) {
        hpc_value by = g->operand[k] >= 0 ? w->g->value[g->operand[k]].type.picked - 1 : HPC_NONE;
        if (by < 0) continue;
        if (index >= 0 && by != index) return no_rule(w, index, "others are picked otherwise");
        index = by;
    }
    if (index < 0 && !selects) return HPC_OK;
    if (index < 0) return hpc_fail(HPC_E_UNSUPPORTED, "an index that is not a mask has no rule");
    if (!selects && g->op->localise) return no_rule(w, index, "their places count");
    if (!selects) return check_others(w, g, dims, index);
    for (int k = 0; k < g->op->sig.operand_n && rc >= 0; k++)
        if (!w->g->value[g->operand[k]].type.picked)
            rc = check_whole(w, &w->g->value[g->operand[k]].type, dims->as[k], index);
    return rc;
}
