/*
 * close.c: unfinished completions. Finds the constructs that they leave open, the end of their last
 * complete statement, and the brackets that close them.
 */
#include <string.h>

#include "infer/complete/priv.h"
#include "runtime/base/base.h"

/* ---- brackets left open -------------------------------------------------------------------- */

static bool opens(const complete_stop *s, const hpc_bracket *b)
{
    return !b->closes && b->partner < 0 && !complete_stop_is_known(s, b);
}

/* How many of s->open the text closes. */
static int64_t closed_by_text(const complete_stop *s)
{
    int64_t closed = 0;
    for (int64_t i = 0; i < s->brackets.n; i++) {
        const hpc_bracket *b = &s->brackets.item[i];
        if (complete_stop_is_known(s, b) || !complete_stop_closes_open(s, b)) continue;
        int64_t k = complete_stop_closed_by(s, b->kind, closed);
        if (k >= 0 && !s->open[k].closed) closed = k + 1;
    }
    return closed;
}

/* Those of s->open that the completion has to close, unless the text after the cursor does. */
static int64_t wanted(const complete_stop *s)
{
    int64_t n = 0;
    if (s->target >= 0) return s->target + 1;
    while (n < s->open_n && complete_is_inline(s->open[n].kind)) n++;
    return n;
}

/* A comment or string that the text begins and does not end; of one line, its rest may end it. */
static int64_t unterminated(const complete_stop *s)
{
    const hpc_buf *file = &s->d->text;
    const size_t end = complete_line_end(file->data, file->n, s->d->at);
    int64_t n = 0;
    for (int64_t i = 0; i < s->tokens.n; i++) {
        const hpc_token *t = &s->tokens.item[i];
        if (!(t->flags & HPC_TOKEN_UNTERMINATED) || t->at < s->lead.n) continue;
        if (t->kind != HPC_TOKEN_COMMENT && (t->flags & HPC_TOKEN_IN_DIRECTIVE)) continue;
        bool line = t->kind != HPC_TOKEN_COMMENT && t->at + t->n == s->text.n;
        n += !line || !memchr(file->data + s->d->at, s->text.data[t->at], end - s->d->at);
    }
    return n;
}

int complete_open_count(int64_t *open, complete_stop *s, const char *text, size_t n)
{
    int rc = complete_stop_read(s, text, n);
    *open = 0;
    if (rc < 0 || s->d->language == HPC_LANGUAGE_NONE) return rc;
    *open = unterminated(s);
    for (int64_t i = 0; i < s->brackets.n; i++) *open += opens(s, &s->brackets.item[i]);
    for (int64_t k = closed_by_text(s); k < wanted(s); k++) *open += !s->open[k].closed;
    return HPC_OK;
}

/* ---- statements ---------------------------------------------------------------------------- */

static bool is_mark(const complete_stop *s, const hpc_token *t, char mark)
{
    return t->n == 1 && s->text.data[t->at] == mark;
}

static size_t fortran_line_end(const char *text, size_t n)
{
    size_t end = n;
    while (end > 0 && text[end - 1] != '\n') end--;
    while (end > 0 && complete_is_blank(text + end - 1, 1)) end--;
    return end > 0 && text[end - 1] == '&' ? 0 : end;
}

int complete_statement_end(size_t *end, complete_stop *s, const char *text, size_t n, bool open_too)
{
    int64_t depth = 0; /* of parentheses and square brackets */
    int rc = complete_stop_read(s, text, n);
    *end = 0;
    if (rc < 0 || s->d->language == HPC_LANGUAGE_NONE) return rc;
    if (s->d->language == HPC_LANGUAGE_FORTRAN) {
        *end = fortran_line_end(text, n);
        return HPC_OK;
    }
    for (int64_t i = 0; i < s->tokens.n; i++) {
        const hpc_token *t = &s->tokens.item[i];
        if (!hpc_token_is_code(t) || t->at + t->n <= s->lead.n) continue;
        depth += is_mark(s, t, '(') - is_mark(s, t, ')');
        depth += is_mark(s, t, '[') - is_mark(s, t, ']');
        bool ends = is_mark(s, t, ';') || is_mark(s, t, '}') || (open_too && is_mark(s, t, '{'));
        if (ends && depth <= 0) *end = t->at + t->n - s->lead.n;
    }
    return HPC_OK;
}

/* ---- closing ------------------------------------------------------------------------------- */

static void add_closer(hpc_buf *out, int kind, size_t indent, bool followed)
{
    if (kind == HPC_BRACKET_ROUND) hpc_buf_text(out, ")");
    if (kind == HPC_BRACKET_SQUARE) hpc_buf_text(out, "]");
    if (complete_is_inline(kind)) return;
    hpc_buf_printf(out, "\n%*s}", (int)indent, "");
    if (!followed && (kind == HPC_BRACKET_HOLDER || kind == HPC_BRACKET_LIST))
        hpc_buf_text(out, ";");
}

int complete_close(hpc_buf *out, complete_stop *s, const char *text, size_t n)
{
    int rc = complete_stop_read(s, text, n);
    if (rc < 0 || s->d->language == HPC_LANGUAGE_NONE || s->d->language == HPC_LANGUAGE_FORTRAN)
        return rc;
    for (int64_t i = s->brackets.n - 1; i >= 0; i--) {
        const hpc_bracket *b = &s->brackets.item[i];
        if (opens(s, b))
            add_closer(out, b->kind, complete_indent_of(s->text.data, s->text.n, b->at), false);
    }
    for (int64_t k = closed_by_text(s); k < wanted(s); k++)
        if (!s->open[k].closed) add_closer(out, s->open[k].kind, s->open[k].indent, s->followed);
    return out->failed;
}

/* ---- soundness ----------------------------------------------------------------------------- */

static bool has_distinct_lines(const char *text, size_t n)
{
    int64_t lines = 0, repeated = 0;
    for (size_t at = 0; at < n; at = complete_line_end(text, n, at) + 1) {
        size_t from = complete_blanks(text, n, at), end = complete_line_end(text, n, at);
        if (from >= end || end - from < 3) continue;
        lines++;
        for (size_t k = 0; k < at; k = complete_line_end(text, n, k) + 1) {
            size_t begin = complete_blanks(text, n, k), stop = complete_line_end(text, n, k);
            if (stop - begin != end - from || memcmp(text + begin, text + from, end - from) != 0)
                continue;
            repeated++;
            break;
        }
    }
    return 2 * repeated <= lines;
}

int complete_is_sound(bool *sound, complete_stop *s, const char *text, size_t n)
{
    int rc = complete_stop_read(s, text, n);
    *sound = rc >= 0 && has_distinct_lines(text, n);
    if (rc < 0 || s->d->language == HPC_LANGUAGE_NONE) return rc;
    for (int64_t i = 0; i < s->brackets.n && *sound; i++) {
        const hpc_bracket *b = &s->brackets.item[i];
        if (complete_stop_is_known(s, b) || !complete_stop_closes_open(s, b)) continue;
        *sound = complete_stop_closed_by(s, b->kind, 0) >= 0;
    }
    return HPC_OK;
}
