/*
 * differentiate.c: reverse-mode differentiation: emits the backward segment of a forward segment
 * from the op table's backward rules. Gradients of trainable state are added to accumulators, which
 * are also state. It neither shards nor saves values: a forward value that backward reads stays
 * alive longer.
 */
#include "runtime/program/priv.h"

struct hpc_diff {
    hpc_program *p;
    const hpc_diff_options *o;
    int64_t n;       /* values at the start: those that may have gradients */
    hpc_value *grad; /* by value: the sum so far */
    bool *wants;     /* by value */
    int32_t *due;    /* with fold, by trainable state: gradients that are still to come */
};

hpc_program *hpc_diff_program(hpc_diff *d)
{
    return d->p;
}

hpc_value hpc_diff_of(hpc_diff *d, hpc_value v)
{
    return v >= 0 && v < d->n ? d->grad[v] : HPC_NONE;
}

bool hpc_diff_wants(hpc_diff *d, hpc_value v)
{
    return v >= 0 && v < d->n && d->wants[v];
}

static bool accumulates(const hpc_diff *d, hpc_value v)
{
    return d->p->value[v].trainable && d->o->accumulate < 0;
}

hpc_value hpc_accumulator(hpc_program *p, hpc_value state)
{
    if (p->value[state].grad >= 0) return p->value[state].grad;
    bool wide = p->value[state].type.dtype == HPC_F64;
    hpc_value index = p->value[state].index;
    hpc_type t = p->value[index >= 0 ? index : state].type;
    t.dtype = wide ? HPC_F64 : HPC_F32;
    t.pack = HPC_PLAIN;
    const char *name = hpc_arena_text(p->arena, "grad.%s", p->value[state].name);
    if (!name) return HPC_NONE;
    hpc_value g = hpc_program_state(p, name, t, false);
    if (g >= 0) p->value[state].grad = g;
    return g;
}

/* With fold: do the gradients of v need no accumulator? */
static bool folds_at_once(const hpc_diff *d, hpc_value v)
{
    return d->o->fold && d->p->value[v].grad < 0;
}

hpc_value hpc_diff_target(hpc_diff *d, hpc_value v)
{
    if (!hpc_diff_wants(d, v)) return HPC_NONE;
    if (accumulates(d, v) && folds_at_once(d, v)) return HPC_NEW_WIDE;
    return accumulates(d, v) && d->p->value[v].index < 0 ? hpc_accumulator(d->p, v) : HPC_NEW;
}

static void fold(hpc_diff *d, hpc_value v, hpc_value g)
{
    hpc_program *p = d->p;
    hpc_value sum = p->value[v].grad;
    const hpc_tags tags = p->tags;
    p->tags.origin = -1;
    p->tags.phase = HPC_ACCUMULATE;
    if (d->o->fold(p, v, g, d->o->user) < 0 && p->error.code == HPC_OK) p->error = *hpc_error_get();
    if (sum >= 0) hpc_fill(p, sum, 0);
    p->tags = tags;
}

/* Counts a gradient of v that was added; the last one completes the sum. */
static void count_gradient(hpc_diff *d, hpc_value v)
{
    if (d->o->fold && --d->due[v] == 0) fold(d, v, d->p->value[v].grad);
}

void hpc_diff_add(hpc_diff *d, hpc_value v, hpc_value g)
{
    if (g < 0 || !hpc_diff_wants(d, v)) return;
    if (accumulates(d, v) && folds_at_once(d, v)) {
        d->grad[v] = d->grad[v] < 0 ? g : hpc_binary(d->p, HPC_ADD, d->grad[v], g);
        if (--d->due[v] == 0) fold(d, v, d->grad[v]);
    } else if (accumulates(d, v)) {
        hpc_value into = hpc_accumulator(d->p, v), index = d->p->value[v].index;
        if (index >= 0)
            hpc_pick(d->p, into, g, index, v);
        else if (g != into)
            hpc_scale(d->p, into, g, HPC_NONE, 1.0);
        count_gradient(d, v);
    } else if (d->grad[v] == HPC_NONE) {
        d->grad[v] = g;
    } else {
        d->grad[v] = hpc_binary(d->p, HPC_ADD, d->grad[v], g);
    }
}

