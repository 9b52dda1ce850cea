/*
 * open_judge.c: the assumptions about open types: their operators and functions have no side
 * effects, different indices are different elements, and indices are integers.
 */
#include <stdio.h>
#include <string.h>

#include "infer/pragma/memory.h"
#include "infer/pragma/open.h"
#include "infer/pragma/relate.h"

enum { NAMES_MOST = 6, OPERATORS_MOST = 3, CALLEES_MOST = 16, NAME_BYTES = 64 };

typedef struct naming {
    const hpc_tree *t;
    char functions[NAMES_MOST][NAME_BYTES], operators[NAMES_MOST][NAME_BYTES],
        integers[NAMES_MOST][NAME_BYTES];
    int32_t functions_n, operators_n, integers_n; /* may exceed NAMES_MOST */
    int32_t callee[CALLEES_MOST], callees_n;
} naming;

static void add_name(char list[NAMES_MOST][NAME_BYTES], int32_t *n, const char *before,
                     const char *name)
{
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%s%s", before, name);
    for (int32_t k = 0; k < *n && k < NAMES_MOST; k++)
        if (strcmp(list[k], text) == 0) return;
    if (*n < NAMES_MOST) strcpy(list[*n], text);
    if (*n <= NAMES_MOST) ++*n;
}

static void add_function(naming *x, const char *before, const char *name)
{
    add_name(x->functions, &x->functions_n, before, name);
}

static void add_operator(naming *x, const char *name)
{
    add_name(x->operators, &x->operators_n, "", name);
}

/* ---- operators and functions ----------------------------------------------------------------- */

static bool is_open_below(const hpc_tree *t, int32_t i)
{
    for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c))
        if (is_open_type(t, t->node[c].type)) return true;
    return false;
}

static void name_operator(naming *x, int32_t i)
{
    char buffer[4], text[16];
    const hpc_tree_node *n = &x->t->node[i];
    const bool assigns = n->kind == HPC_TREE_ASSIGN;
    if (!is_open_below(x->t, i)) return;
    snprintf(text, sizeof text, "operator%s%s",
             assigns && n->op == '=' ? "" : hpc_tree_op_text(buffer, n->op), assigns ? "=" : "");
    add_operator(x, text);
}

static void name_range(naming *x, int32_t from, int32_t to);

static void name_call(naming *x, int32_t i)
{
    const hpc_tree *t = x->t;
    const int32_t callee = hpc_tree_first(t, i), v = t->node[i].symbol;
    if (v < 0 && callee) {
        const int32_t named = t->node[callee].symbol;
        const bool object = named >= 0 && t->symbol[named].kind != HPC_SYMBOL_OTHER &&
                            t->symbol[named].kind != HPC_SYMBOL_FUNCTION;
        if (is_open_type(t, t->node[i].type) && named >= 0)
            add_function(x, object ? "operator() of " : "", symbol_name(t, named));
        return;
    }
    const int32_t node = v < 0 ? -1 : t->symbol[v].node;
    if (node < 0 || !(t->node[node].flags & HPC_TREE_TEMPLATE)) return;
    for (int32_t k = 0; k < x->callees_n; k++)
        if (x->callee[k] == node) return;
    if (x->callees_n == CALLEES_MOST) {
        x->functions_n = NAMES_MOST + 1;
        return;
    }
    x->callee[x->callees_n++] = node;
    name_range(x, node + 1, t->node[node].end);
}

/* Variables of open types that an index, or the head of a loop, names. */
static void name_integers(naming *x, int32_t from, int32_t end)
{
    const hpc_tree *t = x->t;
    for (int32_t i = from; i < end; i++) {
        if (t->node[i].kind == HPC_TREE_CALL || t->node[i].kind == HPC_TREE_INDEX)
            i = t->node[i].end - 1; /* they have a value of their own */
        else if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol >= 0 &&
                 is_open_type(t, t->node[i].type))
            add_name(x->integers, &x->integers_n, "", symbol_name(t, t->node[i].symbol));
    }
}

static void name_node(naming *x, int32_t i)
{
    const hpc_tree *t = x->t;
    const hpc_tree_node *n = &t->node[i];
    const int32_t c = hpc_tree_first(t, i);
    switch (n->kind) {
    case HPC_TREE_UNARY:
        if (n->op != '&') name_operator(x, i);
        break;
    case HPC_TREE_BINARY:
        if (n->op != ',') name_operator(x, i);
        break;
    case HPC_TREE_ASSIGN: name_operator(x, i); break;
    case HPC_TREE_INDEX:
        if (is_open_type(t, t->node[c].type)) add_operator(x, "operator[]");
        name_integers(x, hpc_tree_next(t, c), t->node[hpc_tree_next(t, c)].end);
        break;
    case HPC_TREE_CALL: name_call(x, i); break;
    case HPC_TREE_VARIABLE:
        if (kind_of(t, n->type) == HPC_TYPE_REFERENCE || !c) break;
        if (is_open_type(t, n->type) || is_open_type(t, t->node[c].type))
            add_operator(x, "conversions");
        break;
    case HPC_TREE_CAST:
    case HPC_TREE_CONSTRUCT:
        if (is_open_type(t, n->type) || is_open_below(t, i)) add_operator(x, "conversions");
        break;
    case HPC_TREE_IF:
    case HPC_TREE_WHILE:
    case HPC_TREE_CHOOSE:
        if (is_open_type(t, t->node[c].type)) add_operator(x, "conversions");
        break;
    case HPC_TREE_FOR:
        if (t->node[c].kind == HPC_TREE_DECLARE && is_open_counter(t, t->node[c + 1].symbol))
            name_integers(x, c, hpc_tree_child(t, i, 3));
        if (is_open_type(t, t->node[hpc_tree_next(t, c)].type)) add_operator(x, "conversions");
        break;
    default: break;
    }
}

