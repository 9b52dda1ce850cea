/*
 * interlaced.c: a pipeline whose ranks each have a part of the vocabulary has the losses, norms and
 * parameters of one rank, its schedules have the same bits, and it sends and stores what the closed
 * forms say.
 */
/* tsan: left out, program/freeze_pipeline and train/ranks start the same threads. */
#include "tests/train/pairs.h"
#include "tests/train/pipe.h"

static void as_one_rank(const job *serial, shape s, int schedule, double bound)
{
    s.interlaced = true;
    job *many = copy_of(serial, &s, schedule);
    run_job(many);
    same(many, serial, bound);
    hpc_free(many);
}

static job *model(hpc_test_folder *f, bool tied, hpc_dtype dtype)
{
    job *j = pipeline(f, 4, 5);
    j->o.model.tied = tied;
    j->o.model.dtype = dtype;
    return j;
}

static void two_and_four_ranks(void **state)
{
    for (int tied = 0; tied < 2; tied++) {
        job *serial = model(*state, tied, HPC_F64);
        run_job(serial);
        for (int p = 2; p <= 4; p *= 2) {
            as_one_rank(serial, (shape){.pipe = p}, HPC_PIPE_GPIPE, 1e-12);
            as_one_rank(serial, (shape){.pipe = p}, HPC_PIPE_1F1B, 1e-12);
        }
        hpc_free(serial);
        serial = model(*state, tied, HPC_F32);
        run_job(serial);
        as_one_rank(serial, (shape){.pipe = 4}, HPC_PIPE_AUTO, 1e-5);
        hpc_free(serial);
    }
}

static void with_each_other_axis(void **state)
{
    static const shape each[] = {
        {.pipe = 2, .data = 2},
        {.pipe = 2, .data = 2, .zero = 1},
        {.pipe = 2, .data = 2, .zero = 2},
        {.pipe = 2, .data = 2, .zero = 3},
        {.pipe = 2, .depth = 2},
        {.pipe = 2, .row = 2},
        {.pipe = 2, .row = 2, .sequence = true},
        {.pipe = 2, .col = 2},
    };
    for (int tied = 0; tied < 2; tied++) {
        job *serial = model(*state, tied, HPC_F64);
        run_job(serial);
        for (size_t k = 0; k < sizeof each / sizeof *each; k++)
            as_one_rank(serial, each[k], k % 2 ? HPC_PIPE_GPIPE : HPC_PIPE_1F1B, 1e-12);
        hpc_free(serial);
    }
}

