/*
 * plot.h: pictures of tables, through gnuplot, and pages of them.
 *
 * Texts are data: nothing in a title or a label is ever taken for a command.
 */
#ifndef HPC_PLOT_H
#define HPC_PLOT_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_plot_kind {
    HPC_PLOT_BARS,  /* horizontal, a row a label; several series are stacked */
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
    int colour; /* 1, 2, ...: series of one colour belong together; 0: by its place */
    bool faint; /* lines: thin and pale, in the background; not in a page's tables */
    bool thin;  /* lines */
    bool apart; /* lines: marks alone, not joined */
    hpc_plot_mark mark;
    const double *low, *high; /* lines: ends of the pale range at each point; NULL: none */
    bool band;                /* between these the area, not a line at each point */
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
    const char *const *label; /* bars: one a row, as many as series[0].n */
    const hpc_plot_series *series;
    int64_t series_n;
    bool log_x, log_y; /* bars have their lengths along x */
    bool from_zero;    /* lines: y begins at 0, and the key stands at the bottom */
    /* All below: lines. */
    double y_from, y_to; /* what of y is shown, the key above it; both 0: all */
    const hpc_plot_strip *strip;
    int64_t strips_n;
    const hpc_plot_hint *hint; /* in order of x; hpc_plot_inline's alone */
    int64_t hints_n;
} hpc_plot;
typedef struct hpc_figure { /* plots in a grid, drawn as one picture */
    const char *title;
    const hpc_plot *plot;
    int64_t n, columns; /* columns 0: chosen */
    int width, height;  /* pixels of the whole; 0: chosen by the number of rows */
} hpc_figure;
/* By the ending: ".png", ".svg", or ".html" (one page with the picture inside and the numbers as
 * tables). Saved whole or not at all. HPC_E_UNSUPPORTED, naming the package, without gnuplot. */
int hpc_plot_save(const char *path, const hpc_figure *figure);

/* Lines as a part of a page, drawn by ourselves: an SVG element, which takes its colours from the
 * page (light or dark), and shows the hint where the page is pointed at. Needs no script, and no
 * gnuplot. hpc_plot_inline_style: the page's rules for it, once, to stand in <style>. */
int hpc_plot_inline(hpc_buf *out, const hpc_plot *p, int width, int height);
int hpc_plot_inline_style(hpc_buf *out);
int hpc_plot_escape(hpc_buf *out, const char *text); /* as text of HTML; NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
