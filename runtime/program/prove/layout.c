/*
 * layout.c: walks the programs of all ranks and the serial program in step, tracks what
 * each value holds, and checks that no serial instruction is left out.
 *
 * Meaning of an instruction for layouts: match.c, rule.c; instructions that only move
 * elements: move.c.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "runtime/program/prove/priv.h"

/* ---- names ------------------------------------------------------------------------------ */

static void name_of(char out[64], const hpc_program *p, hpc_value v)
{
    if (p->value[v].name)
        snprintf(out, 64, "%s", p->value[v].name);
    else
        snprintf(out, 64, "%%%d", v);
}

const char *prove_value(value_text out, const prover *w, hpc_value v)
{
    char name[64], root[64];
    name_of(name, w->p, v);
    hpc_value r = w->held[v].root;
    if (r >= w->g->value_n && w->add) { /* an addition to state has the state's name */
        const addition *a = &w->add[r - w->g->value_n];
        r = w->g->segment[a->segment].insn[a->insn].operand[a->operand];
    }
    if (r >= 0 && r != v) name_of(root, w->g, r);
    if (r >= 0 && r != v)
        snprintf(out, sizeof(value_text), "%s (of %s)", name, root);
    else
        snprintf(out, sizeof(value_text), "%s", name);
    return out;
}

/* ---- what values hold --------------------------------------------------------------------- */

/* Made in a segment that need not have been run by now. */
static bool may_lack_it(const prover *w, hpc_value v)
{
    int s = w->made_in[v];
    return w->p->value[v].kind == HPC_VALUE_TEMP && s != w->segment && s < 64 &&
           w->w->optional >> s & 1;
}

int prove_read(map *out, const prover *w, hpc_value v)
{
    value_text text;
    hpc_value s = hpc_value_root(w->p, v);
    *out = w->held[v];
    if (out->root != HPC_NONE && may_lack_it(w, v))
        return hpc_fail(HPC_E_STATE, "%s is made in %s, which need not have been run",
                        prove_value(text, w, v), w->p->segment[w->made_in[v]].name);
    if (out->root == HPC_NONE)
        return hpc_fail(HPC_E_STATE, "%%%d is used before anything is known of it", v);
    if (w->p->value[s].kind != HPC_VALUE_STATE) return HPC_OK;
    if (w->copy_of[s] != HPC_NONE) {
        out->version = w->content[s];
        return HPC_OK;
    }
    if (w->written[s] != w->newest[s])
        return hpc_fail(HPC_E_STATE, "%s is read when one of the writes before it is missing",
                        prove_value(text, w, v));
    out->version = w->newest[s];
    return HPC_OK;
}

int prove_hold(prover *w, hpc_value v, const map *m)
{
    value_text text;
    int64_t n = 1;
    const hpc_type *t = &w->p->value[v].type;
    for (int d = 0; d < t->rank; d++) n *= t->extent[d];
    if (map_elements(m) != n)
        return hpc_fail(HPC_E_STATE, "%s has %lld elements, of which %lld are given",
                        prove_value(text, w, v), (long long)n, (long long)map_elements(m));
    w->under[v] = w->p->segment[w->segment].insn[w->insn].tags.guard;
    if (w->p->value[v].kind == HPC_VALUE_TEMP) {
        w->held[v] = *m;
        w->made_in[v] = w->segment;
        return HPC_OK;
    }
    map want = w->held[v];
    want.version = m->version;
    if (w->copy_of[v] == HPC_NONE || !map_equal(&want, m))
        return hpc_fail(HPC_E_STATE, "%s is kept for all of %s, and is given something else",
                        prove_value(text, w, v),
                        w->copy_of[v] == HPC_NONE ? "itself" : w->g->value[w->copy_of[v]].name);
    w->content[v] = m->version;
    return HPC_OK;
}

/* ---- the beginning ------------------------------------------------------------------------ */

static int check_given(const prover *w, hpc_value v)
{
    const hpc_value_info *g = &w->g->value[v], *p = &w->p->value[v];
    char a[128], b[128];
    if (g->kind != p->kind || g->type.dtype != p->type.dtype)
        return hpc_fail(HPC_E_STATE, "%s is %s on one rank and %s on many", g->name,
                        hpc_type_text(a, &g->type), hpc_type_text(b, &p->type));
    for (int x = 0; x < HPC_AXIS_N; x++) {
        bool input = g->kind == HPC_VALUE_INPUT;
        if (input && prove_extent(w->w, x) > 1 && p->type.layout[x] != g->type.layout[x])
            return hpc_fail(HPC_E_STATE, "%s is fed as %s, and used as %s", g->name,
                            hpc_type_text(a, &g->type), hpc_type_text(b, &p->type));
    }
    return HPC_OK;
}

