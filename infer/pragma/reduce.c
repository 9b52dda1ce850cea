/*
 * reduce.c: statements that fold a value into a variable: x += e, x = e * x, if (e < x) x = e,
 * x = fmax(x, e), x = x < e ? x : e, ok = ok && e.
 */
#include "infer/pragma/reduce.h"

#include <string.h>

/* True if an expression contains another one. */
static bool contains(const hpc_tree *t, int32_t e, int32_t what)
{
    for (int32_t i = e; i < t->node[e].end; i++)
        if (tree_equal(t, i, what)) return true;
    return false;
}

static bool folds(uint8_t op)
{
    return op == '+' || op == '*' || op == '&' || op == '|' || op == '^' || op == HPC_OP_AND ||
           op == HPC_OP_OR;
}

static bool accept(reduction *r, const hpc_tree *t, uint8_t op, int32_t target, int32_t value)
{
    *r = (reduction){.op = op, .target = target, .value = value};
    return !contains(t, value, target);
}

/* x = x op e: through chains like x + a + b as well, where x is the first. */
static bool match_binary(reduction *r, const hpc_tree *t, int32_t target, int32_t e)
{
    const hpc_tree_node *n = &t->node[e];
    int32_t left = hpc_tree_child(t, e, 0), right = hpc_tree_child(t, e, 1);
    if (n->kind != HPC_TREE_BINARY || !left || !right) return false;
    uint8_t op = n->op == '-' ? '+' : n->op;
    if (!folds(op)) return false;
    if (tree_equal(t, left, target)) return accept(r, t, op, target, right);
    if (n->op != '-' && n->op != HPC_OP_AND && n->op != HPC_OP_OR && tree_equal(t, right, target))
        return accept(r, t, op, target, left);
    if (op != '+' && op != '*') return false;
    reduction inner;
    if (!match_binary(&inner, t, target, left) || inner.op != op || inner.other) return false;
    if (!accept(r, t, op, target, inner.value)) return false;
    r->other = right;
    return !contains(t, right, target);
}

/* Which of `<` and its like, with the sides that they have: 'm' if it is true for a smaller left.
 */
static uint8_t side(uint8_t op)
{
    if (op == '<' || op == HPC_OP_LESS_EQUAL) return OP_MIN;
    if (op == '>' || op == HPC_OP_GREATER_EQUAL) return OP_MAX;
    return 0;
}

/* The op of "if (condition) target = value". */
static uint8_t chosen(const hpc_tree *t, int32_t condition, int32_t target, int32_t value)
{
    const hpc_tree_node *n = &t->node[condition];
    int32_t left = hpc_tree_child(t, condition, 0), right = hpc_tree_child(t, condition, 1);
    if (n->kind != HPC_TREE_BINARY || !left || !right) return 0;
    uint8_t op = side(n->op);
    if (op && tree_equal(t, left, value) && tree_equal(t, right, target)) return op;
    if (op && tree_equal(t, left, target) && tree_equal(t, right, value))
        return op == OP_MIN ? OP_MAX : OP_MIN;
    return 0;
}

static bool match_choice(reduction *r, const hpc_tree *t, int32_t target, int32_t e)
{
    int32_t condition = hpc_tree_child(t, e, 0), yes = hpc_tree_child(t, e, 1),
            no = hpc_tree_child(t, e, 2);
    if (t->node[e].kind != HPC_TREE_CHOOSE || !no) return false;
    if (tree_equal(t, no, target)) {
        uint8_t op = chosen(t, condition, target, yes);
        return op && accept(r, t, op, target, yes);
    }
    if (tree_equal(t, yes, target)) {
        uint8_t op = chosen(t, condition, target, no); /* the other way round */
        return op && accept(r, t, op == OP_MIN ? OP_MAX : OP_MIN, target, no);
    }
    return false;
}

static uint8_t named_op(const hpc_tree *t, int32_t symbol)
{
    static const struct {
        const char *name;
        uint8_t op;
    } names[] = {{"fmin", OP_MIN},  {"fminf", OP_MIN}, {"fminl", OP_MIN}, {"fmax", OP_MAX},
                 {"fmaxf", OP_MAX}, {"fmaxl", OP_MAX}, {"min", OP_MIN},   {"max", OP_MAX}};
    if (symbol < 0) return 0;
    const hpc_symbol *v = &t->symbol[symbol];
    const char *name = t->name + v->name, *scope = t->name + v->scope;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k].name) == 0 && (k < 6 || strcmp(scope, "std") == 0))
            return names[k].op;
    return 0;
}

