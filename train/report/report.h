/*
 * report.h: training runs read back and compared: summary, tables, plots and an HTML page.
 *
 * The caller allocates the runs and releases each with hpc_report_release. Texts and tables live in
 * the arena of the call. Functions that return int return 0 or a negative code.
 */
#ifndef HPC_TRAIN_REPORT_H
#define HPC_TRAIN_REPORT_H

#include "runtime/base/options.h"
#include "runtime/plot/plot.h"
#include "train/metrics.h"

typedef enum hpc_report_x {
    HPC_REPORT_TOKENS,
    HPC_REPORT_TIME,
    HPC_REPORT_STEP,
    HPC_REPORT_X_N
} hpc_report_x;

typedef struct hpc_report_run {
    const char *path, *name; /* name: the folder's, or the path where two folders share a name */
    const char *label;       /* for people: the shortest end of the path that no other run has */
    hpc_metrics_table t;     /* TOKENS_PER_S is computed from tokens and step_ms */
    double *seconds;         /* by row: since the beginning, steps only */
    int64_t window;          /* rows of a mean */
    double loss;             /* mean of the last window; NaN: it has no finite loss */
    double best;             /* validation loss; NaN: none */
    int64_t best_row, skipped;
    double tokens_per_s; /* median */
    hpc_json *config;    /* config.json; NULL: none, or not read */
    const char *warning; /* why a config.json was not used; NULL: none */
} hpc_report_run;

/* ---- read.c: reading ---- */
int hpc_report_read(hpc_report_run *r, hpc_arena *a, const char *path, int64_t smooth);
/* Reads the run's config.json, if it has one. A damaged file sets r->warning. */
int hpc_report_read_config(hpc_report_run *r, hpc_arena *a);
int hpc_report_name(hpc_report_run *run, int64_t n, hpc_arena *a); /* sets name and label */
void hpc_report_release(hpc_report_run *r);
double hpc_report_last(const hpc_report_run *r, hpc_metric m);
/* Its last five losses, or all of them, are not finite or belong to skipped steps. */
bool report_has_diverged(const hpc_report_run *r);
/* The first row of those without a usable loss at the end of a diverged run. */
int64_t report_diverged_row(const hpc_report_run *r);
/* Means of `window` rows around each row, of finite values in steps that were not skipped; NaN
 * without such values. The window shrinks at the beginning, where losses fall fast. out: n. */
int report_smooth(double *out, const double *y, const double *skipped, int64_t n, int64_t window);

/* ---- config.c: settings ---- */
/* The value of a key of config.json as text; NULL: the run has no such key. */
int report_setting(const char **out, const hpc_report_run *r, hpc_arena *a, const char *key);
/* Keys of all runs, in the order of config.json. */
int report_keys(hpc_texts *out, const hpc_report_run *run, int64_t n, hpc_arena *a);
/* Keys whose values differ between runs, without those of paths, output and checkpoints. */
int report_differences(hpc_texts *out, const hpc_report_run *run, int64_t n, hpc_arena *a);
/* "hidden 32, layers 2, ...": main settings that all runs share. "": none. */
int report_common(const char **out, const hpc_report_run *run, int64_t n, hpc_arena *a,
                  const hpc_texts *differences);

/* ---- summary.c: what terminal and page begin with ---- */
typedef struct report_table { /* a row for each run; the first column is its label */
    const char **head;
    const char **cell; /* rows * columns */
    bool *number;      /* by column */
    bool *best;        /* rows * columns: the best of its column */
    int64_t rows, columns;
} report_table;
typedef struct hpc_report_summary {
    hpc_texts sentence;
    report_table results, differences; /* differences.columns 1: none */
    report_table bubbles;              /* rows 0: none; a row for each rank of a pipeline */
} hpc_report_summary;
int hpc_report_summarise(hpc_report_summary *out, const hpc_report_run *run, int64_t n,
                         hpc_arena *a);
/* table.c: allocates a table; its cells are NULL. */
int report_table_make(report_table *t, hpc_arena *a, int64_t rows, int64_t columns);
/* bubbles.c: the table of RUN/bubbles.csv of all runs that have one. */
int report_bubbles(report_table *out, const hpc_report_run *run, int64_t n, hpc_arena *a);
enum { REPORT_TEXT = 48 };
const char *report_duration(char out[REPORT_TEXT], double seconds); /* "2.1 s", "3.5 h" */

/* ---- text.c ---- */
int hpc_report_text(hpc_buf *out, const hpc_report_summary *s, int width); /* width 0: unlimited */

/* ---- plot.c ---- */
typedef struct report_panels {
    hpc_plot *plot;
    const char **note; /* by plot: what the reader must know about it; "" */
    int64_t n;
} report_panels;
/* Lines of at most about `points` points; hints for at most `hints` positions. */
int report_plots(report_panels *out, hpc_arena *a, const hpc_report_run *run, int64_t n,
                 hpc_report_x x, int64_t points, int64_t hints);
/* "5 runs, means of 6 to 20 steps" */
const char *report_title(hpc_arena *a, const hpc_report_run *run, int64_t n);
/* Draws runs along x to a .png or .svg file. */
int hpc_report_draw(const char *path, const hpc_report_run *run, int64_t n, hpc_report_x x);

/* ---- page.c ---- */
int hpc_report_page(hpc_buf *out, hpc_arena *a, const hpc_report_run *run, int64_t n,
                    hpc_report_x x);

#endif