/* A gradient leaves through what was received, and comes back for what was sent. */
static bool insn_wants(const hpc_diff *d, const hpc_insn *i)
{
    if (!i->op->backward) return false;
    if (i->op->comm == HPC_RECV) return hpc_type_real(&d->p->value[i->operand[0]].type);
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v >= 0 && hpc_insn_role(d->p, i, k) & HPC_IN && d->wants[v]) return true;
    }
    return false;
}

static bool insn_has_gradient(const hpc_diff *d, const hpc_insn *i)
{
    if (i->op->comm == HPC_SEND) return true;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k];
        if (v >= 0 && v < d->n && hpc_insn_role(d->p, i, k) & HPC_OUT && d->grad[v] >= 0)
            return true;
    }
    return false;
}

/* From parameters and wanted values towards the loss. */
static int find_wanted(hpc_diff *d)
{
    hpc_program *p = d->p;
    const hpc_segment *s = &p->segment[d->o->forward];
    for (int64_t v = 0; v < d->n; v++) d->wants[v] = p->value[v].trainable;
    for (int64_t k = 0; k < d->o->want_n; k++) d->wants[d->o->want[k]] = true;
    for (int64_t k = 0; k < s->insn_n; k++) {
        const hpc_insn *i = &s->insn[k];
        if (!insn_wants(d, i)) continue;
        for (int a = 0; a < i->op->sig.operand_n; a++) {
            hpc_value v = i->operand[a];
            if (v < 0 || !(hpc_insn_role(p, i, a) & HPC_OUT)) continue;
            if (p->value[v].kind == HPC_VALUE_STATE) {
                char where[96];
                return hpc_fail(HPC_E_ARG, "%s: writes state %s that a gradient would flow through",
                                hpc_insn_where(where, p, d->o->forward, k), p->value[v].name);
            }
            if (hpc_type_real(&p->value[v].type)) d->wants[v] = true;
        }
    }
    return HPC_OK;
}

/* Trainable state that several instructions read has an accumulator, unless `send` is set. */
static int count_due(hpc_diff *d)
{
    hpc_program *p = d->p;
    const hpc_segment *s = &p->segment[d->o->forward];
    if (!d->o->fold) return HPC_OK;
    d->due = hpc_alloc((size_t)d->n + 1, sizeof *d->due);
    if (!d->due) return HPC_E_NOMEM;
    for (int64_t k = 0; k < s->insn_n; k++)
        for (int a = 0; a < s->insn[k].op->sig.operand_n; a++) {
            hpc_value v = s->insn[k].operand[a];
            if (hpc_diff_wants(d, v) && p->value[v].trainable) d->due[v]++;
        }
    for (int64_t k = 0; k < d->o->seed_n; k++)
        if (p->value[d->o->seed_of[k]].trainable && d->o->seed[k] >= 0) d->due[d->o->seed_of[k]]++;
    for (hpc_value v = 0; v < d->n; v++)
        if (d->due[v] > 1 && !d->o->send && hpc_accumulator(p, v) < 0) return hpc_program_status(p);
    return HPC_OK;
}

/* Sums that lack a gradient which no path of the loss gives. */
static void fold_rest(hpc_diff *d)
{
    for (hpc_value v = 0; d->o->fold && v < d->n; v++) {
        hpc_value sum = d->p->value[v].grad >= 0 ? d->p->value[v].grad : d->grad[v];
        if (!d->p->value[v].trainable || sum < 0 || d->due[v] <= 0) continue;
        d->p->tags.block = -1;
        fold(d, v, sum);
    }
}

/* What backward reads of state must still be what `i` read. */
static int check_versions(const hpc_diff *d, const hpc_insn *i, const hpc_insn *back)
{
    const hpc_program *p = d->p;
    for (int b = 0; b < back->op->sig.operand_n; b++)
        for (int a = 0; a < i->op->sig.operand_n; a++) {
            hpc_value root = hpc_value_root(p, back->operand[b]);
            if (root < 0 || root != hpc_value_root(p, i->operand[a])) continue;
            if (p->value[root].kind == HPC_VALUE_STATE && back->version[b] != i->version[a])
                return hpc_fail(HPC_E_UNSUPPORTED,
                                "its gradient needs %s as it was; copy it before it is written",
                                p->value[root].name);
        }
    return HPC_OK;
}

