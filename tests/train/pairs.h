/*
 * pairs.h: plans that have between them each pair of what a plan and a model may have: each
 * axis, stage, halves, overlap, tokens split over row and pruning, with dropout, clipping, a tied
 * head and grouped queries.
 */
#ifndef HPC_TESTS_TRAIN_PAIRS_H
#define HPC_TESTS_TRAIN_PAIRS_H

#include <stddef.h>

enum {
    DATA,
    DEPTH,
    ROW,
    COL,
    ZERO,
    HALVES,
    PRUNED,
    DROPOUT,
    CLIP,
    TIED,
    GROUPED,
    OVERLAP,
    SEQUENCE,
    FACTORS
};

/* How many values each has, the least of them: axes have 1 or 2 ranks. */
static const int factor_values[FACTORS] = {2, 2, 2, 2, 4, 2, 2, 2, 2, 2, 2, 2, 2};
static const int factor_first[FACTORS] = {1, 1, 1, 1};

typedef struct pair_plan {
    int of[FACTORS];
} pair_plan;

static const pair_plan pair_plans[] = {
    {{1, 1, 1, 2, 0, 1, 1, 0, 0, 0, 1, 0, 0}}, {{1, 2, 2, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0}},
    {{2, 1, 1, 1, 2, 1, 0, 1, 1, 1, 1, 0, 0}}, {{2, 2, 1, 2, 3, 0, 0, 0, 1, 0, 0, 0, 0}},
    {{2, 1, 2, 2, 1, 0, 1, 1, 1, 0, 1, 1, 0}}, {{1, 2, 2, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1}},
    {{1, 2, 2, 2, 2, 1, 0, 0, 0, 1, 0, 1, 1}}, {{1, 1, 2, 1, 3, 1, 0, 1, 0, 1, 1, 1, 1}},
    {{2, 2, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0}}, {{2, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}},
    {{1, 2, 1, 1, 2, 0, 0, 0, 1, 0, 1, 0, 1}}};
enum { PAIR_PLANS = sizeof pair_plans / sizeof *pair_plans };

static inline int pair_ranks(const pair_plan *p)
{
    return p->of[DATA] * p->of[DEPTH] * p->of[ROW] * p->of[COL];
}

#endif
