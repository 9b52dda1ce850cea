/*
 * drawn.c: random models and plans: for any valid combination of axes, ZeRO stages,
 * overdecomposition, overlap, sequence parallelism, pruning, recomputation, optimizers and layers,
 * the steps equal those of one rank.
 *
 * A few; with HPC_TEST_LONG=1 two hundred. HPC_TEST_SEED=N starts at seed N.
 */
/* tsan: left out, other tests start the same threads. */
#include <stdlib.h>

#include "tests/train/pairs.h"

typedef struct hat {
    uint32_t seed;
    uint64_t drawn;
} hat;

/* One of n. */
static int out_of(hat *h, int n)
{
    return (int)(hpc_random_bits(h->seed, 11, 0, h->drawn++) % (uint32_t)n);
}

static bool or_not(hat *h)
{
    return out_of(h, 2) == 1;
}

static void draw_model(hpc_model_config *c, hat *h)
{
    c->dtype = HPC_F64;
    c->layers = 1 + out_of(h, 3);
    c->kv_heads = 1 << out_of(h, 3);
    c->norm = or_not(h) ? HPC_LAYER : HPC_RMS;
    c->position = or_not(h) ? HPC_LEARNED : HPC_ROTARY;
    c->gated = or_not(h), c->tied = or_not(h), c->parallel = out_of(h, 3) == 0;
    c->qkv_bias = or_not(h), c->out_bias = or_not(h), c->mlp_bias = or_not(h);
    c->dropout = or_not(h) ? 0.15 : 0;
    c->window = out_of(h, 4) ? 0 : 5;
}

/* Adam divides a gradient by its size, were it rounding alone, but for eps. */
static void draw_step(hpc_trainer_options *o, hat *h)
{
    static const int kind[] = {HPC_OPT_SGD, HPC_OPT_MUON, HPC_OPT_SHAMPOO, HPC_OPT_JORGE_NEWTON,
                               HPC_OPT_JORGE_MOMENTUM};
    static const int length[] = {24, 12, 7, 16};
    o->optimizer.kind = out_of(h, 3) ? HPC_OPT_ADAMW : kind[out_of(h, 5)];
    o->optimizer.eps = 1e-6;
    o->length = length[out_of(h, 4)];
    o->accumulate = 1 + out_of(h, 2);
    o->documents = 1 + out_of(h, 6);
    o->step.recompute = out_of(h, HPC_RECOMPUTE_BLOCK + 1);
    o->step.recompute_blocks = out_of(h, 2);
    o->step.clip = or_not(h) ? 0.5 : 0;
}

static void draw_plan(job *j, hat *h)
{
    hpc_parallel *q = &j->o.parallel;
    grid g;
    int ranks;
    do {
        g = (grid){1 << out_of(h, 3), 1 << out_of(h, 3), 1 << out_of(h, 3),
                   1 << out_of(h, 3), out_of(h, 4),      or_not(h)};
        ranks = g.data * g.depth * g.row * g.col;
    } while (ranks == 1 || ranks > 8);
    put_grid(j, &g);
    q->sequence = out_of(h, 4) > 0;
    q->halves = or_not(h), q->overlap = or_not(h);
    q->ahead = out_of(h, 3);
    q->bucket_bytes = or_not(h) ? 4000 : 1 << 20;
}

/* Is the drawn combination valid? */
static bool runs(hpc_test_folder *f, uint32_t seed)
{
    hat h = {.seed = seed};
    job *one = start(f, HPC_OPT_ADAMW, NULL), *many = hpc_alloc(1, sizeof *many);
    assert_non_null(many);
    draw_model(&one->o.model, &h);
    draw_step(&one->o, &h);
    hpc_masks *m = out_of(&h, 4) ? NULL : mask(&one->o.model);
    one->o.masks = m;
    many->o = one->o;
    many->source = one->source;
    many->steps = one->steps;
    draw_plan(many, &h);
    bool may = may_start(many, m != NULL);
    if (may) {
        print_message("HPC_TEST_SEED=%u\n", seed);
        run_job(one);
        run_job(many);
        same(many, one, one->o.optimizer.kind > HPC_OPT_MUON ? 1e-10 : 1e-12);
    }
    hpc_masks_free(m);
    hpc_free(one);
    hpc_free(many);
    return may;
}

static void as_one_rank(void **state)
{
    const char *seed = getenv("HPC_TEST_SEED");
    const int n = getenv("HPC_TEST_LONG") ? 200 : 6;
    int ran = 0, refused = 0;
    for (uint32_t s = seed ? (uint32_t)atoi(seed) : 1; ran < n; s++) {
        bool may = runs(*state, s);
        ran += may;
        refused += !may;
    }
    assert_true(refused < 2 * n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_one_rank)};
    return cmocka_run_group_tests_name("train/drawn", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
