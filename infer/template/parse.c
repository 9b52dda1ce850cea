/*
 * parse.c: Jinja's statements: text, {{ }}, if, for, set, macro, filter, with, break, continue and
 * transformers' generation. Other statements are rejected by name.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "infer/template/parse_priv.h"

void tpl_parse_report(const tpl_parser *p, int code, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hpc_fail(code, "chat template, line %d: %s", p->token->line, text);
}

tpl_node *tpl_node_new(tpl_parser *p, tpl_node_kind kind)
{
    tpl_node *n = hpc_arena_alloc(p->arena, 1, sizeof *n);
    if (n) n->kind = kind, n->line = p->token->line;
    return n;
}

int tpl_node_add(tpl_parser *p, tpl_node *to, tpl_node *kid, const char *name)
{
    if (to->kid_n == to->kid_cap) {
        const int64_t cap = to->kid_cap ? 2 * to->kid_cap : 4;
        tpl_node **kids = hpc_arena_alloc(p->arena, (size_t)cap, sizeof *kids);
        const char **names = hpc_arena_alloc(p->arena, (size_t)cap, sizeof *names);
        if (!kids || !names) return HPC_E_NOMEM;
        for (int64_t k = 0; k < to->kid_n; k++) kids[k] = to->kid[k], names[k] = to->names[k];
        to->kid = kids, to->names = names, to->kid_cap = cap;
    }
    to->names[to->kid_n] = name;
    to->kid[to->kid_n++] = kid;
    return HPC_OK;
}

bool tpl_is_op(const tpl_parser *p, int op)
{
    return p->token->kind == TPL_T_OP && p->token->op == op;
}

bool tpl_is_name(const tpl_parser *p, const char *name)
{
    const tpl_token *t = p->token;
    return t->kind == TPL_T_NAME && t->n == strlen(name) && memcmp(t->data, name, t->n) == 0;
}

int tpl_expect_op(tpl_parser *p, int op)
{
    if (!tpl_is_op(p, op)) return tpl_parse_fail(p, HPC_E_FORMAT, "'%c' is missing", op);
    p->token++;
    return HPC_OK;
}

int tpl_expect_name(tpl_parser *p, const char **name)
{
    const tpl_token *t = p->token;
    if (t->kind != TPL_T_NAME) return tpl_parse_fail(p, HPC_E_FORMAT, "a name is missing");
    *name = hpc_arena_text(p->arena, "%.*s", (int)t->n, t->data);
    p->token++;
    return *name ? HPC_OK : HPC_E_NOMEM;
}

int tpl_nest(tpl_parser *p)
{
    if (++p->depth <= TPL_NESTING_MOST) return HPC_OK;
    return tpl_parse_fail(p, HPC_E_FORMAT, "nested more than %d deep", TPL_NESTING_MOST);
}

static int parse_body(tpl_node **out, tpl_parser *p, const char *const *ends);

static int take(tpl_node **out, tpl_parser *p, tpl_node_kind kind)
{
    *out = tpl_node_new(p, kind);
    return *out ? HPC_OK : HPC_E_NOMEM;
}

static int expect_end(tpl_parser *p)
{
    if (p->token->kind != TPL_T_BLOCK_END)
        return tpl_parse_fail(p, HPC_E_FORMAT, "'%%}' is missing");
    p->token++;
    return HPC_OK;
}

static bool accept(tpl_parser *p, const char *name)
{
    if (!tpl_is_name(p, name)) return false;
    p->token++;
    return true;
}

/* A body and its last tag, of one name. */
static int parse_until(tpl_node **out, tpl_parser *p, const char *end)
{
    const char *const ends[] = {end, NULL};
    int rc;
    TRY(expect_end(p));
    TRY(parse_body(out, p, ends));
    p->token++;
    TRY(expect_end(p));
out:
    return rc;
}

/* ---- statements ----------------------------------------------------------------------------- */

static int parse_if(tpl_node **out, tpl_parser *p)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    tpl_node **to = out;
    int rc;
    do {
        TRY(take(to, p, TPL_IF));
        TRY(tpl_parse_tuple(&(*to)->a, p));
        TRY(expect_end(p));
        TRY(parse_body(&(*to)->b, p, ends));
        to = &(*to)->c;
    } while (accept(p, "elif"));
    if (accept(p, "else")) {
        TRY(parse_until(to, p, "endif"));
    } else {
        p->token++;
        TRY(expect_end(p));
    }
out:
    return rc;
}

