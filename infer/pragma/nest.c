/*
 * nest.c: the loops of a nest that can be collapsed. A collapsed nest distributes pairs (i, j).
 * Pairs with different i are independent by the outer loop; pairs with the same i are independent
 * only if the inner loop is, under the same clauses and without further assumptions.
 *
 * A collapse pays if the outer loop is short. An outer loop of unknown length takes one more loop,
 * but not the innermost one, which the compiler vectorizes.
 */
#include "infer/pragma/nest.h"

#include <string.h>

#include "infer/pragma/memory.h"
#include "infer/pragma/scalar.h"
#include "infer/pragma/study.h"

enum { TRIPS_ENOUGH = 64, LOOPS_MOST = 4 };

/* ---- its form -----------------------------------------------------------------------------------
 */

/* The loop that is all of a loop's body; 0: none. *neighbour: if the body has one loop and other
 * statements, the first of these; else 0. */
static int32_t loop_within(const hpc_tree *t, int32_t loop, int32_t *neighbour)
{
    int32_t at = hpc_tree_child(t, loop, 3);
    *neighbour = 0;
    while (at && t->node[at].kind == HPC_TREE_BLOCK) {
        int32_t first = hpc_tree_first(t, at), loops = 0, other = 0;
        if (!first || !hpc_tree_next(t, first)) {
            at = first;
            continue;
        }
        for (int32_t c = first; c; c = hpc_tree_next(t, c)) {
            bool is = t->node[c].kind == HPC_TREE_FOR;
            loops += is;
            if (!is && !other) other = c;
        }
        if (loops == 1) *neighbour = other;
        return 0;
    }
    return at && t->node[at].kind == HPC_TREE_FOR ? at : 0;
}

static bool holds_loop(const hpc_tree *t, int32_t loop)
{
    for (int32_t i = loop + 1; i < t->node[loop].end; i++)
        if (is_loop(t->node[i].kind)) return true;
    return false;
}

/* True if a part of the text consists of blanks, comments and the characters of `these`. */
static bool is_filler(const walk *w, size_t from, size_t to, const char *these)
{
    if (from > to || to > w->loop->p->text_n) return false;
    for (size_t i = from; i < to; i++) {
        const char *p = w->loop->p->text + i;
        bool pair = i + 1 < to && *p == '/';
        if (pair && p[1] == '/') {
            while (i < to && w->loop->p->text[i] != '\n') i++;
        } else if (pair && p[1] == '*') {
            for (i += 2;
                 i + 1 < to && !(w->loop->p->text[i] == '*' && w->loop->p->text[i + 1] == '/');)
                i++;
            i++;
        } else if (!strchr(" \t\r\n", *p) && !strchr(these, *p)) {
            return false;
        }
    }
    return true;
}

/* No directive, no attribute and no #if stands between the two, which the tree would not show. */
static bool is_tight(const walk *w, int32_t outer, int32_t inner)
{
    const hpc_tree *t = w->t;
    int32_t step = hpc_tree_child(t, outer, 2);
    return step && is_filler(w, t->node[step].to, t->node[inner].at, "){") &&
           is_filler(w, t->node[inner].to, t->node[outer].to, ";}");
}

/* ---- bounds -------------------------------------------------------------------------------------
 */

static bool is_counted(const hpc_tree *t, int32_t type)
{
    type = bare_type(t, type);
    return kind_of(t, type) == HPC_TYPE_INTEGER &&
           !(t->type[type].flags & (HPC_TYPE_VOLATILE | HPC_TYPE_ATOMIC));
}

/* True if no write of the loop may change this lvalue. */
static bool is_unwritten(walk *w, int32_t e)
{
    place p;
    bool quiet = answer_mute(w->answer, true);
    place_of(&p, w, e);
    answer_mute(w->answer, quiet);
    p.type = bare_type(w->t, w->t->node[e].type);
    for (int64_t i = 0; i < w->loop->n; i++)
        if (w->loop->item[i].write &&
            relate(w->loop->p, w->prover, &p, &w->loop->item[i].place) != RELATION_APART)
            return false;
    return true;
}

