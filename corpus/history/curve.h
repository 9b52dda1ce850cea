/*
 * curve.h: all that a performance history tells of its series, commit by commit: costs with
 * intervals, labels, steps, and what could not be measured.
 */
#ifndef HPC_HISTORY_CURVE_H
#define HPC_HISTORY_CURVE_H

#include "corpus/history/line.h"
#include "corpus/history/steps.h"

typedef struct perf_failure {
    int64_t commit;                                /* its place in the line */
    const char *stage, *command, *machine, *build; /* as in perf_attempt */
    const char *outcome, *words;                   /* words: the end of its log, in a line */
} perf_failure;

typedef struct perf_point { /* a commit in a series */
    perf_samples samples;
    int64_t source, base;        /* as perf_line_bases has them */
    double median, low, high;    /* of its source's samples, at 95 %; NAN: nothing is known */
    perf_effect effect;          /* against base; its q is NAN where nothing was tested */
    bool same;                   /* it was built to base's bytes: a change of 0 */
    const perf_failure *failure; /* of a stage without which the series has nothing of it; NULL */
} perf_point;

typedef struct perf_curve {
    perf_way way;
    const char *metric;
    double threshold;                     /* of labels */
    perf_point *point;                    /* of each commit of the line */
    int64_t measured_n, same_n, failed_n; /* same: not measured; failed: likewise */
    int64_t beside_n;                     /* of those measured, on branches: no part of steps */
    perf_noise noise;                     /* of its repeats */
    /* Of the main line, without what was not measured because it is its parent's bytes. All places
     * are the line's. */
    perf_steps steps;
} perf_curve;

typedef struct perf_curves {
    hpc_arena *arena;
    perf_line line;
    perf_failure *failure;
    int64_t failures_n, failures_cap;
    perf_curve *item; /* in the order in which the history has them */
    int64_t n, cap;
    int64_t all_n; /* series that the history has, wanted or not */
} perf_curves;
typedef struct perf_curves_options {
    /* Which series: NULL: all. */
    bool (*wants)(const perf_series *s, void *user);
    void *user;
    double threshold; /* of labels and steps; 0: labels beyond 1 % where the metric is counted,
                       * beyond 5 % else, and steps beyond steps.h's default */
} perf_curves_options;
int perf_curves_load(perf_curves *out, perf_db *d, const perf_curves_options *o);
void perf_curves_release(perf_curves *c);

/* Commits at which the step may have happened. first and last of them, if not NULL. */
int64_t perf_curve_suspects(int64_t *first, int64_t *last, const perf_curve *c, const perf_line *l,
                            const perf_step *s);

#endif
