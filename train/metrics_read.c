/*
 * metrics_read.c: reads an untrusted metrics.csv line by line.
 *
 * The format has no quotes, no blanks around numbers and no comments.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/priv.h"

typedef struct cell {
    const char *text;
    int n;
    int64_t column; /* of its first character, from 1, for messages */
} cell;

/* Gives the next complete line without its newline; false at the end. */
static bool next_line(metrics_reader *r, cell *line)
{
    if (r->at >= r->n) return false;
    const char *start = r->text + r->at;
    const char *end = memchr(start, '\n', r->n - r->at);
    if (!end) return false;
    *line = (cell){.text = start, .n = (int)(end - start), .column = 1};
    r->at += (size_t)(end - start) + 1;
    r->line++;
    return true;
}

/* Cuts the first cell off the rest of a line; false when there is no more. */
static bool next_cell(cell *rest, cell *out)
{
    if (rest->n < 0) return false;
    const char *comma = memchr(rest->text, ',', (size_t)rest->n);
    *out = *rest;
    out->n = comma ? (int)(comma - rest->text) : rest->n;
    rest->text += out->n + 1;
    rest->n -= out->n + 1;
    rest->column += out->n + 1;
    return true;
}

static int wrong(const metrics_reader *r, const cell *c, const char *name, const char *why)
{
    return hpc_fail(HPC_E_FORMAT, "%.300s:%lld:%lld: %.40s '%.*s' %s", r->path, (long long)r->line,
                    (long long)c->column, name, c->n < 40 ? c->n : 40, c->text, why);
}

/* ---- header ---------------------------------------------------------------------- */

static int find_metric(const cell *c)
{
    for (int m = 0; m < HPC_METRIC_N; m++) {
        const char *name = hpc_metric_name((hpc_metric)m);
        if (strlen(name) == (size_t)c->n && memcmp(name, c->text, (size_t)c->n) == 0) return m;
    }
    return HPC_METRIC_N;
}

static int read_header(metrics_reader *r, cell rest)
{
    bool found[HPC_METRIC_N + 1] = {false};
    cell c;
    while (next_cell(&rest, &c)) {
        int m = find_metric(&c);
        if (m < HPC_METRIC_N && found[m]) return wrong(r, &c, "column", "occurs twice");
        if (r->columns == (int)(sizeof r->column / sizeof *r->column))
            return wrong(r, &c, "column", "exceeds the limit of 64");
        r->column[r->columns++] = m;
        found[m] = true;
    }
    for (int m = 0; m < HPC_METRIC_N; m++)
        if (metric_column_of((hpc_metric)m)->required && !found[m])
            return hpc_fail(HPC_E_FORMAT,
                            "%.300s:1:1: no column '%s': the file is not a metrics.csv", r->path,
                            hpc_metric_name((hpc_metric)m));
    return HPC_OK;
}

int metrics_reader_begin(metrics_reader *r, const char *path, const char *text, size_t n)
{
    cell line;
    *r = (metrics_reader){.path = path, .text = text, .n = n};
    if (!next_line(r, &line))
        return hpc_fail(HPC_E_FORMAT, "%.300s:1:1: no header line: the file is not a metrics.csv",
                        path);
    return read_header(r, line);
}

/* ---- rows ------------------------------------------------------------------------- */

static bool is_word(const char *text)
{
    return strcmp(text, "nan") == 0 || strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0;
}

/* A decimal number or nan, inf, -inf: not all that strtod takes. */
static bool parse_real(double *out, const char *text)
{
    char *end;
    if (!is_word(text) && text[strspn(text, "0123456789+-.eE")] != '\0') return false;
    *out = strtod(text, &end);
    return end != text && *end == '\0';
}

/* Counts are whole, not negative, and exact as a double. */
static bool parse_whole(double *out, const char *text)
{
    if (text[strspn(text, "0123456789")] != '\0') return false;
    *out = strtod(text, NULL);
    return *out <= 0x1p53;
}

static int read_cell(metrics_reader *r, hpc_metrics_row *row, int m, const cell *c)
{
    const metric_column *column = metric_column_of((hpc_metric)m);
    char text[64];
    if (c->n == 0) {
        if (m == HPC_METRIC_STEP || m == HPC_METRIC_TOKENS)
            return wrong(r, c, column->name, "must not be empty");
        return HPC_OK;
    }
    size_t n = (size_t)c->n < sizeof text ? (size_t)c->n : sizeof text - 1;
    memcpy(text, c->text, n);
    text[n] = '\0';
    bool fits = n == (size_t)c->n && strlen(text) == n;
    if (column->whole && !(fits && parse_whole(&row->value[m], text)))
        return wrong(r, c, column->name, "is not an integer");
    if (!column->whole && !(fits && parse_real(&row->value[m], text)))
        return wrong(r, c, column->name, "is not a number");
    if (m == HPC_METRIC_STEP && row->value[m] <= r->step)
        return wrong(r, c, column->name, "does not follow the previous step");
    row->absent[m] = false;
    return HPC_OK;
}

int metrics_reader_next(metrics_reader *r, hpc_metrics_row *row)
{
    cell rest, c = {.column = 1};
    int k = 0, rc = HPC_OK;
    if (!next_line(r, &rest)) return 0;
    for (int m = 0; m < HPC_METRIC_N; m++) {
        row->value[m] = NAN;
        row->absent[m] = true;
    }
    for (; next_cell(&rest, &c); k++) {
        if (k == r->columns) return wrong(r, &c, "cell", "has no column in the header");
        if (r->column[k] < HPC_METRIC_N) TRY(read_cell(r, row, r->column[k], &c));
    }
    if (k < r->columns)
        return hpc_fail(HPC_E_FORMAT, "%.300s:%lld:%lld: %d cells, the header has %d", r->path,
                        (long long)r->line, (long long)c.column, k, r->columns);
    r->step = row->value[HPC_METRIC_STEP];
    rc = 1;
out:
    return rc;
}

/* ---- tables ------------------------------------------------------------------------ */

static int add_row(hpc_metrics_table *t, int64_t *cap, const hpc_metrics_row *row)
{
    int rc = HPC_OK;
    for (int m = 0; m < HPC_METRIC_N; m++) {
        int64_t room = *cap; /* all columns grow alike */
        TRY(hpc_grow(&t->column[m], &room, t->n + 1, sizeof **t->column));
        t->column[m][t->n] = row->value[m];
        if (m == HPC_METRIC_N - 1) *cap = room;
    }
    t->n++;
out:
    return rc;
}

int hpc_metrics_read(hpc_metrics_table *out, const char *path)
{
    hpc_file_view file = {0};
    metrics_reader r;
    hpc_metrics_row row;
    int64_t cap = 0;
    int rc = HPC_OK;
    *out = (hpc_metrics_table){0};
    TRY(hpc_file_open(&file, path));
    if (file.bytes > METRICS_BYTES)
        TRY(hpc_fail(HPC_E_FORMAT, "%.300s has more than %d bytes", path, METRICS_BYTES));
    TRY(metrics_reader_begin(&r, path, (const char *)file.data, file.bytes));
    while ((rc = metrics_reader_next(&r, &row)) == 1) TRY(add_row(out, &cap, &row));
out:
    hpc_file_close(&file);
    if (rc < 0) hpc_metrics_release(out);
    return rc;
}

void hpc_metrics_release(hpc_metrics_table *t)
{
    for (int m = 0; m < HPC_METRIC_N; m++) hpc_free(t->column[m]);
    *t = (hpc_metrics_table){0};
}
