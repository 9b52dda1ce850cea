/*
 * parse_expression.c: Jinja's expressions, by recursive descent with its precedences.
 */
#include <string.h>

#include "infer/template/parse_priv.h"

static int take(tpl_node **out, tpl_parser *p, tpl_node_kind kind)
{
    *out = tpl_node_new(p, kind);
    return *out ? HPC_OK : HPC_E_NOMEM;
}

static bool accept(tpl_parser *p, int op)
{
    if (!tpl_is_op(p, op)) return false;
    p->token++;
    return true;
}

static bool accept_name(tpl_parser *p, const char *name)
{
    if (!tpl_is_name(p, name)) return false;
    p->token++;
    return true;
}

/* ---- literals ------------------------------------------------------------------------------- */

static int parse_text(tpl_node **out, tpl_parser *p)
{
    size_t n = 0, at = 0;
    int rc;
    for (const tpl_token *t = p->token; t->kind == TPL_T_TEXT; t++) n += t->n;
    char *data = hpc_arena_alloc(p->arena, n + 1, 1);
    tpl_text *text = hpc_arena_alloc(p->arena, 1, sizeof *text);
    if (!data || !text) return HPC_E_NOMEM;
    TRY(take(out, p, TPL_CONST));
    for (; p->token->kind == TPL_T_TEXT; p->token++) {
        memcpy(data + at, p->token->data, p->token->n);
        at += p->token->n;
    }
    *text = (tpl_text){.data = data, .n = n};
    (*out)->value = (tpl_value){.kind = TPL_TEXT, .text = text};
out:
    return rc;
}

/* Elements up to the bracket. */
static int parse_elements(tpl_node *to, tpl_parser *p, int close)
{
    int rc = HPC_OK;
    while (!accept(p, close)) {
        tpl_node *one;
        if (to->kid_n > 0) TRY(tpl_expect_op(p, ','));
        if (accept(p, close)) break;
        TRY(tpl_parse_expression(&one, p));
        TRY(tpl_node_add(p, to, one, NULL));
    }
out:
    return rc;
}

static int parse_dict(tpl_node *to, tpl_parser *p)
{
    int rc = HPC_OK;
    while (!accept(p, '}')) {
        tpl_node *one;
        if (to->kid_n > 0) TRY(tpl_expect_op(p, ','));
        if (accept(p, '}')) break;
        TRY(tpl_parse_expression(&one, p));
        TRY(tpl_node_add(p, to, one, NULL));
        TRY(tpl_expect_op(p, ':'));
        TRY(tpl_parse_expression(&one, p));
        TRY(tpl_node_add(p, to, one, NULL));
    }
out:
    return rc;
}

static int parse_name(tpl_node **out, tpl_parser *p)
{
    static const char *const special[] = {"caller", "varargs", "kwargs"};
    const char *name;
    int rc;
    TRY(tpl_expect_name(p, &name));
    const bool yes = strcmp(name, "true") == 0 || strcmp(name, "True") == 0;
    const bool no = strcmp(name, "false") == 0 || strcmp(name, "False") == 0;
    const bool none = strcmp(name, "none") == 0 || strcmp(name, "None") == 0;
    for (size_t k = 0; p->macro && k < sizeof special / sizeof *special; k++)
        if (strcmp(name, special[k]) == 0)
            TRY(tpl_parse_fail(p, HPC_E_UNSUPPORTED, "'%s' of a macro is not supported", name));
    TRY(take(out, p, yes || no || none ? TPL_CONST : TPL_NAME));
    (*out)->name = name;
    if (yes || no) (*out)->value = tpl_of_bool(yes);
    if (none) (*out)->value = (tpl_value){.kind = TPL_NONE};
out:
    return rc;
}

/* After "(". */
static int parse_parenthesis(tpl_node **out, tpl_parser *p)
{
    int rc = HPC_OK;
    if (accept(p, ')')) return take(out, p, TPL_MAKE_TUPLE);
    TRY(tpl_parse_tuple(out, p));
    TRY(tpl_expect_op(p, ')'));
out:
    return rc;
}

static int parse_primary(tpl_node **out, tpl_parser *p)
{
    const tpl_token *t = p->token;
    int rc = HPC_OK;
    switch (t->kind) {
    case TPL_T_NAME: return parse_name(out, p);
    case TPL_T_TEXT: return parse_text(out, p);
    case TPL_T_INT:
    case TPL_T_REAL:
        TRY(take(out, p, TPL_CONST));
        (*out)->value =
            t->kind == TPL_T_INT ? tpl_of_int(t->i) : (tpl_value){.kind = TPL_REAL, .r = t->r};
        p->token++;
        return HPC_OK;
    default: break;
    }
    if (accept(p, '(')) return parse_parenthesis(out, p);
    if (accept(p, '[')) {
        TRY(take(out, p, TPL_MAKE_LIST));
        return parse_elements(*out, p, ']');
    }
    if (accept(p, '{')) {
        TRY(take(out, p, TPL_MAKE_DICT));
        return parse_dict(*out, p);
    }
    rc = tpl_parse_fail(p, HPC_E_FORMAT, "an expression is missing or incomplete");
out:
    return rc;
}

