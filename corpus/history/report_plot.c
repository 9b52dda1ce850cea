/*
 * Plot of a series: costs along the commits of the main line, branches between them, levels, change
 * points, labels and failures.
 */
#include <math.h>
#include <string.h>

#include "corpus/history/report.h"

enum {
    MARKED = 600, /* most commits with a dot each; more are drawn as a line */
    HINTS = 2200, /* most positions with a hint; more than pixels are useless */
    SERIES = 8,   /* at most */
    WIDE = 20     /* ratio of costs from which the axis is logarithmic */
};

#define FLAT 0.01 /* smallest visible range, as a share of the largest cost */

typedef struct drawing {
    hpc_arena *arena;
    const perf_shown *s;
    int64_t *place; /* commits of the main line, by number in the line */
    int64_t n;
    double least, most; /* visible range, in the unit */
    hpc_plot_series series[SERIES];
    int64_t series_n;
} drawing;

static const perf_point *point_at(const drawing *d, int64_t k)
{
    return &d->s->curve->point[d->place[k]];
}

static double shown(const drawing *d, double cost)
{
    return cost / d->s->unit;
}

static int find_places(drawing *d)
{
    const perf_line *l = &d->s->of->curves.line;
    d->place = hpc_arena_alloc(d->arena, (size_t)l->n + 1, sizeof *d->place);
    if (!d->place) return HPC_E_NOMEM;
    for (int64_t k = 0; k < l->n; k++)
        if (l->item[k].main) d->place[d->n++] = k;
    return HPC_OK;
}

/* Horizontal position of a commit of the line, from 1 on. */
static double along(const drawing *d, int64_t place)
{
    int64_t lo = 0, hi = d->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (d->place[mid] < place)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (double)lo + 1;
}

/* A commit of a branch that was measured. */
static bool is_beside(const drawing *d, int64_t place)
{
    return !d->s->of->curves.line.item[place].main && d->s->curve->point[place].samples.n > 0;
}

/* Sets the visible range: all medians, and intervals up to the spread of the medians. */
static void find_reach(drawing *d)
{
    double least = INFINITY, most = 0, low = INFINITY, high = 0;
    for (int64_t k = 0; k < d->n; k++) {
        const perf_point *p = point_at(d, k);
        if (!isfinite(p->median)) continue;
        least = fmin(least, p->median);
        most = fmax(most, p->median);
        low = fmin(low, isfinite(p->low) ? p->low : p->median);
        high = fmax(high, isfinite(p->high) ? p->high : p->median);
    }
    for (int64_t k = 0; k < d->s->of->curves.line.n; k++) {
        if (!is_beside(d, k)) continue;
        least = fmin(least, d->s->curve->point[k].median);
        most = fmax(most, d->s->curve->point[k].median);
        low = fmin(low, least);
        high = fmax(high, most);
    }
    if (most == 0) least = most = low = high = d->s->unit;
    double room = fmax(most - least, FLAT * most);
    low = fmax(low, fmax(least - room, least / 2));
    high = fmin(high, most + room);
    double more = fmax(0.05 * room, (FLAT * most - (high - low)) / 2);
    low -= more;
    high += more;
    d->least = shown(d, low > 0 ? low : least / 2);
    d->most = shown(d, high);
}

static double within(const drawing *d, double v)
{
    return v < d->least ? d->least : v > d->most ? d->most : v;
}

/* ---- series ---------------------------------------------------------------------------------- */

/* Begins a series of n points, all of them gaps. */
static int begin(drawing *d, hpc_plot_series like, int64_t n, bool reach, double **x, double **y)
{
    int columns = reach ? 4 : 2;
    double *all = hpc_arena_alloc(d->arena, (size_t)n * (size_t)columns + 1, sizeof *all);
    if (!all) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n * columns; k++) all[k] = NAN;
    like.x = *x = all;
    like.y = *y = all + n;
    like.low = reach ? all + 2 * n : NULL;
    like.high = reach ? all + 3 * n : NULL;
    like.n = n;
    d->series[d->series_n++] = like;
    return HPC_OK;
}

