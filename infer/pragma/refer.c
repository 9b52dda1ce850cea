/*
 * refer.c: what references from outside the loop refer to. The place of an access names the
 * reference itself, because clauses do; relations between accesses need its target.
 */
#include "infer/pragma/walk.h"

enum { CHAIN_MOST = 6 };

static bool is_settled_lvalue(const walk *w, int32_t e, int depth);

/* A variable with one value in the whole function. */
static bool is_settled_name(const walk *w, int32_t v, uint8_t kind)
{
    const hpc_symbol *x = &w->t->symbol[v];
    const symbol_use *u = &w->loop->p->use[v];
    if (x->kind == HPC_SYMBOL_CONSTANT || (x->flags & HPC_SYMBOL_KNOWN)) return true;
    return kind_of(w->t, x->type) == kind && (x->flags & HPC_SYMBOL_LOCAL) && u->writes_n == 0 &&
           !u->addressed;
}

static bool is_settled_index(const walk *w, int32_t e)
{
    for (int32_t i = e; i < w->t->node[e].end; i++) {
        const hpc_tree_node *n = &w->t->node[i];
        if (n->kind == HPC_TREE_NUMBER || n->kind == HPC_TREE_BINARY) continue;
        if (n->kind != HPC_TREE_NAME || n->symbol < 0 ||
            !is_settled_name(w, n->symbol, HPC_TYPE_INTEGER))
            return false;
    }
    return true;
}

static bool is_settled_pointer(const walk *w, int32_t e)
{
    const hpc_tree_node *n = &w->t->node[e];
    if (n->kind == HPC_TREE_THIS) return true;
    return n->kind == HPC_TREE_NAME && n->symbol >= 0 && !is_view(w->t, n->type) &&
           is_settled_name(w, n->symbol, HPC_TYPE_POINTER);
}

/* The initialiser of a local reference from outside the loop; 0. */
static int32_t target_of(const walk *w, int32_t v)
{
    const hpc_symbol *x = &w->t->symbol[v];
    if (x->kind != HPC_SYMBOL_VARIABLE || kind_of(w->t, x->type) != HPC_TYPE_REFERENCE) return 0;
    if (!(x->flags & HPC_SYMBOL_LOCAL) || x->node <= 0 || slot_index(w->loop, v) >= 0) return 0;
    if (w->t->node[x->node].kind != HPC_TREE_VARIABLE) return 0;
    return hpc_tree_first(w->t, x->node);
}

static bool is_settled_name_of_object(const walk *w, int32_t v, int depth)
{
    const uint8_t kind = kind_of(w->t, w->t->symbol[v].type);
    if (kind == HPC_TYPE_UNKNOWN) return false;
    if (kind != HPC_TYPE_REFERENCE) return true;
    const int32_t target = target_of(w, v);
    return !target || is_settled_lvalue(w, target, depth + 1); /* a parameter is what it is */
}

/* The place of an expression is the same wherever the function evaluates it. */
static bool is_settled_lvalue(const walk *w, int32_t e, int depth)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[e];
    const int32_t c = hpc_tree_first(t, e);
    if (depth > CHAIN_MOST) return false;
    if (n->kind == HPC_TREE_NAME)
        return n->symbol >= 0 && is_settled_name_of_object(w, n->symbol, depth);
    if (!c) return false;
    const bool points = kind_of(t, bare_type(t, t->node[c].type)) == HPC_TYPE_POINTER;
    switch (n->kind) {
    case HPC_TREE_MEMBER:
        if (n->symbol < 0 || kind_of(t, t->symbol[n->symbol].type) == HPC_TYPE_REFERENCE)
            return false;
        if (n->op == '>' || t->node[c].kind == HPC_TREE_THIS) return is_settled_pointer(w, c);
        return is_settled_lvalue(w, c, depth + 1);
    case HPC_TREE_INDEX:
        return (points ? is_settled_pointer(w, c) : is_settled_lvalue(w, c, depth + 1)) &&
               is_settled_index(w, hpc_tree_child(t, e, 1));
    case HPC_TREE_UNARY: return n->op == '*' && is_settled_pointer(w, c);
    default: return false;
    }
}

bool place_referred(place *out, walk *w, const place *p)
{
    bool any = false;
    *out = *p;
    for (int k = 0; k < CHAIN_MOST && out->base >= 0; k++) {
        const atom *x = &w->prover->atoms[out->base];
        const int32_t e = x->kind == ATOM_OBJECT ? target_of(w, x->symbol) : 0;
        place whole;
        if (!e || !is_settled_lvalue(w, e, 0)) break;
        const bool quiet = answer_mute(w->answer, true);
        place_of(&whole, w, e);
        answer_mute(w->answer, quiet);
        if (whole.base < 0 || whole.n + out->n > PLACE_STEPS) break;
        for (int32_t i = 0; i < out->n; i++) whole.step[whole.n++] = out->step[i];
        whole.type = out->type;
        *out = whole;
        any = true;
    }
    return any;
}
