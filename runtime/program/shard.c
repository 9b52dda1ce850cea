/*
 * shard.c: turns the global program into that of one rank: propagates layouts through the op
 * table's labels, inserts conversions where layouts differ, and makes extents local. It decides
 * greedily, instruction by instruction, and knows no op by name. It does not search for the best
 * plan. shard_convert.c converts values.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "runtime/program/shard_priv.h"

typedef struct layouts { /* of an instruction's operands, by axis: of inputs wished, of outputs made
                          */
    int8_t in[HPC_OPERAND_MAX][HPC_AXIS_N], out[HPC_OPERAND_MAX][HPC_AXIS_N];
} layouts;

/* Picked elements are split where their index is, into the parts of the tensor that they are of. */
static bool picked_there(const sharder *w, const hpc_type *t, int axis)
{
    const hpc_value_info *index = t->picked ? &w->p->value[t->picked - 1] : NULL;
    return index && index->type.layout[axis] > 0;
}

/* A split dimension keeps its share; the count of a split ragged one is the rank's own. */
int shard_set_local(const sharder *w, hpc_value v, hpc_type *t)
{
    char name[24];
    snprintf(name, sizeof name, "%%%d", v);
    if (t->picked) t->extent[0] = w->p->value[t->picked - 1].picks;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        int n = shard_extent(w, a), d = hpc_layout_dim(t->layout[a]);
        if (n == 1) t->layout[a] = HPC_REPLICATED;
        if (n == 1 || d < 0 || hpc_layout_own(t->layout[a]) || picked_there(w, t, a)) continue;
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

/* Appends an unchanged instruction with new version numbers. */
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
    if (i->op->view) hpc_view_bind(p, i);
    return HPC_OK;
}

/* ---- one instruction, one axis -------------------------------------------------- */

static bool is_input(const sharder *w, const hpc_insn *i, int k)
{
    return hpc_insn_role(w->p, i, k) == HPC_IN ||
           (hpc_insn_role(w->p, i, k) == HPC_INOUT &&
            (i->op->sig.operand[k].flags & HPC_ACC) != HPC_ACC);
}

/* Partial sums in state are those of gradients: they are brought to the layout that they settle in
 * before anything else is made of them. State updated in place stays partial. */
static bool settles(const sharder *w, const hpc_insn *i, int k, int axis)
{
    const hpc_value_info *v = &w->p->value[i->operand[k]];
    return v->kind == HPC_VALUE_STATE && v->type.layout[axis] == HPC_PARTIAL &&
           !(hpc_insn_role(w->p, i, k) & HPC_OUT);
}

/* An input's layout, as it will be before this instruction asks for more. */
static int8_t layout_of(const sharder *w, const hpc_insn *i, int k, int axis)
{
    const hpc_value_info *v = &w->p->value[i->operand[k]];
    return settles(w, i, k, axis) ? v->settled[axis] : v->type.layout[axis];
}

static int64_t elements(const hpc_type *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->extent[d];
    return n;
}

/* True if partial sums pass through: the op is linear and does not make them larger. They are
 * summed before any other op, and if several instructions read them. */
static bool passes_partials(const sharder *w, const hpc_insn *i, const hpc_dims *dims, int axis)
{
    uint16_t partial = 0;
    int64_t in = 0, out = 0;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v >= 0 && hpc_insn_role(w->p, i, k) & HPC_OUT) out += elements(&w->global[v]);
        if (!is_input(w, i, k) || layout_of(w, i, k, axis) != HPC_PARTIAL) continue;
        if (w->p->value[v].kind == HPC_VALUE_TEMP && w->reads[v] > 1) return false;
        in += elements(&w->global[v]);
        partial |= (uint16_t)(1u << k);
    }
    if (out > in) return false;
    for (size_t s = 0; partial && s < sizeof dims->linear / sizeof *dims->linear; s++)
        if (dims->linear[s] == partial) return true;
    return false;
}

/* Data and depth split the rows of activations. State that is split along these axes, so that no
 * rank holds all of it, is gathered where it meets activations, in forward and backward. */
static bool gives_way(const sharder *w, const hpc_insn *i, int k, int axis)
{
    return (axis == HPC_AXIS_DATA || axis == HPC_AXIS_DEPTH) &&
           w->p->value[i->operand[k]].kind == HPC_VALUE_STATE;
}

/* True if the axis divides what earlier axes leave of each dimension with the label; in a view,
 * rows and blocks of rows. Other dimensions are gathered along it. */
