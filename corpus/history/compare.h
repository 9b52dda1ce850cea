/*
 * compare.h: judges pairs of commits by their samples in the series of a collection's options.
 */
#ifndef HPC_HISTORY_COMPARE_H
#define HPC_HISTORY_COMPARE_H

#include "corpus/history/history.h"

typedef struct hpc_history_comparison {
    hpc_git_id base, head;
    /* results: */
    hpc_history_label label;
    double change;      /* of the metric with the largest change; 0 if undecided */
    const char *metric; /* its name, borrowed from the options; NULL if undecided */
    bool measured;      /* both have samples of every metric */
} hpc_history_comparison;
/* Label over all metrics: slower or faster if some metrics are and none is the opposite; the same
 * if all are; else undecided. Each metric has its own threshold, the noise of all commits of its
 * series, and a bound on false discoveries among all n pairs (label.h). */
int hpc_history_compare(hpc_history_comparison *pair, int64_t n, const hpc_history_options *o);
/* out[k]: commit k has samples of every metric. */
int hpc_history_has(bool *out, const hpc_git_id *commit, int64_t n, const hpc_history_options *o);

#endif
