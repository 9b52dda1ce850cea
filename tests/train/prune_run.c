/*
 * prune_run.c: runs that prune after a number of steps or once masks agree. Stopped, resumed and
 * moved to another grid, they continue as the same run.
 */
/* tsan: left out, other tests start the same threads. */
#include "model/model.h"
#include "tests/train/data.h"
#include "train/prune.h"

enum { STEPS = 12, AFTER = 4 };

typedef struct place {
    hpc_test_folder *f;
    char data[PATH_MAX], out[PATH_MAX], line[800];
    hpc_loader_source source;
    hpc_training_options o;
    hpc_grid_shape shape;
    int stop, said;
    int64_t rows, stop_after; /* rows of metrics; 0: never */
    double loss[STEPS], peak[STEPS];
    hpc_training_result result;
} place;

static void hear(const char *line, void *user)
{
    place *p = user;
    p->said++;
    snprintf(p->line, sizeof p->line, "%s", line);
}

static void see(const hpc_metrics_row *r, void *user)
{
    place *p = user;
    int64_t step = (int64_t)r->value[HPC_METRIC_STEP];
    p->loss[step - 1] = r->value[HPC_METRIC_LOSS];
    p->peak[step - 1] = r->value[HPC_METRIC_PEAK_BYTES];
    if (++p->rows == p->stop_after) __atomic_store_n(&p->stop, 1, __ATOMIC_RELAXED);
}

static void name_out(place *p, const char *name)
{
    hpc_test_path(p->out, p->f, name);
    p->o.out = p->out;
}

static void open_place(place *p, void **state, int kind, const char *name)
{
    *p = (place){.f = *state};
    hpc_test_path(p->data, p->f, "data");
    if (!hpc_file_exists(p->data)) data_make(p->data, 2000, NULL, 7, data_tokenizer);
    p->source.path = p->data;
    p->o = (hpc_training_options){
        .trainer = tiny_trainer(kind),
        .lr = {.kind = HPC_LR_CONSTANT, .peak = 0.01},
        .prune = {.asked = true, .sparsity = 0.8, .after = AFTER, .every = 1, .distance = 1},
        .data = &p->source,
        .data_n = 1,
        .steps = STEPS,
        .save_every = 5,
        .keep = 2,
        .row = see,
        .say = hear,
        .stop = &p->stop,
        .user = p};
    name_out(p, name);
}

static int run_rank(hpc_link *world, void *user)
{
    place *p = user;
    hpc_training_options o = p->o;
    hpc_training_result r;
    o.trainer.device.threads = 1;
    if (hpc_link_size(world) > 1) test_ok(hpc_grid_open(&o.trainer.grid, world, &p->shape));
    int rc = hpc_training_run(&r, &o);
    if (hpc_link_rank(world) == 0) p->result = r;
    hpc_grid_close(o.trainer.grid);
    return rc;
}

static int run(place *p)
{
    p->rows = p->stop = 0;
    return hpc_threads_run(hpc_grid_size(&p->shape), run_rank, p);
}

static uint64_t hash_of_model(const place *p)
{
    char path[PATH_MAX + 64];
    hpc_buf text = {0};
    snprintf(path, sizeof path, "%s/model/model.safetensors", p->out);
    test_ok(hpc_file_read(&text, path, 1 << 26));
    uint64_t h = hpc_hash(text.data, text.n, 0);
    hpc_buf_release(&text);
    return h;
}

/* Of the matrices in the model that a run leaves, beyond those of its pruning. */
static int64_t zeros_beyond(const place *p)
{
    char path[PATH_MAX + 64];
    hpc_masks *m;
    hpc_safetensors *s;
    int64_t zeros = 0;
    snprintf(path, sizeof path, "%s/model/model.safetensors", p->out);
    test_ok(hpc_masks_create(&m, &p->o.trainer.model));
    test_ok(hpc_safetensors_open(&s, path));
    for (int64_t k = 0; k < m->mask_n; k++) {
        hpc_stored_tensor x;
        test_ok(hpc_safetensors_find(&x, s, m->mask[k].name));
        assert_true(x.dtype == HPC_F32);
        for (int64_t i = 0; i < m->mask[k].n; i++) zeros += ((const float *)x.data)[i] == 0;
    }
    zeros -= m->n - hpc_prune_kept(p->o.prune.sparsity, m->n);
    hpc_safetensors_close(s);
    hpc_masks_free(m);
    return zeros;
}

