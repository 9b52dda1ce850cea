/*
 * label.h: what the samples of two commits say of the change between them: how large it is,
 * how sure, and whether it is slower, the same or faster.
 *
 * Arrays of numbers alone: it knows of no database, no repository, and of nothing that was changed.
 */
#ifndef HPC_HISTORY_LABEL_H
#define HPC_HISTORY_LABEL_H

#include "runtime/base/base.h"

/* Every sample is a cost: finite, above 0, less of it is better. Noise adds up in logarithms, where
 * it is the same for short and long runs; all levels and scatters below are of logarithms. */
enum { PERF_RUNS_MOST = 1000 /* of one commit; later ones are not looked at */ };
typedef struct perf_samples { /* of one commit, in any order */
    const double *value;
    int64_t n; /* 0: it was not measured */
} perf_samples;

typedef enum perf_label { PERF_SLOWER, PERF_SAME, PERF_FASTER, PERF_UNDECIDED } perf_label;
const char *perf_label_name(perf_label l); /* "slower", "same", "faster", "undecided" */

/* ---- noise.c: the noise of a whole series ------------------------------------------------
 * Three samples know next to nothing of their own scatter; those of all commits of a series
 * together know it well. It is taken from the distances between samples of the same commit, so
 * that no change enters it. `sd` is the standard deviation of the normal noise that is as wide as
 * these distances are at their quantiles 1/2, 3/4 and 7/8, whichever is widest: a tail of outliers
 * hardly moves it. `wide` goes on to the quantile 15/16, for levels of fewer than 5 samples, which
 * are less safe from that tail. `tail` bounds it as Chebyshev would: a share of at most
 * (tail / x)^2 of the distances is beyond x, at each quantile 1 - 2^-k beyond which 4 of them are.
 * Further out it is taken to go on so: what was seen 20 times says nothing of what happens once in
 * 10,000. Who knows the noise without repeats fills this in, with a freedom of INFINITY. */
typedef struct perf_noise {
    double sd, wide, tail;
    double freedom; /* degrees of, that sd is worth; 0: unknown, there are no repeats */
} perf_noise;
int perf_noise_measure(perf_noise *out, const perf_samples *commit, int64_t n);
/* The same of n distances between two samples, in any order: they are put in order. Of quantiles
 * above `most` nothing is looked at; freedom stays as it is. */
void perf_noise_of(perf_noise *out, double *distance, int64_t n, double most);

/* Where a commit stands: the mean of its middle samples (of 1 or 2: all; else without the smallest
 * and the largest quarter, at least one each). Its variance is by the noise of the series, at least
 * `floor` squared for one sample. A commit whose own scatter is beyond what that noise shows in one
 * of 100 commits is judged by its own scatter: the machine was disturbed. From 5 samples on the
 * farthest does not count for that: one outlier is nothing then. */
typedef struct perf_level {
    double value, variance, freedom;
    double share; /* of the variance of one sample */
    bool own;     /* scatter */
} perf_level;
perf_level perf_level_of(const perf_samples *s, const perf_noise *noise, double floor); /* n > 0 */

double perf_median(double *v, int64_t n); /* n > 0; v is put in order */
double perf_normal_tail(double z);        /* probability beyond -z and z */
double perf_normal_limit(double tail);    /* its inverse */
/* The normal score of Student's t, and its inverse, by Wallace's approximation: within 1 % of the
 * tail from 10 degrees of freedom on, and wider than the truth below (at 2 by a quarter). */
double perf_student_score(double t, double freedom);
double perf_student_limit(double score, double freedom);

/* ---- rank.c: what needs no noise ---------------------------------------------------------
 * Mann and Whitney's test, two-sided: exact by the permutation distribution, ties and all, up to
 * PERF_RANK_EXACT samples together; by the normal approximation with corrections for ties and for
 * continuity beyond. */
enum { PERF_RANK_EXACT = 24 };
double perf_rank_test(const perf_samples *base, const perf_samples *head);
/* Benjamini and Hochberg: q[k] is the smallest rate of false discoveries at which p[k] is one. What
 * is NAN was not tested, counts for nothing and stays NAN. */
int perf_discovery_rates(double *q, const double *p, int64_t n);

/* ---- label.c: pairs of commits -----------------------------------------------------------
 * Two tests give p, and the numbers of samples pick one, so that no choice looks at values. The
 * rank test, if no noise is known, or if its smallest p (2 in C(base + head, base)) is below a
 * tenth of what would pass as the only discovery among all pairs: 6 against 6 for one pair at 5 %,
 * 11 against 11 for 500. Else (3 against 3 samples cannot get below 0.1 by ranks) Student's, of the
 * difference of the two levels above; and if one of them is of 1 or 2 samples, which can outvote no
 * outlier, p is at least what the tail of the noise allows. Where the noise is 0, as for counted
 * instructions, any difference has p = 0: then the threshold alone decides, and single samples do.
 *
 * The interval is the hull of two. One is the percentile bootstrap of the change. (Not BCa: its
 * acceleration is a jackknife's, and that of a median converges to nothing.) It cannot leave the
 * range of the samples: of 95 % intervals of 3 samples it covers 90, of 1 or 2 far less. So the
 * other, which widens it, is Student's about the difference of the levels, or that of the tail, by
 * the noise of the series; by the pair's own where the series has no repeats. Together they cover
 * 97 to 99 %.
 *
 * Slower or faster: q is at most `rate`, and the change beyond `threshold`. Same: the interval is
 * within `threshold`, whatever p: equivalence was shown, not difference missed. Else undecided.
 * False discoveries stay within the rate, also where noise has heavy tails
 * (tests/corpus/history/label.c), as long as it is independent. What cannot be
 * seen is a disturbance that shifts all samples of a commit alike: repeats should be interleaved
 * with those of other commits. */
typedef struct perf_rule {
    double threshold;  /* of the change, either way */
    double rate;       /* of false discoveries among slower and faster */
    double confidence; /* of the interval */
    double floor;      /* the relative standard deviation of a sample is never below */
    int64_t resamples;
    uint64_t seed;
} perf_rule;
#define PERF_RULE_DEFAULTS                                                                         \
    {                                                                                              \
        .threshold = 0.05, .rate = 0.05, .confidence = 0.95, .resamples = 1000, .seed = 1          \
    }

typedef struct perf_effect {
    double change;    /* median(head) / median(base) - 1 */
    double low, high; /* -1 and INFINITY: nothing is known */
    double p, q;      /* q over all pairs of the call; NAN: one of the two was not measured */
    bool ranked;      /* p is of the rank test */
    perf_label label;
} perf_effect;
/* Of n pairs of one series. */
int perf_effects(perf_effect *out, const perf_samples *base, const perf_samples *head, int64_t n,
                 const perf_noise *noise, const perf_rule *rule);
/* The percentile bootstrap alone; base and head have samples. */
int perf_bootstrap(double *low, double *high, const perf_samples *base, const perf_samples *head,
                   const perf_rule *rule);

#endif
