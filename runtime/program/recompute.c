/*
 * recompute.c: hpc_recompute: backward recomputes forward values instead of keeping
 * them.
 *
 * Candidates are chosen once, in forward's order. A value is recomputed just before its
 * first use in backward, after everything that it needs. It adds flops and saves
 * memory; results do not change.
 */
#include <string.h>

#include "runtime/program/priv.h"

typedef struct recomputer {
    hpc_program *p;
    const hpc_recompute_options *o;
    int64_t n;        /* values at the start */
    bool *held;       /* by value with memory: not recomputed */
    bool *written;    /* state, somewhere from forward to backward */
    bool *read_back;  /* by value that has memory: backward reads it */
    bool *again;      /* by value: recomputed where backward needs it */
    double *extra;    /* by value: bytes kept only to have it in backward */
    hpc_value *by;    /* by value: what backward reads instead, once made */
    int32_t *pending; /* instructions of forward, each needed by the one below it */
} recomputer;

/* ---- what stays -------------------------------------------------------------- */

static void hold(recomputer *w, hpc_value v)
{
    v = hpc_value_root(w->p, v);
    if (v >= 0) w->held[v] = true;
}

/* True if `i` may read the temporary v without keeping it for other blocks, because it is in its
 * own. */
static bool is_inner(const recomputer *w, int segment, const hpc_insn *i, hpc_value v)
{
    const hpc_value_info *info = &w->p->value[hpc_value_root(w->p, v)];
    if (info->kind != HPC_VALUE_TEMP || info->segment != w->o->forward) return true;
    int block = w->p->segment[info->segment].insn[info->insn].tags.block;
    return segment == w->o->forward && i->tags.block >= 0 && i->tags.block == block;
}

static void note_reads(recomputer *w, int segment, const hpc_insn *i)
{
    const hpc_program *p = w->p;
    hold(w, i->tags.guard);
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k], root = hpc_value_root(p, v);
        int role = hpc_insn_role(p, i, k);
        if (v < 0) continue;
        if (p->value[v].type.ragged >= 0) hold(w, p->value[v].type.count);
        if (role & HPC_OUT && p->value[v].kind == HPC_VALUE_STATE && segment >= w->o->forward &&
            segment <= w->o->backward)
            w->written[v] = true;
        if (!(role & HPC_IN)) continue;
        if (segment == w->o->backward)
            w->read_back[root] = true;
        else if (!is_inner(w, segment, i, v))
            w->held[root] = true;
    }
}

static void note_all(recomputer *w)
{
    const hpc_program *p = w->p;
    for (int64_t v = 0; v < p->value_n; v++)
        if (p->value[v].kept || (p->value[v].joined && !w->o->repeat_joined)) hold(w, (hpc_value)v);
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++)
            note_reads(w, (int)s, &p->segment[s].insn[k]);
}

/* ---- what may be recomputed ------------------------------------------------------ */

/* Does it convert state to a larger type? Only the state is kept for backward, with any policy. */
static bool expands_state(const hpc_program *p, const hpc_insn *i)
{
    if (i->op != &hpc_op_copy) return false;
    const hpc_value_info *y = &p->value[i->operand[0]], *x = &p->value[i->operand[1]];
    return x->kind == HPC_VALUE_STATE && hpc_type_bytes(&x->type) < hpc_type_bytes(&y->type);
}

static bool is_in_policy(const recomputer *w, const hpc_insn *i)
{
    if (expands_state(w->p, i)) return true;
    if (w->o->policy == HPC_RECOMPUTE_NONE) return false;
    return w->o->blocks == 0 || i->tags.block < w->o->blocks;
}

/* State that anything up to backward writes is not read again: here it may have changed, and by
 * another slot's forward in any case. Who makes a count or a guard is not repeated either, so that
 * types speak of one count only. */
static bool is_repeatable(const recomputer *w, const hpc_insn *i)
{
    const hpc_program *p = w->p;
    bool moves = i->op->comm >= 0 && !(i->op == &hpc_op_exchange && w->o->repeat_joined);
    if (moves || i->tags.guard >= 0 || i->tags.block < 0) return false;
    if (!is_in_policy(w, i)) return false;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value root = hpc_value_root(p, i->operand[k]);
        if (root < 0) continue;
        if (w->written[root]) return false;
        bool made = hpc_insn_role(p, i, k) & HPC_OUT;
        if (made && w->held[root] && p->value[root].type.dtype == HPC_I32) return false;
    }
    return true;
}

static double elements(const hpc_type *t)
{
    double n = 1;
    for (int d = 0; d < t->rank; d++) n *= (double)t->extent[d];
    return n;
}

