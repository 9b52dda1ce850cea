/*
 * pragma_find.c: recognizes the forms of a directive in a text: a preprocessor line, a Fortran
 * comment, _Pragma and __pragma, an attribute. Macros that expand to a directive are missed.
 */
#include "runtime/source/nest.h"

enum { ATTRIBUTE = 4096 }; /* tokens that an attribute can have */

/* A directive's words are [first, last) of `item`; p has its place already. */
static int add(hpc_nest *n, hpc_pragma *p, const hpc_token *item, int64_t first, int64_t last,
               const char *text)
{
    hpc_loops *l = n->out;
    hpc_pragma_kind kind = hpc_pragma_read(&p->words, p->api, item, first, last, text, n->fortran);
    int rc = HPC_OK;
    if (l->pragma_n == INT32_MAX)
        return hpc_fail(HPC_E_UNSUPPORTED, "line %u: too many directives", p->line);
    if (kind == HPC_PRAGMA_CLOSE && !n->fortran) kind = HPC_PRAGMA_ALONE;
    p->loop = -1;
    p->closes = kind == HPC_PRAGMA_CLOSE;
    TRY(hpc_grow(&l->pragma, &l->pragma_cap, l->pragma_n + 1, sizeof *l->pragma));
    int32_t i = (int32_t)l->pragma_n++;
    l->pragma[i] = *p;
    TRY(hpc_nest_wait(n, i, kind));
out:
    return rc;
}

/* The end of the last token before index `last`, comments included. */
static uint32_t end_before(const hpc_nest *n, int64_t last)
{
    const hpc_token *t = &n->t->item[last - 1];
    return t->at + t->n;
}

/* Adds the directive from its sentinel, token i, to the given end, exclusive; its words begin at
 * `first`. */
static int add_line(hpc_nest *n, int64_t i, int64_t first, int64_t behind, hpc_directive_api api)
{
    const hpc_token *t = n->t->item;
    int64_t last = t[behind - 1].kind == HPC_TOKEN_END_DIRECTIVE ? behind - 1 : behind;
    hpc_pragma p = {.api = api,
                    .at = t[i].at,
                    .end = end_before(n, last),
                    .line = t[i].line,
                    .first = (uint32_t)first,
                    .last = (uint32_t)last};
    return add(n, &p, t, first, last, n->text);
}

int hpc_pragma_line(hpc_nest *n, int64_t *next, int64_t i)
{
    const hpc_token *t = n->t->item, *s = &t[i];
    int64_t behind = hpc_nest_behind(n, i);
    *next = i;
    if (n->fortran && s->n == 5) {
        hpc_token name = *s; /* the three letters after "!$" */
        name.at += 2;
        name.n = 3;
        name.kind = HPC_TOKEN_NAME;
        hpc_directive_api api = hpc_pragma_api(&name, n->text, true);
        if (!api) return HPC_OK;
        *next = behind;
        return add_line(n, i, i + 1, behind, api);
    }
    if (n->fortran || n->text[s->at] != '#' || i + 2 >= behind) return HPC_OK;
    if (t[i + 1].kind != HPC_TOKEN_NAME || !hpc_token_is(&t[i + 1], n->text, "pragma", 6))
        return HPC_OK;
    hpc_directive_api api = hpc_pragma_api(&t[i + 2], n->text, false);
    if (!api) return HPC_OK;
    *next = behind;
    return add_line(n, i, i + 3, behind, api);
}

static bool is_punct(const hpc_nest *n, int64_t i, char c)
{
    const hpc_token *t = &n->t->item[i];
    return i < n->t->n && t->kind == HPC_TOKEN_PUNCT && t->n == 1 && n->text[t->at] == c;
}

static bool is_name(const hpc_nest *n, int64_t i, const char *name)
{
    return i < n->t->n && n->t->item[i].kind == HPC_TOKEN_NAME &&
           hpc_token_is(&n->t->item[i], n->text, name, strlen(name));
}

/* The index of the bracket that closes the one at i, or -1: within `most` tokens, before a
 * statement, a block or a line of the preprocessor. */
