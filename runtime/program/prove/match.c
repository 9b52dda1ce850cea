/*
 * match.c: finds the counterpart of a rank's computation in the serial program: the instruction
 * with the same op and attributes whose operands hold the same elements. Matching follows data, not
 * positions, because passes may move instructions. The order in which terms are summed is free.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "runtime/program/prove/priv.h"

/* ---- attributes ------------------------------------------------------------------------------ */

static double field(const hpc_field *f, const void *attr)
{
    const char *at = (const char *)attr + f->offset;
    switch (f->kind) {
    case HPC_FIELD_BOOL: return *(const bool *)at;
    case HPC_FIELD_INT:
    case HPC_FIELD_NAME: return *(const int *)at;
    case HPC_FIELD_I64: return (double)*(const int64_t *)at;
    case HPC_FIELD_REAL: return *(const double *)at;
    }
    return NAN;
}

static int check_fields(const hpc_op *op, const void *want, const void *is, int rank)
{
    for (const hpc_field *f = op->field; f && f->name; f++) {
        double a = field(f, want), b = field(f, is);
        if (a == b || (isnan(a) && isnan(b))) continue;
        return hpc_fail(HPC_E_STATE, "%s is %g on rank %d, where %g is its part of the serial one",
                        f->name, b, rank, a);
    }
    return HPC_OK;
}

/* Those of the serial instruction, as each rank's place changes them. */
static int check_attributes(const prover *w, const hpc_insn *g)
{
    _Alignas(16) uint8_t attr[512];
    hpc_type global[HPC_OPERAND_MAX], local[HPC_OPERAND_MAX];
    size_t bytes = g->op->sig.attr_bytes;
    int rc = HPC_OK;
    hpc_assert(bytes <= sizeof attr);
    for (int r = 0; r < w->w->n; r++) {
        if (!w->here[r]) continue;
        const hpc_program *p = w->w->program[r];
        const hpc_insn *i = &p->segment[w->segment].insn[w->at[r]];
        int c[HPC_AXIS_N];
        hpc_insn copy = *g;
        hpc_grid_coords(c, w->w->shape, w->w->rank[r]);
        for (int k = 0; k < g->op->sig.operand_n; k++) {
            hpc_type none = {.rank = -1, .ragged = -1, .count = HPC_NONE};
            global[k] = g->operand[k] >= 0 ? w->g->value[g->operand[k]].type : none;
            local[k] = g->operand[k] >= 0 ? p->value[i->operand[k]].type : none;
        }
        if (bytes) memcpy(attr, g->attr, bytes);
        copy.attr = attr;
        if (g->op->localise) g->op->localise(&copy, global, local, w->w->shape, c);
        TRY(check_fields(g->op, attr, i->attr, w->w->rank[r]));
    }
out:
    return rc;
}

/* ---- partners -------------------------------------------------------------------------------- */

static map serial_read(const prover *w, const hpc_insn *g, int k)
{
    map m = w->serial[g->operand[k]];
    if (w->g->value[hpc_value_root(w->g, g->operand[k])].kind == HPC_VALUE_STATE)
        m.version = g->version[k];
    return m;
}

/* Of the same elements' tensor, at the same version. */
static bool same_source(const prover *w, const hpc_insn *g, const map *held, int k)
{
    const map *m = &w->serial[g->operand[k]];
    bool state = w->g->value[hpc_value_root(w->g, g->operand[k])].kind == HPC_VALUE_STATE;
    return m->root == held->root && (state ? g->version[k] : m->version) == held->version;
}

static bool absent_alike(const hpc_insn *g, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if ((g->operand[k] < 0) != (i->operand[k] < 0)) return false;
    return true;
}

/* Outputs go to the same state, or to a temporary that will. */
static bool outputs_fit(const prover *w, const hpc_insn *g, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || !(hpc_insn_role(w->p, i, k) & HPC_OUT)) continue;
        if (w->p->value[i->operand[k]].kind == HPC_VALUE_STATE && i->operand[k] != g->operand[k])
            return false;
    }
    return true;
}

/* The first operand of another source, or -1. */
static int first_other(const prover *w, const hpc_insn *g, const hpc_insn *i, const map *held)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && prove_input(w->p, i, k) && !same_source(w, g, &held[k], k))
            return k;
    return -1;
}

