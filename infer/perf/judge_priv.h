/*
 * judge_priv.h: what is said of a commit that was left out, who says it, and what that is worth.
 */
#ifndef HPC_PERF_JUDGE_PRIV_H
#define HPC_PERF_JUDGE_PRIV_H

#include "infer/perf/judge.h"

typedef struct judge_said {
    double p[3];
    hpc_perf_verdict verdict; /* of the learner; else UNKNOWN */
} judge_said;
typedef struct judge_set { /* of the examples, those of one side of a split */
    const hpc_perf_example *e;
    const hpc_perf_bag *bag; /* or NULL */
    const int64_t *at;
    int64_t n;
} judge_set;

/* judge_rival.c: what a rival says of `test`, learnt from `train`; by place in the examples. */
int judge_rival_say(judge_said *said, hpc_perf_rival r, const judge_set *train,
                    const judge_set *test);

/* judge_figure.c: of n commits, what each rival said of them; group: their repositories. */
int judge_figures(hpc_perf_judgement *out, const hpc_perf_verdict *label, const int64_t *group,
                  const judge_said *said[HPC_PERF_RIVALS], int64_t n, int64_t resamples,
                  uint64_t seed);

#endif
