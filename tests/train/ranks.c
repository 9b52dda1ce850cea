/*
 * ranks.c: a trainer on a grid of ranks has the losses, norms and parameters of one rank, and its
 * checkpoints resume on any other grid.
 */
#include "tests/train/ranks.h"

#include <stdlib.h>

#include "tests/support/sanitized.h"

static const grid grids[] = {{2, 1, 1, 1, 0, false}, {2, 1, 1, 1, 1, false}, {1, 1, 2, 1, 0, false},
                             {2, 1, 1, 1, 3, false}, {1, 2, 1, 1, 0, false}, {1, 2, 2, 1, 0, true},
                             {2, 2, 1, 1, 1, true},  {2, 1, 2, 1, 2, false}, {2, 1, 1, 1, 2, false},
                             {1, 2, 1, 1, 0, true},  {2, 2, 1, 1, 3, false}, {2, 2, 2, 1, 3, false},
                             {4, 2, 1, 1, 2, false}, {2, 2, 2, 1, 1, true}};

enum { SPARSE = HPC_TEST_ASAN || HPC_TEST_TSAN ? 2 : 1 }; /* of grids, to a sanitizer alike */

/* On every `stride`th of them. */
static void as_on_one(job *serial, hpc_dtype dtype, double bound, size_t stride)
{
    stride *= SPARSE;
    serial->o.model.dtype = dtype;
    run_job(serial);
    for (size_t g = stride - 1; g < sizeof grids / sizeof *grids; g += stride) {
        if (serial->o.model.adapter.rank > 0 && grids[g].row > 1) continue;
        as_serial(serial, &grids[g], bound);
    }
    hpc_free(serial);
}

static void stages_and_depth(void **state)
{
    as_on_one(start(*state, HPC_OPT_ADAMW, NULL), HPC_F64, 1e-12, 1);
    /* Not by Adam, whose first steps are as long where a gradient is rounding alone. */
    as_on_one(start(*state, HPC_OPT_SGD, NULL), HPC_F32, 1e-5, 4);
}

static void microbatches_and_dropout(void **state)
{
    job *j = start(*state, HPC_OPT_ADAMW, NULL);
    j->o.accumulate = 2;
    j->o.model.dropout = 0.2;
    j->o.model.tied = false;
    as_on_one(j, HPC_F64, 1e-12, 2);
}

static void answers_and_recomputation(void **state)
{
    job *j = start(*state, HPC_OPT_SGD, "answer");
    j->o.objective = HPC_OBJECTIVE_ANSWER;
    j->o.step.recompute = HPC_RECOMPUTE_BLOCK;
    as_on_one(j, HPC_F64, 1e-12, 2);
}

/* Weights and biases of a norm have gradients that are made in one instruction. */
static void layer_norms(void **state)
{
    job *j = start(*state, HPC_OPT_ADAMW, NULL);
    j->o.model.norm = HPC_LAYER;
    j->o.model.gated = false;
    j->o.model.qkv_bias = true;
    as_on_one(j, HPC_F64, 1e-12, 3);
}

static void classes(void **state)
{
    job *j = start(*state, HPC_OPT_ADAMW, "label");
    j->o.objective = HPC_OBJECTIVE_CLASSES;
    j->o.model.head = HPC_HEAD_CLASSES;
    j->o.model.classes = 3;
    as_on_one(j, HPC_F64, 1e-12, 2);
}

static void adapters(void **state)
{
    job *j = start(*state, HPC_OPT_ADAMW, NULL);
    j->o.model.adapter = (hpc_adapter_config){
        .rank = 2, .alpha = 4, .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN};
    as_on_one(j, HPC_F64, 1e-12, 2);
}

static void preconditioned(void **state)
{
    as_on_one(start(*state, HPC_OPT_MUON, NULL), HPC_F64, 1e-12, 4);
    as_on_one(start(*state, HPC_OPT_JORGE_NEWTON, NULL), HPC_F64, 1e-10, 4);
    /* Where both sides of a gradient wait for its parts, the one that is there first is. */
    job *j = start(*state, HPC_OPT_JORGE_NEWTON, NULL);
    j->o.parallel.overlap = true;
    j->o.parallel.ahead = 1;
    as_on_one(j, HPC_F64, 1e-10, 5);
}

static void on_grids(job *serial, double clip, const grid *g, int n)
{
    serial->o.model.dtype = HPC_F64;
    serial->o.step.clip = clip;
    run_job(serial);
    for (int k = 0; k < n; k++) as_serial(serial, &g[k], 1e-10);
    hpc_free(serial);
}

