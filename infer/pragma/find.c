/*
 * find.c: all loops of a file: each is studied, judged, and given its directive.
 */
#include <string.h>

#include "infer/pragma/existing.h"
#include "infer/pragma/propose.h"
#include "infer/pragma/spell.h"

const char *hpc_verdict_name(hpc_verdict v)
{
    static const char *const names[] = {"unknown", "unsafe", "conditional", "parallel"};
    return names[v];
}

const char *hpc_existing_name(hpc_existing e)
{
    static const char *const names[] = {"none",      "right",    "racy",     "clause",
                                        "reduction", "unproven", "harmless", "redundant"};
    return names[e];
}

void hpc_pragma_loops_release(hpc_pragma_loops *l)
{
    hpc_free(l->item);
    hpc_arena_free(l->arena);
    *l = (hpc_pragma_loops){0};
}

/* ---- one loop -----------------------------------------------------------------------------------
 */

/* The table of atoms is full. */
static void too_large(void *user)
{
    study *s = user;
    answer_too_large(s->answer, s->loop);
}

int study_begin(study *s, const program *p, int32_t loop, int32_t function)
{
    const hpc_tree *t = p->t;
    *s = (study){.t = t, .program = p, .loop = loop, .function = function};
    *s->prover = (prover){.t = t, .arena = p->work, .full = too_large, .user = s};
    *s->answer = (answer){.p = p};
    s->slot_of = hpc_arena_alloc(p->work, (size_t)t->symbols_n + 1, sizeof *s->slot_of);
    if (!s->slot_of) return HPC_E_NOMEM;
    for (int64_t v = 0; v < t->symbols_n; v++) s->slot_of[v] = -1;
    return slots_find(s);
}

/* Whether an expression is worth the same where the loop begins: it names variables alone, and none
 * of them is assigned in between. */
static bool still_holds(const hpc_tree *t, int32_t e, int32_t from, int32_t loop)
{
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        if (n->kind == HPC_TREE_MEMBER || n->kind == HPC_TREE_INDEX || n->kind == HPC_TREE_CALL)
            return false;
        if (n->kind == HPC_TREE_UNARY && n->op == '*') return false;
        if (n->kind != HPC_TREE_NAME) continue;
        for (int32_t k = from; k < loop; k++) {
            int32_t c = hpc_tree_first(t, k);
            bool by = t->node[k].kind == HPC_TREE_ASSIGN || t->node[k].kind == HPC_TREE_UNARY;
            if (by && c && t->node[c].kind == HPC_TREE_NAME && t->node[c].symbol == n->symbol)
                return false;
        }
    }
    return true;
}

/* "if (k < 1) return;" further up: behind it k >= 1. */
static void guards_before(study *s)
{
    const hpc_tree *t = s->t;
    for (int32_t c = s->loop, up = t->node[c].parent; up >= s->function && up > 0;
         c = up, up = t->node[up].parent)
    {
        if (t->node[up].kind != HPC_TREE_BLOCK) continue;
        for (int32_t k = hpc_tree_first(t, up); k && k < c; k = hpc_tree_next(t, k)) {
            if (t->node[k].kind != HPC_TREE_IF) continue;
            int32_t then = hpc_tree_child(t, k, 1), other = hpc_tree_child(t, k, 2);
            if (!then || !walk_ends(t, then)) continue;
            if (other && t->node[other].kind != HPC_TREE_NOTHING) continue;
            int32_t condition = hpc_tree_first(t, k);
            if (still_holds(t, condition, then, s->loop))
                s->facts = facts_of(s, s->facts, condition, false);
        }
    }
}

/* The loops around it have run into their bodies, so their variables are within their bounds. */
static void facts_around(study *s)
{
    const hpc_tree *t = s->t;
    answer_mute(s->answer, true);
    guards_before(s);
    for (int32_t c = s->loop, up = t->node[c].parent; up > s->function;
         c = up, up = t->node[up].parent) {
        loop_head h;
        int32_t then = hpc_tree_child(t, up, 1);
        if (t->node[up].kind == HPC_TREE_IF && (c == then || c == hpc_tree_child(t, up, 2)) &&
            still_holds(t, hpc_tree_first(t, up), then, s->loop))
            s->facts = facts_of(s, s->facts, hpc_tree_first(t, up), c == then);
        if (t->node[up].kind != HPC_TREE_FOR) continue;
        head_read(&h, s, up);
        if (h.reason || h.symbol < 0 || h.body != c) continue;
        if (!still_holds(t, then, h.body, s->loop)) continue;
        const poly *var = poly_atom(s->prover, atom_symbol(s->prover, h.symbol));
        s->facts = fact_add(s->prover, s->facts, poly_less(s->prover, var, h.lo));
        s->facts = fact_add(s->prover, s->facts, poly_less(s->prover, h.hi, var));
    }
    answer_mute(s->answer, false);
}

static bool names_errno(const study *s, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++)
        if (s->t->node[i].kind == HPC_TREE_CALL && s->t->node[i].symbol >= 0 &&
            strcmp(symbol_name(s->t, s->t->node[i].symbol), "__errno_location") == 0)
            return true;
    return false;
}