static int begin_value(prover *w, hpc_value v, hpc_value of)
{
    char a[128], b[128];
    int dim;
    const hpc_type *local = &w->p->value[v].type, *global = &w->g->value[of].type;
    if (prove_place(&w->held[v], &dim, w, &w->serial[of], global, local)) return HPC_OK;
    return hpc_fail(HPC_E_STATE, "%s: its parts, each %s, do not cover %s once along dimension %d",
                    w->p->value[v].name, hpc_type_text(a, local), hpc_type_text(b, global), dim);
}

static int begin_serial(prover *w)
{
    const hpc_program *g = w->g;
    for (hpc_value v = 0; v < g->value_n; v++)
        w->serial[v] = map_whole(v, g->value[v].kind == HPC_VALUE_STATE ? 0 : -1,
                                 prove_elements(w, &g->value[v].type));
    for (int64_t s = 0; s < g->segment_n; s++)
        for (int64_t k = 0; k < g->segment[s].insn_n; k++) {
            const hpc_insn *i = &g->segment[s].insn[k];
            if (!i->op->view && (i->op->comm < 0 || i->op->exchange)) continue;
            if (g->value[i->operand[1]].type.picked)
                return hpc_fail(HPC_E_UNSUPPORTED, "a view of picked elements has no rule");
            map x = w->serial[i->operand[1]];
            if (g->value[hpc_value_root(g, i->operand[1])].kind == HPC_VALUE_STATE)
                x.version = i->version[1];
            int rc = prove_move_serial(&w->serial[i->operand[0]], g, i, &x);
            if (rc < 0) return rc;
        }
    return HPC_OK;
}

static int begin(prover *w)
{
    const hpc_program *g = w->g, *p = w->p;
    int rc;
    TRY(begin_serial(w));
    for (hpc_value v = 0; v < p->value_n; v++) {
        w->held[v].root = HPC_NONE;
        w->under[v] = w->copy_of[v] = HPC_NONE;
    }
    for (hpc_value v = 0; v < g->value_n; v++)
        if (p->value[v].whole != HPC_NONE) w->copy_of[p->value[v].whole] = v;
    for (hpc_value v = 0; v < p->value_n; v++) {
        bool given = v < g->value_n && g->value[v].kind != HPC_VALUE_TEMP;
        if (given) TRY(check_given(w, v));
        if (given || w->copy_of[v] != HPC_NONE) TRY(begin_value(w, v, given ? v : w->copy_of[v]));
    }
out:
    return rc;
}

/* ---- ranks side by side -------------------------------------------------------------------- */

static bool same_insn(const hpc_insn *a, const hpc_insn *b)
{
    if (a->op != b->op || a->tags.guard != b->tags.guard || a->tags.anew != b->tags.anew)
        return false;
    for (int k = 0; k < a->op->sig.operand_n; k++)
        if (a->operand[k] != b->operand[k]) return false;
    if (a->op->comm < 0) return true;
    const hpc_comm_attr *x = a->attr, *y = b->attr;
    return x->axes == y->axes && x->ranks == y->ranks && x->reduce == y->reduce;
}

/* What only adds to state may be another rank's affair. */
static bool may_lack(const prover *w, const hpc_insn *i)
{
    bool only = i->op->comm < 0;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(w->p, i, k) & HPC_OUT)
            only = only && w->p->value[i->operand[k]].kind == HPC_VALUE_STATE &&
                   hpc_insn_role(w->p, i, k) & HPC_IN;
    return only;
}

static int align(prover *w, const hpc_insn *i)
{
    char where[96];
    for (int r = 0; r < w->w->n; r++) {
        const hpc_program *p = w->w->program[r];
        const hpc_segment *s = &p->segment[w->segment];
        w->stands[r] = w->at[r] < s->insn_n && same_insn(i, &s->insn[w->at[r]]);
        w->here[r] = w->stands[r] && !s->insn[w->at[r]].tags.idle;
        if (w->here[r] || may_lack(w, i)) continue;
        if (w->stands[r]) return hpc_fail(HPC_E_STATE, "rank %d leaves it out", w->w->rank[r]);
        bool any = w->at[r] < s->insn_n;
        return hpc_fail(HPC_E_STATE, "rank %d runs %s%s instead", w->w->rank[r],
                        any ? hpc_insn_where(where, p, w->segment, w->at[r]) : "nothing",
                        any ? "" : " more");
    }
    return HPC_OK;
}