static int no_partner(const prover *w, const hpc_insn *i, const hpc_insn *near, int64_t near_at,
                      const map *held)
{
    char where[96];
    value_text text;
    int k = near ? first_other(w, near, i, held) : -1;
    if (k < 0) return hpc_fail(HPC_E_STATE, "one rank would not do this here");
    hpc_value v = near->operand[k];
    char name[64];
    snprintf(name, sizeof name, "%%%d", v);
    return hpc_fail(HPC_E_STATE, "operand %s is %s, version %d; one rank gives %s %s, version %d",
                    i->op->sig.operand[k].name, prove_value(text, w, i->operand[k]),
                    held[k].version, hpc_insn_where(where, w->g, w->segment, near_at),
                    w->g->value[v].name ? w->g->value[v].name : name,
                    serial_read(w, near, k).version);
}

static bool attributes_fit(const prover *w, const hpc_insn *g)
{
    if (check_attributes(w, g) >= 0) return true;
    hpc_error_clear();
    return false;
}

/* An instruction of the serial segment, of which only the attributes may be other ones; without
 * one, that of the same op which comes nearest, and false. */
static bool find_partner(int64_t *at, const hpc_insn **near, const prover *w, const hpc_insn *i,
                         const map *held)
{
    int64_t odd = -1, near_at = 0,
            n = w->segment < w->g->segment_n ? w->g->segment[w->segment].insn_n : 0;
    *near = NULL;
    for (*at = w->first; *at < n; ++*at) {
        const hpc_insn *g = &w->g->segment[w->segment].insn[*at];
        if (w->matched[*at] || g->op != i->op || !absent_alike(g, i) || !outputs_fit(w, g, i))
            continue;
        bool same = first_other(w, g, i, held) < 0;
        if (same && attributes_fit(w, g)) return true;
        if (same && odd < 0) odd = *at;
        if (!*near) *near = g, near_at = *at;
    }
    *at = odd >= 0 ? odd : near_at;
    return odd >= 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Checks that the held value is the serial operand, in the layout of its type. */
static int check_operand(const prover *w, const hpc_insn *g, const hpc_insn *i, int k,
                         const map *held)
{
    const hpc_type *local = &w->p->value[i->operand[k]].type;
    const hpc_type *global = &w->g->value[g->operand[k]].type;
    map whole = serial_read(w, g, k), want;
    value_text text;
    char type[128], all[128];
    int dim;
    bool placed = prove_place(&want, &dim, w, &whole, global, local);
    if (placed && map_equal(&want, held)) return HPC_OK;
    const char *name = i->op->sig.operand[k].name;
    prove_value(text, w, i->operand[k]);
    hpc_type_text(type, local);
    hpc_type_text(all, global);
    if (!placed)
        return hpc_fail(HPC_E_STATE, "operand %s, %s, is %s, which is not a part of %s", name, text,
                        type, all);
    for (int a = 0; a < HPC_AXIS_N; a++) {
        const char *axis = hpc_axis_name((hpc_axis)a);
        if (held->partial[a] && !want.partial[a])
            return hpc_fail(HPC_E_STATE,
                            "operand %s, %s, is a partial sum along %s that was not reduced", name,
                            text, axis);
        if (!held->partial[a] && want.partial[a])
            return hpc_fail(HPC_E_STATE,
                            "operand %s, %s, is no partial sum along %s, as its type "
                            "%s says",
                            name, text, axis, type);
        if (held->by[a] != want.by[a])
            return hpc_fail(HPC_E_STATE,
                            "operand %s, %s: ranks along %s hold %s of it, and its type %s says "
                            "otherwise",
                            name, text, axis, held->by[a] == 0 ? "the same" : "different parts",
                            type);
    }
    return hpc_fail(HPC_E_STATE, "operand %s, %s, holds its elements otherwise than %s says", name,
                    text, type);
}

static int check_operands(const prover *w, const hpc_insn *g, const hpc_insn *i, const map *held)
{
    int rc = HPC_OK;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0) continue;
        const hpc_type *x = &w->p->value[i->operand[k]].type;
        const hpc_type *y = &w->g->value[g->operand[k]].type;
        if (x->dtype != y->dtype) {
            char a[128], b[128];
            TRY(hpc_fail(HPC_E_STATE, "operand %s is %s, and %s on one rank",
                         i->op->sig.operand[k].name, hpc_type_text(a, x), hpc_type_text(b, y)));
        }
        if (prove_input(w->p, i, k)) TRY(check_operand(w, g, i, k, &held[k]));
    }
    map guard;
    hpc_value a = i->tags.guard, b = g->tags.guard;
    bool alike = (a == HPC_NONE) == (b == HPC_NONE);
    if (alike && a != HPC_NONE) {
        TRY(prove_read(&guard, w, a));
        alike = guard.root == w->serial[b].root;
    }
    if (!alike) TRY(hpc_fail(HPC_E_STATE, "its guard is another than on one rank"));