/* x = fmax(x, e), either way round. */
static bool match_call(reduction *r, const hpc_tree *t, int32_t target, int32_t e)
{
    if (t->node[e].kind != HPC_TREE_CALL) return false;
    uint8_t op = named_op(t, t->node[e].symbol);
    int32_t a = hpc_tree_child(t, e, 1), b = hpc_tree_child(t, e, 2);
    if (!op || !a || !b || hpc_tree_next(t, b)) return false;
    if (tree_equal(t, a, target)) return accept(r, t, op, target, b);
    return tree_equal(t, b, target) && accept(r, t, op, target, a);
}

static bool match_assign(reduction *r, const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i];
    int32_t target = hpc_tree_child(t, i, 0), value = hpc_tree_child(t, i, 1);
    if (!target || !value) return false;
    if (n->op != '=') {
        uint8_t op = n->op == '-' ? '+' : n->op == '/' ? '*' : n->op;
        return folds(op) && accept(r, t, op, target, value);
    }
    return match_binary(r, t, target, value) || match_choice(r, t, target, value) ||
           match_call(r, t, target, value);
}

/* The one statement of a block, or the statement itself. */
static int32_t alone(const hpc_tree *t, int32_t i)
{
    while (t->node[i].kind == HPC_TREE_BLOCK) {
        int32_t c = hpc_tree_first(t, i);
        if (!c || hpc_tree_next(t, c)) return i;
        i = c;
    }
    return i;
}

static bool match_if(reduction *r, const hpc_tree *t, int32_t i)
{
    int32_t condition = hpc_tree_child(t, i, 0), then = hpc_tree_child(t, i, 1),
            other = hpc_tree_child(t, i, 2);
    if (!then || (other && t->node[other].kind != HPC_TREE_NOTHING)) return false;
    then = alone(t, then);
    if (t->node[then].kind != HPC_TREE_ASSIGN || t->node[then].op != '=') return false;
    int32_t target = hpc_tree_child(t, then, 0), value = hpc_tree_child(t, then, 1);
    uint8_t op = chosen(t, condition, target, value);
    return op && accept(r, t, op, target, value);
}

/* ---- conversions ---- */

/* A comparison of two integers is one of their values: the variable holds all of them, or both are
 * compared as unsigned values of its size. Otherwise a thread's copy may not start as the least. */
static bool holds_values(const hpc_tree_type *variable, const hpc_tree_type *value)
{
    const bool to = variable->flags & HPC_TYPE_UNSIGNED, from = value->flags & HPC_TYPE_UNSIGNED;
    if (value->kind != HPC_TYPE_INTEGER || variable->kind != HPC_TYPE_INTEGER) return true;
    if (to && !from) return variable->bytes >= 4 && value->bytes <= variable->bytes;
    return to == from ? value->bytes <= variable->bytes : value->bytes < variable->bytes;
}

/* 0 or 1. */
static bool is_truth(const hpc_tree *t, int32_t e)
{
    const uint8_t op = t->node[e].op;
    if (kind_of(t, bare_type(t, t->node[e].type)) == HPC_TYPE_BOOL) return true;
    if (t->node[e].kind == HPC_TREE_UNARY) return op == '!';
    return t->node[e].kind == HPC_TREE_BINARY &&
           (side(op) || op == HPC_OP_EQUAL || op == HPC_OP_NOT_EQUAL || op == HPC_OP_AND ||
            op == HPC_OP_OR);
}

/* The assignment converts the result. It must not change what the next iteration folds into. */
static bool converts_alike(const reduction *r, const hpc_tree *t, int32_t i)
{
    const int32_t to = bare_type(t, t->node[r->target].type),
                  from = r->value < 0 ? -1 : bare_type(t, t->node[r->value].type);
    if (to < 0) return true;
    if (r->op == OP_MIN || r->op == OP_MAX)
        return from < 0 || holds_values(&t->type[to], &t->type[from]);
    if (t->type[to].kind != HPC_TYPE_BOOL) return true;
    if (r->op == '+') return false; /* gcc adds the bytes of the threads' copies */
    return r->op != '^' || (t->node[i].op == '^' && is_truth(t, r->value));
}

static bool match(reduction *out, const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i];
    if (n->kind == HPC_TREE_IF) return match_if(out, t, i);
    if (n->kind == HPC_TREE_ASSIGN) return match_assign(out, t, i);
    if (n->kind != HPC_TREE_UNARY || n->op < HPC_OP_PRE_INCREMENT || n->op > HPC_OP_POST_DECREMENT)
        return false;
    *out = (reduction){.op = '+', .target = hpc_tree_first(t, i), .value = -1};
    return out->target != 0;
}

bool reduction_match(reduction *out, const hpc_tree *t, int32_t i)
{
    return match(out, t, i) && converts_alike(out, t, i);
}
