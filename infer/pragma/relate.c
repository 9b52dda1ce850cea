/*
 * relate.c: alias analysis of two places by their objects, by `restrict`, and by their types.
 */
#include <string.h>

#include "infer/pragma/relate.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* True if one object may be accessed as either type, by the aliasing rules; true if unknown. */
static bool is_compatible(const hpc_tree *t, int32_t a, int32_t b)
{
    uint8_t x = kind_of(t, a), y = kind_of(t, b);
    if (x == HPC_TYPE_UNKNOWN || y == HPC_TYPE_UNKNOWN) return true;
    if (x == HPC_TYPE_VOID || y == HPC_TYPE_VOID) return true;
    if ((t->type[a].flags | t->type[b].flags) & HPC_TYPE_CHARACTER) return true;
    if (x == HPC_TYPE_RECORD || y == HPC_TYPE_RECORD) return true; /* may hold the other */
    if (x == HPC_TYPE_ARRAY || y == HPC_TYPE_ARRAY) return true;
    if (x != y) return false;
    if (x == HPC_TYPE_POINTER) return true;
    return t->type[a].bytes == t->type[b].bytes;
}

/* ---- where pointers come from -------------------------------------------------------------------
 */

static bool allocates(const program *f, int32_t e)
{
    const hpc_tree *t = f->t;
    while (t->node[e].kind == HPC_TREE_CAST) {
        int32_t c = hpc_tree_first(t, e);
        while (c && hpc_tree_next(t, c)) c = hpc_tree_next(t, c);
        if (!c) return false;
        e = c;
    }
    if (t->node[e].kind == HPC_TREE_NEW) return true;
    return t->node[e].kind == HPC_TREE_CALL &&
           call_known_of(t, t->node[e].symbol) == CALL_ALLOCATES;
}

/* True if a pointer variable only ever holds newly allocated memory, and only calls receive a copy
 * of the pointer. */
static bool is_fresh(const program *f, int32_t v)
{
    const hpc_tree *t = f->t;
    const hpc_symbol *x = &t->symbol[v];
    const symbol_use *u = &f->use[v];
    if (!(x->flags & HPC_SYMBOL_LOCAL) || x->node < 0 || u->addressed || u->writes_n > 1)
        return false;
    if (t->node[x->node].kind != HPC_TREE_VARIABLE) return false;
    int32_t first = hpc_tree_first(t, x->node);
    if (u->writes_n == 0) return first && allocates(f, first);
    if (first && !(t->node[first].kind == HPC_TREE_NUMBER ||
                   (t->node[first].kind == HPC_TREE_CAST && hpc_tree_first(t, first) &&
                    t->node[hpc_tree_first(t, first)].kind == HPC_TREE_NUMBER)))
        return false;
    return t->node[u->write].kind == HPC_TREE_ASSIGN && t->node[u->write].op == '=' &&
           allocates(f, hpc_tree_child(t, u->write, 1));
}

static bool is_settled_parameter(const program *f, int32_t v)
{
    return f->t->symbol[v].kind == HPC_SYMBOL_PARAMETER && f->use[v].writes_n == 0 &&
           !f->use[v].addressed;
}

static bool is_restrict(const program *f, int32_t v)
{
    int32_t type = f->t->symbol[v].type;
    return type >= 0 && (f->t->type[type].flags & HPC_TYPE_RESTRICT);
}

/* ---- objects ------------------------------------------------------------------------------------
 */

typedef enum source {
    SOURCE_LOCAL,    /* a variable of the function */
    SOURCE_GLOBAL,   /* any other variable */
    SOURCE_FRESH,    /* memory that the function allocated */
    SOURCE_RESTRICT, /* what a restrict parameter points to */
    SOURCE_ARGUMENT, /* what a parameter points to */
    SOURCE_REFERENCE,
    SOURCE_OTHER
} source;

static source source_of(const program *f, const atom *a)
{
    const hpc_tree *t = f->t;
    if (a->kind == ATOM_OBJECT) {
        const hpc_symbol *v = &t->symbol[a->symbol];
        if (kind_of(t, v->type) == HPC_TYPE_REFERENCE) return SOURCE_REFERENCE;
        bool local = (v->flags & HPC_SYMBOL_LOCAL) && !(v->flags & HPC_SYMBOL_STATIC);
        return local ? SOURCE_LOCAL : SOURCE_GLOBAL;
    }
    if (a->kind == ATOM_OPAQUE && a->op == 'F') return SOURCE_FRESH;
    if (a->kind != ATOM_SYMBOL) return SOURCE_OTHER;
    if (is_restrict(f, a->symbol) && f->use[a->symbol].writes_n == 0) return SOURCE_RESTRICT;
    if (is_fresh(f, a->symbol)) return SOURCE_FRESH;
    if (is_settled_parameter(f, a->symbol)) return SOURCE_ARGUMENT;
    return SOURCE_OTHER;
}

/* Two pointers, neither the same atom. */
static relation relate_pointers(const program *f, const atom *a, source x, const atom *b, source y)
{
    if (x == SOURCE_RESTRICT || y == SOURCE_RESTRICT) {
        const atom *other = x == SOURCE_RESTRICT ? b : a, *own = x == SOURCE_RESTRICT ? a : b;
        source from = x == SOURCE_RESTRICT ? y : x;
        bool apart = from != SOURCE_OTHER || !f->use[own->symbol].copied;
        return apart && other ? RELATION_APART : RELATION_MAYBE;
    }
    bool fresh_a = x == SOURCE_FRESH, fresh_b = y == SOURCE_FRESH;
    if (fresh_a && fresh_b) return RELATION_APART;
    if ((fresh_a && y == SOURCE_ARGUMENT) || (fresh_b && x == SOURCE_ARGUMENT))
        return RELATION_APART;
    if (fresh_a && a->kind == ATOM_SYMBOL && !f->use[a->symbol].copied) return RELATION_APART;
    if (fresh_b && b->kind == ATOM_SYMBOL && !f->use[b->symbol].copied) return RELATION_APART;
    return RELATION_MAYBE;
}