static void with_other_passes(void **state)
{
    job *serial = model(*state, true, HPC_F64);
    serial->o.step.recompute = HPC_RECOMPUTE_BLOCK;
    serial->o.model.dropout = 0.2;
    serial->o.optimizer = (hpc_optimizer_config)HPC_OPTIMIZER_CONFIG_DEFAULTS;
    serial->o.optimizer.kind = HPC_OPT_JORGE_NEWTON;
    hpc_optimizer_usual(&serial->o.optimizer);
    run_job(serial);
    as_one_rank(serial, (shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-10);
    as_one_rank(serial, (shape){.pipe = 2, .data = 2, .zero = 1}, HPC_PIPE_GPIPE, 1e-10);
    hpc_free(serial);
    serial = model(*state, false, HPC_F64);
    serial->o.model.adapter = (hpc_adapter_config){
        .rank = 2, .alpha = 4, .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN};
    run_job(serial);
    as_one_rank(serial, (shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-12);
    hpc_free(serial);
}

/* Learned positions, biases and factors around the tables; pruned matrices; two parts of the rows.
 */
static void other_models(void **state)
{
    job *serial = model(*state, true, HPC_F64);
    serial->o.model.norm = HPC_LAYER, serial->o.model.position = HPC_LEARNED;
    serial->o.model.positions = serial->o.length;
    serial->o.model.qkv_bias = serial->o.model.out_bias = serial->o.model.mlp_bias = true;
    serial->o.model.embed_scale = 3, serial->o.model.logit_scale = 0.5;
    serial->o.model.logit_cap = 8;
    run_job(serial);
    as_one_rank(serial, (shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-12);
    as_one_rank(serial, (shape){.pipe = 2, .row = 2}, HPC_PIPE_GPIPE, 1e-12);
    hpc_free(serial);
    serial = model(*state, false, HPC_F64);
    hpc_masks *m = mask(&serial->o.model);
    serial->o.masks = m;
    run_job(serial);
    as_one_rank(serial, (shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-12);
    hpc_free(serial);
    hpc_masks_free(m);
    serial = model(*state, false, HPC_F64);
    serial->o.parallel.halves = true; /* one rank ignores it, its copies do not */
    run_job(serial);
    as_one_rank(serial, (shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-12);
    as_one_rank(serial, (shape){.pipe = 2, .row = 2}, HPC_PIPE_1F1B, 1e-12);
    hpc_free(serial);
}

/* The embedding alone is split: all classes have few rows, which the last rank keeps whole. */
static void class_heads(void **state)
{
    job *serial = start(*state, HPC_OPT_SGD, "label");
    serial->o.model.dtype = HPC_F64;
    serial->o.model.layers = 4;
    serial->o.accumulate = 5;
    serial->steps = FEW;
    serial->o.objective = HPC_OBJECTIVE_CLASSES;
    serial->o.model.head = HPC_HEAD_CLASSES;
    serial->o.model.classes = 3;
    run_job(serial);
    as_one_rank(serial, (shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-12);
    as_one_rank(serial, (shape){.pipe = 4}, HPC_PIPE_GPIPE, 1e-12);
    as_one_rank(serial, (shape){.pipe = 2, .data = 2, .zero = 3}, HPC_PIPE_1F1B, 1e-12);
    hpc_free(serial);
}

static void schedules_and_delays_have_the_same_bits(void **state)
{
    static const shape shapes[] = {{.pipe = 2, .interlaced = true},
                                   {.pipe = 4, .interlaced = true},
                                   {.pipe = 2, .row = 2, .interlaced = true}};
    for (size_t k = 0; k < 2 * sizeof shapes / sizeof *shapes; k++) {
        job *from = model(*state, k < 3, HPC_F32);
        const shape *s = &shapes[k % 3];
        job *first = delayed(from, s, HPC_PIPE_GPIPE, 0);
        for (uint64_t late = 0; late < 4; late++) {
            job *then = delayed(from, s, late % 2 ? HPC_PIPE_GPIPE : HPC_PIPE_1F1B, late);
            same_bits(then, first);
            hpc_free(then);
        }
        hpc_free(first);
        hpc_free(from);
    }
}

/* ---- counts --------------------------------------------------------------------------------- */

/* The first rank along pipe sends per token of a microbatch: its activations to the second, the
 * gradient of the embedding to each other rank, and its shares of two sums of the width (embedded
 * tokens, gradient of the head's input) and of three numbers (largest logit, sum of exponentials,
 * the target's logit). Once per step: the sums of squares and of losses, one number each, which a
 * ring's first rank sends once. */
static void bytes_are_those_of_the_closed_form(void **state)
{
    const int64_t numbers = 4 + 8;
    for (int k = 0; k < 4; k++) {
        const int p = k < 2 ? 2 : 4;
        job *from = model(*state, k % 2, HPC_F32);
        job *j = copy_of(from, &(shape){.pipe = p, .interlaced = true}, HPC_PIPE_1F1B);
        run_job(j);
        int64_t m = j->o.accumulate * j->o.rows * j->o.length, h = j->o.model.hidden;
        const int64_t *on = j->along[HPC_AXIS_PIPE];
        assert_int_equal(on[HPC_SEND], (1 + p - 1) * m * h * 4);
        assert_int_equal(on[HPC_ALL_REDUCE], 2 * (p - 1) * m * (2 * h + 3) * 4 / p + numbers);
        assert_int_equal(on[HPC_ALL_GATHER] + on[HPC_REDUCE_SCATTER] + on[HPC_BROADCAST], 0);
        hpc_free(j);
        hpc_free(from);
    }
}

/* The first rank has a whole table with `ends`, and 1/p of each table with `interlaced`. */
static void tables_take_their_share_of_memory(void **state)
{
    for (int k = 0; k < 4; k++) {
        const int p = k < 2 ? 2 : 4, tables = k % 2 ? 1 : 2;
        job *from = model(*state, k % 2, HPC_F32);
        job *ends = copy_of(from, &(shape){.pipe = p}, HPC_PIPE_1F1B);
        job *split = copy_of(from, &(shape){.pipe = p, .interlaced = true}, HPC_PIPE_1F1B);
        ends->steps = split->steps = 1;
        run_job(ends);
        run_job(split);
        double table = (double)(4 * from->o.model.vocab * from->o.model.hidden);
        double less = table - tables * table / p;
        assert_true(ends->parameter_bytes - split->parameter_bytes == less);
        assert_true(ends->gradient_bytes - split->gradient_bytes == less);
        hpc_free(ends);
        hpc_free(split);
        hpc_free(from);
    }
}

/* ---- resuming ------------------------------------------------------------------------------- */

static void checkpoints_assemble_the_tables(void **state)
{
    static const shape shapes[] = {{.pipe = 2, .interlaced = true},
                                   {.pipe = 4},
                                   {.pipe = 4, .interlaced = true},
                                   {.pipe = 1, .data = 2, .interlaced = true}};
    job *whole = model(*state, true, HPC_F64);
    whole->steps = STEPS;
    run_job(whole);
    resume_on_next(whole, shapes, sizeof shapes / sizeof *shapes, *state);
    hpc_free(whole);
}

/* ---- mistakes ------------------------------------------------------------------------------- */

static void refused(job *j, int ranks, int code, const char *says)
{
    test_fails(hpc_threads_run(ranks, run_refused, j), code, says);
}

static void mistakes_are_named(void **state)
{
    job *from = model(*state, true, HPC_F32);
    job *j = copy_of(from, &(shape){.pipe = 2, .interlaced = true}, HPC_PIPE_ARRIVAL);
    refused(j, 2, HPC_E_ARG, "and arrival has none; use gpipe or 1f1b");
    j->o.parallel.pipe.schedule = HPC_PIPE_INTERLEAVED;
    j->o.accumulate = 4;
    refused(j, 2, HPC_E_ARG, "and interleaved has none; use gpipe or 1f1b");
    j->o.parallel.pipe = (hpc_pipe){.schedule = HPC_PIPE_GPIPE, .chunks = 2, .vocab = 1};
    refused(j, 2, HPC_E_ARG, "one stage on each rank, not 2");
    j->o.parallel.pipe = (hpc_pipe){.vocab = 1};
    j->o.model.vocab = 63;
    refused(j, 2, HPC_E_SHAPE,
            "vocab=63: row, col and pipe (pipe-vocab=interlaced) must split them in 2; 62 and 64");
    j->o.model.vocab = from->o.model.vocab;
    j->o.optimizer.kind = HPC_OPT_ADAMW;
    j->o.step.adama = true;
    refused(j, 2, HPC_E_UNSUPPORTED, "adama: with pipe-vocab=interlaced");
    hpc_free(j);
    hpc_free(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_and_four_ranks),
                                       cmocka_unit_test(with_each_other_axis),
                                       cmocka_unit_test(with_other_passes),
                                       cmocka_unit_test(other_models),
                                       cmocka_unit_test(class_heads),
                                       cmocka_unit_test(schedules_and_delays_have_the_same_bits),
                                       cmocka_unit_test(bytes_are_those_of_the_closed_form),
                                       cmocka_unit_test(tables_take_their_share_of_memory),
                                       cmocka_unit_test(checkpoints_assemble_the_tables),
                                       cmocka_unit_test(mistakes_are_named)};
    return cmocka_run_group_tests_name("train/interlaced", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