static bool divides(const layouts *l, const sharder *w, const hpc_insn *i, const hpc_type *global,
                    const hpc_dims *dims, char label, int axis)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || global[k].picked) continue;
        const int8_t *split = is_input(w, i, k) ? l->in[k] : l->out[k];
        for (int d = 0; d < global[k].rank; d++) {
            if (dims->label[k][d] != label) continue;
            int64_t parts = shard_extent(w, axis);
            for (int a = 0; a < HPC_AXIS_N; a++)
                if (split[a] > 0 && hpc_layout_dim(split[a]) == d) parts *= shard_extent(w, a);
            if (global[k].extent[d] % parts) return false;
        }
    }
    return true;
}

/* True if all operands updated in place are whole along the axis, and one has a dimension with the
 * label. Then it stays in place, and the operands that match it are gathered. */
static bool stays_whole(const sharder *w, const hpc_insn *i, const hpc_dims *dims, char label,
                        int axis)
{
    bool stays = false;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || !is_input(w, i, k)) continue;
        if (!(hpc_insn_role(w->p, i, k) & HPC_OUT)) continue;
        if (layout_of(w, i, k, axis) != HPC_REPLICATED) return false;
        stays = stays || strchr(dims->label[k], label);
    }
    return stays;
}

typedef struct label { /* of dimensions that are split together, in the same way */
    char name;         /* 0: none */
    int8_t way;        /* layout of dimension 0 that is split so */
} label;

static int8_t way_of(int8_t layout)
{
    return (int8_t)(layout - hpc_layout_dim(layout));
}

/* The label to split by: that of the most bytes split already, of plain parts before inner ones. */
static label choose_label(const layouts *l, const sharder *w, const hpc_insn *i,
                          const hpc_type *global, const hpc_dims *dims, int axis)
{
    label best = {0};
    size_t best_bytes = 0;
    int best_gives = 2;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (!is_input(w, i, k)) continue;
        int8_t layout = layout_of(w, i, k, axis);
        if (layout <= 0) continue;
        char name = dims->label[k][hpc_layout_dim(layout)];
        size_t bytes = hpc_type_bytes(&w->p->value[i->operand[k]].type);
        bool inner = hpc_layout_inner(layout), state = gives_way(w, i, k, axis);
        int gives = state ? 2 : inner;
        if (!isupper((unsigned char)name) || gives > best_gives) continue;
        if (state && w->p->tags.phase < HPC_ACCUMULATE) continue;
        if (gives == best_gives && bytes <= best_bytes) continue;
        if (!divides(l, w, i, global, dims, name, axis)) continue;
        if (stays_whole(w, i, dims, name, axis)) continue;
        best = (label){name, way_of(layout)};
        best_bytes = bytes;
        best_gives = gives;
    }
    return best;
}

static char label_at(const hpc_dims *dims, int k, int8_t layout)
{
    char name = layout > 0 ? dims->label[k][hpc_layout_dim(layout)] : 0;
    return isupper((unsigned char)name) ? name : 0;
}

/* That of rows of state which no input has: each rank makes its own, of row and col; data and depth
 * make sums. 0: none. */
static char own_label(const sharder *w, const hpc_insn *i, const hpc_dims *dims, int axis)
{
    if (axis == HPC_AXIS_DATA || axis == HPC_AXIS_DEPTH) return 0;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v < 0 || is_input(w, i, k) || w->p->value[v].kind != HPC_VALUE_STATE) continue;
        char name = label_at(dims, k, w->p->value[v].type.layout[axis]);
        for (int n = 0; name && n < i->op->sig.operand_n; n++)
            if (i->operand[n] >= 0 && is_input(w, i, n) && strchr(dims->label[n], name)) name = 0;
        if (name) return name;
    }
    return 0;
}

static int8_t layout_by(const hpc_dims *dims, int k, label by, int8_t otherwise)
{
    for (int d = 0; by.name && d < HPC_RANK_MAX && dims->label[k][d]; d++)
        if (dims->label[k][d] == by.name) return (int8_t)(by.way + d);
    return otherwise;
}

/* True if an operand must have one split along the axis, by which the others go. */
static bool is_fixed(const hpc_insn *i, const hpc_dims *dims, int axis)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (dims->as[k] && dims->as[k][axis] > 0) return true;
    return false;
}

/* Numbers about own rows are made of such numbers, or of split rows. */
static int8_t own_layout(const sharder *w, const hpc_insn *i, const hpc_dims *dims, int axis)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && is_input(w, i, k) && dims->own >> k & 1 &&
            hpc_layout_own(layout_of(w, i, k, axis)))
            return HPC_OWN(0);
    return HPC_REPLICATED;
}

