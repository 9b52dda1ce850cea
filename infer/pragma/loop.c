/*
 * loop.c: see loop.h. Assignments and stores are found in the tree, before the walk.
 */
#include "infer/pragma/loop.h"

#include <string.h>

int32_t slot_index(const loop_facts *l, int32_t symbol)
{
    return symbol < 0 ? -1 : l->slot_of[symbol];
}

bool is_inside(const loop_facts *l, int32_t symbol)
{
    const hpc_symbol *v = &l->p->t->symbol[symbol];
    return v->node > l->node && v->node < l->p->t->node[l->node].end &&
           !(v->flags & (HPC_SYMBOL_STATIC | HPC_SYMBOL_THREAD));
}

/* ---- assignments and stores ---- */

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

static void add_slot(loop_facts *l, int32_t v)
{
    if (v < 0 || l->slot_of[v] >= 0) return;
    l->slot_of[v] = l->slots_n;
    l->slots[l->slots_n++] = (slot){.symbol = v,
                                    .inside = is_inside(l, v),
                                    .exposed = -1,
                                    .write = -1,
                                    .update_write = -1,
                                    .plain_read = -1,
                                    .step_node = -1,
                                    .escaped = l->p->use[v].addressed};
}

/* The variable that node i assigns, of a simple type or a counter that may have one; -1. */
int32_t loop_assigned_by(const program *p, int32_t i)
{
    const hpc_tree *t = p->t;
    const hpc_tree_node *n = &t->node[i];
    int32_t c = hpc_tree_first(t, i), v = -1;
    if (n->kind == HPC_TREE_VARIABLE) v = n->symbol;
    if ((n->kind == HPC_TREE_ASSIGN || is_step(n) || (n->kind == HPC_TREE_UNARY && n->op == '&')) &&
        c && t->node[c].kind == HPC_TREE_NAME)
        v = t->node[c].symbol;
    if (n->kind == HPC_TREE_NAME && (n->flags & HPC_TREE_BY_REFERENCE)) v = n->symbol;
    if (v < 0 || t->symbol[v].kind > HPC_SYMBOL_PARAMETER) return -1;
    if (t->symbol[v].kind == HPC_SYMBOL_OTHER) return -1;
    if (is_simple(t, t->symbol[v].type) || is_open_counter(t, v)) return v;
    return n->kind == HPC_TREE_VARIABLE && kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE ? v
                                                                                               : -1;
}

static void add_store(loop_facts *l, int32_t root, int32_t field, int32_t type)
{
    if (hpc_grow(&l->stores, &l->stores_cap, l->stores_n + 1, sizeof *l->stores) < 0) {
        l->rc = HPC_E_NOMEM;
        return;
    }
    l->stores[l->stores_n++] = (store){root, field, type};
}

static void find_store(loop_facts *l, int32_t i)
{
    const hpc_tree *t = l->p->t;
    const hpc_tree_node *n = &t->node[i];
    int32_t c = hpc_tree_first(t, i);
    if ((n->kind == HPC_TREE_ASSIGN || is_step(n)) && c) {
        if (t->node[c].kind == HPC_TREE_NAME && slot_index(l, t->node[c].symbol) >= 0) return;
        add_store(l, root_of(t, c), t->node[c].kind == HPC_TREE_MEMBER ? t->node[c].symbol : -1,
                  bare_type(t, t->node[c].type));
    }
    if (n->kind != HPC_TREE_CALL) return;
    call_known is = call_known_at(t, i);
    if (is == CALL_METHOD_OWN && inline_arguments(t, i) == 0) return;
    if (is == CALL_VALUE || is == CALL_READS || is == CALL_METHOD_READ || is == CALL_METHOD_PLACE ||
        is == CALL_ASSERTS)
        return;
    const effect *f = n->symbol >= 0 && is == CALL_UNKNOWN ? effect_of(l->p, n->symbol) : NULL;
    if (f && (f->kind <= EFFECT_READS || inline_body(t, n->symbol))) return;
    bool known = f && f->kind == EFFECT_WRITES;
    int32_t first = known ? inline_arguments(t, i) : hpc_tree_child(t, i, 1);
    if (known && (f->object & ARG_WRITE)) add_store(l, -1, -1, -1);
    int arg = 0;
    for (int32_t a = first; a; a = hpc_tree_next(t, a), arg++) {
        if (known && arg < EFFECT_ARGUMENTS && !(f->arg[arg] & ARG_WRITE)) continue;
        uint8_t k = kind_of(t, bare_type(t, t->node[a].type));
        if ((known && arg < EFFECT_ARGUMENTS) || k == HPC_TYPE_POINTER || k == HPC_TYPE_ARRAY ||
            k == HPC_TYPE_RECORD || (t->node[a].flags & HPC_TREE_BY_REFERENCE))
            add_store(l, root_of(t, a), -1, known && arg < EFFECT_ARGUMENTS ? f->type[arg] : -1);
    }
}

int loop_open(loop_facts *l, const program *p, int32_t node, int32_t function)
{
    const hpc_tree *t = p->t;
    int32_t end = t->node[node].end;
    *l = (loop_facts){.p = p, .node = node, .function = function, .open = in_template(t, node)};
    for (int32_t i = node; i < end; i++) l->slots_cap += loop_assigned_by(p, i) >= 0;
    l->slot_of = hpc_arena_alloc(p->work, (size_t)t->symbols_n + 1, sizeof *l->slot_of);
    l->slots = hpc_arena_alloc(p->work, (size_t)l->slots_cap + 1, sizeof *l->slots);
    if (!l->slot_of || !l->slots) return HPC_E_NOMEM;
    for (int64_t v = 0; v < t->symbols_n; v++) l->slot_of[v] = -1;
    for (int32_t i = node; i < end; i++) add_slot(l, loop_assigned_by(p, i));
    for (int32_t i = node; i < end; i++) find_store(l, i);
    return l->rc;
}

void loop_release(loop_facts *l)
{
    hpc_free(l->item);
    hpc_free(l->stores);
}

/* ---- trip count ---- */

double trips_of(prover *pr, const loop_head *h)
{
    int64_t width, stride;
    if (!poly_is_number(poly_less(pr, h->hi, h->lo), &width)) return -1;
    if (!poly_is_number(h->stride, &stride) || stride == 0) return -1;
    if (width < 0) return 0;
    return (double)(width / (stride < 0 ? -stride : stride)) + 1;
}

/* ---- names ---- */

const char *name_in_clause(const loop_facts *l, int32_t symbol)
{
    const hpc_tree *t = l->p->t;
    const char *name = symbol_name(l->p->t, symbol);
    size_t n = strlen(name);
    for (int32_t i = l->node; i < t->node[l->node].end; i++) {
        const hpc_tree_node *x = &t->node[i];
        if (x->kind != HPC_TREE_NAME || x->symbol != symbol || (x->flags & HPC_TREE_MACRO))
            continue;
        const char *text = node_text(l->p, i), *end = text + strlen(text);
        bool whole = (size_t)(end - text) > n + 2 && strcmp(end - n, name) == 0;
        return whole && strncmp(end - n - 2, "::", 2) == 0 ? text : name;
    }
    return name;
}