out:
    return rc;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* A write of state, as the serial program counts them. */
static void count_write(prover *w, const hpc_insn *g, int k)
{
    hpc_value s = g->operand[k];
    int32_t version = g->version[k] + 1;
    w->written[s]++;
    if (version > w->newest[s]) w->newest[s] = version;
}

/* Into state at once. */
static int write_state(prover *w, const hpc_insn *g, const hpc_insn *i, int k, const int8_t *made)
{
    const hpc_type *t = &w->p->value[i->operand[k]].type;
    int rc;
    if (hpc_insn_role(w->p, i, k) != hpc_insn_role(w->g, g, k))
        return hpc_fail(HPC_E_STATE, "%s is %s, and %s on one rank",
                        w->p->value[i->operand[k]].name,
                        hpc_insn_role(w->p, i, k) & HPC_IN ? "added to" : "overwritten",
                        hpc_insn_role(w->g, g, k) & HPC_IN ? "added to" : "overwritten");
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (prove_extent(w->w, a) == 1 || made[a] == t->layout[a]) continue;
        bool alone = made[a] == HPC_REPLICATED && t->layout[a] == HPC_PARTIAL &&
                     hpc_insn_role(w->p, i, k) & HPC_IN;
        char text[128];
        if (!alone)
            return hpc_fail(HPC_E_STATE, "its result for %s, %s, is %s along %s",
                            w->p->value[i->operand[k]].name, hpc_type_text(text, t),
                            made[a] == HPC_PARTIAL      ? "a partial sum"
                            : made[a] == HPC_REPLICATED ? "the same on all ranks"
                                                        : "split otherwise",
                            hpc_axis_name((hpc_axis)a));
    }
    TRY(prove_presence(w, i->operand[k], made));
    count_write(w, g, k);
out:
    return rc;
}

/* To a temporary: the serial value, or what will be added to its state. */
static int write_temp(prover *w, const hpc_insn *g, const hpc_insn *i, int k, int64_t at,
                      const int8_t *made)
{
    const hpc_type *local = &w->p->value[i->operand[k]].type;
    const hpc_type *global = &w->g->value[g->operand[k]].type;
    hpc_value root = g->operand[k];
    char a[128], b[128];
    map m, whole;
    int dim, rc;
    for (int x = 0; x < HPC_AXIS_N; x++)
        if (prove_extent(w->w, x) > 1 && made[x] != local->layout[x])
            return hpc_fail(HPC_E_STATE, "%%%d is %s, but %s along %s", i->operand[k],
                            hpc_type_text(a, local),
                            made[x] == HPC_PARTIAL      ? "a partial sum"
                            : made[x] == HPC_REPLICATED ? "the same on all ranks"
                                                        : "split otherwise",
                            hpc_axis_name((hpc_axis)x));
    if (w->g->value[root].kind == HPC_VALUE_STATE) {
        TRY(hpc_grow(&w->add, &w->add_cap, w->add_n + 1, sizeof *w->add));
        w->add[w->add_n] = (addition){.segment = w->segment, .operand = k, .insn = at};
        root = (hpc_value)(w->g->value_n + w->add_n++);
    }
    whole = map_whole(root, -1, prove_elements(w, global));
    if (!prove_place(&m, &dim, w, &whole, global, local))
        return hpc_fail(HPC_E_STATE, "%%%d: its parts, each %s, do not cover %s once",
                        i->operand[k], hpc_type_text(a, local), hpc_type_text(b, global));
    TRY(prove_hold(w, i->operand[k], &m));
out:
    return rc;
}