/* A run of all steps, and one stopped before, at and after the step of pruning. */
static void same_after_stopping(void **state, int kind, hpc_dtype dtype, bool early)
{
    static const int64_t stops[] = {2, AFTER, AFTER + 1, AFTER + 4};
    place *p = hpc_alloc(1, sizeof *p);
    char name[64];
    snprintf(name, sizeof name, "whole-%d-%d-%d", kind, dtype, early);
    open_place(p, state, kind, name);
    p->o.trainer.model.dtype = dtype;
    p->o.prune.early_bird = early;
    test_ok(run(p));
    assert_true(p->result.finished);
    uint64_t whole = hash_of_model(p);
    assert_int_equal(zeros_beyond(p), 0);
    for (size_t k = 0; k < sizeof stops / sizeof *stops; k++) {
        snprintf(name, sizeof name, "stopped-%d-%d-%d-%zu", kind, dtype, early, k);
        name_out(p, name);
        p->stop_after = stops[k];
        p->o.resume = false;
        test_ok(run(p));
        assert_int_equal(p->result.step, stops[k]);
        p->stop_after = 0;
        p->o.resume = true;
        test_ok(run(p));
        assert_true(p->result.finished && hash_of_model(p) == whole);
    }
    hpc_free(p);
}

static void stopped_and_gone_on_with(void **state)
{
    same_after_stopping(state, HPC_OPT_ADAMW, HPC_F32, false);
    same_after_stopping(state, HPC_OPT_ADAMW, HPC_BF16, true);
    same_after_stopping(state, HPC_OPT_JORGE, HPC_F32, false);
}

/* Masks that agree at once freeze a ticket with the fifth; that must not agree, none. */
static void early_birds_wait_until_masks_agree(void **state)
{
    place *p = hpc_alloc(1, sizeof *p);
    open_place(p, state, HPC_OPT_ADAMW, "early");
    p->o.prune.early_bird = true;
    p->o.prune.every = 2;
    test_ok(run(p));
    assert_non_null(strstr(p->line, "step 10: "));
    assert_non_null(strstr(p->line, " remain"));
    assert_int_equal(zeros_beyond(p), 0);
    name_out(p, "late");
    p->o.prune.distance = 0;
    test_ok(run(p));
    assert_non_null(strstr(p->line, "nothing was pruned: the masks did not converge"));
    assert_true(zeros_beyond(p) < 0);
    hpc_free(p);
}

/* After pruning less memory is used: in f32 24 - 20 p bytes per element instead of 16. */
static void memory_is_given_back(void **state)
{
    place *p = hpc_alloc(1, sizeof *p);
    open_place(p, state, HPC_OPT_ADAMW, "memory");
    p->o.trainer.model.hidden = 128, p->o.trainer.model.ffn = 384;
    p->o.prune.sparsity = 0.9;
    test_ok(run(p));
    double phi = 2.0 * 128 * (2 * 128 + 2 * 64 + 3 * 384); /* elements of two blocks */
    assert_true(p->peak[AFTER] > 0 && p->peak[AFTER - 1] - p->peak[AFTER] > 0.95 * 10 * phi);
    hpc_free(p);
}

/* Started and pruned on one grid, resumed on another. */
static void from_grid_to_grid(void **state)
{
    static const struct {
        int data, depth, row, zero;
    } on[] = {{2, 1, 1, 1}, {1, 2, 1, 0}, {1, 1, 2, 0}, {2, 1, 2, 1}};
    place *one = hpc_alloc(1, sizeof *one), *p = hpc_alloc(1, sizeof *p);
    enum { N = sizeof on / sizeof *on };
    open_place(one, state, HPC_OPT_ADAMW, "one");
    test_ok(run(one));
    for (size_t a = 0; a < N; a++) {
        char name[32];
        snprintf(name, sizeof name, "grid-%zu", a);
        open_place(p, state, HPC_OPT_ADAMW, name);
        for (int turn = 0; turn < 2; turn++) {
            size_t k = (a + (size_t)turn) % N;
            p->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_DATA] = on[k].data,
                                                   [HPC_AXIS_DEPTH] = on[k].depth,
                                                   [HPC_AXIS_ROW] = on[k].row}};
            p->o.trainer.parallel.zero = on[k].zero;
            p->o.resume = turn > 0;
            p->stop_after = turn ? 0 : AFTER + 2;
            test_ok(run(p));
        }
        assert_true(p->result.finished);
        assert_true(hpc_test_error(p->loss, one->loss, STEPS) < 1e-4);
    }
    hpc_free(one);
    hpc_free(p);
}