/* ---- calls, items, filters and tests -------------------------------------------------------- */

/* After "(". */
static int parse_arguments(tpl_node *call, tpl_parser *p)
{
    int rc = HPC_OK;
    for (bool first = true; !accept(p, ')'); first = false) {
        const char *name = NULL;
        tpl_node *one;
        if (!first) TRY(tpl_expect_op(p, ','));
        if (accept(p, ')')) break;
        if (tpl_is_op(p, '*') || tpl_is_op(p, TPL_POW))
            TRY(tpl_parse_fail(p, HPC_E_UNSUPPORTED, "'*' in arguments is not supported"));
        if (p->token->kind == TPL_T_NAME && p->token[1].kind == TPL_T_OP && p->token[1].op == '=') {
            TRY(tpl_expect_name(p, &name));
            p->token++;
        }
        TRY(tpl_parse_expression(&one, p));
        TRY(tpl_node_add(p, call, one, name));
    }
out:
    return rc;
}

/* After "[": an index or a slice. */
static int parse_subscript(tpl_node **node, tpl_parser *p)
{
    tpl_node *of = *node, *part[3] = {0};
    int64_t k = 0;
    bool slice = false;
    int rc;
    while (!accept(p, ']')) {
        if (accept(p, ':')) {
            slice = true;
            if (++k > 2) TRY(tpl_parse_fail(p, HPC_E_FORMAT, "a slice has more than three parts"));
        } else if (tpl_is_op(p, ',') || part[k]) {
            TRY(tpl_parse_fail(p, HPC_E_UNSUPPORTED, "several subscripts are not supported"));
        } else {
            TRY(tpl_parse_expression(&part[k], p));
        }
    }
    if (!slice && !part[0]) TRY(tpl_parse_fail(p, HPC_E_FORMAT, "a subscript is empty"));
    TRY(take(node, p, slice ? TPL_SLICE : TPL_ITEM));
    (*node)->a = of;
    (*node)->b = part[0];
    (*node)->c = part[1];
    (*node)->d = part[2];
out:
    return rc;
}

/* After ".": a name, or an index. */
static int parse_member(tpl_node **node, tpl_parser *p)
{
    tpl_node *of = *node;
    int rc;
    if (p->token->kind == TPL_T_INT) {
        TRY(take(node, p, TPL_ITEM));
        TRY(take(&(*node)->b, p, TPL_CONST));
        (*node)->b->value = tpl_of_int(p->token->i);
        p->token++;
    } else {
        TRY(take(node, p, TPL_ATTRIBUTE));
        TRY(tpl_expect_name(p, &(*node)->name));
    }
    (*node)->a = of;
out:
    return rc;
}

static int parse_call(tpl_node **node, tpl_parser *p)
{
    tpl_node *of = *node;
    int rc;
    TRY(take(node, p, TPL_CALL));
    (*node)->a = of;
    TRY(parse_arguments(*node, p));
out:
    return rc;
}

static int parse_postfix(tpl_node **node, tpl_parser *p)
{
    int rc = HPC_OK;
    for (int levels = 0;; levels++) {
        if (levels > TPL_NESTING_MOST)
            TRY(tpl_parse_fail(p, HPC_E_FORMAT, "an expression is nested too deep"));
        if (accept(p, '.'))
            TRY(parse_member(node, p));
        else if (accept(p, '['))
            TRY(parse_subscript(node, p));
        else if (accept(p, '('))
            TRY(parse_call(node, p));
        else
            break;
    }
out:
    return rc;
}

int tpl_parse_filters(tpl_node **node, tpl_parser *p, bool first)
{
    int rc = HPC_OK;
    while (first || accept(p, '|')) {
        tpl_node *of = *node;
        TRY(take(node, p, TPL_FILTER));
        TRY(tpl_expect_name(p, &(*node)->name));
        (*node)->a = of;
        if (accept(p, '(')) TRY(parse_arguments(*node, p));
        first = false;
    }
out:
    return rc;
}

