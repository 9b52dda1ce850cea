/*
 * place.c: places of lvalues: steps from a variable or from a pointer.
 */
#include <string.h>

#include "infer/pragma/container.h"
#include "infer/pragma/inline.h"
#include "infer/pragma/open.h"

static bool add_step(place *p, int32_t field, const poly *index)
{
    if (p->n == PLACE_STEPS) return false;
    p->step[p->n++] = (place_step){.field = field, .index = index};
    return true;
}

/* The only atom of a sum that is a pointer; -1: no pointer, or several. */
static int32_t pointer_in(const walk *w, const poly *p)
{
    int32_t best = -1;
    for (int32_t i = 0; p && i < p->n; i++) {
        int32_t a = p->t[i].atom[0];
        if (a < 0 || p->t[i].atom[1] >= 0) continue;
        const atom *x = &w->prover->atoms[a];
        bool is = x->kind == ATOM_THIS || x->kind == ATOM_POINT ||
                  (x->kind == ATOM_SYMBOL &&
                   kind_of(w->t, w->t->symbol[x->symbol].type) == HPC_TYPE_POINTER) ||
                  (x->kind == ATOM_LOAD && kind_of(w->t, x->place->type) == HPC_TYPE_POINTER) ||
                  (x->kind == ATOM_OPAQUE && x->node >= 0 &&
                   (kind_of(w->t, w->t->node[x->node].type) == HPC_TYPE_POINTER ||
                    w->t->node[x->node].kind == HPC_TREE_STRING));
        if (!is) continue;
        if (best >= 0 || p->t[i].c != 1) return -1;
        best = a;
    }
    return best;
}

/* The declared target of a pointer that the loop does not change; -1: unknown. */
static int32_t declared_target(const walk *w, const atom *a)
{
    int32_t type = a->kind == ATOM_SYMBOL ? w->t->symbol[a->symbol].type
                   : a->kind == ATOM_LOAD ? a->place->type
                                          : -1;
    type = bare_type(w->t, type);
    return kind_of(w->t, type) == HPC_TYPE_POINTER ? w->t->type[type].to : -1;
}

static bool nowhere(place *out, int32_t type)
{
    *out = (place){.base = -1, .type = type};
    return true;
}

bool place_behind(place *out, walk *w, const poly *pointer, int32_t type)
{
    int32_t base = pointer_in(w, pointer);
    int64_t c;
    if (base < 0) return nowhere(out, type);
    const poly *rest = poly_less(w->prover, pointer, poly_atom(w->prover, base));
    if (kind_of(w->t, declared_target(w, &w->prover->atoms[base])) == HPC_TYPE_VOID &&
        kind_of(w->t, type) != HPC_TYPE_VOID && type >= 0)
        base = atom_as(w->prover, base, type);
    if (base < 0) return nowhere(out, type);
    if (w->prover->atoms[base].kind != ATOM_POINT) {
        *out = (place){.base = base, .n = 1, .type = type};
        out->step[0] = (place_step){.field = STEP_INDEX, .index = rest};
        return true;
    }
    *out = *w->prover->atoms[base].place;
    out->type = type;
    if (out->n > 0 && out->step[out->n - 1].field == STEP_INDEX)
        out->step[out->n - 1] = (place_step){
            .field = STEP_INDEX, .index = poly_sum(w->prover, out->step[out->n - 1].index, rest)};
    else if (!poly_is_number(rest, &c) || c != 0)
        return nowhere(out, type);
    return true;
}

static bool place_of_name(place *out, walk *w, int32_t e)
{
    int32_t v = w->t->node[e].symbol;
    if (v < 0) return nowhere(out, w->t->node[e].type);
    const binding *bound = w->bindings ? binding_of(w, v) : NULL;
    if (bound) {
        *out = bound->by_place ? bound->place : (place){.base = -1, .type = w->t->node[e].type};
        return true;
    }
    int32_t k = slot_index(w->loop, v);
    if (k >= 0 && w->now[k].refers) {
        *out = *w->now[k].refers;
        return true;
    }
    *out = (place){.base = atom_object(w->prover, v), .type = w->t->node[e].type};
    return true;
}

/* Memory that a member leads to if it is a reference, as a pointer in the object does. */
static bool behind_reference(place *out, walk *w, const place *member, int32_t node)
{
    const int32_t type = w->t->node[node].type;
    access_add(w, member, node, false, 0);
    *out = (place){.base = atom_load(w->prover, member), .n = 1, .type = type};
    out->step[0] = (place_step){.field = STEP_INDEX, .index = poly_number(w->prover, 0)};
    return out->base >= 0 || nowhere(out, type);
}

