/*
 * fences.c: a training step waits for its device once for each microbatch and once at its end, and
 * gives the same losses on a device with queues.
 */
#include "tests/train/data.h"
#include "train/run_priv.h"

enum { STEPS = 4, PARTS = 3 };

typedef struct outcome {
    double loss[STEPS], norm[STEPS], validation;
    int64_t fences[STEPS];
} outcome;

static int never(void *user)
{
    (void)user;
    return 0;
}

static void train(outcome *out, const char *data, const char *backend)
{
    hpc_loader_source source = {.path = data};
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_loader *loader;
    hpc_trainer *t;
    o.accumulate = PARTS;
    o.device = (hpc_device_options){.backend = backend, .threads = 1};
    hpc_loader_options l = {.source = &source,
                            .source_n = 1,
                            .length = o.length,
                            .documents = o.documents,
                            .seed = o.seed};
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_loader_open(&loader, &l));
    for (int s = 0; s < STEPS; s++) {
        const int64_t before = hpc_device_about(t->device).fence_n;
        hpc_trainer_result r;
        test_ok(hpc_trainer_load(t, loader));
        test_ok(hpc_trainer_step(&r, t, s + 1, 0.01, INFINITY));
        out->loss[s] = r.loss;
        out->norm[s] = r.grad_norm;
        out->fences[s] = hpc_device_about(t->device).fence_n - before;
    }
    test_ok(hpc_trainer_validate(&out->validation, t, loader, o.rows, never, NULL));
    hpc_loader_close(loader);
    hpc_trainer_close(t);
}

static void a_step_fences_once_a_microbatch_and_once_at_its_end(void **state)
{
    char data[PATH_MAX];
    outcome cpu, mock;
    data_set(data, *state, "data", 200, NULL);
    train(&cpu, data, "cpu");
    train(&mock, data, "mock");
    for (int s = 0; s < STEPS; s++) {
        assert_int_equal(cpu.fences[s], PARTS + 1);
        assert_int_equal(mock.fences[s], PARTS + 1);
        assert_true(cpu.loss[s] == mock.loss[s]);
        assert_true(cpu.norm[s] == mock.norm[s]);
    }
    assert_true(cpu.validation == mock.validation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_step_fences_once_a_microbatch_and_once_at_its_end,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
