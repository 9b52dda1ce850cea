/*
 * review.c: review of a loop's directive. The loop is analysed again as if the clauses held:
 * accesses to variables that clauses make private are removed, and the remaining ones must not
 * conflict.
 *
 * A false accusation is worse than a missed error. Whatever the author may know (pointers are
 * disjoint, an index never repeats, a branch is taken once), and whatever other directives may
 * synchronize, leaves the directive unproven.
 */
#include "infer/pragma/review.h"

#include <math.h>
#include <string.h>

#include "infer/pragma/fortran.h"
#include "infer/pragma/memory.h"
#include "infer/pragma/study.h"

/* ---- where the loop stands ---------------------------------------------------------------------
 */

/* The directives that stand in the loop; of vectors alone they change nothing. */
static bool holds_directives(const review *r)
{
    for (int64_t k = 0; k < r->d->loops.pragma_n; k++) {
        const hpc_pragma *p = &r->d->loops.pragma[k];
        if (p->at > r->l->at && p->at < r->l->end && p->words != HPC_OMP_SIMD &&
            p->words != HPC_OMP_TILE_UNROLL)
            return true;
    }
    return false;
}

static int read_directive(clause_list *out, const char *text, const program *p)
{
    if (p->language == HPC_LANGUAGE_FORTRAN) text = fortran_as_c(p->out, text);
    return text ? clauses_read(out, text, p->out) : HPC_E_NOMEM;
}

static int read_region(review *r, int64_t k)
{
    hpc_buf text = {0};
    int rc;
    TRY(hpc_pragma_text(&text, &r->d->loops, k, &r->d->tokens, r->d->text, r->d->language));
    const char *kept = hpc_arena_text(r->p->out, "%s", text.data);
    if (!kept) TRY(HPC_E_NOMEM);
    TRY(read_directive(&r->around, kept, r->p));
out:
    hpc_buf_release(&text);
    return rc;
}

/* Fortran: a region lasts from its directive to the one that ends it; none: -1. */
static int64_t open_region(const review *r)
{
    const hpc_tree *t = r->p->t;
    const uint32_t from = t->node[function_around(t, r->l->node)].at;
    int64_t open = -1;
    for (int64_t k = 0; k < r->d->loops.pragma_n; k++) {
        const hpc_pragma *p = &r->d->loops.pragma[k];
        if (p->api != HPC_DIRECTIVE_OMP || !(p->words & (HPC_OMP_PARALLEL | HPC_OMP_TEAMS)))
            continue;
        if (p->at < from || p->at > r->l->at || p->loop >= 0) continue;
        open = p->closes ? -1 : k;
    }
    return open;
}

/* The outermost statement around the loop that begins after the directive of its region. */
static int find_region_fortran(review *r)
{
    const hpc_tree *t = r->p->t;
    const int64_t k = open_region(r);
    if (k < 0) return HPC_OK;
    for (int32_t up = r->l->node; up > 0; up = t->node[up].parent)
        if (t->node[up].at > r->d->loops.pragma[k].at) r->region = up;
    return read_region(r, k);
}

/* The parallel region around the loop, by the directive right before one of the statements around
 * it. */
static int find_region(review *r)
{
    const hpc_tree *t = r->p->t;
    int rc = HPC_OK;
    if (r->p->language == HPC_LANGUAGE_FORTRAN) return find_region_fortran(r);
    for (int32_t up = t->node[r->l->node].parent; up > 0 && !r->region; up = t->node[up].parent)
        for (int64_t k = 0; k < r->d->loops.pragma_n && !r->region; k++) {
            const hpc_pragma *p = &r->d->loops.pragma[k];
            if (!(p->words & (HPC_OMP_PARALLEL | HPC_OMP_TEAMS)) || p->at > t->node[up].at)
                continue;
            if (p->api != HPC_DIRECTIVE_OMP || !directives_reach(r->d, k, t->node[up].at)) continue;
            r->region = up;
            TRY(read_region(r, k));
        }
out:
    return rc;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

/* Of names apart by ", ". */
static bool is_listed(const hpc_buf *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = names->data; p && p < names->data + names->n;) {
        const char *comma = strstr(p, ", ");
        size_t length = comma ? (size_t)(comma - p) : strlen(p);
        if (length == n && memcmp(p, name, n) == 0) return true;
        p = comma ? comma + 2 : NULL;
    }
    return false;
}

/* Drops accesses to variables that clauses make private or reduce. If the loop without its
 * directive does not allow the clause, the directive is unproven. */