static bool place_of_member(place *out, walk *w, int32_t e)
{
    const hpc_tree_node *n = &w->t->node[e];
    int32_t c = hpc_tree_first(w->t, e);
    bool through = n->op == '>' || (c && w->t->node[c].kind == HPC_TREE_THIS);
    if (!c || n->symbol < 0) return nowhere(out, n->type);
    const bool open = w->loop->open && w->t->symbol[n->symbol].kind == HPC_SYMBOL_OTHER;
    if (w->t->symbol[n->symbol].kind != HPC_SYMBOL_FIELD && !open) { /* a static member */
        *out = (place){.base = atom_object(w->prover, n->symbol), .type = n->type};
        return true;
    }
    if (through)
        place_behind(out, w, value_of(w, c), record_of(w->t, c));
    else
        place_of(out, w, c);
    out->type = n->type;
    if (out->base < 0) return true;
    if (!add_step(out, n->symbol, NULL)) return nowhere(out, n->type);
    place member = *out;
    member.type = w->t->symbol[n->symbol].type;
    return kind_of(w->t, member.type) != HPC_TYPE_REFERENCE || behind_reference(out, w, &member, e);
}

static const poly *index_of(walk *w, int32_t e)
{
    w->indexing++;
    const poly *p = value_of(w, e);
    w->indexing--;
    return p;
}

static bool place_of_index(place *out, walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    int32_t a = hpc_tree_child(t, e, 0), i = hpc_tree_child(t, e, 1), type = t->node[e].type;
    if (!a || !i) return nowhere(out, type);
    if (w->loop->open && is_open_type(t, t->node[a].type))
        return open_element(out, w, e) || nowhere(out, type);
    if (kind_of(t, t->node[a].type) == HPC_TYPE_INTEGER) { /* i[a] */
        int32_t b = a;
        a = i;
        i = b;
    }
    if (kind_of(t, bare_type(t, t->node[a].type)) != HPC_TYPE_ARRAY)
        return place_behind(out, w, poly_sum(w->prover, value_of(w, a), index_of(w, i)), type);
    place_of(out, w, a);
    const bool whole = is_all_elements(t, i);
    const poly *index = whole ? poly_atom(w->prover, atom_opaque(w->prover, i)) : index_of(w, i);
    out->type = type;
    if (out->base < 0) return true;
    if (!add_step(out, STEP_INDEX, index)) return nowhere(out, type);
    out->step[out->n - 1].whole = whole;
    return true;
}

/* at() throws where its index is too large, and an exception ends the loop early. */
static void assume_at(walk *w, int32_t e)
{
    const char *text =
        hpc_arena_text(w->loop->p->out, "%s does not throw", node_text(w->loop->p, e));
    if (text) answer_assume(w->answer, text, NULL);
}

bool place_of_call(place *out, walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[e];
    int32_t callee = hpc_tree_child(t, e, 0), object = 0, index = 0;
    const char *name = n->symbol >= 0 ? symbol_name(w->t, n->symbol) : "";
    if (container_end(out, w, e)) return true;
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
        place_behind(out, w, value_of(w, object), record_of(t, object));
    else
        place_of(out, w, object);
    const poly *i = index_of(w, index);
    if (callee && t->node[callee].kind == HPC_TREE_MEMBER && !w->answer->muted) assume_at(w, e);
    out->type = bare_type(t, n->type);
    return out->base < 0 || (add_step(out, STEP_CONTENT, NULL) && add_step(out, STEP_INDEX, i)) ||
           nowhere(out, n->type);
}

/* f(i, j) that returns a reference to an element. */
static bool place_inlined(place *out, walk *w, int32_t call)
{
    inlined in;
    int32_t v = w->t->node[call].symbol;
    if (v < 0 || kind_of(w->t, w->t->symbol[v].type) != HPC_TYPE_REFERENCE) return false;
    if (!inline_begin(&in, w, call)) return false;
    place_of(out, w, in.e);
    inline_end(&in, w);
    out->type = bare_type(w->t, w->t->node[call].type); /* where a template is seen, it has none */
    return true;
}

bool place_of(place *out, walk *w, int32_t e)
{
    const hpc_tree_node *n = &w->t->node[e];
    int32_t c = hpc_tree_first(w->t, e);
    switch (n->kind) {
    case HPC_TREE_NAME: return place_of_name(out, w, e);
    case HPC_TREE_MEMBER: return place_of_member(out, w, e);
    case HPC_TREE_INDEX: return place_of_index(out, w, e);
    case HPC_TREE_THIS: return nowhere(out, n->type);
    case HPC_TREE_UNARY:
        if (n->op == '*' && c) return place_behind(out, w, value_of(w, c), n->type);
        break;
    case HPC_TREE_CALL:
        if (place_of_call(out, w, e) || place_inlined(out, w, e) || open_element(out, w, e))
            return true;
        break;
    default: break;
    }
    value_of(w, e);
    return nowhere(out, n->type);
}

/* A reference that is bound to a reference which is bound to nothing yet, such as itself. */
static bool is_unbound(const walk *w, const place *p)
{
    const atom *a = p->base < 0 ? NULL : &w->prover->atoms[p->base];
    return a && a->kind == ATOM_OBJECT && slot_index(w->loop, a->symbol) >= 0 &&
           kind_of(w->t, w->t->symbol[a->symbol].type) == HPC_TYPE_REFERENCE;
}

const place *place_keep(walk *w, const place *p)
{
    place *kept = hpc_arena_alloc(w->loop->p->work, 1, sizeof *kept);
    if (!kept) {
        w->rc = HPC_E_NOMEM;
        return NULL;
    }
    *kept = *p;
    if (is_unbound(w, p)) kept->base = -1;
    return kept;
}