static int run_rule(hpc_diff *d, const hpc_insn *i)
{
    hpc_program *p = d->p;
    int64_t first = p->segment[d->o->backward].insn_n;
    int rc = HPC_OK;
    /* Where it is skipped its gradients would be undefined, and so would sums that have them. */
    if (i->tags.guard >= 0) return hpc_fail(HPC_E_UNSUPPORTED, "no gradient passes a guard");
    TRY(i->op->backward(d, i));
    TRY(hpc_program_status(p));
    for (int64_t k = first; k < p->segment[d->o->backward].insn_n; k++)
        TRY(check_versions(d, i, &p->segment[d->o->backward].insn[k]));
out:
    return rc;
}

/* The gradient of what is to have a layout is to have it too: partial sums, which several
 * instructions might read, go straight to it. */
static void wish_alike(hpc_diff *d, const hpc_insn *i)
{
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = i->operand[k], g = hpc_diff_of(d, v);
        if (g < 0 || !(hpc_insn_role(d->p, i, k) & HPC_OUT)) continue;
        const int8_t *wish = d->p->value[v].type.layout;
        int8_t *to = d->p->value[g].type.layout;
        for (int a = 0; a < HPC_AXIS_N && d->p->value[g].kind == HPC_VALUE_TEMP; a++)
            if (to[a] == HPC_REPLICATED) to[a] = wish[a];
    }
}

static int run_rules(hpc_diff *d)
{
    hpc_program *p = d->p;
    for (int64_t k = p->segment[d->o->forward].insn_n - 1; k >= 0; k--) {
        hpc_insn i = p->segment[d->o->forward].insn[k]; /* a copy: emission may move the list */
        if (!insn_wants(d, &i) || !insn_has_gradient(d, &i)) continue;
        wish_alike(d, &i);
        p->tags = i.tags;
        p->tags.phase = HPC_BACKWARD;
        p->tags.origin = (int32_t)k;
        int rc = run_rule(d, &i);
        if (rc < 0) {
            char where[96];
            return hpc_error_where("gradient of %s", hpc_insn_where(where, p, d->o->forward, k));
        }
    }
    return HPC_OK;
}

static const hpc_tags plain_tags = {
    .block = -1, .microbatch = -1, .group = -1, .origin = -1, .guard = HPC_NONE};

/* Given gradients come first; of state, and of one value given twice, they are sums as all are. */
static void add_seeds(hpc_diff *d)
{
    d->p->tags = plain_tags;
    d->p->tags.phase = HPC_BACKWARD;
    for (int64_t k = 0; k < d->o->seed_n; k++) hpc_diff_add(d, d->o->seed_of[k], d->o->seed[k]);
}

enum {
    OTHER,
    UNTOUCHED,
    ADDED_TO
}; /* kind of a value; accumulators before and after the first adder */

static bool adds_to_sum(const hpc_insn *i, int k, const uint8_t *sum)
{
    hpc_value v = i->operand[k];
    return v >= 0 && (i->op->sig.operand[k].flags & HPC_ACC) == HPC_ACC && sum[v] != OTHER;
}

/* An instruction that is the first for all that it adds to stores it instead. (One that is not, for
 * one of several: they have to be cleared, as others do.) */
static void begin_anew(hpc_diff *d, uint8_t *sum)
{
    hpc_program *p = d->p;
    for (int64_t n = 0; n < p->segment[d->o->backward].insn_n; n++) {
        hpc_insn *i = &p->segment[d->o->backward].insn[n];
        bool first = i->tags.guard < 0;
        for (int k = 0; k < i->op->sig.operand_n; k++)
            if (adds_to_sum(i, k, sum)) first = first && sum[i->operand[k]] == UNTOUCHED;
        for (int k = 0; k < i->op->sig.operand_n; k++) {
            if (!adds_to_sum(i, k, sum)) continue;
            sum[i->operand[k]] = ADDED_TO;
            if (first) p->value[i->operand[k]].anew = i->tags.anew = true;
        }
    }
}

