/*
 * splice.c: see splice.h. Not replaced: lambdas with init-captures, that contain lambdas, that
 * return early, or that captured a copy of a variable which is assigned later. A functor's method
 * is treated as a lambda: a member that an initialiser in braces sets permanently is replaced by
 * that expression, and other members are those of the object.
 */
#include "infer/pragma/splice.h"

#include <string.h>

#include "infer/pragma/functor.h"

enum { BODY_MOST = 400, NESTED_MOST = 3, NODES_FACTOR = 4, PARAMETERS_MOST = 8 };

typedef struct splicing {
    const hpc_tree *t;
    spliced *out;
    int64_t cap, symbols_cap;
    int32_t *lambda;   /* by node of a CALL: the LAMBDA or FUNCTION that can replace it; 0 */
    int32_t *new_node; /* by node of the original: its first copy */
    int32_t *rename;   /* by symbol: its copy in the body being spliced; -1 */
    int32_t *argument; /* by symbol of a parameter or member: the expression that replaces it; 0 */
    int32_t object;    /* that `this` points to in the body being spliced; 0 */
    int32_t call;      /* the outermost call that is being replaced */
    int32_t loops, nested;
    bool large; /* the new tree exceeds its limit */
    int rc;
} splicing;

/* ---- which calls ---- */

static int32_t block_of(const hpc_tree *t, int32_t lambda)
{
    int32_t last = 0;
    for (int32_t c = hpc_tree_first(t, lambda); c; c = hpc_tree_next(t, c)) last = c;
    return last && t->node[last].kind == HPC_TREE_BLOCK ? last : 0;
}

/* The lambda that a local variable was initialised with; 0. */
static int32_t lambda_of(const hpc_tree *t, int32_t v)
{
    int32_t node = v < 0 ? -1 : t->symbol[v].node;
    if (node < 0 || t->node[node].kind != HPC_TREE_VARIABLE) return 0;
    if (!(t->symbol[v].flags & HPC_SYMBOL_LOCAL)) return 0;
    int32_t first = hpc_tree_first(t, node);
    return first && t->node[first].kind == HPC_TREE_LAMBDA ? first : 0;
}

/* The returned expression of a body that consists of it; 0. */
static int32_t only_value(const hpc_tree *t, int32_t block)
{
    int32_t only = hpc_tree_first(t, block);
    if (!only || hpc_tree_next(t, only) || t->node[only].kind != HPC_TREE_RETURN) return 0;
    int32_t e = hpc_tree_first(t, only);
    return e && t->node[e].kind != HPC_TREE_NOTHING ? e : 0;
}

static bool is_statement(const hpc_tree *t, int32_t i)
{
    int32_t up = t->node[i].parent;
    switch (t->node[up].kind) {
    case HPC_TREE_BLOCK: return true;
    case HPC_TREE_FOR: return i == hpc_tree_child(t, up, 3);
    case HPC_TREE_RANGE: return i == hpc_tree_child(t, up, 2);
    case HPC_TREE_WHILE: return i == hpc_tree_child(t, up, 1);
    case HPC_TREE_IF: return i != hpc_tree_first(t, up);
    default: return false;
    }
}

static bool is_captured_by_copy(const hpc_tree *t, int32_t lambda, int32_t v)
{
    for (int32_t c = hpc_tree_first(t, lambda); c; c = hpc_tree_next(t, c))
        if (t->node[c].kind == HPC_TREE_NAME && t->node[c].symbol == v)
            return !(t->node[c].flags & HPC_TREE_BY_REFERENCE);
    return t->node[lambda].op != '&';
}

/* True if the names in a body mean the same at the call as in the lambda. */
static bool captures_last(const hpc_tree *t, int32_t lambda, int32_t block)
{
    int32_t end = t->node[function_around(t, lambda)].end;
    for (int32_t i = block; i < t->node[block].end; i++) {
        int32_t v = t->node[i].kind == HPC_TREE_NAME ? t->node[i].symbol : -1;
        if (v < 0 || t->symbol[v].kind > HPC_SYMBOL_PARAMETER) continue;
        int32_t at = t->symbol[v].node;
        bool own = at > lambda && at < t->node[lambda].end;
        if (own || !(t->symbol[v].flags & HPC_SYMBOL_LOCAL)) continue;
        if (is_captured_by_copy(t, lambda, v) && is_name_assigned(t, v, block, end)) return false;
    }
    return true;
}

