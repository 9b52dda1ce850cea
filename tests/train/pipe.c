/*
 * pipe.c: a pipeline on a grid of thread ranks has the losses, norms and parameters of one rank,
 * and every schedule and order of arrival has the same bits.
 */
/* tsan: left out, program/freeze_pipeline and train/ranks start the same threads. */
#include "tests/train/pairs.h"
#include "tests/train/pipe.h"

#include "train/plan.h"

static void as_one_rank(job *serial, const shape *s, int schedule, double bound)
{
    job *many = copy_of(serial, s, schedule);
    run_job(many);
    same(many, serial, bound);
    hpc_free(many);
}

static void two_and_four_stages(void **state)
{
    for (int tied = 0; tied < 2; tied++) {
        job *serial = pipeline(*state, 4, 4);
        serial->o.model.tied = tied;
        run_job(serial);
        as_one_rank(serial, &(shape){.pipe = 2}, HPC_PIPE_GPIPE, 1e-12);
        as_one_rank(serial, &(shape){.pipe = 2}, HPC_PIPE_INTERLEAVED, 1e-12);
        as_one_rank(serial, &(shape){.pipe = 4}, HPC_PIPE_1F1B, 1e-12);
        as_one_rank(serial, &(shape){.pipe = 4}, HPC_PIPE_ARRIVAL, 1e-12);
        hpc_free(serial);
    }
    job *single = pipeline(*state, 4, 4);
    single->o.model.dtype = HPC_F32;
    run_job(single);
    as_one_rank(single, &(shape){.pipe = 4}, HPC_PIPE_AUTO, 1e-5);
    hpc_free(single);
}

/* Each other axis at 2, in one schedule each. */
static void with_each_other_axis(void **state)
{
    static const struct {
        shape s;
        int schedule;
    } each[] = {{{.pipe = 2, .data = 2}, HPC_PIPE_ARRIVAL},
                {{.pipe = 2, .data = 2, .zero = 1}, HPC_PIPE_1F1B},
                {{.pipe = 2, .data = 2, .zero = 2}, HPC_PIPE_ARRIVAL},
                {{.pipe = 2, .data = 2, .zero = 3}, HPC_PIPE_GPIPE},
                {{.pipe = 2, .depth = 2}, HPC_PIPE_ARRIVAL},
                {{.pipe = 2, .row = 2}, HPC_PIPE_ARRIVAL},
                {{.pipe = 2, .row = 2, .sequence = true}, HPC_PIPE_INTERLEAVED},
                {{.pipe = 2, .col = 2}, HPC_PIPE_1F1B}};
    job *serial = pipeline(*state, 4, 4);
    serial->o.model.tied = true;
    run_job(serial);
    for (size_t k = 0; k < sizeof each / sizeof *each; k++)
        as_one_rank(serial, &each[k].s, each[k].schedule, 1e-12);
    hpc_free(serial);
}

