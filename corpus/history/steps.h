/*
 * steps.h: change points: commits at which the level of a series changed permanently, with their
 * certainty.
 *
 * label.h compares neighbours. A step uses all commits before and after it, and is found where no
 * pair shows it. It works on arrays of numbers, without databases or repositories.
 */
#ifndef HPC_HISTORY_STEPS_H
#define HPC_HISTORY_STEPS_H

#include "corpus/history/label.h"

/* The optimal segmentation into levels, constant ones or, from 16 commits on and for the price of a
 * step, linear drifts. It minimises squares of the commits' levels (perf_level_of, logarithms),
 * weighted by precision, plus a penalty per step, exactly and in O(n^2). PELT computes the same;
 * its pruning does not help where steps are rare. E-divisive would need permutations for p and
 * cannot use the noise that repeats show.
 *
 * The noise comes from repeats, over the whole series. If neighbouring commits differ by more than
 * that, as by the layout of each build, or without repeats and with more than 8 commits, it comes
 * from quantiles of differences between neighbours, which steps do not affect. Slow noise, such as
 * a machine that is warm for an hour, correlates many commits. If means of 4 to 32 commits, without
 * clear steps, vary more than independent noise would, all variances grow by that factor. This
 * costs power only where noise is slow. It does not help if the machine stays slower for ten
 * commits or more: with correlation 0.9 between neighbours there are 2 to 4 false steps in 500
 * commits.
 *
 * A single commit is not a level: one that is more than 4 standard deviations from both neighbours
 * is left out, so that an outlier neither makes nor hides a step. Two with fewer than 3 samples
 * each are compared with the median of five and left out likewise. The last commit may be a new
 * level, and p gives its certainty. Steps with p above 1 - confidence are left out: they have 1 or
 * 2 samples in noise with an unknown tail. */
typedef struct perf_steps_rule {
    double alarms;     /* expected false steps per commit without changes; 1e-5 to 0.01 */
    double confidence; /* of intervals and of ranges */
    double threshold;  /* smaller steps in both directions are left out */
    double floor;      /* smallest relative standard deviation of a sample */
} perf_steps_rule;
#define PERF_STEPS_DEFAULTS                                                                        \
    {                                                                                              \
        .alarms = 0.0005, .confidence = 0.95, .threshold = 0.005                                   \
    }

typedef struct perf_step {
    int64_t at;               /* first measured commit at the new level */
    int64_t first, last;      /* it happened between these, with the confidence */
    double change, low, high; /* of the levels before and after */
    double p;                 /* probability of such a step by noise, between the steps around it */
} perf_step;
typedef struct perf_stretch { /* a constant or drifting level */
    int64_t first, last;      /* measured commits */
    double value[2];          /* the cost at both */
    double low[2], high[2];   /* with the confidence */
} perf_stretch;
typedef struct perf_steps {
    perf_step *item; /* in order */
    int64_t n, cap;
    perf_stretch *stretch; /* in order; the difference of two may be too small for a step */
    int64_t stretches_n, stretches_cap;
    double noise;     /* relative standard deviation of a sample; 0: unknown, and no steps */
    double waves;     /* factor on variances for slow noise; 1: none */
    int64_t drifts_n; /* drifting levels */
} perf_steps;
int perf_steps_find(perf_steps *out, const perf_samples *commit, int64_t n,
                    const perf_steps_rule *rule);
void perf_steps_release(perf_steps *s);

#endif
