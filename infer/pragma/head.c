/*
 * head.c: canonical loop form (OpenMP 5.2, 4.4.1): one integer or pointer variable with a first
 * value, a test and a step that the body does not change.
 */
#include "infer/pragma/container.h"
#include "infer/pragma/inline.h"
#include "infer/pragma/open.h"

static void refuse(loop_head *h, const walk *w, int32_t node, const char *reason)
{
    if (h->reason) return;
    h->reason = reason;
    h->reason_line = w->t->node[node].line;
}

static bool is_step(uint8_t op)
{
    return op >= HPC_OP_PRE_INCREMENT && op <= HPC_OP_POST_DECREMENT;
}

/* "int i = e", "i = e": the variable and the first value; 0: it is neither. */
static int32_t read_first(loop_head *h, walk *w, int32_t first)
{
    const hpc_tree *t = w->t;
    int32_t c = hpc_tree_first(t, first);
    if (t->node[first].kind == HPC_TREE_DECLARE && c && t->node[c].kind == HPC_TREE_VARIABLE) {
        int32_t value = hpc_tree_first(t, c);
        if (hpc_tree_next(t, c)) refuse(h, w, first, "its header declares more than one variable");
        h->symbol = t->node[c].symbol;
        h->own = true;
        return value;
    }
    if (t->node[first].kind == HPC_TREE_ASSIGN && t->node[first].op == '=' &&
        t->node[c].kind == HPC_TREE_NAME)
    {
        h->symbol = t->node[c].symbol;
        return hpc_tree_next(t, c);
    }
    return 0;
}

static bool names(const hpc_tree *t, int32_t e, int32_t symbol)
{
    return e && t->node[e].kind == HPC_TREE_NAME && t->node[e].symbol == symbol;
}

static bool mentions(const hpc_tree *t, int32_t e, int32_t symbol)
{
    for (int32_t i = e; i < t->node[e].end; i++)
        if (names(t, i, symbol)) return true;
    return false;
}

static uint8_t turned(uint8_t op)
{
    switch (op) {
    case '<': return '>';
    case '>': return '<';
    case HPC_OP_LESS_EQUAL: return HPC_OP_GREATER_EQUAL;
    case HPC_OP_GREATER_EQUAL: return HPC_OP_LESS_EQUAL;
    default: return op;
    }
}

/* i < e and its like: the operator with i on the left, and e. */
static uint8_t read_test(int32_t *bound, const walk *w, const loop_head *h, int32_t test)
{
    const hpc_tree *t = w->t;
    int32_t left = hpc_tree_child(t, test, 0), right = hpc_tree_child(t, test, 1);
    if (t->node[test].kind != HPC_TREE_BINARY || !left || !right) return 0;
    bool straight = names(t, left, h->symbol), turn = names(t, right, h->symbol);
    if (straight == turn) return 0;
    *bound = straight ? right : left;
    return straight ? t->node[test].op : turned(t->node[test].op);
}

/* By how much it steps, as an expression (0: by one), and in which direction. */
static bool read_step(int32_t *by, bool *down, const walk *w, const loop_head *h, int32_t step)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[step];
    int32_t a = hpc_tree_child(t, step, 0), b = hpc_tree_child(t, step, 1);
    *by = 0;
    if (n->kind == HPC_TREE_UNARY && is_step(n->op) && names(t, a, h->symbol)) {
        *down = n->op == HPC_OP_PRE_DECREMENT || n->op == HPC_OP_POST_DECREMENT;
        return true;
    }
    if (n->kind != HPC_TREE_ASSIGN || !names(t, a, h->symbol)) return false;
    *down = n->op == '-';
    *by = b;
    if (n->op == '+' || n->op == '-') return true;
    if (n->op != '=' || t->node[b].kind != HPC_TREE_BINARY) return false;
    int32_t x = hpc_tree_child(t, b, 0), y = hpc_tree_child(t, b, 1);
    uint8_t op = t->node[b].op;
    *down = op == '-';
    *by = names(t, x, h->symbol) ? y : x;
    return (names(t, x, h->symbol) && (op == '+' || op == '-')) ||
           (names(t, y, h->symbol) && op == '+');
}

