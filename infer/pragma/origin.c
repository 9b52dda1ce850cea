/*
 * origin.c: where the pointers of a function come from, as far as the file says: what a local
 * pointer is made of, and what the callers of a function that no other file can call hand to it.
 */
#include "infer/pragma/priv.h"

enum { CHAIN_MOST = 8 };

/* What a local pointer variable ever gets comes from this variable; itself when it is not said, -1
 * when it is said in a way that is not understood. */
static int32_t made_of(const study *s, int32_t v)
{
    const hpc_tree *t = s->t;
    for (int k = 0; k < CHAIN_MOST; k++) {
        const hpc_symbol *x = &t->symbol[v];
        const symbol_use *u = &s->program->use[v];
        bool local = x->kind == HPC_SYMBOL_VARIABLE && (x->flags & HPC_SYMBOL_LOCAL) &&
                     x->node >= 0 && t->node[x->node].kind == HPC_TREE_VARIABLE;
        if (!local || x->type < 0 || t->type[x->type].kind == HPC_TYPE_ARRAY) return v;
        int32_t from = hpc_tree_first(t, x->node);
        if (u->writes_n == 1 && t->node[u->write].kind == HPC_TREE_ASSIGN)
            from = hpc_tree_child(t, u->write, 1);
        while (from && t->node[from].kind == HPC_TREE_CAST) {
            int32_t c = hpc_tree_first(t, from);
            while (c && hpc_tree_next(t, c)) c = hpc_tree_next(t, c);
            from = c;
        }
        if (from && t->node[from].kind == HPC_TREE_OTHER) return -1;
        int32_t root = from ? root_of(t, from) : -1;
        if (root < 0 || u->writes_n > 1) return v;
        v = root;
    }
    return v;
}

/* The variable that a place is reached from; -1. *made: by way of a pointer that was made of it. */
static int32_t variable_of(const study *s, const place *p, bool *made)
{
    for (int k = 0; p && p->base >= 0 && k < CHAIN_MOST; k++) {
        const atom *a = &s->atoms[p->base];
        if (a->kind == ATOM_OBJECT || a->kind == ATOM_SYMBOL) return a->symbol;
        if (a->kind == ATOM_OPAQUE && a->node >= 0) {
            *made = true;
            return root_of(s->t, a->node);
        }
        p = a->place;
    }
    return -1;
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

/* Whether some call in the file hands the same variable to both parameters. */
static bool called_alike(const study *s, int32_t v, int32_t w)
{
    const hpc_tree *t = s->t;
    int a = argument_of(t, s->function, v), b = argument_of(t, s->function, w);
    int32_t f = t->node[s->function].symbol;
    if (a < 0 || b < 0 || f < 0) return false;
    for (int32_t i = 0; i < t->n; i++) {
        if (t->node[i].kind != HPC_TREE_CALL || t->node[i].symbol != f) continue;
        int32_t x = hpc_tree_child(t, i, a + 1), y = hpc_tree_child(t, i, b + 1);
        int32_t p = x ? root_of(t, x) : -1, q = y ? root_of(t, y) : -1;
        if (p >= 0 && p == q) return true;
    }
    return false;
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

/* Whether two local objects are made of one pointer: span a(p, n), b(p + 1, n). */
static bool made_alike(const study *s, int32_t v, int32_t w)
{
    const hpc_tree *t = s->t;
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

bool same_origin(const study *s, const place *a, const place *b)
{
    bool made = false;
    int32_t x = variable_of(s, a, &made), y = variable_of(s, b, &made);
    if (x < 0 || y < 0) return false;
    if (x != y && made_alike(s, x, y)) return true;
    int32_t v = made_of(s, x), w = made_of(s, y);
    if (v < 0 || w < 0) return true;
    if (v == w) return made || x != y; /* fields of one object may well differ */
    return called_alike(s, v, w);
}
