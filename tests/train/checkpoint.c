/*
 * checkpoint.c: bit-exact round trips, and detection of damage.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/support/fault.h"
#include "tests/train/data.h"
#include "train/run_priv.h"

typedef struct place {
    hpc_test_folder *f;
    char data[PATH_MAX], folder[PATH_MAX];
    hpc_loader *l;
    hpc_loader_source source;
    int said;
    char line[800];
} place;

static void hear(const char *line, void *user)
{
    place *p = user;
    p->said++;
    snprintf(p->line, sizeof p->line, "%s", line);
}

static void open_place(place *p, void **state)
{
    *p = (place){.f = *state};
    p->source.path = data_set(p->data, p->f, "data", 200, NULL);
    hpc_test_path(p->folder, p->f, "checkpoints");
    hpc_loader_options o = {
        .source = &p->source, .source_n = 1, .length = 24, .documents = 6, .seed = 5};
    test_ok(hpc_loader_open(&p->l, &o));
}

static hpc_trainer *open_trainer(const hpc_trainer_options *o)
{
    hpc_trainer *t;
    test_ok(hpc_trainer_open(&t, o, false));
    return t;
}

static void take_steps(hpc_trainer *t, place *p, int from, int to)
{
    hpc_trainer_result r;
    for (int k = from; k <= to; k++) {
        test_ok(hpc_trainer_load(t, p->l));
        test_ok(hpc_trainer_step(&r, t, k, 0.01, INFINITY));
    }
}

/* A hash of all state. */
static uint64_t hash_of(const hpc_trainer *t)
{
    uint64_t h = 0;
    static uint8_t room[1 << 20];
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        size_t bytes = hpc_type_bytes(&t->p->value[v].type);
        if (!trainer_keeps(t, v)) continue;
        assert_true(bytes <= sizeof room);
        test_ok(hpc_exec_read(t->exec, 0, v, room, bytes));
        h = hpc_hash(room, bytes, h);
    }
    return h;
}

static hpc_checkpoint at_step(const place *p, int64_t step)
{
    return (hpc_checkpoint){.step = step,
                            .tokens = step * 96,
                            .loader = hpc_loader_tell(p->l),
                            .norm_average = 1.0 / 3,
                            .best = INFINITY,
                            .seconds = 0.1};
}

static void save(place *p, hpc_trainer *t, int64_t step)
{
    hpc_checkpoint c = at_step(p, step);
    test_ok(hpc_checkpoint_save(t, p->folder, &c));
}

static void comes_back(void **state)
{
    place p;
    open_place(&p, state);
    for (int kind = 0; kind < HPC_OPT_N; kind++)
        for (int half = 0; half < 2; half++) {
            hpc_trainer_options o = tiny_trainer(kind);
            hpc_checkpoint c, want;
            bool found;
            o.model.dtype = half ? HPC_BF16 : HPC_F32;
            snprintf(p.folder, sizeof p.folder, "%s/c%d%d", p.f->root, kind, half);
            hpc_trainer *t = open_trainer(&o), *again;
            take_steps(t, &p, 1, 4);
            save(&p, t, 4);
            want = at_step(&p, 4);
            again = open_trainer(&o);
            assert_true(hash_of(again) != hash_of(t));
            test_ok(hpc_checkpoint_load(&c, &found, again, p.folder, hear, &p));
            assert_true(found && p.said == 0);
            assert_true(hash_of(again) == hash_of(t));
            assert_int_equal(c.step, 4);
            assert_int_equal(c.tokens, want.tokens);
            assert_memory_equal(&c.loader, &want.loader, sizeof c.loader);
            assert_true(c.norm_average == want.norm_average && isinf(c.best) && c.seconds == 0.1);
            hpc_loader_state here = hpc_loader_tell(p.l);
            take_steps(t, &p, 5, 7);
            test_ok(hpc_loader_seek(p.l, &here));
            take_steps(again, &p, 5, 7);
            assert_true(hash_of(again) == hash_of(t));
            hpc_trainer_close(t);
            hpc_trainer_close(again);
        }
    hpc_loader_close(p.l);
}

static void path_in(char out[PATH_MAX], const place *p, const char *name)
{
    assert_true(snprintf(out, PATH_MAX, "%s/%s", p->folder, name) < PATH_MAX);
}

static void flip(const char *path, size_t at)
{
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, path, 1 << 24));
    text.data[at < text.n ? at : text.n / 2] ^= 4;
    test_ok(hpc_file_save(path, text.data, text.n));
    hpc_buf_release(&text);
}

static void cut(const char *path, size_t n)
{
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, path, 1 << 24));
    test_ok(hpc_file_save(path, text.data, n < text.n ? n : text.n));
    hpc_buf_release(&text);
}

