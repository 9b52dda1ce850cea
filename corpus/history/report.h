/*
 * report.h: report on performance histories: series, labels and change points as text, JSON, a page
 * and plots.
 */
#ifndef HPC_HISTORY_REPORT_H
#define HPC_HISTORY_REPORT_H

#include "corpus/history/curve.h"
#include "runtime/base/options.h"
#include "runtime/plot/plot.h"

typedef struct hpc_history_report_options {
    hpc_texts db;     /* paths of histories; at least one */
    hpc_texts metric; /* only series with one of these metrics; none: all */
    hpc_texts series; /* only series with one of these texts in command, build or machine */
    const char *repo; /* repository to read subjects of commits from; NULL: none */
    double threshold; /* percent; smaller changes are ignored; 0: the defaults of curve.h */
} hpc_history_report_options;

typedef struct perf_history {
    const char *name; /* path of its database */
    perf_curves curves;
    const char **subject; /* of each commit of the line; "": unknown */
} perf_history;
typedef struct perf_shown { /* a series */
    const perf_history *of;
    const perf_curve *curve;
    int number;                             /* 1, 2, ... */
    const char *command, *metric, *machine; /* by hpc_arena_line */
    const char *build;                      /* "": not recorded */
    bool builds;                            /* another series differs in the build alone */
    double unit;                            /* costs are divided by it and ... */
    const char *unit_name;                  /* ... shown with this unit; "": none */
} perf_shown;
typedef struct perf_change { /* a change point */
    const perf_shown *of;
    const perf_step *step;
    int64_t first, last, suspects; /* commits at which it may have happened, and how many */
} perf_change;
typedef struct hpc_history_report {
    hpc_arena *arena;
    perf_history *history;
    int64_t histories_n;
    perf_shown *item;
    int64_t n;
    perf_change *change; /* the largest first */
    int64_t changes_n;
    bool repository; /* subjects of commits are known */
} hpc_history_report;

/* ---- report.c ----
 * Zero `r` first and release it in any case. HPC_E_ARG: no such history or repository, or no series
 * matches the options. */
int hpc_history_report_load(hpc_history_report *r, const hpc_history_report_options *o);
void hpc_history_report_release(hpc_history_report *r);

/* Texts that all formats share. */
enum { PERF_REPORT_TEXT = 64 };
const char *perf_report_cost(char out[PERF_REPORT_TEXT], const perf_shown *s, double value);
const char *perf_report_share(char out[PERF_REPORT_TEXT], double change); /* "+12.3 %" */
const char *perf_report_range(char out[PERF_REPORT_TEXT], double low, double high);
const char *perf_report_date(char out[PERF_REPORT_TEXT], int64_t seconds); /* "": none */
const char *perf_report_built(const perf_shown *s); /* build command, or "(not recorded)" */
const perf_commit *perf_report_commit(const perf_shown *s, int64_t at);
/* Counts the commits of the series with each label. */
void perf_report_labels(int64_t n[HPC_HISTORY_UNDECIDED + 1], const perf_shown *s);

/* ---- report_text.c ---- */
void perf_report_noise(hpc_buf *out, const perf_curve *c); /* as a phrase */
/* width 0: unlimited */
int hpc_history_report_text(hpc_buf *out, const hpc_history_report *r, int width);
int hpc_history_report_json(hpc_buf *out, const hpc_history_report *r);

/* ---- report_plot.c ---- */
/* The plot lives in the arena. series_n 0: nothing was measured. */
int perf_report_plot(hpc_plot *out, hpc_arena *a, const perf_shown *s);

/* ---- report_page.c ---- */
int perf_report_page(hpc_buf *out, const hpc_history_report *r);

/* ---- report_save.c ---- */
/* Writes folder/index.html, and one PNG per series with gnuplot. *plots false: gnuplot is not
 * installed, and only the page was written. */
int hpc_history_report_save(bool *plots, const hpc_history_report *r, const char *folder);

#endif
