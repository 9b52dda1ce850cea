/*
 * study.c: one loop from its tree to facts: its head, what holds around it, and the walk over its
 * body.
 */
#include "infer/pragma/study.h"

#include <string.h>

#include "infer/pragma/fortran.h"

/* ---- facts around the loop ---- */

/* True if an expression has the same value where the loop begins: it names only variables, and none
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

/* "if (k < 1) return;" before the loop: after it k >= 1. */
static void guards_before(walk *w)
{
    const hpc_tree *t = w->t;
    for (int32_t c = w->loop->node, up = t->node[c].parent; up >= w->loop->function && up > 0;
         c = up, up = t->node[up].parent)
    {
        if (t->node[up].kind != HPC_TREE_BLOCK) continue;
        for (int32_t k = hpc_tree_first(t, up); k && k < c; k = hpc_tree_next(t, k)) {
            if (t->node[k].kind != HPC_TREE_IF) continue;
            int32_t then = hpc_tree_child(t, k, 1), other = hpc_tree_child(t, k, 2);
            if (!then || !walk_ends(t, then)) continue;
            if (other && t->node[other].kind != HPC_TREE_NOTHING) continue;
            int32_t condition = hpc_tree_first(t, k);
            if (still_holds(t, condition, then, w->loop->node))
                w->facts = facts_of(w, w->facts, condition, false);
        }
    }
}

/* The loops around it have run into their bodies, so their variables are within their bounds. */
static void facts_around(walk *w)
{
    const hpc_tree *t = w->t;
    answer_mute(w->answer, true);
    guards_before(w);
    for (int32_t c = w->loop->node, up = t->node[c].parent; up > w->loop->function;
         c = up, up = t->node[up].parent)
    {
        loop_head h;
        int32_t then = hpc_tree_child(t, up, 1);
        if (t->node[up].kind == HPC_TREE_IF && (c == then || c == hpc_tree_child(t, up, 2)) &&
            still_holds(t, hpc_tree_first(t, up), then, w->loop->node))
            w->facts = facts_of(w, w->facts, hpc_tree_first(t, up), c == then);
        if (t->node[up].kind != HPC_TREE_FOR) continue;
        head_read(&h, w, up);
        if (h.reason || h.symbol < 0 || h.body != c) continue;
        if (!still_holds(t, then, h.body, w->loop->node)) continue;
        const poly *var = poly_atom(w->prover, atom_symbol(w->prover, h.symbol));
        w->facts = fact_add(w->prover, w->facts, poly_less(w->prover, var, h.lo));
        w->facts = fact_add(w->prover, w->facts, poly_less(w->prover, h.hi, var));
    }
    answer_mute(w->answer, false);
}

static bool names_errno(const walk *w, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++)
        if (w->t->node[i].kind == HPC_TREE_CALL && w->t->node[i].symbol >= 0 &&
            strcmp(symbol_name(w->t, w->t->node[i].symbol), "__errno_location") == 0)
            return true;
    return false;
}

/* Each thread has an errno of its own, so what the loop's calls leave there does not get out. */
static void check_errno(walk *w)
{
    const hpc_tree *t = w->t;
    int32_t end = t->node[w->loop->node].end;
    bool calls = false;
    for (int32_t i = w->loop->node; i < end; i++) calls |= t->node[i].kind == HPC_TREE_CALL;
    if (calls && names_errno(w, end, t->node[w->loop->function].end))
        answer_unsafe(w->answer, "order", w->loop->node,
                      "errno is read after the loop, but each thread has its own errno");
}

/* The loop's threads would use variables other than the one that the code around it uses. */
static void check_thread_local(walk *w)
{
    const hpc_tree *t = w->t;
    for (int32_t i = w->loop->node; i < t->node[w->loop->node].end; i++) {
        const int32_t v = t->node[i].symbol;
        if (v < 0 || !w->loop->p->use[v].by_thread) continue;
        answer_unknown(w->answer, "scalar", i,
                       t->symbol[v].flags & HPC_SYMBOL_THREAD ? "%s is thread-local"
                                                              : "%s uses a thread-local variable",
                       symbol_name(t, v));
        return;
    }
}

/* Destructors and initialisers of members are not in the loop's text. */
static void check_objects(walk *w)
{
    const hpc_tree *t = w->t;
    for (int32_t i = w->loop->node; i < t->node[w->loop->node].end; i++) {
        if (!makes_active_object(t, i)) continue;
        const hpc_tree_type *x = &t->type[t->node[i].type];
        answer_unknown(w->answer, "call", i,
                       "the destructor or an initialiser of %s is not analysed",
                       x->kind == HPC_TYPE_RECORD ? t->name + x->name : "the elements");
        return;
    }
}

/* ---- steps ---- */

static void table_is_full(void *user)
{
    study *s = user;
    answer_too_large(&s->answer, s->loop.node);
}

int study_begin(study *s, const program *p, int32_t loop, int32_t function, bool is_instance)
{
    int rc;
    *s = (study){.answer = {.p = p}};
    s->prover = (prover){.t = p->t, .arena = p->work, .full = table_is_full, .user = s};
    TRY(loop_open(&s->loop, p, loop, function));
    s->loop.is_instance = is_instance;
    TRY(walk_begin(&s->walk, &s->loop, &s->prover, &s->answer));
out:
    return rc;
}

static bool has_conditional(const loop_facts *l)
{
    const hpc_tree_node *n = &l->p->t->node[l->node];
    return l->p->language == HPC_LANGUAGE_FORTRAN &&
           fortran_has_conditional(l->p->text, n->at, n->to);
}

bool study_walk(study *s)
{
    walk *w = &s->walk;
    loop_facts *l = &s->loop;
    answer_mute(&s->answer, true);
    head_read(&l->head, w, l->node);
    answer_mute(&s->answer, false);
    if (l->p->t->node[l->node].flags & HPC_TREE_ERRORS)
        answer_unknown(&s->answer, "form", l->node, "the compiler reports an error in it");
    if (has_conditional(l))
        answer_unknown(&s->answer, "form", l->node, "a line of it is compiled with OpenMP only");
    if (l->head.reason || !l->head.body) {
        answer_rejects(&s->answer, l->head.reason, l->head.reason_line);
        return false;
    }
    facts_around(w);
    l->before = w->facts;
    induction_find(w);
    if (l->head.limit) value_of(w, l->head.limit); /* each iteration evaluates it */
    walk_loop(w);
    check_errno(w);
    check_thread_local(w);
    check_objects(w);
    return true;
}

int study_end(study *s)
{
    const int failed[] = {s->walk.rc, s->loop.rc, s->answer.rc, s->prover.rc};
    int rc = HPC_OK;
    for (size_t k = 0; k < sizeof failed / sizeof *failed && rc >= 0; k++) rc = failed[k];
    answer_release(&s->answer);
    loop_release(&s->loop);
    prover_release(&s->prover);
    return rc;
}
