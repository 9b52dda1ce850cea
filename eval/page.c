/*
 * Reports of scores as one HTML page: tables, plots of intervals as inline SVG, and the samples of
 * a comparison.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/priv.h"
#include "runtime/plot/html.h"
#include "runtime/plot/plot.h"

enum { WIDTH = 900, HEIGHT = 260, PAIRS = 500 };

static void put_number(hpc_buf *out, double value, int decimals)
{
    char text[64] = "-";

    if (!isnan(value)) snprintf(text, sizeof text, "%.*f", decimals, value);
    hpc_html_cell(out, "n", text);
}

static void put_interval(hpc_buf *out, const hpc_eval_value *v, int decimals)
{
    char text[128] = "-";

    if (!isnan(v->value))
        snprintf(text, sizeof text, "%.*f [%.*f, %.*f]", decimals, v->value, decimals, v->low,
                 decimals, v->high);
    hpc_html_cell(out, "n", text);
}

static void put_settings(hpc_buf *out, const hpc_json *settings)
{
    hpc_html_columns(out, "setting|value");
    hpc_buf_text(out, "</tr>\n");
    for (int64_t k = 0; k < hpc_json_n(settings); k++) {
        const hpc_json *value;
        const char *key = hpc_json_key(settings, k, &value);
        hpc_buf shown = {0};
        hpc_json_out w = {.buf = &shown};
        hpc_json_put(&w, NULL, value);
        hpc_buf_text(out, "<tr>");
        hpc_html_cell(out, "", key);
        hpc_html_cell(out, "wrap", shown.data ? shown.data : "");
        hpc_buf_text(out, "</tr>\n");
        hpc_buf_release(&shown);
    }
    hpc_buf_text(out, "</table></div>\n");
}

/* ---- a metric: its plot and its table -------------------------------------------------------- */

static int put_plot(hpc_buf *out, const hpc_eval_report *r, int metric)
{
    const hpc_eval_scores *s = r->scores;
    double *x = hpc_alloc((size_t)s->n * 4 + 1, sizeof(*x)), *y = x + s->n;
    hpc_plot_hint *hint = hpc_alloc((size_t)s->n + 1, sizeof(*hint));
    hpc_plot_series series = {.apart = true, .mark = HPC_PLOT_MARK_DOT};
    int rc = x && hint ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) goto out;
    series.x = x, series.y = y, series.low = y + s->n, series.high = y + 2 * s->n;
    for (int64_t k = 0; k < s->n; k++) {
        const hpc_eval_value *v = &s->row[k].value[metric];
        if (v->samples == 0) continue;
        x[series.n] = (double)(k + 1), y[series.n] = v->value;
        y[s->n + series.n] = v->low, y[2 * s->n + series.n] = v->high;
        hint[series.n++] = (hpc_plot_hint){.x = (double)(k + 1), .text = s->row[k].name};
    }
    const hpc_plot plot = {.kind = HPC_PLOT_LINES,
                           .x_label = "row of the table",
                           .y_label = r->suite->metric[metric].title,
                           .series = &series,
                           .series_n = 1,
                           .hint = hint,
                           .hints_n = series.n};
    rc = hpc_plot_inline(out, &plot, WIDTH, HEIGHT);
out:
    hpc_free(x);
    hpc_free(hint);
    return rc;
}

static int put_metric(hpc_buf *out, const hpc_eval_report *r, int metric)
{
    const hpc_eval_metric *m = &r->suite->metric[metric];
    int rc;

    hpc_buf_text(out, "<h2>");
    hpc_plot_escape(out, m->title);
    hpc_buf_text(out, "</h2>\n");
    TRY(put_plot(out, r, metric));
    hpc_html_columns(out, "#row|group|#samples|#value and 95 % interval");
    hpc_buf_text(out, "</tr>\n");
    for (int64_t k = 0; k < r->scores->n; k++) {
        const hpc_eval_row *row = &r->scores->row[k];
        char name[256];
        if (row->value[metric].samples == 0) continue;
        snprintf(name, sizeof name, "%s%s%s", row->key, row->key[0] ? " " : "", row->name);
        hpc_buf_text(out, "<tr>");
        put_number(out, (double)(k + 1), 0);
        hpc_html_cell(out, "", name);
        put_number(out, (double)row->value[metric].samples, 0);
        put_interval(out, &row->value[metric], m->decimals);
        hpc_buf_text(out, "</tr>\n");
    }
    hpc_buf_text(out, "</table></div>\n");
out:
    return rc;
}

/* ---- a comparison ---------------------------------------------------------------------------- */

static void put_differences(hpc_buf *out, const hpc_eval_report *r)
{
    hpc_html_columns(out, "metric|#here|#there|#difference|#better|#worse|#equal");
    hpc_buf_text(out, "</tr>\n");
    for (int k = 0; k < r->suite->metric_n; k++) {
        const hpc_eval_difference *d = &r->comparison->difference[k];
        const hpc_eval_metric *m = &r->suite->metric[k];
        if (d->value.samples == 0) continue;
        hpc_buf_text(out, "<tr>");
        hpc_html_cell(out, "", m->title);
        put_number(out, d->here, m->decimals);
        put_number(out, d->there, m->decimals);
        put_interval(out, &d->value, m->decimals);
        put_number(out, (double)d->better, 0);
        put_number(out, (double)d->worse, 0);
        put_number(out, (double)d->equal, 0);
        hpc_buf_text(out, "</tr>\n");
    }
    hpc_buf_text(out, "</table></div>\n");
}

static void put_pairs(hpc_buf *out, const hpc_eval_report *r)
{
    const hpc_eval_metric *m = &r->suite->metric[0];

    hpc_buf_printf(out, "<h3>Samples by difference: %s</h3>\n", m->title);
    hpc_html_columns(out, "sample|#here|#there");
    hpc_buf_text(out, "</tr>\n");
    for (int64_t k = 0; k < r->comparison->n && k < PAIRS; k++) {
        const hpc_eval_pair *p = &r->comparison->pair[k];
        hpc_buf_text(out, "<tr>");
        hpc_html_cell(out, "", p->id);
        put_number(out, p->here, m->decimals);
        put_number(out, p->there, m->decimals);
        hpc_buf_text(out, "</tr>\n");
    }
    hpc_buf_text(out, "</table></div>\n");
}

int hpc_eval_report_page(hpc_buf *out, const hpc_eval_report *r)
{
    int rc = HPC_OK;

    hpc_html_open(out, r->suite->title, "");
    hpc_buf_text(out, "<h1>");
    hpc_plot_escape(out, r->suite->title);
    hpc_buf_text(out, "</h1>\n");
    put_settings(out, hpc_eval_log_settings(r->log));
    if (r->suite->notes) {
        hpc_buf_text(out, "<p class=\"dim\">");
        hpc_plot_escape(out, r->suite->notes);
        hpc_buf_text(out, "</p>\n");
    }
    for (int k = 0; k < r->suite->metric_n; k++)
        if (r->scores->n > 0 && r->scores->row[0].value[k].samples > 0) TRY(put_metric(out, r, k));
    if (r->comparison) {
        hpc_buf_text(out, "<h2>Compared with ");
        hpc_plot_escape(out, r->compared);
        hpc_buf_text(out, "</h2>\n");
        put_differences(out, r);
        put_pairs(out, r);
    }
    TRY(hpc_html_close(out));
out:
    return rc;
}
