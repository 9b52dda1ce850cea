/*
 * curve.h: series of a performance history, commit by commit: costs with intervals, labels, change
 * points and failures.
 */
#ifndef HPC_HISTORY_CURVE_H
#define HPC_HISTORY_CURVE_H

#include "corpus/history/line.h"
#include "corpus/history/steps.h"

typedef struct perf_failure {
    int64_t commit;                                /* its number in the line */
    const char *stage, *command, *machine, *build; /* as in perf_attempt */
    const char *outcome, *words;                   /* words: the end of its log on one line */
} perf_failure;

typedef struct perf_point { /* a commit in a series */
    perf_samples samples;
    int64_t source, base;        /* by perf_line_bases */
    double median, low, high;    /* of the source's samples, 95 %; NAN: unknown */
    perf_effect effect;          /* against base; q is NAN without a test */
    bool same;                   /* the same product as base: a change of 0 */
    const perf_failure *failure; /* the reason for missing samples; NULL */
} perf_point;

typedef struct perf_curve {
    perf_way way;
    const char *metric;
    double threshold;                     /* of labels */
    perf_point *point;                    /* of each commit of the line */
    int64_t measured_n, same_n, failed_n; /* same and failed: without samples */
    int64_t beside_n;                     /* measured commits on branches, which steps ignore */
    perf_noise noise;                     /* of repeated runs */
    /* Points of the main line, without commits that have their parent's product. Commits are
     * numbered as in the line. */
    perf_steps steps;
} perf_curve;

typedef struct perf_curves {
    hpc_arena *arena;
    perf_line line;
    perf_failure *failure;
    int64_t failures_n, failures_cap;
    perf_curve *item; /* in the order of the history */
    int64_t n, cap;
    int64_t all_n; /* all series of the history */
} perf_curves;
typedef struct perf_curves_options {
    /* Selects series; NULL: all. */
    bool (*wants)(const perf_series *s, void *user);
    void *user;
    double threshold; /* of labels and steps; 0: labels from 1 % for counted metrics and 5 % for
                       * others, steps from the default of steps.h */
} perf_curves_options;
int perf_curves_load(perf_curves *out, hpc_history_db *d, const perf_curves_options *o);
void perf_curves_release(perf_curves *c);

/* Counts the commits at which the step may have happened; *first and *last unless NULL. */
int64_t perf_curve_suspects(int64_t *first, int64_t *last, const perf_curve *c, const perf_line *l,
                            const perf_step *s);

#endif