static int64_t closing(const hpc_nest *n, int64_t i, int64_t most)
{
    int64_t depth = 0, end = n->t->n - i < most ? n->t->n : i + most;
    for (; i < end; i++) {
        const hpc_token *t = &n->t->item[i];
        if (t->kind == HPC_TOKEN_SENTINEL) return -1;
        if (t->kind != HPC_TOKEN_PUNCT || t->n != 1) continue;
        char c = n->text[t->at];
        if (c == ';' || c == '{' || c == '}') return -1;
        if (c == '(' || c == '[') depth++;
        if ((c == ')' || c == ']') && --depth == 0) return i;
    }
    return -1;
}

/* __pragma(omp ...) of another compiler: words, not a string. */
static int microsoft(hpc_nest *n, int64_t *next, int64_t i)
{
    const hpc_token *t = n->t->item;
    int64_t close = closing(n, i + 1, ATTRIBUTE);
    if (close < i + 3) return HPC_OK;
    hpc_directive_api api = hpc_pragma_api(&t[i + 2], n->text, false);
    if (!api) return HPC_OK;
    hpc_pragma p = {.api = api,
                    .at = t[i].at,
                    .end = t[close].at + t[close].n,
                    .line = t[i].line,
                    .first = (uint32_t)i + 3,
                    .last = (uint32_t)close};
    *next = close + 1;
    return add(n, &p, t, i + 3, close, n->text);
}

int hpc_pragma_operator(hpc_nest *n, int64_t *next, int64_t i)
{
    const hpc_token *t = n->t->item;
    int rc = HPC_OK;
    *next = i;
    if (!is_punct(n, i + 1, '(')) return HPC_OK;
    if (is_name(n, i, "__pragma")) return microsoft(n, next, i);
    if (!is_name(n, i, "_Pragma")) return HPC_OK;
    int64_t first = i + 2, last = first;
    while (last < n->t->n &&
           (t[last].kind == HPC_TOKEN_STRING || t[last].kind == HPC_TOKEN_COMMENT))
        last++;
    if (last == first || !is_punct(n, last, ')')) return HPC_OK;
    while (first < last && t[first].kind == HPC_TOKEN_COMMENT) first++;
    TRY(hpc_pragma_unquote(&n->words, &n->string, t, first, last, n->text));
    *next = last + 1;
    if (first == last || n->words.n < 1) return HPC_OK;
    hpc_directive_api api = hpc_pragma_api(n->words.item, n->string.data, false);
    if (!api) return HPC_OK; /* of somebody else, but no statement either */
    hpc_pragma p = {.api = api,
                    .at = t[i].at,
                    .end = t[last].at + t[last].n,
                    .line = t[i].line,
                    .first = (uint32_t)first,
                    .last = (uint32_t)last};
    TRY(add(n, &p, n->words.item, 1, n->words.n, n->string.data));
out:
    return rc;
}

/* [[omp::directive(A)]], [[using omp: directive(A)]], [[omp::sequence(directive(A), ...)]]. All of
 * one attribute have its place. */
int hpc_pragma_attribute(hpc_nest *n, int64_t *next, int64_t i)
{
    const hpc_token *t = n->t->item;
    int rc = HPC_OK;
    *next = i;
    if (!is_punct(n, i, '[') || !is_punct(n, i + 1, '[')) return HPC_OK;
    if (!is_name(n, i + 2, "omp") && !(is_name(n, i + 2, "using") && is_name(n, i + 3, "omp")))
        return HPC_OK;
    int64_t close = closing(n, i, ATTRIBUTE);
    if (close < 0) return HPC_OK;
    for (int64_t k = i + 2; k < close; k++) {
        if (!is_name(n, k, "directive") || !is_punct(n, k + 1, '(')) continue;
        int64_t end = closing(n, k + 1, ATTRIBUTE);
        if (end < 0) break;
        hpc_pragma p = {.api = HPC_DIRECTIVE_OMP,
                        .at = t[i].at,
                        .end = t[close].at + t[close].n,
                        .line = t[i].line,
                        .first = (uint32_t)k + 2,
                        .last = (uint32_t)end};
        TRY(add(n, &p, t, k + 2, end, n->text));
        k = end;
    }
    *next = close + 1;
out:
    return rc;
}
