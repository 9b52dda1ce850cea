/*
 * stop.c: decides where a completion ends.
 *
 * The constructs that are open at the cursor are found once. A completion never closes those that
 * the text after the cursor closes. New text is read after the statement that contains the cursor,
 * so that a comment, a string or a directive continues.
 */
#include <string.h>

#include "infer/complete/priv.h"

/* ---- what is open at the place ----------------------------------------------------------- */

static bool line_goes_on(const hpc_spot *d, size_t begin)
{
    size_t end = begin - 1; /* the line feed of the line before */
    const char *t = d->text.data;
    char mark = d->language == HPC_LANGUAGE_FORTRAN ? '&' : '\\';
    while (end > 0 && (t[end - 1] == ' ' || t[end - 1] == '\t')) end--;
    return end > 0 && t[end - 1] == mark;
}

static size_t statement_begin(const hpc_spot *d)
{
    size_t at = complete_line_begin(d->text.data, d->at);
    while (at > 0 && line_goes_on(d, at)) at = complete_line_begin(d->text.data, at - 1);
    return at;
}

static int lex(complete_stop *s, const char *text, size_t n)
{
    return hpc_lex(&s->tokens, text, n, s->d->language, s->d->fixed);
}

/* Text that reopens the comment or raw string that is open at the end of `before`. */
static int open_again(complete_stop *s, const char *before)
{
    const hpc_token *t = s->tokens.n > 0 ? &s->tokens.item[s->tokens.n - 1] : NULL;
    if (!t || !(t->flags & HPC_TOKEN_UNTERMINATED)) return HPC_OK;
    if (t->kind == HPC_TOKEN_COMMENT) return hpc_buf_text(&s->lead, "/*");
    const char *begin = before + t->at, *quote = memchr(begin, '"', t->n);
    const bool raw = t->kind == HPC_TOKEN_STRING && quote && quote > begin && quote[-1] == 'R';
    const char *paren = raw ? memchr(quote, '(', t->n - (size_t)(quote - begin)) : NULL;
    return paren ? hpc_buf_add(&s->lead, begin, (size_t)(paren + 1 - begin)) : HPC_OK;
}

static int find_open(complete_stop *s)
{
    const char *text = s->d->text.data;
    size_t begin = statement_begin(s->d);
    int rc;
    TRY(lex(s, text, begin));
    TRY(open_again(s, text));
    TRY(hpc_buf_add(&s->lead, text + begin, s->d->at - begin));
    TRY(lex(s, text, s->d->at));
    TRY(hpc_tokens_keep_last_branch(&s->tokens, text));
    TRY(hpc_brackets_find(&s->brackets, &s->tokens, text, s->d->language));
    for (int32_t i = s->brackets.open; i >= 0 && s->open_n < COMPLETE_OPEN_MOST;
         i = s->brackets.item[i].outer)
    {
        const hpc_bracket *b = &s->brackets.item[i];
        TRY(hpc_grow(&s->open, &s->open_cap, s->open_n + 1, sizeof *s->open));
        s->open[s->open_n++] =
            (complete_open){.kind = b->kind, .indent = complete_indent_of(text, s->d->at, b->at)};
        if (s->open_n == 1 && !complete_is_inline(b->kind))
            s->begins = complete_is_blank(text + b->end, s->d->at - b->end);
    }
out:
    return rc;
}

bool complete_is_inline(int kind)
{
    return kind == HPC_BRACKET_ROUND || kind == HPC_BRACKET_SQUARE;
}

/* Which of what is open a closing bracket of that kind closes, from the one at `from` on; -1: none.
 * A parenthesis reaches over no brace, a brace over parentheses that were forgotten. */
int64_t complete_stop_closed_by(const complete_stop *s, int kind, int64_t from)
{
    for (int64_t k = from; k < s->open_n; k++) {
        int open = s->open[k].kind;
        if (complete_is_inline(open) ? open == kind : !complete_is_inline(kind)) return k;
        if (!complete_is_inline(open)) return -1;
    }
    return -1;
}

/* Brackets in a text that begins with the lead: those of the lead itself are known already. */
bool complete_stop_is_known(const complete_stop *s, const hpc_bracket *b)
{
    return b->end <= s->lead.n;
}

bool complete_stop_closes_open(const complete_stop *s, const hpc_bracket *b)
{
    return b->closes &&
           (b->partner < 0 || complete_stop_is_known(s, &s->brackets.item[b->partner]));
}

