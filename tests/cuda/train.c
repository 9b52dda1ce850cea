/*
 * train.c: training runs on the shim: the algorithms of products are recorded and used again, a
 * lack of memory ends a run with a checkpoint from which it resumes to the same bits, a lost device
 * ends it with an error and leaves its checkpoints unchanged, and state in pinned memory has the
 * same bits.
 */
/* tsan: left out, it knows nothing of the stacks of the shim. */
#include "tests/support/command.h"
#include "tests/train/data.h"
#include "train/run_priv.h"

enum { STEPS = 4, STEP_FENCES = 2 };

typedef struct place {
    const hpc_test_folder *f;
    char data[PATH_MAX], out[PATH_MAX], library[PATH_MAX], isa[64], line[400];
    hpc_loader_source source;
    hpc_training_options o;
    int64_t rows, stop_after;
    int stop, save;
} place;

static void hear(const char *line, void *user)
{
    place *p = user;
    snprintf(p->line, sizeof p->line, "%s", line);
}

static void see(const hpc_metrics_row *r, void *user)
{
    place *p = user;
    (void)r;
    p->stop = ++p->rows == p->stop_after;
}

static void open_place(place *p, void **state)
{
    *p = (place){.f = *state};
    p->source.path = data_set(p->data, p->f, "data", 60, NULL);
    p->o = (hpc_training_options){.trainer = tiny_trainer(HPC_OPT_ADAMW),
                                  .lr = {.kind = HPC_LR_CONSTANT, .peak = 0.01},
                                  .data = &p->source,
                                  .data_n = 1,
                                  .steps = STEPS,
                                  .save_every = 1,
                                  .config = "{}\n",
                                  .row = see,
                                  .say = hear,
                                  .stop = &p->stop,
                                  .save = &p->save,
                                  .user = p};
    hpc_trainer_options *t = &p->o.trainer;
    t->model.layers = 1, t->model.hidden = 16, t->model.ffn = 16;
    t->length = 12, t->rows = 2, t->documents = 2;
    hpc_test_built(p->library, "hpccoder-cuda-shim.so");
}

static int train(hpc_training_result *r, place *p, const char *run, const char *isa)
{
    snprintf(p->isa, sizeof p->isa, "%s", isa);
    p->o.trainer.device =
        (hpc_device_options){.backend = "cuda-shim", .isa = p->isa, .library = p->library};
    p->o.out = hpc_test_path(p->out, p->f, run);
    p->rows = p->stop = 0;
    return hpc_training_run(r, &p->o);
}

static void read_file(hpc_buf *out, const place *p, const char *run, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", p->f->root, run, name);
    *out = (hpc_buf){0};
    test_ok(hpc_file_read(out, path, 1 << 26));
}

static void assert_same_files(const place *p, const char *run, const char *other, const char *name)
{
    hpc_buf x, y;
    read_file(&x, p, run, name);
    read_file(&y, p, other, name);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
    hpc_buf_release(&x);
    hpc_buf_release(&y);
}

static void a_resumed_run_has_the_recorded_algorithms(void **state)
{
    hpc_training_result whole, part;
    place p;
    open_place(&p, state);
    test_ok(train(&whole, &p, "whole", "lt-ascending"));
    p.stop_after = 2;
    test_ok(train(&part, &p, "part", "lt-ascending"));
    assert_int_equal(part.step, 2);
    p.stop_after = 0;
    p.o.resume = true;
    test_ok(train(&part, &p, "part", "lt-ascending"));
    assert_int_equal(part.step, STEPS);
    assert_true(whole.loss == part.loss);
    assert_same_files(&p, "whole", "part", "products.json");
    assert_same_files(&p, "whole", "part", "checkpoints/step-00000004.safetensors");
}

/* Fences until the trainer is open. */
static int64_t fences_of_opening(place *p)
{
    hpc_trainer *t;
    p->o.trainer.device = (hpc_device_options){.backend = "cuda-shim", .library = p->library};
    test_ok(hpc_trainer_open(&t, &p->o.trainer, false));
    const int64_t n = hpc_device_about(t->device).fence_n;
    hpc_trainer_close(t);
    return n;
}

static void a_lack_of_memory_ends_a_run_with_its_checkpoint(void **state)
{
    hpc_training_result whole, part;
    char isa[64];
    place p;
    open_place(&p, state);
    p.o.save_every = 0; /* nothing but the failure saves */
    snprintf(isa, sizeof isa, "ascending full-at=%d",
             (int)fences_of_opening(&p) + 2 * STEP_FENCES + 1);
    test_ok(train(&whole, &p, "whole", "ascending"));
    test_fails(train(&part, &p, "part", isa), HPC_E_NOMEM,
               "cuda-shim: out of memory: a planted lack of memory");
    assert_int_equal(part.step, 2);
    assert_string_equal(p.line, "out of memory at step 2 of 4: saved, --resume continues; use "
                                "fewer --rows");
    p.o.resume = true;
    test_ok(train(&part, &p, "part", "ascending"));
    assert_true(whole.loss == part.loss);
    assert_same_files(&p, "whole", "part", "checkpoints/step-00000004.safetensors");
}

static void a_lost_device_ends_a_run_and_keeps_its_checkpoints(void **state)
{
    hpc_training_result r;
    char isa[64];
    hpc_buf record;
    place p;
    open_place(&p, state);
    snprintf(isa, sizeof isa, "ascending lost-at=%d",
             (int)fences_of_opening(&p) + 3 * STEP_FENCES + 1);
    test_fails(train(&r, &p, "run", isa), HPC_E_IO,
               "cuda-shim: the device is lost: a planted loss; start again (train: with --resume)");
    read_file(&record, &p, "run", "checkpoints/step-00000002.json");
    hpc_buf_release(&record);
}

/* Moments and masters in pinned memory, also after a resume. */
static void offloaded_state_keeps_the_bits(void **state)
{
    hpc_training_result in, out;
    place p;
    open_place(&p, state);
    for (int half = 0; half < 2; half++) {
        const char *run[2][2] = {{"in", "out"}, {"in-bf16", "out-bf16"}};
        const char **name = run[half];
        p.o.resume = false;
        p.o.trainer.offload = (hpc_trainer_offload){.policy = HPC_OFFLOAD_NONE};
        p.o.trainer.model.dtype = half ? HPC_BF16 : HPC_F32;
        test_ok(train(&in, &p, name[0], "ascending"));
        p.o.trainer.offload = (hpc_trainer_offload){.policy = HPC_OFFLOAD_OPTIMIZER, .bucket = 100};
        p.stop_after = 2;
        test_ok(train(&out, &p, name[1], "ascending"));
        assert_int_equal(out.step, 2);
        p.stop_after = 0;
        p.o.resume = true;
        test_ok(train(&out, &p, name[1], "ascending"));
        assert_true(in.loss == out.loss);
        assert_same_files(&p, name[0], name[1], "checkpoints/step-00000004.safetensors");
    }
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_resumed_run_has_the_recorded_algorithms),
        IN_FOLDER(a_lack_of_memory_ends_a_run_with_its_checkpoint),
        IN_FOLDER(a_lost_device_ends_a_run_and_keeps_its_checkpoints),
        IN_FOLDER(offloaded_state_keeps_the_bits),
    };
    return cmocka_run_group_tests_name("cuda/train", tests, NULL, NULL);
}
