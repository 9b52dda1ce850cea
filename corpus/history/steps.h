/*
 * steps.h: at which commits of a series the level of its cost changed for good, and how sure
 * that is.
 *
 * Pairs of neighbours are label.h's: a step is seen by all commits before and after it, so
 * that it is found where no pair shows it. Arrays alone: it knows of no database and no repository.
 */
#ifndef HPC_HISTORY_STEPS_H
#define HPC_HISTORY_STEPS_H

#include "corpus/history/label.h"

/* The best cut of the series into levels, constant ones or (from 16 commits on, at the price of a
 * step) such that drift along a line: least squares of the commits' levels (perf_level_of, in
 * logarithms), weighted by their precision, with a penalty for each step, exactly and in n^2 (what
 * PELT computes; its pruning gains nothing where steps are few, as here). Not E-divisive: that
 * needs permutations for its p, and cannot use what repeats tell of the noise.
 *
 * Noise: of repeats, over the whole series; where neighbouring commits differ by more than that, as
 * by the layout of each build, or where there are no repeats (then of more than 8 commits), of
 * neighbours' differences, by quantiles that steps do not reach. Slow noise (a machine that is
 * warm for an hour) adds up over many commits, so that many of them are worth less than they seem:
 * if means of 4 to 32 commits, apart from clear steps, scatter more than independent noise would,
 * all variances grow by that factor. That takes power where noise is slow, and only there. What
 * it cannot mend: a machine that stays slower for ten commits and more looks like a program that
 * does (of noise correlated by 0.9 from one commit to the next: 2 to 4 false steps in 500).
 *
 * One commit alone is no level: what is farther off than 4 standard deviations from both neighbours
 * is left out, so that an outlier makes no step, nor hides one. Nor are two with less than 3
 * samples each: these are compared with the median of five. But the last commit of all may be a new
 * level: it may just have happened, and p says how sure that is. (Steps of p above 1 - confidence
 * are left out: of 1 or 2 samples in noise with a tail nobody knows.) */
typedef struct perf_steps_rule {
    double alarms;     /* false steps for each commit, where nothing changes; 1e-5 to 0.01 */
    double confidence; /* of intervals and of ranges */
    double threshold;  /* smaller steps, either way, are left out */
    double floor;      /* the relative standard deviation of a sample is never below */
} perf_steps_rule;
#define PERF_STEPS_DEFAULTS                                                                        \
    {                                                                                              \
        .alarms = 0.0005, .confidence = 0.95, .threshold = 0.005                                   \
    }

typedef struct perf_step {
    int64_t at;               /* first commit that was measured at the new level */
    int64_t first, last;      /* with the confidence it happened at one of these, measured or not */
    double change, low, high; /* of the levels before and after */
    double p; /* of a step this clear somewhere between the steps before and after, by noise */
} perf_step;
typedef struct perf_stretch { /* a level, or one that drifts */
    int64_t first, last;      /* commits that were measured */
    double value[2];          /* the cost at both */
    double low[2], high[2];   /* with the confidence */
} perf_stretch;
typedef struct perf_steps {
    perf_step *item; /* in order */
    int64_t n, cap;
    perf_stretch *stretch; /* in order; what lies between two may be too small for a step */
    int64_t stretches_n, stretches_cap;
    double noise; /* relative standard deviation of a sample; 0: unknown, so nothing was found */
    double waves; /* factor by which slow noise made variances larger; 1: there is none */
    int64_t drifts_n; /* levels that drift */
} perf_steps;
int perf_steps_find(perf_steps *out, const perf_samples *commit, int64_t n,
                    const perf_steps_rule *rule);
void perf_steps_release(perf_steps *s);

#endif
