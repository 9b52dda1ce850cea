/*
 * container.c: see container.h. Elements of a container are an array that it owns. A view is a
 * pointer.
 */
#include "infer/pragma/container.h"

#include <string.h>

/* The object of a call is reached through a pointer. */
static bool has_arrow(const hpc_tree *t, int32_t call)
{
    const int32_t callee = hpc_tree_first(t, call);
    return !(t->node[call].flags & HPC_TREE_OPERATOR) && t->node[callee].kind == HPC_TREE_MEMBER &&
           t->node[callee].op == '>';
}

static bool object_place(place *out, walk *w, int32_t call)
{
    const int32_t object = object_of_call(w->t, call);
    if (!object) return false;
    if (has_arrow(w->t, call))
        place_behind(out, w, value_of(w, object), record_of(w->t, object));
    else
        place_of(out, w, object);
    return out->base >= 0;
}

static int32_t class_of_call(const hpc_tree *t, int32_t call)
{
    const int32_t object = object_of_call(t, call);
    if (!object) return -1;
    return has_arrow(t, call) ? record_of(t, object) : bare_type(t, t->node[object].type);
}

bool is_container_call(const walk *w, int32_t call)
{
    const int32_t type = class_of_call(w->t, call);
    return is_view(w->t, type) || container_of(w->t, type) != CONTAINER_NONE ||
           kind_of(w->t, type) == HPC_TYPE_ARRAY;
}

/* The number of elements; NULL: unknown. */
static const poly *size_at(walk *w, const place *object)
{
    const atom *a = object->base < 0 ? NULL : &w->prover->atoms[object->base];
    const int32_t type = object->type;
    if (kind_of(w->t, type) == HPC_TYPE_ARRAY)
        return w->t->type[type].n > 0 ? poly_number(w->prover, w->t->type[type].n) : NULL;
    if (!a || (!is_view(w->t, type) && container_of(w->t, type) == CONTAINER_NONE)) return NULL;
    const bool changes = a->kind == ATOM_OBJECT && slot_index(w->loop, a->symbol) >= 0;
    if (is_view(w->t, type) && (changes || is_stored(w, object))) return NULL;
    return poly_atom(w->prover, atom_size(w->prover, object));
}

const poly *container_size(walk *w, int32_t call)
{
    place p;
    return object_place(&p, w, call) ? size_at(w, &p) : NULL;
}

const poly *container_length(walk *w, int32_t e)
{
    place p;
    const uint8_t kind = w->t->node[e].kind;
    if (kind != HPC_TREE_NAME && kind != HPC_TREE_MEMBER) return NULL;
    place_of(&p, w, e);
    p.type = bare_type(w->t, w->t->node[e].type);
    return size_at(w, &p);
}

/* The pointer to element `index` of an object that is an expression, or that a pointer names;
 * `type`: of an element. */
static const poly *pointer_to(walk *w, int32_t object, bool arrow, const poly *index, int32_t type)
{
    const hpc_tree *t = w->t;
    const int32_t class = arrow ? record_of(t, object) : bare_type(t, t->node[object].type);
    const bool points = is_view(t, class) || kind_of(t, class) == HPC_TYPE_ARRAY;
    place p;
    if (points && !arrow) return poly_sum(w->prover, value_of(w, object), index);
    if (!points && container_of(t, class) != CONTAINER_PLAIN) return NULL;
    if (arrow)
        place_behind(&p, w, value_of(w, object), class);
    else
        place_of(&p, w, object);
    if (points) return poly_sum(w->prover, load_from(w, &p, object), index);
    if (p.base < 0 || p.n + 2 > PLACE_STEPS) return NULL;
    p.step[p.n++] = (place_step){.field = STEP_CONTENT};
    p.step[p.n++] = (place_step){.field = STEP_INDEX, .index = poly_number(w->prover, 0)};
    p.type = type;
    return poly_sum(w->prover, poly_atom(w->prover, atom_point(w->prover, &p)), index);
}

static bool is_one_of(const char *names, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = names; n > 0 && (p = strstr(p, name)) != NULL; p += n)
        if (p[-1] == ' ' && p[n] == ' ') return true;
    return false;
}

const poly *container_pointer(walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    const char *name = symbol_name(t, t->node[call].symbol);
    const int32_t type = bare_type(t, t->node[call].type), object = object_of_call(t, call),
                  argument = hpc_tree_next(t, hpc_tree_first(t, call));
    const bool begins = is_one_of(" begin cbegin data c_str ", name),
               ends = is_one_of(" end cend ", name), part = is_one_of(" subspan first ", name);
    if (!object || kind_of(t, type) != HPC_TYPE_POINTER || !(begins || ends || part)) return NULL;
    const poly *index = ends ? container_size(w, call) : poly_number(w->prover, 0);
    for (int32_t c = argument; c && part; c = hpc_tree_next(t, c)) {
        const poly *v = value_of(w, c);
        if (c == argument && strcmp(name, "subspan") == 0) index = v;
    }
    return pointer_to(w, object, has_arrow(t, call), index, t->type[type].to);
}

bool container_end(place *out, walk *w, int32_t call)
{
    const hpc_tree *t = w->t;
    const char *name = symbol_name(t, t->node[call].symbol);
    const int32_t type = bare_type(t, t->node[call].type), object = object_of_call(t, call);
    const bool front = strcmp(name, "front") == 0;
    if (!object || (!front && strcmp(name, "back") != 0) || !is_container_call(w, call))
        return false;
    const poly *index = front ? poly_number(w->prover, 0)
                              : poly_plus(w->prover, container_size(w, call), -1),
               *at = pointer_to(w, object, has_arrow(t, call), index, type);
    return at && place_behind(out, w, at, type);
}

const poly *container_view(walk *w, int32_t construct)
{
    const hpc_tree *t = w->t;
    const int32_t first = hpc_tree_first(t, construct),
                  type = bare_type(t, t->node[construct].type);
    if (!first || !is_view(t, type)) return NULL;
    for (int32_t c = hpc_tree_next(t, first); c; c = hpc_tree_next(t, c)) value_of(w, c);
    if (kind_of(t, bare_type(t, t->node[first].type)) == HPC_TYPE_POINTER)
        return value_of(w, first);
    return pointer_to(w, first, false, poly_number(w->prover, 0), t->type[type].to);
}
