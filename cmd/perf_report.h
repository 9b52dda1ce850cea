/*
 * perf_report.h: what the files of `hpccoder perf report` share.
 */
#ifndef HPC_CMD_PERF_REPORT_H
#define HPC_CMD_PERF_REPORT_H

#include "cmd/cmd.h"
#include "cmd/page.h"
#include "corpus/history/curve.h"
#include "runtime/plot/plot.h"

typedef struct perf_history {
    const char *name; /* as it was given */
    perf_curves curves;
    const char **subject; /* of each commit of its line; "" when nobody knows */
} perf_history;
typedef struct perf_shown { /* a series */
    const perf_history *of;
    const perf_curve *curve;
    int number;                             /* 1, 2, ... */
    const char *command, *metric, *machine; /* fit to be shown */
    const char *build;                      /* "": nobody recorded it */
    bool builds;                            /* others differ from it in the build alone */
    double unit;                            /* in which its values are shown ... */
    const char *unit_name;                  /* ... as this; "" for none */
} perf_shown;
typedef struct perf_change { /* a change point */
    const perf_shown *of;
    const perf_step *step;
    int64_t first, last, suspects; /* commits at which it may have happened, and how many */
} perf_change;
typedef struct perf_report {
    hpc_arena *arena;
    perf_history *history;
    int64_t histories_n;
    perf_shown *item;
    int64_t n;
    perf_change *change; /* the largest first */
    int64_t changes_n;
    bool repository; /* it is known what commits say of themselves */
} perf_report;

/* ---- perf_report.c: words ---- */
enum { PERF_REPORT_TEXT = 64 };
const char *perf_report_cost(char out[PERF_REPORT_TEXT], const perf_shown *s, double value);
const char *perf_report_share(char out[PERF_REPORT_TEXT], double change); /* "+12.3 %" */
const char *perf_report_range(char out[PERF_REPORT_TEXT], double low, double high);
const char *perf_report_date(char out[PERF_REPORT_TEXT], int64_t seconds); /* "" for none */
/* What built it, or that nobody recorded that. */
const char *perf_report_built(const perf_shown *s);
const perf_commit *perf_report_commit(const perf_shown *s, int64_t at);
/* How many of its labels are each. */
void perf_report_labels(int64_t n[PERF_UNDECIDED + 1], const perf_shown *s);

/* ---- perf_report_text.c ---- */
void perf_report_noise(hpc_buf *out, const perf_curve *c); /* in words */
void perf_report_text(hpc_buf *out, const perf_report *r);
int perf_report_json(hpc_buf *out, const perf_report *r);

/* ---- perf_report_plot.c ---- */
/* In the arena. A plot without series: there is nothing to draw. */
int perf_report_plot(hpc_plot *out, hpc_arena *a, const perf_shown *s);

/* ---- perf_report_page.c ---- */
int perf_report_page(hpc_buf *out, const perf_report *r);

#endif
