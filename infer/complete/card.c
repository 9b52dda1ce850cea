/*
 * card.c: the layout of completions in fixed-form Fortran.
 *
 * Compilers ignore text beyond column 72. Longer statements, directives and comments get
 * continuation lines. Statements begin in column 7, labels before it, and a free-form '&' at the
 * end of a line becomes a mark in column 6 of the next. Text before the cursor never changes.
 */
#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"

enum { CARD = 72, FIELD = 6 }; /* the last column of a statement, and those before its first */

typedef struct card {
    hpc_buf *out;
    hpc_buf line;   /* with what stands before the cursor */
    size_t skip;    /* bytes of it that the file has already */
    size_t most;    /* columns */
    bool continues; /* the line before ended in '&' */
} card;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* ---- kinds of lines --------------------------------------------------------------------------
 */

/* Where the comment of the line begins, if it is nothing else; n: it is a statement. */
static size_t comment_of(const char *p, size_t n)
{
    size_t first = complete_blanks(p, n, 0);
    if (n > 0 && p[0] && strchr("cC*!", p[0])) return 0;
    return first < n && first != FIELD - 1 && p[first] == '!' ? first : n;
}

/* "!$omp" and its kind, which end in column 5. */
static bool is_directive(const char *p, size_t n)
{
    return n > FIELD && comment_of(p, n) == 0 && p[1] == '$' && is_letter(p[2]) &&
           is_letter(p[3]) && is_letter(p[4]);
}

/* The end of a statement's code; *quote: the mark of a string that is open at byte `at`. */
static size_t code_end(const char *p, size_t n, size_t at, char *quote)
{
    char open = 0;
    *quote = 0;
    for (size_t k = 0; k < n; k++) {
        if (k == at) *quote = open;
        if (open)
            open = p[k] == open ? 0 : open;
        else if (p[k] == '\'' || p[k] == '"')
            open = p[k];
        else if (p[k] == '!' && k != FIELD - 1)
            return k;
    }
    return n;
}

/* ---- columns 1 to 6 --------------------------------------------------------------------------
 */

/* A sixth column marks a continuation unless a word begins there. */
static bool is_mark(const char *p, size_t n, bool continues)
{
    return continues || !is_letter(p[FIELD - 1]) || n == FIELD || !is_letter(p[FIELD]);
}

/* Replaces bytes [0, upto) of the line by `field`. */
static int replace_field(hpc_buf *line, const char *field, size_t upto)
{
    hpc_buf changed = {0};
    hpc_buf_text(&changed, field);
    hpc_buf_add(&changed, line->data + upto, line->n - upto);
    int rc = changed.failed;
    hpc_buf_release(line);
    *line = changed;
    return rc;
}

static int lay_out_field(card *c)
{
    static const char blank[] = "      ", mark[] = "     &";
    const char *p = c->line.data;
    size_t n = c->line.n, first = complete_blanks(p, n, 0), end = first;
    char field[FIELD + 1];
    if (first == n || memchr(p, '\t', first) || p[0] == '#') return HPC_OK;
    if (first < FIELD && p[first] == '&') return replace_field(&c->line, mark, first + 1);
    while (end < n && is_digit(p[end])) end++;
    if (end > first && first < FIELD - 1 && end < FIELD) {
        size_t code = complete_blanks(p, n, end);
        if (code >= FIELD || code == n) return HPC_OK;
        snprintf(field, sizeof field, "%.*s%s", (int)end, p, blank + end);
        return replace_field(&c->line, field, code);
    }
    if (first == FIELD - 1 && is_mark(p, n, c->continues)) return HPC_OK;
    if (c->continues) return replace_field(&c->line, mark, first < FIELD ? first : FIELD);
    return first < FIELD ? replace_field(&c->line, blank, first) : HPC_OK;
}

/* ---- column 72 -------------------------------------------------------------------------------
 */

static bool may_break(char before, char after)
{
    const char *marks = "+-*/=<>";
    if (before == ' ' || before == ',') return true;
    if (!before || !strchr("()+-*/=<>", before)) return false;
    return !(strchr(marks, before) && after && strchr(marks, after));
}

/* The last byte in [least, most] before which a line may end, after a blank or comma if there is
 * one. In a string that is column 72 alone: blanks up to it would belong to the string. */
static size_t find_break(const char *p, size_t least, size_t most, bool statement)
{
    size_t found = 0;
    char quote = 0;
    for (size_t k = most; k > least; k--) {
        if (statement) code_end(p, k + 1, k, &quote);
        if (quote && k == most) return most;
        if (quote || !may_break(p[k - 1], p[k])) continue;
        if (p[k] == ' ' || p[k - 1] == ' ' || p[k - 1] == ',') return k;
        if (found == 0) found = k;
    }
    return found ? found : most;
}

