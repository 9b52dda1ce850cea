/*
 * classifier.h: interface to a language model that classifies the change of one function as
 * slower, same or faster. infer/pairs implements it with a transformer.
 */
#ifndef HPC_PERF_CLASSIFIER_H
#define HPC_PERF_CLASSIFIER_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_perf_texts { /* a function before (base) and after (head) a change */
    const char *path;
    const char *base, *head; /* not terminated; "": the function does not exist */
    size_t base_n, head_n;
} hpc_perf_texts;
typedef struct hpc_perf_pair { /* two token sequences, the one of head directly after base */
    const int32_t *id;
    int64_t base_n, n; /* tokens of base; tokens of both */
} hpc_perf_pair;

typedef struct hpc_perf_classifier { /* one thread uses it at a time */
    void *self;
    int64_t length; /* most tokens of a pair, at least 2 */
    /* Writes the pair to id[0..most) and sets base_n and n. It drops tokens far from the
     * difference first. 2 <= most <= length. */
    int (*encode)(int64_t *base_n, int64_t *n, int32_t *id, void *self, const hpc_perf_texts *t,
                  int64_t most);
    /* Sets the logits of each pair: slower, same, faster. They do not depend on other pairs. */
    int (*classify)(float (*logits)[3], void *self, const hpc_perf_pair *pair, int64_t n);
    void (*close)(void *self);
} hpc_perf_classifier;

#ifdef __cplusplus
}
#endif
#endif
