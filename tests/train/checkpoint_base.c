/*
 * checkpoint_base.c: checkpoints of adapters omit the base model's frozen parameters, and verify
 * them.
 */
#include "tests/support/fault.h"
#include "tests/train/data.h"
#include "train/checkpoint_priv.h"

typedef struct job {
    char data[PATH_MAX], base[PATH_MAX], folder[PATH_MAX];
    hpc_loader *loader;
    hpc_loader_source source;
    hpc_trainer_options o;
    char line[800];
} job;

static void hear(const char *line, void *user)
{
    job *j = user;
    snprintf(j->line, sizeof j->line, "%s", line);
}

/* A model directory with parameters drawn from `seed`. */
static void make_base(const char *path, uint64_t seed)
{
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_trainer *t;
    o.seed = seed;
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_trainer_export(t, path));
    hpc_trainer_close(t);
}

static void begin(job *j, void **state, hpc_dtype dtype)
{
    *j = (job){.o = tiny_trainer(HPC_OPT_ADAMW)};
    j->source.path = data_set(j->data, *state, "data", 200, NULL);
    hpc_loader_options l = {
        .source = &j->source, .source_n = 1, .length = 24, .documents = 6, .seed = 5};
    test_ok(hpc_loader_open(&j->loader, &l));
    hpc_test_path(j->folder, *state, "checkpoints");
    make_base(hpc_test_path(j->base, *state, "base"), 5);
    j->o.init = j->base;
    j->o.model.dtype = dtype;
    j->o.model.adapter = (hpc_adapter_config){
        .rank = 2, .alpha = 4, .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN};
}

static hpc_trainer *open_trainer(const job *j)
{
    hpc_trainer *t;
    test_ok(hpc_trainer_open(&t, &j->o, false));
    return t;
}

/* The last step's loss. */
static double take_steps(job *j, hpc_trainer *t, int from, int to)
{
    hpc_trainer_result r = {0};
    for (int k = from; k <= to; k++) {
        test_ok(hpc_trainer_load(t, j->loader));
        test_ok(hpc_trainer_step(&r, t, k, 0.01, INFINITY));
    }
    return r.loss;
}

static void save(job *j, const hpc_trainer *t, int64_t step)
{
    hpc_checkpoint c = {.step = step, .loader = hpc_loader_tell(j->loader), .best = INFINITY};
    test_ok(hpc_checkpoint_save(t, j->folder, &c));
}

static void open_state(checkpoint_state **s, hpc_json **record, const job *j, int64_t step)
{
    hpc_checkpoint c;
    test_ok(checkpoint_record_read(record, &c, j->folder, step));
    test_ok(checkpoint_state_open(s, j->folder, step, *record));
}

static bool holds(const job *j, int64_t step, const char *name)
{
    checkpoint_state *s;
    hpc_stored_tensor x;
    hpc_json *record;
    open_state(&s, &record, j, step);
    bool found = checkpoint_state_find(&x, s, name);
    checkpoint_state_close(s);
    hpc_json_free(record);
    return found;
}

static void leaves_out_what_is_frozen(void **state)
{
    hpc_model_tensor *tensor;
    int64_t n, frozen = 0;
    job j;
    begin(&j, state, HPC_F32);
    hpc_trainer *t = open_trainer(&j);
    take_steps(&j, t, 1, 1);
    save(&j, t, 1);
    test_ok(hpc_model_tensors(&tensor, &n, &j.o.model));
    for (int64_t k = 0; k < n; k++) {
        assert_int_equal(holds(&j, 1, tensor[k].name), tensor[k].trainable);
        frozen += !tensor[k].trainable;
    }
    assert_true(frozen > 0);
    assert_int_equal(n - frozen, 2 * 2 * j.o.model.layers);
    hpc_free(tensor);
    hpc_trainer_close(t);
    hpc_loader_close(j.loader);
}

static void check_resume(void **state, hpc_dtype dtype)
{
    hpc_checkpoint c;
    bool found;
    job j;
    begin(&j, state, dtype);
    hpc_trainer *t = open_trainer(&j), *other;
    take_steps(&j, t, 1, 3);
    save(&j, t, 3);
    hpc_loader_state here = hpc_loader_tell(j.loader);
    double whole = take_steps(&j, t, 4, 6);
    other = open_trainer(&j);
    test_ok(hpc_checkpoint_load(&c, &found, other, j.folder, hear, &j));
    assert_true(found && c.step == 3 && j.line[0] == '\0');
    test_ok(hpc_loader_seek(j.loader, &here));
    assert_true(take_steps(&j, other, 4, 6) == whole);
    hpc_trainer_close(t);
    hpc_trainer_close(other);
    hpc_loader_close(j.loader);
}

static void resume_gives_the_same_losses_in_f32(void **state)
{
    check_resume(state, HPC_F32);
}

static void resume_gives_the_same_losses_in_bf16(void **state)
{
    check_resume(state, HPC_BF16);
}