static void lay_out_axis(layouts *l, const sharder *w, const hpc_insn *i, const hpc_type *global,
                         const hpc_dims *dims, int axis)
{
    bool fixed = is_fixed(i, dims, axis);
    label by = {fixed ? 0 : own_label(w, i, dims, axis), HPC_SPLIT(0)};
    if (!by.name && !fixed) by = choose_label(l, w, i, global, dims, axis);
    bool passes = !fixed && !by.name && passes_partials(w, i, dims, axis);
    int8_t none = by.name || passes ? HPC_PARTIAL : HPC_REPLICATED;
    bool rows = by.name && by.name == dims->own_rows;
    int8_t own = rows ? HPC_OWN(0) : own_layout(w, i, dims, axis);
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0) continue;
        if (dims->own >> k & 1) {
            l->out[k][axis] = own;
            if (is_input(w, i, k)) l->in[k][axis] = layout_of(w, i, k, axis);
            continue;
        }
        if (fixed) {
            l->in[k][axis] = l->out[k][axis] = dims->as[k] ? dims->as[k][axis] : HPC_REPLICATED;
            continue;
        }
        if (is_input(w, i, k)) {
            bool through = passes && layout_of(w, i, k, axis) == HPC_PARTIAL;
            l->in[k][axis] = through ? HPC_PARTIAL : layout_by(dims, k, by, HPC_REPLICATED);
        }
        int8_t sum = by.name && dims->logarithm >> k & 1 ? HPC_LOGARITHM : none;
        l->out[k][axis] = layout_by(dims, k, by, sum);
    }
}

static bool adopts(const sharder *w, hpc_value v)
{
    return v < w->global_n && w->adopts[v];
}

/* ---- inputs ---------------------------------------------------------------------- */

static int check_in_place(const sharder *w, const hpc_insn *i, int k, const int8_t *want)
{
    const hpc_value_info *info = &w->p->value[i->operand[k]];
    char text[128];
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (shard_extent(w, a) > 1 && info->type.layout[a] != want[a])
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "operand %s, %s, is updated in place, but would have layout %d on "
                            "axis %s",
                            i->op->sig.operand[k].name, hpc_type_text(text, &info->type), want[a],
                            hpc_axis_name((hpc_axis)a));
    return HPC_OK;
}

/* An operand that is both read and written must keep the layout of its state. */
static int convert_input(sharder *w, hpc_insn *i, int k, const int8_t *want)
{
    hpc_value v = i->operand[k];
    if (w->p->value[v].kind == HPC_VALUE_STATE && adopts(w, v))
        return hpc_fail(HPC_E_SHAPE,
                        "%s is read before anything is added to it, which settles its "
                        "layout",
                        w->p->value[v].name);
    if (hpc_insn_role(w->p, i, k) & HPC_OUT) return check_in_place(w, i, k, want);
    if (w->p->value[v].whole != HPC_NONE && w->p->tags.phase < HPC_ACCUMULATE)
        i->operand[k] = w->p->value[v].whole;
    return shard_convert(w, &i->operand[k], want);
}

/* ---- outputs --------------------------------------------------------------------- */

/* A result for state of another layout: it is first written to a temporary. */
typedef struct store {
    hpc_value state, temp;
    int8_t want[HPC_AXIS_N]; /* the layout in which it is added */
    bool adds;
} store;

static bool same_layout(const sharder *w, const int8_t *a, const int8_t *b)
{
    for (int x = 0; x < HPC_AXIS_N; x++)
        if (shard_extent(w, x) > 1 && a[x] != b[x]) return false;
    return true;
}

/* Of a whole that is added to partial sums the first rank of an axis adds it, and no other. */
static bool is_others(const sharder *w, const int8_t *made, const int8_t *state)
{
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (shard_extent(w, a) > 1 && made[a] == HPC_REPLICATED && state[a] == HPC_PARTIAL &&
            w->coord[a] > 0 && !(w->staged >> a & 1))
            return true;
    return false;
}

static int outputs_of(const sharder *w, const hpc_insn *i)
{
    int n = 0;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        n += i->operand[k] >= 0 && hpc_insn_role(w->p, i, k) & HPC_OUT;
    return n;
}