static bool is_plain_body(const hpc_tree *t, int32_t block, bool value)
{
    for (int32_t i = block + 1; i < t->node[block].end; i++) switch (t->node[i].kind)
        {
        case HPC_TREE_RETURN:
            if (!value) return false;
            break;
        case HPC_TREE_ASSIGN:
            if (value) return false;
            break;
        case HPC_TREE_UNARY:
            if (value && name_assigned_by(t, i) >= 0) return false;
            break;
        case HPC_TREE_LAMBDA:
        case HPC_TREE_GOTO:
        case HPC_TREE_LABEL:
        case HPC_TREE_TRY:
        case HPC_TREE_ASM: return false;
        default: break;
        }
    return true;
}

/* An expression that can stand wherever the parameter is named. */
static bool is_repeatable(const hpc_tree *t, int32_t e)
{
    for (int32_t i = e; i < t->node[e].end; i++) {
        uint8_t k = t->node[i].kind;
        if (k != HPC_TREE_NAME && k != HPC_TREE_NUMBER && k != HPC_TREE_BINARY &&
            k != HPC_TREE_INDEX && k != HPC_TREE_MEMBER)
            return false;
    }
    return true;
}

/* The parameters match the arguments, which are repeatable if they must replace parameters. */
static bool parameters_match(const hpc_tree *t, int32_t lambda, int32_t call, bool value)
{
    int32_t arg = hpc_tree_child(t, call, 2), n = 0;
    for (int32_t c = hpc_tree_first(t, lambda); c; c = hpc_tree_next(t, c)) {
        if (t->node[c].kind != HPC_TREE_VARIABLE) continue;
        if (hpc_tree_first(t, c) || !arg || ++n > PARAMETERS_MOST || t->node[c].symbol < 0)
            return false;
        if (value && !is_repeatable(t, arg)) return false;
        arg = hpc_tree_next(t, arg);
    }
    return !arg;
}

static int32_t replacement_of(const hpc_tree *t, int32_t call)
{
    if (t->node[call].kind != HPC_TREE_CALL || !(t->node[call].flags & HPC_TREE_OPERATOR)) return 0;
    int32_t object = hpc_tree_child(t, call, 1);
    if (!object || !functor_is_object(t, object)) return 0;
    int32_t lambda = lambda_of(t, t->node[object].symbol);
    if (!lambda) lambda = functor_method(t, call);
    int32_t block = lambda ? block_of(t, lambda) : 0;
    if (!block || (call > lambda && call < t->node[lambda].end)) return 0;
    if (t->node[block].end - block > BODY_MOST || t->node[lambda].op == HPC_OP_OTHER) return 0;
    if (t->node[lambda].flags & HPC_TREE_ERRORS) return 0;
    const bool method = t->node[lambda].kind == HPC_TREE_FUNCTION;
    if (method && (!functor_names_members(t, block) || only_value(t, block))) return 0;
    bool value = only_value(t, block) != 0;
    if (!value && !is_statement(t, call)) return 0;
    if (!is_plain_body(t, block, value) || !parameters_match(t, lambda, call, value)) return 0;
    return method || captures_last(t, lambda, block) ? lambda : 0;
}

static bool is_in_loop(const hpc_tree *t, int32_t i)
{
    for (int32_t up = t->node[i].parent; up > 0; up = t->node[up].parent)
        if (is_loop(t->node[up].kind)) return true;
    return false;
}

/* Each use of the variable is a call that is replaced, so the lambda itself is not needed. Loops of
 * its body stay in the tree. */
static bool is_replaced(const splicing *s, int32_t lambda)
{
    const hpc_tree *t = s->t;
    int32_t v = t->node[t->node[lambda].parent].symbol;
    for (int32_t i = lambda; i < t->node[lambda].end; i++)
        if (is_loop(t->node[i].kind)) return false;
    for (int32_t i = lambda; i < t->node[function_around(t, lambda)].end; i++) {
        if (t->node[i].kind != HPC_TREE_NAME || t->node[i].symbol != v) continue;
        int32_t call = t->node[i].parent;
        if (s->lambda[call] != lambda || !is_in_loop(t, call)) return false;
    }
    return true;
}

