/*
 * adama.c: Adam by accumulation is Adam for one microbatch, has the second moment of its closed
 * form for several, gives the same on every grid, and keeps no sum of gradients.
 */
/* tsan: left out, train/ranks starts the same threads. */
#include "tests/train/ranks.h"

#include "runtime/program/op/op.h"
#include "runtime/program/run/run.h"

static job *accumulating(hpc_test_folder *f, int64_t microbatches)
{
    job *j = start(f, HPC_OPT_ADAMW, NULL);
    j->o.step.adama = true;
    j->o.step.clip = 0;
    j->o.accumulate = microbatches;
    j->steps = FEW;
    return j;
}

/* ---- Adam ----------------------------------------------------------------------------------- */

static void one_microbatch_gives_the_bits_of_adam(void **state)
{
    for (int tied = 0; tied < 2; tied++)
        for (int half = 0; half < 2; half++) {
            job *a = accumulating(*state, 1), *b = accumulating(*state, 1);
            a->o.model.tied = b->o.model.tied = tied;
            if (half) a->o.model.dtype = b->o.model.dtype = HPC_BF16;
            b->o.step.adama = false;
            a->steps = b->steps = STEPS;
            run_job(a);
            run_job(b);
            assert_memory_equal(a->loss, b->loss, sizeof a->loss);
            assert_memory_equal(a->param, b->param, (size_t)a->n * sizeof *a->param);
            assert_true(a->validation == b->validation);
            assert_true(hpc_test_error(a->norm, b->norm, STEPS) < 1e-5);
            hpc_free(a);
            hpc_free(b);
        }
}

/* ---- the second moment ------------------------------------------------------------------------
 */

enum { ELEMENTS = 1 << 15, MICROBATCHES = 8 };

typedef struct moments {
    hpc_program *p;
    hpc_value m, v, grad, keep;
} moments;

static moments program_of(void)
{
    hpc_type t = hpc_type_of(HPC_F32, 1, (int64_t[]){ELEMENTS});
    moments x = {.p = hpc_program_create()};
    assert_non_null(x.p);
    x.m = hpc_program_state(x.p, "m", t, false);
    x.v = hpc_program_state(x.p, "v", t, false);
    x.grad = hpc_program_input(x.p, "grad", t);
    x.keep = hpc_program_input(x.p, "keep", hpc_type_of(HPC_F32, 1, (int64_t[]){2}));
    test_ok(hpc_program_segment(x.p, HPC_BACKWARD, 0));
    hpc_adam_add(x.p, x.m, x.v, x.grad, x.keep, HPC_NONE, (hpc_adam_add_attr){0.9, 0.95});
    test_ok(hpc_program_status(x.p));
    return x;
}

static double mean(const float *x)
{
    double sum = 0;
    for (int i = 0; i < ELEMENTS; i++) sum += (double)x[i];
    return sum / ELEMENTS;
}

/* v of N gradients of mean mu / N and deviation sigma / N, over v of their sum. */
static double ratio(double mu, double sigma)
{
    static float grad[ELEMENTS], v[ELEMENTS], sum[ELEMENTS];
    moments x = program_of();
    hpc_device *d;
    hpc_exec *e;
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    test_ok(hpc_exec_open(&e, x.p, d, NULL, NULL));
    memset(sum, 0, sizeof sum);
    for (int k = 0; k < MICROBATCHES; k++) {
        float keep[2] = {k ? 1 : 0.9F, k ? 1 : 0.95F};
        hpc_random_fill_normal(grad, ELEMENTS, 5, (uint32_t)k, 0, 0);
        for (int i = 0; i < ELEMENTS; i++) {
            grad[i] = (float)((mu + sigma * (double)grad[i]) / MICROBATCHES);
            sum[i] += grad[i];
        }
        test_ok(hpc_exec_write(e, 0, x.grad, grad, sizeof grad));
        test_ok(hpc_exec_write(e, 0, x.keep, keep, sizeof keep));
        test_ok(hpc_exec_run(e, 0, 0));
    }
    test_ok(hpc_exec_read(e, 0, x.v, v, sizeof v));
    for (int i = 0; i < ELEMENTS; i++) sum[i] = 0.05F * sum[i] * sum[i];
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(x.p);
    return mean(v) / mean(sum);
}