/* Drops the last series if it is empty. */
static void end(drawing *d)
{
    const hpc_plot_series *s = &d->series[d->series_n - 1];
    for (int64_t k = 0; k < s->n; k++)
        if (isfinite(s->y[k])) return;
    d->series_n--;
}

static int add_costs(drawing *d)
{
    double *x, *y;
    int rc;
    TRY(begin(d, (hpc_plot_series){.colour = 1, .thin = true}, d->n, true, &x, &y));
    double *low = y + d->n, *high = low + d->n;
    for (int64_t k = 0; k < d->n; k++) {
        const perf_point *p = point_at(d, k);
        x[k] = (double)k + 1;
        if (p->source < 0) continue;
        y[k] = shown(d, p->median);
        if (p->samples.n == 0 || !isfinite(p->low)) continue;
        low[k] = within(d, shown(d, p->low));
        high[k] = within(d, shown(d, p->high));
    }
    if (d->n > MARKED) d->series[d->series_n - 1].name = "median, with its interval";
    end(d);
out:
    return rc;
}

typedef bool (*chooser)(const perf_point *p);

static bool was_measured(const perf_point *p)
{
    return p->samples.n > 0;
}

static bool is_same(const perf_point *p)
{
    return p->source >= 0 && p->samples.n == 0;
}

static bool is_slower(const perf_point *p)
{
    return p->samples.n > 0 && p->effect.label == HPC_HISTORY_SLOWER;
}

static bool is_faster(const perf_point *p)
{
    return p->samples.n > 0 && p->effect.label == HPC_HISTORY_FASTER;
}

static bool has_failed(const perf_point *p)
{
    return p->failure != NULL;
}

/* Failures have no cost: they are drawn at the bottom. */
static int add_marks(drawing *d, const char *name, chooser is, int colour, hpc_plot_mark mark)
{
    const hpc_plot_series like = {.name = name, .colour = colour, .mark = mark, .apart = true};
    double *x, *y, bottom = d->least * pow(d->most / d->least, 0.02);
    int rc;
    TRY(begin(d, like, d->n, false, &x, &y));
    for (int64_t k = 0; k < d->n; k++) {
        const perf_point *p = point_at(d, k);
        if (!is(p)) continue;
        x[k] = (double)k + 1;
        y[k] = is == has_failed ? bottom : shown(d, p->median);
    }
    end(d);
out:
    return rc;
}

/* Branches are drawn before the next commit of the main line, next to each other. */
static int add_branches(drawing *d)
{
    const hpc_plot_series like = {
        .name = "on a branch", .colour = 6, .mark = HPC_PLOT_MARK_RING, .apart = true};
    int64_t n = d->s->of->curves.line.n;
    double *x, *y;
    int rc;
    TRY(begin(d, like, n, false, &x, &y));
    for (int64_t k = 0; k < n;) { /* a commit of the main line and the branches after it */
        int64_t end = k, there = 0, at = 0;
        do there += is_beside(d, end++);
        while (end < n && !d->s->of->curves.line.item[end].main);
        for (; k < end; k++) {
            if (!is_beside(d, k)) continue;
            x[k] = along(d, k) - 1 + (double)++at / (double)(there + 1);
            y[k] = shown(d, d->s->curve->point[k].median);
        }
    }
    end(d);
out:
    return rc;
}

static int add_levels(drawing *d)
{
    const perf_steps *f = &d->s->curve->steps;
    const hpc_plot_series like = {.name = "level", .colour = 2, .band = true};
    double *x, *y;
    int rc;
    TRY(begin(d, like, 3 * f->stretches_n, true, &x, &y));
    double *low = y + 3 * f->stretches_n, *high = low + 3 * f->stretches_n;
    for (int64_t k = 0; k < f->stretches_n; k++) {
        const perf_stretch *s = &f->stretch[k];
        for (int at = 0; at < 2; at++) {
            x[3 * k + at] = at ? along(d, s->last) + 0.4 : along(d, s->first) - 0.4;
            y[3 * k + at] = within(d, shown(d, s->value[at]));
            low[3 * k + at] = within(d, shown(d, s->low[at]));
            high[3 * k + at] = within(d, shown(d, s->high[at]));
        }
    }
    end(d);
out:
    return rc;
}

