/*
 * report_plot.c: the pictures of `hpccoder report`.
 *
 * Long runs are drawn by a subset of their rows; means are taken before.
 */
#include "cmd/report.h"

#include <math.h>
#include <string.h>

#include "runtime/plot/plot.h"

enum { POINTS = 1500, PAGE_POINTS = 200, PLOTS = 6 };

typedef struct panel {
    const char *title, *y_label;
    hpc_metric metric;
    bool smooth, marks;
    bool other_x; /* along time; along tokens where the rest is along time */
    bool from_zero;
} panel;

static const panel panels[PLOTS] = {
    {"Training loss", "loss", HPC_METRIC_LOSS, true, false, false, false},
    {"Training loss", "loss", HPC_METRIC_LOSS, true, false, true, false},
    {"Validation loss", "loss", HPC_METRIC_VALIDATION_LOSS, false, true, false, false},
    {"Learning rate", "learning rate", HPC_METRIC_LR, false, false, false, false},
    {"Norm of the gradient", "norm", HPC_METRIC_GRAD_NORM, true, false, false, false},
    {"Throughput", "tokens/s", HPC_METRIC_TOKENS_PER_S, true, false, false, true},
};

typedef struct drawing {
    hpc_arena *arena;
    const report_run *run;
    int64_t n, points;
    report_x x;
    double time_unit; /* seconds */
    const char *time_label;
    hpc_plot plot[PLOTS];
    int plots;
} drawing;

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

/* ---- series ------------------------------------------------------------------------ */

static double x_of(const drawing *d, const report_run *r, report_x x, int64_t row)
{
    if (x == REPORT_TIME) return r->seconds[row] / d->time_unit;
    return r->t.column[x == REPORT_STEP ? HPC_METRIC_STEP : HPC_METRIC_TOKENS][row];
}

/* What a skipped step says of loss and gradient is off any scale. */
static bool is_drawn(const report_run *r, const panel *p, const double *y, int64_t row)
{
    return isfinite(y[row]) && !(p->smooth && r->t.column[HPC_METRIC_SKIPPED][row] > 0);
}

/* Of y's values as many as are drawn, the last among them. */
static int add_series(drawing *d, hpc_plot_series *out, const report_run *r, const panel *p,
                      const double *y, report_x along)
{
    int64_t n = 0, seen = 0;
    for (int64_t k = 0; k < r->t.n; k++) n += is_drawn(r, p, y, k);
    int64_t every = 1 + (n - 1) / d->points, kept = 0;
    double *x = hpc_arena_alloc(d->arena, (size_t)n + 1, sizeof *x);
    double *v = hpc_arena_alloc(d->arena, (size_t)n + 1, sizeof *v);
    if (!x || !v) return HPC_E_NOMEM;
    for (int64_t k = 0; k < r->t.n; k++) {
        if (!is_drawn(r, p, y, k) || (n - ++seen) % every) continue;
        x[kept] = x_of(d, r, along, k);
        v[kept++] = y[k];
    }
    out->x = x;
    out->y = v;
    out->n = kept;
    return HPC_OK;
}

static int add_run(drawing *d, hpc_plot *plot, hpc_plot_series *series, const panel *p, int64_t k,
                   report_x along)
{
    const report_run *r = &d->run[k];
    const double *y = r->t.column[p->metric];
    bool mean = p->smooth && r->window > 1;
    int rc = HPC_OK;
    hpc_plot_series s = {.colour = (int)k + 1,
                         .faint = mean,
                         .mark = p->marks ? HPC_PLOT_MARK_DOT : HPC_PLOT_MARK_NONE};
    TRY(add_series(d, &s, r, p, y, along));
    if (s.n == 0) goto out;
    if (!mean) s.name = r->name;
    series[plot->series_n++] = s;
    if (!mean) goto out;
    double *smooth = hpc_arena_alloc(d->arena, (size_t)r->t.n, sizeof *smooth);
    if (!smooth) TRY(HPC_E_NOMEM);
    TRY(report_smooth(smooth, y, r->t.column[HPC_METRIC_SKIPPED], r->t.n, r->window));
    s = (hpc_plot_series){.name = r->name, .colour = (int)k + 1};
    TRY(add_series(d, &s, r, p, smooth, along));
    if (s.n > 0) series[plot->series_n++] = s;
out:
    return rc;
}

