/*
 * bracket.c: finds pairs of brackets in C and its family, and the kind of each brace. The words
 * before a brace in its statement determine the kind: no types are known and nothing is expanded. A
 * closing bracket that does not match the innermost open one closes the matching one further out,
 * if that is in the same braces; otherwise it closes nothing. A brace closes unmatched parentheses
 * inside it.
 */
#include "runtime/source/bracket_priv.h"

typedef struct finder {
    const hpc_tokens *t;
    const char *text;
    hpc_brackets *out;
    hpc_branches branches;
    bool cpp, skip;
    /* Of the current statement: */
    bool begun, record, space, arrow;
    int64_t prev;    /* its last token, or -1 */
    int64_t linkage; /* the string after `extern`, or -2 */
} finder;

static bool is(const finder *x, int64_t i, const char *word)
{
    return i >= 0 && hpc_token_is(&x->t->item[i], x->text, word, strlen(word));
}

static bool is_one_of(const finder *x, int64_t i, const char *const *words)
{
    for (; *words; words++)
        if (is(x, i, *words)) return true;
    return false;
}

static void begin_statement(finder *x)
{
    x->begun = x->record = x->space = x->arrow = false;
    x->prev = -1;
    x->linkage = -2;
}

/* ---- the list --------------------------------------------------------------------------- */

static bool is_inline(const hpc_bracket *b)
{
    return b->kind == HPC_BRACKET_ROUND || b->kind == HPC_BRACKET_SQUARE;
}

int32_t hpc_bracket_around(const hpc_brackets *b)
{
    if (b->open < 0) return -1;
    return is_inline(&b->item[b->open]) ? b->item[b->open].around : b->open;
}

int hpc_bracket_open(hpc_brackets *b, hpc_bracket_kind kind, uint32_t at, uint32_t end)
{
    int rc = hpc_grow(&b->item, &b->cap, b->n + 1, sizeof *b->item);
    if (rc < 0) return rc;
    b->item[b->n] = (hpc_bracket){.at = at,
                                  .end = end,
                                  .partner = -1,
                                  .outer = b->open,
                                  .around = hpc_bracket_around(b),
                                  .kind = (uint8_t)kind};
    b->open = (int32_t)b->n++;
    return HPC_OK;
}

int hpc_bracket_close(hpc_brackets *b, int32_t partner, hpc_bracket_kind kind, uint32_t at,
                      uint32_t end)
{
    int rc = hpc_grow(&b->item, &b->cap, b->n + 1, sizeof *b->item);
    if (rc < 0) return rc;
    hpc_bracket *c = &b->item[b->n];
    *c = (hpc_bracket){.at = at,
                       .end = end,
                       .partner = partner,
                       .outer = b->open,
                       .around = hpc_bracket_around(b),
                       .kind = (uint8_t)kind,
                       .closes = true};
    if (partner >= 0) {
        c->kind = b->item[partner].kind;
        b->item[partner].partner = (int32_t)b->n;
        b->open = b->item[partner].outer;
    }
    b->n++;
    return HPC_OK;
}

int32_t hpc_bracket_opened(const hpc_brackets *b, hpc_bracket_kind kind)
{
    enum { NEAR = 32 };
    int32_t i = b->open;
    for (int k = 0; k < NEAR && i >= 0 && is_inline(&b->item[i]); k++, i = b->item[i].outer)
        if (b->item[i].kind == kind) return i;
    return -1;
}

void hpc_brackets_release(hpc_brackets *b)
{
    hpc_free(b->item);
    *b = (hpc_brackets){.open = -1};
}

/* ---- braces -------------------------------------------------------------------------------- */

static bool begins_value(const finder *x)
{
    static const char *const before[] = {"=", ",", "(", "[", "return", NULL};
    return is_one_of(x, x->prev, before);
}

/* In C++ values may follow a name, unless that ends a head. */
static bool begins_list(const finder *x)
{
    static const char *const heads[] = {"else",     "do",       "try",     "const", "override",
                                        "noexcept", "volatile", "mutable", "final", NULL};
    if (begins_value(x)) return true;
    if (!x->cpp || x->prev < 0 || x->arrow || is_one_of(x, x->prev, heads)) return false;
    return x->t->item[x->prev].kind == HPC_TOKEN_NAME || is(x, x->prev, ">");
}

static bool begins_holder(const finder *x)
{
    static const char *const behind[] = {")", "const", "override", "noexcept", NULL};
    return x->space || x->linkage == x->prev ||
           (x->record && !is_one_of(x, x->prev, behind) && !begins_value(x));
}

