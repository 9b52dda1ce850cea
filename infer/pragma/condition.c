/*
 * condition.c: facts about numbers that follow from a condition, or from its negation.
 */
#include "infer/pragma/walk.h"

static const fact *compared(walk *w, const fact *next, uint8_t op, const poly *a, const poly *b)
{
    switch (op) {
    case '<':
        return fact_add(w->prover, next, poly_plus(w->prover, poly_less(w->prover, b, a), -1));
    case '>':
        return fact_add(w->prover, next, poly_plus(w->prover, poly_less(w->prover, a, b), -1));
    case HPC_OP_LESS_EQUAL: return fact_add(w->prover, next, poly_less(w->prover, b, a));
    case HPC_OP_GREATER_EQUAL: return fact_add(w->prover, next, poly_less(w->prover, a, b));
    case HPC_OP_NOT_EQUAL: return fact_unequal(w->prover, next, poly_less(w->prover, a, b));
    case HPC_OP_EQUAL:
        return fact_add(w->prover, fact_add(w->prover, next, poly_less(w->prover, a, b)),
                        poly_less(w->prover, b, a));
    default: return next;
    }
}

static uint8_t negated(uint8_t op)
{
    switch (op) {
    case '<': return HPC_OP_GREATER_EQUAL;
    case '>': return HPC_OP_LESS_EQUAL;
    case HPC_OP_LESS_EQUAL: return '>';
    case HPC_OP_GREATER_EQUAL: return '<';
    case HPC_OP_NOT_EQUAL: return HPC_OP_EQUAL;
    case HPC_OP_EQUAL: return HPC_OP_NOT_EQUAL;
    default: return 0;
    }
}

/* Looking at it twice must not do it twice. */
static bool does_something(const hpc_tree *t, int32_t e)
{
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        if (n->kind == HPC_TREE_ASSIGN || n->kind == HPC_TREE_CALL || n->kind == HPC_TREE_NEW ||
            n->kind == HPC_TREE_LAMBDA || n->kind == HPC_TREE_OTHER ||
            (n->kind == HPC_TREE_UNARY && n->op >= HPC_OP_PRE_INCREMENT &&
             n->op <= HPC_OP_POST_DECREMENT))
            return true;
    }
    return false;
}

const fact *facts_of(walk *w, const fact *next, int32_t condition, bool holds)
{
    const hpc_tree_node *n = &w->t->node[condition];
    int32_t a = hpc_tree_child(w->t, condition, 0), b = hpc_tree_child(w->t, condition, 1);
    if (n->kind == HPC_TREE_UNARY && n->op == '!' && a) return facts_of(w, next, a, !holds);
    if (n->kind != HPC_TREE_BINARY || !a || !b) return next;
    if (n->op == (holds ? HPC_OP_AND : HPC_OP_OR))
        return facts_of(w, facts_of(w, next, a, holds), b, holds);
    if (!is_plain_number(w->t, w->t->node[a].type) || !is_plain_number(w->t, w->t->node[b].type))
        return next;
    if (does_something(w->t, condition)) return next;
    bool quiet = answer_mute(w->answer, true);
    const poly *x = value_of(w, a), *y = value_of(w, b);
    answer_mute(w->answer, quiet);
    return compared(w, next, holds ? n->op : negated(n->op), x, y);
}