/* rest: the text is the rest of the file. */
static int read_with_lead(complete_stop *s, const char *text, size_t n, bool rest)
{
    int rc;
    s->text.n = 0;
    TRY(hpc_buf_add(&s->text, s->lead.data, s->lead.n));
    TRY(hpc_buf_add(&s->text, text, n));
    if (s->d->language == HPC_LANGUAGE_NONE) return HPC_OK;
    TRY(lex(s, s->text.data, s->text.n));
    if (rest) hpc_tokens_keep_first_branch(&s->tokens, s->text.data, s->lead.n);
    TRY(hpc_brackets_find(&s->brackets, &s->tokens, s->text.data, s->d->language));
out:
    return rc;
}

int complete_stop_read(complete_stop *s, const char *text, size_t n)
{
    return read_with_lead(s, text, n, false);
}

/* ---- which of it the text after the cursor closes ------------------------------------------- */

typedef struct closer { /* a bracket after the cursor that closes one from before it */
    int kind;
    bool alone; /* on its line: its indentation is that of the block it closes */
    size_t indent;
} closer;

typedef struct closers {
    closer *item;
    int64_t n, cap;
} closers;

static int list_closers(closers *c, const complete_stop *s)
{
    const char *text = s->text.data;
    for (int64_t i = 0; i < s->brackets.n && c->n < 2 * s->open_n; i++) {
        const hpc_bracket *b = &s->brackets.item[i];
        if (complete_stop_is_known(s, b) || !complete_stop_closes_open(s, b)) continue;
        int rc = hpc_grow(&c->item, &c->cap, c->n + 1, sizeof *c->item);
        if (rc < 0) return rc;
        size_t begin = complete_line_begin(text, b->at);
        bool alone = begin >= s->lead.n && complete_blanks(text, s->text.n, begin) == b->at;
        c->item[c->n++] = (closer){.kind = b->kind,
                                   .alone = alone && !complete_is_inline(b->kind),
                                   .indent = complete_indent_of(text, s->text.n, b->at)};
    }
    return HPC_OK;
}

/* Points for closing o with c; 0: it cannot. Any pair outweighs indentations that agree. */
static int32_t pair_points(const closer *c, const complete_open *o)
{
    enum { PAIR = 1 << 16, SAME_INDENT = 1 };
    bool in_line = complete_is_inline(o->kind);
    if (in_line ? c->kind != o->kind : complete_is_inline(c->kind)) return 0;
    return PAIR + (c->alone && c->indent == o->indent ? SAME_INDENT : 0);
}

/* best[i * (open_n + 1) + k]: the most points of closers from i on for what is open from k on.
 * A parenthesis closes nothing outside a brace that is still open. */
static void score_pairs(int32_t *best, const complete_stop *s, const closers *c)
{
    const int64_t width = s->open_n + 1;
    for (int64_t i = c->n - 1; i >= 0; i--) {
        for (int64_t k = s->open_n - 1; k >= 0; k--) {
            int32_t *here = &best[i * width + k];
            int32_t points = pair_points(&c->item[i], &s->open[k]);
            int32_t skip =
                complete_is_inline(c->item[i].kind) && !complete_is_inline(s->open[k].kind)
                    ? 0
                    : here[1];
            int32_t pair = points > 0 ? points + here[width + 1] : 0;
            *here = here[width];
            if (skip > *here) *here = skip;
            if (pair > *here) *here = pair;
        }
    }
}

/* Pairs the brackets after the cursor with those open at it so that as many as possible are closed
 * and indentations agree. If some are closed nowhere, those are the innermost: they are being
 * written. */
static int find_closed(complete_stop *s)
{
    const hpc_spot *d = s->d;
    const int64_t width = s->open_n + 1;
    closers c = {0};
    int32_t *best = NULL;
    int rc;
    TRY(read_with_lead(s, d->text.data + d->at, d->text.n - d->at, true));
    TRY(list_closers(&c, s));
    if (c.n == 0) return HPC_OK;
    best = hpc_alloc((size_t)((c.n + 1) * width), sizeof *best);
    if (!best) TRY(HPC_E_NOMEM);
    score_pairs(best, s, &c);
    for (int64_t i = 0, k = 0; i < c.n && k < s->open_n;) {
        const int32_t *here = &best[i * width + k];
        if (*here == 0) break;
        if (*here == here[1] &&
            !(complete_is_inline(c.item[i].kind) && !complete_is_inline(s->open[k].kind)))
        {
            k++;
        } else if (*here == here[width]) {
            i++;
        } else {
            s->open[k++].closed = true;
            i++;
        }
    }
out:
    hpc_free(best);
    hpc_free(c.item);
    return rc;
}

/* FUNCTION: the outermost that is in nothing but holders. */
static int64_t find_target(const complete_stop *s)
{
    int64_t target = -1;
    for (int64_t k = 0; k < s->open_n; k++) {
        int kind = s->open[k].kind;
        if (complete_is_inline(kind)) continue;
        if (s->kind == HPC_STOP_BLOCK) return k;
        if (kind == HPC_BRACKET_FUNCTION) target = k;
        if (target >= 0 && s->d->language == HPC_LANGUAGE_FORTRAN) return target;
    }
    return s->kind == HPC_STOP_LINE ? -1 : target;
}