static int parse_for(tpl_node **out, tpl_parser *p)
{
    static const char *const ends[] = {"else", "endfor", NULL};
    tpl_node *n;
    int rc;
    TRY(take(out, p, TPL_FOR));
    n = *out;
    TRY(tpl_parse_targets(&n->b, p));
    if (!accept(p, "in")) TRY(tpl_parse_fail(p, HPC_E_FORMAT, "'in' is missing"));
    TRY(tpl_parse_or(&n->a, p));
    if (tpl_is_op(p, ','))
        TRY(tpl_parse_fail(p, HPC_E_UNSUPPORTED, "a list without brackets is not supported"));
    if (accept(p, "if")) TRY(tpl_parse_expression(&n->c, p));
    if (tpl_is_name(p, "recursive"))
        TRY(tpl_parse_fail(p, HPC_E_UNSUPPORTED, "recursive loops are not supported"));
    TRY(expect_end(p));
    p->loops++;
    TRY(parse_body(&n->d, p, ends));
    p->loops--;
    if (accept(p, "else")) {
        TRY(parse_until(&n->e, p, "endfor"));
    } else {
        p->token++;
        TRY(expect_end(p));
    }
out:
    return rc;
}

static int parse_set(tpl_node **out, tpl_parser *p)
{
    tpl_node *target;
    int rc;
    TRY(tpl_parse_targets(&target, p));
    if (tpl_is_op(p, '=')) {
        TRY(take(out, p, TPL_SET));
        (*out)->b = target;
        p->token++;
        TRY(tpl_parse_tuple(&(*out)->a, p));
        return expect_end(p);
    }
    TRY(take(out, p, TPL_SET_BLOCK));
    (*out)->b = target;
    if (target->kind == TPL_MAKE_TUPLE)
        TRY(tpl_parse_fail(p, HPC_E_FORMAT, "a block is assigned to several names"));
    TRY(tpl_parse_filters(&(*out)->a, p, false));
    TRY(parse_until(&(*out)->d, p, "endset"));
out:
    return rc;
}

static int parse_macro(tpl_node **out, tpl_parser *p)
{
    const int loops = p->loops;
    const bool macro = p->macro;
    tpl_node *n, *fallback;
    const char *name;
    int rc;
    TRY(take(out, p, TPL_DEFINE));
    n = *out;
    TRY(tpl_expect_name(p, &n->name));
    TRY(tpl_expect_op(p, '('));
    while (!tpl_is_op(p, ')')) {
        fallback = NULL;
        if (n->kid_n > 0) TRY(tpl_expect_op(p, ','));
        TRY(tpl_expect_name(p, &name));
        if (tpl_is_op(p, '=')) {
            p->token++;
            TRY(tpl_parse_expression(&fallback, p));
        }
        TRY(tpl_node_add(p, n, fallback, name));
    }
    p->token++;
    p->loops = 0;
    p->macro = true;
    TRY(parse_until(&n->d, p, "endmacro"));
    p->loops = loops;
    p->macro = macro;
out:
    return rc;
}

static int parse_with(tpl_node **out, tpl_parser *p)
{
    tpl_node *one;
    int rc;
    TRY(take(out, p, TPL_WITH));
    while (p->token->kind != TPL_T_BLOCK_END) {
        if ((*out)->kid_n > 0) TRY(tpl_expect_op(p, ','));
        TRY(take(&one, p, TPL_SET));
        TRY(take(&one->b, p, TPL_NAME));
        TRY(tpl_expect_name(p, &one->b->name));
        TRY(tpl_expect_op(p, '='));
        TRY(tpl_parse_expression(&one->a, p));
        TRY(tpl_node_add(p, *out, one, NULL));
    }
    TRY(parse_until(&(*out)->d, p, "endwith"));
out:
    return rc;
}

static int parse_jump(tpl_node **out, tpl_parser *p, tpl_node_kind kind)
{
    int rc;
    if (p->loops == 0) TRY(tpl_parse_fail(p, HPC_E_FORMAT, "break or continue outside of a loop"));
    TRY(take(out, p, kind));
    TRY(expect_end(p));
out:
    return rc;
}

