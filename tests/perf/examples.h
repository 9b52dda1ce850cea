/*
 * examples.h: examples with a known rule, for tests of learning.
 */
#ifndef HPC_TESTS_PERF_EXAMPLES_H
#define HPC_TESTS_PERF_EXAMPLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/learn.h"

typedef struct planted { /* a rule: which features matter, and how much */
    double strength;     /* their effect on the log-odds; INFINITY: deterministic */
    double changed;      /* log-odds of a change without any of them */
    int groups;
} planted;

static inline double drawn(uint64_t seed, uint64_t index)
{
    return hpc_random_uniform(hpc_random_bits(seed, 0, 0, index));
}

static inline void set(hpc_perf_vector *x, const char *feature, double value)
{
    int i = hpc_perf_feature_named(feature);
    assert_true(i >= 0);
    x->value[i] = value;
}

/* A number of either sign, usually 0. */
static inline double some(uint64_t seed, uint64_t *at)
{
    double u = drawn(seed, (*at)++), v = drawn(seed, (*at)++);
    return u < 0.6 ? 0 : floor(v * 7) - 3;
}

/* The rule: more allocations and divisions in loops are slower; other features are noise. */
static inline double planted_score(const hpc_perf_vector *x)
{
    return x->value[hpc_perf_feature_named("allocations_work")] +
           x->value[hpc_perf_feature_named("divisions_work")];
}

static inline hpc_perf_example planted_example(const planted *rule, uint64_t seed, int64_t index)
{
    hpc_perf_example e = {.time = 1700000000 + index, .group = index % rule->groups};
    uint64_t at = (uint64_t)index * 64;
    set(&e.x, "allocations_work", some(seed, &at));
    set(&e.x, "divisions_work", some(seed, &at));
    set(&e.x, "loads_work", some(seed, &at));
    set(&e.x, "branches_work", some(seed, &at));
    set(&e.x, "calls", some(seed, &at));
    set(&e.x, "inline", some(seed, &at));
    set(&e.x, "lines_added", 8 * drawn(seed, at++));
    set(&e.x, "lines_removed", 8 * drawn(seed, at++));
    set(&e.x, "tokens_added", 1 + 8 * drawn(seed, at++));
    set(&e.x, "files", 1);
    double score = planted_score(&e.x), u = drawn(seed, at++), v = drawn(seed, at++);
    double changed = 1 / (1 + exp(-rule->changed - rule->strength * fabs(score)));
    double slower = 1 / (1 + exp(-rule->strength * score));
    if (isinf(rule->strength)) changed = score != 0, slower = score > 0;
    e.label = u >= changed ? HPC_PERF_SAME : v < slower ? HPC_PERF_SLOWER : HPC_PERF_FASTER;
    e.change = e.label == HPC_PERF_SAME ? 0 : e.label == HPC_PERF_SLOWER ? 0.1 : -0.1;
    return e;
}

/* n examples; the caller frees. */
static inline hpc_perf_example *planted_examples(const planted *rule, uint64_t seed, int64_t n)
{
    hpc_perf_example *e = calloc((size_t)n, sizeof *e);
    assert_non_null(e);
    for (int64_t k = 0; k < n; k++) e[k] = planted_example(rule, seed, k);
    return e;
}

#endif