/* Of 48 rows in blocks of 24 each of two ranks has one. By losses and norms: along what has a
 * gradient of rounding alone Adam's first steps are as long, and in SOAP's basis all matrices have
 * such directions, so that parameters differ by 1e-8. */
static void soap_in_blocks(void **state)
{
    static const grid each[] = {
        {2, 1, 1, 1, 1, false}, {1, 2, 1, 1, 0, false}, {1, 1, 2, 1, 0, false}};
    job *one = start(*state, HPC_OPT_SOAP, NULL);
    one->o.optimizer.block = 24;
    one->o.model.dtype = HPC_F64;
    run_job(one);
    for (size_t g = 0; g < sizeof each / sizeof *each; g++) {
        job *many = start(*state, HPC_OPT_SOAP, NULL);
        many->o = one->o;
        put_grid(many, &each[g]);
        run_job(many);
        assert_true(hpc_test_error(many->loss, one->loss, STEPS) < 1e-10);
        assert_true(hpc_test_error(many->norm, one->norm, STEPS) < 1e-10);
        hpc_free(many);
    }
    hpc_free(one);
}

/* Of whole rows, blocks of 16 are no parts of tiles of 8 and less. */
static void preconditioned_on_one_side(void **state)
{
    static const grid rows[] = {{1, 1, 2, 1, 0, false}, {1, 2, 2, 1, 0, false},
                                {2, 1, 2, 1, 1, false}, {2, 2, 1, 1, 3, false},
                                {1, 1, 2, 2, 0, false}, {2, 1, 2, 2, 2, false},
                                {2, 1, 4, 1, 1, false}};
    on_grids(start(*state, HPC_OPT_JORGE_MOMENTUM, NULL), 1, rows, sizeof rows / sizeof *rows);
}

/* Without clipping, gradients are read directly by updates and by refreshes, which not every step
 * has. */
static void preconditioned_and_not_clipped(void **state)
{
    static const grid stage1[] = {{2, 1, 1, 1, 1, false}, {2, 1, 4, 1, 1, false}};
    on_grids(start(*state, HPC_OPT_JORGE_NEWTON, NULL), 0, stage1, 2);
}

/* Bytes that the first rank of four sends in a step of one microbatch, of n parameters in f32: a
 * ring's share of each gradient, which is summed, and then handed on or gathered as a parameter. In
 * stage 3 parameters are gathered for forward and for backward in place of once; from stage 2 on
 * each use of the table (embedding and head) is summed into its part by itself. */
static int64_t closed_form(const job *j, int zero)
{
    const int64_t ring = 3 * 4 * j->n / 4; /* (N-1)/N n b */
    const int64_t table = 3 * 4 * (j->o.model.vocab * j->o.model.hidden) / 4;
    const int64_t rest =
        4 + 8; /* the sum of squares and the loss: a ring's first sends them once */
    return (zero == 3 ? 3 : 2) * ring + (zero > 1 ? table : 0) + rest;
}

/* Adam's two numbers and the gradient of each parameter are shared out, stage by stage. */
static void memory_falls_by_stage(void **state)
{
    double optimizer[4], gradient[4], parameter[4];
    for (int zero = 0; zero < 4; zero++) {
        job *j = start(*state, HPC_OPT_ADAMW, NULL);
        put_grid(j, &(grid){4, 1, 1, 1, zero, false});
        j->steps = 1;
        run_job(j);
        optimizer[zero] = j->optimizer_bytes;
        gradient[zero] = j->gradient_bytes;
        parameter[zero] = j->parameter_bytes;
        assert_int_equal(j->sent, closed_form(j, zero));
        double all = 4 * (double)j->n, freq = 4 * 4, rest = 4; /* the sum of squares */
        assert_true(optimizer[zero] - rest == 2 * all / (zero > 0 ? 4 : 1));
        assert_true(gradient[zero] == all / (zero > 1 ? 4 : 1));
        assert_true(parameter[zero] - freq == (zero == 0   ? all
                                               : zero == 3 ? all / 4
                                                           : all + all / 4));
        hpc_free(j);
    }
}

/* A table of 65 rows: two ranks split its columns. */
static void columns_are_split_where_rows_do_not_divide(void **state)
{
    static const grid stages[] = {
        {2, 1, 1, 1, 1, false}, {2, 1, 1, 1, 2, false}, {2, 1, 1, 1, 3, false}};
    static const int kinds[] = {HPC_OPT_ADAMW, HPC_OPT_MUON, HPC_OPT_JORGE_MOMENTUM};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        job *j = start(*state, kinds[k], NULL);
        j->o.model.vocab = 65;
        on_grids(j, 0, stages, 3);
    }
    job *j = start(*state, HPC_OPT_ADAMW, NULL);
    j->o.model.vocab = 65;
    put_grid(j, &stages[0]);
    j->steps = 1;
    run_job(j);
    assert_true(j->optimizer_bytes - 4 == 2 * 4 * (double)j->n / 2);
    hpc_free(j);
}

