/*
 * language.h: what a language model makes of changes: whether a commit is slower, the same or
 * faster, by comparing the functions that it changed with what they were.
 *
 * The model is one that `train --objective pairs --classes 3` made of shards of task perf; a change
 * is shown to it as those show it: model/compare.h. Of a commit the functions whose code differs
 * are compared, those with most changed lines first, as far as limits go.
 *
 * What is said of a commit is the mean of the logarithms of its functions' probabilities, weighted
 * by changed lines, and then made to sum to 1: the model learnt each function with the label of its
 * whole commit. A function's bits do not depend on what else is added, on its order, or on threads,
 * unless the limit of the range is reached.
 */
#ifndef HPC_PERF_LANGUAGE_H
#define HPC_PERF_LANGUAGE_H

#include "infer/perf/feature.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_perf_language_limits {
    int64_t functions; /* of a commit */
    int64_t tokens;    /* of a commit, both sides of all of its functions */
    int64_t length;    /* of a function, both sides; what is longer is cut around the change */
    int64_t range;     /* of all commits that are added; functions of least weight go without */
} hpc_perf_language_limits;
#define HPC_PERF_LANGUAGE_LIMITS_DEFAULTS                                                          \
    {                                                                                              \
        .functions = 8, .tokens = 2048, .length = 512, .range = 1 << 18                            \
    }

typedef struct hpc_perf_language_opinion { /* of a function */
    int64_t function;                      /* in its change */
    int64_t weight;                        /* changed lines, 1 at least */
    int64_t tokens;                        /* that were read; 0: it went without */
    double logp[3];                        /* slower, same, faster */
} hpc_perf_language_opinion;
typedef struct hpc_perf_language_said { /* of a commit */
    bool known;                         /* a function of it was read; else there is nothing below */
    double logp[3];
    const hpc_perf_language_opinion *function; /* by weight; good until the next add or clear */
    int64_t n;
    int64_t left_out; /* functions that differ and for which there was no room */
} hpc_perf_language_said;

typedef struct hpc_perf_language hpc_perf_language; /* belongs to one thread */
/* A directory or a FILE.gguf, with its tokenizer. HPC_E_ARG: its head compares no pairs for three
 * classes. limits NULL: the defaults; a length above the model's positions becomes these. threads
 * 0: one per core. */
int hpc_perf_language_open(hpc_perf_language **out, const char *model,
                           const hpc_perf_language_limits *limits, int threads);
void hpc_perf_language_close(hpc_perf_language *l);
void hpc_perf_language_clear(hpc_perf_language *l); /* forgets all commits */
/* The next commit, from 0: what of it will be read is taken over, the change may go. */
int hpc_perf_language_add(hpc_perf_language *l, const hpc_perf_change *c);
/* Reads all that was added, many functions at a time. */
int hpc_perf_language_run(hpc_perf_language *l);
/* 0 <= i < commits added, behind a run. */
void hpc_perf_language_judge(hpc_perf_language_said *out, const hpc_perf_language *l, int64_t i);
/* What is said of a commit, or of a function, into its features language_changed and
 * language_slower, which are 0 where nothing is said (logp NULL). A learner (learn.h) may read what
 * a model says of examples whose labels that model did not learn from, and no other: else it learns
 * to believe what it will not hear again. */
void hpc_perf_language_put(hpc_perf_vector *x, const double logp[3]);
/* In all of a run: functions read, and left out, as commits are; tokens. */
typedef struct hpc_perf_language_counts {
    int64_t read, left_out, tokens;
} hpc_perf_language_counts;
hpc_perf_language_counts hpc_perf_language_counts_of(const hpc_perf_language *l);

#ifdef __cplusplus
}
#endif
#endif
