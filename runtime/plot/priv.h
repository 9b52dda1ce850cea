/*
 * priv.h: internals of runtime/plot.
 */
#ifndef HPC_PLOT_PRIV_H
#define HPC_PLOT_PRIV_H

#include "runtime/plot/plot.h"

typedef enum plot_terminal { PLOT_PNG, PLOT_SVG } plot_terminal;
/* Checks that the figure can be drawn (plot.c). */
int plot_check(const hpc_figure *f);
/* Appends the commands that draw the figure to gnuplot's standard output (script.c). */
int plot_script(hpc_buf *out, const hpc_figure *f, plot_terminal terminal);
/* Appends one self-contained page: the picture and a table for each plot (page.c). */
int plot_page(hpc_buf *out, const hpc_figure *f, const hpc_buf *svg);

#endif