static int check_types(const prover *w)
{
    char a[128], b[128];
    value_text text;
    for (int r = 1; r < w->w->n; r++) {
        const hpc_program *p = w->w->program[r];
        if (p->value_n != w->p->value_n || p->segment_n != w->p->segment_n)
            return hpc_fail(HPC_E_STATE,
                            "rank %d has %lld values in %lld segments, rank 0 has "
                            "%lld in %lld",
                            w->w->rank[r], (long long)p->value_n, (long long)p->segment_n,
                            (long long)w->p->value_n, (long long)w->p->segment_n);
        for (hpc_value v = 0; v < p->value_n; v++) {
            const hpc_type *x = &w->p->value[v].type, *y = &p->value[v].type;
            if (x->dtype == y->dtype && x->rank == y->rank &&
                memcmp(x->extent, y->extent, sizeof x->extent[0] * (size_t)x->rank) == 0 &&
                memcmp(x->layout, y->layout, sizeof x->layout) == 0)
                continue;
            return hpc_fail(HPC_E_STATE, "%s is %s on rank %d, and %s on rank 0",
                            prove_value(text, w, v), hpc_type_text(b, y), w->w->rank[r],
                            hpc_type_text(a, x));
        }
    }
    return HPC_OK;
}

/* ---- instructions -------------------------------------------------------------------------- */

static int check_guard(const prover *w, const hpc_insn *i)
{
    value_text text;
    map m;
    if (i->tags.guard == HPC_NONE) return HPC_OK;
    int rc = prove_read(&m, w, i->tags.guard);
    if (rc < 0) return rc;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (m.partial[a] || m.by[a] != 0)
            return hpc_fail(HPC_E_STATE, "its guard %s is not the same along %s",
                            prove_value(text, w, i->tags.guard), hpc_axis_name((hpc_axis)a));
    return HPC_OK;
}

/* A value moved under a guard exists under that guard only. */
static int check_under(const prover *w, const hpc_insn *i)
{
    value_text text;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v < 0 || !(hpc_insn_role(w->p, i, k) & HPC_IN) || w->under[v] == HPC_NONE) continue;
        if (w->p->value[v].kind == HPC_VALUE_TEMP && v >= w->g->value_n &&
            w->under[v] != i->tags.guard)
            return hpc_fail(HPC_E_STATE, "operand %s, %s, is there under a guard alone",
                            i->op->sig.operand[k].name, prove_value(text, w, v));
    }
    return HPC_OK;
}

static int prove_insn(prover *w)
{
    const hpc_insn *i = &w->p->segment[w->segment].insn[w->insn];
    int rc;
    TRY(align(w, i));
    TRY(check_guard(w, i));
    TRY(check_under(w, i));
    bool bundles = prove_bundles(w, i);
    bool joins = prove_joins(i);
    bool moves = bundles || joins || (prove_moves(i) && !prove_tiles(w, i));
    TRY(bundles ? prove_bundle(w, i)
        : joins ? prove_join(w, i)
        : moves ? prove_move(w, i)
                : prove_match(w, i));
    for (int r = 0; r < w->w->n; r++) w->at[r] += w->stands[r];
    w->out->moves += moves;
    w->out->collectives += i->op->comm >= 0;
out:
    return rc;
}

static int check_complete(const prover *w)
{
    const hpc_segment *s = &w->g->segment[w->segment];
    char where[96], name[64];
    for (int64_t k = 0; k < s->insn_n; k++) {
        const hpc_insn *i = &s->insn[k];
        if (w->matched[k] || i->op->view) continue;
        int y = 0;
        while (y < i->op->sig.operand_n && !(hpc_insn_role(w->g, i, y) & HPC_OUT)) y++;
        if (y < i->op->sig.operand_n) name_of(name, w->g, i->operand[y]);
        return hpc_fail(HPC_E_STATE, "no rank does what one rank does in %s for %s",
                        hpc_insn_where(where, w->g, w->segment, k), name);
    }
    for (int64_t k = 0; k < w->add_n; k++) {
        const addition *a = &w->add[k];
        const hpc_insn *i = &w->g->segment[a->segment].insn[a->insn];
        if (a->done) continue;
        return hpc_fail(HPC_E_STATE, "what %s makes is never added to %s",
                        hpc_insn_where(where, w->g, a->segment, a->insn),
                        w->g->value[i->operand[a->operand]].name);
    }
    for (int r = 0; r < w->w->n; r++)
        if (w->at[r] < w->w->program[r]->segment[w->segment].insn_n)
            return hpc_fail(HPC_E_STATE, "rank %d runs %s, which rank 0 does not", w->w->rank[r],
                            hpc_insn_where(where, w->w->program[r], w->segment, w->at[r]));
    return HPC_OK;
}

