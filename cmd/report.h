/*
 * report.h: what the files of `hpccoder report` share.
 */
#ifndef HPC_CMD_REPORT_H
#define HPC_CMD_REPORT_H

#include "cmd/cmd.h"
#include "train/metrics.h"

typedef enum report_x { REPORT_TOKENS, REPORT_TIME, REPORT_STEP, REPORT_X_N } report_x;

typedef struct report_run {
    const char *path, *name; /* name: the folder's, or the path where two are called alike */
    hpc_metrics_table t;     /* TOKENS_PER_S is what tokens and step_ms give */
    double *seconds;         /* by row: since the beginning, of steps alone */
    int64_t window;          /* rows of a mean */
    double loss;             /* mean of the last window */
    double best;             /* validation loss; NaN: none */
    int64_t best_row, skipped;
    double tokens_per_s; /* median */
} report_run;

/* report_plot.c: draws runs along x to a .png, .svg or .html file. */
int report_draw(const char *path, const report_run *run, int64_t n, report_x x);
/* Means of `window` rows around each row, of those that are finite and not skipped; NaN where there
 * are none. At the beginning, where losses fall fast, of as many before as behind. out: n. */
int report_smooth(double *out, const double *y, const double *skipped, int64_t n, int64_t window);

#endif
