/*
 * statement.h: iteration over Fortran statements, for code that matches their first and last words.
 */
#ifndef HPC_SOURCE_STATEMENT_H
#define HPC_SOURCE_STATEMENT_H

#include "runtime/source/priv.h"

/* A statement: tokens [first, last], without label, comments in between allowed. */
typedef struct hpc_statement {
    const hpc_tokens *t;
    const char *text;
    int64_t first, last, behind; /* of its NEWLINE, or t->n; first -1: no statement */
    int64_t label;               /* the token, or -1 */
    hpc_branches branches;       /* of #if; freed by hpc_free(branches.item) */
    bool skip;
} hpc_statement;

/* Reads the next statement from token *i on, and sets *i to its end. `state` represents what is
 * open. */
int hpc_statement_next(hpc_statement *s, int64_t *i, int64_t state);
/* True if token i of the statement is this word, in any case. */
bool hpc_statement_is(const hpc_statement *s, int64_t i, const char *word);
bool hpc_statement_is_one_of(const hpc_statement *s, int64_t i, const char *const *words);
bool hpc_statement_is_name(const hpc_statement *s, int64_t i);
/* The index after a group in parentheses at i, or i. */
int64_t hpc_statement_behind_group(const hpc_statement *s, int64_t i);
/* Index of "subroutine" or "function" after its prefixes, or -1. */
int64_t hpc_statement_procedure(const hpc_statement *s);

#endif