static bool is_settled_name(walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    int32_t v = t->node[e].symbol;
    if (v < 0) return false;
    const hpc_symbol *x = &t->symbol[v];
    if (x->kind == HPC_SYMBOL_CONSTANT || (x->flags & HPC_SYMBOL_KNOWN)) return true;
    if (x->kind > HPC_SYMBOL_PARAMETER || slot_index(w->loop, v) >= 0 || is_inside(w->loop, v))
        return false;
    if (!is_counted(t, x->type) || (x->flags & HPC_SYMBOL_THREAD)) return false;
    bool own = (x->flags & HPC_SYMBOL_LOCAL) && !w->loop->p->use[v].addressed &&
               kind_of(t, x->type) != HPC_TYPE_REFERENCE;
    return own || is_unwritten(w, e);
}

/* True if the head of the studied loop dereferences the pointer: then another read through it is
 * safe even if no iteration runs. */
static bool is_followed(const walk *w, int32_t pointer)
{
    const hpc_tree *t = w->t;
    for (int32_t i = w->loop->node + 1; i < w->loop->head.body; i++) {
        int32_t c = hpc_tree_first(t, i);
        if (t->node[i].kind == HPC_TREE_MEMBER && t->node[i].op == '>' && c &&
            t->node[c].kind == HPC_TREE_NAME && t->node[c].symbol == pointer)
            return true;
    }
    return false;
}

/* s.n, s->n, this->n */
static bool is_settled_member(walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    int32_t c = hpc_tree_first(t, e);
    if (!c || !is_counted(t, t->node[e].type)) return false;
    if (t->node[c].kind == HPC_TREE_THIS) return is_unwritten(w, e);
    int32_t v = t->node[c].kind == HPC_TREE_NAME ? t->node[c].symbol : -1;
    if (v < 0 || slot_index(w->loop, v) >= 0 || is_inside(w->loop, v)) return false;
    return (t->node[e].op != '>' || is_followed(w, v)) && is_unwritten(w, e);
}

/* v.size() */
static bool is_settled_call(const walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    int32_t callee = hpc_tree_first(t, e), c = callee ? hpc_tree_first(t, callee) : 0;
    if (call_known_of(t, t->node[e].symbol) != CALL_METHOD_READ || hpc_tree_next(t, callee))
        return false;
    if (t->node[callee].kind != HPC_TREE_MEMBER || t->node[callee].op == '>' || !c) return false;
    return t->node[c].kind == HPC_TREE_NAME && t->node[c].symbol >= 0 &&
           !is_inside(w->loop, t->node[c].symbol);
}

static bool is_settled(walk *w, int32_t e, int32_t counter);

static bool are_settled(walk *w, int32_t e, int32_t counter)
{
    for (int32_t c = hpc_tree_first(w->t, e); c; c = hpc_tree_next(w->t, c))
        if (!is_settled(w, c, counter)) return false;
    return true;
}

/* A part of a head: its counter aside it holds numbers and what the loop does not change, and
 * nothing that may fail. */
static bool is_settled(walk *w, int32_t e, int32_t counter)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[e];
    int32_t right = hpc_tree_child(t, e, 1);
    switch (n->kind) {
    case HPC_TREE_NUMBER: return true;
    case HPC_TREE_NAME: return n->symbol == counter || is_settled_name(w, e);
    case HPC_TREE_MEMBER: return is_settled_member(w, e);
    case HPC_TREE_CALL: return is_settled_call(w, e);
    case HPC_TREE_CAST: return is_counted(t, n->type) && are_settled(w, e, counter);
    case HPC_TREE_BINARY:
        if ((n->op == '/' || n->op == '%') &&
            (!right || t->node[right].kind != HPC_TREE_NUMBER || t->node[right].value == 0))
            return false;
        if (n->op == ',') return false;
        return are_settled(w, e, counter);
    case HPC_TREE_UNARY:
        return n->op != '*' && n->op != '&' && n->op != HPC_OP_OTHER && are_settled(w, e, counter);
    case HPC_TREE_DECLARE:
    case HPC_TREE_VARIABLE:
    case HPC_TREE_ASSIGN: return are_settled(w, e, counter);
    default: return false;
    }
}

