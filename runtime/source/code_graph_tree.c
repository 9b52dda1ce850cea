/*
 * Graphs of code from the compiler's tree: macros are expanded, variables are declarations instead
 * of spellings, and their nodes are labelled by type. The right side of an assignment comes before
 * the left one, so that a value is read before it is written.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/source/code_graph_priv.h"
#include "runtime/source/source.h"
#include "runtime/source/tree.h"

enum { WAYS = 4 /* that lead to the next statement, at most */ };

typedef struct walk {
    hpc_code_graph *g;
    const hpc_tree *t;
    int depth;
    int32_t loop; /* the innermost one, or -1 */
} walk;
typedef struct spot {   /* where the next node is put */
    int32_t node, last; /* -1: none */
} spot;
typedef struct ways { /* statements that may run just before the next one */
    int32_t node[WAYS];
    int n;
} ways;

static int visit(walk *w, int32_t i, spot *under, bool written);
static int visit_statement(walk *w, int32_t i, spot *under, ways *in);

/* ---- labels ---------------------------------------------------------------------------------- */

static uint32_t hash_of(const char *text)
{
    return hpc_token_hash(text, strlen(text));
}

/* "*f8" for a pointer to double. */
static uint32_t type_label(const hpc_tree *t, int32_t type)
{
    static const char letter[] = "?vbif*[&rF";
    char text[160];
    size_t n = 0;
    for (int level = 0; type >= 0 && level < 8; level++, type = t->type[type].to) {
        const hpc_tree_type *p = &t->type[type];
        bool plain = p->kind >= HPC_TYPE_BOOL && p->kind <= HPC_TYPE_FLOAT;
        const bool is_unsigned = p->kind != HPC_TYPE_RECORD && (p->flags & HPC_TYPE_UNSIGNED);
        text[n++] = is_unsigned ? 'u' : letter[p->kind];
        if (plain) n += (size_t)snprintf(text + n, 24, "%lld", (long long)p->bytes);
        if (p->kind == HPC_TYPE_RECORD) {
            size_t most = strlen(t->name + p->name);
            if (most > 64) most = 64;
            memcpy(text + n, t->name + p->name, most);
            n += most;
        }
    }
    return hpc_token_hash(text, n);
}

static uint32_t op_label(const hpc_tree_node *v)
{
    char text[8], op[4];
    snprintf(text, sizeof text, "%s%s", hpc_tree_op_text(op, v->op),
             v->kind == HPC_TREE_ASSIGN && v->op != '=' ? "=" : "");
    return hash_of(v->kind == HPC_TREE_CHOOSE || !*text ? "?" : text);
}

static const char *symbol_name(const hpc_tree *t, int32_t symbol)
{
    return symbol >= 0 ? t->name + t->symbol[symbol].name : "";
}

