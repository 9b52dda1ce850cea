/*
 * inline.c: see inline.h. Inlined functions consist of one return statement: f.nx(), g(i, j).
 */
#include "infer/pragma/inline.h"

enum { NESTED_MOST = 4 };

const binding *binding_of(const walk *w, int32_t symbol)
{
    for (const binding *b = w->bindings; b; b = b->next)
        if (b->symbol == symbol) return b;
    return NULL;
}

static bool is_lvalue(const hpc_tree *t, int32_t e)
{
    uint8_t k = t->node[e].kind;
    return k == HPC_TREE_NAME || k == HPC_TREE_INDEX || k == HPC_TREE_MEMBER ||
           k == HPC_TREE_CALL || (k == HPC_TREE_UNARY && t->node[e].op == '*');
}

/* True if a function has as many parameters as there are arguments from `arg` on. */
static bool has_parameters_for(const hpc_tree *t, int32_t function, int32_t arg)
{
    for (int32_t p = hpc_tree_first(t, function); p; p = hpc_tree_next(t, p)) {
        if (t->node[p].kind != HPC_TREE_VARIABLE) return t->node[p].kind == HPC_TREE_BLOCK && !arg;
        if (!arg) return false;
        arg = hpc_tree_next(t, arg);
    }
    return false;
}

static bool bind(walk *w, binding *out, int32_t parameter, int32_t arg, const binding *next)
{
    const hpc_tree *t = w->t;
    int32_t v = t->node[parameter].symbol;
    bool reference = kind_of(t, t->node[parameter].type) == HPC_TYPE_REFERENCE;
    uint8_t kind = kind_of(t, bare_type(t, t->node[arg].type));
    *out = (binding){.symbol = v, .next = next};
    if (is_lvalue(t, arg) && (reference || kind == HPC_TYPE_RECORD)) {
        out->by_place = true;
        place_of(&out->place, w, arg);
    } else {
        out->is = value_of(w, arg);
    }
    return v >= 0;
}

/* The object of a method's call; false when it is not known where it is. */
bool inline_object(place *out, walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[call];
    int32_t callee = hpc_tree_first(t, call);
    if (n->flags & HPC_TREE_OPERATOR) {
        int32_t object = hpc_tree_child(t, call, 1);
        if (!object) return false;
        place_of(out, w, object);
    } else {
        int32_t object = callee ? hpc_tree_first(t, callee) : 0;
        if (!object || t->node[callee].kind != HPC_TREE_MEMBER) return false;
        if (t->node[callee].op == '>' || t->node[object].kind == HPC_TREE_THIS)
            place_behind(out, w, value_of(w, object), record_of(t, object));
        else
            place_of(out, w, object);
    }
    return out->base >= 0;
}

bool inline_begin(inlined *in, walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    int32_t v = t->node[call].symbol, e = inline_body(t, v), arg = inline_arguments(t, call), k = 0;
    if (!e || w->inlining == NESTED_MOST || !has_parameters_for(t, t->symbol[v].node, arg))
        return false;
    *in = (inlined){.e = e, .bindings = w->bindings, .self = w->self, .at = w->inlined_at};
    const place *self = w->self;
    const binding *list = w->bindings;
    if (t->symbol[v].flags & HPC_SYMBOL_METHOD) {
        if (!inline_object(&in->object, w, call)) return false;
        self = &in->object;
    }
    for (int32_t p = hpc_tree_first(t, t->symbol[v].node); arg; p = hpc_tree_next(t, p)) {
        if (k == INLINE_ARGUMENTS || !bind(w, &in->argument[k], p, arg, list)) return false;
        list = &in->argument[k++];
        arg = hpc_tree_next(t, arg);
    }
    w->bindings = list;
    w->self = self;
    if (w->inlining++ == 0) w->inlined_at = call;
    return true;
}

void inline_end(const inlined *in, walk *w)
{
    w->bindings = in->bindings;
    w->self = in->self;
    w->inlined_at = in->at;
    w->inlining--;
}
