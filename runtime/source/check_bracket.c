/*
 * check_bracket.c: finds unmatched brackets, and fillings of a gap that match them. All branches of
 * #if are counted. A text whose branches open the same brace twice has unmatched brackets with and
 * without a completion, so only differences between the two count.
 */
#include <string.h>

#include "runtime/source/check_priv.h"

typedef struct stack {
    int64_t *item; /* tokens that are open */
    int64_t n, cap;
} stack;

/* '(' for both parentheses, and so on; 0 for what is no bracket. */
static char opener_of(const hpc_token *k, const char *text, bool *closes)
{
    static const char open[] = "([{", close[] = ")]}";
    if (k->kind != HPC_TOKEN_PUNCT || k->n != 1 || (k->flags & HPC_TOKEN_IN_DIRECTIVE)) return 0;
    const char c = text[k->at];
    const char *p = c ? strchr(close, c) : NULL;
    *closes = p != NULL;
    if (p) return open[p - close];
    return c && strchr(open, c) ? c : 0;
}

/* A closing bracket removes its opener from the stack, with everything opened after it. `lone`
 * reports a closer without an opener. */
static int walk(stack *s, const hpc_tokens *t, const char *text, size_t lo, size_t hi,
                int (*lone)(int64_t token, void *user), void *user)
{
    int rc = HPC_OK;
    for (int64_t i = hpc_token_at(t, lo); i < t->n && t->item[i].at < hi; i++) {
        bool closes = false;
        const char c = opener_of(&t->item[i], text, &closes);
        if (!c) continue;
        if (!closes) {
            TRY(hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item));
            s->item[s->n++] = i;
            continue;
        }
        /* Parentheses do not reach over the end of a block. */
        int64_t k = s->n - 1;
        while (k >= 0 && text[t->item[s->item[k]].at] != c && text[t->item[s->item[k]].at] != '{')
            k--;
        if (k >= 0 && text[t->item[s->item[k]].at] == c) {
            for (int64_t m = s->n - 1; m > k; m--) TRY(lone(s->item[m], user));
            s->n = k;
        } else {
            TRY(lone(i, user));
        }
    }
out:
    return rc;
}

/* ---- counting ------------------------------------------------------------------------------- */

typedef struct tally {
    const hpc_tokens *t;
    size_t from;
    int64_t n, first;
} tally;

static int count_one(int64_t token, void *user)
{
    tally *y = user;
    y->n++;
    if (y->t->item[token].at >= y->from && token < y->first) y->first = token;
    return HPC_OK;
}

int check_unmatched(int64_t *n, int64_t *first, const hpc_tokens *t, const char *text, size_t from)
{
    stack s = {0};
    tally y = {.t = t, .from = from, .first = t->n};
    int rc;
    TRY(walk(&s, t, text, 0, SIZE_MAX, count_one, &y));
    for (int64_t i = 0; i < s.n; i++) count_one(s.item[i], &y);
    *n = y.n;
    *first = y.first;
out:
    hpc_free(s.item);
    return rc;
}

/* ---- fillings ------------------------------------------------------------------------------- */

typedef struct gap {
    const hpc_tokens *t;
    const char *text;
    size_t lo;
    hpc_buf open;  /* that the text after the gap closes, innermost first */
    hpc_buf round; /* closes what the gap must close, innermost first: first of expressions, */
    hpc_buf rest;  /* then from the first block on */
} gap;

static int ignore_one(int64_t token, void *user)
{
    (void)token;
    (void)user;
    return HPC_OK;
}

static int close_one(gap *g, char open)
{
    const bool brace = open == '{';
    return hpc_buf_text(brace || g->rest.n > 0 ? &g->rest : &g->round, brace         ? "}"
                                                                       : open == '(' ? ")"
                                                                                     : "]");
}

/* A bracket after the gap that closes one the gap must open, or one from before the gap that is now
 * left unclosed. */
static int note_lone(int64_t token, void *user)
{
    gap *g = user;
    bool closes = false;
    const char c = opener_of(&g->t->item[token], g->text, &closes);
    if (closes) return hpc_buf_add(&g->open, &c, 1);
    return g->t->item[token].at < g->lo ? close_one(g, c) : HPC_OK;
}

static int close_open(gap *g, const stack *s)
{
    int rc = HPC_OK;
    for (int64_t i = s->n - 1; i >= 0 && rc == HPC_OK; i--) {
        const size_t at = g->t->item[s->item[i]].at;
        if (at < g->lo) rc = close_one(g, g->text[at]);
    }
    return rc;
}

/* The first bracket after the gap closes the innermost one. */
static void reverse(hpc_buf *b)
{
    for (size_t i = 0; i + 1 < b->n - i; i++) {
        char c = b->data[i];
        b->data[i] = b->data[b->n - 1 - i];
        b->data[b->n - 1 - i] = c;
    }
}

static int write_fillings(hpc_buf *out, int64_t *n, gap *g)
{
    static const char *const forms[] = {";", "0;", "{}", "0{}", "", "0"};
    int rc;
    *n = 0;
    TRY(hpc_buf_text(&g->open, ""));
    TRY(hpc_buf_text(&g->round, ""));
    TRY(hpc_buf_text(&g->rest, ""));
    reverse(&g->open);
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        const char *value = forms[k][0] == '0' ? "0" : "", *end = forms[k] + strlen(value);
        if (!*end && !*value && g->open.n + g->round.n + g->rest.n == 0) continue; /* empty */
        TRY(hpc_buf_printf(out, "%s%s%s%s%s", value, g->round.data, g->open.data, end,
                           g->rest.data));
        TRY(hpc_buf_add(out, "", 1));
        ++*n;
    }
out:
    return rc;
}

int check_fillings(hpc_buf *out, int64_t *n, const hpc_tokens *t, const char *text, size_t lo,
                   size_t hi)
{
    stack s = {0};
    gap g = {.t = t, .text = text, .lo = lo};
    int rc;
    TRY(walk(&s, t, text, 0, lo, ignore_one, NULL));
    TRY(walk(&s, t, text, hi, SIZE_MAX, note_lone, &g));
    TRY(close_open(&g, &s));
    TRY(write_fillings(out, n, &g));
out:
    hpc_free(s.item);
    hpc_buf_release(&g.open);
    hpc_buf_release(&g.round);
    hpc_buf_release(&g.rest);
    return rc;
}
