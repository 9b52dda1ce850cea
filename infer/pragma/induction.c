/*
 * induction.c: variables that advance by the same step in each iteration.
 */
#include "infer/pragma/walk.h"

static bool is_step(const hpc_tree_node *n)
{
    return n->kind == HPC_TREE_UNARY && n->op >= HPC_OP_PRE_INCREMENT &&
           n->op <= HPC_OP_POST_DECREMENT;
}

static bool has_continue(const hpc_tree *t, int32_t body)
{
    for (int32_t i = body; i < t->node[body].end; i++) {
        if (t->node[i].kind != HPC_TREE_CONTINUE && t->node[i].kind != HPC_TREE_GOTO) continue;
        int32_t up = t->node[i].parent;
        while (up > body && t->node[up].kind != HPC_TREE_FOR &&
               t->node[up].kind != HPC_TREE_WHILE && t->node[up].kind != HPC_TREE_DO &&
               t->node[up].kind != HPC_TREE_RANGE)
            up = t->node[up].parent;
        if (up <= body) return true;
    }
    return false;
}

/* True if node i is at the top of the body, so that each iteration runs it once; both `p++` and
 * `*p++ = e` count. */
static bool at_top(const walk *w, int32_t i)
{
    const hpc_tree *t = w->t;
    int32_t up = t->node[i].parent;
    for (; up >= w->loop->head.body; up = t->node[up].parent) {
        const hpc_tree_node *n = &t->node[up];
        bool through = n->kind == HPC_TREE_ASSIGN || n->kind == HPC_TREE_INDEX ||
                       n->kind == HPC_TREE_CAST || n->kind == HPC_TREE_MEMBER ||
                       (n->kind == HPC_TREE_UNARY && (n->op == '*' || n->op == '-')) ||
                       (n->kind == HPC_TREE_BINARY && n->op != HPC_OP_AND && n->op != HPC_OP_OR) ||
                       n->kind == HPC_TREE_VARIABLE || n->kind == HPC_TREE_DECLARE ||
                       n->kind == HPC_TREE_BLOCK;
        if (!through) return false;
    }
    return true;
}

static const poly *step_of(walk *w, int32_t i)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[i];
    if (is_step(n))
        return poly_number(
            w->prover, n->op == HPC_OP_PRE_DECREMENT || n->op == HPC_OP_POST_DECREMENT ? -1 : 1);
    int32_t v = t->node[hpc_tree_first(t, i)].symbol, by = hpc_tree_child(t, i, 1);
    bool down = n->op == '-';
    if (n->op == '=' && t->node[by].kind == HPC_TREE_BINARY &&
        (t->node[by].op == '+' || t->node[by].op == '-'))
    {
        int32_t x = hpc_tree_child(t, by, 0);
        if (t->node[x].kind != HPC_TREE_NAME || t->node[x].symbol != v) return NULL;
        down = t->node[by].op == '-';
        by = hpc_tree_next(t, x);
    } else if (n->op != '+' && n->op != '-') {
        return NULL;
    }
    for (int32_t k = by; k < t->node[by].end; k++) {
        if (t->node[k].kind != HPC_TREE_NUMBER && t->node[k].kind != HPC_TREE_NAME &&
            t->node[k].kind != HPC_TREE_BINARY)
            return NULL;
        if (t->node[k].kind == HPC_TREE_NAME && slot_index(w->loop, t->node[k].symbol) >= 0)
            return NULL;
    }
    answer_mute(w->answer, true);
    const poly *p = value_of(w, by);
    answer_mute(w->answer, false);
    return down ? poly_scaled(w->prover, p, -1) : p;
}

static void find_induction(walk *w, slot *x)
{
    const hpc_tree *t = w->t;
    int32_t only = -1;
    uint8_t k = kind_of(t, t->symbol[x->symbol].type);
    if (x->inside || x->symbol == w->loop->head.symbol || w->loop->head.over >= 0) return;
    if (k != HPC_TYPE_INTEGER && k != HPC_TYPE_POINTER) return;
    for (int32_t i = w->loop->head.body; i < t->node[w->loop->head.body].end; i++) {
        if (loop_assigned_by(w->loop->p, i) != x->symbol) continue;
        if (only >= 0 || (t->node[i].kind != HPC_TREE_ASSIGN && !is_step(&t->node[i]))) return;
        only = i;
    }
    if (only < 0 || !at_top(w, only)) return;
    const poly *stride = step_of(w, only);
    if (!stride || poly_varies(w->prover, stride)) return;
    x->stride = stride;
    x->step_node = only;
}

void induction_find(walk *w)
{
    if (!w->loop->head.body || has_continue(w->t, w->loop->head.body)) return;
    for (int32_t k = 0; k < w->loop->slots_n; k++) find_induction(w, &w->loop->slots[k]);
}

/* ---- variables next to the loop variable of an inner loop ---- */

void others_begin(walk *w, const loop_head *h, const poly *first[HEAD_OTHERS])
{
    for (int32_t i = 0; i < h->others_n; i++) {
        const int32_t k = slot_index(w->loop, h->other[i].symbol);
        first[i] = value_of(w, h->other[i].first);
        if (k >= 0) slot_write(w, k, h->other[i].first, first[i]);
    }
}

static bool assigns(const walk *w, int32_t part, int32_t symbol)
{
    for (int32_t i = part; i < w->t->node[part].end; i++)
        if (loop_assigned_by(w->loop->p, i) == symbol) return true;
    return false;
}

void others_step(walk *w, const loop_head *h, const poly *first[HEAD_OTHERS], const poly *var)
{
    int64_t c;
    const bool by_one = poly_is_number(h->stride, &c) && (c == 1 || c == -1);
    for (int32_t i = 0; i < h->others_n; i++) {
        const int32_t k = slot_index(w->loop, h->other[i].symbol);
        if (k < 0) continue;
        const bool steady = by_one && !assigns(w, h->body, h->other[i].symbol);
        const poly *stride = steady ? step_of(w, h->other[i].step) : NULL,
                   *nth = poly_less(w->prover, var, h->first);
        if (poly_varies(w->prover, stride)) stride = NULL;
        if (by_one && c < 0) nth = poly_scaled(w->prover, nth, -1);
        w->now[k].is =
            stride ? poly_sum(w->prover, first[i], poly_product(w->prover, nth, stride)) : NULL;
        w->now[k].assigned = true;
    }
}
