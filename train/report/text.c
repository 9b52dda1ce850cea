/*
 * The summary of a training report on a terminal. Lines fit its width: sentences are
 * wrapped, and columns that do not fit follow in a table of their own.
 */
#include <stdio.h>
#include <string.h>

#include "train/report/report.h"

static int columns_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += (*text & 0xc0) != 0x80;
    return n;
}

static void put_wrapped(hpc_buf *out, const char *text, int width)
{
    int at = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        int own = columns_of(word);
        if (at > 0 && at + 1 + own >= width) {
            hpc_buf_text(out, "\n  ");
            at = 2;
        } else if (at > 0) {
            hpc_buf_text(out, " ");
            at++;
        }
        hpc_buf_add(out, p, n);
        at += own;
        p += n + (p[n] == ' ');
    }
    hpc_buf_text(out, "\n");
}

static int column_width(const report_table *t, int64_t column)
{
    int most = columns_of(t->head[column]);
    for (int64_t r = 0; r < t->rows; r++) {
        int own = columns_of(t->cell[r * t->columns + column]);
        if (own > most) most = own;
    }
    return most;
}

static void put_cell(hpc_buf *out, const report_table *t, int64_t row, int64_t column)
{
    const char *text = row < 0 ? t->head[column] : t->cell[row * t->columns + column];
    int blanks = column_width(t, column) - columns_of(text);
    hpc_buf_printf(out, "%s%*s%s%*s", column > 0 ? "  " : "", t->number[column] ? blanks : 0, "",
                   text, t->number[column] ? 0 : blanks, "");
}

static void put_row(hpc_buf *out, const report_table *t, int64_t row, int64_t from, int64_t to)
{
    put_cell(out, t, row, 0);
    for (int64_t c = from; c < to; c++) put_cell(out, t, row, c);
    while (out->n > 0 && out->data[out->n - 1] == ' ') out->data[--out->n] = '\0';
    hpc_buf_text(out, "\n");
}

static void put_table(hpc_buf *out, const report_table *t, int width)
{
    for (int64_t from = 1, to; from < t->columns; from = to) {
        int line = column_width(t, 0) + 2 + column_width(t, from);
        for (to = from + 1; to < t->columns; to++) {
            line += 2 + column_width(t, to);
            if (line >= width) break;
        }
        hpc_buf_text(out, "\n");
        for (int64_t row = -1; row < t->rows; row++) put_row(out, t, row, from, to);
    }
}

void hpc_report_text(hpc_buf *out, const hpc_report_summary *s, int width)
{
    for (int64_t k = 0; k < s->sentence.n; k++) put_wrapped(out, s->sentence.item[k], width);
    put_table(out, &s->results, width);
    put_table(out, &s->differences, width);
}
