/*
 * live.c: variables with a value that code after a loop may read: the code that follows it, the
 * next iteration of a loop around it, code that a goto returns to, and lambdas.
 */
#include "infer/pragma/scalar.h"

/* A part of the tree that may run after the loop: [from, to). Paths to it pass the node `start`. A
 * jump to a node before `inside` leaves it. */
typedef struct region {
    int32_t from, to, start, inside;
} region;

static region after(const hpc_tree *t, int32_t part, int32_t to)
{
    const int32_t end = t->node[part].end;
    return (region){.from = end, .to = to, .start = end - 1, .inside = end};
}

/* The part of a loop before `to` that its next iteration runs: all except the first part of a FOR.
 */
static region next_iteration(const hpc_tree *t, int32_t loop, int32_t to)
{
    const int32_t from = hpc_tree_child(t, loop, t->node[loop].kind == HPC_TREE_FOR ? 1 : 0);
    return (region){.from = from, .to = to, .start = from, .inside = loop};
}

/* ---- jumps ---- */

/* The loop or switch that a break or continue belongs to. */
static int32_t jump_target(const hpc_tree *t, int32_t jump)
{
    int32_t up = t->node[jump].parent;
    while (up > 0 && !is_loop(t->node[up].kind) &&
           !(t->node[up].kind == HPC_TREE_SWITCH && t->node[jump].kind == HPC_TREE_BREAK))
        up = t->node[up].parent;
    return up;
}

/* True if a goto may lead to node `to` or to code after it. Fortran's labels have no nodes. */
static bool may_lead_past(const hpc_tree *t, int32_t jump, int32_t to)
{
    const int32_t function = function_around(t, jump);
    bool any = false;
    for (int32_t i = function; i < t->node[function].end; i++) {
        if (t->node[i].kind != HPC_TREE_LABEL) continue;
        if (i >= to) return true;
        any = true;
    }
    return !any;
}

static bool may_throw(uint8_t kind)
{
    return kind == HPC_TREE_THROW || kind == HPC_TREE_CALL || kind == HPC_TREE_CONSTRUCT ||
           kind == HPC_TREE_NEW;
}

/* True if a handler outside of the region catches what node i throws. */
static bool is_caught(const hpc_tree *t, int32_t i, const region *r)
{
    for (int32_t c = i, up = t->node[i].parent; up > 0; c = up, up = t->node[up].parent)
        if (t->node[up].kind == HPC_TREE_TRY && up < r->inside && c == hpc_tree_first(t, up))
            return true;
    return false;
}

/* True if control may leave the region before node `to`, other than by a return or by a goto to
 * earlier code. */
static bool may_leave(const hpc_tree *t, const region *r, int32_t to)
{
    for (int32_t i = r->from; i < to; i++) {
        const uint8_t k = t->node[i].kind;
        if (k == HPC_TREE_GOTO && may_lead_past(t, i, to)) return true;
        if ((k == HPC_TREE_BREAK || k == HPC_TREE_CONTINUE) && jump_target(t, i) < r->inside)
            return true;
        if (may_throw(k) && is_caught(t, i, r)) return true;
    }
    return false;
}

/* ---- uses ---- */

/* True if the NAME, or all elements of its array, is the target of an assignment that every path
 * from `from` executes, as far as nothing jumps. */
static bool always_assigns(const hpc_tree *t, int32_t name, int32_t from)
{
    int32_t target = name, up = t->node[name].parent;
    for (; t->node[up].kind == HPC_TREE_INDEX; up = t->node[up].parent) {
        const int32_t index = hpc_tree_child(t, up, 1);
        if (hpc_tree_first(t, up) != target || !index || !is_all_elements(t, index)) return false;
        target = up;
    }
    if (t->node[up].kind != HPC_TREE_ASSIGN || t->node[up].op != '=') return false;
    if (hpc_tree_first(t, up) != target) return false;
    for (int32_t i = name + 1; i < t->node[up].end; i++)
        if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == t->node[name].symbol)
            return false;
    for (int32_t c = up, p = t->node[up].parent; p > 0; c = p, p = t->node[p].parent) {
        if (p <= from && t->node[p].end > from) return true; /* around both */
        uint8_t k = t->node[p].kind;
        bool head = is_loop(k) && hpc_tree_first(t, p) == c && k == HPC_TREE_FOR;
        if (k != HPC_TREE_BLOCK && !head) return false;
    }
    return false;
}

/* The loop whose iterations all execute the assignment that a NAME is part of: none reads an
 * earlier value after it. 0: no such loop at or after `from`. */
static int32_t loop_killed_in(const hpc_tree *t, int32_t name, int32_t from)
{
    for (int32_t up = t->node[name].parent; up >= from; up = t->node[up].parent) {
        int32_t body = t->node[up].kind == HPC_TREE_FOR     ? hpc_tree_child(t, up, 3)
                       : t->node[up].kind == HPC_TREE_WHILE ? hpc_tree_child(t, up, 1)
                                                            : 0;
        const region r = {.from = body, .inside = up};
        if (body && name > body && name < t->node[body].end && always_assigns(t, name, body) &&
            !may_leave(t, &r, name))
            return up;
    }
    return 0;
}

/* The first use in a region decides: an assignment ends the old value's life (-1), any other use
 * keeps it alive (1). 0: no such use. */
