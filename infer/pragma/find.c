/*
 * find.c: the loops of a file, with the verdict, the evidence and the directive of each.
 */
#include <ctype.h>
#include <string.h>

#include "infer/pragma/existing.h"
#include "infer/pragma/fortran.h"
#include "infer/pragma/memory.h"
#include "infer/pragma/open.h"
#include "infer/pragma/propose.h"
#include "infer/pragma/remedy.h"
#include "infer/pragma/scalar.h"
#include "infer/pragma/spell.h"
#include "infer/pragma/splice.h"
#include "infer/pragma/study.h"

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

/* Assumptions as a caller sees them, with those that are confirmed. */
static int copy_assumptions(hpc_pragma_loop *out, const answer *a, const hpc_pragma_options *o)
{
    out->assumption =
        hpc_arena_alloc(a->p->out, (size_t)a->assumptions_n + 1, sizeof *out->assumption);
    if (!out->assumption) return HPC_E_NOMEM;
    for (int64_t k = 0; k < a->assumptions_n; k++) {
        const premise *x = &a->assumption[k];
        hpc_assumption *y = &out->assumption[out->assumptions_n++];
        *y = (hpc_assumption){.text = x->text, .check = x->check, .code = x->code};
        if (o->trust) y->trusted = o->trust(o->user, out->function, x->text);
        out->untested |= !y->check && !y->trusted;
    }
    return HPC_OK;
}

static bool has_word(const hpc_buf *b, const char *word)
{
    const size_t n = strlen(word);
    for (const char *p = b->n > 0 ? strstr(b->data, word) : NULL; p; p = strstr(p + 1, word)) {
        const bool starts = p == b->data || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (starts && !(isalnum((unsigned char)p[n]) || p[n] == '_')) return true;
    }
    return false;
}

static bool is_named(const clauses *c, const char *name)
{
    const hpc_buf *const lists[] = {&c->privates, &c->last, &c->conditional, &c->linear};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        if (has_word(lists[k], name)) return true;
    for (int k = 0; k < c->n; k++)
        if (has_word(&c->reduction[k].names, name)) return true;
    return false;
}

/* A clause gives the loop a variable of its own, but a lambda uses the one that it captured. */
static void check_captured(answer *a, int32_t loop)
{
    for (int32_t i = loop; (i = next_captured(a->p, loop, i)) > 0;) {
        const char *name = symbol_name(a->p->t, a->p->t->node[i].symbol);
        if (is_named(&a->clauses, name))
            answer_unknown(a, "call", i,
                           "a lambda captures %s, so a clause for it would have no effect there",
                           name);
    }
}

static int keep(hpc_pragma_loop *out, walk *w, const hpc_pragma_options *o)
{
    const answer *a = w->answer;
    int rc = HPC_OK;
    check_captured(w->answer, w->loop->node);
    if (!a->unsafe && !a->unknown) propose(out, w, o);
    out->edit = remedy_of(w);
    answer_gather(w->answer, w->loop->node);
    out->verdict = a->unsafe              ? HPC_VERDICT_UNSAFE
                   : a->unknown           ? HPC_VERDICT_UNKNOWN
                   : a->assumptions_n > 0 ? HPC_VERDICT_CONDITIONAL
                                          : HPC_VERDICT_PARALLEL;
    out->evidence = hpc_arena_alloc(a->p->out, (size_t)a->evidence_n + 1, sizeof *out->evidence);
    if (!out->evidence) TRY(HPC_E_NOMEM);
    copy_evidence(out, a);
    if (out->verdict < HPC_VERDICT_CONDITIONAL) {
        out->pragma = out->plain = out->vector = out->idle = out->least = NULL;
        out->small = out->vectors = false;
    }
    if (out->verdict != HPC_VERDICT_CONDITIONAL) goto out;
    TRY(copy_assumptions(out, a, o));
    out->guard = guard_of(w, out);
out:
    return rc;
}

static int judge(hpc_pragma_loop *out, const program *p, int32_t loop, int32_t function,
                 bool is_instance, const hpc_pragma_options *o)
{
    study s;
    int rc, failed;
    hpc_arena_mark mark = hpc_arena_here(p->work);
    TRY(study_begin(&s, p, loop, function, is_instance));
    if (study_walk(&s)) {
        scalars_judge(&s.walk);
        memory_judge(&s.walk);
        hidden_judge(&s.walk);
        open_judge(&s.walk);
    }
    if (o->default_none) share_rest(&s.answer, &s.loop);
    TRY(keep(out, &s.walk, o));
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
    const size_t *line_end; /* byte of each line end */
    int64_t lines_n;
    hpc_map *seen; /* index of a loop by its span */
    struct {
        int32_t node, loop;
    } open[HPC_TREE_DEPTH_MOST + 1]; /* loops around the next one */
    int32_t open_n;
} finding;

