/*
 * shard.c: from the global program to one rank's: layouts flow through the op
 * table's labels, conversions enter where they differ, extents become local.
 *
 * It decides greedily, instruction by instruction, and knows no op by name. It
 * does not search for the best plan, and converts along the first dimension only.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/program/priv.h"

typedef struct converted { /* so that a value is reduced or gathered once */
    hpc_value from, to, guard;
    int32_t version;
    int axis;
} converted;

typedef struct sharder {
    hpc_program *p;
    const hpc_grid_shape *shape;
    const int *coord;
    hpc_type *global; /* types as they were, by value */
    int64_t global_n;
    bool *adopts; /* accumulators that have no layout of their own yet */
    converted *done;
    int64_t done_n, done_cap;
    int8_t layout[HPC_OPERAND_MAX]; /* of the instruction at hand, on the axis at hand */
} sharder;

static int extent_of(const sharder *w, int axis)
{
    int n = w->shape->extent[axis];
    return n > 1 ? n : 1;
}

/* A split dimension keeps its share; the count of a split ragged one is the rank's own. */
static int make_local(const sharder *w, hpc_value v, hpc_type *t)
{
    char name[24];
    snprintf(name, sizeof name, "%%%d", v);
    for (int a = 0; a < HPC_AXIS_N; a++) {
        int n = extent_of(w, a), d = t->layout[a] - 1;
        if (n == 1) t->layout[a] = HPC_REPLICATED;
        if (n == 1 || d < 0) continue;
        if (d >= t->rank)
            return hpc_fail(HPC_E_SHAPE, "a layout splits dimension %d of rank %d", d, t->rank);
        if (t->extent[d] % n)
            return hpc_fail(HPC_E_SHAPE, "%s: extent %d is %lld, which %s=%d does not divide",
                            w->p->value[v].name ? w->p->value[v].name : name, d,
                            (long long)t->extent[d], hpc_axis_name((hpc_axis)a), n);
        t->extent[d] /= n;
    }
    return HPC_OK;
}

/* Appends an instruction as it stands, with versions counted anew. */
static int append(sharder *w, hpc_insn *i)
{
    hpc_program *p = w->p;
    hpc_segment *s = &p->segment[p->current];
    int rc = hpc_grow(&s->insn, &s->insn_cap, s->insn_n + 1, sizeof *s->insn);
    if (rc < 0) return rc;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value root = hpc_value_root(p, i->operand[k]);
        if (root >= 0) i->version[k] = p->value[root].version;
    }
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (!(hpc_insn_role(p, i, k) & HPC_OUT)) continue;
        hpc_value_info *info = &p->value[i->operand[k]];
        if (info->kind == HPC_VALUE_STATE)
            info->version++;
        else
            info->insn = (int32_t)s->insn_n;
    }
    s->insn[s->insn_n++] = *i;
    return HPC_OK;
}

/* ---- conversions --------------------------------------------------------------- */

static hpc_value slice(sharder *w, hpc_value v, int axis)
{
    hpc_type t = w->p->value[v].type;
    int n = extent_of(w, axis);
    int64_t part = t.extent[0] / n;
    hpc_view_attr at = {.rank = t.rank, .row = part * w->coord[axis]};
    for (int k = 0; k < t.rank; k++) at.extent[k] = k ? t.extent[k] : part;
    hpc_value operand[2] = {HPC_NEW, v};
    return hpc_emit(w->p, &hpc_op_view, operand, &at);
}

/* Of a dimension split on several axes the first has the coarsest parts: it cannot be split, or put
 * together, while a later one holds it in parts. */
static bool split_further(const sharder *w, const hpc_type *t, int axis)
{
    for (int a = axis + 1; a < HPC_AXIS_N; a++)
        if (extent_of(w, a) > 1 && t->layout[a] == HPC_SPLIT(0)) return true;
    return false;
}

/* The value made before, or HPC_NONE. What was made under a guard is there under that guard alone,
 * and not even then if that is state, which may change. */
static hpc_value find_converted(const sharder *w, hpc_value v, int axis, int8_t to, int32_t version)
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

static int emit_conversion(sharder *w, hpc_value *y, hpc_value v, int axis, int8_t to)
{
    hpc_program *p = w->p;
    hpc_type t = p->value[v].type;
    int8_t from = t.layout[axis];
    hpc_axes axes = 1u << axis;
    int n = extent_of(w, axis);
    bool apart = !split_further(w, &t, axis);
    char text[128];
    p->tags.queue = HPC_COMM;
    if (from == HPC_PARTIAL && to == HPC_REPLICATED)
        *y = hpc_all_reduce(p, v, axes, HPC_COMM_SUM);
    else if (from == HPC_PARTIAL && to == HPC_SPLIT(0) && apart)
        *y = hpc_reduce_scatter(p, v, axes, n);
    else if (from == HPC_SPLIT(0) && to == HPC_REPLICATED && apart)
        *y = hpc_all_gather(p, v, axes, n);
    else if (from == HPC_REPLICATED && to == HPC_SPLIT(0) && apart && t.extent[0] % n == 0)
        *y = slice(w, v, axis);
    else
        return hpc_fail(HPC_E_UNSUPPORTED, "no conversion of %%%d, %s, to layout %d on axis %s", v,
                        hpc_type_text(text, &t), to, hpc_axis_name((hpc_axis)axis));
    return hpc_program_status(p);
}

