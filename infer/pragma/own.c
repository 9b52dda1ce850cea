/*
 * own.c: see own.h. Two kinds: a static variable of the body, and a variable from outside that a
 * function assigns through a pointer or a reference before anything reads it.
 */
#include "infer/pragma/own.h"

#include "infer/pragma/text.h"

enum { NAMES_MOST = 4 };

typedef struct names {
    int32_t symbol[NAMES_MOST];
    int n;
    bool full;
} names;

static void add(names *x, int32_t symbol)
{
    for (int k = 0; k < x->n; k++)
        if (x->symbol[k] == symbol) return;
    x->full |= x->n == NAMES_MOST;
    if (x->n < NAMES_MOST) x->symbol[x->n++] = symbol;
}

/* ---- functions that assign what a parameter leads to ---- */

static int32_t first_name(const hpc_tree *t, int32_t symbol, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++)
        if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == symbol) return i;
    return 0;
}

static bool may_end(const hpc_tree *t, int32_t i)
{
    for (int32_t k = i; k < t->node[i].end; k++) {
        const uint8_t kind = t->node[k].kind;
        if (kind == HPC_TREE_RETURN || kind == HPC_TREE_GOTO || kind == HPC_TREE_THROW ||
            kind == HPC_TREE_LABEL || kind == HPC_TREE_LAMBDA)
            return true;
    }
    return false;
}

/* "*p = e" or, of a reference, "p = e", where e does not name p. */
static bool assigns_target(const hpc_tree *t, int32_t i, int32_t parameter)
{
    const int32_t left = hpc_tree_first(t, i);
    if (t->node[i].kind != HPC_TREE_ASSIGN || t->node[i].op != '=') return false;
    const bool reference = kind_of(t, t->symbol[parameter].type) == HPC_TYPE_REFERENCE;
    const bool star = t->node[left].kind == HPC_TREE_UNARY && t->node[left].op == '*';
    const int32_t name = reference ? left : star ? hpc_tree_first(t, left) : 0;
    return name && t->node[name].kind == HPC_TREE_NAME && t->node[name].symbol == parameter &&
           !first_name(t, parameter, name + 1, t->node[i].end);
}

/* True if each call assigns what its k-th argument leads to, before it reads it. */
static bool assigns_argument(const hpc_tree *t, int32_t function, int k)
{
    int32_t parameter = -1;
    for (int32_t c = hpc_tree_first(t, function); c; c = hpc_tree_next(t, c)) {
        if (t->node[c].kind == HPC_TREE_VARIABLE && k-- == 0) parameter = t->node[c].symbol;
        if (t->node[c].kind != HPC_TREE_BLOCK) continue;
        for (int32_t s = hpc_tree_first(t, c); s && parameter >= 0; s = hpc_tree_next(t, s)) {
            if (assigns_target(t, s, parameter)) return true;
            if (first_name(t, parameter, s, t->node[s].end) || may_end(t, s)) return false;
        }
    }
    return false;
}

/* ---- variables from outside ---- */

/* Each iteration evaluates the expression: no condition or loop is around it. */
static bool is_unconditional(const walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    const int32_t body = w->loop->head.body;
    for (int32_t c = e, up = t->node[c].parent; c != body; c = up, up = t->node[c].parent) {
        const hpc_tree_node *n = &t->node[up];
        const bool logical =
            n->kind == HPC_TREE_BINARY && (n->op == HPC_OP_AND || n->op == HPC_OP_OR);
        if (up == body) break;
        if (logical || (n->kind != HPC_TREE_BINARY && n->kind != HPC_TREE_ASSIGN &&
                        n->kind != HPC_TREE_VARIABLE && n->kind != HPC_TREE_DECLARE))
            return false;
    }
    return t->node[body].kind == HPC_TREE_BLOCK;
}

/* No jump of the loop's own passes a part of its body. */
static bool is_reached(const walk *w, int32_t to)
{
    const hpc_tree *t = w->t;
    for (int32_t i = w->loop->head.body; i < to; i++)
        if (t->node[i].kind == HPC_TREE_CONTINUE || t->node[i].kind == HPC_TREE_BREAK ||
            t->node[i].kind == HPC_TREE_GOTO || t->node[i].kind == HPC_TREE_LABEL)
            return false;
    return true;
}