/* True if a part of the tree assigns the variable or takes its address. */
static bool may_change(const hpc_tree *t, int32_t from, int32_t to, int32_t symbol)
{
    for (int32_t i = from; i < to; i++) {
        const hpc_tree_node *n = &t->node[i];
        if (names(t, i, symbol) && (n->flags & HPC_TREE_BY_REFERENCE)) return true;
        if (n->kind != HPC_TREE_ASSIGN && n->kind != HPC_TREE_UNARY) continue;
        if (n->kind == HPC_TREE_UNARY && !is_step(n->op) && n->op != '&') continue;
        if (names(t, hpc_tree_first(t, i), symbol)) return true;
    }
    return false;
}

/* True if a variable of an expression is changed between two nodes of the tree. */
static bool inputs_change(const hpc_tree *t, int32_t e, int32_t from, int32_t to)
{
    for (int32_t i = e; i < t->node[e].end; i++)
        if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol >= 0 &&
            may_change(t, from, to, t->node[i].symbol))
            return true;
    return false;
}

static bool has_call(const hpc_tree *t, int32_t e)
{
    for (int32_t i = e; i < t->node[e].end; i++)
        if (t->node[i].kind == HPC_TREE_CALL) return true;
    return false;
}

/* A method or function of which only the value counts. */
static bool calls_are_plain(walk *w, int32_t e)
{
    for (int32_t i = e; i < w->t->node[e].end; i++) {
        if (w->t->node[i].kind != HPC_TREE_CALL || is_open_call(w, i)) continue;
        call_known k = call_known_of(w->t, w->t->node[i].symbol);
        if (k == CALL_VALUE || k == CALL_METHOD_READ) continue;
        if (k == CALL_METHOD_PLACE && is_container_call(w, i) &&
            kind_of(w->t, w->t->node[i].type) == HPC_TYPE_POINTER)
            continue;
        int32_t v = w->t->node[i].symbol;
        if (k == CALL_UNKNOWN && v >= 0 && effect_of(w->loop->p, v)->kind <= EFFECT_NONE) continue;
        if (k == CALL_UNKNOWN && inline_body(w->t, v) &&
            effect_of(w->loop->p, v)->kind == EFFECT_READS)
            continue; /* and then it counts as read in each iteration */
        return false;
    }
    return true;
}

/* Functions of C may change it, procedures of Fortran may only read it by its name: no procedure
 * may change the variable of a DO loop. */
static bool is_visible(const walk *w, const hpc_symbol *v)
{
    if (w->loop->p->language == HPC_LANGUAGE_FORTRAN) return v->flags & HPC_SYMBOL_STATIC;
    return !(v->flags & HPC_SYMBOL_LOCAL);
}

static void check_variable(loop_head *h, walk *w, int32_t first)
{
    if (h->symbol < 0) {
        refuse(h, w, first, "its first clause does not initialise a variable");
        return;
    }
    const hpc_symbol *v = &w->t->symbol[h->symbol];
    const hpc_tree_type *type = v->type >= 0 ? &w->t->type[v->type] : NULL;
    const bool open = is_open_counter(w->t, h->symbol) && slot_index(w->loop, h->symbol) >= 0;
    if (!type || (type->kind == HPC_TYPE_UNKNOWN && !open))
        refuse(h, w, first, "the type of its loop variable is unknown");
    else if (type->kind == HPC_TYPE_FLOAT)
        refuse(h, w, first, "its loop variable is a floating-point number");
    else if (type->kind != HPC_TYPE_INTEGER && type->kind != HPC_TYPE_POINTER && !open)
        refuse(h, w, first, "its loop variable is neither an integer nor a pointer");
    else if (type->flags & (HPC_TYPE_VOLATILE | HPC_TYPE_ATOMIC))
        refuse(h, w, first, "its loop variable is volatile or atomic");
    else if (may_change(w->t, h->body, w->t->node[h->body].end, h->symbol))
        refuse(h, w, first, "the body changes its loop variable or takes its address");
    else if (is_visible(w, v) && has_call(w->t, h->body) && !calls_are_plain(w, h->body))
        refuse(h, w, first, "its loop variable is visible to functions that the body calls");
}

static void check_part(loop_head *h, walk *w, int32_t e, const char *what)
{
    if (h->symbol >= 0 && mentions(w->t, e, h->symbol)) refuse(h, w, e, what);
    if (inputs_change(w->t, e, h->body, w->t->node[h->body].end)) refuse(h, w, e, what);
    if (has_call(w->t, e) && !calls_are_plain(w, e)) refuse(h, w, e, what);
}

