/*
 * language.h: opinion of a language model about commits: slower, same or faster, by comparing each
 * changed function before and after.
 *
 * The model reads the functions of a commit whose code differs, those with most changed lines
 * first, up to the limits. The opinion about a commit is the mean of the log-probabilities of its
 * functions, weighted by changed lines and normalised: in training, each function has the label of
 * its commit.
 *
 * The result for a function does not depend, bit for bit, on other commits, their order or the
 * number of threads, unless the limit of the range is reached.
 */
#ifndef HPC_PERF_LANGUAGE_H
#define HPC_PERF_LANGUAGE_H

#include "infer/perf/classifier.h"
#include "infer/perf/feature.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_perf_language_limits {
    int64_t functions; /* of a commit */
    int64_t tokens;    /* of a commit, both sides of all its functions */
    int64_t length;    /* tokens of a function, both sides; longer ones are cut near the change */
    int64_t range;     /* tokens of all added commits; functions of least weight are left out */
} hpc_perf_language_limits;
#define HPC_PERF_LANGUAGE_LIMITS_DEFAULTS                                                          \
    {                                                                                              \
        .functions = 8, .tokens = 2048, .length = 512, .range = 1 << 18                            \
    }

typedef struct hpc_perf_language_opinion { /* about a function */
    int64_t function;                      /* in its change */
    int64_t weight;                        /* changed lines, at least 1 */
    int64_t tokens;                        /* read; 0: left out */
    double logp[3];                        /* slower, same, faster */
} hpc_perf_language_opinion;
typedef struct hpc_perf_language_result { /* about a commit */
    bool known;                           /* at least one function was read; else logp is unset */
    double logp[3];
    const hpc_perf_language_opinion *function; /* by weight; valid until the next add or clear */
    int64_t n;
    int64_t left_out; /* functions that differ but exceed the limits */
} hpc_perf_language_result;

typedef struct hpc_perf_language hpc_perf_language; /* one thread uses it at a time */
/* Takes the classifier: hpc_perf_language_close closes it. After an error the caller keeps it.
 * limits NULL: the defaults; a length above the classifier's is reduced to it. */
int hpc_perf_language_open(hpc_perf_language **out, const hpc_perf_classifier *classifier,
                           const hpc_perf_language_limits *limits);
void hpc_perf_language_close(hpc_perf_language *l);
void hpc_perf_language_clear(hpc_perf_language *l); /* drops all commits */
/* Adds a commit; numbers start at 0. Copies what it needs of the change. */
int hpc_perf_language_add(hpc_perf_language *l, const hpc_perf_change *c);
/* Classifies the functions of all added commits in batches. */
int hpc_perf_language_run(hpc_perf_language *l);
/* 0 <= i < commits added; after a run. */
void hpc_perf_language_result_of(hpc_perf_language_result *out, const hpc_perf_language *l,
                                 int64_t i);
/* Sets the features language_changed and language_slower of a commit or function; logp NULL: to 0.
 * A learner (learn.h) may use opinions only of a model that was not trained on the labels of its
 * examples. Else it learns a confidence that the model does not have on new commits. */
void hpc_perf_language_put(hpc_perf_vector *x, const double logp[3]);
/* Totals of a run. */
typedef struct hpc_perf_language_counts {
    int64_t read, left_out; /* functions */
    int64_t tokens;
} hpc_perf_language_counts;
hpc_perf_language_counts hpc_perf_language_counts_of(const hpc_perf_language *l);

#ifdef __cplusplus
}
#endif
#endif