/* Each thread has an errno of its own, so what the loop's calls leave there does not get out. */
static void check_errno(study *s)
{
    const hpc_tree *t = s->t;
    int32_t end = t->node[s->loop].end;
    bool calls = false;
    for (int32_t i = s->loop; i < end; i++) calls |= t->node[i].kind == HPC_TREE_CALL;
    if (calls && names_errno(s, end, t->node[s->function].end))
        answer_unsafe(s->answer, "order", s->loop,
                      "errno is read after the loop, but each thread has its own errno");
}

bool study_walk(study *s)
{
    const hpc_tree *t = s->t;
    answer_mute(s->answer, true);
    head_read(&s->head, s, s->loop);
    answer_mute(s->answer, false);
    if (t->node[s->loop].flags & HPC_TREE_ERRORS)
        answer_unknown(s->answer, "form", s->loop, "the compiler reports an error in it");
    if (s->head.reason || !s->head.body) {
        answer_rejects(s->answer, s->head.reason, s->head.reason_line);
        return false;
    }
    facts_around(s);
    s->before = s->facts;
    slots_step(s);
    if (s->head.limit) value_of(s, s->head.limit); /* each iteration looks at it */
    walk_loop(s);
    check_errno(s);
    return true;
}

int study_end(study *s)
{
    prover_release(s->prover);
    hpc_free(s->item);
    hpc_free(s->stores);
    answer_release(s->answer);
    if (s->rc < 0) return s->rc;
    return s->answer->rc < 0 ? s->answer->rc : s->prover->rc;
}

/* ---- results --------------------------------------------------------------------------------- */

/* The decisive evidence first. */
static void copy_evidence(hpc_pragma_loop *out, const answer *a)
{
    static const hpc_verdict order[] = {HPC_VERDICT_UNSAFE, HPC_VERDICT_UNKNOWN,
                                        HPC_VERDICT_PARALLEL};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (int64_t i = 0; i < a->evidence_n; i++)
            if (a->evidence[i].alone == order[k]) out->evidence[out->evidence_n++] = a->evidence[i];
}

static int keep(hpc_pragma_loop *out, study *s, const hpc_pragma_options *o)
{
    const answer *a = s->answer;
    if (!a->unsafe && !a->unknown) propose(out, s, &a->clauses, o);
    out->verdict = a->unsafe              ? HPC_VERDICT_UNSAFE
                   : a->unknown           ? HPC_VERDICT_UNKNOWN
                   : a->assumptions_n > 0 ? HPC_VERDICT_CONDITIONAL
                                          : HPC_VERDICT_PARALLEL;
    out->evidence = hpc_arena_alloc(a->p->out, (size_t)a->evidence_n + 1, sizeof *out->evidence);
    out->assumption =
        hpc_arena_alloc(a->p->out, (size_t)a->assumptions_n + 1, sizeof *out->assumption);
    if (!out->evidence || !out->assumption) return HPC_E_NOMEM;
    copy_evidence(out, a);
    if (out->verdict != HPC_VERDICT_CONDITIONAL) return HPC_OK;
    memcpy(out->assumption, a->assumption, (size_t)a->assumptions_n * sizeof *a->assumption);
    out->assumptions_n = a->assumptions_n;
    out->guard = guard_of(s);
    return HPC_OK;
}

static int judge(hpc_pragma_loop *out, const program *p, int32_t loop, int32_t function,
                 bool is_instance, const hpc_pragma_options *o)
{
    study s;
    int rc, failed;
    hpc_arena_mark mark = hpc_arena_here(p->work);
    TRY(study_begin(&s, p, loop, function));
    s.is_instance = is_instance;
    if (study_walk(&s)) {
        scalars_judge(&s);
        memory_judge(&s);
    }
    if (o->default_none) share_rest(&s);
    TRY(keep(out, &s, o));
out:
    failed = study_end(&s);
    hpc_arena_rewind(p->work, mark);
    return rc < 0 ? rc : failed;
}

/* ---- all of them --------------------------------------------------------------------------------
 */

typedef struct finding {
    hpc_pragma_loops *out;
    int64_t cap;
    const hpc_tree *t;
    const size_t *line_end; /* where each line ends */
    int64_t lines_n;
    hpc_map *seen; /* loops by where they lie in the text */
    struct {
        int32_t node, loop;
    } open[HPC_TREE_DEPTH_MOST + 1]; /* what is around the next one */
    int32_t open_n;
} finding;

static int find_lines(finding *f, const char *text, size_t n, hpc_arena *a)
{
    int64_t k = 0;
    for (size_t i = 0; i < n; i++) f->lines_n += text[i] == '\n';
    size_t *end = hpc_arena_alloc(a, (size_t)f->lines_n + 1, sizeof *end);
    if (!end) return HPC_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n') end[k++] = i;
    f->line_end = end;
    return HPC_OK;
}

