/*
 * label.h: the change between two commits by their samples: its size, its interval, and a label:
 * slower, same, faster or undecided.
 *
 * It works on arrays of numbers, without databases or repositories.
 */
#ifndef HPC_HISTORY_LABEL_H
#define HPC_HISTORY_LABEL_H

#include "runtime/base/base.h"

/* Every sample is a cost: finite, above 0, less is better. Noise is additive in logarithms, where
 * it does not depend on the length of runs. All levels and spreads below are of logarithms. */
enum { PERF_RUNS_MOST = 1000 /* of one commit; later runs are ignored */ };
typedef struct perf_samples { /* of one commit, in any order */
    const double *value;
    int64_t n; /* 0: it was not measured */
} perf_samples;

typedef enum hpc_history_label {
    HPC_HISTORY_SLOWER,
    HPC_HISTORY_SAME,
    HPC_HISTORY_FASTER,
    HPC_HISTORY_UNDECIDED
} hpc_history_label;
/* "slower", "same", "faster", "undecided" */
const char *hpc_history_label_name(hpc_history_label l);

/* ---- noise.c: the noise of a whole series ------------------------------------------------
 * The spread of three samples is unreliable; that of the samples of all commits is not. The noise
 * is estimated from distances between samples of the same commit, so that changes do not affect it.
 * `sd` is the standard deviation of normal noise whose distances reach the measured quantile 1/2,
 * 3/4 or 7/8, whichever gives the largest: a tail of outliers hardly affects it. `wide` also uses
 * the quantile 15/16; it serves levels of fewer than 5 samples, which are more sensitive to the
 * tail. `tail` is a bound as by Chebyshev: a share of at most (tail / x)^2 of the distances exceeds
 * x, at each quantile 1 - 2^-k with at least 4 distances above it. The bound is extrapolated
 * beyond these quantiles. Callers that know the noise without repeats set freedom to INFINITY. */
typedef struct perf_noise {
    double sd, wide, tail;
    double freedom; /* degrees of freedom of sd; 0: unknown, no repeats */
} perf_noise;
int perf_noise_measure(perf_noise *out, const perf_samples *commit, int64_t n);
/* The same for n distances between two samples, which it sorts. It ignores quantiles above `most`
 * and leaves freedom unchanged. */
void perf_noise_of(perf_noise *out, double *distance, int64_t n, double most);

/* The level of a commit: the mean of its middle samples (all of 1 or 2; else without the smallest
 * and the largest quarter, at least one each). Its variance comes from the noise of the series, at
 * least `floor` squared per sample. A commit whose own spread has a probability below 1 % under
 * that noise uses its own spread: the machine was disturbed. From 5 samples on, that test ignores
 * the farthest sample, so that one outlier does not decide. */
typedef struct perf_level {
    double value, variance, freedom;
    double share; /* of the variance of one sample */
    bool own;     /* variance is of its own samples */
} perf_level;
perf_level perf_level_of(const perf_samples *s, const perf_noise *noise, double floor); /* n > 0 */

double perf_median(double *v, int64_t n); /* n > 0; sorts v */
double perf_normal_tail(double z);        /* probability beyond -z and z */
double perf_normal_limit(double tail);    /* its inverse */
/* The normal score of Student's t, and its inverse, by Wallace's approximation: within 1 % of the
 * tail from 10 degrees of freedom on, and wider than the truth below (at 2 by a quarter). */
double perf_student_score(double t, double freedom);
double perf_student_limit(double score, double freedom);

/* ---- rank.c: tests that need no noise ---------------------------------------------------------
 * Mann and Whitney's test, two-sided: exact by the permutation distribution, ties and all, up to
 * PERF_RANK_EXACT samples together; by the normal approximation with corrections for ties and for
 * continuity beyond. */
enum { PERF_RANK_EXACT = 24 };
double perf_rank_test(const perf_samples *base, const perf_samples *head);
/* Benjamini and Hochberg: q[k] is the smallest rate of false discoveries at which p[k] is a
 * discovery. NAN in p means not tested: it is ignored and stays NAN. */
int perf_discovery_rates(double *q, const double *p, int64_t n);

/* ---- label.c: pairs of commits -----------------------------------------------------------
 * One of two tests gives p. The numbers of samples select it, so that the choice does not depend on
 * values. The rank test is used if the noise is unknown. It is also used if its smallest p, 2 in
 * C(base + head, base), is below a tenth of the p that a single discovery among all pairs needs.
 * That takes 6 against 6 samples for one pair at 5 %, and 11 against 11 for 500. Otherwise the test
 * is Student's, of the difference of the two levels: 3 against 3 samples, for example, cannot get
 * below 0.1 by ranks. If a side has only 1 or 2 samples, which cannot outvote an outlier, p is at
 * least the bound from the tail of the noise. Where the noise is 0, as for counted instructions,
 * any difference has p = 0: the threshold alone decides, and single samples suffice.
 *
 * The interval is the hull of two. The first is the percentile bootstrap of the change. (Not BCa:
 * its acceleration is a jackknife's, which does not converge for a median.) It cannot leave the
 * range of the samples: a 95 % interval covers 90 % with 3 samples, and far less with 1 or 2. The
 * second is Student's interval of the difference of the levels, or that of the tail, with the noise
 * of the series, or of the pair where the series has no repeats. The hull covers 97 to 99 %.
 *
 * Slower or faster: q is at most `rate`, and the change exceeds `threshold`. Same: the interval is
 * within `threshold`, for any p: this shows equivalence. Otherwise undecided. False discoveries
 * stay within the rate, also for noise with heavy tails (tests/history/label.c), if it is
 * independent. A disturbance that shifts all samples of a commit is not visible: interleave repeats
 * with those of other commits. */
typedef struct perf_rule {
    double threshold;  /* of the change, in both directions */
    double rate;       /* of false discoveries among slower and faster */
    double confidence; /* of the interval */
    double floor;      /* smallest relative standard deviation of a sample */
    int64_t resamples;
    uint64_t seed;
} perf_rule;
#define PERF_RULE_DEFAULTS                                                                         \
    {                                                                                              \
        .threshold = 0.05, .rate = 0.05, .confidence = 0.95, .resamples = 1000, .seed = 1          \
    }

typedef struct perf_effect {
    double change;    /* median(head) / median(base) - 1 */
    double low, high; /* -1 and INFINITY: unknown */
    double p, q;      /* q: over all pairs of the call; NAN: a side has no samples */
    bool ranked;      /* p comes from the rank test */
    hpc_history_label label;
} perf_effect;
/* Judges n pairs of one series. */
int perf_effects(perf_effect *out, const perf_samples *base, const perf_samples *head, int64_t n,
                 const perf_noise *noise, const perf_rule *rule);
/* The percentile bootstrap only; base and head have samples. */
int perf_bootstrap(double *low, double *high, const perf_samples *base, const perf_samples *head,
                   const perf_rule *rule);

#endif
