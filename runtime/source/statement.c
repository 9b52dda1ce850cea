/*
 * statement.c: splits Fortran tokens into statements.
 *
 * It does not interpret statements, except for the words that begin a procedure, which
 * may follow many prefixes.
 */
#include "runtime/source/statement.h"

int hpc_statement_next(hpc_statement *s, int64_t *i, int64_t state)
{
    const hpc_tokens *t = s->t;
    s->first = s->last = s->label = -1;
    for (; *i < t->n; ++*i) {
        const hpc_token *k = &t->item[*i];
        if (k->kind == HPC_TOKEN_SENTINEL) {
            int rc = hpc_branch_at(&s->skip, &s->branches, t, s->text, *i, state);
            if (rc < 0) return rc;
        }
        if (s->skip || (k->flags & HPC_TOKEN_IN_DIRECTIVE) || k->kind == HPC_TOKEN_COMMENT)
            continue;
        if (k->kind == HPC_TOKEN_LABEL && s->first < 0) {
            s->label = *i;
            continue;
        }
        if (k->kind == HPC_TOKEN_NEWLINE) {
            if (s->first >= 0) break;
            continue;
        }
        if (s->first < 0) s->first = *i;
        s->last = *i;
    }
    s->behind = *i;
    return HPC_OK;
}

bool hpc_statement_is(const hpc_statement *s, int64_t i, const char *word)
{
    if (i > s->last) return false;
    const hpc_token *t = &s->t->item[i];
    size_t n = strlen(word);
    if (t->n != n) return false;
    for (size_t k = 0; k < n; k++)
        if (hpc_byte_lower((uint8_t)s->text[t->at + k]) != (uint8_t)word[k]) return false;
    return true;
}

bool hpc_statement_is_one_of(const hpc_statement *s, int64_t i, const char *const *words)
{
    for (; *words; words++)
        if (hpc_statement_is(s, i, *words)) return true;
    return false;
}

bool hpc_statement_is_name(const hpc_statement *s, int64_t i)
{
    return i <= s->last && s->t->item[i].kind == HPC_TOKEN_NAME;
}

int64_t hpc_statement_behind_group(const hpc_statement *s, int64_t i)
{
    if (!hpc_statement_is(s, i, "(")) return i;
    int64_t open = 0;
    for (; i <= s->last; i++) {
        if (hpc_statement_is(s, i, "(")) open++;
        if (hpc_statement_is(s, i, ")") && --open == 0) return i + 1;
    }
    return i;
}

int64_t hpc_statement_procedure(const hpc_statement *s)
{
    static const char *const prefixes[] = {
        "pure",  "elemental",  "impure",  "recursive", "non_recursive", "module",    "integer",
        "real",  "complex",    "logical", "character", "double",        "precision", "type",
        "class", "attributes", NULL};
    static const char *const words[] = {"subroutine", "function", NULL};
    int64_t i = s->first;
    while (i <= s->last) {
        if (hpc_statement_is_one_of(s, i, words)) {
            bool assigned = !hpc_statement_is_name(s, i + 1);
            return assigned ? -1 : i;
        }
        if (!hpc_statement_is_one_of(s, i, prefixes)) return -1;
        i = hpc_statement_behind_group(s, i + 1);
        if (hpc_statement_is(s, i, "*"))
            i = hpc_statement_is(s, i + 1, "(") ? hpc_statement_behind_group(s, i + 1) : i + 2;
    }
    return -1;
}