static hpc_bracket_kind kind_of_brace(const finder *x)
{
    int32_t outer = hpc_bracket_around(x->out);
    hpc_bracket_kind around = outer < 0 ? HPC_BRACKET_HOLDER : x->out->item[outer].kind;
    if (around == HPC_BRACKET_LIST) return HPC_BRACKET_LIST;
    if (begins_holder(x)) return HPC_BRACKET_HOLDER;
    if (begins_list(x)) return HPC_BRACKET_LIST;
    return around == HPC_BRACKET_HOLDER ? HPC_BRACKET_FUNCTION : HPC_BRACKET_BLOCK;
}

/* ---- tokens -------------------------------------------------------------------------------- */

static void see_word(finder *x, int64_t i)
{
    static const char *const records[] = {"struct", "class", "union", "enum", NULL};
    static const char *const types[] = {"<", ",", "(", NULL};
    if (is_one_of(x, i, records) && !is_one_of(x, x->prev, types)) x->record = true;
    if (is(x, i, "namespace") && !is(x, x->prev, "using")) x->space = true;
    if (is(x, i, "->")) x->arrow = true;
    if (x->t->item[i].kind == HPC_TOKEN_STRING && is(x, x->prev, "extern")) x->linkage = i;
}

static int see_bracket(finder *x, int64_t i, bool *was)
{
    const hpc_token *t = &x->t->item[i];
    const uint32_t at = t->at, end = t->at + t->n;
    hpc_brackets *b = x->out;
    hpc_bracket_kind kind;
    *was = t->kind == HPC_TOKEN_PUNCT && t->n == 1;
    switch (*was ? x->text[at] : 0) {
    case '(': return hpc_bracket_open(b, HPC_BRACKET_ROUND, at, end);
    case '[': return hpc_bracket_open(b, HPC_BRACKET_SQUARE, at, end);
    case ')': kind = HPC_BRACKET_ROUND; break;
    case ']': kind = HPC_BRACKET_SQUARE; break;
    case '{': return hpc_bracket_open(b, kind_of_brace(x), at, end);
    case '}': return hpc_bracket_close(b, hpc_bracket_around(x->out), HPC_BRACKET_BLOCK, at, end);
    default: *was = false; return HPC_OK;
    }
    return hpc_bracket_close(b, hpc_bracket_opened(b, kind), kind, at, end);
}

/* A statement ends at a ';' that is in no parentheses, and a brace ends one or begins one, but for
 * those of values. */
static void see_end(finder *x, int64_t i)
{
    const hpc_brackets *b = x->out;
    char c = x->text[x->t->item[i].at];
    bool list = (c == '{' || c == '}') && b->item[b->n - 1].kind == HPC_BRACKET_LIST;
    bool ends = c == ';' && (b->open < 0 || !is_inline(&b->item[b->open]));
    x->prev = i;
    if (!list && (ends || c == '{' || c == '}')) begin_statement(x);
}

static int see_token(finder *x, int64_t i)
{
    const hpc_token *t = &x->t->item[i];
    bool bracket;
    int rc;
    see_word(x, i);
    rc = see_bracket(x, i, &bracket);
    if (bracket || (t->kind == HPC_TOKEN_PUNCT && t->n == 1))
        see_end(x, i);
    else
        x->prev = i;
    return rc;
}

static int find_in_c(hpc_brackets *out, const hpc_tokens *t, const char *text, bool cpp)
{
    finder x = {.t = t, .text = text, .out = out, .cpp = cpp, .prev = -1, .linkage = -2};
    int rc = HPC_OK;
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        if (k->kind == HPC_TOKEN_SENTINEL)
            TRY(hpc_branch_at(&x.skip, &x.branches, t, text, i, out->open));
        if (x.skip || (k->flags & HPC_TOKEN_IN_DIRECTIVE) || k->kind == HPC_TOKEN_COMMENT) continue;
        TRY(see_token(&x, i));
    }
out:
    hpc_free(x.branches.item);
    return rc;
}

int hpc_brackets_find(hpc_brackets *out, const hpc_tokens *t, const char *text, hpc_language l)
{
    out->n = 0;
    out->open = -1;
    if (l == HPC_LANGUAGE_FORTRAN) return hpc_brackets_fortran(out, t, text);
    return find_in_c(out, t, text,
                     l == HPC_LANGUAGE_CPP || l == HPC_LANGUAGE_CUDA || l == HPC_LANGUAGE_HIP);
}