static int begin_all_anew(hpc_diff *d)
{
    if (!d->o->anew || d->o->accumulate >= 0) return HPC_OK;
    uint8_t *sum = hpc_alloc((size_t)d->p->value_n + 1, sizeof *sum);
    if (!sum) return HPC_E_NOMEM;
    for (int64_t v = 0; v < d->n; v++)
        if (d->p->value[v].trainable && d->p->value[v].grad >= 0)
            sum[d->p->value[v].grad] = UNTOUCHED;
    begin_anew(d, sum);
    hpc_free(sum);
    return HPC_OK;
}

/* Deferred sums: a slot's own gradients are added in a segment that a schedule puts in order. */
static int add_deferred(hpc_diff *d)
{
    hpc_program *p = d->p;
    if (d->o->accumulate < 0) return HPC_OK;
    p->current = d->o->accumulate;
    for (int64_t v = 0; v < d->n; v++) {
        if (!p->value[v].trainable || d->grad[v] < 0) continue;
        p->tags = plain_tags;
        p->tags.phase = HPC_ACCUMULATE;
        hpc_scale(p, hpc_accumulator(p, (hpc_value)v), d->grad[v], HPC_NONE, 1.0);
    }
    return hpc_program_status(p);
}

static int check_values(const hpc_program *p, const hpc_value *v, int64_t n, const char *what)
{
    for (int64_t k = 0; k < n; k++)
        if (v[k] < 0 || v[k] >= p->value_n)
            return hpc_fail(HPC_E_ARG, "differentiate: %s %lld is no value", what, (long long)k);
    return HPC_OK;
}

static int check_options(const hpc_program *p, const hpc_diff_options *o)
{
    int rc = HPC_OK;
    if (o->forward < 0 || o->forward >= p->segment_n || o->backward < 0 ||
        o->backward >= p->segment_n || o->accumulate >= p->segment_n)
        return hpc_fail(HPC_E_ARG, "differentiate: segments %d, %d or %d do not exist", o->forward,
                        o->backward, o->accumulate);
    TRY(check_values(p, o->seed_of, o->seed_n, "seed_of"));
    TRY(check_values(p, o->seed, o->seed_n, "seed"));
    TRY(check_values(p, o->want, o->want_n, "want"));
    for (int64_t k = 0; k < o->seed_n; k++) {
        const hpc_type *a = &p->value[o->seed_of[k]].type, *b = &p->value[o->seed[k]].type;
        char ta[128], tb[128];
        if (!hpc_type_same_shape(a, b))
            return hpc_fail(HPC_E_SHAPE, "differentiate: %%%d is %s, its gradient %%%d is %s",
                            o->seed_of[k], hpc_type_text(ta, a), o->seed[k], hpc_type_text(tb, b));
    }
out:
    return rc;
}

int hpc_differentiate(hpc_program *p, const hpc_diff_options *o)
{
    int rc = hpc_program_status(p);
    if (rc < 0) return rc;
    int current = p->current;
    hpc_tags tags = p->tags;
    hpc_diff d = {.p = p, .o = o, .n = p->value_n};
    TRY(check_options(p, o));
    d.grad = hpc_alloc((size_t)d.n + 1, sizeof *d.grad);
    d.wants = hpc_alloc((size_t)d.n + 1, sizeof *d.wants);
    if (!d.grad || !d.wants) TRY(HPC_E_NOMEM);
    for (int64_t v = 0; v < d.n; v++) d.grad[v] = HPC_NONE;
    TRY(find_wanted(&d));
    TRY(count_due(&d));
    p->current = o->backward;
    add_seeds(&d);
    TRY(run_rules(&d));
    fold_rest(&d);
    for (int64_t k = 0; k < o->want_n; k++) o->want_grad[k] = d.grad[o->want[k]];
    TRY(add_deferred(&d));
    TRY(begin_all_anew(&d));
    rc = hpc_program_status(p);
out:
    hpc_free(d.grad);
    hpc_free(d.wants);
    hpc_free(d.due);
    p->current = current;
    p->tags = tags;
    return rc;
}