bool nest_is_settled(walk *w, const loop_head *h)
{
    for (int k = 0; k < 3; k++) {
        int32_t part = hpc_tree_child(w->t, h->node, k);
        if (!part || !is_settled(w, part, h->symbol)) return false;
    }
    return true;
}

/* ---- the inner loop by itself -------------------------------------------------------------------
 */

/* True if each name of a list is in another one; the separator is ", ". */
static bool is_sublist(const hpc_buf *a, const hpc_buf *b)
{
    for (size_t at = 0; at < a->n;) {
        const char *p = a->data + at, *end = strstr(p, ", ");
        size_t n = end ? (size_t)(end - p) : strlen(p);
        bool is = false;
        for (size_t k = 0; k < b->n && !is;) {
            const char *q = b->data + k, *stop = strstr(q, ", ");
            size_t m = stop ? (size_t)(stop - q) : strlen(q);
            is = m == n && memcmp(p, q, n) == 0;
            k += m + 2;
        }
        if (!is) return false;
        at += n + 2;
    }
    return true;
}

static bool keeps_values(const clauses *c)
{
    return c->last.n + c->conditional.n + c->linear.n > 0;
}

static bool same_clauses(const clauses *inner, const clauses *outer)
{
    if (keeps_values(inner) || !is_sublist(&inner->privates, &outer->privates)) return false;
    for (int k = 0; k < inner->n; k++) {
        int m = 0;
        while (m < outer->n && outer->reduction[m].op != inner->reduction[k].op) m++;
        if (m == outer->n || !is_sublist(&inner->reduction[k].names, &outer->reduction[m].names))
            return false;
    }
    return true;
}

/* What the inner loop assumes, the outer one does as well: of more iterations. */
static bool same_assumptions(const answer *inner, const answer *outer)
{
    for (int64_t i = 0; i < inner->assumptions_n; i++) {
        int64_t k = 0;
        while (k < outer->assumptions_n &&
               strcmp(outer->assumption[k].text, inner->assumption[i].text) != 0)
            k++;
        if (k == outer->assumptions_n) return false;
    }
    return true;
}

/* Why an inner loop cannot be distributed together with the analysed one; NULL: it can. */
static const char *objection_of(const answer *outer, const loop_facts *l, int32_t loop, int *failed)
{
    study s;
    const answer *a = &s.answer;
    const char *why = NULL;
    hpc_arena_mark mark = hpc_arena_here(l->p->work);
    int rc = study_begin(&s, l->p, loop, l->function, l->is_instance);
    if (rc >= 0 && study_walk(&s)) {
        scalars_judge(&s.walk);
        memory_judge(&s.walk);
    }
    if (a->unsafe)
        why = "its iterations depend on each other";
    else if (a->unknown)
        why = "its iterations are not proven independent";
    else if (!same_clauses(&a->clauses, &outer->clauses))
        why = "it needs different clauses from the enclosing loop";
    else if (!same_assumptions(a, outer))
        why = "it depends on further assumptions";
    *failed = study_end(&s);
    if (rc < 0) *failed = rc;
    hpc_arena_rewind(l->p->work, mark);
    return why;
}

/* ---- the nest -----------------------------------------------------------------------------------
 */

typedef struct nest {
    double known; /* iterations of the loops so far, together; -1 */
    hpc_buf text; /* "8 x m" */
} nest;