/* The newest is damaged in one way after the other; each time the one before is taken and said. */
static void falls_back(void **state)
{
    place p;
    char data[PATH_MAX], about[PATH_MAX];
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    open_place(&p, state);
    path_in(data, &p, "step-00000002.safetensors");
    path_in(about, &p, "step-00000002.json");
    hpc_trainer *t = open_trainer(&o);
    take_steps(t, &p, 1, 1);
    save(&p, t, 1);
    uint64_t first = hash_of(t);
    take_steps(t, &p, 2, 2);
    for (int way = 0; way < 6; way++) {
        hpc_checkpoint c;
        bool found;
        save(&p, t, 2);
        p.said = 0;
        switch (way) {
        case 0: flip(data, 100000); break;
        case 1: flip(data, 9); break;
        case 2: cut(data, 5000); break;
        case 3: test_ok(hpc_file_remove(data)); break;
        case 4: cut(about, 60); break;
        case 5: flip(about, 60); break;
        }
        hpc_trainer *again = open_trainer(&o);
        test_ok(hpc_checkpoint_load(&c, &found, again, p.folder, hear, &p));
        assert_true(found);
        assert_int_equal(c.step, 1);
        assert_int_equal(p.said, 1);
        assert_non_null(strstr(p.line, "checkpoint of step 2 is damaged"));
        assert_true(hash_of(again) == first);
        hpc_trainer_close(again);
    }
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

/* Data without its description is what a kill leaves: nothing is said, the one before is taken. */
static void half_written(void **state)
{
    place p;
    char about[PATH_MAX];
    hpc_trainer_options o = tiny_trainer(HPC_OPT_SGD);
    hpc_checkpoint c;
    bool found = true;
    open_place(&p, state);
    hpc_trainer *t = open_trainer(&o);
    test_ok(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p));
    assert_false(found);
    save(&p, t, 1);
    save(&p, t, 2);
    path_in(about, &p, "step-00000002.json");
    test_ok(hpc_file_remove(about));
    test_ok(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p));
    assert_true(found && c.step == 1 && p.said == 0);
    path_in(about, &p, "step-00000001.json");
    cut(about, 30);
    test_fails(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p), HPC_E_FORMAT,
               "all of its 1 checkpoints are damaged");
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

static void of_another_run(void **state)
{
    place p;
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_checkpoint c;
    bool found;
    open_place(&p, state);
    hpc_trainer *t = open_trainer(&o);
    save(&p, t, 3);
    hpc_trainer_close(t);
    o.model.ffn = 64;
    t = open_trainer(&o);
    test_fails(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p), HPC_E_SHAPE,
               "its model.layers.0.mlp.gate_proj.weight is");
    hpc_trainer_close(t);
    o = tiny_trainer(HPC_OPT_SGD);
    t = open_trainer(&o);
    test_fails(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p), HPC_E_SHAPE,
               "another model or optimizer");
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

static void of_a_newer_version(void **state)
{
    place p;
    char about[PATH_MAX];
    hpc_buf text = {0};
    hpc_trainer_options o = tiny_trainer(HPC_OPT_SGD);
    hpc_checkpoint c;
    bool found;
    open_place(&p, state);
    hpc_trainer *t = open_trainer(&o);
    save(&p, t, 3);
    path_in(about, &p, "step-00000003.json");
    test_ok(hpc_file_read(&text, about, 1 << 20));
    char *version = strstr(text.data, "\"version\": 1");
    assert_non_null(version);
    version[11] = '9';
    test_ok(hpc_file_save(about, text.data, text.n));
    hpc_buf_release(&text);
    test_fails(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p), HPC_E_UNSUPPORTED,
               "version 9");
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

/* As it was written before runs had numbers and records their models. */
static void of_an_older_version(void **state)
{
    place p;
    char about[PATH_MAX];
    hpc_buf text = {0};
    hpc_trainer_options o = tiny_trainer(HPC_OPT_SGD);
    hpc_checkpoint c;
    bool found;
    open_place(&p, state);
    hpc_trainer *t = open_trainer(&o);
    save(&p, t, 3);
    path_in(about, &p, "step-00000003.json");
    test_ok(hpc_file_read(&text, about, 1 << 20));
    char *run = strstr(text.data, "\"run\""), *step = strstr(text.data, "\"step\"");
    assert_true(run && step > run);
    memmove(run, step, strlen(step) + 1);
    char *model = strstr(text.data, ",\n  \"model\"");
    assert_non_null(model);
    memcpy(model, "\n}\n", 4);
    test_ok(hpc_file_save(about, text.data, strlen(text.data)));
    hpc_buf_release(&text);
    test_ok(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p));
    assert_true(found && c.step == 3 && c.run == 0 && p.said == 0);
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

