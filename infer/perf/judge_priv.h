/*
 * judge_priv.h: predictions for examples that were left out, the baselines, and quality figures.
 */
#ifndef HPC_PERF_JUDGE_PRIV_H
#define HPC_PERF_JUDGE_PRIV_H

#include "infer/perf/judge.h"

typedef struct judge_prediction {
    double p[3];
    hpc_perf_verdict verdict; /* of the learner; UNKNOWN for baselines */
} judge_prediction;
typedef struct judge_set { /* one side of a split */
    const hpc_perf_example *e;
    const hpc_perf_bag *bag; /* or NULL */
    const int64_t *at;
    int64_t n;
} judge_set;

/* judge_baseline.c: trains on `train` and predicts `test`; predicted is indexed by example. */
int judge_baseline_predict(judge_prediction *predicted, hpc_perf_method r, const judge_set *train,
                           const judge_set *test);

/* judge_figure.c: figures over n commits, from the predictions of each classifier. group: their
 * repositories. */
int judge_figures(hpc_perf_judgement *out, const hpc_perf_verdict *label, const int64_t *group,
                  const judge_prediction *predicted[HPC_PERF_METHODS], int64_t n, int64_t resamples,
                  uint64_t seed);

#endif