/* Saved on one grid, loaded on another. */
static void saved_here_loaded_there(void **state)
{
    char folder[PATH_MAX];
    job *whole = start(*state, HPC_OPT_ADAMW, NULL);
    run_job(whole);
    for (size_t a = 0; a < sizeof grids / sizeof *grids; a += 3 * SPARSE)
        for (size_t b = 1; b < sizeof grids / sizeof *grids; b += 3 * SPARSE) {
            job *first = start(*state, HPC_OPT_ADAMW, NULL);
            char name[32];
            snprintf(name, sizeof name, "from%zu-%zu", a, b);
            first->folder = hpc_test_path(folder, *state, name);
            first->steps = FEW;
            put_grid(first, &grids[a]);
            run_job(first);
            job *then = start(*state, HPC_OPT_ADAMW, NULL);
            then->folder = folder;
            then->from = FEW;
            put_grid(then, &grids[b]);
            run_job(then);
            memcpy(then->loss, first->loss, FEW * sizeof *then->loss);
            memcpy(then->norm, first->norm, FEW * sizeof *then->norm);
            same(then, whole, 1e-5);
            hpc_free(first);
            hpc_free(then);
        }
    hpc_free(whole);
}

/* Halves of a rank's rows: each number is summed in another order, and none is another number. */
static void halves_are_the_whole(void **state)
{
    bool all = getenv("HPC_TEST_LONG") != NULL;
    for (int accumulate = 1; accumulate <= 2; accumulate++) {
        job *serial = start(*state, HPC_OPT_ADAMW, NULL);
        serial->o.model.dtype = HPC_F64;
        serial->o.model.dropout = 0.2;
        serial->o.accumulate = accumulate;
        serial->steps = FEW;
        serial->o.step.recompute = accumulate == 2 ? HPC_RECOMPUTE_BLOCK : HPC_RECOMPUTE_NONE;
        serial->o.model.tied = accumulate == 1;
        run_job(serial);
        for (size_t g = (size_t)accumulate; g < sizeof grids / sizeof *grids; g += all ? 2 : 4) {
            if (grids[g].data * grids[g].depth > 4) continue; /* of eight rows */
            job *many = hpc_alloc(1, sizeof *many);
            many->o = serial->o;
            many->source = serial->source;
            many->steps = serial->steps;
            put_grid(many, &grids[g]);
            many->o.parallel.halves = true;
            many->o.parallel.overlap = g % 4 != 3;
            many->o.parallel.ahead = 1;
            many->o.parallel.bucket_bytes = g % 2 ? 4000 : 0;
            run_job(many);
            same(many, serial, 1e-12);
            hpc_free(many);
        }
        hpc_free(serial);
    }
}

static const hpc_dtype widths[] = {HPC_F32, HPC_BF16};

/* With any overlap and any other options. */
static void overlapped(hpc_test_folder *f, size_t g, hpc_dtype dtype)
{
    job *plain = start(f, HPC_OPT_ADAMW, NULL), *hidden = hpc_alloc(1, sizeof *hidden);
    assert_non_null(hidden);
    plain->o.model.dtype = dtype;
    plain->o.accumulate = 1 + g % 2;
    plain->o.model.dropout = g % 3 ? 0 : 0.2;
    plain->o.step.recompute = g % 4 == 1 ? HPC_RECOMPUTE_BLOCK : HPC_RECOMPUTE_NONE;
    plain->steps = FEW;
    put_grid(plain, &grids[g]);
    *hidden = *plain;
    hidden->source.path = plain->data;
    hidden->o.parallel.overlap = true;
    hidden->o.parallel.ahead = (int)(g / 3 % 3);
    hidden->o.parallel.bucket_bytes = g % 5 ? 3000 * (g % 5) : 0;
    run_job(plain);
    run_job(hidden);
    same_bits(hidden, plain);
    assert_int_equal(hidden->sent, plain->sent);
    hpc_free(plain);
    hpc_free(hidden);
}

static void overlapping_changes_no_bit(void **state)
{
    bool all = getenv("HPC_TEST_LONG") != NULL;
    for (size_t g = all ? 0 : 1; g < sizeof grids / sizeof *grids; g += all ? 1 : 3)
        for (int k = 0; k < 2; k++) overlapped(*state, g, widths[k]);
}

/* Of a stage, with a gradient that backward adds to once in a step, or more often: a tied table's,
 * and that of microbatches. Without clipping. */
