/*
 * origin.c: origins of pointers: the initialisers of local pointers, and the arguments of calls of
 * the function in this file.
 */
#include "infer/pragma/relate.h"

enum { CHAIN_MOST = 8 };

/* A variable, and the field by which the pointer is found in it (-1: none): s->a and s->b are
 * pointers of their own. */
typedef struct origin {
    int32_t variable, field;
} origin;

/* A member that is not the method of a call. */
static bool is_field(const hpc_tree *t, int32_t i)
{
    const int32_t v = t->node[i].symbol;
    return t->node[i].kind == HPC_TREE_MEMBER &&
           (v < 0 || t->symbol[v].kind != HPC_SYMBOL_FUNCTION);
}

/* The field next to the variable that an expression begins with: "a" of s->a->data + 1; -1. */
static int32_t field_of(const hpc_tree *t, int32_t e)
{
    int32_t field = -1;
    for (int32_t i = e; i < t->node[e].end; i++) { /* down the leftmost way */
        if (is_field(t, i)) field = t->node[i].symbol;
        if (t->node[i].kind == HPC_TREE_NAME) break;
    }
    return field;
}

static int32_t behind_casts(const hpc_tree *t, int32_t e)
{
    while (e && t->node[e].kind == HPC_TREE_CAST) {
        int32_t c = hpc_tree_first(t, e);
        while (c && hpc_tree_next(t, c)) c = hpc_tree_next(t, c);
        e = c;
    }
    return e;
}

/* What a local pointer variable ever gets comes from this one; the variable itself when that is not
 * said, -1 when it is said in a way that is not understood. */
static origin made_of(const loop_facts *l, origin o)
{
    const hpc_tree *t = l->p->t;
    for (int k = 0; k < CHAIN_MOST; k++) {
        const hpc_symbol *x = &t->symbol[o.variable];
        const symbol_use *u = &l->p->use[o.variable];
        bool local = x->kind == HPC_SYMBOL_VARIABLE && (x->flags & HPC_SYMBOL_LOCAL) &&
                     x->node >= 0 && t->node[x->node].kind == HPC_TREE_VARIABLE;
        if (!local || x->type < 0 || t->type[x->type].kind == HPC_TYPE_ARRAY) return o;
        int32_t from = hpc_tree_first(t, x->node);
        if (u->writes_n == 1 && t->node[u->write].kind == HPC_TREE_ASSIGN)
            from = hpc_tree_child(t, u->write, 1);
        from = behind_casts(t, from);
        if (from && t->node[from].kind == HPC_TREE_OTHER) return (origin){-1, -1};
        int32_t root = from ? root_of(t, from) : -1;
        if (from && root < 0 && is_view(t, x->type)) return (origin){-1, -1};
        if (root < 0 || u->writes_n > 1) return o;
        int32_t field = field_of(t, from);
        o = (origin){root, field >= 0 ? field : o.field};
    }
    return o;
}

/* The variable that a place is reached from. *made: set if a pointer derived from it leads there.
 */
static origin origin_of(const loop_facts *l, const prover *pr, const place *p, bool *made)
{
    int32_t field = -1;
    for (int k = 0; p && p->base >= 0 && k < CHAIN_MOST; k++) {
        const atom *a = &pr->atoms[atom_untyped(pr, p->base)];
        for (int32_t i = 0; k > 0 && i < p->n; i++)
            if (p->step[i].field >= 0) {
                field = p->step[i].field;
                break;
            }
        if (a->kind == ATOM_OBJECT || a->kind == ATOM_SYMBOL) return (origin){a->symbol, field};
        if (a->kind == ATOM_OPAQUE && a->node >= 0) {
            *made = true;
            int32_t of = field_of(l->p->t, a->node);
            return (origin){root_of(l->p->t, a->node), of >= 0 ? of : field};
        }
        p = a->place;
    }
    return (origin){-1, -1};
}

static int argument_of(const hpc_tree *t, int32_t function, int32_t symbol)
{
    int k = 0;
    for (int32_t c = hpc_tree_first(t, function); c; c = hpc_tree_next(t, c), k++) {
        if (t->node[c].kind != HPC_TREE_VARIABLE) return -1;
        if (t->node[c].symbol == symbol) return k;
    }
    return -1;
}

