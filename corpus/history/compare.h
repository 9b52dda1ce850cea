/*
 * compare.h: judges pairs of commits by their samples in the series of a collection's options.
 */
#ifndef HPC_HISTORY_COMPARE_H
#define HPC_HISTORY_COMPARE_H

#include "corpus/history/history.h"

typedef struct history_pair {
    hpc_git_id base, head;
    /* results: */
    perf_label label;
    double change;      /* of the metric with the largest change; 0 if undecided */
    const char *metric; /* its name, borrowed from the options; NULL if undecided */
    bool measured;      /* both have samples of every metric */
} history_pair;
/* Label over all metrics: slower or faster if some metrics are and none is the opposite; the same
 * if all are; else undecided. Each metric has its own threshold, the noise of all commits of its
 * series, and a bound on false discoveries among all n pairs (label.h). */
int history_compare(history_pair *pair, int64_t n, const history_options *o);
/* out[k]: commit k has samples of every metric. */
int history_has(bool *out, const hpc_git_id *commit, int64_t n, const history_options *o);

#endif
