/*
 * Runs of a training report as plots, for pictures and for the page.
 *
 * Long runs are drawn by the least and the largest value of each part, so that spikes stay; means
 * are taken first. A diverged run does not set the scale of the others.
 */
#include "train/report/report.h"

#include <math.h>
#include <string.h>

enum { POINTS = 1500, PLOTS = 6, STEPS_SHOWN = 4 /* runs; of more, the means alone */ };

#define WIDE 20.0 /* the largest over the smallest value, from which the axis is logarithmic */
#define HIGH 1.5  /* over the first loss; a plot with higher ones is cut */

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
    {"Gradient norm", "norm", HPC_METRIC_GRAD_NORM, true, false, false, false},
    {"Throughput", "tokens/s", HPC_METRIC_TOKENS_PER_S, true, false, false, true},
};

typedef struct drawing {
    hpc_arena *arena;
    const hpc_report_run *run;
    int64_t n, points, hints;
    hpc_report_x x;
    double time_unit; /* seconds */
    const char *time_label;
    double tokens_unit;
    const char *tokens_label;
    hpc_plot plot[PLOTS];
    const char *note[PLOTS];
    int plots;
} drawing;

/* ---- series ------------------------------------------------------------------------ */

static double x_of(const drawing *d, const hpc_report_run *r, hpc_report_x x, int64_t row)
{
    if (x == HPC_REPORT_TIME) return r->seconds[row] / d->time_unit;
    if (x == HPC_REPORT_STEP) return r->t.column[HPC_METRIC_STEP][row];
    return r->t.column[HPC_METRIC_TOKENS][row] / d->tokens_unit;
}

/* Loss and gradient of a skipped step are off any scale. */
static bool is_drawn(const hpc_report_run *r, const panel *p, const double *y, int64_t row)
{
    return isfinite(y[row]) && !(p->smooth && r->t.column[HPC_METRIC_SKIPPED][row] > 0);
}

/* Keeps the least and the largest value of each part, in their order, and the last point. */
static int64_t thin(double *x, double *y, int64_t n, int64_t points)
{
    int64_t per = (2 * n + points - 1) / points, kept = 0;
    if (n <= points || n <= 2) return n;
    for (int64_t from = 0; from < n - 1; from += per) {
        int64_t to = from + per < n - 1 ? from + per : n - 1, low = from, high = from;
        for (int64_t k = from; k < to; k++) {
            if (y[k] < y[low]) low = k;
            if (y[k] > y[high]) high = k;
        }
        int64_t first = low < high ? low : high, second = low < high ? high : low;
        double x2 = x[second], y2 = y[second];
        x[kept] = x[first];
        y[kept++] = y[first];
        if (second == first) continue;
        x[kept] = x2;
        y[kept++] = y2;
    }
    x[kept] = x[n - 1];
    y[kept++] = y[n - 1];
    return kept;
}

static int add_series(drawing *d, hpc_plot_series *out, const hpc_report_run *r, const panel *p,
                      const double *y, hpc_report_x along)
{
    int64_t n = 0;
    double *x = hpc_arena_alloc(d->arena, (size_t)r->t.n + 1, sizeof *x);
    double *v = hpc_arena_alloc(d->arena, (size_t)r->t.n + 1, sizeof *v);
    if (!x || !v) return HPC_E_NOMEM;
    for (int64_t k = 0; k < r->t.n; k++) {
        if (!is_drawn(r, p, y, k)) continue;
        x[n] = x_of(d, r, along, k);
        v[n++] = y[k];
    }
    out->x = x;
    out->y = v;
    out->n = thin(x, v, n, d->points);
    if (out->n == 1) out->mark = HPC_PLOT_MARK_DOT; /* a line of one point shows nothing */
    return HPC_OK;
}

/* A cross at the last usable value of a run that diverged. */
static void add_end(hpc_plot *plot, hpc_plot_series *series, const hpc_report_run *r,
                    const hpc_plot_series *line)
{
    if (!report_has_diverged(r)) return;
    series[plot->series_n++] = (hpc_plot_series){.x = line->x + line->n - 1,
                                                 .y = line->y + line->n - 1,
                                                 .n = 1,
                                                 .colour = line->colour,
                                                 .apart = true,
                                                 .mark = HPC_PLOT_MARK_CROSS};
}