/* The last value that the variable may have, from the test; the stride is known. */
static void bound(loop_head *h, walk *w, uint8_t op, const poly *limit)
{
    const poly *far = limit, *first = h->first;
    if (op == '<' || (op == HPC_OP_NOT_EQUAL && !h->down)) far = poly_plus(w->prover, limit, -1);
    if (op == '>' || (op == HPC_OP_NOT_EQUAL && h->down)) far = poly_plus(w->prover, limit, 1);
    h->lo = h->down ? far : first;
    h->hi = h->down ? first : far;
}

static void read_direction(loop_head *h, walk *w, uint8_t op, int32_t test, int32_t by, bool down)
{
    int64_t c = 1;
    h->stride = by ? value_of(w, by) : poly_number(w->prover, 1);
    if (poly_is_number(h->stride, &c) && c == 0) refuse(h, w, test, "its step is 0");
    if (c < 0) { /* i += -2 */
        down = !down;
        h->stride = poly_scaled(w->prover, h->stride, -1);
        c = -c;
    }
    h->down = down;
    if (down) h->stride = poly_scaled(w->prover, h->stride, -1);
    bool up_test = op == '<' || op == HPC_OP_LESS_EQUAL,
         down_test = op == '>' || op == HPC_OP_GREATER_EQUAL;
    if (!up_test && !down_test && op != HPC_OP_NOT_EQUAL)
        refuse(h, w, test, "its condition does not compare the loop variable with a bound");
    if ((up_test && down) || (down_test && !down))
        refuse(h, w, test, "it steps away from its bound");
    if (op == HPC_OP_NOT_EQUAL && !(poly_is_number(h->stride, &c) && (c == 1 || c == -1)))
        refuse(h, w, test, "with != it must step by 1");
}

/* ---- heads that step several variables ---------------------------------------------------------
 */

/* The parts of a, b, c, which are joined from the left; 0: there are too many. */
static int32_t comma_parts(int32_t out[HEAD_OTHERS + 1], const hpc_tree *t, int32_t e)
{
    int32_t n = 0;
    for (; t->node[e].kind == HPC_TREE_BINARY && t->node[e].op == ','; e = hpc_tree_first(t, e)) {
        if (n == HEAD_OTHERS) return 0;
        out[n++] = hpc_tree_child(t, e, 1);
    }
    out[n++] = e;
    return n;
}

/* "int i = 0, k = n", "i = 0, k = n": the variables with their first values. */
static int32_t read_firsts(head_part out[HEAD_OTHERS + 1], const hpc_tree *t, int32_t first)
{
    int32_t part[HEAD_OTHERS + 1], n = 0;
    if (t->node[first].kind == HPC_TREE_DECLARE) {
        for (int32_t c = hpc_tree_first(t, first); c; c = hpc_tree_next(t, c)) {
            if (n > HEAD_OTHERS || t->node[c].kind != HPC_TREE_VARIABLE) return 0;
            out[n++] = (head_part){.symbol = t->node[c].symbol, .first = hpc_tree_first(t, c)};
        }
        return n;
    }
    const int32_t parts = comma_parts(part, t, first);
    for (; n < parts; n++) {
        const int32_t c = hpc_tree_first(t, part[n]);
        if (t->node[part[n]].kind != HPC_TREE_ASSIGN || t->node[part[n]].op != '=' ||
            t->node[c].kind != HPC_TREE_NAME)
            return 0;
        out[n] = (head_part){.symbol = t->node[c].symbol, .first = hpc_tree_next(t, c)};
    }
    return n;
}

/* The variable that a statement steps, if that is all it does; -1. */
static int32_t stepped_by(const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i];
    const int32_t c = hpc_tree_first(t, i);
    const bool steps = n->kind == HPC_TREE_ASSIGN || (n->kind == HPC_TREE_UNARY && is_step(n->op));
    return steps && c && t->node[c].kind == HPC_TREE_NAME ? t->node[c].symbol : -1;
}

/* Finds the loop variable, which the test names, and the others; each has one step. False: the head
 * has another form, or one variable. */