static uint32_t line_at(const finding *f, size_t at)
{
    int64_t lo = 0, hi = f->lines_n;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (f->line_end[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint32_t)lo + 1;
}

static int add_loop(finding *f, int32_t i, const char *function)
{
    hpc_pragma_loops *out = f->out;
    const hpc_tree_node *x = &f->t->node[i];
    int rc;
    TRY(hpc_grow(&out->item, &f->cap, out->n + 1, sizeof *out->item));
    while (f->open_n > 0 && f->t->node[f->open[f->open_n - 1].node].end <= i) f->open_n--;
    out->item[out->n++] =
        (hpc_pragma_loop){.line = x->line,
                          .column = x->column,
                          .end_line = x->line + line_at(f, x->to) - line_at(f, x->at),
                          .at = x->at,
                          .end = x->to,
                          .outer = f->open_n > 0 ? f->open[f->open_n - 1].loop : -1,
                          .node = i,
                          .function = function,
                          .likely = -1};
out:
    return rc;
}

/* What is right for one instantiation of a template alone is not proposed. */
static void keep_common(hpc_pragma_loop *kept, const hpc_pragma_loop *other)
{
    const char *a = kept->pragma, *b = other->pragma;
    if (!kept->idle) kept->idle = other->idle;
    if (!kept->least || !other->least || strcmp(kept->least, other->least) != 0) {
        if (!kept->idle && (kept->least || other->least))
            kept->idle =
                "instantiations of the template differ in the number of iterations that pays";
    }
    if (!kept->vector || !other->vector || strcmp(kept->vector, other->vector) != 0)
        kept->vector = NULL;
    if ((!kept->plain && !other->plain) || (a && b && strcmp(a, b) == 0)) return;
    if (kept->plain) kept->pragma = kept->plain;
    kept->plain = NULL;
    kept->vectors = false;
}

/* A guard must test what each instantiation assumes. */
static void keep_guard(hpc_pragma_loop *kept, const hpc_pragma_loop *other)
{
    if (other->verdict != HPC_VERDICT_CONDITIONAL || !kept->guard) return;
    if (!other->guard || strcmp(kept->guard, other->guard) != 0) kept->guard = NULL;
}

/* A template's loop is there once more for each explicit instantiation, with types in it: these
 * count, and the worst of them, and not the first, which has none. */
static int merge_twin(finding *f)
{
    hpc_pragma_loops *out = f->out;
    hpc_pragma_loop *new = &out->item[out->n - 1], *old;
    const size_t span[2] = {new->at, new->end};
    const int32_t node = new->node;
    uint64_t k = (uint64_t)out->n - 1;
    int rc = HPC_OK;
    if (!hpc_map_get(f->seen, span, sizeof span, &k)) {
        TRY(hpc_map_put(f->seen, span, sizeof span, k));
    } else {
        old = &out->item[k];
        const hpc_pragma_loop other = *old;
        if (!old->again || new->verdict < old->verdict) {
            *old = *new;
            old->outer = other.outer;
        }
        if (other.again) {
            const hpc_pragma_loop *less = other.verdict > new->verdict ? &other : new;
            keep_common(old, less);
            keep_guard(old, less);
        }
        old->again = true;
        out->n--;
    }
    if (f->open_n <= HPC_TREE_DEPTH_MOST) {
        f->open[f->open_n].node = node;
        f->open[f->open_n++].loop = (int32_t)k;
    }
out:
    return rc;
}

/* True if the last loop is there already, as part of a template. */
static bool is_seen(const finding *f)
{
    const hpc_pragma_loop *l = &f->out->item[f->out->n - 1];
    const size_t span[2] = {l->at, l->end};
    uint64_t k;
    return hpc_map_get(f->seen, span, sizeof span, &k);
}

int hpc_pragma_find(hpc_pragma_loops *out, const hpc_tree *t, const char *text, size_t n,
                    hpc_language l, const hpc_pragma_options *o)
{
    finding f = {.out = out, .t = t};
    int rc;
    *out = (hpc_pragma_loops){0};
    hpc_arena *work = hpc_arena_create(0);
    out->arena = hpc_arena_create(0);
    f.seen = hpc_map_create();
    if (!work || !out->arena || !f.seen) TRY(HPC_E_NOMEM);
    program p = {.t = t, .text = text, .text_n = n, .language = l, .work = work, .out = out->arena};
    TRY(find_lines(&f, text, n, work));
    TRY(program_init(&p));
    for (int32_t i = 0; i < t->n; i++) {
        if (!is_loop(t->node[i].kind) || (t->node[i].flags & HPC_TREE_ELSEWHERE)) continue;
        if (o->line && (o->line < t->node[i].line || o->line > line_at(&f, t->node[i].to)))
            continue;
        int32_t function = function_around(t, i), v = t->node[function].symbol;
        const char *name =
            hpc_arena_text(out->arena, "%s", v >= 0 ? t->name + t->symbol[v].name : "");
        TRY(add_loop(&f, i, name));
        TRY(judge(&out->item[out->n - 1], &p, i, function, is_seen(&f), o));
        TRY(merge_twin(&f));
    }
    TRY(existing_find(out, &p, o));
    hpc_pragma_weigh(out);
out:
    hpc_map_free(f.seen);
    hpc_arena_free(work);
    if (rc < 0) hpc_pragma_loops_release(out);
    return rc;
}