/* The beginning of the cursor's line; of a long one, data in a line, the end of that. */
static int lead_of_line(complete_stop *s)
{
    enum { LONG = 4096 };
    const hpc_spot *d = s->d;
    size_t begin = complete_line_begin(d->text.data, d->at);
    if (d->at - begin > LONG) begin = d->at - LONG;
    return hpc_buf_add(&s->lead, d->text.data + begin, d->at - begin);
}

/* More than closing punctuation follows the cursor on its line. */
static bool has_tail(const hpc_spot *d)
{
    const size_t end = complete_line_end(d->text.data, d->text.n, d->at);
    for (size_t k = d->at; k < end; k++)
        if (!strchr(" \t)]};,", d->text.data[k])) return true;
    return false;
}

/* Text follows the cursor on its line, so the brace that ends the completion gets nothing added. */
static bool is_followed(const hpc_spot *d)
{
    const size_t at = complete_blanks(d->text.data, d->text.n, d->at);
    return at < d->text.n && !strchr("\n)]}", d->text.data[at]);
}

int complete_stop_create(complete_stop *s, const hpc_spot *d, hpc_complete_stop kind)
{
    const bool tail = has_tail(d);
    int rc = HPC_OK;
    *s = (complete_stop){.d = d, .kind = kind, .target = -1, .followed = is_followed(d)};
    if (d->language == HPC_LANGUAGE_NONE) {
        if (tail) s->kind = HPC_STOP_LINE;
        return lead_of_line(s);
    }
    TRY(find_open(s));
    TRY(find_closed(s));
    if (tail && (!s->begins || s->open[0].closed)) s->kind = HPC_STOP_LINE;
    s->target = find_target(s);
out:
    if (rc < 0) complete_stop_release(s);
    return rc;
}

int hpc_complete_stop_at(hpc_complete_stop *out, const hpc_spot *d, hpc_complete_stop stop)
{
    complete_stop s;
    int rc = complete_stop_create(&s, d, stop);
    if (rc < 0) return rc;
    *out = s.kind;
    complete_stop_release(&s);
    return HPC_OK;
}

void complete_stop_release(complete_stop *s)
{
    hpc_buf_release(&s->lead);
    hpc_buf_release(&s->text);
    hpc_free(s->open);
    hpc_tokens_release(&s->tokens);
    hpc_brackets_release(&s->brackets);
    *s = (complete_stop){0};
}

/* ---- where it ends ----------------------------------------------------------------------- */

typedef struct finder {
    complete_stop *s;
    size_t end; /* end of the text read so far, in s->text */
    bool over, last;
    int64_t closed; /* number of closed constructs in s->open */
    int64_t depth;  /* brackets that the text has opened */
} finder;

/* Not before the text: a bracket of Fortran may begin in the lead, as "end" of "end do". */
static void end_at(finder *x, size_t at)
{
    if (at < x->s->lead.n) at = x->s->lead.n;
    if (x->over && at >= x->end) return;
    x->over = true;
    x->end = at;
}

/* The first code token at or after a position, or NULL. */
static const hpc_token *code_behind(const complete_stop *s, size_t at)
{
    for (int64_t i = hpc_token_at(&s->tokens, at); i < s->tokens.n; i++)
        if (hpc_token_is_code(&s->tokens.item[i])) return &s->tokens.item[i];
    return NULL;
}

static bool is_spelled(const complete_stop *s, const hpc_token *t, const char *word)
{
    return t->n == strlen(word) && memcmp(s->text.data + t->at, word, t->n) == 0;
}

/* True if the token continues a statement after its block. */
static bool goes_on(const complete_stop *s, const hpc_token *t)
{
    static const char *const words[] = {"else", "catch", "while", ",", ")", "(", "]", "=", NULL};
    for (const char *const *w = words; *w; w++)
        if (is_spelled(s, t, *w)) return true;
    return false;
}

/* Ends after a block, if the text after it does not continue the statement. */
static void end_behind_block(finder *x, const hpc_bracket *b)
{
    const hpc_token *next = code_behind(x->s, b->end);
    if (x->s->followed && complete_stop_closes_open(x->s, b)) {
        end_at(x, b->end);
        return;
    }
    if (x->s->d->language == HPC_LANGUAGE_FORTRAN || (!next && x->last)) {
        end_at(x, b->end);
        return;
    }
    bool grows = next && !x->last && next->at + next->n == x->s->text.n;
    if (!next || grows || goes_on(x->s, next)) return;
    end_at(x, is_spelled(x->s, next, ";") ? next->at + next->n : b->end);
}