static job *in_stage(hpc_test_folder *f, int zero, hpc_dtype dtype, bool once)
{
    job *j = start(f, HPC_OPT_ADAMW, NULL);
    j->o.model.dtype = dtype;
    j->o.model.tied = !once;
    j->o.accumulate = once ? 1 : 2;
    j->o.step.clip = 0;
    put_grid(j, &(grid){2, 1, 1, 1, zero, false});
    run_job(j);
    return j;
}

/* Sums over ranks are the same in all stages. Stages 2 and 3 sum as often as backward accumulates,
 * in another order if more than once. From stage 1 the norm's squares are summed part by part, so
 * it is rounded differently, and nothing else unless it clips. */
static void stages_change_no_bit(void **state)
{
    for (int k = 0; k < 4; k++) {
        job *stage[4];
        for (int zero = 0; zero < 4; zero++)
            stage[zero] = in_stage(*state, zero, widths[k / 2], k % 2);
        same_bits(stage[3], stage[2]);
        for (int zero = 1; zero <= (k % 2 ? 2 : 1); zero++) {
            assert_true(hpc_test_error(stage[zero]->norm, stage[0]->norm, STEPS) < 1e-6);
            memcpy(stage[zero]->norm, stage[0]->norm, sizeof stage[0]->norm);
            same_bits(stage[zero], stage[0]);
        }
        for (int zero = 0; zero < 4; zero++) hpc_free(stage[zero]);
    }
}

static void a_grid_of_one_rank_changes_no_bit(void **state)
{
    for (int k = 0; k < 2; k++) {
        job *none = start(*state, HPC_OPT_ADAMW, NULL), *grid_of_one = hpc_alloc(1, sizeof *none);
        assert_non_null(grid_of_one);
        none->o.model.dtype = widths[k];
        none->o.model.dropout = 0.2;
        none->o.accumulate = 2;
        *grid_of_one = *none;
        grid_of_one->source.path = none->data;
        put_grid(grid_of_one, &(grid){1, 1, 1, 1, 3, false});
        grid_of_one->o.parallel.overlap = grid_of_one->o.parallel.sequence = true;
        run_job(none);
        run_job(grid_of_one);
        same_bits(grid_of_one, none);
        hpc_free(none);
        hpc_free(grid_of_one);
    }
}

static void what_does_not_fit_is_named(void **state)
{
    job *j = start(*state, HPC_OPT_ADAMW, NULL);
    j->shape.extent[HPC_AXIS_DATA] = 3;
    test_fails(hpc_threads_run(3, run_refused, j), HPC_E_SHAPE,
               "data and depth split them in 3; 6 and 9 are the nearest");
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_EXPERT] = 2}};
    test_fails(hpc_threads_run(2, run_refused, j), HPC_E_ARG, "expert=2: the model has no experts");
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_ROW] = 3}};
    test_fails(hpc_threads_run(3, run_refused, j), HPC_E_SHAPE, "heads=4: row must split them");
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_COL] = 3}};
    test_fails(hpc_threads_run(3, run_refused, j), HPC_E_SHAPE, "hidden=32: col must split them");
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_ROW] = 2, [HPC_AXIS_COL] = 2}};
    j->o.model.vocab = 62;
    test_fails(hpc_threads_run(4, run_refused, j), HPC_E_SHAPE,
               "vocab=62: row and col must split them in 4; 60 and 64 are the nearest");
    j->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_DATA] = 2}};
    j->o.parallel.zero = 4;
    test_fails(hpc_threads_run(2, run_refused, j), HPC_E_ARG, "zero=4");
    hpc_free(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stages_and_depth),
                                       cmocka_unit_test(microbatches_and_dropout),
                                       cmocka_unit_test(answers_and_recomputation),
                                       cmocka_unit_test(layer_norms),
                                       cmocka_unit_test(classes),
                                       cmocka_unit_test(preconditioned),
                                       cmocka_unit_test(preconditioned_on_one_side),
                                       cmocka_unit_test(preconditioned_and_not_clipped),
                                       cmocka_unit_test(soap_in_blocks),
                                       cmocka_unit_test(adapters),
                                       cmocka_unit_test(memory_falls_by_stage),
                                       cmocka_unit_test(columns_are_split_where_rows_do_not_divide),
                                       cmocka_unit_test(overlapping_changes_no_bit),
                                       cmocka_unit_test(stages_change_no_bit),
                                       cmocka_unit_test(a_grid_of_one_rank_changes_no_bit),
                                       cmocka_unit_test(halves_are_the_whole),
                                       cmocka_unit_test(saved_here_loaded_there),
                                       cmocka_unit_test(what_does_not_fit_is_named)};
    return cmocka_run_group_tests_name("train/ranks", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
