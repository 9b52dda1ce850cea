/*
 * reach.c: variables and members that the loop names itself, so that a clause applies to their
 * accesses. Functions that it calls use the shared variable or member instead.
 */
#include "infer/pragma/memory.h"

enum { REFERENCES_MOST = 4 };

typedef struct owner {
    int32_t symbol;
    bool member; /* of the method's object */
} owner;

/* The initialiser of the local reference that a NAME stands for; 0. */
static int32_t bound_to(const hpc_tree *t, int32_t e)
{
    const int32_t v = t->node[e].kind == HPC_TREE_NAME ? t->node[e].symbol : -1;
    if (v < 0 || t->symbol[v].kind != HPC_SYMBOL_VARIABLE || t->symbol[v].node <= 0) return 0;
    if (kind_of(t, t->symbol[v].type) != HPC_TYPE_REFERENCE) return 0;
    return hpc_tree_first(t, t->symbol[v].node);
}

static bool names_member(const hpc_tree *t, int32_t e, int32_t field)
{
    for (int k = 0; e && k < REFERENCES_MOST; k++) {
        int32_t c = hpc_tree_first(t, e);
        while (c && t->node[c].kind != HPC_TREE_THIS &&
               (t->node[e].kind == HPC_TREE_MEMBER || t->node[e].kind == HPC_TREE_INDEX))
        {
            e = c;
            c = hpc_tree_first(t, e);
        }
        if (t->node[e].kind == HPC_TREE_MEMBER) return t->node[e].symbol == field;
        e = bound_to(t, e);
    }
    return false;
}

static bool names_variable(const hpc_tree *t, int32_t e, int32_t symbol)
{
    for (int k = 0; e && k < REFERENCES_MOST; k++) {
        int32_t next = 0;
        for (int32_t i = e; i < t->node[e].end; i++) {
            if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == symbol) return true;
            if (!next) next = bound_to(t, i);
        }
        e = next;
    }
    return false;
}

bool clause_reaches(const walk *w, const access *a)
{
    if (a->place.base < 0) return false;
    const atom *x = &w->prover->atoms[a->place.base];
    if (x->kind != ATOM_THIS) return names_variable(w->t, a->node, x->symbol);
    return a->place.n > 1 && names_member(w->t, a->node, a->place.step[1].field);
}
