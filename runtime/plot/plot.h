/*
 * plot.h: plots of tables, drawn by gnuplot or as inline SVG, and pages of plots.
 *
 * Texts are data: a title or label is never interpreted as a command.
 */
#ifndef HPC_PLOT_H
#define HPC_PLOT_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_plot_kind {
    HPC_PLOT_BARS,  /* horizontal, one row per label; several series are stacked */
    HPC_PLOT_LINES, /* x numeric */
    HPC_PLOT_POINTS,
    HPC_PLOT_STEPS
} hpc_plot_kind;
typedef enum hpc_plot_mark { /* at each point of a line */
                             HPC_PLOT_MARK_NONE,
                             HPC_PLOT_MARK_DOT,
                             HPC_PLOT_MARK_RING,
                             HPC_PLOT_MARK_UP, /* triangles */
                             HPC_PLOT_MARK_DOWN,
                             HPC_PLOT_MARK_CROSS
} hpc_plot_mark;
typedef struct hpc_plot_series {
    const char *name; /* in the key; NULL: none */
    const double *x;  /* NULL for bars: rows 0, 1, ... */
    const double *y;  /* NaN: a gap */
    int64_t n;
    int colour; /* 1, 2, ...: series of one colour belong together; 0: by index */
    bool faint; /* lines: thin and pale, in the background; not in a page's tables */
    bool thin;  /* lines */
    bool apart; /* lines: marks only, not connected */
    hpc_plot_mark mark;
    const double *low, *high; /* lines: ends of the pale range at each point; NULL: none */
    bool band;                /* draw the area between them, not a line at each point */
} hpc_plot_series;
typedef struct hpc_plot_strip { /* a pale strip over the full height, in the background */
    double from, to;
} hpc_plot_strip;
typedef struct hpc_plot_hint { /* hover text of the position nearest to x, in a page */
    double x;
    const char *text; /* lines; NULL: nothing */
} hpc_plot_hint;
typedef struct hpc_plot {
    hpc_plot_kind kind;
    const char *title, *x_label, *y_label;
    const char *const *label; /* bars: one per row, series[0].n of them */
    const hpc_plot_series *series;
    int64_t series_n;
    bool log_x, log_y; /* bars have their lengths along x */
    bool from_zero;    /* lines: y begins at 0, and the key stands at the bottom */
    /* All below: lines. */
    double y_from, y_to; /* visible range of y, with the key above it; both 0: all */
    const hpc_plot_strip *strip;
    int64_t strips_n;
    const hpc_plot_hint *hint; /* in order of x; for hpc_plot_inline only */
    int64_t hints_n;
} hpc_plot;
typedef struct hpc_figure { /* plots in a grid, drawn as one picture */
    const char *title;
    const hpc_plot *plot;
    int64_t n, columns; /* columns 0: automatic */
    int width, height;  /* pixels of the figure; 0: from the number of rows */
} hpc_figure;
/* Saves in the format of the suffix: ".png", ".svg", or ".html" (one page with the picture and the
 * numbers as tables). Atomic. HPC_E_UNSUPPORTED: gnuplot is missing; the message names the
 * package. */
int hpc_plot_save(const char *path, const hpc_figure *figure);

/* Appends a line plot as an inline SVG element. It takes its colours from the page (light or dark),
 * shows the hint at the pointer, and needs neither scripts nor gnuplot. hpc_plot_inline_style: CSS
 * rules for these elements, once per page, for <style>. */
int hpc_plot_inline(hpc_buf *out, const hpc_plot *p, int width, int height);
int hpc_plot_inline_style(hpc_buf *out);
int hpc_plot_escape(hpc_buf *out, const char *text); /* as HTML text; NULL: appends nothing */

#ifdef __cplusplus
}
#endif
#endif