/* A product does twice its inner extent for each element that it makes, attention about four times
 * the keys; functions and norms do ten. */
static bool is_cheap(const hpc_program *p, const hpc_insn *i)
{
    enum { FEW = 12 };
    double made = 0;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(p, i, k) & HPC_OUT) made += elements(&p->value[i->operand[k]].type);
    return hpc_insn_cost(p, i).flops <= FEW * made;
}

/* What would have to be kept for backward to make it. */
static double inputs_extra(const recomputer *w, const hpc_insn *i)
{
    double sum = 0;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(w->p, i, k) & HPC_IN) sum += w->extra[i->operand[k]];
    return sum;
}

/* A cheap instruction is repeated only where its inputs, which then must be there, take less memory
 * than its output: a rotation that keeps its argument instead of its result saves nothing. */
static bool is_worth_it(const recomputer *w, const hpc_insn *i, hpc_value v)
{
    if (w->o->policy == HPC_RECOMPUTE_BLOCK) return true;
    return is_cheap(w->p, i) && inputs_extra(w, i) < (double)hpc_type_bytes(&w->p->value[v].type);
}

static void decide(recomputer *w, const hpc_insn *i)
{
    const hpc_program *p = w->p;
    bool repeatable = is_repeatable(w, i);
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k], root = hpc_value_root(p, v);
        if (!(hpc_insn_role(p, i, k) & HPC_OUT) || p->value[v].kind != HPC_VALUE_TEMP) continue;
        if (i->op->view) { /* without memory of its own, it goes with its base */
            w->again[v] = repeatable && w->again[i->operand[1]];
            w->extra[v] = w->extra[i->operand[1]];
            continue;
        }
        w->again[v] = repeatable && !w->held[v] && is_worth_it(w, i, v);
        if (p->value[root].kept || w->read_back[root]) continue; /* there, or made, in any case */
        w->extra[v] = w->again[v] ? inputs_extra(w, i) : (double)hpc_type_bytes(&p->value[v].type);
    }
}

static bool has_work(const hpc_program *p, const hpc_recompute_options *o)
{
    const hpc_segment *s = &p->segment[o->forward];
    bool found = o->policy != HPC_RECOMPUTE_NONE;
    for (int64_t k = 0; k < s->insn_n && !found; k++) found = expands_state(p, &s->insn[k]);
    return found;
}

/* ---- rewriting of backward ----------------------------------------------------------- */

static bool is_missing(const recomputer *w, hpc_value v)
{
    return v >= 0 && v < w->n && w->again[v] && w->by[v] < 0;
}

static hpc_value current(const recomputer *w, hpc_value v)
{
    return v >= 0 && v < w->n && w->by[v] >= 0 ? w->by[v] : v;
}

/* The first input of instruction `at` of forward that must be made before it, or HPC_NONE. */
static hpc_value missing_input(const recomputer *w, int32_t at)
{
    const hpc_insn *i = &w->p->segment[w->o->forward].insn[at];
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(w->p, i, k) & HPC_IN && is_missing(w, i->operand[k]))
            return i->operand[k];
    return HPC_NONE;
}

/* It is to be laid out as what it stands for. */
static void lay_out_again(hpc_program *p, hpc_value again, hpc_value v)
{
    if (again >= 0 && v >= 0 && p->value[again].kind == HPC_VALUE_TEMP)
        memcpy(p->value[again].type.layout, p->value[v].type.layout,
               sizeof p->value[v].type.layout);
}

/* State is what forward read: its version too, which emission would take to be the newest. */
static int emit_again(recomputer *w, int32_t at)
{
    hpc_program *p = w->p;
    const hpc_insn *i = &p->segment[w->o->forward].insn[at];
    hpc_segment *s = &p->segment[w->o->backward];
    hpc_value operand[HPC_OPERAND_MAX];
    for (int k = 0; k < i->op->sig.operand_n; k++)
        operand[k] = hpc_insn_role(p, i, k) & HPC_OUT ? HPC_NEW : current(w, i->operand[k]);
    p->tags = i->tags;
    p->tags.phase = HPC_BACKWARD;
    p->tags.origin = at;
    p->tags.again = true;
    hpc_emit(p, i->op, operand, i->attr);
    int rc = hpc_program_status(p);
    if (rc < 0) return rc;
    hpc_assert(s->insn_n > 0 && s->insn);
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        s->insn[s->insn_n - 1].version[k] = i->version[k];
        if (hpc_insn_role(p, i, k) & HPC_OUT) lay_out_again(p, operand[k], i->operand[k]);
        if (i->operand[k] >= 0 && w->again[i->operand[k]]) w->by[i->operand[k]] = operand[k];
    }
    return HPC_OK;
}