static void second_moment_has_the_closed_form(void **state)
{
    (void)state;
    static const double mu[] = {0, 0.1, 0.5, 1, 1}, sigma[] = {1, 1, 1, 1, 0};
    const double n = MICROBATCHES;
    for (size_t k = 0; k < sizeof mu / sizeof *mu; k++) {
        double a = mu[k] * mu[k], b = sigma[k] * sigma[k], want = (a + b) / (n * a + b);
        double bound = sigma[k] > 0 ? 0.03 : 1e-5; /* of 32768 samples */
        double is = ratio(mu[k], sigma[k]);
        print_message("mu %g sigma %g: E[v] ratio %.4f, closed form %.4f\n", mu[k], sigma[k], is,
                      want);
        assert_true(fabs(is / want - 1) < bound);
    }
}

/* ---- grids ------------------------------------------------------------------------------------
 */

static job *copy_of(const job *from, const grid *g)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    j->o = from->o;
    j->source = from->source;
    j->steps = from->steps;
    put_grid(j, g);
    return j;
}

/* Ranks along data count as microbatches, with all other axes within them. */
static void ranks_equal_one_with_all_microbatches(void **state)
{
    static const grid grids[] = {{2, 1, 1, 1, 0, false}, {2, 1, 2, 1, 0, false}};
    job *one = accumulating(*state, 4);
    one->o.model.dtype = HPC_F64;
    one->o.rows = 4;
    one->o.step.clip = 0.5;
    run_job(one);
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        job *two = copy_of(one, &grids[k]);
        two->o.accumulate = 2;
        two->o.rows = 8;
        run_job(two);
        assert_int_equal(two->n, one->n);
        assert_true(hpc_test_error(two->loss, one->loss, FEW) < 1e-12);
        assert_true(hpc_test_error(two->norm, one->norm, FEW) < 1e-12);
        assert_true(hpc_test_error(two->param, one->param, one->n) < 1e-12);
        hpc_free(two);
    }
    hpc_free(one);
}

/* Where ranks split rows or the moments within a microbatch, gradients are summed first. */
static void other_axes_equal_one_rank(void **state)
{
    static const grid grids[] = {{1, 1, 2, 1, 0, false}, {1, 1, 1, 2, 0, false},
                                 {1, 2, 1, 1, 0, false}, {2, 1, 1, 1, 1, false},
                                 {2, 1, 1, 1, 2, false}, {2, 1, 1, 1, 3, false}};
    job *one = accumulating(*state, 2);
    one->o.model.dtype = HPC_F64;
    one->o.step.clip = 0.5;
    one->o.step.recompute = HPC_RECOMPUTE_BLOCK;
    run_job(one);
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++)
        for (int overlap = 0; overlap < 2; overlap++) {
            job *many = copy_of(one, &grids[k]);
            many->o.parallel.overlap = overlap;
            run_job(many);
            same(many, one, 1e-12);
            hpc_free(many);
        }
    hpc_free(one);
}

/* A tied table too: the last stage sends its part of the gradient to the first. */
static void pipelines_equal_one_rank(void **state)
{
    static const struct {
        grid g;
        int schedule;
    } each[] = {{{1, 1, 1, 1, 0, false}, HPC_PIPE_GPIPE},
                {{1, 1, 1, 1, 0, false}, HPC_PIPE_ARRIVAL},
                {{2, 1, 1, 1, 1, false}, HPC_PIPE_1F1B},
                {{1, 1, 2, 1, 0, false}, HPC_PIPE_1F1B}};
    for (int tied = 0; tied < 2; tied++) {
        job *one = accumulating(*state, 2);
        one->o.model.dtype = HPC_F64;
        one->o.model.tied = tied;
        one->o.step.clip = 0.5;
        run_job(one);
        for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
            job *many = copy_of(one, &each[k].g);
            many->shape.extent[HPC_AXIS_PIPE] = 2;
            many->o.parallel.pipe.schedule = each[k].schedule;
            run_job(many);
            same(many, one, 1e-12);
            hpc_free(many);
        }
        hpc_free(one);
    }
}

/* ---- resuming, memory -------------------------------------------------------------------------
 */