static void close_open(finder *x, const hpc_bracket *b)
{
    complete_stop *s = x->s;
    int64_t k = complete_stop_closed_by(s, b->kind, x->closed);
    if (k < 0 || s->open[k].closed) {
        end_at(x, b->at);
        return;
    }
    x->closed = k + 1;
    if (s->kind == HPC_STOP_LINE || s->target < 0 || k < s->target) return;
    if (s->open[k].kind == HPC_BRACKET_HOLDER || s->open[k].kind == HPC_BRACKET_LIST)
        end_behind_block(x, b);
    else
        end_at(x, b->end);
}

static void see_bracket(finder *x, const hpc_bracket *b)
{
    const complete_stop *s = x->s;
    if (!b->closes) {
        x->depth++;
        return;
    }
    if (complete_stop_closes_open(s, b)) {
        close_open(x, b);
        return;
    }
    x->depth--;
    bool whole =
        x->depth == 0 && (b->kind == HPC_BRACKET_BLOCK || b->kind == HPC_BRACKET_FUNCTION ||
                          b->kind == HPC_BRACKET_HOLDER);
    bool wanted = s->kind == HPC_STOP_BLOCK || (s->kind == HPC_STOP_FUNCTION && s->target < 0);
    if (whole && wanted) end_behind_block(x, b);
}

/* Parentheses that may hold semicolons: for (;;), and in C++ if (int a = f(); a) and switch. */
static bool may_hold_semicolons(const complete_stop *s, const hpc_bracket *b)
{
    static const char *const words[] = {"for", "if", "switch", NULL};
    int64_t k = hpc_token_at(&s->tokens, b->at) - 1;
    while (k >= 0 && !hpc_token_is_code(&s->tokens.item[k])) k--;
    for (const char *const *w = words; k >= 0 && *w; w++)
        if (is_spelled(s, &s->tokens.item[k], *w)) return true;
    return false;
}

/* A statement that ends inside a parenthesis or square bracket: nothing can close that any more. */
static void end_broken_statement(finder *x, const hpc_bracket *b)
{
    const complete_stop *s = x->s;
    int64_t braces = 0;
    if (b->closes || b->partner >= 0 || !complete_is_inline(b->kind)) return;
    if (may_hold_semicolons(s, b)) return;
    for (int64_t i = hpc_token_at(&s->tokens, b->end); i < s->tokens.n && braces >= 0; i++) {
        const hpc_token *t = &s->tokens.item[i];
        if (!hpc_token_is_code(t)) continue;
        braces += is_spelled(s, t, "{") - is_spelled(s, t, "}");
        if (braces > 0 || !is_spelled(s, t, ";")) continue;
        if (t->at >= s->lead.n) end_at(x, t->at);
        return;
    }
}

/* The end of the first line with something on it. */
static void end_line(finder *x)
{
    const char *text = x->s->text.data;
    size_t n = x->s->text.n;
    for (size_t at = x->s->lead.n; at < n && !x->over;) {
        size_t end = complete_line_end(text, n, at);
        if (end < n && !complete_is_blank(text + at, end - at)) end_at(x, end);
        at = end + 1;
    }
}

/* Where blocks are not known by brackets. */
static void end_outline(finder *x)
{
    const complete_stop *s = x->s;
    size_t end;
    bool over;
    complete_outline_find(&end, &over, s->kind, s->text.data, s->text.n, s->lead.n, x->last);
    if (over) end_at(x, end);
}

/* A statement of Fortran ends with its line: "end" may become "end do". */
static bool may_grow(const complete_stop *s, const hpc_bracket *b)
{
    return s->d->language == HPC_LANGUAGE_FORTRAN && b->end - b->at > 1 &&
           complete_line_end(s->text.data, s->text.n, b->end) == s->text.n;
}

int complete_stop_find(size_t *end, bool *over, complete_stop *s, const char *text, size_t n,
                       bool last)
{
    const bool fortran = s->d->language == HPC_LANGUAGE_FORTRAN;
    finder x = {.s = s, .last = last};
    int rc;
    TRY(complete_stop_read(s, text, n));
    x.end = s->text.n;
    if (s->kind == HPC_STOP_LINE)
        end_line(&x);
    else if (s->d->language == HPC_LANGUAGE_NONE)
        end_outline(&x);
    for (int64_t i = 0; i < s->brackets.n; i++) {
        const hpc_bracket *b = &s->brackets.item[i];
        if (x.over && b->at >= x.end) break;
        if (!complete_stop_is_known(s, b) && (last || !may_grow(s, b))) see_bracket(&x, b);
        if (!fortran && !complete_stop_is_known(s, b)) end_broken_statement(&x, b);
    }
    *end = x.end - s->lead.n;
    *over = x.over;
out:
    return rc;
}
