/*
 * syntax.c: see syntax.h.
 */
#include "infer/pragma/syntax.h"

#include <string.h>

/* ---- types ---- */

bool is_same_type(const hpc_tree *t, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) return false;
    const hpc_tree_type *x = &t->type[a], *y = &t->type[b];
    return a == b || (x->kind == y->kind && x->bytes == y->bytes && x->name == y->name &&
                      x->to == y->to && x->n == y->n && !((x->flags ^ y->flags) & ~HPC_TYPE_CONST));
}

bool is_own_constructor(const hpc_tree *t, int32_t construct)
{
    const int32_t v = t->node[construct].symbol;
    if (v < 0 || (t->symbol[v].flags & HPC_SYMBOL_SYSTEM)) return false;
    return t->symbol[v].node >= 0 || !(t->symbol[v].flags & HPC_SYMBOL_DEFAULTED);
}

bool makes_active_object(const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i];
    int32_t type = n->type;
    while (type >= 0 && t->type[type].kind == HPC_TYPE_ARRAY) type = t->type[type].to;
    return kind_of(t, type) == HPC_TYPE_RECORD && (t->type[type].flags & HPC_TYPE_ACTIVE) &&
           (n->kind == HPC_TREE_VARIABLE || n->kind == HPC_TREE_CONSTRUCT ||
            n->kind == HPC_TREE_LIST || n->kind == HPC_TREE_CALL);
}

bool is_plain_number(const hpc_tree *t, int32_t type)
{
    uint8_t k = kind_of(t, type);
    return k == HPC_TYPE_INTEGER || k == HPC_TYPE_POINTER || k == HPC_TYPE_BOOL;
}

int32_t bare_type(const hpc_tree *t, int32_t type)
{
    while (type >= 0 && t->type[type].kind == HPC_TYPE_REFERENCE) type = t->type[type].to;
    return type;
}

bool is_open_type(const hpc_tree *t, int32_t type)
{
    type = bare_type(t, type);
    return type >= 0 && t->type[type].kind == HPC_TYPE_UNKNOWN;
}

bool in_template(const hpc_tree *t, int32_t i)
{
    for (; i > 0; i = t->node[i].parent)
        if (t->node[i].flags & HPC_TREE_TEMPLATE) return true;
    return false;
}

bool is_open_counter(const hpc_tree *t, int32_t symbol)
{
    const int32_t node = symbol < 0 ? -1 : t->symbol[symbol].node;
    if (node <= 0 || t->node[node].kind != HPC_TREE_VARIABLE) return false;
    const int32_t first = t->node[node].parent, loop = t->node[first].parent;
    return t->node[first].kind == HPC_TREE_DECLARE && t->node[loop].kind == HPC_TREE_FOR &&
           hpc_tree_first(t, loop) == first &&
           kind_of(t, t->symbol[symbol].type) == HPC_TYPE_UNKNOWN && in_template(t, node);
}

/* Recognizes library containers that keep their elements in an array of their own. */
container container_of(const hpc_tree *t, int32_t type)
{
    static const char *const names[] = {"vector<", "array<", "valarray<", "basic_string<"};
    type = bare_type(t, type);
    if (kind_of(t, type) != HPC_TYPE_RECORD) return CONTAINER_NONE;
    const char *name = t->name + t->type[type].name;
    if (strncmp(name, "std::", 5) != 0) return CONTAINER_NONE;
    name += 5;
    if (strncmp(name, "__cxx11::", 9) == 0) name += 9;
    if (strncmp(name, "vector<bool", 11) == 0 || strncmp(name, "bitset<", 7) == 0)
        return CONTAINER_BITS;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strncmp(name, names[k], strlen(names[k])) == 0) return CONTAINER_PLAIN;
    return CONTAINER_NONE;
}

bool is_view(const hpc_tree *t, int32_t type)
{
    type = bare_type(t, type);
    return kind_of(t, type) == HPC_TYPE_POINTER && (t->type[type].flags & HPC_TYPE_VIEW);
}

int32_t record_of(const hpc_tree *t, int32_t e)
{
    int32_t type = bare_type(t, t->node[e].type);
    return kind_of(t, type) == HPC_TYPE_POINTER ? t->type[type].to : type;
}

/* v.begin(), v.back(): a pointer to elements of a container or view, or an element. */
static bool is_element_call(const hpc_tree *t, int32_t call)
{
    const int32_t object = object_of_call(t, call), type = object ? record_of(t, object) : -1;
    return object && (is_view(t, t->node[object].type) || container_of(t, type) != CONTAINER_NONE);
}

bool is_all_elements(const hpc_tree *t, int32_t e)
{
    const hpc_tree_node *n = &t->node[e];
    return n->kind == HPC_TREE_CALL && n->symbol >= 0 &&
           strcmp(symbol_name(t, n->symbol), HPC_TREE_ALL_ELEMENTS) == 0;
}