/* The same for the loops of a template and of its instances, and different for all others. */
typedef struct loop_span {
    size_t at, end;
    int64_t nth; /* of the loops that one use of a macro expands to */
} loop_span;

static loop_span span_of(const hpc_tree *t, int32_t loop)
{
    const hpc_tree_node *n = &t->node[loop];
    loop_span s = {.at = n->at, .end = n->to};
    if (!(n->flags & HPC_TREE_MACRO)) return s;
    for (int32_t i = loop - 1; i > 0 && t->node[i].at >= n->at; i--)
        s.nth += is_loop(t->node[i].kind) && t->node[i].at == n->at && t->node[i].to == n->to;
    return s;
}

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

/* Keeps of a proposal only what is right for all instantiations of a template. */
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

/* The tree has a template's loop once without types, and once per instantiation. The worst verdict
 * of the instantiations counts. */
static int merge_twin(finding *f)
{
    hpc_pragma_loops *out = f->out;
    hpc_pragma_loop *new = &out->item[out->n - 1], *old;
    const loop_span span = span_of(f->t, new->node);
    if (span.nth > 0) new->pragma = new->plain = new->vector = NULL; /* no line is before it */
    const int32_t node = new->node;
    uint64_t k = (uint64_t)out->n - 1;
    int rc = HPC_OK;
    if (!hpc_map_get(f->seen, &span, sizeof span, &k)) {
        TRY(hpc_map_put(f->seen, &span, sizeof span, k));
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

/* True if the list already has the last loop, as part of a template. */
static bool is_seen(const finding *f)
{
    const loop_span span = span_of(f->t, f->out->item[f->out->n - 1].node);
    uint64_t k;
    return hpc_map_get(f->seen, &span, sizeof span, &k);
}

/* Judges the loops of a tree. */
static int find_all(finding *f, program *p, const hpc_pragma_options *o)
{
    const hpc_tree *t = p->t;
    int rc = HPC_OK;
    f->t = t;
    TRY(program_init(p));
    for (int32_t i = 0; i < t->n; i++) {
        if (!is_loop(t->node[i].kind) || (t->node[i].flags & HPC_TREE_ELSEWHERE)) continue;
        int32_t function = function_around(t, i), v = t->node[function].symbol;
        const char *name = hpc_arena_text(p->out, "%s", v >= 0 ? t->name + t->symbol[v].name : "");
        TRY(add_loop(f, i, name));
        TRY(judge(&f->out->item[f->out->n - 1], p, i, function, is_seen(f), o));
        TRY(merge_twin(f));
    }
    TRY(existing_find(f->out, p, o));
out:
    return rc;
}

int hpc_pragma_find(hpc_pragma_loops *out, const hpc_tree *t, const char *text, size_t n,
                    hpc_language l, const hpc_pragma_options *o)
{
    finding f = {.out = out};
    spliced s = {0};
    int rc;
    *out = (hpc_pragma_loops){0};
    hpc_arena *work = hpc_arena_create(0);
    out->arena = hpc_arena_create(0);
    f.seen = hpc_map_create();
    if (!work || !out->arena || !f.seen) TRY(HPC_E_NOMEM);
    program p = {.t = t, .text = text, .text_n = n, .language = l, .work = work, .out = out->arena};
    TRY(find_lines(&f, text, n, work));
    if (!o->default_none && !o->target) TRY(splice_lambdas(&s, t)); /* clauses name the lambda */
    if (s.any) {
        p.t = &s.tree;
        p.captured = s.captured;
        p.captured_n = t->symbols_n;
    }
    TRY(find_all(&f, &p, o));
    for (int64_t k = 0; s.any && k < out->n; k++)
        if (out->item[k].node >= 0) out->item[k].node = s.from[out->item[k].node];
    if (l == HPC_LANGUAGE_FORTRAN) fortran_limit(out);
    TRY(pragma_list_line(out, o->line));
    hpc_pragma_weigh(out);
out:
    splice_release(&s);
    hpc_map_free(f.seen);
    hpc_arena_free(work);
    if (rc < 0) hpc_pragma_loops_release(out);
    return rc;
}
