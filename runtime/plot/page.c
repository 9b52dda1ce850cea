/*
 * page.c: a figure as a self-contained HTML page: the picture, and the numbers below it as tables.
 */
#include <math.h>
#include <string.h>

#include "runtime/plot/priv.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n"
    "body { font: 15px/1.4 'DejaVu Sans', sans-serif; margin: 2em auto; max-width: 1560px; "
    "padding: 0 1em; color: #222 }\n"
    "svg { max-width: 100%; height: auto }\n"
    "table { border-collapse: collapse; margin: 0 3em 2em 0; display: inline-table; "
    "vertical-align: top }\n"
    "caption { text-align: left; font-weight: bold; padding: .3em 0 }\n"
    "th, td { padding: .15em .8em; border-bottom: 1px solid #ddd; text-align: right }\n"
    "th:first-child, td:first-child { text-align: left }\n</style>\n<title>";

static void cell(hpc_buf *out, double v)
{
    hpc_buf_text(out, "<td>");
    if (!isfinite(v)) {
        hpc_buf_text(out, "</td>");
        return;
    }
    if (v == floor(v) && fabs(v) < 1e15)
        hpc_buf_printf(out, "%.0f</td>", v);
    else
        hpc_buf_printf(out, "%.6g</td>", v);
}

static void header(hpc_buf *out, const hpc_plot *p)
{
    hpc_buf_text(out, "<table>\n<caption>");
    hpc_plot_escape(out, p->title);
    hpc_buf_text(out, "</caption>\n<tr><th>");
    hpc_plot_escape(out, p->kind == HPC_PLOT_BARS ? p->y_label : p->x_label);
    hpc_buf_text(out, "</th>");
    for (int64_t s = 0; s < p->series_n; s++) {
        if (p->series[s].faint) continue;
        hpc_buf_text(out, "<th>");
        if (p->series[s].name)
            hpc_plot_escape(out, p->series[s].name);
        else
            hpc_plot_escape(out, p->kind == HPC_PLOT_BARS ? p->x_label : p->y_label);
        hpc_buf_text(out, "</th>");
    }
    hpc_buf_text(out, "</tr>\n");
}

/* Bars have a row a label; lines a row a point, each series with its own x. */
static void table(hpc_buf *out, const hpc_plot *p)
{
    header(out, p);
    if (p->kind == HPC_PLOT_BARS) {
        for (int64_t k = 0; k < p->series[0].n; k++) {
            hpc_buf_text(out, "<tr><td>");
            hpc_plot_escape(out, p->label[k]);
            hpc_buf_text(out, "</td>");
            for (int64_t s = 0; s < p->series_n; s++) cell(out, p->series[s].y[k]);
            hpc_buf_text(out, "</tr>\n");
        }
    } else {
        for (int64_t s = 0; s < p->series_n; s++)
            for (int64_t k = 0; k < p->series[s].n && !p->series[s].faint; k++) {
                hpc_buf_text(out, "<tr>");
                cell(out, p->series[s].x[k]);
                for (int64_t c = 0; c < p->series_n; c++)
                    if (!p->series[c].faint) cell(out, c == s ? p->series[s].y[k] : (double)NAN);
                hpc_buf_text(out, "</tr>\n");
            }
    }
    hpc_buf_text(out, "</table>\n");
}

int plot_page(hpc_buf *out, const hpc_figure *f, const hpc_buf *svg)
{
    const char *picture = svg->data ? strstr(svg->data, "<svg") : NULL;
    if (!picture) return hpc_fail(HPC_E_IO, "gnuplot did not produce SVG");
    hpc_buf_text(out, head);
    hpc_plot_escape(out, f->title ? f->title : "hpccoder");
    hpc_buf_text(out, "</title>\n</head>\n<body>\n");
    hpc_buf_text(out, picture);
    hpc_buf_text(out, "\n<p></p>\n");
    for (int64_t k = 0; k < f->n; k++) table(out, &f->plot[k]);
    return hpc_buf_text(out, "</body>\n</html>\n");
}
