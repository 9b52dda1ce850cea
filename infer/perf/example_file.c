/*
 * CSV file of examples. Numbers keep their bits when they are written and read again.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/example.h"

static const char *const heads[] = {"repository", "metric", "commit", "base",
                                    "time",       "label",  "change"};
enum { REPOSITORY, METRIC, COMMIT, BASE, TIME, LABEL, CHANGE, HEADS };
enum { COLUMNS = HEADS + HPC_PERF_FEATURES + 1 /* retired */ };
static const double VALUE_MOST = 1e9;

/* ---- writing -----------------------------------------------------------------------------------
 */

static void put_text(hpc_buf *b, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        hpc_buf_text(b, text);
        return;
    }
    hpc_buf_text(b, "\"");
    for (const char *c = text; *c; c++) hpc_buf_add(b, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    hpc_buf_text(b, "\"");
}

static void put_number(hpc_buf *b, double v)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", v);
    if (strtod(text, NULL) != v) snprintf(text, sizeof text, "%.17g", v);
    hpc_buf_printf(b, ",%s", text);
}

/* Nothing for 0: most are. */
static void put_feature(hpc_buf *b, double v)
{
    if (v != 0)
        hpc_buf_printf(b, ",%.9g", v);
    else
        hpc_buf_text(b, ",");
}

/* "repository,metric,commit,base,time,label,change" of example i, after the end of a line. */
static void put_origin(hpc_buf *b, const hpc_perf_examples *x, int64_t i)
{
    const hpc_perf_example *e = &x->item[i];
    char id[41];
    hpc_buf_text(b, "\n");
    put_text(b, hpc_perf_examples_name(x, x->from[i].repository));
    hpc_buf_text(b, ",");
    put_text(b, hpc_perf_examples_name(x, x->from[i].metric));
    hpc_git_id_text(id, &x->from[i].head);
    hpc_buf_printf(b, ",%s", id);
    hpc_git_id_text(id, &x->from[i].base);
    hpc_buf_printf(b, ",%s,%" PRId64 ",%s", id, e->time, hpc_perf_verdict_name(e->label));
    put_number(b, e->change);
}

static void put_heads(hpc_buf *b)
{
    for (int k = 0; k < HEADS; k++) hpc_buf_printf(b, "%s%s", k ? "," : "", heads[k]);
}

/* Ends the last line; releases b. */
static int save(hpc_buf *b, const char *path)
{
    int rc = hpc_buf_text(b, "\n");
    if (rc >= 0) rc = hpc_file_save(path, b->data, b->n);
    hpc_buf_release(b);
    return rc;
}

int hpc_perf_examples_write(const hpc_perf_examples *x, const char *path)
{
    hpc_buf b = {0};
    put_heads(&b);
    for (int f = 0; f < HPC_PERF_FEATURES; f++)
        hpc_buf_printf(&b, ",%s", hpc_perf_feature_at(f)->name);
    for (int64_t i = 0; i < x->n; i++) {
        put_origin(&b, x, i);
        for (int f = 0; f < HPC_PERF_FEATURES; f++) put_feature(&b, x->item[i].x.value[f]);
    }
    return save(&b, path);
}

int hpc_perf_predictions_write(const hpc_perf_examples *x, const int64_t *chosen,
                               const double (*probability)[3], int64_t n, const char *path)
{
    hpc_buf b = {0};
    put_heads(&b);
    for (int c = 0; c < 3; c++) hpc_buf_printf(&b, ",p_%s", hpc_perf_verdict_name(c));
    for (int64_t k = 0; k < n; k++) {
        if (isnan(probability[k][0])) continue;
        put_origin(&b, x, chosen[k]);
        for (int c = 0; c < 3; c++) hpc_buf_printf(&b, ",%.6g", probability[k][c]);
    }
    return save(&b, path);
}

/* ---- reading -----------------------------------------------------------------------------------
 */

typedef struct reader {
    char *at; /* in the text, which is cut up */
    int64_t line;
    char *field[COLUMNS];
    int fields, columns;
    int feature[COLUMNS]; /* of each column */
} reader;

/* The field at r->at, ended by a NUL; *last: a line ended with it. */
static int next_field(char **out, bool *last, reader *r)
{
    char *to = r->at, *from = r->at;
    bool quoted = *from == '"';
    *out = to;
    if (quoted) from++;
    for (;; from++) {
        if (quoted && from[0] == '"' && from[1] == '"')
            from++;
        else if (quoted && from[0] == '"')
            break;
        else if (!quoted && (*from == ',' || *from == '\n' || *from == '\r'))
            break;
        if (!*from) break;
        *to++ = *from;
    }
    if (quoted && *from != '"') return hpc_fail(HPC_E_FORMAT, "a quoted field is not closed");
    from += quoted;
    if (*from == '\r') from++;
    if (*from && *from != ',' && *from != '\n')
        return hpc_fail(HPC_E_FORMAT, "text follows a quoted field");
    *last = *from != ',';
    r->at = from + (*from != '\0');
    *to = '\0';
    return HPC_OK;
}

static int next_line(reader *r)
{
    bool last = false;
    int rc = HPC_OK;
    r->line++;
    for (r->fields = 0; !last; r->fields++) {
        int most = r->line > 1 ? r->columns : COLUMNS;
        if (r->fields >= most)
            TRY(hpc_fail(HPC_E_FORMAT,
                         r->line > 1
                             ? "it has more columns than the first line (%d)"
                             : "it has more than %d columns: the file belongs to another version",
                         most));
        TRY(next_field(&r->field[r->fields], &last, r));
    }
    if (r->line > 1 && r->fields != r->columns)
        TRY(hpc_fail(HPC_E_FORMAT, "it has %d columns, not %d", r->fields, r->columns));
out:
    return rc;
}