/* The first use of a variable in the loop is an argument through which a function assigns it. */
static bool is_assigned_by_call(const walk *w, int32_t symbol)
{
    const hpc_tree *t = w->t;
    const int32_t body = w->loop->head.body,
                  name = first_name(t, symbol, w->loop->node, t->node[body].end);
    if (name <= body) return false;
    const int32_t up = t->node[name].parent;
    const bool address = t->node[up].kind == HPC_TREE_UNARY && t->node[up].op == '&';
    const int32_t arg = address ? up : name, call = t->node[arg].parent;
    const int32_t f = t->node[call].kind == HPC_TREE_CALL ? t->node[call].symbol : -1;
    if (f < 0 || t->symbol[f].node < 0 || (t->symbol[f].flags & HPC_SYMBOL_VIRTUAL)) return false;
    if (t->node[t->symbol[f].node].kind != HPC_TREE_FUNCTION) return false;
    int k = 0;
    for (int32_t c = inline_arguments(t, call); c && c != arg; c = hpc_tree_next(t, c)) {
        if (first_name(t, symbol, c, t->node[c].end)) return false;
        k++;
    }
    for (int32_t c = hpc_tree_next(t, arg); c; c = hpc_tree_next(t, c))
        if (first_name(t, symbol, c, t->node[c].end)) return false;
    return assigns_argument(t, t->symbol[f].node, k) && is_unconditional(w, call) &&
           is_reached(w, call);
}

/* A local variable of a simple type that only the body names. */
static bool is_named_inside(const walk *w, int32_t symbol)
{
    const hpc_tree *t = w->t;
    const hpc_symbol *v = &t->symbol[symbol];
    const int32_t body = w->loop->head.body;
    if (v->kind != HPC_SYMBOL_VARIABLE || !(v->flags & HPC_SYMBOL_LOCAL) || v->node < 0 ||
        (v->flags & (HPC_SYMBOL_STATIC | HPC_SYMBOL_THREAD)))
        return false;
    const uint8_t kind = kind_of(t, v->type);
    if (kind != HPC_TYPE_INTEGER && kind != HPC_TYPE_FLOAT && kind != HPC_TYPE_BOOL) return false;
    if (t->node[v->node].kind != HPC_TREE_VARIABLE || is_inside(w->loop, symbol)) return false;
    for (int32_t i = w->loop->function; i < t->node[w->loop->function].end; i++) {
        const bool named = t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == symbol;
        if (named && (i < body || i >= t->node[body].end)) return false;
    }
    return is_assigned_by_call(w, symbol);
}

/* All obstacles are variables from outside that the loop can declare. */
static bool find_outside(names *x, const walk *w)
{
    const answer *a = w->answer;
    const conflicts *c = &a->conflicts;
    if (a->objections == 0 || a->objections != c->memory + c->scalars || c->cut || c->elsewhere)
        return false;
    for (int32_t k = 0; k < w->loop->slots_n; k++)
        if (w->loop->slots[k].blocks) add(x, w->loop->slots[k].symbol);
    for (int k = 0; k < c->bases_n; k++) {
        const atom *base = &w->prover->atoms[c->base[k]];
        if (base->kind != ATOM_OBJECT) return false;
        add(x, base->symbol);
    }
    for (int k = 0; k < x->n; k++)
        if (!is_named_inside(w, x->symbol[k])) return false;
    return x->n > 0 && !x->full;
}

/* ---- static variables of the body ---- */

/* All obstacles are static variables that each iteration assigns first. */
static bool find_static(names *x, const walk *w)
{
    const hpc_tree *t = w->t;
    const int32_t body = w->loop->head.body;
    for (int32_t i = body; i < t->node[body].end; i++) {
        const int32_t v = t->node[i].kind == HPC_TREE_VARIABLE ? t->node[i].symbol : -1;
        if (v < 0 || !(t->symbol[v].flags & HPC_SYMBOL_STATIC) ||
            (t->symbol[v].flags & HPC_SYMBOL_KNOWN))
            continue;
        const slot *s =
            slot_index(w->loop, v) >= 0 ? &w->loop->slots[slot_index(w->loop, v)] : NULL;
        if (!s || s->escaped || s->exposed >= 0 || s->update || s->write < 0) return false;
        add(x, v);
    }
    return x->n > 0 && !x->full && w->answer->objections == x->n;
}

/* ---- all ---- */

static void put_names(hpc_buf *b, const walk *w, const names *x)
{
    for (int k = 0; k < x->n; k++)
        hpc_buf_printf(b, "%s%s",
                       k == 0          ? ""
                       : k + 1 == x->n ? " and "
                                       : ", ",
                       symbol_name(w->t, x->symbol[k]));
}

const char *own_of(walk *w)
{
    names x = {0}, fixed = {0};
    hpc_buf b = {0};
    if (w->answer->p->language == HPC_LANGUAGE_FORTRAN || w->answer->assumptions_n > 0) return NULL;
    if (find_static(&fixed, w)) {
        hpc_buf_text(&b, "remove static from the declaration of ");
        put_names(&b, w, &fixed);
        x = fixed;
    } else if (find_outside(&x, w)) {
        hpc_buf_text(&b, "declare ");
        put_names(&b, w, &x);
        hpc_buf_text(&b, " in the loop");
    } else {
        return NULL;
    }
    hpc_buf_printf(&b, ": each iteration assigns %s before it reads %s", x.n == 1 ? "it" : "them",
                   x.n == 1 ? "it" : "them");
    const char *out = b.failed ? NULL : hpc_arena_text(w->answer->p->out, "%s", b.data);
    hpc_buf_release(&b);
    return out;
}