static int store_later(sharder *w, hpc_insn *i, int k, const int8_t *made, store *s)
{
    hpc_program *p = w->p;
    hpc_value v = i->operand[k];
    hpc_type t = w->global[v];
    s->adds = hpc_insn_role(p, i, k) & HPC_IN;
    memcpy(t.layout, made, sizeof t.layout);
    int rc = shard_set_local(w, v, &t);
    if (rc < 0) return rc;
    s->temp = hpc_value_add(p, NULL, HPC_VALUE_TEMP, t);
    if (s->temp < 0) return HPC_E_NOMEM;
    p->value[s->temp].segment = p->current;
    s->state = v;
    i->operand[k] = s->temp;
    return HPC_OK;
}

/* Types of outputs from their global ones; accumulators keep what their first writer gave, unless
 * that has no inputs (a fill) and so no layout. *skip: this rank has nothing to do here. */
static int lay_out_output(sharder *w, hpc_insn *i, int k, const int8_t *made, store *s, bool *skip)
{
    hpc_value_info *info = &w->p->value[i->operand[k]];
    if (info->kind == HPC_VALUE_TEMP || adopts(w, i->operand[k])) {
        hpc_type t = w->global[i->operand[k]];
        memcpy(t.layout, made, sizeof t.layout);
        int rc = shard_set_local(w, i->operand[k], &t);
        w->p->value[i->operand[k]].type = t;
        w->adopts[i->operand[k]] = false;
        return rc;
    }
    if (same_layout(w, made, info->type.layout)) return HPC_OK;
    memcpy(s->want, info->type.layout, sizeof s->want);
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (made[a] == HPC_REPLICATED && s->want[a] == HPC_PARTIAL) s->want[a] = HPC_REPLICATED;
    *skip = is_others(w, made, info->type.layout);
    if (*skip && (!(hpc_insn_role(w->p, i, k) & HPC_IN) || outputs_of(w, i) > 1))
        return hpc_fail(HPC_E_UNSUPPORTED, "state %s is partial, and written by one rank alone",
                        info->name);
    return same_layout(w, made, s->want) ? HPC_OK : store_later(w, i, k, made, s);
}

/* Converts the temporary to the state's layout, and adds it to the state, or overwrites state that
 * restarts. */
static int finish_store(sharder *w, const store *s, bool skip)
{
    hpc_program *p = w->p;
    hpc_value x = s->temp;
    int rc;
    TRY(shard_convert(w, &x, s->want));
    p->tags.anew = !s->adds;
    p->tags.idle = skip;
    hpc_scale(p, s->state, x, HPC_NONE, 1);
    p->tags.idle = false;
    TRY(hpc_program_status(p));
out:
    return rc;
}

/* ---- instructions ------------------------------------------------------------------ */

/* s: by operand. */
static int finish_insn(sharder *w, hpc_insn *i, const hpc_type *global, const store *s, bool skip)
{
    hpc_type local[HPC_OPERAND_MAX];
    int rc = HPC_OK, n = i->op->sig.operand_n;
    bool stores = false;
    for (int k = 0; k < n; k++) {
        local[k] = i->operand[k] >= 0 ? w->p->value[i->operand[k]].type : global[k];
        stores = stores || s[k].state != HPC_NONE;
    }
    if (i->op->localise) i->op->localise(i, global, local, w->shape, w->coord);
    if (stores) i->tags.anew = false;
    i->tags.idle = skip && !stores;
    TRY(append(w, i));
    for (int k = 0; k < n; k++)
        if (s[k].state != HPC_NONE) TRY(finish_store(w, &s[k], skip));
out:
    return rc;
}

/* A temporary that is to have a layout is replaced, for those that read it, by one that has. */
static int grant(sharder *w, hpc_value v)
{
    const int8_t *wish = w->global[v].layout;
    hpc_value x = v;
    bool wished = false;
    for (int a = 0; a < HPC_AXIS_N; a++)
        wished = wished || (shard_extent(w, a) > 1 && wish[a] != HPC_REPLICATED);
    if (!wished) return HPC_OK;
    int8_t want[HPC_AXIS_N];
    for (int a = 0; a < HPC_AXIS_N; a++) {
        int8_t is = w->p->value[v].type.layout[a];
        want[a] = wish[a] != HPC_REPLICATED || is < 0 ? wish[a] : is;
    }
    int rc = shard_convert(w, &x, want);
    w->instead[v] = x;
    return rc;
}

static int grant_all(sharder *w, const hpc_insn *i)
{
    int rc = HPC_OK;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v < 0 || v >= w->global_n || w->p->value[v].kind != HPC_VALUE_TEMP) continue;
        if (hpc_insn_role(w->p, i, k) & HPC_OUT) TRY(grant(w, v));
    }
out:
    return rc;
}