/* Features that are 0 where they were not measured. */
static bool is_optional(const char *feature)
{
    return strstr(feature, "heat") || strcmp(feature, "cold") == 0;
}

/* Files with this column come from a version that also counted tests. */
static bool is_retired(const char *feature)
{
    return strcmp(feature, "aside") == 0;
}

static int read_heads(hpc_perf_examples *x, reader *r)
{
    bool seen[HPC_PERF_FEATURES] = {0};
    int rc = HPC_OK;
    TRY(next_line(r));
    r->columns = r->fields;
    if (r->columns < HEADS)
        TRY(hpc_fail(HPC_E_FORMAT, "it has %d columns: not a file of examples", r->columns));
    for (int k = 0; k < r->columns; k++) {
        const char *name = r->field[k];
        if (k < HEADS) {
            if (strcmp(name, heads[k]) != 0)
                TRY(hpc_fail(HPC_E_FORMAT, "column %d is '%.60s', not '%s': not a file of examples",
                             k + 1, name, heads[k]));
            continue;
        }
        int f = r->feature[k] = hpc_perf_feature_named(name);
        if (is_retired(name)) {
            x->lacks = "features of the measured program alone";
            continue;
        }
        if (f < 0 || seen[f])
            TRY(hpc_fail(HPC_E_FORMAT,
                         "column %d, '%.60s', is %s: the file belongs to another version; rebuild "
                         "it from the histories",
                         k + 1, name, f < 0 ? "not a feature" : "repeated"));
        seen[f] = true;
    }
    for (int f = 0; f < HPC_PERF_FEATURES && !x->lacks; f++)
        if (!seen[f] && !is_optional(hpc_perf_feature_at(f)->name))
            x->lacks = hpc_perf_feature_at(f)->name;
out:
    return rc;
}

static int get_number(double *out, const char *text, const char *name)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end || !(fabs(*out) <= VALUE_MOST))
        return hpc_fail(HPC_E_FORMAT, "%s: '%.40s' is not a number within %g", name, text,
                        VALUE_MOST);
    return HPC_OK;
}

static int get_time(int64_t *out, const char *text)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return hpc_fail(HPC_E_FORMAT, "time: '%.40s' is not a number of seconds", text);
    return HPC_OK;
}

static int get_label(hpc_perf_verdict *out, const char *text)
{
    for (int v = 0; v < HPC_PERF_UNKNOWN; v++)
        if (strcmp(text, hpc_perf_verdict_name((hpc_perf_verdict)v)) == 0) {
            *out = (hpc_perf_verdict)v;
            return HPC_OK;
        }
    return hpc_fail(HPC_E_FORMAT, "label: '%.40s' must be slower, same or faster", text);
}

static int get_name(const char *text, const char *what)
{
    if (!*text) return hpc_fail(HPC_E_FORMAT, "%s: it has no name", what);
    return HPC_OK;
}

static int read_example(hpc_perf_examples *x, reader *r)
{
    hpc_perf_example e = {0};
    hpc_git_id base, head;
    int rc = HPC_OK;
    TRY(next_line(r));
    TRY(get_name(r->field[REPOSITORY], heads[REPOSITORY]));
    TRY(get_name(r->field[METRIC], heads[METRIC]));
    if (!hpc_git_id_parse(&head, r->field[COMMIT]) || !hpc_git_id_parse(&base, r->field[BASE]))
        TRY(hpc_fail(HPC_E_FORMAT, "'%.40s' or '%.40s' is not a commit id", r->field[COMMIT],
                     r->field[BASE]));
    TRY(get_time(&e.time, r->field[TIME]));
    TRY(get_label(&e.label, r->field[LABEL]));
    TRY(get_number(&e.change, r->field[CHANGE], heads[CHANGE]));
    for (int k = HEADS; k < r->columns; k++) {
        int f = r->feature[k];
        if (f >= 0 && *r->field[k])
            TRY(get_number(&e.x.value[f], r->field[k], hpc_perf_feature_at(f)->name));
    }
    TRY(hpc_perf_examples_add(x, &e, r->field[REPOSITORY], r->field[METRIC], &base, &head));
out:
    return rc < 0 ? rc : HPC_OK;
}

int hpc_perf_examples_parse(hpc_perf_examples *x, hpc_buf *text, const char *path)
{
    reader *r = hpc_alloc(1, sizeof *r);
    int rc = HPC_OK;
    if (!r) TRY(HPC_E_NOMEM);
    if (text->n == 0 || strlen(text->data) != text->n)
        TRY(hpc_fail(HPC_E_FORMAT, "%.300s: empty, or not text", path));
    r->at = text->data;
    rc = read_heads(x, r);
    while (rc >= 0 && *r->at) rc = read_example(x, r);
    if (rc < 0) rc = hpc_error_where("%.300s:%lld", path, (long long)r->line);
out:
    hpc_free(r);
    return rc;
}

int hpc_perf_examples_read(hpc_perf_examples *x, const char *path)
{
    hpc_buf text = {0};
    int rc = hpc_file_read(&text, path, HPC_PERF_EXAMPLES_MOST);
    if (rc >= 0) rc = hpc_perf_examples_parse(x, &text, path);
    hpc_buf_release(&text);
    return rc;
}
