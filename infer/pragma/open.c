/*
 * open.c: elements of objects of open types, and calls that depend on them. An indexed object acts
 * as a pointer does, with its variable or member as the base.
 */
#include "infer/pragma/open.h"

#include <string.h>

#include "infer/pragma/inline.h"

static bool is_open_node(const hpc_tree *t, int32_t e)
{
    return is_open_type(t, t->node[e].type);
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool is_changed(const walk *w, int32_t v)
{
    const hpc_tree *t = w->t;
    for (int32_t i = w->loop->node; i < t->node[w->loop->node].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        const int32_t c = hpc_tree_first(t, i);
        const bool steps = n->kind == HPC_TREE_UNARY && n->op >= HPC_OP_PRE_INCREMENT &&
                           n->op <= HPC_OP_POST_DECREMENT;
        if ((n->kind == HPC_TREE_ASSIGN || steps) && c && t->node[c].kind == HPC_TREE_NAME &&
            t->node[c].symbol == v)
            return true;
    }
    return false;
}

static bool object_of_variable(place *out, const walk *w, int32_t v)
{
    if (v < 0 || is_inside(w->loop, v) || is_changed(w, v)) return false;
    if (w->t->symbol[v].kind != HPC_SYMBOL_VARIABLE && w->t->symbol[v].kind != HPC_SYMBOL_PARAMETER)
        return false;
    *out = (place){.base = atom_symbol(w->prover, v), .type = w->t->symbol[v].type};
    return out->base >= 0;
}

/* The object that a reference is bound to. */
static bool object_at(place *out, walk *w, const place *p)
{
    if (p->base < 0) return false;
    const atom *x = &w->prover->atoms[p->base];
    if (x->kind == ATOM_OBJECT && p->n == 0) return object_of_variable(out, w, x->symbol);
    if (x->kind == ATOM_OBJECT && is_inside(w->loop, x->symbol)) return false;
    if (p->n > 0 && p->step[p->n - 1].field == STEP_INDEX) {
        *out = *p;
        return true;
    }
    const poly *handle = settled_member(w, p);
    if (!handle) return false;
    *out = (place){.base = handle->t[0].atom[0], .type = p->type};
    return true;
}

static bool object_of_name(place *out, walk *w, int32_t e)
{
    const int32_t v = w->t->node[e].symbol;
    if (v < 0) return false;
    const binding *bound = w->bindings ? binding_of(w, v) : NULL;
    if (bound) return bound->by_place && object_at(out, w, &bound->place);
    const int32_t k = slot_index(w->loop, v);
    if (k >= 0 && w->now[k].refers) return object_at(out, w, w->now[k].refers);
    return object_of_variable(out, w, v);
}

static bool object_of(place *out, walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    const int32_t c = hpc_tree_first(t, e);
    place p;
    switch (t->node[e].kind) {
    case HPC_TREE_NAME: return object_of_name(out, w, e);
    case HPC_TREE_MEMBER: place_of(&p, w, e); return object_at(out, w, &p);
    case HPC_TREE_INDEX: place_of(out, w, e); return out->base >= 0;
    case HPC_TREE_CALL: return open_element(out, w, e);
    case HPC_TREE_UNARY:
        if (t->node[e].op != '*' || !c) return false;
        if (is_open_node(t, c)) return object_of(out, w, c);
        place_of(out, w, e);
        return out->base >= 0;
    default: return false;
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool add_index(place *p, walk *w, int32_t e)
{
    if (p->n == PLACE_STEPS) return false;
    w->indexing++;
    const poly *index = value_of(w, e);
    w->indexing--;
    p->step[p->n++] = (place_step){.field = STEP_INDEX, .index = index};
    return true;
}

/* f(i) of an object f. */
static bool is_object_call(const hpc_tree *t, int32_t call)
{
    const int32_t callee = hpc_tree_first(t, call), v = callee ? t->node[callee].symbol : -1;
    if (!callee || !is_open_node(t, callee) || !hpc_tree_next(t, callee)) return false;
    if (t->node[call].flags & HPC_TREE_OPERATOR) return false;
    if (t->node[callee].kind == HPC_TREE_MEMBER)
        return v >= 0 && t->symbol[v].kind == HPC_SYMBOL_FIELD;
    return t->node[callee].kind == HPC_TREE_NAME && v >= 0 &&
           (t->symbol[v].kind == HPC_SYMBOL_VARIABLE || t->symbol[v].kind == HPC_SYMBOL_PARAMETER);
}

bool open_element(place *out, walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    const int32_t of = hpc_tree_first(t, e);
    const bool index = t->node[e].kind == HPC_TREE_INDEX;
    if (!w->loop->open || !of || !is_open_node(t, of)) return false;
    if (!index && (t->node[e].kind != HPC_TREE_CALL || !is_object_call(t, e))) return false;
    if (!object_of(out, w, of)) return false;
    for (int32_t c = hpc_tree_next(t, of); c; c = hpc_tree_next(t, c))
        if (!add_index(out, w, c)) return false;
    out->type = t->node[e].type;
    return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A read of any part of an object of an open type. */
static void read_whole(walk *w, int32_t e)
{
    place p;
    const bool names = w->t->node[e].kind == HPC_TREE_NAME || w->t->node[e].kind == HPC_TREE_MEMBER;
    if (!names || !is_open_node(w->t, e) || !object_of(&p, w, e)) {
        value_of(w, e);
        return;
    }
    if (p.n < PLACE_STEPS) p.step[p.n++] = (place_step){.field = STEP_INDEX};
    p.type = -1;
    access_add(w, &p, e, false, 0);
}

static void read_argument(walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    const int32_t type = bare_type(t, t->node[e].type);
    place p;
    if (kind_of(t, type) != HPC_TYPE_POINTER && kind_of(t, type) != HPC_TYPE_ARRAY) {
        read_whole(w, e);
        return;
    }
    place_behind(&p, w, value_of(w, e), t->type[type].to);
    if (p.base >= 0 && p.n > 0 && p.step[p.n - 1].field == STEP_INDEX)
        p.step[p.n - 1] = (place_step){.field = STEP_INDEX};
    access_add(w, &p, e, false, 0);
}

/* The number of elements, which no write to an element changes. */
static bool is_size(const hpc_tree *t, int32_t callee)
{
    static const char names[] = " size length empty capacity rows cols nrows ncols extent ";
    const char *name = symbol_name(t, t->node[callee].symbol);
    const size_t n = strlen(name);
    for (const char *p = names; n > 0 && (p = strstr(p, name)) != NULL; p += n)
        if (p[-1] == ' ' && p[n] == ' ') return true;
    return false;
}

bool is_open_call(const walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    const int32_t callee = hpc_tree_first(t, call);
    if (!w->loop->open || t->node[call].kind != HPC_TREE_CALL || t->node[call].symbol >= 0)
        return false;
    if (!callee || !is_open_node(t, call)) return false;
    if (t->node[callee].kind != HPC_TREE_NAME && t->node[callee].kind != HPC_TREE_MEMBER)
        return false;
    for (int32_t c = hpc_tree_next(t, callee); c; c = hpc_tree_next(t, c)) {
        const hpc_tree_node *n = &t->node[c];
        if (n->kind == HPC_TREE_LAMBDA || (n->kind == HPC_TREE_UNARY && n->op == '&')) return false;
    }
    return true;
}

static bool is_value_used(const hpc_tree *t, int32_t call)
{
    const int32_t up = t->node[call].parent;
    switch (t->node[up].kind) {
    case HPC_TREE_BLOCK:
    case HPC_TREE_CASE:
    case HPC_TREE_LABEL:
    case HPC_TREE_OTHER: return false;
    case HPC_TREE_IF:
    case HPC_TREE_WHILE:
    case HPC_TREE_SWITCH: return call == hpc_tree_first(t, up);
    case HPC_TREE_FOR: return call == hpc_tree_child(t, up, 1);
    case HPC_TREE_RANGE: return call == hpc_tree_child(t, up, 1);
    case HPC_TREE_BINARY: return t->node[up].op != ',';
    case HPC_TREE_CAST: return kind_of(t, t->node[up].type) != HPC_TYPE_VOID;
    default: return true;
    }
}

bool open_call(walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    if (!is_open_call(w, call) || !is_value_used(t, call)) return false;
    const int32_t callee = hpc_tree_first(t, call),
                  object = t->node[callee].kind == HPC_TREE_MEMBER ? hpc_tree_first(t, callee) : 0;
    if (object && !is_size(t, callee)) read_whole(w, object);
    for (int32_t c = hpc_tree_next(t, callee); c; c = hpc_tree_next(t, c)) read_argument(w, c);
    return true;
}
