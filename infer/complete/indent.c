/*
 * indent.c: gives the lines of a completion the indentation of the file.
 *
 * Tabs become spaces, or spaces tabs, to match the majority of the file's lines. If the file
 * indents by blocks, the first line of the completion that stands directly in a block gives the
 * width of its levels and its offset; all lines are shifted by that offset. Fixed-form Fortran is
 * not changed, because its columns have a meaning.
 */
#include <ctype.h>
#include <string.h>

#include "infer/complete/priv.h"

enum { LEARNED = 64 << 10, LOOKED_AT = 60, UNIT = 4, UNIT_MOST = 8 };
enum { LEVEL_MOST = 4 }; /* more blanks than these are not taken for one level */

/* ---- the file's way -------------------------------------------------------------------------- */

static void learn_unit(complete_indent *i)
{
    const hpc_buf *t = &i->d->text;
    size_t begin = i->d->at > LEARNED ? i->d->at - LEARNED : 0;
    size_t end = t->n - i->d->at > LEARNED ? i->d->at + LEARNED : t->n, before = 0;
    int64_t tabs = 0, blanks = 0, deeper[UNIT_MOST + 1] = {0};
    for (size_t at = begin; at < end; at = complete_line_end(t->data, t->n, at) + 1) {
        size_t columns = complete_indent_of(t->data, t->n, at);
        size_t line_end = complete_line_end(t->data, t->n, at);
        if (complete_is_blank(t->data + at, line_end - at)) continue;
        tabs += t->data[at] == '\t';
        blanks += t->data[at] == ' ';
        if (columns > before && columns - before <= UNIT_MOST) deeper[columns - before]++;
        before = columns;
    }
    i->tabs = tabs > blanks;
    i->unit = i->tabs ? COMPLETE_TAB : UNIT;
    if (i->tabs) return;
    for (size_t k = 2; k <= UNIT_MOST; k++)
        if (deeper[k] > deeper[i->unit]) i->unit = k;
}

/* Words that stand further left than what is around them, or anywhere. */
static bool stands_apart(const char *text, size_t n, size_t at)
{
    static const char *const words[] = {"case",    "default",  "public", "private", "protected",
                                        "else",    "contains", "end",    "elseif",  "elsewhere",
                                        "endfile", "#",        "!",      "/",       "*"};
    size_t end = at;
    while (end < n && (isalnum((uint8_t)text[end]) || text[end] == '_')) end++;
    if (end == at) end++;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k]) == end - at && strncasecmp(words[k], text + at, end - at) == 0)
            return true;
    return isdigit((uint8_t)text[at]) || (end < n && text[end] == ':' && text[end + 1] != ':');
}

/* Expected depth of the line at `at`, in a block that begins in a line with `outer` columns; false:
 * the line gives no evidence. b[next] is the first bracket at or after the line. */
static bool depth_of(size_t *depth, const complete_indent *i, const hpc_brackets *b, int64_t next,
                     const char *text, size_t n, size_t at, size_t outer)
{
    bool fortran = i->d->language == HPC_LANGUAGE_FORTRAN;
    size_t first = complete_blanks(text, n, at), before = at;
    while (before > 0 && isspace((uint8_t)text[before - 1])) before--;
    bool begins = before == 0 ||
                  (fortran ? text[before - 1] != '&' : strchr(";{}", text[before - 1]) != NULL);
    if (!begins || first >= n || text[first] == '\n' || stands_apart(text, n, first)) return false;
    bool closes = next < b->n && b->item[next].at == first && b->item[next].closes;
    *depth = outer + (closes ? 0 : i->unit);
    return true;
}

static int32_t open_behind(const hpc_brackets *b, int64_t k)
{
    const hpc_bracket *x = &b->item[k];
    if (!x->closes) return (int32_t)k;
    return x->partner < 0 ? x->outer : b->item[x->partner].outer;
}

static void see_file(complete_indent *i, const hpc_brackets *b, const char *text, size_t n)
{
    int64_t told = 0, right = 0, next = 0;
    int32_t open = -1;
    for (size_t at = 0; at < n; at = complete_line_end(text, n, at) + 1) {
        size_t depth;
        for (; next < b->n && b->item[next].at < at; next++) open = open_behind(b, next);
        if (open < 0 || b->item[open].kind < HPC_BRACKET_FUNCTION) continue;
        size_t outer = complete_indent_of(text, n, b->item[open].at);
        if (!depth_of(&depth, i, b, next, text, n, at, outer)) continue;
        if (told == LOOKED_AT) told /= 2, right /= 2;
        told++;
        right += depth == complete_indent_of(text, n, at);
    }
    i->regular = told >= 3 && 5 * right >= 4 * told;
}