static void with_other_passes(void **state)
{
    job *serial = pipeline(*state, 2, 4);
    serial->o.step.recompute = HPC_RECOMPUTE_BLOCK;
    serial->o.model.dropout = 0.2;
    serial->o.optimizer = (hpc_optimizer_config)HPC_OPTIMIZER_CONFIG_DEFAULTS;
    serial->o.optimizer.kind = HPC_OPT_JORGE_NEWTON;
    hpc_optimizer_usual(&serial->o.optimizer);
    run_job(serial);
    as_one_rank(serial, &(shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-10);
    as_one_rank(serial, &(shape){.pipe = 2, .data = 2, .zero = 1}, HPC_PIPE_ARRIVAL, 1e-10);
    hpc_free(serial);
    serial = pipeline(*state, 2, 2);
    serial->o.model.adapter = (hpc_adapter_config){
        .rank = 2, .alpha = 4, .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN};
    run_job(serial);
    as_one_rank(serial, &(shape){.pipe = 2}, HPC_PIPE_1F1B, 1e-12);
    hpc_free(serial);
}

/* Pruning, and overdecomposition with each axis that it serves. */
static void pruned_and_in_two_parts(void **state)
{
    static const shape shapes[] = {{.pipe = 2}, {.pipe = 2, .data = 2, .zero = 1}};
    static const shape halved[] = {{.pipe = 2}, {.pipe = 2, .row = 2}, {.pipe = 2, .col = 2}};
    job *serial = pipeline(*state, 4, 4);
    hpc_masks *m = mask(&serial->o.model);
    serial->o.masks = m;
    run_job(serial);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        as_one_rank(serial, &shapes[k], k ? HPC_PIPE_ARRIVAL : HPC_PIPE_1F1B, 1e-12);
    hpc_free(serial);
    hpc_masks_free(m);
    serial = pipeline(*state, 4, 4);
    serial->o.parallel.halves = true; /* one rank ignores it, its copies do not */
    run_job(serial);
    for (size_t k = 0; k < sizeof halved / sizeof *halved; k++)
        as_one_rank(serial, &halved[k], k ? HPC_PIPE_ARRIVAL : HPC_PIPE_1F1B, 1e-12);
    hpc_free(serial);
}

/* ---- orders --------------------------------------------------------------------------------- */

static void every_schedule_and_arrival_has_the_same_bits(void **state)
{
    static const shape shapes[] = {{.pipe = 2}, {.pipe = 4}, {.pipe = 2, .row = 2}};
    job *from = pipeline(*state, 4, 8);
    from->o.model.dtype = HPC_F32;
    from->o.model.tied = true;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        job *first = delayed(from, &shapes[k], HPC_PIPE_GPIPE, 0);
        for (int s = HPC_PIPE_1F1B; s <= HPC_PIPE_ARRIVAL; s++)
            for (uint64_t late = 0; late < 2; late++) {
                if (s == HPC_PIPE_INTERLEAVED && shapes[k].pipe == 4) continue;
                job *then = delayed(from, &shapes[k], s, late);
                if (s != HPC_PIPE_INTERLEAVED)
                    same_bits(then, first);
                else
                    same(then, first, 1e-5); /* squares are summed stage by stage */
                hpc_free(then);
            }
        hpc_free(first);
    }
    hpc_free(from);
}

/* ---- counts --------------------------------------------------------------------------------- */

/* Of one rank, sums along no axis but messages: forward up, backward down. */
static void messages_carry_the_residual_stream(void **state)
{
    job *j = pipeline(*state, 4, 4), *many;
    j->o.model.dtype = HPC_F32;
    j->o.model.tied = false;
    many = copy_of(j, &(shape){.pipe = 4}, HPC_PIPE_1F1B);
    run_job(many);
    int64_t boundary = j->o.accumulate * j->o.rows * j->o.length * j->o.model.hidden * 4;
    /* The first rank sends forwards alone: half of 2 M mbs S H b. */
    assert_int_equal(many->along[HPC_AXIS_PIPE][HPC_SEND], boundary);
    hpc_free(many);
    hpc_free(j);
}

/* ---- resuming ------------------------------------------------------------------------------- */

static void another_number_of_stages_resumes(void **state)
{
    static const shape shapes[] = {{.pipe = 2}, {.pipe = 4}, {.pipe = 1, .data = 2}};
    job *whole = pipeline(*state, 4, 4);
    whole->steps = STEPS;
    run_job(whole);
    resume_on_next(whole, shapes, sizeof shapes / sizeof *shapes, *state);
    hpc_free(whole);
}

/* ---- mistakes ------------------------------------------------------------------------------- */

static void mistakes_are_named(void **state)
{
    job *j = pipeline(*state, 2, 4);
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_PIPE] = 4}};
    test_fails(hpc_threads_run(4, run_refused, j), HPC_E_SHAPE,
               "pipe=4: 1 stage on each rank, and 2 blocks to divide; use at most 2");
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_PIPE] = 2}};
    j->o.accumulate = 1;
    test_fails(hpc_threads_run(2, run_refused, j), HPC_E_ARG,
               "pipe=2: a step needs at least 2 microbatches; use --accumulate 2");
    j->o.parallel.pipe.schedule = HPC_PIPE_INTERLEAVED;
    test_fails(hpc_threads_run(2, run_refused, j), HPC_E_SHAPE, "2 stages on each rank");
    hpc_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_and_four_stages),
        cmocka_unit_test(with_each_other_axis),
        cmocka_unit_test(with_other_passes),
        cmocka_unit_test(pruned_and_in_two_parts),
        cmocka_unit_test(every_schedule_and_arrival_has_the_same_bits),
        cmocka_unit_test(messages_carry_the_residual_stream),
        cmocka_unit_test(another_number_of_stages_resumes),
        cmocka_unit_test(mistakes_are_named)};
    return cmocka_run_group_tests_name("train/pipe", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
