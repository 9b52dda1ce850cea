/*
 * clause_items.c: the variables in the clauses of a directive that give each thread its own copy.
 */
#include <ctype.h>
#include <string.h>

#include "infer/verify/priv.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

const char *clause_next(const char **from, const char *kind, size_t *n)
{
    size_t m = strlen(kind);
    for (const char *p = *from; p && (p = strstr(p, kind)) != NULL; p += m) {
        if (is_word(p[-1]) || p[m] != '(') continue;
        const char *q = p + m + 1;
        int depth = 1;
        while (*q && depth) depth += *q == '(' ? 1 : *q == ')' ? -1 : 0, q++;
        *from = q;
        *n = (size_t)(q - p) - m - 2;
        return p + m + 1;
    }
    return NULL;
}

static const struct {
    const char *clause;
    witness_kind kind;
} private_kinds[] = {
    {"private", WITNESS_PRIVATE},     {"firstprivate", WITNESS_PRIVATE},
    {"lastprivate", WITNESS_PRIVATE}, {"reduction", WITNESS_IGNORED},
    {"linear", WITNESS_IGNORED},      {"in_reduction", WITNESS_IGNORED},
    {"copyprivate", WITNESS_PRIVATE},
};

static size_t item_length(const char *p, size_t n)
{
    int depth = 0;
    size_t k = 0;
    for (; k < n; k++) {
        depth += strchr("([", p[k]) ? 1 : strchr(")]", p[k]) ? -1 : 0;
        if (p[k] == ',' && depth == 0) break;
    }
    return k;
}

static int take_items(const char *list, size_t n, witness_kind kind, clause_item take, void *user)
{
    int rc = 0;
    while (n) {
        size_t blank = 0;
        while (blank < n && (list[blank] == ' ' || list[blank] == ',')) blank++;
        list += blank;
        n -= blank;
        size_t m = item_length(list, n);
        if (m) TRY(take(user, kind, list, m));
        list += m;
        n -= m;
    }
out:
    return rc;
}

int clause_items(const char *directive, clause_item take, void *user)
{
    int rc = 0;
    for (size_t k = 0; k < sizeof private_kinds / sizeof *private_kinds; k++) {
        const char *from = directive, *list;
        size_t n;
        while ((list = clause_next(&from, private_kinds[k].clause, &n)) != NULL) {
            const char *colon = memchr(list, ':', n);
            const char *open = memchr(list, '[', n);
            bool linear = strcmp(private_kinds[k].clause, "linear") == 0;
            if (linear && colon) n = (size_t)(colon - list);   /* linear(k:2) */
            if (!linear && colon && (!open || colon < open)) { /* reduction(+:s) */
                n -= (size_t)(colon + 1 - list);
                list = colon + 1;
            }
            TRY(take_items(list, n, private_kinds[k].kind, take, user));
        }
    }
out:
    return rc;
}
