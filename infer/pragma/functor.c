/*
 * functor.c: see functor.h.
 */
#include "infer/pragma/functor.h"

#include <string.h>

/* The method that a call of an object as a function runs; 0. */
int32_t functor_method(const hpc_tree *t, int32_t call)
{
    const int32_t v = t->node[call].symbol;
    const hpc_symbol *f = v < 0 ? NULL : &t->symbol[v];
    if (!f || f->kind != HPC_SYMBOL_FUNCTION || !(f->flags & HPC_SYMBOL_METHOD) || f->node < 0 ||
        (f->flags & HPC_SYMBOL_VIRTUAL) || strcmp(symbol_name(t, v), "operator()") != 0)
        return 0;
    const hpc_tree_node *n = &t->node[f->node];
    return n->kind == HPC_TREE_FUNCTION && !(n->flags & HPC_TREE_TEMPLATE) ? f->node : 0;
}

bool functor_is_member(const hpc_tree *t, int32_t i)
{
    const int32_t c = i ? hpc_tree_first(t, i) : 0;
    return c && t->node[i].kind == HPC_TREE_MEMBER && t->node[c].kind == HPC_TREE_THIS;
}

/* In a method: only members follow `this`. */
bool functor_names_members(const hpc_tree *t, int32_t block)
{
    for (int32_t i = block; i < t->node[block].end; i++)
        if (t->node[i].kind == HPC_TREE_THIS && t->node[t->node[i].parent].kind != HPC_TREE_MEMBER)
            return false;
    return true;
}

bool functor_is_object(const hpc_tree *t, int32_t e)
{
    const int32_t v = t->node[e].kind == HPC_TREE_NAME ? t->node[e].symbol : -1;
    return v >= 0 &&
           (t->symbol[v].kind == HPC_SYMBOL_VARIABLE || t->symbol[v].kind == HPC_SYMBOL_PARAMETER);
}

static bool calls_own_method(const hpc_tree *t, int32_t method)
{
    for (int32_t i = method; i < t->node[method].end; i++)
        if (t->node[i].kind == HPC_TREE_CALL && functor_is_member(t, hpc_tree_first(t, i)))
            return true;
    return false;
}

/* All that happens to a local object is that it is called. */
static bool is_only_called(const hpc_tree *t, int32_t v)
{
    const int32_t function = function_around(t, t->symbol[v].node);
    if (!(t->symbol[v].flags & HPC_SYMBOL_LOCAL)) return false;
    for (int32_t i = function; i < t->node[function].end; i++) {
        if (t->node[i].kind == HPC_TREE_LAMBDA) return false;
        if (t->node[i].kind != HPC_TREE_NAME || t->node[i].symbol != v) continue;
        const int32_t call = t->node[i].parent;
        if (t->node[call].kind != HPC_TREE_CALL || hpc_tree_child(t, call, 1) != i ||
            !functor_method(t, call) || calls_own_method(t, functor_method(t, call)))
            return false;
    }
    return true;
}

/* A variable that keeps its value from a node to the end of its function. */
static bool is_kept(const hpc_tree *t, int32_t v, int32_t from)
{
    const int32_t end = t->node[function_around(t, from)].end;
    if (!(t->symbol[v].flags & HPC_SYMBOL_LOCAL) && !(t->symbol[v].flags & HPC_SYMBOL_KNOWN))
        return false;
    if (kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE) return false;
    for (int32_t i = t->symbol[v].node; i >= 0 && i < from; i++) /* what keeps its address */
        if ((t->node[i].kind == HPC_TREE_LAMBDA && is_name_assigned(t, v, i, t->node[i].end)) ||
            (name_assigned_by(t, i) == v && t->node[i].kind == HPC_TREE_UNARY &&
             t->node[i].op == '&') ||
            (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == v &&
             (t->node[i].flags & HPC_TREE_BY_REFERENCE)))
            return false;
    for (int32_t i = from; i < end; i++) {
        if (name_assigned_by(t, i) == v) return false;
        if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == v &&
            (t->node[i].flags & HPC_TREE_BY_REFERENCE))
            return false;
    }
    return true;
}

/* An initialiser of a member that means the same wherever the object is called. */
static bool is_kept_value(const hpc_tree *t, int32_t e, int32_t field)
{
    const bool refers = kind_of(t, t->symbol[field].type) == HPC_TYPE_REFERENCE;
    if (refers) return t->node[e].kind == HPC_TREE_NAME && functor_is_object(t, e);
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        if (n->kind == HPC_TREE_NUMBER || n->kind == HPC_TREE_FLOAT || n->kind == HPC_TREE_BINARY)
            continue;
        if (n->kind != HPC_TREE_NAME || n->symbol < 0) return false;
        const bool array = kind_of(t, t->symbol[n->symbol].type) == HPC_TYPE_ARRAY;
        if (!array && !is_kept(t, n->symbol, e)) return false;
    }
    return true;
}

/* A method assigns the member of its object, or takes its address. */
static bool is_stored(const hpc_tree *t, int32_t field)
{
    for (int32_t i = 1; i < t->n; i++) {
        const hpc_tree_node *n = &t->node[i];
        if (n->symbol != field || !functor_is_member(t, i)) continue;
        const hpc_tree_node *up = &t->node[n->parent];
        const bool first = n->parent + 1 == i;
        const bool steps =
            up->kind == HPC_TREE_UNARY &&
            ((up->op >= HPC_OP_PRE_INCREMENT && up->op <= HPC_OP_POST_DECREMENT) || up->op == '&');
        if ((first && (up->kind == HPC_TREE_ASSIGN || steps)) || (n->flags & HPC_TREE_BY_REFERENCE))
            return true;
    }
    return false;
}

/* The expression in braces that a member of a local object always has; 0. */
int32_t functor_value(const hpc_tree *t, int32_t object, int32_t field)
{
    const int32_t v = t->node[object].symbol, at = t->symbol[v].node;
    const int64_t number = t->symbol[field].value % HPC_FIELDS,
                  fields = t->symbol[field].value / HPC_FIELDS;
    if (t->symbol[field].kind != HPC_SYMBOL_FIELD || number == 0 || at < 0) return 0;
    if (kind_of(t, t->symbol[field].type) != HPC_TYPE_REFERENCE && is_stored(t, field)) return 0;
    if (kind_of(t, t->symbol[v].type) != HPC_TYPE_RECORD || t->node[at].kind != HPC_TREE_VARIABLE)
        return 0;
    const int32_t list = hpc_tree_first(t, at);
    if (!list || t->node[list].kind != HPC_TREE_LIST || hpc_tree_child(t, list, (int)fields))
        return 0;
    const int32_t e = hpc_tree_child(t, list, (int)number - 1);
    if (!hpc_tree_child(t, list, (int)fields - 1) || !e) return 0;
    return is_only_called(t, v) && is_kept_value(t, e, field) ? e : 0;
}