static void resumed_run_has_the_bits_of_the_whole(void **state)
{
    static const grid grids[] = {{1, 1, 1, 1, 0, false}, {2, 1, 1, 1, 0, false}};
    char folder[PATH_MAX];
    for (size_t k = 0; k < sizeof grids / sizeof *grids; k++) {
        char name[32];
        snprintf(name, sizeof name, "resumed-%zu", k);
        job *from = accumulating(*state, 2);
        from->o.step.clip = 0.5;
        job *whole = copy_of(from, &grids[k]), *first = copy_of(from, &grids[k]);
        job *then = copy_of(from, &grids[k]);
        whole->steps = then->steps = STEPS;
        first->folder = then->folder = hpc_test_path(folder, *state, name);
        then->from = FEW;
        run_job(whole);
        run_job(first);
        run_job(then);
        memcpy(then->loss, first->loss, FEW * sizeof *then->loss);
        memcpy(then->norm, first->norm, FEW * sizeof *then->norm);
        same_bits(then, whole);
        hpc_free(from);
        hpc_free(whole);
        hpc_free(first);
        hpc_free(then);
    }
}

static double largest_parameter(const hpc_model_config *c)
{
    hpc_model_tensor *tensor;
    int64_t n, most = 0;
    test_ok(hpc_model_tensors(&tensor, &n, c));
    for (int64_t k = 0; k < n; k++)
        if (hpc_model_tensor_n(&tensor[k]) > most) most = hpc_model_tensor_n(&tensor[k]);
    hpc_free(tensor);
    return 4 * (double)most;
}

/* Bytes of a plan for gradients: accumulators, and temporaries beyond those of a plain step. */
static void gradients_need_the_largest_layer(void **state)
{
    for (int tied = 0; tied < 2; tied++) {
        hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
        hpc_trainer *plain, *adama;
        o.model.tied = tied, o.model.layers = 6, o.accumulate = 2;
        test_ok(hpc_trainer_open(&plain, &o, true));
        o.step.adama = true;
        test_ok(hpc_trainer_open(&adama, &o, true));
        hpc_trainer_plan a = hpc_trainer_about(plain), b = hpc_trainer_about(adama);
        double table = 4 * (double)(o.model.vocab * o.model.hidden);
        double more = b.activation_bytes - a.activation_bytes;
        assert_true(a.gradient_bytes == 4 * (double)a.trained);
        assert_true(b.gradient_bytes == (tied ? table : 0)); /* two layers add to a tied table */
        print_message("tied %d: gradients %.0f bytes; adama %.0f and %.0f of temporaries\n", tied,
                      a.gradient_bytes, b.gradient_bytes, more);
        assert_true(more <= largest_parameter(&o.model));
        assert_true(b.optimizer_bytes <= a.optimizer_bytes + 8);
        hpc_trainer_close(plain);
        hpc_trainer_close(adama);
    }
    (void)state;
}

/* ---- mistakes ---------------------------------------------------------------------------------
 */

static void refuses(const hpc_trainer_options *o, int code, const char *text)
{
    hpc_trainer *t;
    test_fails(hpc_trainer_open(&t, o, true), code, text);
}

static void rejects_what_cannot_accumulate(void **state)
{
    (void)state;
    hpc_trainer_options o = tiny_trainer(HPC_OPT_MUON);
    o.step.adama = true;
    refuses(&o, HPC_E_ARG,
            "adama: muon has no moments that gradients could be added to; use "
            "optimizer=adamw");
    o = tiny_trainer(HPC_OPT_ADAMW);
    o.step.adama = true;
    o.parallel.halves = true;
    refuses(&o, HPC_E_UNSUPPORTED,
            "adama: overdecompose would count each part of a microbatch as "
            "a microbatch; use one of them");
    o.parallel.halves = false;
    o.step.gradients = HPC_GRADIENTS_BF16;
    refuses(&o, HPC_E_UNSUPPORTED,
            "adama: ranks sum moments, not gradients=bf16; use gradients=auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_microbatch_gives_the_bits_of_adam),
                                       cmocka_unit_test(second_moment_has_the_closed_form),
                                       cmocka_unit_test(ranks_equal_one_with_all_microbatches),
                                       cmocka_unit_test(other_axes_equal_one_rank),
                                       cmocka_unit_test(pipelines_equal_one_rank),
                                       cmocka_unit_test(resumed_run_has_the_bits_of_the_whole),
                                       cmocka_unit_test(gradients_need_the_largest_layer),
                                       cmocka_unit_test(rejects_what_cannot_accumulate)};
    return cmocka_run_group_tests_name("train/adama", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