/* With each system call of a save failing, the previous checkpoint still loads. */
static void full_disk(void **state)
{
    place p;
    hpc_trainer_options o = tiny_trainer(HPC_OPT_SGD);
    int64_t failed = 0;
    bool whole = false;
    open_place(&p, state);
    hpc_trainer *t = open_trainer(&o);
    save(&p, t, 1);
    for (int64_t n = 1; !whole; n++) {
        hpc_checkpoint c = at_step(&p, 2), got;
        bool found;
        hpc_test_fail_io(n);
        int rc = hpc_checkpoint_save(t, p.folder, &c);
        whole = !hpc_test_io_failed();
        hpc_test_fault_reset();
        /* A file that cannot be closed after reading does no harm. */
        if (rc < 0) {
            assert_int_equal(rc, HPC_E_IO);
            hpc_error_clear();
            failed++;
        }
        test_ok(hpc_checkpoint_load(&got, &found, t, p.folder, hear, &p));
        assert_true(found && got.step >= (rc < 0 ? 1 : 2));
    }
    assert_true(failed > 5);
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

/* One in eleven, since each save waits for the disk. */
static void an_allocation_may_fail(void **state)
{
    place p;
    hpc_trainer_options o = tiny_trainer(HPC_OPT_SGD);
    hpc_checkpoint got;
    bool found, hit = true;
    int failed = 0;
    open_place(&p, state);
    hpc_trainer *t = open_trainer(&o);
    save(&p, t, 1);
    for (int64_t n = 1; hit; n += 11) {
        hpc_checkpoint c = at_step(&p, 2);
        hpc_test_fail_alloc(n);
        int rc = hpc_checkpoint_save(t, p.folder, &c);
        hit = hpc_test_alloc_failed();
        hpc_test_fault_reset();
        assert_int_equal(rc, hit ? HPC_E_NOMEM : HPC_OK);
        failed += rc < 0;
        hpc_error_clear();
        test_ok(hpc_checkpoint_load(&got, &found, t, p.folder, hear, &p));
        assert_true(found && p.said == 0 && got.step >= (hit ? 1 : 2));
    }
    assert_true(failed > 3);
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

static void keeps_the_newest(void **state)
{
    place p;
    char about[PATH_MAX];
    hpc_trainer_options o = tiny_trainer(HPC_OPT_SGD);
    hpc_checkpoint c;
    bool found;
    open_place(&p, state);
    hpc_trainer *t = open_trainer(&o);
    for (int k = 1; k <= 5; k++) save(&p, t, 10 * k);
    path_in(about, &p, "step-00000020.json");
    test_ok(hpc_file_remove(about)); /* as a kill leaves it */
    test_ok(hpc_checkpoint_prune(p.folder, 0, 50));
    assert_int_equal(hpc_test_entries(p.folder), 8);
    test_ok(hpc_checkpoint_prune(p.folder, 1, 30)); /* 40 and 50 were skipped */
    assert_int_equal(hpc_test_entries(p.folder), 6);
    test_ok(hpc_checkpoint_prune(p.folder, 2, 50));
    assert_int_equal(hpc_test_entries(p.folder), 4);
    test_ok(hpc_checkpoint_load(&c, &found, t, p.folder, hear, &p));
    assert_int_equal(c.step, 50);
    hpc_trainer_close(t);
    hpc_loader_close(p.l);
}

/* ---- savings during steps -------------------------------------------------------------------- */

/* Saves after step 2 into `name` and returns the bytes of the file; during: step 3 runs before the
 * saving is waited for. */
static hpc_buf saved_on(place *p, const char *backend, const char *name, bool during)
{
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    char path[PATH_MAX], folder[PATH_MAX];
    hpc_saving *s;
    hpc_buf out = {0};
    bool done = false;
    o.device = (hpc_device_options){.backend = backend, .threads = 1};
    hpc_trainer *t = open_trainer(&o);
    test_ok(hpc_loader_seek(p->l, &(hpc_loader_state){0}));
    take_steps(t, p, 1, 2);
    hpc_checkpoint c = at_step(p, 2);
    test_ok(hpc_saving_start(&s, t, hpc_test_path(folder, p->f, name), &c));
    if (during) take_steps(t, p, 3, 3);
    test_ok(hpc_saving_poll(s, true, &done));
    assert_true(done);
    hpc_saving_end(s);
    hpc_trainer_close(t);
    snprintf(path, sizeof path, "%.3000s/step-00000002.safetensors", folder);
    test_ok(hpc_file_read(&out, path, 1 << 26));
    return out;
}

static void a_saving_during_steps_has_the_state_before_them(void **state)
{
    place p;
    open_place(&p, state);
    hpc_buf wanted = saved_on(&p, "cpu", "cpu", false);
    for (int k = 0; k < 2; k++) {
        hpc_buf found = saved_on(&p, "mock", k ? "during" : "between", k);
        assert_int_equal(found.n, wanted.n);
        assert_memory_equal(found.data, wanted.data, wanted.n);
        hpc_buf_release(&found);
    }
    hpc_buf_release(&wanted);
    hpc_loader_close(p.l);
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(comes_back),          IN_FOLDER(falls_back),
        IN_FOLDER(half_written),        IN_FOLDER(of_another_run),
        IN_FOLDER(full_disk),           IN_FOLDER(keeps_the_newest),
        IN_FOLDER(of_a_newer_version),  IN_FOLDER(an_allocation_may_fail),
        IN_FOLDER(of_an_older_version), IN_FOLDER(a_saving_during_steps_has_the_state_before_them),
    };
    return cmocka_run_group_tests_name("train/checkpoint", tests, NULL, NULL);
}