static int make_again(recomputer *w, hpc_value v)
{
    int64_t n = 0;
    int rc = HPC_OK;
    if (!is_missing(w, v)) return HPC_OK;
    w->pending[n++] = w->p->value[v].insn;
    while (n > 0) {
        hpc_value input = missing_input(w, w->pending[n - 1]);
        if (input >= 0)
            w->pending[n++] = w->p->value[input].insn;
        else
            TRY(emit_again(w, w->pending[--n]));
    }
out:
    return rc;
}

static int append(recomputer *w, hpc_insn i)
{
    hpc_program *p = w->p;
    hpc_segment *s = &p->segment[w->o->backward];
    int rc = HPC_OK;
    for (int k = 0; k < i.op->sig.operand_n; k++) {
        if (!(hpc_insn_role(p, &i, k) & HPC_IN)) continue;
        TRY(make_again(w, i.operand[k]));
        i.operand[k] = current(w, i.operand[k]);
    }
    TRY(hpc_grow(&s->insn, &s->insn_cap, s->insn_n + 1, sizeof *s->insn));
    for (int k = 0; k < i.op->sig.operand_n; k++)
        if (hpc_insn_role(p, &i, k) & HPC_OUT) p->value[i.operand[k]].insn = (int32_t)s->insn_n;
    if (i.op->view) p->value[i.operand[0]].base = hpc_value_root(p, i.operand[1]);
    s->insn[s->insn_n++] = i;
out:
    return rc;
}

static int rewrite(recomputer *w)
{
    hpc_segment *s = &w->p->segment[w->o->backward];
    hpc_insn *old = s->insn;
    int64_t n = s->insn_n;
    int rc = HPC_OK;
    s->insn = NULL;
    s->insn_n = s->insn_cap = 0;
    w->p->current = w->o->backward;
    for (int64_t k = 0; k < n && rc >= 0; k++) rc = append(w, old[k]);
    hpc_free(old);
    return rc;
}

/* ---- the pass ---------------------------------------------------------------------------- */

static int check_options(const hpc_program *p, const hpc_recompute_options *o)
{
    if (o->policy < HPC_RECOMPUTE_NONE || o->policy > HPC_RECOMPUTE_BLOCK)
        return hpc_fail(HPC_E_ARG, "recompute: there is no policy %d", o->policy);
    if (o->blocks < 0)
        return hpc_fail(HPC_E_ARG, "recompute: blocks is %d; 0 means all", o->blocks);
    if (o->forward < 0 || o->forward >= o->backward || o->backward >= p->segment_n)
        return hpc_fail(HPC_E_ARG, "recompute: segments %d, %d: there are %lld, forward is first",
                        o->forward, o->backward, (long long)p->segment_n);
    return hpc_program_check(p);
}

static int reserve(recomputer *w)
{
    size_t n = (size_t)w->n + 1;
    w->held = hpc_alloc(n, sizeof *w->held);
    w->written = hpc_alloc(n, sizeof *w->written);
    w->read_back = hpc_alloc(n, sizeof *w->read_back);
    w->again = hpc_alloc(n, sizeof *w->again);
    w->extra = hpc_alloc(n, sizeof *w->extra);
    w->by = hpc_alloc(n, sizeof *w->by);
    w->pending = hpc_alloc((size_t)w->p->segment[w->o->forward].insn_n + 1, sizeof *w->pending);
    if (!w->held || !w->written || !w->read_back || !w->again || !w->extra || !w->by || !w->pending)
        return HPC_E_NOMEM;
    for (int64_t v = 0; v < w->n; v++) w->by[v] = HPC_NONE;
    return HPC_OK;
}

int hpc_recompute(hpc_program *p, const hpc_recompute_options *o)
{
    recomputer w = {.p = p, .o = o, .n = p->value_n};
    int current_segment = p->current, rc = HPC_OK;
    hpc_tags tags = p->tags;
    TRY(check_options(p, o));
    if (!has_work(p, o)) return HPC_OK;
    TRY(reserve(&w));
    note_all(&w);
    for (int64_t k = 0; k < p->segment[o->forward].insn_n; k++)
        decide(&w, &p->segment[o->forward].insn[k]);
    rc = rewrite(&w);
    if (rc < 0 && p->error.code == HPC_OK) p->error = *hpc_error_get(); /* backward is torn */
    TRY(rc);
    rc = hpc_program_check(p);
out:
    p->current = current_segment;
    p->tags = tags;
    hpc_free(w.held);
    hpc_free(w.written);
    hpc_free(w.read_back);
    hpc_free(w.again);
    hpc_free(w.extra);
    hpc_free(w.by);
    hpc_free(w.pending);
    return rc;
}
