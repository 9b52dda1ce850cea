/*
 * Classification of a function change: names, strings, order of tokens, or anything else.
 *
 * A name is local if the function declares it: after a type name and before a token that may follow
 * a declarator. Called names and members are not local.
 */
#include <stdlib.h>

#include "infer/perf/feature_priv.h"

typedef struct renamed {
    uint32_t from, to;
    int64_t at; /* its first place */
} renamed;

static int by_names(const void *a, const void *b)
{
    const renamed *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_target(const void *a, const void *b)
{
    const renamed *x = a, *y = b;
    return (x->to > y->to) - (x->to < y->to);
}

/* ---- local names --------------------------------------------------------------------------------
 */

static bool is_used_as_local(const perf_scan *x, int64_t i)
{
    if (PERF_IS(x, i - 1, ".") || PERF_IS(x, i - 1, "->") || PERF_IS(x, i - 1, "::")) return false;
    if (x->fortran) return !PERF_IS(x, i - 1, "%");
    return !PERF_IS(x, i + 1, "(") && !PERF_IS(x, i + 1, "::");
}

static bool is_declaration(const perf_scan *x, int64_t i)
{
    if (x->fortran) return true; /* in a list after "::" */
    const hpc_token *before = i > 0 ? perf_token(x, i - 1) : NULL;
    if (!before || i + 1 >= x->n) return false;
    char c = x->s->text.data[before->at];
    bool type = before->kind == HPC_TOKEN_NAME &&
                !(perf_word_find(x->words->c, before->hash).how & PERF_WORD_KEYWORD);
    bool list = c == ',' || c == '*' || c == '&' || c == '>';
    char next = x->s->text.data[perf_token(x, i + 1)->at];
    bool ends = next == '=' || next == ';' || next == ',' || next == ')' || next == '[' ||
                next == ':' || next == '{';
    return (type || list) && ends;
}

static bool is_function_name(const perf_scan *x, int64_t i)
{
    const hpc_function *f = &x->s->f.item[x->function];
    const hpc_token *t = perf_token(x, i);
    return t->at + t->n == f->name_at + f->name_n;
}

/* All uses of each renamed name are those of a local, and the first one declares it. */
static bool all_local(const perf_scan *base, const perf_scan *head, const renamed *r, int64_t n)
{
    const perf_word *words = base->fortran ? base->words->fortran : base->words->c;
    if (is_function_name(base, r[0].at) && is_function_name(head, r[0].at)) return n == 1;
    if (perf_word_find(words, r[0].from).how || perf_word_find(words, r[0].to).how) return false;
    for (int64_t k = 0; k < n; k++)
        if (!is_used_as_local(base, r[k].at) || !is_used_as_local(head, r[k].at)) return false;
    return is_declaration(base, r[0].at);
}

/* names: of all places, changed or not; sorted. */
static bool only_renamed(const perf_scan *base, const perf_scan *head, renamed *r, int64_t n)
{
    int64_t distinct = 0;
    for (int64_t k = 0, next; k < n; k = next) {
        for (next = k + 1; next < n && r[next].from == r[k].from;) next++;
        for (int64_t i = k; i < next; i++)
            if (r[i].to != r[k].to) return false;
        if (r[k].to != r[k].from && !all_local(base, head, r + k, next - k)) return false;
        r[distinct++] = r[k];
    }
    if (distinct > 1) qsort(r, (size_t)distinct, sizeof *r, by_target);
    for (int64_t k = 1; k < distinct; k++)
        if (r[k].to == r[k - 1].to) return false;
    return true;
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The same tokens, however they stand. */
static int is_reordered(bool *out, const perf_scan *base, const perf_scan *head)
{
    uint32_t *all = NULL;
    int64_t n = base->n;
    int rc = HPC_OK;
    *out = false;
    if (n != head->n) return rc;
    all = hpc_alloc((size_t)(2 * n) + 1, sizeof *all);
    if (!all) return HPC_E_NOMEM;
    for (int64_t i = 0; i < n; i++) {
        all[i] = perf_token(base, i)->hash;
        all[n + i] = perf_token(head, i)->hash;
    }
    if (n > 1) qsort(all, (size_t)n, sizeof *all, by_value);
    if (n > 1) qsort(all + n, (size_t)n, sizeof *all, by_value);
    *out = n > 0;
    for (int64_t i = 0; i < n; i++) *out &= all[i] == all[n + i];
    hpc_free(all);
    return rc;
}

static bool is_string(const hpc_token *t)
{
    return t->kind == HPC_TOKEN_STRING;
}

/* Token by token: what differs are strings, or names; false: something else. */
static bool compare(bool *names, bool *strings, const perf_scan *base, const perf_scan *head)
{
    if (base->n != head->n) return false;
    for (int64_t i = 0; i < base->n; i++) {
        const hpc_token *a = perf_token(base, i), *b = perf_token(head, i);
        if (a->kind != b->kind) return false;
        if (a->hash == b->hash) continue;
        bool include = a->flags & HPC_TOKEN_IN_DIRECTIVE; /* names a file, or a clause */
        if (include || (!is_string(a) && a->kind != HPC_TOKEN_NAME)) return false;
        *(is_string(a) ? strings : names) = true;
    }
    return true;
}

int perf_effect_of(perf_effect *out, const perf_scan *base, const perf_scan *head)
{
    bool names = false, strings = false, reordered = false;
    renamed *r = NULL;
    int64_t n = 0;
    int rc = HPC_OK;
    *out = PERF_EFFECT_ANY;
    if (base->s->kind == HPC_PERF_BUILD) return rc;
    bool alike = compare(&names, &strings, base, head) && base->s->language == head->s->language;
    if (alike && !names) {
        *out = strings ? PERF_EFFECT_STRINGS : PERF_EFFECT_NONE;
        return rc;
    }
    if (alike && base->function >= 0) {
        r = hpc_alloc((size_t)base->n + 1, sizeof *r);
        if (!r) TRY(HPC_E_NOMEM);
        for (int64_t i = 0; i < base->n; i++)
            if (perf_token(base, i)->kind == HPC_TOKEN_NAME)
                r[n++] = (renamed){perf_token(base, i)->hash, perf_token(head, i)->hash, i};
        if (n > 1) qsort(r, (size_t)n, sizeof *r, by_names);
        if (only_renamed(base, head, r, n))
            *out = strings ? PERF_EFFECT_STRINGS : PERF_EFFECT_NAMES;
    }
    if (*out == PERF_EFFECT_ANY) TRY(is_reordered(&reordered, base, head));
    if (reordered) *out = PERF_EFFECT_ORDER;
out:
    hpc_free(r);
    return rc;
}