static void damage(const job *j, const char *name)
{
    char path[2 * PATH_MAX];
    hpc_buf text = {0};
    snprintf(path, sizeof path, "%s/%s", j->folder, name);
    test_ok(hpc_file_read(&text, path, 1 << 24));
    text.data[text.n / 2] ^= 4;
    test_ok(hpc_file_save(path, text.data, text.n));
    hpc_buf_release(&text);
}

static void a_damaged_checkpoint_falls_back_to_the_one_before(void **state)
{
    hpc_checkpoint c;
    bool found;
    job j;
    begin(&j, state, HPC_F32);
    hpc_trainer *t = open_trainer(&j);
    take_steps(&j, t, 1, 2);
    save(&j, t, 2);
    take_steps(&j, t, 3, 3);
    save(&j, t, 3);
    damage(&j, "step-00000003.safetensors");
    test_ok(hpc_checkpoint_load(&c, &found, t, j.folder, hear, &j));
    assert_true(found && c.step == 2);
    assert_non_null(strstr(j.line, "step 3 is damaged"));
    damage(&j, "step-00000002.safetensors");
    test_fails(hpc_checkpoint_load(&c, &found, t, j.folder, hear, &j), HPC_E_FORMAT,
               "all of its 2 checkpoints are damaged");
    hpc_trainer_close(t);
    hpc_loader_close(j.loader);
}

typedef struct opening {
    const char *run;
    const job *j;
} opening;

static int find_and_open(void *user)
{
    const opening *x = user;
    char path[HPC_BASE_PATH];
    hpc_saved *s = NULL;
    int rc = hpc_checkpoint_base(path, x->j->folder, x->j->base);
    if (rc >= 0) assert_string_equal(path, x->j->base);
    if (rc >= 0) rc = hpc_saved_open(&s, x->run, -1, NULL);
    hpc_saved_close(s);
    return rc;
}

static void each_allocation_may_fail(void **state)
{
    const hpc_test_folder *f = *state;
    job j;
    begin(&j, state, HPC_F32);
    hpc_trainer *t = open_trainer(&j);
    save(&j, t, 1);
    hpc_trainer_close(t);
    hpc_loader_close(j.loader);
    opening x = {.run = f->root, .j = &j};
    assert_true(hpc_test_each_alloc(find_and_open, &x) > 20);
}

/* Older programs wrote such checkpoints. The run continues to store everything, because its base
 * may have changed since. */
static void a_checkpoint_with_the_base_inside_loads(void **state)
{
    hpc_checkpoint c;
    hpc_json *record;
    int64_t version;
    bool found;
    job j;
    begin(&j, state, HPC_F32);
    hpc_trainer *t = open_trainer(&j), *other;
    t->stores_base = true;
    take_steps(&j, t, 1, 3);
    save(&j, t, 3);
    test_ok(checkpoint_record_read(&record, &c, j.folder, 3));
    test_ok(hpc_json_int(&version, hpc_json_get(record, "version"), "version"));
    assert_int_equal(version, 1);
    hpc_json_free(record);
    hpc_loader_state here = hpc_loader_tell(j.loader);
    double whole = take_steps(&j, t, 4, 6);
    make_base(j.base, 9); /* unused: the checkpoint holds all */
    other = open_trainer(&j);
    test_ok(hpc_checkpoint_load(&c, &found, other, j.folder, hear, &j));
    assert_true(found);
    test_ok(hpc_loader_seek(j.loader, &here));
    assert_true(take_steps(&j, other, 4, 6) == whole);
    save(&j, other, 6);
    assert_true(holds(&j, 6, "model.embed_tokens.weight"));
    hpc_trainer_close(t);
    hpc_trainer_close(other);
    hpc_loader_close(j.loader);
}

/* An older checkpoint needs the same base, so loading does not fall back to it. */
static void rejects_a_base_that_has_changed(void **state)
{
    char want[CHECKPOINT_HASH], is[CHECKPOINT_HASH], text[160];
    hpc_checkpoint c;
    bool found;
    job j;
    begin(&j, state, HPC_F32);
    hpc_trainer *t = open_trainer(&j);
    checkpoint_hash_text(want, t->base_hash);
    save(&j, t, 1);
    save(&j, t, 2);
    hpc_trainer_close(t);
    make_base(j.base, 9);
    t = open_trainer(&j);
    checkpoint_hash_text(is, t->base_hash);
    assert_string_not_equal(want, is);
    snprintf(text, sizeof text, "hash %s, the checkpoint expects %s", is, want);
    test_fails(hpc_checkpoint_load(&c, &found, t, j.folder, hear, &j), HPC_E_ARG, text);
    assert_false(found);
    assert_string_equal(j.line, "");
    hpc_trainer_close(t);
    hpc_loader_close(j.loader);
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(leaves_out_what_is_frozen),
        IN_FOLDER(resume_gives_the_same_losses_in_f32),
        IN_FOLDER(resume_gives_the_same_losses_in_bf16),
        IN_FOLDER(a_checkpoint_with_the_base_inside_loads),
        IN_FOLDER(rejects_a_base_that_has_changed),
        IN_FOLDER(a_damaged_checkpoint_falls_back_to_the_one_before),
        IN_FOLDER(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