/* In pieces: the first stands where it is, each further one begins with `prefix`. */
static void put_pieces(card *c, const char *prefix, size_t end, bool statement)
{
    const char *p = c->line.data;
    size_t from = 0, used = 0;
    while (end > from && end - from > c->most - used) {
        size_t most = from + c->most - used, least = from + (c->most - used) / 2;
        if (most < c->skip) most = c->skip;
        if (least < c->skip) least = c->skip;
        size_t at = find_break(p, least, most, statement), begin = from > c->skip ? from : c->skip;
        bool apart = at < most || may_break(p[at - 1], p[at]);
        char quote = 0;
        if (statement) code_end(p, at + 1, at, &quote);
        apart = apart && !quote;
        size_t stop = at;
        while (apart && stop > begin && p[stop - 1] == ' ') stop--;
        hpc_buf_add(c->out, p + begin, stop - begin);
        hpc_buf_printf(c->out, "\n%s%s", prefix, apart ? " " : "");
        used = strlen(prefix) + apart;
        from = at;
        while (apart && from < end && p[from] == ' ') from++;
    }
    size_t begin = from > c->skip ? from : c->skip;
    hpc_buf_add(c->out, p + begin, c->line.n - begin);
}

/* The beginning of a comment's further lines. */
static void comment_prefix(char prefix[CARD], const hpc_buf *line, size_t comment)
{
    size_t mark = comment < CARD / 2 ? comment : 0;
    snprintf(prefix, CARD, "%*s%c", (int)mark, "", mark == comment ? line->data[comment] : '!');
}

static int put_line(card *c)
{
    char prefix[CARD] = "     &", quote;
    size_t comment = comment_of(c->line.data, c->line.n);
    bool tab = memchr(c->line.data, '\t', c->line.n < FIELD ? c->line.n : FIELD) != NULL;
    int rc = HPC_OK;
    c->most -= tab ? FIELD : 0;
    if (c->line.data[0] == '#') {
        hpc_buf_add(c->out, c->line.data + c->skip, c->line.n - c->skip);
    } else if (comment < c->line.n) {
        if (is_directive(c->line.data, c->line.n))
            snprintf(prefix, sizeof prefix, "%.5s&", c->line.data);
        else
            comment_prefix(prefix, &c->line, comment);
        put_pieces(c, prefix, c->line.n, false);
    } else {
        if (c->skip == 0) TRY(lay_out_field(c));
        size_t end = code_end(c->line.data, c->line.n, 0, &quote), last = end;
        while (last > 0 && c->line.data[last - 1] == ' ') last--;
        c->continues = last > FIELD && last > c->skip && c->line.data[last - 1] == '&';
        if (c->continues) c->line.data[--last] = ' ';
        while (c->continues && last > c->skip && c->line.data[last - 1] == ' ') last--;
        if (c->continues && end == c->line.n) c->line.data[c->line.n = end = last] = '\0';
        put_pieces(c, prefix, end, true);
    }
    rc = c->out->failed;
out:
    return rc;
}

/* ---- all lines -------------------------------------------------------------------------------
 */

/* The rest of the cursor's line needs columns of the completion's only line. */
static size_t columns_after(const hpc_spot *d)
{
    size_t end = complete_line_end(d->text.data, d->text.n, d->at);
    while (end > d->at && d->text.data[end - 1] == ' ') end--;
    return end - d->at < CARD / 2 ? end - d->at : 0;
}

int complete_card_put(hpc_buf *out, const hpc_spot *d, const char *text, size_t n)
{
    card c = {.out = out};
    size_t begin = complete_line_begin(d->text.data, d->at);
    bool single = !memchr(text, '\n', n);
    int rc = HPC_OK;
    for (size_t at = 0; at < n;) {
        size_t end = complete_line_end(text, n, at);
        c.line.n = 0;
        c.skip = at == 0 ? d->at - begin : 0;
        c.most = CARD - (single ? columns_after(d) : 0);
        TRY(hpc_buf_add(&c.line, d->text.data + begin, c.skip));
        TRY(hpc_buf_add(&c.line, text + at, end - at));
        if (c.line.n > 0 && end > at) TRY(put_line(&c));
        if (end < n) TRY(hpc_buf_text(out, "\n"));
        at = end + 1;
    }
out:
    hpc_buf_release(&c.line);
    return rc;
}