static int convert(sharder *w, hpc_value *v, int axis, int8_t to)
{
    hpc_program *p = w->p;
    int32_t version = p->value[hpc_value_root(p, *v)].version;
    int rc = HPC_OK;
    if (p->value[*v].type.layout[axis] == to) return rc;
    hpc_value y = find_converted(w, *v, axis, to, version);
    if (y == HPC_NONE) {
        TRY(emit_conversion(w, &y, *v, axis, to));
        TRY(hpc_grow(&w->done, &w->done_cap, w->done_n + 1, sizeof *w->done));
        memcpy(p->value[y].type.layout, p->value[*v].type.layout, sizeof p->value[y].type.layout);
        p->value[y].type.layout[axis] = to;
        w->done[w->done_n++] = (converted){*v, y, p->tags.guard, version, axis};
    }
    *v = y;
out:
    return rc;
}

/* ---- one instruction, one axis -------------------------------------------------- */

static bool is_input(const sharder *w, const hpc_insn *i, int k)
{
    return hpc_insn_role(w->p, i, k) == HPC_IN ||
           (hpc_insn_role(w->p, i, k) == HPC_INOUT &&
            (i->op->sig.operand[k].flags & HPC_ACC) != HPC_ACC);
}

/* Partial inputs pass through a linear op; before any other they are summed. */
static int settle_partials(sharder *w, hpc_insn *i, const hpc_dims *dims, int axis, bool *passes)
{
    uint16_t partial = 0;
    *passes = false;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (is_input(w, i, k) && w->p->value[i->operand[k]].type.layout[axis] == HPC_PARTIAL)
            partial |= (uint16_t)(1u << k);
    if (!partial) return HPC_OK;
    for (size_t s = 0; s < sizeof dims->linear / sizeof *dims->linear; s++)
        if (dims->linear[s] == partial) {
            *passes = true;
            return HPC_OK;
        }
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (!(partial & 1u << k)) continue;
        int rc = convert(w, &i->operand[k], axis, HPC_REPLICATED);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

/* The label to split by: that of the most bytes split already. 0: none. */
static char choose_label(const sharder *w, const hpc_insn *i, const hpc_dims *dims, int axis)
{
    char best = 0;
    size_t best_bytes = 0;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (!is_input(w, i, k)) continue;
        const hpc_type *t = &w->p->value[i->operand[k]].type;
        if (t->layout[axis] <= 0) continue;
        char label = dims->label[k][t->layout[axis] - 1];
        size_t bytes = hpc_type_bytes(t);
        if (!isupper((unsigned char)label) || bytes <= best_bytes) continue;
        best = label;
        best_bytes = bytes;
    }
    return best;
}

/* What is read and written in one must be so where it lies. */
static int convert_input(sharder *w, hpc_insn *i, int k, int axis, int8_t to)
{
    const hpc_value_info *info = &w->p->value[i->operand[k]];
    char text[128];
    if (info->kind == HPC_VALUE_STATE && w->adopts[i->operand[k]])
        return hpc_fail(HPC_E_SHAPE,
                        "%s is read before anything is added to it, which settles its "
                        "layout",
                        info->name);
    if (hpc_insn_role(w->p, i, k) & HPC_OUT && info->type.layout[axis] != to)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "operand %s, %s, is updated in place, but would have "
                        "layout %d on axis %s",
                        i->op->sig.operand[k].name, hpc_type_text(text, &info->type), to,
                        hpc_axis_name((hpc_axis)axis));
    return convert(w, &i->operand[k], axis, to);
}

static int8_t layout_by(const hpc_dims *dims, int k, char label, int8_t otherwise)
{
    for (int d = 0; label && d < HPC_RANK_MAX && dims->label[k][d]; d++)
        if (dims->label[k][d] == label) return (int8_t)HPC_SPLIT(d);
    return otherwise;
}

/* Inputs are converted; outputs' layouts are left in w->layout. */
static int shard_axis(sharder *w, hpc_insn *i, const hpc_dims *dims, int axis)
{
    bool passes;
    int rc = HPC_OK;
    TRY(settle_partials(w, i, dims, axis, &passes));
    char label = choose_label(w, i, dims, axis);
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0) continue;
        if (is_input(w, i, k)) {
            if (passes && w->p->value[i->operand[k]].type.layout[axis] == HPC_PARTIAL) continue;
            TRY(convert_input(w, i, k, axis, layout_by(dims, k, label, HPC_REPLICATED)));
        }
        if (hpc_insn_role(w->p, i, k) & HPC_OUT) {
            int8_t none = label || passes ? HPC_PARTIAL : HPC_REPLICATED;
            w->layout[k] = layout_by(dims, k, label, none);
        }
    }
out:
    return rc;
}