static void drop_private(review *r, study *s, const clauses *alone)
{
    loop_facts *l = &s->loop;
    const prover *pr = &s->prover;
    int64_t kept = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const access *a = &l->item[i];
        const int32_t from = atom_untyped(pr, a->place.base);
        const atom *base = from >= 0 ? &pr->atoms[from] : NULL;
        bool object = base && (base->kind == ATOM_OBJECT || base->kind == ATOM_SYMBOL);
        const char *name = object ? symbol_name(l->p->t, base->symbol) : NULL;
        bool field =
            base && base->kind == ATOM_THIS && a->place.n == 2 && a->place.step[1].field >= 0;
        if (field) name = symbol_name(l->p->t, a->place.step[1].field);
        const clause_item *c = name ? clause_of(&r->clauses, CLAUSE_REDUCTION, name) : NULL;
        bool whole = base && (base->kind == ATOM_OBJECT || field);
        bool own = name && whole && review_lists(&r->clauses, name);
        if (c && a->update && review_ops_differ(c->op, a->update))
            review_wrong(r, HPC_EXISTING_REDUCTION, a->node,
                         "the operator that updates %s here differs from that of its reduction",
                         name);
        if (c && (whole || c->section)) {
            if (c->op != a->update) r->unproven = true;
        } else if (own) {
            if (!is_listed(&alone->privates, name)) r->unproven = true;
        } else {
            l->item[kept++] = *a;
        }
    }
    l->n = kept;
}

/* True if an expression names the same memory in all threads: it has no private variable. */
static bool is_of_all(const review *r, int32_t node)
{
    const hpc_tree *t = r->p->t;
    for (int32_t i = node; i < t->node[node].end; i++) {
        int32_t v = t->node[i].symbol;
        if (t->node[i].kind != HPC_TREE_NAME || v < 0 || t->symbol[v].kind > HPC_SYMBOL_PARAMETER)
            continue;
        bool inside = t->symbol[v].node > r->l->node && t->symbol[v].node < t->node[r->l->node].end;
        if (!inside && !review_is_head(r, v) && !review_shares(r, v)) return false;
    }
    return true;
}

/* An index that is read from memory, or that a call returns (omp_get_thread_num), may have another
 * value in each iteration or thread. */
static bool is_read(const prover *pr, const poly *index)
{
    if (!index) return true;
    for (int32_t i = 0; i < pr->atoms_n; i++) {
        const atom *x = &pr->atoms[i];
        if ((x->kind == ATOM_LOAD || x->kind == ATOM_OPAQUE) && x->varies && poly_has(index, i))
            return true;
    }
    return false;
}

/* True if an array has fewer elements than there are iterations, so that two of them update one. */
static bool is_short(const review *r, study *s, const access *a)
{
    const hpc_tree *t = r->p->t;
    const int32_t from = atom_untyped(&s->prover, a->place.base);
    const atom *base = from >= 0 ? &s->prover.atoms[from] : NULL;
    int32_t type = base && base->kind == ATOM_OBJECT ? t->symbol[base->symbol].type : -1;
    double elements = type >= 0 && kind_of(t, type) == HPC_TYPE_ARRAY ? 1 : INFINITY;
    for (; type >= 0 && kind_of(t, type) == HPC_TYPE_ARRAY; type = t->type[type].to)
        elements *= (double)t->type[type].n;
    return elements < trips_of(&s->prover, &s->loop.head) &&
           !review_under_condition(r, a->node, false);
}

/* False if each iteration may update elements of its own. */
static bool updates_meet(const review *r, study *s)
{
    for (int64_t i = 0; i < s->loop.n; i++) {
        const access *a = &s->loop.item[i];
        for (int32_t k = 0; a->update && k < a->place.n; k++)
            if (a->place.step[k].field == STEP_INDEX &&
                is_read(&s->prover, a->place.step[k].index) && !is_short(r, s, a))
                return false;
    }
    return true;
}

static void review_memory(review *r, study *s, const clauses *alone)
{
    const answer *a = &s->answer;
    const clauses *c = &a->clauses;
    drop_private(r, s, alone);
    memory_judge(&s->walk);
    bool sure = a->conflict && is_of_all(r, a->conflict) && is_of_all(r, a->conflict_other);
    bool bound = r->binds || r->region;
    if (sure && bound && !r->clauses.has_if && !review_under_condition(r, a->conflict, false) &&
        !review_under_condition(r, a->conflict_other, false))
        review_wrong(r, HPC_EXISTING_RACY, a->conflict, "%s is the same in another iteration",
                     node_text(r->p, a->conflict));
    else if (c->reduction[0].names.n > 0 && bound && r->binds && updates_meet(r, s))
        review_wrong(r, HPC_EXISTING_REDUCTION, r->l->node,
                     "all threads update %s at once: a reduction is missing",
                     c->reduction[0].names.data);
    else if (c->privates.n > 0 && bound && r->binds)
        review_wrong(r, HPC_EXISTING_CLAUSE, r->l->node, "all threads write %s: private is missing",
                     c->privates.data);
    else if (a->unsafe || a->unknown || a->assumptions_n > 0 || c->n > 0 ||
             c->privates.n + c->last.n + c->conditional.n + c->linear.n > 0)
        r->unproven = true;
}

/* ---- one loop after the other ------------------------------------------------------------------
 */