static void add_text(nest *n, walk *w, const loop_head *h)
{
    double trips = trips_of(w->prover, h);
    int64_t c;
    if (n->text.n > 0) hpc_buf_text(&n->text, " x ");
    if (trips >= 0)
        hpc_buf_printf(&n->text, "%.0f", trips);
    else if (poly_is_number(h->stride, &c) && (c == 1 || c == -1) && h->hi && h->lo)
        poly_text(&n->text, w->prover, w->loop->p,
                  poly_plus(w->prover, poly_less(w->prover, h->hi, h->lo), 1));
    else
        hpc_buf_text(&n->text, "?");
}

static bool pays(const nest *n, const walk *w, int loops, int32_t inner)
{
    if (n->known >= 0) return n->known < TRIPS_ENOUGH;
    return loops == 1 && holds_loop(w->t, inner);
}

static void say_does_not_pay(walk *w, const nest *n, int32_t inner)
{
    if (n->known >= 0)
        answer_note(w->answer, "form", w->loop->node,
                    "no collapse: its %.0f iterations suffice for the threads", n->known);
    else
        answer_note(w->answer, "form", inner,
                    "no collapse: the innermost loop is kept for vectorization");
}

static bool is_integer(const walk *w, int32_t symbol)
{
    return symbol >= 0 && is_counted(w->t, w->t->symbol[symbol].type) &&
           kind_of(w->t, w->t->symbol[symbol].type) == HPC_TYPE_INTEGER;
}

static const char *form_of(loop_head *h, walk *w, int32_t outer, int32_t inner)
{
    answer_mute(w->answer, true);
    head_read(h, w, inner);
    answer_mute(w->answer, false);
    if (h->reason || !is_integer(w, h->symbol) || !is_integer(w, w->loop->head.symbol))
        return "not both loop variables are integers";
    if (!is_tight(w, outer, inner)) return "a directive or an #if separates the loops";
    if (!nest_is_settled(w, h)) return "its bounds may vary between iterations or depend on memory";
    if (keeps_values(&w->answer->clauses)) return "a value from the last iteration is kept";
    return NULL;
}

/* Takes one loop more; false: that does not go. */
static bool take(nest *n, walk *w, int32_t outer, int32_t inner)
{
    loop_head h;
    const char *why = form_of(&h, w, outer, inner);
    int failed = HPC_OK;
    if (!why) why = objection_of(w->answer, w->loop, inner, &failed);
    answer_fail(w->answer, failed);
    if (why) {
        answer_note(w->answer, "form", inner, "no collapse: %s", why);
        return false;
    }
    add_text(n, w, &h);
    double trips = trips_of(w->prover, &h);
    n->known = n->known < 0 || trips < 0 ? -1 : n->known * trips;
    return true;
}

int nest_collapse(walk *w, bool all)
{
    int32_t at = w->loop->node, neighbour;
    int loops = 1;
    if (w->t->node[at].kind != HPC_TREE_FOR) return 1;
    nest n = {.known = trips_of(w->prover, &w->loop->head)};
    add_text(&n, w, &w->loop->head);
    while (loops < LOOPS_MOST) {
        int32_t inner = loop_within(w->t, at, &neighbour);
        if (!inner && neighbour && (all || n.known < TRIPS_ENOUGH))
            answer_note(w->answer, "form", neighbour, "no collapse: line %u separates the loops",
                        w->t->node[neighbour].line);
        if (!inner) break;
        bool wanted = all || pays(&n, w, loops, inner);
        if (!wanted && loops == 1) say_does_not_pay(w, &n, inner);
        if (!wanted || !take(&n, w, at, inner)) break;
        at = inner;
        loops++;
    }
    if (loops > 1 && !n.text.failed)
        answer_note(w->answer, "form", w->loop->node, "the nest collapses: %d loops, %s iterations",
                    loops, n.text.data);
    hpc_buf_release(&n.text);
    return loops;
}
