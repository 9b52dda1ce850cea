/*
 * Runs of a training report: metrics.csv and config.json, aggregates, names.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/report/report.h"

enum { LABEL = 32, DIVERGED = 5 /* steps at the end without a usable loss */ };

/* ---- means ----------------------------------------------------------------------- */

int report_smooth(double *out, const double *y, const double *skipped, int64_t n, int64_t window)
{
    double *sum = hpc_alloc((size_t)n + 1, sizeof *sum);
    double *count = hpc_alloc((size_t)n + 1, sizeof *count);
    bool memory = sum && count;
    for (int64_t k = 0; memory && k < n; k++) {
        bool counts = isfinite(y[k]) && !(skipped[k] > 0);
        sum[k + 1] = sum[k] + (counts ? y[k] : 0);
        count[k + 1] = count[k] + counts;
    }
    for (int64_t k = 0; memory && k < n; k++) {
        int64_t half = k < window / 2 ? k : window / 2, from = k - half;
        int64_t to = half < window / 2 ? k + half + 1 : from + window;
        if (to > n) to = n;
        double rows = count[to] - count[from];
        out[k] = rows > 0 ? (sum[to] - sum[from]) / rows : (double)NAN;
    }
    hpc_free(sum);
    hpc_free(count);
    return memory ? HPC_OK : HPC_E_NOMEM;
}

/* ---- one run --------------------------------------------------------------------- */

/* Time without pauses, and the throughput of each step whose predecessor has a row. */
static int derive(hpc_report_run *r)
{
    const hpc_metrics_table *t = &r->t;
    double *speed = t->column[HPC_METRIC_TOKENS_PER_S], seconds = 0;
    r->seconds = hpc_alloc((size_t)t->n, sizeof *r->seconds);
    if (!r->seconds) return HPC_E_NOMEM;
    for (int64_t k = 0; k < t->n; k++) {
        double own = t->column[HPC_METRIC_STEP_MS][k] / 1e3, before = 0, last = 0;
        if (k > 0) last = t->column[HPC_METRIC_STEP][k - 1];
        if (k > 0) before = t->column[HPC_METRIC_TOKENS][k - 1];
        bool known = t->column[HPC_METRIC_STEP][k] == last + 1 && own > 0;
        speed[k] = known ? (t->column[HPC_METRIC_TOKENS][k] - before) / own : (double)NAN;
        if (own > 0 && isfinite(own)) seconds += own;
        r->seconds[k] = seconds;
    }
    return HPC_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int median(double *out, const double *y, int64_t n)
{
    double *sorted = hpc_alloc((size_t)n, sizeof *sorted);
    int64_t m = 0;
    if (!sorted) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++)
        if (isfinite(y[k])) sorted[m++] = y[k];
    qsort(sorted, (size_t)m, sizeof *sorted, ascending);
    *out = m ? (sorted[(m - 1) / 2] + sorted[m / 2]) / 2 : (double)NAN;
    hpc_free(sorted);
    return HPC_OK;
}

static int aggregate(hpc_report_run *r)
{
    const hpc_metrics_table *t = &r->t;
    const double *validation = t->column[HPC_METRIC_VALIDATION_LOSS];
    int64_t last = t->n < r->window ? t->n : r->window, from = t->n - last;
    double *mean = hpc_alloc((size_t)last, sizeof *mean);
    int rc = HPC_E_NOMEM;
    if (!mean) goto out;
    /* The mean of twice the window around the last row is that of the last window. */
    TRY(report_smooth(mean, t->column[HPC_METRIC_LOSS] + from, t->column[HPC_METRIC_SKIPPED] + from,
                      last, 2 * last));
    r->loss = mean[last - 1];
    r->best = NAN;
    for (int64_t k = 0; k < t->n; k++) {
        r->skipped += t->column[HPC_METRIC_SKIPPED][k] > 0;
        if (isnan(validation[k]) || validation[k] >= r->best) continue;
        r->best = validation[k];
        r->best_row = k;
    }
    TRY(median(&r->tokens_per_s, t->column[HPC_METRIC_TOKENS_PER_S], t->n));
out:
    hpc_free(mean);
    return rc;
}

int hpc_report_read(hpc_report_run *r, hpc_arena *a, const char *path, int64_t smooth)
{
    const char *file = hpc_arena_text(a, "%s/metrics.csv", path);
    int rc = HPC_OK;
    if (!file) return HPC_E_NOMEM;
    r->path = path;
    if (!hpc_file_exists(file))
        return hpc_fail(HPC_E_ARG, "%.300s is not the folder of a run: metrics.csv is missing",
                        path);
    TRY(hpc_metrics_read(&r->t, file));
    if (r->t.n == 0) return hpc_fail(HPC_E_FORMAT, "%.300s has no steps yet", file);
    r->window = smooth > 0 ? smooth : (r->t.n + 99) / 100;
    TRY(derive(r));
    TRY(aggregate(r));
out:
    return rc;
}

