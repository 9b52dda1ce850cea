/*
 * sequence.c: sequence parallelism along row: the steps of one rank, the bytes of the closed
 * forms, and less memory.
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
    job *j = sequence(start(*state, HPC_OPT_ADAMW, NULL));
    j->steps = FEW;
    on_grids(j, 0, 1);
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

/* Biases after row sums, positions and norms with two parameters; with recomputed blocks. */
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

/* Norms around layers and of heads, factors and windows; norms after layers, and of all of q. */
static void other_norms(void **state)
{
    for (int whole = 0; whole < 2; whole++) {
        job *j = sequence(start(*state, HPC_OPT_ADAMW, NULL));
        hpc_model_config *c = &j->o.model;
        c->qk_norm = whole ? HPC_QK_WHOLE : HPC_QK_BY_HEAD;
        c->norm_place = whole ? HPC_NORM_AFTER : HPC_NORM_AROUND;
        c->embed_scale = 4, c->residual_scale = 0.5, c->logit_scale = 0.5;
        c->window = 5, c->window_period = 2;
        on_grids(j, whole, 2);
    }
}

/* What one block more keeps. */
static double of_a_block(hpc_test_folder *f, bool by_tokens, int row, int recompute)
{
    double bytes[2];
    for (int layers = 2; layers <= 3; layers++) {
        job *j = start(f, HPC_OPT_ADAMW, NULL);
        put_grid(j, &(grid){1, 1, row, 1, 0, false});
        j->o.model.kv_heads = 4;
        j->o.model.layers = layers;
        j->o.parallel.sequence = by_tokens;
        j->o.step.recompute = recompute;
        j->steps = 1;
        run_job(j);
        bytes[layers - 2] = j->activation_bytes;
        hpc_free(j);
    }
    return bytes[1] - bytes[0];
}

/* A block of m tokens of width h keeps the stream at its two norms, with two statistics per token:
 * for all tokens, or a share. Outputs of norms are kept for all tokens as products read them,
 * unless norms are recomputed. A recomputed block keeps only its input stream. */
static void less_memory(void **state)
{
    const double m = 8 * 24, h = 32;
    for (int row = 2; row <= 4; row *= 2) {
        double share = 1 - 1.0 / row;
        double kept = of_a_block(*state, false, row, HPC_RECOMPUTE_NONE) -
                      of_a_block(*state, true, row, HPC_RECOMPUTE_NONE);
        assert_true(kept == 2 * m * (h + 2) * 4 * share);
        assert_true(of_a_block(*state, false, row, HPC_RECOMPUTE_BLOCK) == m * h * 4);
        assert_true(of_a_block(*state, true, row, HPC_RECOMPUTE_BLOCK) == m * h * 4 / row);
        assert_true(of_a_block(*state, true, row, HPC_RECOMPUTE_NONE) -
                        of_a_block(*state, true, row, HPC_RECOMPUTE_SELECTIVE) >=
                    2 * m * h * 4);
    }
}

static void what_does_not_divide_is_named(void **state)
{
    job *j = sequence(start(*state, HPC_OPT_ADAMW, NULL));
    put_grid(j, &(grid){2, 1, 2, 1, 0, false});
    j->o.rows = 2;
    j->o.length = 23;
    test_fails(hpc_threads_run(4, run_refused, j), HPC_E_SHAPE,
               "tokens (of a rank, in a microbatch)=23: row must split them in 2; 22 and 24 are "
               "the nearest");
    j->o.rows = 4;
    j->o.parallel.halves = true;
    test_fails(hpc_threads_run(4, run_refused, j), HPC_E_SHAPE,
               "tokens (of a rank, in half a microbatch)=23: row must split them in 2");
    j->o.parallel.halves = false;
    j->o.model.head = HPC_HEAD_CLASSES;
    j->o.model.classes = 3;
    j->o.objective = HPC_OBJECTIVE_CLASSES;
    test_fails(hpc_threads_run(4, run_refused, j), HPC_E_UNSUPPORTED,
               "sequence: a classification head reads tokens of all ranks");
    hpc_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_grid),
                                       cmocka_unit_test(microbatches_dropout_and_an_untied_head),
                                       cmocka_unit_test(tied_with_halves_that_overlap),
                                       cmocka_unit_test(gpt_recomputed),
                                       cmocka_unit_test(repeated_keys),
                                       cmocka_unit_test(other_norms),
                                       cmocka_unit_test(less_memory),
                                       cmocka_unit_test(what_does_not_divide_is_named)};
    return cmocka_run_group_tests_name("train/sequence", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