/* ---- the new tree ---- */

static void emit(splicing *s, int32_t i, int32_t parent);

/* Code without a position has that of the call, as code of a macro has that of its use. */
static void stand_for_call(splicing *s, int32_t k)
{
    const hpc_tree_node *call = &s->t->node[s->call];
    hpc_tree_node *n = &s->out->tree.node[k];
    n->flags = (uint16_t)((n->flags & ~HPC_TREE_ELSEWHERE) | HPC_TREE_MACRO);
    n->at = call->at;
    n->to = call->to;
    n->line = call->line;
    n->column = call->column;
}

static int32_t put(splicing *s, int32_t i, int32_t parent)
{
    hpc_tree *out = &s->out->tree;
    int64_t cap = s->cap;
    s->large |= out->n > NODES_FACTOR * s->t->n + BODY_MOST;
    if (s->large) return 0;
    if (s->rc >= 0) s->rc = hpc_grow(&out->node, &s->cap, out->n + 1, sizeof *out->node);
    if (s->rc >= 0) s->rc = hpc_grow(&s->out->from, &cap, out->n + 1, sizeof *s->out->from);
    if (s->rc < 0) return 0;
    const int32_t k = (int32_t)out->n++;
    out->node[k] = s->t->node[i];
    out->node[k].parent = parent;
    s->out->from[k] = i;
    int32_t v = out->node[k].symbol;
    if (v >= 0 && s->rename[v] >= 0) {
        out->node[k].symbol = s->rename[v];
        if (out->node[k].kind == HPC_TREE_VARIABLE) out->symbol[s->rename[v]].node = k;
    }
    if (s->nested == 0) s->new_node[i] = k;
    if (s->nested > 0 && (out->node[k].flags & HPC_TREE_ELSEWHERE)) stand_for_call(s, k);
    if (s->nested > 0 && is_loop(out->node[k].kind)) out->node[k].flags |= HPC_TREE_ELSEWHERE;
    return k;
}

static void end_node(splicing *s, int32_t k)
{
    if (s->rc >= 0 && !s->large) s->out->tree.node[k].end = (int32_t)s->out->tree.n;
}

static void copy_symbol(splicing *s, int32_t v)
{
    hpc_tree *out = &s->out->tree;
    if (s->rc >= 0)
        s->rc = hpc_grow(&out->symbol, &s->symbols_cap, out->symbols_n + 1, sizeof *out->symbol);
    if (s->rc < 0) return;
    out->symbol[out->symbols_n] = s->t->symbol[v];
    out->symbol[out->symbols_n].kind = HPC_SYMBOL_VARIABLE;
    s->rename[v] = (int32_t)out->symbols_n++;
}

/* Parameters become variables that the arguments initialise. */
static void emit_statement(splicing *s, int32_t call, int32_t lambda, int32_t block, int32_t parent)
{
    const hpc_tree *t = s->t;
    int32_t arg = hpc_tree_child(t, call, 2), k = put(s, block, parent), made[PARAMETERS_MOST];
    int32_t at[PARAMETERS_MOST], n = 0;
    const int32_t object = s->object;
    if (s->rc < 0 || s->large) return;
    s->out->tree.node[k].flags |= TREE_SPLICED;
    for (int32_t c = hpc_tree_first(t, lambda); c && s->rc >= 0; c = hpc_tree_next(t, c)) {
        if (t->node[c].kind != HPC_TREE_VARIABLE) continue;
        made[n] = put(s, call, k);
        if (s->rc < 0 || s->large) return;
        hpc_tree_node *declare = &s->out->tree.node[made[n]];
        declare->kind = HPC_TREE_DECLARE;
        declare->flags = 0;
        declare->symbol = declare->type = -1;
        at[n] = put(s, c, made[n]);
        if (s->rc < 0 || s->large) return;
        s->object = 0;
        emit(s, arg, at[n]); /* before the parameter has its new symbol */
        s->object = object;
        end_node(s, at[n]);
        end_node(s, made[n++]);
        arg = hpc_tree_next(t, arg);
    }
    for (int32_t i = lambda; i < t->node[lambda].end; i++)
        if (t->node[i].kind == HPC_TREE_VARIABLE && t->node[i].symbol >= 0)
            copy_symbol(s, t->node[i].symbol);
    for (int32_t i = 0; i < n && s->rc >= 0 && !s->large; i++) {
        hpc_tree_node *x = &s->out->tree.node[at[i]];
        x->symbol = s->rename[x->symbol];
        s->out->tree.symbol[x->symbol].node = at[i];
    }
    for (int32_t c = hpc_tree_first(t, block); c && s->rc >= 0; c = hpc_tree_next(t, c))
        emit(s, c, k);
    end_node(s, k);
    for (int32_t i = lambda; i < t->node[lambda].end; i++)
        if (t->node[i].kind == HPC_TREE_VARIABLE && t->node[i].symbol >= 0)
            s->rename[t->node[i].symbol] = -1;
}