/* After `is`. */
static int parse_test(tpl_node **node, tpl_parser *p)
{
    tpl_node *of = *node, *test, *one;
    const bool not = accept_name(p, "not");
    int rc;
    TRY(take(&test, p, TPL_TEST));
    TRY(tpl_expect_name(p, &test->name));
    test->a = of;
    const tpl_token *t = p->token;
    const bool literal = t->kind == TPL_T_NAME || t->kind == TPL_T_TEXT || t->kind == TPL_T_INT ||
                         t->kind == TPL_T_REAL || tpl_is_op(p, '[') || tpl_is_op(p, '{');
    if (accept(p, '(')) {
        TRY(parse_arguments(test, p));
    } else if (literal && !tpl_is_name(p, "else") && !tpl_is_name(p, "or") &&
               !tpl_is_name(p, "and") && !tpl_is_name(p, "if"))
    {
        if (tpl_is_name(p, "is"))
            TRY(tpl_parse_fail(p, HPC_E_FORMAT, "tests with 'is' cannot be chained"));
        TRY(parse_primary(&one, p));
        TRY(parse_postfix(&one, p));
        TRY(tpl_node_add(p, test, one, NULL));
    }
    *node = test;
    if (not ) {
        TRY(take(node, p, TPL_NOT));
        (*node)->a = test;
    }
out:
    return rc;
}

static int parse_suffixes(tpl_node **node, tpl_parser *p)
{
    int rc = HPC_OK;
    for (int levels = 0;; levels++) {
        if (levels > TPL_NESTING_MOST)
            TRY(tpl_parse_fail(p, HPC_E_FORMAT, "an expression is nested too deep"));
        if (tpl_is_op(p, '|'))
            TRY(tpl_parse_filters(node, p, false));
        else if (accept_name(p, "is"))
            TRY(parse_test(node, p));
        else if (accept(p, '('))
            TRY(parse_call(node, p));
        else
            break;
    }
out:
    return rc;
}

/* ---- operators, from the tightest ----------------------------------------------------------- */

static int parse_unary(tpl_node **out, tpl_parser *p, bool filters)
{
    const int op = p->token->op;
    int rc;
    TRY(tpl_nest(p));
    if (accept(p, '-') || accept(p, '+')) {
        tpl_node *of;
        TRY(parse_unary(&of, p, false));
        TRY(take(out, p, TPL_UNARY));
        (*out)->a = of;
        (*out)->op = op;
    } else {
        TRY(parse_primary(out, p));
    }
    TRY(parse_postfix(out, p));
    if (filters) TRY(parse_suffixes(out, p));
    p->depth--;
out:
    return rc;
}

typedef int parse_fn(tpl_node **out, tpl_parser *p);

/* Left-associative operators of one precedence. */
static int parse_left(tpl_node **out, tpl_parser *p, const int *ops, parse_fn *next)
{
    int rc;
    TRY(next(out, p));
    for (int levels = 0;; levels++) {
        const int *op = ops;
        while (*op && !tpl_is_op(p, *op)) op++;
        if (!*op) break;
        if (levels > 3 * TPL_NESTING_MOST)
            TRY(tpl_parse_fail(p, HPC_E_FORMAT, "an expression is too long"));
        tpl_node *left = *out;
        p->token++;
        TRY(take(out, p, TPL_BINARY));
        (*out)->op = *op;
        (*out)->a = left;
        TRY(next(&(*out)->b, p));
    }
out:
    return rc;
}

static int parse_one(tpl_node **out, tpl_parser *p)
{
    return parse_unary(out, p, true);
}

static int parse_power(tpl_node **out, tpl_parser *p)
{
    static const int ops[] = {TPL_POW, 0};
    return parse_left(out, p, ops, parse_one);
}

static int parse_product(tpl_node **out, tpl_parser *p)
{
    static const int ops[] = {'*', '/', TPL_DIV, '%', 0};
    return parse_left(out, p, ops, parse_power);
}

static int parse_join(tpl_node **out, tpl_parser *p)
{
    tpl_node *one;
    int rc;
    TRY(parse_product(out, p));
    if (!tpl_is_op(p, '~')) return rc;
    one = *out;
    TRY(take(out, p, TPL_JOIN));
    TRY(tpl_node_add(p, *out, one, NULL));
    while (accept(p, '~')) {
        TRY(parse_product(&one, p));
        TRY(tpl_node_add(p, *out, one, NULL));
    }
out:
    return rc;
}

static int parse_sum(tpl_node **out, tpl_parser *p)
{
    static const int ops[] = {'+', '-', 0};
    return parse_left(out, p, ops, parse_join);
}