static int add_run(drawing *d, hpc_plot *plot, hpc_plot_series *series, const panel *p, int64_t k,
                   hpc_report_x along)
{
    const hpc_report_run *r = &d->run[k];
    const double *y = r->t.column[p->metric];
    bool mean = p->smooth && r->window > 1;
    int rc = HPC_OK;
    hpc_plot_series s = {.colour = (int)k + 1,
                         .faint = mean,
                         .mark = p->marks ? HPC_PLOT_MARK_DOT : HPC_PLOT_MARK_NONE};
    TRY(add_series(d, &s, r, p, y, along));
    if (s.n == 0) goto out;
    if (!mean) s.name = r->label;
    if (!mean || d->n <= STEPS_SHOWN) series[plot->series_n++] = s;
    if (mean) {
        double *smooth = hpc_arena_alloc(d->arena, (size_t)r->t.n, sizeof *smooth);
        TRY(smooth ? HPC_OK : HPC_E_NOMEM);
        TRY(report_smooth(smooth, y, r->t.column[HPC_METRIC_SKIPPED], r->t.n, r->window));
        s = (hpc_plot_series){.name = r->label, .colour = (int)k + 1};
        TRY(add_series(d, &s, r, p, smooth, along));
        if (s.n == 0) goto out;
        series[plot->series_n++] = s;
    }
    if (p->metric == HPC_METRIC_LOSS) add_end(plot, series, r, &s);
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

/* ---- the y axis --------------------------------------------------------------------- */

typedef struct span {
    double least, most, positive; /* positive: the least value above 0 */
} span;

static span span_of(const hpc_plot *p)
{
    span v = {INFINITY, -INFINITY, INFINITY};
    for (int64_t s = 0; s < p->series_n; s++)
        for (int64_t k = 0; k < p->series[s].n; k++) {
            double y = p->series[s].y[k];
            v.least = fmin(v.least, y);
            v.most = fmax(v.most, y);
            if (y > 0) v.positive = fmin(v.positive, y);
        }
    return v;
}

/* The largest loss with which a run began. */
static double first_loss(const drawing *d)
{
    double most = 0;
    for (int64_t k = 0; k < d->n; k++) {
        const hpc_metrics_table *t = &d->run[k].t;
        int64_t row = 0;
        while (row < t->n && !is_drawn(&d->run[k], &panels[0], t->column[HPC_METRIC_LOSS], row))
            row++;
        if (row < t->n) most = fmax(most, t->column[HPC_METRIC_LOSS][row]);
    }
    return most;
}

static double share_above(const hpc_plot *p, double limit)
{
    double n = 0, above = 0;
    for (int64_t s = 0; s < p->series_n; s++)
        for (int64_t k = 0; k < p->series[s].n; k++) {
            n++;
            above += p->series[s].y[k] > limit;
        }
    return above / n;
}

/* Losses far above the first one say that a run diverged, and no more: the plot is cut there. */
static int cut_losses(drawing *d, hpc_plot *p, const char **note)
{
    double limit = 1.1 * first_loss(d);
    span v = span_of(p);
    if (!(v.most > HIGH * limit) || !(v.least < limit) || share_above(p, limit) > 0.5)
        return HPC_OK;
    p->y_from = v.least - 0.05 * (limit - v.least);
    p->y_to = limit;
    *note = hpc_arena_text(
        d->arena, "Losses above %.3g lie on the upper edge; the largest is %.3g.", limit, v.most);
    return *note ? HPC_OK : HPC_E_NOMEM;
}

/* Learning rates that differ widely between runs need a logarithmic axis. One run keeps a linear
 * axis, which shows warm-up and decay. */
static void scale_rates(hpc_plot *p)
{
    double low = INFINITY, high = 0;
    for (int64_t s = 0; s < p->series_n; s++) {
        double peak = 0;
        for (int64_t k = 0; k < p->series[s].n; k++) peak = fmax(peak, p->series[s].y[k]);
        if (peak > 0) low = fmin(low, peak);
        high = fmax(high, peak);
    }
    if (!(high > WIDE * low)) return;
    p->log_y = true;
    p->y_from = low / 50;
    p->y_to = high * 1.5;
}

static int scale(drawing *d, hpc_plot *p, const panel *of, const char **note)
{
    span v = span_of(p);
    switch (of->metric) {
    case HPC_METRIC_LOSS:
    case HPC_METRIC_VALIDATION_LOSS: return cut_losses(d, p, note);
    case HPC_METRIC_LR: scale_rates(p); return HPC_OK;
    case HPC_METRIC_GRAD_NORM: p->log_y = v.least > 0 && v.most > WIDE * v.positive; return HPC_OK;
    default: return HPC_OK;
    }
}

/* ---- hints -------------------------------------------------------------------------- */

/* The point of a series that is nearest to x; -1: none within `reach`. */
static int64_t nearest(const hpc_plot_series *s, double x, double reach)
{
    int64_t at = -1;
    for (int64_t k = 0; k < s->n; k++)
        if (fabs(s->x[k] - x) <= (at < 0 ? reach : fabs(s->x[at] - x))) at = k;
    return at;
}

static int put_hint(drawing *d, hpc_plot *p, hpc_plot_hint *out, double x, double reach)
{
    hpc_buf text = {0};
    int64_t n = 0;
    hpc_buf_printf(&text, "%s: %.6g", p->x_label, x);
    for (int64_t s = 0; s < p->series_n; s++) {
        int64_t at = p->series[s].name ? nearest(&p->series[s], x, reach) : -1;
        if (at < 0) continue;
        hpc_buf_printf(&text, "\n%s: %.5g", p->series[s].name, p->series[s].y[at]);
        n++;
    }
    *out = (hpc_plot_hint){.x = x};
    if (n > 0 && !text.failed) out->text = hpc_arena_text(d->arena, "%s", text.data);
    bool failed = text.failed || (n > 0 && !out->text);
    hpc_buf_release(&text);
    return failed ? HPC_E_NOMEM : HPC_OK;
}

static int add_hints(drawing *d, hpc_plot *p)
{
    double from = INFINITY, to = -INFINITY;
    int rc = HPC_OK;
    for (int64_t s = 0; s < p->series_n; s++) {
        from = fmin(from, p->series[s].x[0]);
        to = fmax(to, p->series[s].x[p->series[s].n - 1]);
    }
    if (d->hints < 2 || !(to > from)) return HPC_OK;
    double step = (to - from) / (double)(d->hints - 1);
    hpc_plot_hint *hint = hpc_arena_alloc(d->arena, (size_t)d->hints, sizeof *hint);
    TRY(hint ? HPC_OK : HPC_E_NOMEM);
    for (int64_t k = 0; k < d->hints; k++)
        TRY(put_hint(d, p, &hint[k], from + step * (double)k, step));
    p->hint = hint;
    p->hints_n = d->hints;
out:
    return rc;
}

/* ---- plots -------------------------------------------------------------------------- */

static int add_panel(drawing *d, const panel *p)
{
    hpc_plot *plot = &d->plot[d->plots];
    const char **note = &d->note[d->plots];
    hpc_report_x along = !p->other_x               ? d->x
                         : d->x == HPC_REPORT_TIME ? HPC_REPORT_TOKENS
                                                   : HPC_REPORT_TIME;
    static const char *const words[HPC_REPORT_X_N] = {
        [HPC_REPORT_TOKENS] = "tokens", [HPC_REPORT_TIME] = "time", [HPC_REPORT_STEP] = "steps"};
    const char *by = along == HPC_REPORT_TIME     ? d->time_label
                     : along == HPC_REPORT_TOKENS ? d->tokens_label
                                                  : words[along];
    hpc_plot_series *series = hpc_arena_alloc(d->arena, 6 * (size_t)d->n, sizeof *series);
    int rc = HPC_OK;
    if (!series) return HPC_E_NOMEM;
    *note = "";
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
    if (plot->series_n == 0) goto out;
    sort_faint(series, plot->series_n, series + 3 * d->n);
    TRY(scale(d, plot, p, note));
    if (strcmp(p->y_label, "loss") == 0) TRY(add_hints(d, plot));
    d->plots++;
out:
    return rc;
}

static void choose_units(drawing *d)
{
    double time = 0, tokens = 0;
    for (int64_t k = 0; k < d->n; k++) {
        time = fmax(time, d->run[k].seconds[d->run[k].t.n - 1]);
        tokens = fmax(tokens, hpc_report_last(&d->run[k], HPC_METRIC_TOKENS));
    }
    d->time_unit = time >= 7200 ? 3600 : time >= 120 ? 60 : 1;
    d->time_label = time >= 7200 ? "hours" : time >= 120 ? "minutes" : "seconds";
    d->tokens_unit = tokens >= 2e9 ? 1e9 : tokens >= 2e6 ? 1e6 : 1;
    d->tokens_label = tokens >= 2e9   ? "billion tokens"
                      : tokens >= 2e6 ? "million tokens"
                                      : "tokens";
}

const char *report_title(hpc_arena *a, const hpc_report_run *run, int64_t n)
{
    int64_t least = run[0].window, most = least;
    for (int64_t k = 1; k < n; k++) {
        if (run[k].window < least) least = run[k].window;
        if (run[k].window > most) most = run[k].window;
    }
    const char *what = n == 1 ? run[0].label : hpc_arena_text(a, "%lld runs", (long long)n);
    if (!what || most == 1) return what;
    if (least == most) return hpc_arena_text(a, "%s, means of %lld steps", what, (long long)most);
    return hpc_arena_text(a, "%s, means of %lld to %lld steps", what, (long long)least,
                          (long long)most);
}

int report_plots(report_panels *out, hpc_arena *a, const hpc_report_run *run, int64_t n,
                 hpc_report_x x, int64_t points, int64_t hints)
{
    drawing *d = hpc_arena_alloc(a, 1, sizeof *d);
    int rc = HPC_OK;
    if (!d) return HPC_E_NOMEM;
    *d = (drawing){.arena = a, .run = run, .n = n, .points = points, .hints = hints, .x = x};
    choose_units(d);
    for (int k = 0; k < PLOTS; k++) TRY(add_panel(d, &panels[k]));
    *out = (report_panels){.plot = d->plot, .note = d->note, .n = d->plots};
out:
    return rc;
}

int hpc_report_draw(const char *path, const hpc_report_run *run, int64_t n, hpc_report_x x)
{
    report_panels p;
    hpc_arena *a = hpc_arena_create(0);
    int rc = a ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) goto out;
    TRY(report_plots(&p, a, run, n, x, POINTS, 0));
    if (p.n == 0) TRY(hpc_fail(HPC_E_ARG, "%.300s: there is nothing to draw", run[0].path));
    hpc_figure f = {.title = report_title(a, run, n), .plot = p.plot, .n = p.n};
    if (!f.title) TRY(HPC_E_NOMEM);
    TRY(hpc_plot_save(path, &f));
out:
    hpc_arena_free(a);
    return rc;
}