static bool is_variable(const hpc_tree *t, int32_t symbol)
{
    return symbol >= 0 && t->symbol[symbol].kind <= HPC_SYMBOL_FIELD;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* *out: -1 once the graph is full. `name` tells variables and functions apart. */
static int put(walk *w, int32_t *out, spot *under, hpc_code_kind kind, int32_t i, uint32_t label,
               uint32_t name)
{
    const hpc_code_node v = {.label = label,
                             .at = w->t->node[i].at,
                             .kind = (uint8_t)kind,
                             .depth = (uint8_t)(w->depth < 255 ? w->depth : 255)};
    int rc = HPC_OK;
    *out = -1;
    if (w->g->n >= HPC_CODE_NODES) {
        w->g->cut = true;
        return HPC_OK;
    }
    TRY(code_graph_node(w->g, &v, under->node, under->last));
    *out = under->last = (int32_t)w->g->n - 1;
    code_graph_name(w->g)[*out] = name;
    if (name) TRY(code_graph_link(w->g, *out, 0));
out:
    return rc;
}

static int visit_children(walk *w, int32_t i, spot *under)
{
    int rc = HPC_OK;
    for (int32_t c = hpc_tree_first(w->t, i); c && rc == HPC_OK; c = hpc_tree_next(w->t, c))
        rc = visit(w, c, under, false);
    return rc;
}

/* A node for i with its children below. */
static int put_above(walk *w, int32_t i, spot *under, hpc_code_kind kind, uint32_t label)
{
    int32_t node;
    int rc = put(w, &node, under, kind, i, label, 0);
    if (rc == HPC_OK && node >= 0) rc = visit_children(w, i, &(spot){node, -1});
    return rc;
}

static int put_variable(walk *w, int32_t i, spot *under, bool written)
{
    const hpc_tree_node *v = &w->t->node[i];
    int32_t node;
    return put(w, &node, under, written ? HPC_CODE_WRITE : HPC_CODE_READ, i,
               type_label(w->t, v->type), (uint32_t)v->symbol + 1);
}

/* The value of a declaration comes before its variable. */
static int put_declared(walk *w, int32_t i, spot *under)
{
    int rc = visit_children(w, i, under);
    if (rc == HPC_OK && w->t->node[i].symbol >= 0)
        rc = put_variable(w, i, under, hpc_tree_first(w->t, i) != 0);
    return rc;
}

static int put_assignment(walk *w, int32_t i, spot *under)
{
    const hpc_tree_node *v = &w->t->node[i];
    int32_t left = hpc_tree_first(w->t, i), node;
    spot below;
    int rc;
    TRY(put(w, &node, under, HPC_CODE_OPERATOR, i, op_label(v), 0));
    if (node < 0 || !left) goto out;
    below = (spot){node, -1};
    if (v->kind == HPC_TREE_ASSIGN) TRY(visit(w, hpc_tree_next(w->t, left), &below, false));
    TRY(visit(w, left, &below, true));
out:
    return rc;
}

/* The arguments, each with an edge to the call. The callee's object is one of them. */
static int put_call(walk *w, int32_t i, spot *under)
{
    const hpc_tree_node *v = &w->t->node[i];
    uint32_t name = hash_of(symbol_name(w->t, v->symbol));
    int32_t node, callee = hpc_tree_first(w->t, i);
    spot below;
    int rc;
    TRY(put(w, &node, under, HPC_CODE_CALL, i, name, v->symbol >= 0 ? name | 1 : 0));
    if (node < 0) goto out;
    below = (spot){node, -1};
    for (int32_t c = callee; c; c = hpc_tree_next(w->t, c)) {
        int32_t before = below.last;
        if (c == callee && v->symbol >= 0 && w->t->node[c].kind == HPC_TREE_MEMBER)
            TRY(visit_children(w, c, &below));
        else if (c != callee || v->symbol < 0)
            TRY(visit(w, c, &below, false));
        if (below.last != before) TRY(code_graph_edge(w->g, below.last, node, HPC_CODE_FLOW));
    }
out:
    return rc;
}

/* A field of the object itself is a variable; of another object, a word above what it is in. */
static int put_member(walk *w, int32_t i, spot *under, bool written)
{
    const hpc_tree_node *v = &w->t->node[i];
    int32_t object = hpc_tree_first(w->t, i), node;
    int rc = HPC_OK;
    if (object && w->t->node[object].kind == HPC_TREE_THIS && is_variable(w->t, v->symbol))
        return put_variable(w, i, under, written);
    TRY(put(w, &node, under, HPC_CODE_WORD, i, hash_of(symbol_name(w->t, v->symbol)), 0));
    if (node >= 0 && object) TRY(visit(w, object, &(spot){node, -1}, written));
out:
    return rc;
}

static int put_index(walk *w, int32_t i, spot *under, bool written)
{
    int32_t base = hpc_tree_first(w->t, i), node;
    spot below;
    int rc;
    TRY(put(w, &node, under, HPC_CODE_GROUP, i, hash_of("["), 0));
    if (node < 0 || !base) goto out;
    below = (spot){node, -1};
    TRY(visit(w, hpc_tree_next(w->t, base), &below, false));
    TRY(visit(w, base, &below, written));
out:
    return rc;
}

static int put_number(walk *w, int32_t i, spot *under)
{
    char text[24];
    int32_t node;
    snprintf(text, sizeof text, "%lld", (long long)w->t->node[i].value);
    return put(w, &node, under, HPC_CODE_CONSTANT, i, hash_of(text), 0);
}

static int put_name(walk *w, int32_t i, spot *under, bool written)
{
    int32_t symbol = w->t->node[i].symbol, node;
    if (is_variable(w->t, symbol)) return put_variable(w, i, under, written);
    return put(w, &node, under, HPC_CODE_WORD, i, hash_of(symbol_name(w->t, symbol)), 0);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool is_step(const hpc_tree_node *v)
{
    return v->op >= HPC_OP_PRE_INCREMENT && v->op <= HPC_OP_POST_DECREMENT;
}

/* written: it is the left side of an assignment, or modified by ++. */
static int visit(walk *w, int32_t i, spot *under, bool written)
{
    const hpc_tree_node *v = &w->t->node[i];
    int32_t node;
    if (i == 0) return HPC_OK;
    switch (v->kind) {
    case HPC_TREE_NOTHING: return HPC_OK;
    case HPC_TREE_VARIABLE: return put_declared(w, i, under);
    case HPC_TREE_NUMBER: return put_number(w, i, under);
    case HPC_TREE_FLOAT:
    case HPC_TREE_STRING:
        return put(w, &node, under, HPC_CODE_CONSTANT, i, type_label(w->t, v->type), 0);
    case HPC_TREE_NAME: return put_name(w, i, under, written);
    case HPC_TREE_THIS: return put(w, &node, under, HPC_CODE_WORD, i, hash_of("this"), 0);
    case HPC_TREE_MEMBER: return put_member(w, i, under, written);
    case HPC_TREE_INDEX: return put_index(w, i, under, written);
    case HPC_TREE_CALL: return put_call(w, i, under);
    case HPC_TREE_CONSTRUCT:
        return put_above(w, i, under, HPC_CODE_WORD, type_label(w->t, v->type));
    case HPC_TREE_ASSIGN: return put_assignment(w, i, under);
    case HPC_TREE_UNARY:
        if (is_step(v)) return put_assignment(w, i, under);
        return put_above(w, i, under, HPC_CODE_OPERATOR, op_label(v));
    case HPC_TREE_BINARY:
    case HPC_TREE_CHOOSE: return put_above(w, i, under, HPC_CODE_OPERATOR, op_label(v));
    case HPC_TREE_CAST: return put_above(w, i, under, HPC_CODE_WORD, type_label(w->t, v->type));
    case HPC_TREE_LIST: return put_above(w, i, under, HPC_CODE_GROUP, hash_of("{"));
    case HPC_TREE_NEW: return put_above(w, i, under, HPC_CODE_WORD, hash_of("new"));
    case HPC_TREE_DELETE: return put_above(w, i, under, HPC_CODE_WORD, hash_of("delete"));
    case HPC_TREE_THROW: return put_above(w, i, under, HPC_CODE_JUMP, hash_of("throw"));
    case HPC_TREE_BLOCK: return visit_statement(w, i, under, &(ways){.n = 0}); /* of a lambda */
    default: return visit_children(w, i, under);
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

static const struct {
    const char *word;
    hpc_code_kind kind;
    int8_t body[2]; /* children that are statements; -1: none */
} statements[HPC_TREE_KIND_N] = {
    [HPC_TREE_IF] = {"if", HPC_CODE_BRANCH, {1, 2}},
    [HPC_TREE_SWITCH] = {"switch", HPC_CODE_BRANCH, {1, -1}},
    [HPC_TREE_CASE] = {"case", HPC_CODE_BRANCH, {1, -1}},
    [HPC_TREE_FOR] = {"for", HPC_CODE_LOOP, {3, -1}},
    [HPC_TREE_RANGE] = {"for", HPC_CODE_LOOP, {2, -1}},
    [HPC_TREE_WHILE] = {"while", HPC_CODE_LOOP, {1, -1}},
    [HPC_TREE_DO] = {"do", HPC_CODE_LOOP, {0, -1}},
    [HPC_TREE_BREAK] = {"break", HPC_CODE_JUMP, {-1, -1}},
    [HPC_TREE_CONTINUE] = {"continue", HPC_CODE_JUMP, {-1, -1}},
    [HPC_TREE_RETURN] = {"return", HPC_CODE_JUMP, {-1, -1}},
    [HPC_TREE_GOTO] = {"goto", HPC_CODE_JUMP, {-1, -1}},
    [HPC_TREE_DECLARE] = {"declare", HPC_CODE_STATEMENT, {-1, -1}},
};

static void add_ways(ways *to, const ways *more)
{
    for (int k = 0; k < more->n && to->n < WAYS; k++) to->node[to->n++] = more->node[k];
}

static int come_from(walk *w, const ways *in, int32_t node)
{
    int rc = HPC_OK;
    for (int k = 0; k < in->n && rc == HPC_OK; k++)
        rc = code_graph_edge(w->g, in->node[k], node, HPC_CODE_CONTROL);
    return rc;
}

/* Children of a statement. Its bodies begin after the statement; *out: the ways out of them. */
static int visit_parts(walk *w, int32_t i, spot *below, ways *out)
{
    const hpc_tree_node *v = &w->t->node[i];
    int k = 0, rc = HPC_OK;
    for (int32_t c = hpc_tree_first(w->t, i); c; c = hpc_tree_next(w->t, c), k++) {
        ways after = {{below->node}, 1};
        if (statements[v->kind].body[0] != k && statements[v->kind].body[1] != k) {
            TRY(visit(w, c, below, false));
            continue;
        }
        TRY(visit_statement(w, c, below, &after));
        if (after.n != 1 || after.node[0] != below->node) add_ways(out, &after);
    }
out:
    return rc;
}

static int put_statement(walk *w, int32_t i, spot *under, ways *in)
{
    const hpc_tree_node *v = &w->t->node[i];
    hpc_code_kind kind = statements[v->kind].word ? statements[v->kind].kind : HPC_CODE_STATEMENT;
    const char *word = statements[v->kind].word;
    bool loops = kind == HPC_CODE_LOOP, jumps = kind == HPC_CODE_JUMP;
    const int32_t around = w->loop;
    ways out = {.n = 0};
    int32_t node;
    int rc;
    TRY(put(w, &node, under, kind, i, word ? hash_of(word) : 0, 0));
    if (node < 0) goto out;
    TRY(come_from(w, in, node));
    w->depth += loops;
    if (loops) w->loop = node;
    if (word)
        TRY(visit_parts(w, i, &(spot){node, -1}, &out));
    else
        TRY(visit(w, i, &(spot){node, -1}, false));
    if (loops) {
        TRY(come_from(w, &out, node));
        TRY(code_graph_carry(w->g, node));
    }
    w->depth -= loops;
    w->loop = around;
    if (jumps && around >= 0) TRY(code_graph_edge(w->g, node, around, HPC_CODE_CONTROL));
    *in = jumps ? (ways){.n = 0} : (ways){{node}, 1};
    if (!loops) add_ways(in, &out);
out:
    return rc;
}

static int visit_statement(walk *w, int32_t i, spot *under, ways *in)
{
    const hpc_tree_node *v = &w->t->node[i];
    spot below = *under;
    int rc = HPC_OK;
    switch (v->kind) {
    case HPC_TREE_NOTHING: return HPC_OK;
    case HPC_TREE_BLOCK:
        TRY(put(w, &below.node, under, HPC_CODE_BLOCK, i, hash_of("{"), 0));
        below.last = -1;
        if (below.node < 0) return HPC_OK;
        break;
    case HPC_TREE_TRY:
    case HPC_TREE_CATCH:
    case HPC_TREE_LABEL: break;
    default: return put_statement(w, i, under, in);
    }
    for (int32_t c = hpc_tree_first(w->t, i); c; c = hpc_tree_next(w->t, c))
        TRY(visit_statement(w, c, &below, in));
    if (v->kind != HPC_TREE_BLOCK) *under = below;
out:
    return rc;
}

int hpc_code_graph_of_tree(hpc_code_graph *g, const hpc_tree *t, int32_t node)
{
    walk w = {.g = g, .t = t, .loop = -1};
    spot top = {-1, -1};
    ways in = {.n = 0};
    int32_t root;
    int rc;
    g->n = g->edges_n = 0;
    g->cut = false;
    TRY(code_graph_names(g, 0));
    if (t->node[node].kind != HPC_TREE_FUNCTION) return visit_statement(&w, node, &top, &in);
    TRY(put(&w, &root, &top, HPC_CODE_STATEMENT, node, 0, 0));
    top = (spot){root, -1};
    for (int32_t c = hpc_tree_first(t, node); c; c = hpc_tree_next(t, c))
        TRY(t->node[c].kind == HPC_TREE_BLOCK ? visit_statement(&w, c, &top, &in)
                                              : visit(&w, c, &top, false));
out:
    return rc;
}