static int shard_insn(sharder *w, hpc_insn i)
{
    int rc = HPC_OK, n = i.op->sig.operand_n;
    hpc_type global[HPC_OPERAND_MAX];
    hpc_dims dims = {0};
    layouts l = {0};
    store s[HPC_OPERAND_MAX] = {{0}};
    bool has_inputs = false, skip = false;
    for (int k = 0; k < n; k++) {
        global[k] = (hpc_type){.rank = -1, .ragged = -1, .count = HPC_NONE};
        s[k].state = HPC_NONE;
        if (i.operand[k] < 0) continue;
        global[k] = w->global[i.operand[k]];
        has_inputs = has_inputs || is_input(w, &i, k);
        if (is_input(w, &i, k)) i.operand[k] = w->instead[i.operand[k]];
    }
    w->p->tags = i.tags;
    if (i.op->layout) TRY(i.op->layout(w->p, &i, &dims));
    for (int a = 0; a < HPC_AXIS_N && has_inputs; a++)
        if (shard_extent(w, hpc_axis_nesting[a]) > 1)
            lay_out_axis(&l, w, &i, global, &dims, hpc_axis_nesting[a]);
    for (int k = 0; k < n && has_inputs; k++)
        if (i.operand[k] >= 0 && is_input(w, &i, k)) TRY(convert_input(w, &i, k, l.in[k]));
    for (int k = 0; k < n; k++) {
        if (i.operand[k] < 0 || !(hpc_insn_role(w->p, &i, k) & HPC_OUT)) continue;
        if (has_inputs || w->p->value[i.operand[k]].kind == HPC_VALUE_TEMP)
            TRY(lay_out_output(w, &i, k, l.out[k], &s[k], &skip));
    }
    TRY(finish_insn(w, &i, global, s, skip));
    TRY(grant_all(w, &i));
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
    shard_forget(w);
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

/* ---- the program --------------------------------------------------------------------- */

static bool is_whole(const hpc_type *t)
{
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (t->layout[a] != HPC_REPLICATED) return false;
    return true;
}

static void count_reads(sharder *w)
{
    const hpc_program *p = w->p;
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            const hpc_insn *i = &p->segment[s].insn[k];
            for (int n = 0; n < i->op->sig.operand_n; n++)
                if (i->operand[n] >= 0 && hpc_insn_role(p, i, n) & HPC_IN)
                    w->reads[i->operand[n]]++;
        }
}

static int prepare(sharder *w)
{
    hpc_program *p = w->p;
    size_t n = (size_t)p->value_n + 1;
    w->global_n = p->value_n;
    w->global = hpc_alloc(n, sizeof *w->global);
    w->adopts = hpc_alloc(n, sizeof *w->adopts);
    w->reads = hpc_alloc(n, sizeof *w->reads);
    w->instead = hpc_alloc(n, sizeof *w->instead);
    if (!w->global || !w->adopts || !w->reads || !w->instead) return HPC_E_NOMEM;
    count_reads(w);
    for (int64_t v = 0; v < p->value_n; v++) {
        hpc_value grad = p->value[v].trainable ? p->value[v].grad : HPC_NONE;
        w->global[v] = p->value[v].type;
        w->instead[v] = (hpc_value)v;
        if (grad >= 0) w->adopts[grad] = is_whole(&p->value[grad].type);
    }
    for (int64_t v = 0; v < p->value_n; v++) {
        p->value[v].version = 0;
        if (p->value[v].kind == HPC_VALUE_TEMP || w->adopts[v]) continue;
        int rc = shard_set_local(w, (hpc_value)v, &p->value[v].type);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

int hpc_shard(hpc_program *p, const hpc_grid_shape *shape, const int coord[HPC_AXIS_N],
              hpc_shard_options *o)
{
    sharder w = {.p = p, .shape = shape, .coord = coord};
    int current = p->current, segments = (int)p->segment_n;
    hpc_tags tags = p->tags;
    int rc = HPC_OK;
    if (o) w.staged = o->staged, o->gather = -1;
    TRY(hpc_program_check(p));
    TRY(prepare(&w));
    if (o) TRY(shard_keep_all(&w, o->keep));
    for (int s = 0; s < segments; s++) TRY(shard_segment(&w, s));
    if (o) TRY(shard_gather_all(&w, o));
    TRY(hpc_program_check(p));
out:
    if (rc < 0 && p->error.code == HPC_OK) p->error = *hpc_error_get();
    p->current = current;
    p->tags = tags;
    hpc_free(w.global);
    hpc_free(w.adopts);
    hpc_free(w.reads);
    hpc_free(w.instead);
    hpc_free(w.done);
    return rc;
}