int32_t root_of(const hpc_tree *t, int32_t e)
{
    for (;;) {
        const hpc_tree_node *n = &t->node[e];
        int32_t c = hpc_tree_first(t, e);
        switch (n->kind) {
        case HPC_TREE_NAME: return n->symbol;
        case HPC_TREE_MEMBER:
            if (c && t->node[c].kind == HPC_TREE_THIS) return n->symbol;
            break;
        case HPC_TREE_INDEX:
        case HPC_TREE_CAST: break;
        case HPC_TREE_UNARY:
            if (n->op != '*' && n->op != '&') return -1;
            break;
        case HPC_TREE_BINARY:
            if (n->op != '+' && n->op != '-') return -1;
            if (c && kind_of(t, t->node[c].type) == HPC_TYPE_INTEGER) c = hpc_tree_next(t, c);
            break;
        case HPC_TREE_CALL:
            if (!(n->flags & HPC_TREE_OPERATOR) && !is_element_call(t, e)) return -1;
            c = object_of_call(t, e);
            break;
        case HPC_TREE_CONSTRUCT:
            if (!is_view(t, n->type)) return -1;
            break;
        default: return -1;
        }
        if (!c) return -1;
        e = c;
    }
}

/* ---- expressions ---- */

bool tree_equal(const hpc_tree *t, int32_t a, int32_t b)
{
    if (t->node[a].end - a != t->node[b].end - b) return false;
    for (int32_t k = 0; k < t->node[a].end - a; k++) {
        const hpc_tree_node *x = &t->node[a + k], *y = &t->node[b + k];
        if (x->kind != y->kind || x->op != y->op || x->symbol != y->symbol ||
            x->value != y->value || x->end - a != y->end - b)
            return false;
        if (x->kind == HPC_TREE_FLOAT || x->kind == HPC_TREE_STRING || x->kind == HPC_TREE_OTHER)
            return false; /* the tree does not hold their values */
        if (x->kind == HPC_TREE_ASSIGN) return false;
        if (x->kind == HPC_TREE_UNARY && x->op >= HPC_OP_PRE_INCREMENT &&
            x->op <= HPC_OP_POST_DECREMENT)
            return false;
    }
    return true;
}

/* ---- assignments ---- */

int32_t name_assigned_by(const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i];
    bool steps =
        n->kind == HPC_TREE_UNARY &&
        ((n->op >= HPC_OP_PRE_INCREMENT && n->op <= HPC_OP_POST_DECREMENT) || n->op == '&');
    if (n->kind != HPC_TREE_ASSIGN && !steps) return -1;
    int32_t c = hpc_tree_first(t, i);
    return c && t->node[c].kind == HPC_TREE_NAME ? t->node[c].symbol : -1;
}

bool is_name_assigned(const hpc_tree *t, int32_t v, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++)
        if (name_assigned_by(t, i) == v) return true;
    return false;
}

/* ---- functions ---- */

int32_t function_around(const hpc_tree *t, int32_t i)
{
    int32_t up = t->node[i].parent;
    while (up > 0 && t->node[up].kind != HPC_TREE_FUNCTION && t->node[up].kind != HPC_TREE_LAMBDA)
        up = t->node[up].parent;
    return up;
}

static bool is_quiet_expression(const hpc_tree *t, int32_t e)
{
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        bool steps = n->kind == HPC_TREE_UNARY && n->op >= HPC_OP_PRE_INCREMENT &&
                     n->op <= HPC_OP_POST_DECREMENT;
        if (steps || n->kind == HPC_TREE_ASSIGN || n->kind == HPC_TREE_LAMBDA ||
            n->kind == HPC_TREE_NEW || n->kind == HPC_TREE_DELETE || n->kind == HPC_TREE_THROW ||
            n->kind == HPC_TREE_OTHER)
            return false;
    }
    return true;
}

/* The expression that a function returns, if that is all that it does; 0. */
int32_t inline_body(const hpc_tree *t, int32_t symbol)
{
    if (symbol < 0) return 0;
    const hpc_symbol *v = &t->symbol[symbol];
    if (v->kind != HPC_SYMBOL_FUNCTION || v->node < 0 || (v->flags & HPC_SYMBOL_VIRTUAL)) return 0;
    if (t->node[v->node].kind != HPC_TREE_FUNCTION || (t->node[v->node].flags & HPC_TREE_ERRORS))
        return 0;
    int32_t last = 0;
    for (int32_t c = hpc_tree_first(t, v->node); c; c = hpc_tree_next(t, c)) last = c;
    if (!last || t->node[last].kind != HPC_TREE_BLOCK) return 0;
    int32_t only = hpc_tree_first(t, last);
    if (!only || hpc_tree_next(t, only) || t->node[only].kind != HPC_TREE_RETURN) return 0;
    int32_t e = hpc_tree_first(t, only);
    return e && t->node[e].kind != HPC_TREE_NOTHING && is_quiet_expression(t, e) ? e : 0;
}

int32_t inline_arguments(const hpc_tree *t, int32_t call)
{
    int32_t v = t->node[call].symbol;
    bool method = v >= 0 && (t->symbol[v].flags & HPC_SYMBOL_METHOD);
    return hpc_tree_child(t, call, method && (t->node[call].flags & HPC_TREE_OPERATOR) ? 2 : 1);
}

int32_t object_of_call(const hpc_tree *t, int32_t call)
{
    const int32_t callee = hpc_tree_first(t, call), v = t->node[call].symbol;
    if (!callee || t->node[call].kind != HPC_TREE_CALL) return 0;
    if (t->node[call].flags & HPC_TREE_OPERATOR) return hpc_tree_next(t, callee);
    if (t->node[callee].kind == HPC_TREE_MEMBER) return hpc_tree_first(t, callee);
    return v >= 0 && strcmp(t->name + t->symbol[v].scope, "std") == 0 ? hpc_tree_next(t, callee)
                                                                      : 0;
}
