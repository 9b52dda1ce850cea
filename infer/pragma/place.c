/*
 * place.c: where in memory an lvalue lies, as steps from a variable or from a pointer.
 */
#include <string.h>

#include "infer/pragma/inline.h"

static bool add_step(place *p, int32_t field, const poly *index)
{
    if (p->n == PLACE_STEPS) return false;
    p->step[p->n++] = (place_step){.field = field, .index = index};
    return true;
}

/* The one atom of a sum that is a pointer; -1 when there is none, or more. */
static int32_t pointer_in(const study *s, const poly *p)
{
    int32_t best = -1;
    for (int32_t i = 0; p && i < p->n; i++) {
        int32_t a = p->t[i].atom[0];
        if (a < 0 || p->t[i].atom[1] >= 0) continue;
        const atom *x = &s->prover->atoms[a];
        bool is = x->kind == ATOM_THIS || x->kind == ATOM_POINT ||
                  (x->kind == ATOM_SYMBOL &&
                   kind_of(s->t, s->t->symbol[x->symbol].type) == HPC_TYPE_POINTER) ||
                  (x->kind == ATOM_LOAD && kind_of(s->t, x->place->type) == HPC_TYPE_POINTER) ||
                  (x->kind == ATOM_OPAQUE && x->node >= 0 &&
                   (kind_of(s->t, s->t->node[x->node].type) == HPC_TYPE_POINTER ||
                    s->t->node[x->node].kind == HPC_TREE_STRING));
        if (!is) continue;
        if (best >= 0 || p->t[i].c != 1) return -1;
        best = a;
    }
    return best;
}

/* The declared target of a pointer that the loop does not change; -1: unknown. */
static int32_t declared_target(const study *s, const atom *a)
{
    int32_t type = a->kind == ATOM_SYMBOL ? s->t->symbol[a->symbol].type
                   : a->kind == ATOM_LOAD ? a->place->type
                                          : -1;
    type = bare_type(s->t, type);
    return kind_of(s->t, type) == HPC_TYPE_POINTER ? s->t->type[type].to : -1;
}

static bool nowhere(place *out, int32_t type)
{
    *out = (place){.base = -1, .type = type};
    return true;
}

bool place_behind(place *out, study *s, const poly *pointer, int32_t type)
{
    int32_t base = pointer_in(s, pointer);
    int64_t c;
    if (base < 0) return nowhere(out, type);
    const poly *rest = poly_less(s->prover, pointer, poly_atom(s->prover, base));
    if (kind_of(s->t, declared_target(s, &s->prover->atoms[base])) == HPC_TYPE_VOID &&
        kind_of(s->t, type) != HPC_TYPE_VOID && type >= 0)
        base = atom_as(s->prover, base, type);
    if (base < 0) return nowhere(out, type);
    if (s->prover->atoms[base].kind != ATOM_POINT) {
        *out = (place){.base = base, .n = 1, .type = type};
        out->step[0] = (place_step){.field = STEP_INDEX, .index = rest};
        return true;
    }
    *out = *s->prover->atoms[base].place;
    out->type = type;
    if (out->n > 0 && out->step[out->n - 1].field == STEP_INDEX)
        out->step[out->n - 1].index = poly_sum(s->prover, out->step[out->n - 1].index, rest);
    else if (!poly_is_number(rest, &c) || c != 0)
        return nowhere(out, type);
    return true;
}

static bool place_of_name(place *out, study *s, int32_t e)
{
    int32_t v = s->t->node[e].symbol;
    if (v < 0) return nowhere(out, s->t->node[e].type);
    const binding *bound = s->bindings ? binding_of(s, v) : NULL;
    if (bound) {
        *out = bound->by_place ? bound->place : (place){.base = -1, .type = s->t->node[e].type};
        return true;
    }
    int32_t k = slot_index(s, v);
    if (k >= 0 && s->now[k].refers) {
        *out = *s->now[k].refers;
        return true;
    }
    *out = (place){.base = atom_object(s->prover, v), .type = s->t->node[e].type};
    return true;
}

static bool place_of_member(place *out, study *s, int32_t e)
{
    const hpc_tree_node *n = &s->t->node[e];
    int32_t c = hpc_tree_first(s->t, e);
    bool through = n->op == '>' || (c && s->t->node[c].kind == HPC_TREE_THIS);
    if (!c || n->symbol < 0) return nowhere(out, n->type);
    if (s->t->symbol[n->symbol].kind != HPC_SYMBOL_FIELD) { /* a static member */
        *out = (place){.base = atom_object(s->prover, n->symbol), .type = n->type};
        return true;
    }
    if (through)
        place_behind(out, s, value_of(s, c), record_of(s->t, c));
    else
        place_of(out, s, c);
    out->type = n->type;
    return out->base < 0 || add_step(out, n->symbol, NULL) || nowhere(out, n->type);
}