static void name_range(naming *x, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++) name_node(x, i);
}

/* ---- the assumption about types -------------------------------------------------------------- */

static void list_names(hpc_buf *b, char list[NAMES_MOST][NAME_BYTES], int32_t n, int32_t all)
{
    for (int32_t k = 0; k < n; k++)
        hpc_buf_printf(b, "%s%s", k == 0 ? "" : k + 1 == all ? " and " : ", ", list[k]);
}

static void assume(walk *w, const hpc_buf *text)
{
    if (text->data && !text->failed)
        answer_assume_form(w->answer, &(premise){.text = text->data, .limited = true});
}

static void name_integers_text(hpc_buf *b, naming *x)
{
    if (x->integers_n > NAMES_MOST) {
        hpc_buf_text(b, "indices are integers");
    } else if (x->integers_n > 0) {
        list_names(b, x->integers, x->integers_n, x->integers_n);
        hpc_buf_text(b, x->integers_n == 1 ? " is an integer" : " are integers");
    }
}

/* "row_begin, col and the operators of the template's types have no side effects ..." */
static void name_functions_text(hpc_buf *b, naming *x)
{
    const bool grouped = x->operators_n > OPERATORS_MOST || x->functions_n > NAMES_MOST;
    const int32_t operators = grouped ? 1 : x->operators_n, all = x->functions_n + operators;
    if (all == 0) return;
    if (b->n > 0) hpc_buf_text(b, ", and ");
    if (x->functions_n > NAMES_MOST) {
        hpc_buf_text(b, "the functions and operators of the template's types");
    } else {
        list_names(b, x->functions, x->functions_n, all);
        if (x->functions_n > 0 && operators > 0) hpc_buf_text(b, operators == 1 ? " and " : ", ");
        if (grouped)
            hpc_buf_text(b, "the operators of the template's types");
        else
            list_names(b, x->operators, x->operators_n, x->operators_n);
    }
    const bool one = all == 1 && !grouped && strcmp(x->operators[0], "conversions") != 0;
    hpc_buf_text(b, one ? " has no side effects and reads nothing that the loop writes"
                        : " have no side effects and read nothing that the loop writes");
}

static void assume_types(walk *w, naming *x)
{
    hpc_buf b = {0};
    name_integers_text(&b, x);
    name_functions_text(&b, x);
    assume(w, &b);
    hpc_buf_release(&b);
}

/* ---- elements -------------------------------------------------------------------------------- */

static void assume_elements(walk *w)
{
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *a = &w->loop->item[i];
        hpc_buf one = {0}, text = {0};
        place head = a->place;
        if (!a->write || a->place.base < 0 || !is_open_base(w->prover, a->place.base)) continue;
        head.n = 0;
        place_text(&one, w->prover, w->loop->p, &head);
        if (one.data && !one.failed)
            hpc_buf_printf(&text, "different indices of %s are different elements", one.data);
        if (text.data && !text.failed)
            answer_assume_form(w->answer, &(premise){.text = text.data,
                                                     .form = ASSUME_ELEMENTS,
                                                     .one = one.data,
                                                     .limited = true});
        hpc_buf_release(&one);
        hpc_buf_release(&text);
    }
}

void open_judge(walk *w)
{
    const hpc_tree *t = w->t;
    naming x = {.t = t};
    const int32_t end = t->node[w->loop->node].end;
    if (w->answer->unsafe || w->answer->unknown) return;
    if (w->loop->open) name_range(&x, w->loop->node, end);
    for (int32_t i = w->loop->node; i < end && !w->loop->open; i++) /* calls of templates */
        if (t->node[i].kind == HPC_TREE_CALL && t->node[i].symbol >= 0) name_call(&x, i);
    assume_types(w, &x);
    assume_elements(w);
}

/* ---- reductions ------------------------------------------------------------------------------ */

bool open_reduction(walk *w, const access *a, const access *b)
{
    const atom *x = &w->prover->atoms[a->place.base];
    const uint8_t op = a->update;
    hpc_buf text = {0};
    if (!w->loop->open || !op || op != b->update || (op != '+' && op != '*')) return false;
    for (int64_t i = 0; i < w->loop->n; i++)
        if (w->loop->item[i].place.base == a->place.base && w->loop->item[i].update != op)
            return false;
    const char *name = symbol_name(w->t, x->symbol);
    hpc_buf_printf(&text, "%s is a number", name);
    assume(w, &text);
    hpc_buf_release(&text);
    clauses_reduce(&w->answer->clauses, op, name);
    answer_note(w->answer, "reduction", a->node, "%s is only updated with %s", name,
                reduction_name(op));
    return true;
}
