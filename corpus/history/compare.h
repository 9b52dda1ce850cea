/*
 * compare.h: what the samples of a performance history say of pairs of commits, in the series that
 * a collection with these options adds to.
 */
#ifndef HPC_HISTORY_COMPARE_H
#define HPC_HISTORY_COMPARE_H

#include "corpus/history/history.h"

typedef struct history_pair {
    hpc_git_id base, head;
    /* what it comes to: */
    perf_label label;
    double change;      /* of the metric that says it most; 0 when undecided */
    const char *metric; /* its name, of the options; NULL when undecided */
    bool measured;      /* both have samples of every metric */
} history_pair;
/* Over all metrics: slower, or faster, if some say so and none the opposite; the same if all do;
 * else undecided. Each metric by its threshold, with the noise of all commits that its series has,
 * and a bound on false discoveries among all n pairs (label.h). */
int history_compare(history_pair *pair, int64_t n, const history_options *o);
/* Whether a commit has samples of every metric. */
int history_has(bool *out, const hpc_git_id *commit, int64_t n, const history_options *o);

#endif