static const poly *index_of(study *s, int32_t e)
{
    s->indexing++;
    const poly *p = value_of(s, e);
    s->indexing--;
    return p;
}

static bool place_of_index(place *out, study *s, int32_t e)
{
    const hpc_tree *t = s->t;
    int32_t a = hpc_tree_child(t, e, 0), i = hpc_tree_child(t, e, 1), type = t->node[e].type;
    if (!a || !i) return nowhere(out, type);
    if (kind_of(t, t->node[a].type) == HPC_TYPE_INTEGER) { /* i[a] */
        int32_t b = a;
        a = i;
        i = b;
    }
    if (kind_of(t, bare_type(t, t->node[a].type)) != HPC_TYPE_ARRAY)
        return place_behind(out, s, poly_sum(s->prover, value_of(s, a), index_of(s, i)), type);
    place_of(out, s, a);
    const poly *index = index_of(s, i);
    out->type = type;
    return out->base < 0 || add_step(out, STEP_INDEX, index) || nowhere(out, type);
}

/* at() throws where its index is too large, and an exception ends the loop early. */
static void assume_at(study *s, int32_t e)
{
    const char *text =
        hpc_arena_text(s->program->out, "%s does not throw", node_text(s->program, e));
    if (text) answer_assume(s->answer, text, NULL);
}

bool place_of_call(place *out, study *s, int32_t e)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *n = &t->node[e];
    int32_t callee = hpc_tree_child(t, e, 0), object = 0, index = 0;
    const char *name = n->symbol >= 0 ? symbol_name(s->t, n->symbol) : "";
    if (n->flags & HPC_TREE_OPERATOR) {
        object = hpc_tree_child(t, e, 1);
        index = hpc_tree_child(t, e, 2);
        if (strcmp(name, "operator[]") != 0) object = 0;
    } else if (callee && t->node[callee].kind == HPC_TREE_MEMBER && strcmp(name, "at") == 0) {
        object = hpc_tree_first(t, callee);
        index = hpc_tree_child(t, e, 1);
    }
    if (!object || !index || container_of(t, t->node[object].type) == CONTAINER_NONE) return false;
    bool arrow = callee && t->node[callee].kind == HPC_TREE_MEMBER && t->node[callee].op == '>';
    if (arrow)
        place_behind(out, s, value_of(s, object), record_of(t, object));
    else
        place_of(out, s, object);
    const poly *i = index_of(s, index);
    if (callee && t->node[callee].kind == HPC_TREE_MEMBER && !s->answer->muted) assume_at(s, e);
    out->type = bare_type(t, n->type);
    return out->base < 0 || (add_step(out, STEP_CONTENT, NULL) && add_step(out, STEP_INDEX, i)) ||
           nowhere(out, n->type);
}

/* f(i, j) that returns a reference to an element. */
static bool place_inlined(place *out, study *s, int32_t call)
{
    inlined in;
    int32_t v = s->t->node[call].symbol;
    if (v < 0 || kind_of(s->t, s->t->symbol[v].type) != HPC_TYPE_REFERENCE) return false;
    if (!inline_begin(&in, s, call)) return false;
    place_of(out, s, in.e);
    inline_end(&in, s);
    out->type = bare_type(s->t, s->t->node[call].type); /* where a template is seen, it has none */
    return true;
}

bool place_of(place *out, study *s, int32_t e)
{
    const hpc_tree_node *n = &s->t->node[e];
    int32_t c = hpc_tree_first(s->t, e);
    switch (n->kind) {
    case HPC_TREE_NAME: return place_of_name(out, s, e);
    case HPC_TREE_MEMBER: return place_of_member(out, s, e);
    case HPC_TREE_INDEX: return place_of_index(out, s, e);
    case HPC_TREE_THIS: return nowhere(out, n->type);
    case HPC_TREE_UNARY:
        if (n->op == '*' && c) return place_behind(out, s, value_of(s, c), n->type);
        break;
    case HPC_TREE_CALL:
        if (place_of_call(out, s, e) || place_inlined(out, s, e)) return true;
        break;
    default: break;
    }
    value_of(s, e);
    return nowhere(out, n->type);
}