static bool read_several(loop_head *h, head_part *main, const walk *w, int32_t loop)
{
    const hpc_tree *t = w->t;
    head_part all[HEAD_OTHERS + 1];
    int32_t step[HEAD_OTHERS + 1], limit;
    const int32_t n = read_firsts(all, t, hpc_tree_child(t, loop, 0)),
                  steps = comma_parts(step, t, hpc_tree_child(t, loop, 2));
    *main = (head_part){.symbol = -1};
    h->others_n = 0;
    if (n < 2 || n != steps) return false;
    for (int32_t k = 0; k < n; k++) {
        for (int32_t s = 0; s < steps; s++)
            if (stepped_by(t, step[s]) == all[k].symbol) all[k].step = step[s];
        if (all[k].symbol < 0 || !all[k].first || !all[k].step) return false;
        const loop_head one = {.symbol = all[k].symbol};
        if (read_test(&limit, w, &one, hpc_tree_child(t, loop, 1)) && main->symbol < 0)
            *main = all[k];
        else if (h->others_n < HEAD_OTHERS)
            h->other[h->others_n++] = all[k];
    }
    return main->symbol >= 0 && h->others_n == n - 1;
}

static void read_for(loop_head *h, walk *w, int32_t loop, bool inner)
{
    const hpc_tree *t = w->t;
    int32_t first = hpc_tree_child(t, loop, 0), test = hpc_tree_child(t, loop, 1),
            step = hpc_tree_child(t, loop, 2), limit = 0, by = 0;
    bool down = false;
    head_part main;
    h->body = hpc_tree_child(t, loop, 3);
    if (!first || !h->body) {
        refuse(h, w, loop, "its form is not supported");
        h->body = 0;
        return;
    }
    int32_t start = 0;
    if (inner && read_several(h, &main, w, loop)) {
        h->symbol = main.symbol;
        h->own = t->node[first].kind == HPC_TREE_DECLARE;
        start = main.first;
        step = main.step;
    } else {
        h->others_n = 0;
        start = read_first(h, w, first);
    }
    check_variable(h, w, first);
    if (h->symbol < 0) return;
    if (!start) {
        refuse(h, w, first, "its header does not initialise the loop variable");
        return;
    }
    if (mentions(w->t, start, h->symbol))
        refuse(h, w, first,
               "the initial value of its loop variable depends on the variable itself");
    uint8_t op = read_test(&limit, w, h, test);
    if (!op) {
        refuse(h, w, test, "its condition does not have the form i < n");
        return;
    }
    if (!read_step(&by, &down, w, h, step)) {
        refuse(h, w, step, "its step does not have the form i += c");
        return;
    }
    check_part(h, w, limit, HEAD_BOUND_CHANGES);
    if (by) check_part(h, w, by, "its step may change during the loop");
    h->limit = limit;
    h->first = value_of(w, start);
    const poly *last = value_of(w, limit);
    read_direction(h, w, op, test, by, down);
    h->tests_unequal = op == HPC_OP_NOT_EQUAL;
    bound(h, w, op, last);
}

/* for (auto &x : v): the variable that counts has no name. */
static void read_range(loop_head *h, walk *w, int32_t loop)
{
    const hpc_tree *t = w->t;
    h->over = hpc_tree_child(t, loop, 1);
    h->body = hpc_tree_child(t, loop, 2);
    h->first = h->lo = poly_number(w->prover, 0);
    h->stride = poly_number(w->prover, 1);
    if (!h->body) {
        refuse(h, w, loop, "its form is not supported");
        h->body = 0;
        return;
    }
    const poly *length = container_length(w, h->over);
    if (length) h->hi = poly_plus(w->prover, length, -1);
}

static void read_any(loop_head *out, walk *w, int32_t loop, bool inner)
{
    const hpc_tree *t = w->t;
    *out = (loop_head){.node = loop, .symbol = -1, .over = -1};
    switch (t->node[loop].kind) {
    case HPC_TREE_FOR: read_for(out, w, loop, inner); break;
    case HPC_TREE_RANGE: read_range(out, w, loop); break;
    case HPC_TREE_WHILE:
        out->body = hpc_tree_child(t, loop, 1);
        refuse(out, w, loop, "the trip count of a while loop is unknown");
        break;
    default:
        out->body = hpc_tree_child(t, loop, 0);
        refuse(out, w, loop, "the trip count of a do loop is unknown");
    }
}

void head_read(loop_head *out, walk *w, int32_t loop)
{
    read_any(out, w, loop, false);
}

void head_read_inner(loop_head *out, walk *w, int32_t loop)
{
    read_any(out, w, loop, true);
}