/* Faint lines first, so that no run's steps hide another's mean. */
static void sort_faint(hpc_plot_series *s, int64_t n, hpc_plot_series *room)
{
    int64_t at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < n; k++)
            if (s[k].faint == (pass == 0)) room[at++] = s[k];
    memcpy(s, room, (size_t)n * sizeof *s);
}

static int add_panel(drawing *d, const panel *p)
{
    hpc_plot *plot = &d->plot[d->plots];
    report_x along = !p->other_x ? d->x : d->x == REPORT_TIME ? REPORT_TOKENS : REPORT_TIME;
    static const char *const words[REPORT_X_N] = {
        [REPORT_TOKENS] = "tokens", [REPORT_TIME] = "time", [REPORT_STEP] = "steps"};
    const char *by = along == REPORT_TIME ? d->time_label : words[along];
    hpc_plot_series *series = hpc_arena_alloc(d->arena, 4 * (size_t)d->n, sizeof *series);
    int rc = HPC_OK;
    if (!series) return HPC_E_NOMEM;
    *plot = (hpc_plot){.kind = HPC_PLOT_LINES,
                       .x_label = by,
                       .y_label = p->y_label,
                       .series = series,
                       .from_zero = p->from_zero};
    plot->title = p->metric == HPC_METRIC_LOSS
                      ? hpc_arena_text(d->arena, "%s against %s", p->title, words[along])
                      : p->title;
    if (!plot->title) return HPC_E_NOMEM;
    for (int64_t k = 0; k < d->n; k++) TRY(add_run(d, plot, series, p, k, along));
    sort_faint(series, plot->series_n, series + 2 * d->n);
    d->plots += plot->series_n > 0;
out:
    return rc;
}

/* ---- the figure ------------------------------------------------------------------------ */

static void choose_time(drawing *d)
{
    double most = 0;
    for (int64_t k = 0; k < d->n; k++)
        if (d->run[k].seconds[d->run[k].t.n - 1] > most)
            most = d->run[k].seconds[d->run[k].t.n - 1];
    d->time_unit = most >= 7200 ? 3600 : most >= 120 ? 60 : 1;
    d->time_label = most >= 7200 ? "hours" : most >= 120 ? "minutes" : "seconds";
}

static const char *title_of(drawing *d)
{
    int64_t least = d->run[0].window, most = least;
    for (int64_t k = 1; k < d->n; k++) {
        if (d->run[k].window < least) least = d->run[k].window;
        if (d->run[k].window > most) most = d->run[k].window;
    }
    const char *what = d->n == 1 ? hpc_arena_text(d->arena, "%.100s", d->run[0].name)
                                 : hpc_arena_text(d->arena, "%lld runs", (long long)d->n);
    if (!what || most == 1) return what;
    if (least == most)
        return hpc_arena_text(d->arena, "%s, means of %lld steps", what, (long long)most);
    return hpc_arena_text(d->arena, "%s, means of %lld to %lld steps", what, (long long)least,
                          (long long)most);
}

int report_draw(const char *path, const report_run *run, int64_t n, report_x x)
{
    size_t length = strlen(path);
    bool page = length > 5 && strcmp(path + length - 5, ".html") == 0;
    drawing d = {.run = run, .n = n, .points = page ? PAGE_POINTS : POINTS, .x = x};
    int rc = HPC_E_NOMEM;
    d.arena = hpc_arena_create(0);
    if (!d.arena) goto out;
    choose_time(&d);
    for (int k = 0; k < PLOTS; k++) TRY(add_panel(&d, &panels[k]));
    if (d.plots == 0) TRY(hpc_fail(HPC_E_ARG, "%.300s: there is nothing to draw", run[0].path));
    hpc_figure f = {.title = title_of(&d), .plot = d.plot, .n = d.plots};
    if (!f.title) TRY(HPC_E_NOMEM);
    TRY(hpc_plot_save(path, &f));
out:
    hpc_arena_free(d.arena);
    return rc;
}