static int first_use(const hpc_tree *t, int32_t symbol, const region *r)
{
    for (int32_t i = r->from; i < r->to; i++) {
        if (t->node[i].kind != HPC_TREE_NAME || t->node[i].symbol != symbol) continue;
        if (i > r->start && always_assigns(t, i, r->start)) {
            if (!may_leave(t, r, i)) return -1;
            continue; /* a jump may have passed it */
        }
        int32_t loop = loop_killed_in(t, i, r->from);
        if (!loop) return 1;
        i = t->node[loop].end - 1; /* it may run not once, and then the old value lives on */
    }
    return 0;
}

bool part_assigns_first(const hpc_tree *t, int32_t symbol, int32_t part)
{
    const region r = {.from = part, .to = t->node[part].end, .start = part, .inside = part};
    return first_use(t, symbol, &r) < 0;
}

/* ---- code before the loop ---- */

/* True if a goto may return from the loop, or from code after it, to code before it that reads the
 * variable. The tree does not hold where a goto leads: any label may be its target. */
static bool is_read_after_goto(const loop_facts *l, int32_t symbol)
{
    const hpc_tree *t = l->p->t;
    int32_t outer = l->node;
    bool jumps = false;
    for (int32_t up = t->node[l->node].parent; up > l->function; up = t->node[up].parent)
        if (is_loop(t->node[up].kind)) outer = up;
    for (int32_t i = outer; i < t->node[l->function].end && !jumps; i++)
        jumps = t->node[i].kind == HPC_TREE_GOTO;
    for (int32_t i = l->function; i < l->node && jumps; i++) {
        if (t->node[i].kind != HPC_TREE_LABEL) continue;
        if (t->symbol[symbol].node > i) continue; /* declared later: no value comes back */
        region r = {.from = i, .to = l->node, .start = i, .inside = i};
        for (int32_t up = t->node[i].parent; t->node[up].end <= l->node; up = t->node[up].parent)
            if (is_loop(t->node[up].kind)) r.from = up;
        if (first_use(t, symbol, &r) > 0) return true;
    }
    return false;
}

static bool captures_by_reference(const hpc_tree *t, int32_t lambda, int32_t symbol)
{
    const hpc_tree_node *n = &t->node[lambda];
    int32_t body = 0;
    for (int32_t c = hpc_tree_first(t, lambda); c; c = hpc_tree_next(t, c)) {
        if (t->node[c].kind == HPC_TREE_NAME && t->node[c].symbol == symbol)
            return t->node[c].flags & HPC_TREE_BY_REFERENCE;
        body = c;
    }
    if (n->op != '&' && n->op != HPC_OP_OTHER) return false;
    for (int32_t i = body; body && i < n->end; i++)
        if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == symbol) return true;
    return false;
}

/* True if a lambda from before the loop, or around it, may read the variable whenever it is called.
 */
static bool is_read_by_lambda(const loop_facts *l, int32_t symbol)
{
    const hpc_tree *t = l->p->t;
    const int32_t declared = t->symbol[symbol].node;
    for (int32_t i = declared > 0 ? declared : l->function; i < l->node; i++)
        if (t->node[i].kind == HPC_TREE_LAMBDA && captures_by_reference(t, i, symbol)) return true;
    return false;
}

/* ---- all ---- */

/* The end of a return that always follows a loop, as far as nothing jumps past it; 0. */
static int32_t returns_at(const hpc_tree *t, int32_t loop)
{
    for (int32_t c = loop, up = t->node[c].parent; up > 0; c = up, up = t->node[up].parent) {
        if (t->node[up].kind == HPC_TREE_IF) continue;
        if (t->node[up].kind != HPC_TREE_BLOCK) return 0;
        for (int32_t k = hpc_tree_next(t, c); k; k = hpc_tree_next(t, k))
            if (t->node[k].kind == HPC_TREE_RETURN) return t->node[k].end;
    }
    return 0;
}

/* True if code of the function reads the value after the loop, or in later iterations of the loops
 * around it. */
static bool is_read_later(const loop_facts *l, int32_t symbol)
{
    const hpc_tree *t = l->p->t;
    const int32_t declared = t->symbol[symbol].node;
    int32_t part = l->node;
    for (int32_t up = t->node[part].parent; up > l->function; up = t->node[up].parent) {
        if (!is_loop(t->node[up].kind)) continue;
        if (declared > up && declared < t->node[up].end) break;
        const region rest = after(t, part, t->node[up].end), next = next_iteration(t, up, l->node);
        const int use = first_use(t, symbol, &rest);
        if (use != 0) return use > 0;
        if (first_use(t, symbol, &next) > 0) return true;
        part = up;
    }
    const region rest = after(t, part, t->node[l->function].end);
    return first_use(t, symbol, &rest) > 0;
}

bool is_live(const loop_facts *l, int32_t symbol)
{
    const hpc_tree *t = l->p->t;
    const hpc_symbol *v = &t->symbol[symbol];
    if (!(v->flags & HPC_SYMBOL_LOCAL) || (v->flags & HPC_SYMBOL_STATIC)) return true;
    const symbol_use *u = &l->p->use[symbol];
    if (kind_of(t, v->type) == HPC_TYPE_REFERENCE || u->addressed || u->bound) return true;
    if (is_read_by_lambda(l, symbol) || is_read_after_goto(l, symbol)) return true;
    const region rest = after(t, l->node, returns_at(t, l->node));
    if (rest.to && !may_leave(t, &rest, rest.to)) return first_use(t, symbol, &rest) > 0;
    return is_read_later(l, symbol);
}