static int set_output(sharder *w, const hpc_insn *i, int k, int axis)
{
    hpc_value_info *info = &w->p->value[i->operand[k]];
    if (info->kind == HPC_VALUE_TEMP || w->adopts[i->operand[k]]) {
        info->type.layout[axis] = w->layout[k];
        return HPC_OK;
    }
    if (info->type.layout[axis] == w->layout[k]) return HPC_OK;
    char text[128];
    return hpc_fail(HPC_E_SHAPE, "state %s is %s, but what is written has layout %d on axis %s",
                    info->name, hpc_type_text(text, &info->type), w->layout[k],
                    hpc_axis_name((hpc_axis)axis));
}

/* Types of outputs from their global ones; accumulators keep what their first writer gave, unless
 * that has no inputs (a fill) and so no layout. */
static int localise_outputs(sharder *w, hpc_insn *i, hpc_type *global, bool has_inputs)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v < 0 || !(hpc_insn_role(w->p, i, k) & HPC_OUT)) continue;
        hpc_value_info *info = &w->p->value[v];
        if (info->kind != HPC_VALUE_TEMP && !(w->adopts[v] && has_inputs)) continue;
        memcpy(info->type.extent, global[k].extent, sizeof info->type.extent);
        int rc = make_local(w, v, &info->type);
        if (rc < 0) return rc;
        w->adopts[v] = false;
    }
    return HPC_OK;
}

static int shard_insn(sharder *w, hpc_insn i)
{
    int rc = HPC_OK, n = i.op->sig.operand_n;
    hpc_type global[HPC_OPERAND_MAX], local[HPC_OPERAND_MAX];
    hpc_dims dims = {0};
    bool has_inputs = false;
    for (int k = 0; k < n; k++) {
        global[k] = (hpc_type){.rank = -1, .ragged = -1, .count = HPC_NONE};
        if (i.operand[k] >= 0) global[k] = w->global[i.operand[k]];
        has_inputs = has_inputs || is_input(w, &i, k);
    }
    w->p->tags = i.tags;
    if (i.op->layout) TRY(i.op->layout(w->p, &i, &dims));
    for (int a = 0; a < HPC_AXIS_N && has_inputs; a++) {
        if (extent_of(w, a) == 1) continue;
        TRY(shard_axis(w, &i, &dims, a));
        for (int k = 0; k < n; k++)
            if (hpc_insn_role(w->p, &i, k) & HPC_OUT) TRY(set_output(w, &i, k, a));
    }
    TRY(localise_outputs(w, &i, global, has_inputs));
    for (int k = 0; k < n; k++)
        local[k] = i.operand[k] >= 0 ? w->p->value[i.operand[k]].type : global[k];
    if (i.op->localise) i.op->localise(&i, global, local, w->shape, w->coord);
    TRY(append(w, &i));
out:
    return rc;
}

static int shard_segment(sharder *w, int s)
{
    hpc_segment *g = &w->p->segment[s];
    hpc_insn *old = g->insn;
    int64_t n = g->insn_n;
    int rc = HPC_OK;
    g->insn = NULL;
    g->insn_n = g->insn_cap = 0;
    w->p->current = s;
    for (int64_t k = 0; k < n; k++) {
        rc = shard_insn(w, old[k]);
        if (rc < 0) {
            hpc_error_where("shard %s #%lld %s (block %d)", w->p->segment[s].name, (long long)k,
                            old[k].op->sig.name, old[k].tags.block);
            break;
        }
    }
    hpc_free(old);
    return rc;
}

static int prepare(sharder *w)
{
    hpc_program *p = w->p;
    size_t n = (size_t)p->value_n + 1;
    w->global = hpc_alloc(n, sizeof *w->global);
    w->adopts = hpc_alloc(n, sizeof *w->adopts);
    if (!w->global || !w->adopts) return HPC_E_NOMEM;
    for (int64_t v = 0; v < p->value_n; v++) {
        w->global[v] = p->value[v].type;
        if (p->value[v].trainable && p->value[v].grad >= 0) w->adopts[p->value[v].grad] = true;
    }
    for (int64_t v = 0; v < p->value_n; v++) {
        p->value[v].version = 0;
        if (p->value[v].anew)
            return hpc_fail(HPC_E_UNSUPPORTED, "%s begins anew in each run: it cannot be sharded",
                            p->value[v].name);
        if (p->value[v].kind == HPC_VALUE_TEMP || w->adopts[v]) continue;
        int rc = make_local(w, (hpc_value)v, &p->value[v].type);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

int hpc_shard(hpc_program *p, const hpc_grid_shape *shape, const int coord[HPC_AXIS_N])
{
    sharder w = {.p = p, .shape = shape, .coord = coord};
    int current = p->current;
    hpc_tags tags = p->tags;
    int rc = HPC_OK;
    TRY(hpc_program_check(p));
    TRY(prepare(&w));
    for (int s = 0; s < p->segment_n; s++) TRY(shard_segment(&w, s));
    TRY(hpc_program_check(p));
out:
    if (rc < 0 && p->error.code == HPC_OK) p->error = *hpc_error_get();
    p->current = current;
    p->tags = tags;
    hpc_free(w.global);
    hpc_free(w.adopts);
    hpc_free(w.done);
    return rc;
}
