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
typedef struct hpc_plot_series {
    const char *name; /* in the key; NULL: none */
    const double *x;  /* NULL for bars: rows 0, 1, ... */
    const double *y;  /* NaN: a gap */
    int64_t n;
    int colour; /* 1, 2, ...: series of one colour belong together; 0: by its place */
    bool faint; /* lines: thin and pale, behind the others; not in a page's tables */
    bool marks; /* lines: with a dot at each point */
} hpc_plot_series;
typedef struct hpc_plot {
    hpc_plot_kind kind;
    const char *title, *x_label, *y_label;
    const char *const *label; /* bars: one a row, as many as series[0].n */
    const hpc_plot_series *series;
    int64_t series_n;
    bool log_x, log_y; /* bars have their lengths along x */
    bool from_zero;    /* lines: y begins at 0, and the key stands at the bottom */
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

#ifdef __cplusplus
}
#endif
#endif