/* Arguments replace the parameters. */
static void emit_value(splicing *s, int32_t call, int32_t lambda, int32_t e, int32_t parent)
{
    const hpc_tree *t = s->t;
    int32_t arg = hpc_tree_child(t, call, 2), k = (int32_t)s->out->tree.n;
    for (int32_t c = hpc_tree_first(t, lambda); c; c = hpc_tree_next(t, c)) {
        if (t->node[c].kind != HPC_TREE_VARIABLE) continue;
        s->argument[t->node[c].symbol] = arg;
        arg = hpc_tree_next(t, arg);
    }
    emit(s, e, parent);
    if (s->rc >= 0 && !s->large) s->out->tree.node[k].flags |= TREE_SPLICED;
    for (int32_t c = hpc_tree_first(t, lambda); c; c = hpc_tree_next(t, c))
        if (t->node[c].kind == HPC_TREE_VARIABLE) s->argument[t->node[c].symbol] = 0;
}

static void note_captured(splicing *s, int32_t block)
{
    for (int32_t i = block; i < s->t->node[block].end; i++)
        if (s->t->node[i].kind == HPC_TREE_NAME && s->t->node[i].symbol >= 0)
            s->out->captured[s->t->node[i].symbol] = true;
}

/* Lets the members of an object stand for their values, or ends that. */
static void set_members(splicing *s, int32_t object, int32_t block, bool on)
{
    const hpc_tree *t = s->t;
    for (int32_t i = block; i < t->node[block].end; i++) {
        const int32_t field =
            t->node[i].kind == HPC_TREE_THIS ? t->node[t->node[i].parent].symbol : -1;
        if (field < 0) continue;
        s->argument[field] = on ? functor_value(t, object, field) : 0;
        if (s->argument[field]) note_captured(s, s->argument[field]);
    }
}

static bool emit_replacement(splicing *s, int32_t call, int32_t parent)
{
    int32_t lambda = s->lambda[call], block = lambda ? block_of(s->t, lambda) : 0;
    if (!lambda || s->loops == 0 || s->nested == NESTED_MOST) return false;
    int32_t e = only_value(s->t, block);
    const bool method = s->t->node[lambda].kind == HPC_TREE_FUNCTION;
    if (method && s->object) return false;
    if (s->nested++ == 0) s->call = call;
    if (method) {
        s->object = hpc_tree_child(s->t, call, 1);
        set_members(s, s->object, block, true);
        note_captured(s, s->object);
    }
    if (e)
        emit_value(s, call, lambda, e, parent);
    else
        emit_statement(s, call, lambda, block, parent);
    if (method) {
        set_members(s, s->object, block, false);
        s->object = 0;
    }
    s->nested--;
    note_captured(s, block);
    s->out->any = true;
    return true;
}

/* A member of `this`: its value, or the member of the object. */
static void emit_member(splicing *s, int32_t i, int32_t parent)
{
    const int32_t field = s->t->node[i].symbol, object = s->object;
    if (field >= 0 && s->argument[field]) {
        emit(s, s->argument[field], parent);
        return;
    }
    const int32_t k = put(s, i, parent);
    if (s->rc < 0 || s->large) return;
    s->out->tree.node[k].op = '.';
    emit(s, object, k);
    end_node(s, k);
}

