/*
 * state.c: values of assigned variables at a point of the walk: copies for branches, joins after
 * them, and invalidation.
 */
#include <string.h>

#include "infer/pragma/walk.h"

var_state *state_copy(walk *w, const var_state *from)
{
    var_state *v = hpc_arena_alloc(w->loop->p->work, (size_t)w->loop->slots_n + 1, sizeof *v);
    if (!v) {
        w->rc = HPC_E_NOMEM;
        return w->now;
    }
    memcpy(v, from, (size_t)w->loop->slots_n * sizeof *v);
    return v;
}

/* What holds on both ways. */
void state_join(walk *w, var_state *into, const var_state *other)
{
    for (int32_t k = 0; k < w->loop->slots_n; k++) {
        if (into[k].is != other[k].is && !poly_equal(into[k].is, other[k].is)) into[k].is = NULL;
        if (into[k].refers != other[k].refers) into[k].refers = NULL;
        into[k].assigned &= other[k].assigned;
    }
}

/* Joins the states of both branches of an if. An integer that differs becomes a choice atom, which
 * keeps both values and the facts of its branches. */
void state_join_if(walk *w, const var_state *yes, const fact *if_so, const fact *if_not)
{
    const hpc_tree *t = w->t;
    int32_t which = ++w->choices;
    for (int32_t k = 0; k < w->loop->slots_n; k++) {
        const poly *a = yes[k].is, *b = w->now[k].is;
        bool whole = kind_of(t, t->symbol[w->loop->slots[k].symbol].type) == HPC_TYPE_INTEGER;
        const poly *chosen = NULL;
        if (whole && a && b && !poly_equal(a, b))
            chosen = poly_atom(
                w->prover,
                atom_choice(w->prover,
                            &(atom){.of = which, .a = a, .b = b, .yes = if_so, .no = if_not}));
        if (w->now[k].is != a && !poly_equal(w->now[k].is, a)) w->now[k].is = chosen;
        if (w->now[k].refers != yes[k].refers) w->now[k].refers = NULL;
        w->now[k].assigned &= yes[k].assigned;
    }
}

/* What a part of the tree assigns is not known any more. */
void state_forget(walk *w, int32_t part)
{
    const hpc_tree *t = w->t;
    for (int32_t i = part; i < t->node[part].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        int32_t c = hpc_tree_first(t, i);
        bool by = n->kind == HPC_TREE_ASSIGN || n->kind == HPC_TREE_UNARY;
        int32_t v = n->kind == HPC_TREE_NAME && (n->flags & HPC_TREE_BY_REFERENCE) ? n->symbol : -1;
        if (by && c && t->node[c].kind == HPC_TREE_NAME &&
            (n->kind == HPC_TREE_ASSIGN || n->op == '&' || n->op >= HPC_OP_PRE_INCREMENT) &&
            (n->kind == HPC_TREE_ASSIGN || n->op == '&' || n->op <= HPC_OP_POST_DECREMENT))
            v = t->node[c].symbol;
        int32_t k = slot_index(w->loop, v);
        if (k >= 0) w->now[k].is = NULL;
    }
}
