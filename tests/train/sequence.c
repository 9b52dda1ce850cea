/*
 * sequence.c: what row sums split by tokens: the steps of one rank, the bytes of
 * the closed forms, and less memory.
 */
#include "tests/train/ranks.h"

#include <stdlib.h>

static job *sequence(job *j)
{
    j->o.parallel.sequence = true;
    return j;
}

static const grid grids[] = {{1, 1, 2, 1, 0, false}, {1, 1, 4, 1, 0, false}, {1, 1, 2, 2, 0, false},
                             {2, 1, 2, 1, 1, false}, {1, 2, 2, 1, 0, true},  {2, 1, 2, 1, 2, false},
                             {2, 1, 2, 1, 3, false}, {2, 2, 2, 1, 1, false}};

static void on_grids(job *serial, size_t from, size_t stride)
{
    serial->o.model.dtype = HPC_F64;
    run_job(serial);
    for (size_t g = from; g < sizeof grids / sizeof *grids; g += stride)
        as_serial(serial, &grids[g], 1e-12);
    hpc_free(serial);
}

static void every_grid(void **state)
{
    on_grids(sequence(start(*state, HPC_OPT_ADAMW, NULL)), 0, 1);
}

static void microbatches_dropout_and_an_untied_head(void **state)
{
    job *j = sequence(start(*state, HPC_OPT_ADAMW, NULL));
    j->o.accumulate = 2;
    j->o.model.dropout = 0.2;
    j->o.model.tied = false;
    on_grids(j, 1, 2);
}

static void tied_with_halves_that_overlap(void **state)
{
    job *j = sequence(start(*state, HPC_OPT_ADAMW, NULL));
    j->o.model.dropout = 0.2;
    j->o.model.tied = true;
    j->o.parallel.halves = j->o.parallel.overlap = true;
    j->o.parallel.ahead = 1;
    j->o.parallel.bucket_bytes = 4000;
    on_grids(j, 0, 3);
}

/* Biases behind what row sums, positions and norms with two parameters; of recomputed blocks. */
static void gpt_recomputed(void **state)
{
    job *j = sequence(start(*state, HPC_OPT_ADAMW, NULL));
    hpc_model_config *c = &j->o.model;
    c->norm = HPC_LAYER, c->position = HPC_LEARNED, c->gated = false;
    c->qkv_bias = c->out_bias = c->mlp_bias = true;
    j->o.step.recompute = HPC_RECOMPUTE_BLOCK;
    j->o.accumulate = 2;
    on_grids(j, 1, 2);
}

static void repeated_keys(void **state)
{
    job *j = sequence(start(*state, HPC_OPT_ADAMW, NULL));
    j->o.model.kv_heads = 1;
    on_grids(j, 0, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_grid), cmocka_unit_test(microbatches_dropout_and_an_untied_head),
        cmocka_unit_test(tied_with_halves_that_overlap), cmocka_unit_test(gpt_recomputed),
        cmocka_unit_test(repeated_keys)};
    return cmocka_run_group_tests_name("train/sequence", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