static int add_strips(hpc_plot *out, drawing *d)
{
    const perf_curve *c = d->s->curve;
    double half = fmax(0.5, (double)d->n / 1500); /* so that it can be seen */
    hpc_plot_strip *strip = hpc_arena_alloc(d->arena, (size_t)c->steps.n + 1, sizeof *strip);
    if (!strip) return HPC_E_NOMEM;
    for (int64_t k = 0; k < c->steps.n; k++) {
        int64_t first = c->steps.item[k].first, last = c->steps.item[k].last;
        perf_curve_suspects(&first, &last, c, &d->s->of->curves.line, &c->steps.item[k]);
        strip[k] = (hpc_plot_strip){along(d, first) - half, along(d, last) + half};
    }
    out->strip = strip;
    out->strips_n = c->steps.n;
    return HPC_OK;
}

/* ---- hints ----------------------------------------------------------------------------------- */

static void put_cost(hpc_buf *out, const drawing *d, const perf_point *p, int64_t place)
{
    char a[PERF_REPORT_TEXT], b[PERF_REPORT_TEXT];
    if (p->source < 0) return;
    hpc_buf_printf(out, "\n%s", perf_report_cost(a, d->s, p->median));
    if (isfinite(p->low))
        hpc_buf_printf(out, " (%.6g to %s)", shown(d, p->low), perf_report_cost(b, d->s, p->high));
    if (p->source == place)
        hpc_buf_printf(out, ", %lld run%s", (long long)p->samples.n, p->samples.n == 1 ? "" : "s");
}

static void put_effect(hpc_buf *out, const drawing *d, const perf_point *p)
{
    char a[PERF_REPORT_TEXT], b[PERF_REPORT_TEXT];
    if (p->base < 0) return;
    const char *base = perf_report_commit(d->s, p->base)->id;
    if (p->same)
        hpc_buf_printf(out,
                       "\n"
                       "byte-identical build to %.12s",
                       base);
    else if (p->samples.n > 0)
        hpc_buf_printf(out, "\n%s (%s) against %.12s: %s", perf_report_share(a, p->effect.change),
                       perf_report_range(b, p->effect.low, p->effect.high), base,
                       hpc_history_label_name(p->effect.label));
}

static int put_failure(hpc_buf *out, hpc_arena *a, const perf_failure *f)
{
    const char *words = hpc_arena_line(a, f->words, 200);
    const char *outcome = hpc_arena_line(a, f->outcome, 40);
    const char *stage = hpc_arena_line(a, f->stage, 40);
    if (!words || !outcome || !stage) return HPC_E_NOMEM;
    return hpc_buf_printf(out, "\nthe %s %s: %s", stage, outcome, words);
}

static const char *hint_of(drawing *d, int64_t k, hpc_buf *text)
{
    char date[PERF_REPORT_TEXT];
    const perf_point *p = point_at(d, k);
    int64_t place = d->place[k];
    const perf_commit *c = perf_report_commit(d->s, place);
    text->n = 0;
    hpc_buf_printf(text, "%lld: %.12s  %s", (long long)k + 1, c->id,
                   perf_report_date(date, c->time));
    if (d->s->of->subject[place][0]) hpc_buf_printf(text, "\n%s", d->s->of->subject[place]);
    put_cost(text, d, p, place);
    put_effect(text, d, p);
    if (p->failure && put_failure(text, d->arena, p->failure) < 0) return NULL;
    if (p->source < 0 && !p->failure) hpc_buf_text(text, "\nnot measured");
    return text->failed ? NULL : hpc_arena_text(d->arena, "%s", text->data);
}