static int prove_segment(prover *w, int s)
{
    const hpc_segment *l = &w->p->segment[s];
    int64_t n = s < w->g->segment_n ? w->g->segment[s].insn_n : 0;
    int rc = HPC_OK;
    char where[96];
    w->segment = s;
    w->first = 0;
    hpc_free(w->matched);
    w->matched = hpc_alloc((size_t)n + 1, sizeof *w->matched);
    if (!w->matched) return HPC_E_NOMEM;
    for (int r = 0; r < w->w->n; r++) w->at[r] = 0;
    for (w->insn = 0; w->insn < l->insn_n; w->insn++)
        if (prove_insn(w) < 0)
            return hpc_error_where("%s", hpc_insn_where(where, w->p, s, w->insn));
    if (s < w->g->segment_n) TRY(check_complete(w));
    for (int64_t k = 0; k < n; k++) w->out->instructions += w->matched[k];
out:
    return rc < 0 ? hpc_error_where("%s", l->name) : rc;
}

/* ---- the end ------------------------------------------------------------------------------- */

static int check_end(const prover *w)
{
    value_text text;
    for (hpc_value v = 0; v < w->p->value_n; v++) {
        hpc_value of = w->copy_of[v];
        if (of != HPC_NONE && w->content[v] != w->newest[of])
            return hpc_fail(HPC_E_STATE,
                            "%s is written, and what is kept whole of it is not "
                            "gathered again",
                            w->p->value[of].name);
        for (int a = 0; a < HPC_AXIS_N && w->p->value[v].kept; a++)
            if (w->held[v].partial[a])
                return hpc_fail(HPC_E_STATE, "%s is read by the host, and a partial sum along %s",
                                prove_value(text, w, v), hpc_axis_name((hpc_axis)a));
    }
    return HPC_OK;
}

static int allocate(prover *w)
{
    size_t g = (size_t)w->g->value_n + 1, p = (size_t)w->p->value_n + 1, n = (size_t)w->w->n;
    w->serial = hpc_alloc(g, sizeof *w->serial);
    w->held = hpc_alloc(p, sizeof *w->held);
    w->under = hpc_alloc(p, sizeof *w->under);
    w->made_in = hpc_alloc(p, sizeof *w->made_in);
    w->written = hpc_alloc(p, sizeof *w->written);
    w->newest = hpc_alloc(p, sizeof *w->newest);
    w->content = hpc_alloc(p, sizeof *w->content);
    w->copy_of = hpc_alloc(p, sizeof *w->copy_of);
    w->here = hpc_alloc(n, sizeof *w->here);
    w->stands = hpc_alloc(n, sizeof *w->stands);
    w->bundle_of = hpc_alloc(p, sizeof *w->bundle_of);
    w->at = hpc_alloc(n, sizeof *w->at);
    return w->serial && w->held && w->under && w->made_in && w->written && w->newest &&
                   w->content && w->copy_of && w->here && w->stands && w->bundle_of && w->at
               ? HPC_OK
               : HPC_E_NOMEM;
}

static void release(prover *w)
{
    hpc_free(w->serial);
    hpc_free(w->held);
    hpc_free(w->under);
    hpc_free(w->made_in);
    hpc_free(w->written);
    hpc_free(w->newest);
    hpc_free(w->content);
    hpc_free(w->copy_of);
    hpc_free(w->here);
    hpc_free(w->stands);
    hpc_free(w->bundle_of);
    hpc_free(w->bundle);
    hpc_free(w->at);
    hpc_free(w->matched);
    hpc_free(w->add);
}

int hpc_prove_layouts(hpc_proof *out, const hpc_prove *v)
{
    prover w = {.w = v, .g = v->serial, .p = v->program[0], .out = out};
    int rc;
    *out = (hpc_proof){0};
    TRY(allocate(&w));
    TRY(begin(&w));
    TRY(check_types(&w));
    TRY(hpc_prove_exchanges(out, v->serial));
    for (int s = 0; s < w.p->segment_n; s++) TRY(prove_segment(&w, s));
    TRY(check_end(&w));
out:
    release(&w);
    return rc;
}
