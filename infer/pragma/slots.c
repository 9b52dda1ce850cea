/*
 * slots.c: which variables a loop assigns, which of them step by the same each time, and where it
 * stores.
 */
#include <string.h>

#include "infer/pragma/inline.h"

static bool is_step(const hpc_tree_node *n)
{
    return n->kind == HPC_TREE_UNARY && n->op >= HPC_OP_PRE_INCREMENT &&
           n->op <= HPC_OP_POST_DECREMENT;
}

static bool is_simple(const hpc_tree *t, int32_t type)
{
    uint8_t k = kind_of(t, type);
    return k == HPC_TYPE_INTEGER || k == HPC_TYPE_FLOAT || k == HPC_TYPE_BOOL ||
           k == HPC_TYPE_POINTER;
}

static void add_slot(study *s, int32_t v)
{
    if (v < 0 || s->slot_of[v] >= 0) return;
    s->slot_of[v] = s->slots_n;
    s->slots[s->slots_n++] = (slot){.symbol = v,
                                    .inside = is_inside(s, v),
                                    .exposed = -1,
                                    .write = -1,
                                    .update_write = -1,
                                    .plain_read = -1,
                                    .step_node = -1,
                                    .escaped = s->program->use[v].addressed};
}

/* The variable that node i assigns, of a simple type; -1. */
static int32_t assigned_by(const study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *n = &t->node[i];
    int32_t c = hpc_tree_first(t, i), v = -1;
    if (n->kind == HPC_TREE_VARIABLE) v = n->symbol;
    if ((n->kind == HPC_TREE_ASSIGN || is_step(n) || (n->kind == HPC_TREE_UNARY && n->op == '&')) &&
        c && t->node[c].kind == HPC_TREE_NAME)
        v = t->node[c].symbol;
    if (n->kind == HPC_TREE_NAME && (n->flags & HPC_TREE_BY_REFERENCE)) v = n->symbol;
    if (v < 0 || t->symbol[v].kind > HPC_SYMBOL_PARAMETER) return -1;
    if (t->symbol[v].kind == HPC_SYMBOL_OTHER) return -1;
    if (is_simple(t, t->symbol[v].type)) return v;
    return n->kind == HPC_TREE_VARIABLE && kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE ? v
                                                                                               : -1;
}

static void add_store(study *s, int32_t root, int32_t field, int32_t type)
{
    if (hpc_grow(&s->stores, &s->stores_cap, s->stores_n + 1, sizeof *s->stores) < 0) {
        s->rc = HPC_E_NOMEM;
        return;
    }
    s->stores[s->stores_n++] = (store){root, field, type};
}

static void find_store(study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *n = &t->node[i];
    int32_t c = hpc_tree_first(t, i);
    if ((n->kind == HPC_TREE_ASSIGN || is_step(n)) && c) {
        if (t->node[c].kind == HPC_TREE_NAME && slot_index(s, t->node[c].symbol) >= 0) return;
        add_store(s, root_of(t, c), t->node[c].kind == HPC_TREE_MEMBER ? t->node[c].symbol : -1,
                  t->node[c].type);
    }
    if (n->kind != HPC_TREE_CALL) return;
    call_known is = call_known_at(t, i);
    if (is == CALL_METHOD_OWN && inline_arguments(t, i) == 0) return;
    if (is == CALL_VALUE || is == CALL_READS || is == CALL_METHOD_READ || is == CALL_METHOD_PLACE)
        return;
    const effect *f =
        n->symbol >= 0 && is == CALL_UNKNOWN ? effect_of(s->program, n->symbol) : NULL;
    if (f && (f->kind <= EFFECT_READS || inline_body(t, n->symbol))) return;
    bool known = f && f->kind == EFFECT_WRITES;
    int32_t first = known ? inline_arguments(t, i) : hpc_tree_child(t, i, 1);
    if (known && (f->object & ARG_WRITE)) add_store(s, -1, -1, -1);
    int arg = 0;
    for (int32_t a = first; a; a = hpc_tree_next(t, a), arg++) {
        if (known && arg < 8 && !(f->arg[arg] & ARG_WRITE)) continue;
        uint8_t k = kind_of(t, bare_type(t, t->node[a].type));
        if (k == HPC_TYPE_POINTER || k == HPC_TYPE_ARRAY || k == HPC_TYPE_RECORD ||
            (t->node[a].flags & HPC_TREE_BY_REFERENCE))
            add_store(s, root_of(t, a), -1, -1);
    }
}