/* The last field on the way to a pointer or object: "b" of s->a.b + 1; -1. */
static int32_t last_field_of(const hpc_tree *t, int32_t e)
{
    for (int32_t i = e; i < t->node[e].end; i++) {
        if (is_field(t, i)) return t->node[i].symbol;
        if (t->node[i].kind == HPC_TREE_NAME) break;
    }
    return -1;
}

/* What the calls in the file hand to two parameters: the same, or what is made of the same. */
static kinship called_alike(const loop_facts *l, int32_t v, int32_t w)
{
    const hpc_tree *t = l->p->t;
    int a = argument_of(t, l->function, v), b = argument_of(t, l->function, w);
    int32_t f = t->node[l->function].symbol;
    kinship worst = KIN_NONE;
    if (a < 0 || b < 0 || f < 0) return KIN_NONE;
    for (int32_t i = 0; i < t->n; i++) {
        if (t->node[i].kind != HPC_TREE_CALL || t->node[i].symbol != f) continue;
        int32_t x = hpc_tree_child(t, i, a + 1), y = hpc_tree_child(t, i, b + 1);
        int32_t p = x ? root_of(t, x) : -1, q = y ? root_of(t, y) : -1;
        if (p < 0 || p != q || last_field_of(t, x) != last_field_of(t, y)) continue;
        if (!tree_equal(t, x, y)) return KIN_PARTS;
        worst = KIN_SAME;
    }
    return worst;
}

/* A variable that can hold a pointer. */
static bool may_point(const hpc_tree *t, int32_t v)
{
    int32_t type = bare_type(t, t->symbol[v].type);
    uint8_t k = type < 0 ? HPC_TYPE_UNKNOWN : t->type[type].kind;
    return k == HPC_TYPE_POINTER || k == HPC_TYPE_ARRAY || k == HPC_TYPE_RECORD ||
           k == HPC_TYPE_UNKNOWN;
}

/* What a local object is made of; 0: it is not one, or it is made of nothing. */
static int32_t maker_of(const hpc_tree *t, int32_t v)
{
    const hpc_symbol *x = &t->symbol[v];
    if (x->kind != HPC_SYMBOL_VARIABLE || x->node < 0 || x->type < 0) return 0;
    if (t->type[x->type].kind != HPC_TYPE_RECORD) return 0;
    return t->node[x->node].kind == HPC_TREE_VARIABLE ? x->node : 0;
}

/* True if two local objects are constructed from one pointer: span a(p, n), b(p + 1, n). */
static bool made_alike(const loop_facts *l, int32_t v, int32_t w)
{
    const hpc_tree *t = l->p->t;
    int32_t a = maker_of(t, v), b = maker_of(t, w);
    if (!a || !b) return false;
    for (int32_t i = a + 1; i < t->node[a].end; i++) {
        int32_t x = t->node[i].symbol;
        if (t->node[i].kind != HPC_TREE_NAME || x < 0 || !may_point(t, x)) continue;
        for (int32_t k = b + 1; k < t->node[b].end; k++)
            if (t->node[k].kind == HPC_TREE_NAME && t->node[k].symbol == x) return true;
    }
    return false;
}

kinship same_origin(const loop_facts *l, const prover *pr, const place *a, const place *b)
{
    bool made = false;
    origin x = origin_of(l, pr, a, &made), y = origin_of(l, pr, b, &made);
    if (x.variable < 0 || y.variable < 0) return KIN_NONE;
    if (x.variable != y.variable && made_alike(l, x.variable, y.variable)) return KIN_PARTS;
    origin v = made_of(l, x), w = made_of(l, y);
    if (v.variable < 0 || w.variable < 0) return KIN_PARTS;
    if (v.variable != w.variable) return called_alike(l, v.variable, w.variable);
    if (v.field != w.field) return KIN_NONE;
    return made || x.variable != y.variable ? KIN_PARTS : KIN_NONE;
}