/* The last byte of each file of state of this step and later ones. */
static void damage(const place *p, long long from)
{
    char folder[PATH_MAX + 16], path[PATH_MAX + 128];
    hpc_buf names = {0};
    int64_t n = 0, damaged = 0;
    snprintf(folder, sizeof folder, "%s/checkpoints", p->out);
    test_ok(hpc_file_list(&names, &n, folder));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        hpc_buf text = {0};
        long long step;
        if (sscanf(name, "step-%lld.", &step) != 1 || step < from || !strstr(name, ".safetensors"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        test_ok(hpc_file_read(&text, path, 1 << 26));
        text.data[text.n - 1] ^= 1;
        test_ok(hpc_file_save(path, text.data, text.n));
        hpc_buf_release(&text);
        damaged++;
    }
    hpc_buf_release(&names);
    assert_true(damaged > 0);
}

/* Back to before it was pruned, where all that is pruned is damaged; in one file and in many. */
static void damaged_ones_are_passed_over(void **state)
{
    for (int data = 1; data <= 2; data++) {
        place *p = hpc_alloc(1, sizeof *p);
        open_place(p, state, HPC_OPT_ADAMW, data == 1 ? "sound" : "sound-2");
        p->shape = (hpc_grid_shape){.extent = {[HPC_AXIS_DATA] = data}};
        p->o.trainer.parallel.zero = 1;
        p->o.save_every = 2;
        p->o.keep = 0;
        test_ok(run(p));
        uint64_t whole = hash_of_model(p);
        name_out(p, data == 1 ? "damaged" : "damaged-2");
        p->stop_after = AFTER + 1;
        test_ok(run(p));
        damage(p, AFTER);
        p->stop_after = 0;
        p->o.resume = true;
        test_ok(run(p));
        assert_int_equal(p->rows, STEPS - 2);
        assert_true(p->result.finished && hash_of_model(p) == whole);
        hpc_free(p);
    }
}

static void another_pruning_is_another_run(void **state)
{
    place *p = hpc_alloc(1, sizeof *p);
    open_place(p, state, HPC_OPT_ADAMW, "other");
    p->stop_after = AFTER + 1;
    test_ok(run(p));
    p->o.resume = true;
    p->o.prune.sparsity = 0.7;
    test_fails(run(p), HPC_E_ARG, "prune=0.7, but the run in ");
    p->o.prune.asked = false;
    test_fails(run(p), HPC_E_ARG, "is pruned: continue with --prune 0.8");
    hpc_free(p);
}

/* A folder in place of products.json, after the last step before pruning. */
static void block_products(const hpc_metrics_row *r, void *user)
{
    char path[PATH_MAX + 32];
    place *p = user;
    see(r, user);
    if ((int64_t)r->value[HPC_METRIC_STEP] != AFTER) return;
    snprintf(path, sizeof path, "%s/products.json", p->out);
    test_ok(hpc_file_mkdir(path));
}

static void trainer_that_does_not_reopen_ends_the_run(void **state)
{
    place *p = hpc_alloc(1, sizeof *p);
    open_place(p, state, HPC_OPT_ADAMW, "blocked");
    p->o.row = block_products;
    test_fails(run(p), HPC_E_IO, "products.json");
    assert_int_equal(p->result.step, AFTER);
    hpc_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stopped_and_gone_on_with),
                                       cmocka_unit_test(early_birds_wait_until_masks_agree),
                                       cmocka_unit_test(memory_is_given_back),
                                       cmocka_unit_test(from_grid_to_grid),
                                       cmocka_unit_test(damaged_ones_are_passed_over),
                                       cmocka_unit_test(another_pruning_is_another_run),
                                       cmocka_unit_test(trainer_that_does_not_reopen_ends_the_run)};
    return cmocka_run_group_tests_name("train/prune_run", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
