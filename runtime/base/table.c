/*
 * table.c: tables and paragraphs that fit the width of a terminal.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/table.h"

enum { GAP = 2, DOTS = 3 };

int hpc_text_columns(const char *text, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* The bytes of the first `most` characters. */
static size_t bytes_of(const char *text, int most)
{
    size_t n = 0;
    for (int count = 0; text[n]; n++) {
        bool starts = ((unsigned char)text[n] & 0xC0) != 0x80;
        if (starts && count++ == most) break;
    }
    return n;
}

/* The bytes of the words that fit into `most` columns, of a line of n bytes; at least one word. */
static size_t words_of(const char *text, size_t n, int most)
{
    size_t end = 0;
    for (;;) {
        size_t next = end;
        while (next < n && text[next] == ' ') next++;
        if (next == n) return end;
        while (next < n && text[next] != ' ') next++;
        if (end > 0 && hpc_text_columns(text, next) > most) return end;
        end = next;
    }
}

/* Appends a line of n bytes as lines of at most `most` columns; the first begins at column `at`,
 * the others at `indent`. */
static void put_wrapped(hpc_buf *out, const char *text, size_t n, int at, int indent, int most)
{
    while (n > 0) {
        size_t end = hpc_text_columns(text, n) <= most - at ? n : words_of(text, n, most - at);
        hpc_buf_add(out, text, end);
        while (end < n && text[end] == ' ') end++;
        text += end;
        n -= end;
        at = indent;
        if (n > 0) hpc_buf_printf(out, "\n%*s", indent, "");
    }
}

void hpc_text_fill(hpc_buf *out, const char *text, int indent, int width)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (width > 0)
            put_wrapped(out, text, n, 0, indent, width - 1);
        else
            hpc_buf_add(out, text, n);
        hpc_buf_text(out, "\n");
        text += n + (text[n] == '\n');
    }
}

void hpc_text_fill_take(hpc_buf *out, hpc_buf *text, int indent, int width)
{
    if (text->n > 0) hpc_text_fill(out, text->data, indent, width);
    if (text->failed < 0) out->failed = text->failed;
    hpc_buf_release(text);
}

/* ---- cells ---------------------------------------------------------------------------------- */

void hpc_table_cell(hpc_table *t, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n >= (int)sizeof small) { /* a long text, as of a message */
        va_start(args, format);
        char *large = hpc_alloc((size_t)n + 1, 1);
        if (large) vsnprintf(large, (size_t)n + 1, format, args);
        va_end(args);
        if (large)
            hpc_buf_add(&t->text, large, (size_t)n + 1);
        else
            t->text.failed = HPC_E_NOMEM;
        hpc_free(large);
    } else {
        hpc_buf_add(&t->text, small, (size_t)n + 1);
    }
    t->cells++;
}

void hpc_table_end_row(hpc_table *t)
{
    while (t->cells % t->columns != 0) hpc_table_cell(t, "%s", "");
}

typedef struct layout {
    const hpc_table *t;
    const char **cell;
    int64_t rows;
    int *natural, *width; /* of each column; natural 0: without text */
    int keys;             /* leading columns of each part */
    int most;             /* columns of a line; 0: unlimited */
} layout;

/* Row -1 is the header. */
static const char *cell_at(const layout *l, int64_t row, int c)
{
    return row < 0 ? l->t->column[c].title : l->cell[row * l->t->columns + c];
}

static void measure(layout *l)
{
    const hpc_table *t = l->t;
    for (int c = 0; c < t->columns; c++) {
        for (int64_t r = 0; r < l->rows; r++) {
            const char *text = cell_at(l, r, c);
            int n = hpc_text_columns(text, strlen(text));
            if (n > l->natural[c]) l->natural[c] = n;
        }
        const char *title = t->column[0].title ? t->column[c].title : "";
        int n = hpc_text_columns(title, strlen(title));
        if (l->natural[c] > 0 && n > l->natural[c]) l->natural[c] = n;
    }
}

static int least_of(const layout *l, int c)
{
    const hpc_column *o = &l->t->column[c];
    bool whole = o->fit == HPC_FIT_WHOLE || o->least >= l->natural[c];
    return whole ? l->natural[c] : o->least;
}

/* Columns of a part of the table: the keys, and `from` to `to`, without those that have no text. */
static bool is_in(const layout *l, int c, int from, int to)
{
    return l->natural[c] > 0 && (c < l->keys || (c >= from && c < to));
}