int hpc_report_read_config(hpc_report_run *r, hpc_arena *a)
{
    const char *file = hpc_arena_text(a, "%s/config.json", r->path);
    if (!file) return HPC_E_NOMEM;
    if (!hpc_file_exists(file)) return HPC_OK;
    int rc = hpc_json_read(&r->config, file);
    if (rc == HPC_E_NOMEM) return rc;
    if (rc >= 0 && hpc_json_kind_of(r->config) == HPC_JSON_OBJECT) return HPC_OK;
    if (rc >= 0) hpc_fail(HPC_E_FORMAT, "%.300s is not a JSON object", file);
    r->warning =
        hpc_arena_text(a, "%.500s; the report leaves its settings out", hpc_error_get()->text);
    hpc_error_clear();
    hpc_json_free(r->config);
    r->config = NULL;
    return r->warning ? HPC_OK : HPC_E_NOMEM;
}

void hpc_report_release(hpc_report_run *r)
{
    hpc_metrics_release(&r->t);
    hpc_free(r->seconds);
    hpc_json_free(r->config);
}

double hpc_report_last(const hpc_report_run *r, hpc_metric m)
{
    return r->t.column[m][r->t.n - 1];
}

static bool is_usable(const hpc_report_run *r, int64_t row)
{
    return isfinite(r->t.column[HPC_METRIC_LOSS][row]) &&
           !(r->t.column[HPC_METRIC_SKIPPED][row] > 0);
}

int64_t report_diverged_row(const hpc_report_run *r)
{
    int64_t row = r->t.n - 1;
    while (row > 0 && !is_usable(r, row - 1)) row--;
    return row;
}

bool report_has_diverged(const hpc_report_run *r)
{
    int64_t lost = is_usable(r, r->t.n - 1) ? 0 : r->t.n - report_diverged_row(r);
    return lost >= DIVERGED || lost == r->t.n;
}

/* ---- names ------------------------------------------------------------------------ */

static const char *last_part(hpc_arena *a, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') from--;
    const char *name = hpc_arena_text(a, "%.*s", (int)(n - from), path + from);
    return !name || (name[0] && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) ? name : path;
}

/* The last `parts` components of a path, without a slash at its end; *whole: there are no more. */
static const char *last_parts(hpc_arena *a, const char *path, int parts, bool *whole)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && !(path[from - 1] == '/' && --parts == 0)) from--;
    *whole = from == 0;
    return hpc_arena_text(a, "%.*s", (int)(n - from), path + from);
}

/* Compares runs by as many components as `parts`. */
static int is_alone(bool *out, const hpc_report_run *run, int64_t n, int64_t k, int parts,
                    hpc_arena *a)
{
    bool whole;
    const char *own = last_parts(a, run[k].path, parts, &whole);
    *out = true;
    for (int64_t b = 0; own && b < n; b++) {
        const char *other = last_parts(a, run[b].path, parts, &whole);
        if (!other) return HPC_E_NOMEM;
        if (b != k && strcmp(own, other) == 0) *out = false;
    }
    return own ? HPC_OK : HPC_E_NOMEM;
}

/* Keeps the end of a long label, which tells runs apart. */
static const char *fit(hpc_arena *a, const char *text)
{
    const char *line = hpc_arena_line(a, text, PATH_MAX);
    size_t n = line ? strlen(line) : 0;
    if (n <= LABEL) return line;
    const char *from = line + n - LABEL + 3;
    while ((*from & 0xc0) == 0x80) from++;
    return hpc_arena_text(a, "...%s", from);
}

static int label_run(hpc_report_run *run, int64_t n, int64_t k, hpc_arena *a)
{
    bool alone = false, whole = false;
    int rc = HPC_OK;
    const char *label = last_part(a, run[k].path);
    TRY(label ? HPC_OK : HPC_E_NOMEM);
    for (int parts = 1; !alone && !whole; parts++) {
        TRY(is_alone(&alone, run, n, k, parts, a));
        const char *tail = last_parts(a, run[k].path, parts, &whole);
        TRY(tail ? HPC_OK : HPC_E_NOMEM);
        if (parts > 1) label = tail;
    }
    run[k].label = fit(a, label);
    TRY(run[k].label ? HPC_OK : HPC_E_NOMEM);
out:
    return rc;
}

/* name: the folder's, or the whole path where two folders share a name. */
int hpc_report_name(hpc_report_run *run, int64_t n, hpc_arena *a)
{
    for (int64_t k = 0; k < n; k++)
        if (!(run[k].name = last_part(a, run[k].path))) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) {
        const char *name = last_part(a, run[k].path);
        if (label_run(run, n, k, a) < 0 || !name) return HPC_E_NOMEM;
        for (int64_t b = 0; b < n; b++)
            if (b != k && strcmp(name, last_part(a, run[b].path)) == 0) run[k].name = run[k].path;
    }
    return HPC_OK;
}