static int add_hints(hpc_plot *out, drawing *d)
{
    hpc_plot_hint *hint = hpc_arena_alloc(d->arena, (size_t)d->n + 1, sizeof *hint);
    int64_t every = (d->n + HINTS - 1) / HINTS, n = 0;
    hpc_buf text = {0};
    int rc = hint ? HPC_OK : HPC_E_NOMEM;
    for (int64_t k = 0; rc >= 0 && k < d->n; k++) {
        const perf_point *p = point_at(d, k);
        if (k % every && !is_slower(p) && !is_faster(p) && !p->failure) continue;
        hint[n] = (hpc_plot_hint){(double)k + 1, hint_of(d, k, &text)};
        if (!hint[n++].text) rc = HPC_E_NOMEM;
    }
    out->hint = hint;
    out->hints_n = n;
    hpc_buf_release(&text);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int put_labels(hpc_plot *out, const drawing *d)
{
    const perf_shown *s = d->s;
    char first[PERF_REPORT_TEXT], last[PERF_REPORT_TEXT];
    const perf_commit *a = perf_report_commit(s, d->place[0]);
    const perf_commit *b = perf_report_commit(s, d->place[d->n - 1]);
    const char *command = hpc_arena_line(d->arena, s->command, 80);
    const char *machine = hpc_arena_line(d->arena, s->machine, 60);
    const char *metric = hpc_arena_line(d->arena, s->metric, 40);
    const char *build = hpc_arena_line(d->arena, s->builds ? perf_report_built(s) : "", 60);
    if (!command || !machine || !metric || !build) return HPC_E_NOMEM;
    out->title = s->builds ? hpc_arena_text(d->arena, "%s of '%s' on %s, built by '%s'", metric,
                                            command, machine, build)
                           : hpc_arena_text(d->arena, "%s of '%s' on %s", metric, command, machine);
    out->x_label =
        hpc_arena_text(d->arena, "commits, from %.9s (%s) to %.9s (%s)", a->id,
                       perf_report_date(first, a->time), b->id, perf_report_date(last, b->time));
    out->y_label =
        s->unit_name[0] ? hpc_arena_text(d->arena, "%s, %s", metric, s->unit_name) : metric;
    return out->title && out->x_label && out->y_label ? HPC_OK : HPC_E_NOMEM;
}

int perf_report_plot(hpc_plot *out, hpc_arena *a, const perf_shown *s)
{
    drawing d = {.arena = a, .s = s};
    int rc;
    *out = (hpc_plot){.kind = HPC_PLOT_LINES};
    TRY(find_places(&d));
    if (d.n == 0) goto out;
    find_reach(&d);
    TRY(put_labels(out, &d));
    TRY(add_costs(&d));
    TRY(add_levels(&d));
    if (d.n <= MARKED)
        TRY(add_marks(&d, "median, with its interval", was_measured, 1, HPC_PLOT_MARK_DOT));
    TRY(add_branches(&d));
    if (d.n <= MARKED) TRY(add_marks(&d, "same bytes", is_same, 5, HPC_PLOT_MARK_RING));
    TRY(add_marks(&d, "slower", is_slower, 4, HPC_PLOT_MARK_UP));
    TRY(add_marks(&d, "faster", is_faster, 3, HPC_PLOT_MARK_DOWN));
    TRY(add_marks(&d, "failed", has_failed, 7, HPC_PLOT_MARK_CROSS));
    TRY(add_strips(out, &d));
    TRY(add_hints(out, &d));
    hpc_plot_series *series = hpc_arena_alloc(a, SERIES, sizeof *series);
    TRY(series ? HPC_OK : HPC_E_NOMEM);
    memcpy(series, d.series, sizeof d.series);
    out->series = series;
    out->series_n = d.series_n;
    out->y_from = d.least;
    out->y_to = d.most;
    out->log_y = d.most / d.least > WIDE;
out:
    return rc;
}