/* True if a pointer, or a reference in an object, may lead to a variable. */
static bool may_be_led_to(const program *f, const atom *object)
{
    return f->use[object->symbol].addressed || f->use[object->symbol].bound;
}

/* A variable and what a pointer leads to. */
static relation relate_object(const program *f, const atom *object, source x, source pointer)
{
    if (x == SOURCE_REFERENCE) return pointer == SOURCE_FRESH ? RELATION_APART : RELATION_MAYBE;
    if (pointer == SOURCE_FRESH || pointer == SOURCE_RESTRICT) return RELATION_APART;
    if (x == SOURCE_LOCAL && pointer == SOURCE_ARGUMENT) return RELATION_APART;
    if (!may_be_led_to(f, object) && x == SOURCE_LOCAL) return RELATION_APART;
    if (!may_be_led_to(f, object) && x == SOURCE_GLOBAL &&
        (f->t->symbol[object->symbol].flags & HPC_SYMBOL_INTERNAL))
        return RELATION_APART;
    return RELATION_MAYBE;
}

bool is_container_place(const place *p)
{
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field == STEP_CONTENT) return true;
    return false;
}

/* Elements of a container, or all of one. */
static bool holds_elements(const hpc_tree *t, const place *p)
{
    return is_container_place(p) || container_of(t, p->type) != CONTAINER_NONE;
}

bool is_open_base(const prover *pr, int32_t base)
{
    const atom *a = &pr->atoms[base];
    if (a->kind == ATOM_SYMBOL) return is_open_type(pr->t, pr->t->symbol[a->symbol].type);
    return a->kind == ATOM_LOAD && is_open_type(pr->t, a->place->type);
}

/* Objects of an open type may share memory with all but what the function keeps to itself. */
static relation relate_open(const program *f, const atom *a, source x, const atom *b, source y)
{
    if (x == SOURCE_LOCAL && a->kind == ATOM_OBJECT && !may_be_led_to(f, a)) return RELATION_APART;
    if (y == SOURCE_LOCAL && b->kind == ATOM_OBJECT && !may_be_led_to(f, b)) return RELATION_APART;
    return RELATION_MAYBE;
}

static relation relate_sources(const program *f, const prover *pr, const place *p, const place *q)
{
    const atom *a = &pr->atoms[atom_untyped(pr, p->base)],
               *b = &pr->atoms[atom_untyped(pr, q->base)];
    if (a == b) return RELATION_MAYBE; /* one pointer under two types */
    source x = source_of(f, a), y = source_of(f, b);
    const bool open = is_open_base(pr, p->base) || is_open_base(pr, q->base);
    if (open && x != SOURCE_RESTRICT && y != SOURCE_RESTRICT) return relate_open(f, a, x, b, y);
    bool object_a = a->kind == ATOM_OBJECT, object_b = b->kind == ATOM_OBJECT;
    bool both_hold = is_container_place(p) && is_container_place(q);
    if (object_a && object_b) {
        if (x != SOURCE_REFERENCE && y != SOURCE_REFERENCE) return RELATION_APART;
        const source other = x == SOURCE_REFERENCE ? y : x;
        const atom *o = x == SOURCE_REFERENCE ? b : a;
        if (other == SOURCE_LOCAL && !may_be_led_to(f, o)) return RELATION_APART;
        if (other == SOURCE_LOCAL &&
            f->t->symbol[(x == SOURCE_REFERENCE ? a : b)->symbol].kind == HPC_SYMBOL_PARAMETER)
            return RELATION_APART;
        int32_t p_type = bare_type(f->t, f->t->symbol[a->symbol].type),
                q_type = bare_type(f->t, f->t->symbol[b->symbol].type);
        bool same_kind =
            p_type >= 0 && q_type >= 0 && f->t->type[p_type].name == f->t->type[q_type].name;
        return both_hold && same_kind ? RELATION_EITHER : RELATION_MAYBE;
    }
    if (holds_elements(f->t, p) != holds_elements(f->t, q))
    { /* a container's own memory, and a pointer */
        const atom *other = holds_elements(f->t, p) ? b : a;
        if (source_of(f, other) == SOURCE_LOCAL || source_of(f, other) == SOURCE_FRESH)
            return RELATION_APART;
        return RELATION_MAYBE;
    }
    if (object_a) return relate_object(f, a, x, y);
    if (object_b) return relate_object(f, b, y, x);
    return relate_pointers(f, a, x, b, y);
}

bool field_in_union(const hpc_tree *t, int32_t field)
{
    return t->symbol[field].flags & HPC_SYMBOL_OVERLAID;
}

static bool through_union(const program *f, const place *p)
{
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field >= 0 && field_in_union(f->t, p->step[k].field)) return true;
    return false;
}

relation relate(const program *f, const prover *pr, const place *p, const place *q)
{
    bool punned = through_union(f, p) || through_union(f, q);
    if (!punned && !is_compatible(f->t, p->type, q->type)) return RELATION_APART;
    if (p->base < 0 || q->base < 0) return RELATION_MAYBE;
    if (p->base == q->base) return RELATION_SAME; /* a whole object has its container's elements */
    return relate_sources(f, pr, p, q);
}