static void emit(splicing *s, int32_t i, int32_t parent)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *n = &t->node[i];
    if (s->rc < 0 || s->large) return;
    int32_t arg = n->kind == HPC_TREE_NAME && n->symbol >= 0 ? s->argument[n->symbol] : 0;
    if (arg) {
        emit(s, arg, parent);
        return;
    }
    if (emit_replacement(s, i, parent)) return;
    if (s->object && functor_is_member(t, i)) {
        emit_member(s, i, parent);
        return;
    }
    const int32_t k = put(s, i, parent);
    s->loops += is_loop(n->kind);
    for (int32_t c = hpc_tree_first(t, i); c && s->rc >= 0; c = hpc_tree_next(t, c))
        if (t->node[c].kind != HPC_TREE_LAMBDA || n->kind != HPC_TREE_VARIABLE ||
            !is_replaced(s, c))
            emit(s, c, k);
    s->loops -= is_loop(n->kind);
    end_node(s, k);
}

/* ---- all ---- */

static bool find_calls(splicing *s)
{
    bool any = false;
    for (int32_t i = 1; i < s->t->n; i++) {
        s->lambda[i] = replacement_of(s->t, i);
        any |= s->lambda[i] && is_in_loop(s->t, i);
    }
    return any;
}

static bool may_replace(const hpc_tree *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (t->node[i].kind == HPC_TREE_LAMBDA ||
            (t->node[i].kind == HPC_TREE_CALL && (t->node[i].flags & HPC_TREE_OPERATOR) &&
             functor_method(t, i)))
            return true;
    return false;
}

static int build(splicing *s)
{
    const hpc_tree *t = s->t;
    hpc_tree *out = &s->out->tree;
    int rc;
    *out = *t;
    out->node = NULL;
    out->symbol = NULL;
    out->n = 0;
    TRY(hpc_grow(&out->symbol, &s->symbols_cap, t->symbols_n + 1, sizeof *out->symbol));
    memcpy(out->symbol, t->symbol, (size_t)t->symbols_n * sizeof *out->symbol);
    emit(s, 0, -1);
    TRY(s->rc);
    for (int64_t v = 0; v < t->symbols_n; v++)
        if (t->symbol[v].node > 0) {
            const int32_t k = s->new_node[t->symbol[v].node];
            out->symbol[v].node = k > 0 ? k : -1; /* -1: in a lambda that is left out */
        }
out:
    return rc;
}

int splice_lambdas(spliced *out, const hpc_tree *t)
{
    splicing s = {.t = t, .out = out};
    int rc = HPC_OK;
    *out = (spliced){0};
    if (!may_replace(t)) return HPC_OK;
    s.lambda = hpc_alloc((size_t)t->n, sizeof *s.lambda);
    s.new_node = hpc_alloc((size_t)t->n, sizeof *s.new_node);
    s.rename = hpc_alloc((size_t)t->symbols_n + 1, sizeof *s.rename);
    s.argument = hpc_alloc((size_t)t->symbols_n + 1, sizeof *s.argument);
    out->captured = hpc_alloc((size_t)t->symbols_n + 1, sizeof *out->captured);
    if (!s.lambda || !s.new_node || !s.rename || !s.argument || !out->captured) TRY(HPC_E_NOMEM);
    for (int64_t v = 0; v < t->symbols_n; v++) s.rename[v] = -1;
    if (find_calls(&s)) rc = build(&s);
    if (s.large) splice_release(out); /* the original serves */
out:
    hpc_free(s.lambda);
    hpc_free(s.new_node);
    hpc_free(s.rename);
    hpc_free(s.argument);
    if (rc < 0) splice_release(out);
    return rc;
}

void splice_release(spliced *s)
{
    if (s->any || s->from) {
        hpc_free(s->tree.node);
        hpc_free(s->tree.symbol);
    }
    hpc_free(s->from);
    hpc_free(s->captured);
    *s = (spliced){0};
}
