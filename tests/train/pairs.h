/*
 * pairs.h: training plans that together cover all pairs of values of: each axis, ZeRO stage,
 * overdecomposition, overlap, sequence parallelism, pruning, dropout, clipping, tied head and
 * grouped queries.
 */
#ifndef HPC_TESTS_TRAIN_PAIRS_H
#define HPC_TESTS_TRAIN_PAIRS_H

#include "tests/train/ranks.h"

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

/* Number of values of each factor. Axes have 1 or 2 ranks. */
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

static inline int draw(float *out, const hpc_mask *m, void *user)
{
    uint64_t h = hpc_hash(m->name, strlen(m->name), 0);
    (void)user;
    for (int64_t i = 0; i < m->n; i++) out[i] = (float)hpc_random_bits(h, 5, 0, (uint64_t)i);
    return HPC_OK;
}

static inline hpc_masks *mask(const hpc_model_config *c)
{
    hpc_masks *m;
    test_ok(hpc_masks_create(&m, c));
    test_ok(hpc_masks_choose(m, &(hpc_prune_config){.asked = true, .sparsity = 0.8}, draw, NULL));
    return m;
}

/* The plan's model on one rank. AdamW in f64 only, else SGD: where a gradient is only rounding
 * error, AdamW's first steps are as long as elsewhere. */
static inline job *for_one(hpc_test_folder *f, const pair_plan *p, hpc_dtype dtype, hpc_masks **m)
{
    job *one = start(f, dtype == HPC_F64 ? HPC_OPT_ADAMW : HPC_OPT_SGD, NULL);
    hpc_model_config *c = &one->o.model;
    c->dtype = dtype;
    c->dropout = p->of[DROPOUT] ? 0.2 : 0;
    c->tied = p->of[TIED];
    c->kv_heads = p->of[GROUPED] ? c->heads / 2 : c->heads;
    one->o.step.clip = p->of[CLIP] ? 0.5 : 0;
    one->steps = FEW;
    *m = p->of[PRUNED] ? mask(c) : NULL;
    one->o.masks = *m;
    return one;
}

static inline void run_alone(job *one)
{
    run_job(one);
    if (one->o.step.clip > 0) assert_true(one->norm[0] > one->o.step.clip);
}

static inline job *by_one(hpc_test_folder *f, const pair_plan *p, hpc_dtype dtype, hpc_masks **m)
{
    job *one = for_one(f, p, dtype, m);
    run_alone(one);
    return one;
}

static inline job *by_all(const job *one, const pair_plan *p)
{
    job *many = hpc_alloc(1, sizeof *many);
    assert_non_null(many);
    many->o = one->o;
    many->source = one->source;
    many->steps = one->steps;
    put_grid(many, &(grid){p->of[DATA], p->of[DEPTH], p->of[ROW], p->of[COL], p->of[ZERO], false});
    many->o.parallel.halves = p->of[HALVES];
    many->o.parallel.overlap = p->of[OVERLAP];
    many->o.parallel.ahead = 1;
    many->o.parallel.sequence = p->of[SEQUENCE];
    return many;
}

/* Does the trainer accept the job, or reject it with a reason? */
static inline bool may_start(const job *j, bool pruned)
{
    hpc_parallel q = j->o.parallel;
    int rc;
    q.grid = j->shape;
    TRY(hpc_parallel_check(&q, &j->o.model, j->o.rows, j->o.length));
    TRY(hpc_prune_check(&(hpc_prune_config){.asked = pruned, .sparsity = 0.8}, &j->o.optimizer,
                        &j->o.model, &q));
out:
    if (rc >= 0) return true;
    assert_true(rc == HPC_E_SHAPE || rc == HPC_E_UNSUPPORTED);
    assert_true(strlen(hpc_error_get()->text) > 0);
    hpc_error_clear();
    return false;
}

#endif
