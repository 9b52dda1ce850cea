/* Tokens and the parser of templates: private to infer/template/lex.c and parse*.c. */
#ifndef HPC_TEMPLATE_PARSE_PRIV_H
#define HPC_TEMPLATE_PARSE_PRIV_H

#include "infer/template/priv.h"

/* ---- tokens --------------------------------------------------------------------------------- */

typedef enum tpl_token_kind {
    TPL_T_END,
    TPL_T_DATA, /* text of the template */
    TPL_T_PRINT_BEGIN,
    TPL_T_PRINT_END,
    TPL_T_BLOCK_BEGIN,
    TPL_T_BLOCK_END,
    TPL_T_NAME,
    TPL_T_INT,
    TPL_T_REAL,
    TPL_T_TEXT,
    TPL_T_OP
} tpl_token_kind;

typedef struct tpl_token {
    tpl_token_kind kind;
    int line, op; /* op: a character or TPL_EQ... */
    const char *data;
    size_t n;
    int64_t i;
    double r;
} tpl_token;

typedef struct tpl_tokens {
    hpc_arena *arena;
    tpl_token *item;
    int64_t n, cap;
} tpl_tokens;

/* lex.c, parse.c, parse_expression.c */
int tpl_lex(tpl_tokens *out, const char *text, size_t n);
typedef struct tpl_parser {
    hpc_arena *arena;
    const tpl_token *token;
    int depth, loops;
    bool macro;
} tpl_parser;
#define tpl_parse_fail(p, code, ...) (tpl_parse_report((p), (code), __VA_ARGS__), (code))
void tpl_parse_report(const tpl_parser *p, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
tpl_node *tpl_node_new(tpl_parser *p, tpl_node_kind kind); /* NULL: no memory */
int tpl_node_add(tpl_parser *p, tpl_node *to, tpl_node *kid, const char *name);
bool tpl_is_op(const tpl_parser *p, int op);
bool tpl_is_name(const tpl_parser *p, const char *name);
int tpl_expect_op(tpl_parser *p, int op);
int tpl_expect_name(tpl_parser *p, const char **name);
int tpl_nest(tpl_parser *p);                        /* p->depth--: leaves */
int tpl_parse_tuple(tpl_node **out, tpl_parser *p); /* an expression, or several with commas */
int tpl_parse_expression(tpl_node **out, tpl_parser *p);
int tpl_parse_or(tpl_node **out, tpl_parser *p); /* without `if` */
/* The filters `| NAME(...)`, or `NAME(...) | ...` of a block. */
int tpl_parse_filters(tpl_node **node, tpl_parser *p, bool first);
int tpl_parse_targets(tpl_node **out, tpl_parser *p);

#endif