int complete_indent_create(complete_indent *i, const hpc_spot *d)
{
    hpc_tokens t = {0};
    hpc_brackets b = {0};
    size_t begin = d->at > LEARNED ? d->at - LEARNED : 0;
    int rc = HPC_OK;
    *i = (complete_indent){.d = d, .from = 1, .to = 1};
    learn_unit(i);
    if (d->language == HPC_LANGUAGE_NONE || d->fixed) return HPC_OK;
    begin = begin > 0 ? complete_line_end(d->text.data, d->text.n, begin) + 1 : 0;
    if (begin >= d->at) return HPC_OK;
    TRY(hpc_lex(&t, d->text.data + begin, d->at - begin, d->language, d->fixed));
    TRY(hpc_brackets_find(&b, &t, d->text.data + begin, d->language));
    see_file(i, &b, d->text.data + begin, d->at - begin);
out:
    hpc_tokens_release(&t);
    hpc_brackets_release(&b);
    return rc;
}

/* ---- a completion's way ---------------------------------------------------------------------- */

/* What the block around the line at `at` of s->text begins in; false: it is in none, or nothing is
 * sure. *next: the first bracket that is not before the line. */
static bool block_around(size_t *outer, int64_t *next, const complete_stop *s, size_t at)
{
    const hpc_brackets *b = &s->brackets;
    int32_t open = -1;
    for (*next = 0; *next < b->n && b->item[*next].at < at; ++*next) {
        const hpc_bracket *x = &b->item[*next];
        if (x->end <= s->lead.n) continue;
        if (x->closes && (x->partner < 0 || b->item[x->partner].end <= s->lead.n)) return false;
        open = open_behind(b, *next);
    }
    bool inside = open >= 0 && b->item[open].end > s->lead.n;
    if (!inside && s->open_n == 0) return false;
    *outer =
        inside ? complete_indent_of(s->text.data, s->text.n, b->item[open].at) : s->open[0].indent;
    return (inside ? b->item[open].kind : s->open[0].kind) >= HPC_BRACKET_FUNCTION;
}

static void decide(complete_indent *i, const complete_stop *s, size_t at)
{
    size_t outer, depth, columns = complete_indent_of(s->text.data, s->text.n, at);
    int64_t next;
    if (!block_around(&outer, &next, s, at)) return;
    if (!depth_of(&depth, i, &s->brackets, next, s->text.data, s->text.n, at, outer)) return;
    i->decided = true;
    if (columns == depth) return;
    i->base = outer;
    bool tab = memchr(s->text.data + at, '\t', complete_blanks(s->text.data, s->text.n, at) - at);
    if (columns > outer && depth > outer && (tab || columns - outer <= LEVEL_MOST)) {
        i->from = columns - outer;
        i->to = i->unit;
    } else {
        i->moved = (int64_t)depth - (int64_t)columns;
    }
}

static size_t columns_for(const complete_indent *i, size_t columns)
{
    if (columns > i->base) columns = i->base + (columns - i->base) * i->to / i->from;
    int64_t moved = (int64_t)columns + i->moved;
    return moved > 0 ? (size_t)moved : 0;
}

static int put_columns(hpc_buf *out, const complete_indent *i, size_t columns)
{
    for (; i->tabs && columns >= COMPLETE_TAB; columns -= COMPLETE_TAB) hpc_buf_text(out, "\t");
    for (; columns > 0; columns--) hpc_buf_text(out, " ");
    return out->failed;
}

/* Position after the leading blanks, which are written in the style of the file. */
static size_t put_blanks(hpc_buf *out, const complete_indent *i, const char *text, size_t n,
                         size_t at)
{
    size_t first = complete_blanks(text, n, at), columns = complete_indent_of(text, n, at);
    bool kept =
        columns_for(i, columns) == columns && !memchr(text + at, i->tabs ? ' ' : '\t', first - at);
    if (first == n || text[first] == '\n' || text[first] == '#' || kept)
        hpc_buf_add(out, text + at, first - at);
    else
        put_columns(out, i, columns_for(i, columns));
    return first;
}

int complete_indent_apply(hpc_buf *out, complete_indent *i, const complete_stop *s,
                          const char *text, size_t n)
{
    const hpc_spot *d = i->d;
    bool begins = d->at == complete_line_begin(d->text.data, d->at);
    if (d->fixed) return complete_card_put(out, d, text, n);
    if (d->language == HPC_LANGUAGE_NONE) return hpc_buf_add(out, text, n);
    for (size_t at = 0; at < n;) {
        size_t end = complete_line_end(text, n, at), from = at;
        if (at > 0 || begins) {
            if (i->regular && !i->decided) decide(i, s, s->lead.n + at);
            from = put_blanks(out, i, text, n, at);
        }
        end = end < n ? end + 1 : n;
        hpc_buf_add(out, text + from, end - from);
        at = end;
    }
    return out->failed;
}