/* After "{%". */
static int parse_statement(tpl_node **out, tpl_parser *p)
{
    const char *name;
    int rc;
    TRY(tpl_nest(p));
    p->depth--;
    TRY(tpl_expect_name(p, &name));
    if (strcmp(name, "if") == 0) return parse_if(out, p);
    if (strcmp(name, "for") == 0) return parse_for(out, p);
    if (strcmp(name, "set") == 0) return parse_set(out, p);
    if (strcmp(name, "macro") == 0) return parse_macro(out, p);
    if (strcmp(name, "with") == 0) return parse_with(out, p);
    if (strcmp(name, "break") == 0) return parse_jump(out, p, TPL_BREAK);
    if (strcmp(name, "continue") == 0) return parse_jump(out, p, TPL_CONTINUE);
    if (strcmp(name, "generation") == 0) {
        TRY(take(out, p, TPL_WITH));
        return parse_until(&(*out)->d, p, "endgeneration");
    }
    if (strcmp(name, "filter") == 0) {
        TRY(take(out, p, TPL_FILTERED));
        TRY(tpl_parse_filters(&(*out)->a, p, true));
        return parse_until(&(*out)->d, p, "endfilter");
    }
    p->token--;
    rc = strncmp(name, "end", 3) == 0 || strncmp(name, "el", 2) == 0
             ? tpl_parse_fail(p, HPC_E_FORMAT, "{%% %.40s %%} has no beginning", name)
             : tpl_parse_fail(p, HPC_E_UNSUPPORTED, "{%% %.40s %%} is not supported", name);
out:
    return rc;
}

static int parse_print(tpl_node **out, tpl_parser *p)
{
    int rc;
    TRY(take(out, p, TPL_PRINT));
    TRY(tpl_parse_tuple(&(*out)->a, p));
    if (p->token->kind != TPL_T_PRINT_END) TRY(tpl_parse_fail(p, HPC_E_FORMAT, "'}}' is missing"));
    p->token++;
out:
    return rc;
}

static int parse_data(tpl_node **out, tpl_parser *p)
{
    tpl_text *t = hpc_arena_alloc(p->arena, 1, sizeof *t);
    int rc;
    if (!t) return HPC_E_NOMEM;
    *t = (tpl_text){.data = p->token->data, .n = p->token->n};
    TRY(take(out, p, TPL_PRINT));
    TRY(take(&(*out)->a, p, TPL_CONST));
    (*out)->a->value = (tpl_value){.kind = TPL_TEXT, .text = t};
    p->token++;
out:
    return rc;
}

/* True: p->token is the name of a tag that ends the body. */
static bool at_end(tpl_parser *p, const char *const *ends)
{
    if (p->token->kind != TPL_T_BLOCK_BEGIN) return false;
    p->token++;
    for (; ends && *ends; ends++)
        if (tpl_is_name(p, *ends)) return true;
    p->token--;
    return false;
}

static int parse_body(tpl_node **out, tpl_parser *p, const char *const *ends)
{
    tpl_node *one;
    int rc;
    TRY(tpl_nest(p));
    TRY(take(out, p, TPL_BODY));
    while (!at_end(p, ends)) {
        if (p->token->kind == TPL_T_END) {
            if (ends) TRY(tpl_parse_fail(p, HPC_E_FORMAT, "{%% %s %%} is missing", ends[0]));
            break;
        }
        if (p->token->kind == TPL_T_DATA) {
            TRY(parse_data(&one, p));
        } else if (p->token->kind == TPL_T_PRINT_BEGIN) {
            p->token++;
            TRY(parse_print(&one, p));
        } else {
            p->token++;
            TRY(parse_statement(&one, p));
        }
        TRY(tpl_node_add(p, *out, one, NULL));
    }
    p->depth--;
out:
    return rc;
}

/* ---- the template --------------------------------------------------------------------------- */

int hpc_template_parse(hpc_template **out, const char *text, size_t n)
{
    hpc_template *t = hpc_alloc(1, sizeof *t);
    tpl_tokens tokens = {0};
    tpl_node *body;
    int rc;
    *out = NULL;
    if (!t) return HPC_E_NOMEM;
    if (!(t->arena = hpc_arena_create(0))) TRY(HPC_E_NOMEM);
    tokens.arena = t->arena;
    TRY(tpl_lex(&tokens, text, n));
    tpl_parser p = {.arena = t->arena, .token = tokens.item};
    TRY(parse_body(&body, &p, NULL));
    t->body = body;
    *out = t;
    t = NULL;
out:
    hpc_free(tokens.item);
    hpc_template_free(t);
    return rc;
}

void hpc_template_free(hpc_template *t)
{
    if (!t) return;
    hpc_arena_free(t->arena);
    hpc_free(t);
}