static int line_of(const layout *l, const int *width, int from, int to)
{
    int n = l->t->indent;
    for (int c = 0; c < to; c++)
        if (is_in(l, c, from, to)) n += (n > l->t->indent ? GAP : 0) + width[c];
    return n;
}

/* The end of the part that begins with column `from`: as many as fit, and at least that one. */
static int fit_part(layout *l, int from)
{
    int to = from + 1, n = l->t->columns;
    for (int c = 0; c < n; c++) l->width[c] = least_of(l, c);
    while (to < n && (!l->most || line_of(l, l->width, from, to + 1) <= l->most)) to++;
    if (to > n) to = n;
    /* Columns that want more share the rest, the narrowest first. */
    for (;;) {
        int next = -1;
        for (int c = 0; c < to; c++)
            if (is_in(l, c, from, to) && l->width[c] < l->natural[c] &&
                (next < 0 || l->width[c] < l->width[next]))
                next = c;
        if (next < 0 || (l->most && line_of(l, l->width, from, to) >= l->most)) return to;
        l->width[next] += l->most ? 1 : l->natural[next] - l->width[next];
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void put_cut(hpc_buf *out, const char *text, int width, bool front)
{
    int n = hpc_text_columns(text, strlen(text)), keep = width - DOTS;
    if (keep <= 0) {
        hpc_buf_add(out, "...", (size_t)(width > 0 ? width : 0));
    } else if (front) {
        hpc_buf_printf(out, "...%s", text + bytes_of(text, n - keep));
    } else {
        hpc_buf_add(out, text, bytes_of(text, keep));
        hpc_buf_text(out, "...");
    }
}

/* Appends a cell without blanks after it; returns its columns. */
static int put_cell(hpc_buf *out, const layout *l, const char *text, int c, int indent)
{
    const hpc_column *o = &l->t->column[c];
    int n = hpc_text_columns(text, strlen(text)), width = l->width[c];
    if (o->right && n < width) hpc_buf_printf(out, "%*s", width - n, "");
    if (n <= width) {
        hpc_buf_text(out, text);
    } else if (o->fit == HPC_FIT_WRAP) {
        put_wrapped(out, text, strlen(text), indent, indent, indent + width);
    } else {
        put_cut(out, text, width, o->fit == HPC_FIT_CUT_FRONT);
    }
    return o->right || n > width ? width : n;
}

static void put_row(hpc_buf *out, const layout *l, int64_t row, int from, int to)
{
    int at = 0, column = l->t->indent; /* written, and where the next cell begins */
    for (int c = 0; c < to; c++) {
        if (!is_in(l, c, from, to)) continue;
        const char *text = cell_at(l, row, c);
        if (text[0]) {
            hpc_buf_printf(out, "%*s", column - at, "");
            at = column + put_cell(out, l, text, c, column);
        }
        column += l->width[c] + GAP;
    }
    hpc_buf_text(out, "\n");
}

static void put_parts(hpc_buf *out, layout *l)
{
    measure(l);
    const int first = l->keys;
    for (int from = first, to; from == first || from<l->t->columns; from = to> from ? to : from + 1)
    {
        to = fit_part(l, from);
        if (from > first && line_of(l, l->natural, from, to) == line_of(l, l->natural, from, from))
            continue; /* columns without text */
        if (from > first) hpc_buf_text(out, "\n");
        for (int64_t r = l->t->column[0].title ? -1 : 0; r < l->rows; r++)
            put_row(out, l, r, from, to);
    }
}

int hpc_table_print(hpc_buf *out, hpc_table *t, int width)
{
    layout l = {.t = t,
                .rows = t->cells / t->columns,
                .keys = t->keys > 0 ? t->keys : 1,
                .most = width > 1 ? width - 1 : width};
    int rc = t->text.failed;
    hpc_assert(t->cells % t->columns == 0);
    l.cell = hpc_alloc((size_t)t->cells + 1, sizeof *l.cell);
    l.natural = hpc_alloc((size_t)t->columns, sizeof *l.natural);
    l.width = hpc_alloc((size_t)t->columns, sizeof *l.width);
    if (!l.cell || !l.natural || !l.width) rc = HPC_E_NOMEM;
    if (rc == HPC_OK) {
        const char *p = t->text.data;
        for (int64_t k = 0; k < t->cells; k++, p += strlen(p) + 1) l.cell[k] = p;
        put_parts(out, &l);
        rc = out->failed;
    }
    if (rc < 0) out->failed = rc;
    hpc_free((void *)l.cell);
    hpc_free(l.natural);
    hpc_free(l.width);
    hpc_buf_release(&t->text);
    t->cells = 0;
    return rc;
}