/* The operator of a comparison; 0: none. */
static int take_comparison(tpl_parser *p)
{
    static const int ops[] = {TPL_EQ, TPL_NE, TPL_LE, TPL_GE, '<', '>', 0};
    for (const int *op = ops; *op; op++)
        if (accept(p, *op)) return *op;
    if (accept_name(p, "in")) return TPL_IN;
    if (!tpl_is_name(p, "not") || p->token[1].kind != TPL_T_NAME || p->token[1].n != 2 ||
        memcmp(p->token[1].data, "in", 2) != 0)
        return 0;
    p->token += 2;
    return TPL_NOT_IN;
}

static int parse_compare(tpl_node **out, tpl_parser *p)
{
    tpl_node *left;
    int rc, op;
    TRY(parse_sum(out, p));
    left = *out;
    for (bool first = true; (op = take_comparison(p)) != 0; first = false) {
        tpl_node *one;
        if (first) {
            TRY(take(out, p, TPL_COMPARE));
            (*out)->a = left;
        }
        TRY(take(&one, p, TPL_OPERAND));
        one->op = op;
        TRY(parse_sum(&one->a, p));
        TRY(tpl_node_add(p, *out, one, NULL));
    }
out:
    return rc;
}

static int parse_not(tpl_node **out, tpl_parser *p)
{
    int rc;
    if (!accept_name(p, "not")) return parse_compare(out, p);
    TRY(tpl_nest(p));
    TRY(take(out, p, TPL_NOT));
    TRY(parse_not(&(*out)->a, p));
    p->depth--;
out:
    return rc;
}

static int parse_words(tpl_node **out, tpl_parser *p, const char *word, tpl_node_kind kind,
                       parse_fn *next)
{
    int rc;
    TRY(next(out, p));
    for (int levels = 0; accept_name(p, word); levels++) {
        tpl_node *left = *out;
        if (levels > 2 * TPL_NESTING_MOST)
            TRY(tpl_parse_fail(p, HPC_E_FORMAT, "an expression is too long"));
        TRY(take(out, p, kind));
        (*out)->a = left;
        TRY(next(&(*out)->b, p));
    }
out:
    return rc;
}

static int parse_and(tpl_node **out, tpl_parser *p)
{
    return parse_words(out, p, "and", TPL_AND, parse_not);
}

int tpl_parse_or(tpl_node **out, tpl_parser *p)
{
    return parse_words(out, p, "or", TPL_OR, parse_and);
}

int tpl_parse_expression(tpl_node **out, tpl_parser *p)
{
    int rc;
    TRY(tpl_nest(p));
    TRY(tpl_parse_or(out, p));
    for (int levels = 0; accept_name(p, "if"); levels++) {
        tpl_node *then = *out;
        if (levels > TPL_NESTING_MOST)
            TRY(tpl_parse_fail(p, HPC_E_FORMAT, "an expression is nested too deep"));
        TRY(take(out, p, TPL_CHOICE));
        (*out)->b = then;
        TRY(tpl_parse_or(&(*out)->a, p));
        if (accept_name(p, "else")) TRY(tpl_parse_expression(&(*out)->c, p));
    }
    p->depth--;
out:
    return rc;
}

static bool ends_tuple(const tpl_parser *p)
{
    const tpl_token_kind k = p->token->kind;
    return k == TPL_T_PRINT_END || k == TPL_T_BLOCK_END || k == TPL_T_END || tpl_is_op(p, ')') ||
           tpl_is_op(p, '=') || tpl_is_name(p, "in");
}

int tpl_parse_tuple(tpl_node **out, tpl_parser *p)
{
    tpl_node *one;
    int rc;
    TRY(tpl_parse_expression(&one, p));
    *out = one;
    if (!tpl_is_op(p, ',')) return rc;
    TRY(take(out, p, TPL_MAKE_TUPLE));
    TRY(tpl_node_add(p, *out, one, NULL));
    while (accept(p, ',') && !ends_tuple(p)) {
        TRY(tpl_parse_expression(&one, p));
        TRY(tpl_node_add(p, *out, one, NULL));
    }
out:
    return rc;
}

/* Names to assign to: one, NAME.NAME, or several with commas. */
int tpl_parse_targets(tpl_node **out, tpl_parser *p)
{
    tpl_node *one;
    int rc = HPC_OK;
    const bool bracket = accept(p, '(');
    *out = NULL;
    do {
        if (*out && ends_tuple(p)) break;
        TRY(take(&one, p, TPL_NAME));
        TRY(tpl_expect_name(p, &one->name));
        if (accept(p, '.')) TRY(parse_member(&one, p));
        if (!*out && tpl_is_op(p, ',')) TRY(take(out, p, TPL_MAKE_TUPLE));
        if (*out) TRY(tpl_node_add(p, *out, one, NULL));
    } while (accept(p, ','));
    if (!*out) *out = one;
    if (bracket) TRY(tpl_expect_op(p, ')'));
out:
    return rc;
}
