/*
 * A training report as one HTML page: summary, plots, and folded tables of numbers
 * and settings. It needs no script, no gnuplot and no other file.
 *
 * Each plot occurs twice, for wide and for narrow windows; the style sheet shows one of them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/plot/html.h"
#include "train/report/report.h"

enum { WIDE_WIDTH = 1160, WIDE_HEIGHT = 420, NARROW_WIDTH = 350, NARROW_HEIGHT = 310 };
enum { POINTS = 3000, MOST = 500, LEAST = 60 /* of a line, by the number of runs */, HINTS = 60 };
enum { ROWS = 600, ROWS_MOST = 100, ROWS_LEAST = 20 /* of a table, by the number of runs */ };

static const char style[] =
    ".narrow{display:none}@media (max-width:760px){.wide{display:none}.narrow{display:block}"
    "body{margin:1em auto}.narrow svg{max-width:100%;height:auto}}\n"
    "td.best{font-weight:bold}svg.swatch{display:inline-block;margin-right:.5em}\n"
    "details{margin:.6em 0}summary{cursor:pointer}\n";

static int64_t within(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void put_swatch(hpc_buf *out, int64_t run)
{
    hpc_buf_printf(out,
                   "<svg class=\"plot swatch\" width=\"20\" height=\"10\"><path class=\"c%d "
                   "line%s\" stroke-width=\"2.2\" d=\"M0,5h20\"/></svg>",
                   (int)(run % 8) + 1, run >= 8 ? " dash" : "");
}

static void put_header(hpc_buf *out, const char *text, bool number)
{
    hpc_buf_text(out, number ? "<th class=\"n\">" : "<th>");
    hpc_plot_escape(out, text);
    hpc_buf_text(out, "</th>");
}

static void put_table(hpc_buf *out, const report_table *t)
{
    hpc_html_columns(out, "");
    for (int64_t c = 0; c < t->columns; c++) put_header(out, t->head[c], t->number[c]);
    hpc_buf_text(out, "</tr>\n");
    for (int64_t r = 0; r < t->rows; r++) {
        hpc_buf_text(out, "<tr><td>");
        put_swatch(out, r);
        hpc_plot_escape(out, t->cell[r * t->columns]);
        hpc_buf_text(out, "</td>");
        for (int64_t c = 1; c < t->columns; c++) {
            bool best = t->best[r * t->columns + c];
            hpc_html_cell(out, t->number[c] ? (best ? "n best" : "n") : "",
                          t->cell[r * t->columns + c]);
        }
        hpc_buf_text(out, "</tr>\n");
    }
    hpc_buf_text(out, "</table></div>\n");
}

static int put_summary(hpc_buf *out, hpc_arena *a, const hpc_report_run *run, int64_t n)
{
    hpc_report_summary s;
    int rc;
    TRY(hpc_report_summarise(&s, run, n, a));
    for (int64_t k = 0; k < s.sentence.n; k++) {
        hpc_buf_text(out, "<p>");
        hpc_plot_escape(out, s.sentence.item[k]);
        hpc_buf_text(out, "</p>\n");
    }
    hpc_buf_text(out, "<h2>Results</h2>\n");
    put_table(out, &s.results);
    if (s.bubbles.rows > 0) {
        hpc_buf_text(out, "<h2>Bubbles of pipelines</h2>\n");
        put_table(out, &s.bubbles);
    }
    if (s.differences.columns > 1) {
        hpc_buf_text(out, "<h2>Differences in configuration</h2>\n");
        put_table(out, &s.differences);
    }
out:
    return rc;
}

/* ---- plots ----------------------------------------------------------------------------------- */

static void put_remark(hpc_buf *out, const hpc_plot *p, const char *note)
{
    bool crosses = false;
    for (int64_t k = 0; k < p->series_n; k++) crosses |= p->series[k].mark == HPC_PLOT_MARK_CROSS;
    if (!note[0] && !crosses) return;
    hpc_buf_text(out, "<p class=\"dim\">");
    if (crosses) hpc_buf_text(out, "A cross marks the last finite loss of a run that diverged. ");
    hpc_plot_escape(out, note);
    hpc_buf_text(out, "</p>\n");
}

static int put_plots(hpc_buf *out, hpc_arena *a, const hpc_report_run *run, int64_t n,
                     hpc_report_x x)
{
    report_panels wide, narrow;
    int64_t points = within(POINTS / n, LEAST, MOST);
    int rc;
    TRY(report_plots(&wide, a, run, n, x, points, HINTS));
    TRY(report_plots(&narrow, a, run, n, x, points / 2, 0));
    for (int64_t k = 0; k < wide.n; k++) {
        hpc_buf_text(out, "<h2>");
        hpc_plot_escape(out, wide.plot[k].title);
        hpc_buf_text(out, "</h2>\n");
        put_remark(out, &wide.plot[k], wide.note[k]);
        hpc_buf_text(out, "<div class=\"wide scroll\">\n");
        TRY(hpc_plot_inline(out, &wide.plot[k], WIDE_WIDTH, WIDE_HEIGHT));
        hpc_buf_text(out, "</div>\n<div class=\"narrow scroll\">\n");
        TRY(hpc_plot_inline(out, &narrow.plot[k], NARROW_WIDTH, NARROW_HEIGHT));
        hpc_buf_text(out, "</div>\n");
    }
out:
    return rc;
}

/* ---- folded tables --------------------------------------------------------------------------- */

/* Every so many rows, the last one, and those with a validation unless there are too many. */
static bool is_shown(const hpc_report_run *r, int64_t row, int64_t most, bool validations)
{
    int64_t every = (r->t.n + most - 1) / most;
    return (r->t.n - 1 - row) % every == 0 ||
           (validations && !isnan(r->t.column[HPC_METRIC_VALIDATION_LOSS][row]));
}

static void put_number(hpc_buf *out, double v)
{
    char text[48] = "";
    if (isfinite(v))
        snprintf(text, sizeof text, v == floor(v) && fabs(v) < 1e15 ? "%.0f" : "%.6g", v);
    hpc_html_cell(out, "n", text);
}

static void put_row(hpc_buf *out, const hpc_report_run *r, const double *mean, int64_t row)
{
    static const hpc_metric after[] = {HPC_METRIC_VALIDATION_LOSS, HPC_METRIC_LR,
                                       HPC_METRIC_GRAD_NORM, HPC_METRIC_TOKENS_PER_S};
    char time[REPORT_TEXT];
    hpc_buf_text(out, "<tr>");
    put_number(out, r->t.column[HPC_METRIC_STEP][row]);
    put_number(out, r->t.column[HPC_METRIC_TOKENS][row]);
    hpc_html_cell(out, "n", report_duration(time, r->seconds[row]));
    put_number(out, r->t.column[HPC_METRIC_LOSS][row]);
    put_number(out, mean[row]);
    for (size_t k = 0; k < sizeof after / sizeof *after; k++)
        put_number(out, r->t.column[after[k]][row]);
    hpc_buf_text(out, r->t.column[HPC_METRIC_SKIPPED][row] > 0 ? "<td>skipped</td></tr>\n"
                                                               : "<td></td></tr>\n");
}

static int put_numbers(hpc_buf *out, hpc_arena *a, const hpc_report_run *r, int64_t most)
{
    int64_t n = 0;
    double *mean = hpc_arena_alloc(a, (size_t)r->t.n, sizeof *mean);
    int rc = mean ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    TRY(report_smooth(mean, r->t.column[HPC_METRIC_LOSS], r->t.column[HPC_METRIC_SKIPPED], r->t.n,
                      r->window));
    for (int64_t k = 0; k < r->t.n; k++) n += !isnan(r->t.column[HPC_METRIC_VALIDATION_LOSS][k]);
    hpc_buf_text(out, "<details><summary>Numbers of ");
    hpc_plot_escape(out, r->label);
    hpc_buf_text(out, "</summary>\n");
    hpc_html_columns(out, "#step|#tokens|#time|#loss");
    hpc_buf_printf(out, "<th class=\"n\">mean of %lld</th>", (long long)r->window);
    hpc_buf_text(out, "<th class=\"n\">validation</th><th class=\"n\">learning rate</th>"
                      "<th class=\"n\">gradient norm</th><th class=\"n\">tokens/s</th><th></th>"
                      "</tr>\n");
    for (int64_t k = 0; k < r->t.n; k++)
        if (is_shown(r, k, most, n <= most)) put_row(out, r, mean, k);
    hpc_buf_text(out, "</table></div>\n</details>\n");
out:
    return rc;
}

static int put_setting(hpc_buf *out, hpc_arena *a, const hpc_report_run *run, int64_t n,
                       const char *key)
{
    int rc = HPC_OK;
    hpc_buf_text(out, "<tr>");
    hpc_html_cell(out, "", key);
    for (int64_t k = 0; k < n; k++) {
        const char *value;
        TRY(report_setting(&value, &run[k], a, key));
        hpc_html_cell(out, "", value ? value : "-");
    }
    hpc_buf_text(out, "</tr>\n");
out:
    return rc;
}

/* Every setting of each run, in the order of config.json. */
static int put_settings(hpc_buf *out, hpc_arena *a, const hpc_report_run *run, int64_t n)
{
    hpc_texts keys;
    int rc;
    TRY(report_keys(&keys, run, n, a));
    if (keys.n == 0) goto out;
    hpc_buf_text(out, "<details><summary>All settings</summary>\n");
    hpc_html_columns(out, "setting");
    for (int64_t k = 0; k < n; k++) put_header(out, run[k].label, false);
    hpc_buf_text(out, "</tr>\n");
    for (int64_t k = 0; k < keys.n; k++) TRY(put_setting(out, a, run, n, keys.item[k]));
    hpc_buf_text(out, "</table></div>\n</details>\n");
out:
    return rc;
}

int hpc_report_page(hpc_buf *out, hpc_arena *a, const hpc_report_run *run, int64_t n,
                    hpc_report_x x)
{
    const char *title = report_title(a, run, n);
    int64_t rows = within(ROWS / n, ROWS_LEAST, ROWS_MOST);
    int rc = title ? HPC_OK : HPC_E_NOMEM;
    if (rc < 0) return rc;
    hpc_html_open(out, title, style);
    hpc_buf_text(out, "<h1>Training report</h1>\n<p class=\"dim\">");
    hpc_plot_escape(out, title);
    hpc_buf_text(out, "</p>\n");
    TRY(put_summary(out, a, run, n));
    TRY(put_plots(out, a, run, n, x));
    hpc_buf_text(out, "<h2>Tables</h2>\n");
    for (int64_t k = 0; k < n; k++) TRY(put_numbers(out, a, &run[k], rows));
    TRY(put_settings(out, a, run, n));
    TRY(hpc_html_close(out));
out:
    return rc;
}