/* ---- induction variables --------------------------------------------------------------------- */

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

/* Whether node i stands at the top of the body, so that each iteration runs it once; `*p++ = e`
 * counts as well as `p++`. */
static bool at_top(const study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    int32_t up = t->node[i].parent;
    for (; up >= s->head.body; up = t->node[up].parent) {
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

static const poly *step_of(study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *n = &t->node[i];
    if (is_step(n))
        return poly_number(
            s->prover, n->op == HPC_OP_PRE_DECREMENT || n->op == HPC_OP_POST_DECREMENT ? -1 : 1);
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
        if (t->node[k].kind == HPC_TREE_NAME && slot_index(s, t->node[k].symbol) >= 0) return NULL;
    }
    answer_mute(s->answer, true);
    const poly *p = value_of(s, by);
    answer_mute(s->answer, false);
    return down ? poly_scaled(s->prover, p, -1) : p;
}

static void find_induction(study *s, slot *x)
{
    const hpc_tree *t = s->t;
    int32_t only = -1;
    uint8_t k = kind_of(t, t->symbol[x->symbol].type);
    if (x->inside || x->symbol == s->head.symbol || s->head.over >= 0) return;
    if (k != HPC_TYPE_INTEGER && k != HPC_TYPE_POINTER) return;
    for (int32_t i = s->head.body; i < t->node[s->head.body].end; i++) {
        if (assigned_by(s, i) != x->symbol) continue;
        if (only >= 0 || (t->node[i].kind != HPC_TREE_ASSIGN && !is_step(&t->node[i]))) return;
        only = i;
    }
    if (only < 0 || !at_top(s, only)) return;
    const poly *stride = step_of(s, only);
    if (!stride || poly_varies(s->prover, stride)) return;
    x->stride = stride;
    x->step_node = only;
}

int slots_find(study *s)
{
    const hpc_tree *t = s->t;
    int32_t end = t->node[s->loop].end, most = 0;
    for (int32_t i = s->loop; i < end; i++) most += assigned_by(s, i) >= 0;
    s->slots = hpc_arena_alloc(s->program->work, (size_t)most + 1, sizeof *s->slots);
    s->now = hpc_arena_alloc(s->program->work, (size_t)most + 1, sizeof *s->now);
    if (!s->slots || !s->now) return HPC_E_NOMEM;
    for (int32_t i = s->loop; i < end; i++) add_slot(s, assigned_by(s, i));
    for (int32_t i = s->loop; i < end; i++) find_store(s, i);
    return s->rc;
}

void slots_step(study *s)
{
    if (!s->head.body || has_continue(s->t, s->head.body)) return;
    for (int32_t k = 0; k < s->slots_n; k++) find_induction(s, &s->slots[k]);
}

/* ---- names ---- */

const char *name_in_clause(const study *s, int32_t symbol)
{
    const hpc_tree *t = s->t;
    const char *name = symbol_name(s->t, symbol);
    size_t n = strlen(name);
    for (int32_t i = s->loop; i < t->node[s->loop].end; i++) {
        const hpc_tree_node *x = &t->node[i];
        if (x->kind != HPC_TREE_NAME || x->symbol != symbol || (x->flags & HPC_TREE_MACRO))
            continue;
        const char *text = node_text(s->program, i), *end = text + strlen(text);
        bool whole = (size_t)(end - text) > n + 2 && strcmp(end - n, name) == 0;
        return whole && strncmp(end - n - 2, "::", 2) == 0 ? text : name;
    }
    return name;
}