/* A value computed for state is added to it. */
static int finish_addition(prover *w, const hpc_insn *i, const map *x)
{
    addition *a = &w->add[x->root - w->g->value_n];
    const hpc_insn *g = &w->g->segment[a->segment].insn[a->insn];
    const hpc_scale_attr *at = i->attr;
    hpc_value state = g->operand[a->operand];
    const hpc_type *t = &w->p->value[i->operand[1]].type;
    map want, whole;
    int dim, rc;
    bool adds = hpc_insn_role(w->g, g, a->operand) & HPC_IN;
    value_text text;
    if (i->op != &hpc_op_scale || i->operand[0] != state || i->operand[2] >= 0 || at->alpha != 1 ||
        adds != !i->tags.anew)
        return hpc_fail(HPC_E_STATE, "%s is to be %s %s, and nothing else",
                        prove_value(text, w, i->operand[1]), adds ? "added to" : "stored in",
                        w->g->value[state].name);
    if (a->done)
        return hpc_fail(HPC_E_STATE, "%s is added to %s a second time",
                        prove_value(text, w, i->operand[1]), w->g->value[state].name);
    const hpc_type *global = &w->g->value[state].type;
    whole = map_whole(x->root, -1, prove_elements(w, global));
    if (!prove_place(&want, &dim, w, &whole, global, t) || !map_equal(&want, x))
        return hpc_fail(HPC_E_STATE, "%s does not hold what its type says",
                        prove_value(text, w, i->operand[1]));
    for (int k = 0; k < HPC_AXIS_N; k++) {
        int8_t is = t->layout[k], of = w->p->value[state].type.layout[k];
        if (prove_extent(w->w, k) == 1 || is == of) continue;
        if (is == HPC_REPLICATED && of == HPC_PARTIAL && adds) continue;
        return hpc_fail(HPC_E_STATE, "%s is %s along %s, which %s is not",
                        prove_value(text, w, i->operand[1]),
                        is == HPC_PARTIAL ? "a partial sum" : "laid out otherwise",
                        hpc_axis_name((hpc_axis)k), w->g->value[state].name);
    }
    TRY(prove_presence(w, state, t->layout));
    a->done = true;
    count_write(w, g, a->operand);
out:
    return rc;
}

bool prove_tiles(const prover *w, const hpc_insn *i)
{
    map held[2] = {0}, want;
    const hpc_insn *near;
    int64_t at;
    int dim;
    if (i->op != &hpc_op_tile || w->held[i->operand[1]].root == HPC_NONE) return false;
    if (prove_read(&held[1], w, i->operand[1]) < 0) return false;
    if (!find_partner(&at, &near, w, i, held)) return false;
    const hpc_insn *g = &w->g->segment[w->segment].insn[at];
    map whole = serial_read(w, g, 1);
    return prove_place(&want, &dim, w, &whole, &w->g->value[g->operand[1]].type,
                       &w->p->value[i->operand[1]].type) &&
           map_equal(&want, &held[1]);
}

int prove_match(prover *w, const hpc_insn *i)
{
    map held[HPC_OPERAND_MAX] = {0};
    int8_t made[HPC_OPERAND_MAX][HPC_AXIS_N];
    const hpc_insn *near;
    int64_t at;
    int rc = HPC_OK, n = i->op->sig.operand_n;
    for (int k = 0; k < n; k++) {
        if (i->operand[k] < 0 || !prove_input(w->p, i, k)) continue;
        TRY(prove_read(&held[k], w, i->operand[k]));
        if (held[k].root >= w->g->value_n) return finish_addition(w, i, &held[k]);
    }
    if (!find_partner(&at, &near, w, i, held)) return no_partner(w, i, near, at, held);
    const hpc_insn *g = &w->g->segment[w->segment].insn[at];
    TRY(check_operands(w, g, i, held));
    TRY(check_attributes(w, g));
    TRY(prove_rule(made, w, g, i));
    w->matched[at] = true;
    while (w->first < w->g->segment[w->segment].insn_n &&
           (w->matched[w->first] || w->g->segment[w->segment].insn[w->first].op->view))
        w->first++;
    for (int k = 0; k < n; k++) {
        if (i->operand[k] < 0 || !(hpc_insn_role(w->p, i, k) & HPC_OUT)) continue;
        if (w->p->value[i->operand[k]].kind == HPC_VALUE_STATE)
            TRY(write_state(w, g, i, k, made[k]));
        else
            TRY(write_temp(w, g, i, k, at, made[k]));
    }
out:
    return rc;
}