/* Clauses that the analysis proposes for the loop without its directive: its private objects. */
static int alone_of(clauses *out, const review *r, int32_t loop)
{
    study s;
    int rc, failed;
    TRY(study_begin(&s, r->p, loop, function_around(r->p->t, loop), false));
    if (study_walk(&s)) memory_judge(&s.walk);
    *out = s.answer.clauses;
    s.answer.clauses = (clauses){0};
out:
    failed = study_end(&s);
    return rc < 0 ? rc : failed;
}

static int review_loop(review *r, int32_t loop)
{
    study s;
    clauses alone = {0};
    hpc_arena_mark mark = hpc_arena_here(r->p->work);
    int rc, failed = 0;
    TRY(alone_of(&alone, r, loop));
    rc = study_begin(&s, r->p, loop, function_around(r->p->t, loop), false);
    if (rc >= 0 && !study_walk(&s)) {
        r->unproven = true;
    } else if (rc >= 0) {
        rc = review_variables(r, &s.loop);
        if (rc >= 0) review_memory(r, &s, &alone);
    }
    failed = study_end(&s);
out:
    clauses_release(&alone);
    hpc_arena_rewind(r->p->work, mark);
    return rc < 0 ? rc : failed;
}

/* True if a clause names a variable that a lambda in the loop has captured. */
static bool lists_captured(const review *r)
{
    for (int32_t i = r->l->node; (i = next_captured(r->p, r->l->node, i)) > 0;)
        if (review_lists(&r->clauses, symbol_name(r->p->t, r->p->t->node[i].symbol))) return true;
    return false;
}

/* The loops that a collapse clause takes; false where they are not in sight. */
static bool find_heads(review *r)
{
    const hpc_tree *t = r->p->t;
    int64_t n = r->clauses.collapse;
    if (n < 1 || n > COLLAPSE_MOST) return false;
    r->head[r->heads_n++] = r->l->node;
    while (r->heads_n < n) {
        int32_t at = hpc_tree_child(t, r->head[r->heads_n - 1], 3);
        while (at && t->node[at].kind == HPC_TREE_BLOCK) at = hpc_tree_first(t, at);
        if (!at || t->node[at].kind != HPC_TREE_FOR) return false;
        r->head[r->heads_n++] = at;
    }
    return true;
}

static int add_evidence(hpc_pragma_loop *l, const review *r)
{
    hpc_arena *a = r->p->out;
    hpc_evidence *e = hpc_arena_alloc(a, (size_t)l->evidence_n + 1, sizeof *e);
    const char *text = hpc_arena_text(a, "%s", r->why.data);
    if (!e || !text || r->why.failed < 0) return HPC_E_NOMEM;
    memcpy(e, l->evidence, (size_t)l->evidence_n * sizeof *e);
    e[l->evidence_n++] = (hpc_evidence){
        .kind = "existing", .line = r->why_line, .text = text, .alone = HPC_VERDICT_PARALLEL};
    l->evidence = e;
    return HPC_OK;
}

static hpc_existing outcome(const review *r)
{
    if (r->wrong != HPC_EXISTING_NONE) return r->wrong;
    if (r->unproven) return HPC_EXISTING_UNPROVEN;
    if (r->clauses.threads == 1 || r->harmless) return HPC_EXISTING_HARMLESS;
    return r->redundant ? HPC_EXISTING_REDUNDANT : HPC_EXISTING_RIGHT;
}

int existing_review(hpc_pragma_loop *l, const directives *d, int64_t loop, const program *p)
{
    enum { SPREADS = HPC_OMP_FOR | HPC_OMP_DISTRIBUTE | HPC_OMP_TASKLOOP | HPC_OMP_LOOP };
    uint32_t words = d->loops.pragma[directives_of(d, loop)].words;
    review r = {.d = d, .p = p, .l = l, .words = words};
    int rc;
    r.binds = words & (HPC_OMP_PARALLEL | HPC_OMP_TEAMS);
    r.simd = !(words & SPREADS);
    l->existing_is = HPC_EXISTING_UNPROVEN;
    if (r.simd && !(words & HPC_OMP_SIMD)) return HPC_OK; /* each thread runs all of it */
    if (p->language == HPC_LANGUAGE_FORTRAN && fortran_has_conditional(p->text, l->at, l->end))
        return HPC_OK;
    TRY(read_directive(&r.clauses, l->existing, p));
    r.synced = r.simd || holds_directives(&r) || r.clauses.ordered;
    r.unproven = r.clauses.odd || r.clauses.ordered || r.clauses.nowait;
    r.unproven |= lists_captured(&r);
    if (!r.binds) TRY(find_region(&r));
    if (!find_heads(&r)) r.unproven = true;
    for (int k = 0; k < r.heads_n; k++) TRY(review_loop(&r, r.head[k]));
    l->existing_is = outcome(&r);
    if (r.wrong != HPC_EXISTING_NONE) TRY(add_evidence(l, &r));
out:
    hpc_buf_release(&r.why);
    return rc;
}
