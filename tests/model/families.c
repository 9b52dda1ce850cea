/*
 * families.c: models saved by transformers: logits, gradients and ten steps of two optimizers
 * equal those of transformers; saved again, every tensor has the same bits.
 *
 * The fixtures are made by tests/fixtures/make_families.py.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/family.h"
#include "tests/support/folder.h"

/* Relative to a tensor's largest number, all in f32: two blocks are about thirty roundings of 6e-8
 * one after the other, and sums of up to 61 products. */
static const double BOUND = 1e-5;

typedef struct family {
    const char *name, *family;
    bool steps; /* the fixture has gradients and losses */
} family;
static const family families[] = {
    {"llama", "llama", true},
    {"llama_grouped", "llama", true},
    {"llama_yarn", "llama", false},
    {"llama_linear", "llama", false},
    {"mistral", "mistral", true},
    {"qwen2", "qwen2", true},
    {"qwen2_classes", "qwen2", false},
    {"starcoder2", "starcoder2", true},
    {"gpt_neox", "gpt_neox", true},
    {"gpt_neox_sequential", "gpt_neox", true},
    {"gpt2", "gpt2", true},
};
enum { FAMILIES = sizeof families / sizeof *families, MOST = HPC_TEST_FAMILY_MOST, STEPS = 10 };

/* The fixture as a program, loaded and fed. */
static void open_family(hpc_test_model *m, const family *f, hpc_test_steps steps)
{
    char path[PATH_MAX];
    double x[MOST], length[8];
    hpc_model_config c;
    test_ok(hpc_model_config_read(&c, hpc_test_family_path(path, f->name, "")));
    assert_string_equal(c.family, f->family);
    assert_int_equal(c.dtype, HPC_F32);
    int64_t n = hpc_test_family_expected(x, f->name, "tokens");
    int64_t d = hpc_test_family_expected(length, f->name, "lengths");
    hpc_test_model_open(m, &c, n, d, steps);
    hpc_test_family_load(m, path);
    hpc_test_family_feed(m, f->name);
    if (m->io.pooled < 0) return;
    int32_t last[8], end = 0;
    for (int64_t i = 0; i < d; i++) last[i] = (end += (int32_t)length[i]) - 1;
    hpc_test_write_i32(m->e, 0, m->io.pooled, last);
}

static void logits_are_those_of_transformers(void **state)
{
    const family *f = *state;
    double want[MOST], got[MOST];
    hpc_test_model m;
    open_family(&m, f, HPC_TEST_LOGITS);
    hpc_test_model_step(&m, 1, 0);
    int64_t n = hpc_test_family_expected(want, f->name, "logits");
    assert_int_equal(n, hpc_test_n(m.p, m.io.logits));
    hpc_test_read(m.e, 0, m.io.logits, got);
    double apart = hpc_test_distance(got, want, n, 0);
    if (!(apart <= BOUND)) print_error("%s: logits apart by %.3g\n", f->name, apart);
    assert_true(apart <= BOUND);
    hpc_test_model_close(&m);
}

static void gradients_are_those_of_transformers(void **state)
{
    const family *f = *state;
    hpc_test_model m;
    if (!f->steps) return;
    open_family(&m, f, HPC_TEST_GRADIENT);
    hpc_test_model_step(&m, 1, 0);
    hpc_test_family_gradients(&m, f->name, BOUND);
    hpc_test_model_close(&m);
}

static void steps_are(const family *f, hpc_test_steps steps, const char *name, double lr)
{
    double want[MOST], got[STEPS];
    hpc_test_model m;
    open_family(&m, f, steps);
    assert_int_equal(hpc_test_family_expected(want, f->name, name), STEPS);
    for (int k = 0; k < STEPS; k++) {
        got[k] = hpc_test_model_step(&m, k + 1, lr);
        double apart = fabs(got[k] - want[k]) / want[0];
        if (!(apart <= BOUND))
            print_error("%s: %s: loss %d is %.9g, not %.9g\n", f->name, name, k, got[k], want[k]);
        assert_true(apart <= BOUND);
    }
    assert_true(got[STEPS - 1] < got[0]);
    hpc_test_model_close(&m);
}

static void steps_are_those_of_transformers(void **state)
{
    const family *f = *state;
    if (!f->steps) return;
    steps_are(f, HPC_TEST_ADAMW, "adamw", 0x1p-7);
    steps_are(f, HPC_TEST_SGD, "sgd", 0x1p-6);
}

/* ---- saved again ---------------------------------------------------------------------------- */

static int read_from(float *out, const hpc_model_tensor *t, void *user)
{
    return hpc_weights_read(out, user, t);
}

/* All files of a directory's weights, in order. */
static int64_t open_files(hpc_safetensors *out[4], const char *dir)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    if (hpc_file_exists(path)) {
        test_ok(hpc_safetensors_open(&out[0], path));
        return 1;
    }
    for (int k = 0; k < 2; k++) {
        snprintf(path, sizeof path, "%s/model-%05d-of-00002.safetensors", dir, k + 1);
        test_ok(hpc_safetensors_open(&out[k], path));
    }
    return 2;
}

static void find_in(hpc_stored_tensor *out, hpc_safetensors **s, int64_t n, const char *name)
{
    for (int64_t k = 0; k < n; k++) {
        if (hpc_safetensors_find(out, s[k], name) >= 0) return;
        hpc_error_clear();
    }
    print_error("%s is missing\n", name);
    fail();
}

static void same_tensors(const char *a, const char *b)
{
    hpc_safetensors *sa[4], *sb[4];
    int64_t na = open_files(sa, a), nb = open_files(sb, b), all_a = 0, all_b = 0;
    assert_int_equal(na, nb);
    for (int64_t k = 0; k < na; k++) {
        all_a += hpc_safetensors_n(sa[k]);
        all_b += hpc_safetensors_n(sb[k]);
        for (int64_t i = 0; i < hpc_safetensors_n(sa[k]); i++) {
            hpc_stored_tensor ta, tb;
            test_ok(hpc_safetensors_at(&ta, sa[k], i));
            find_in(&tb, sb, nb, ta.name);
            assert_int_equal(ta.dtype, tb.dtype);
            assert_int_equal(ta.rank, tb.rank);
            assert_memory_equal(ta.extent, tb.extent, (size_t)ta.rank * sizeof *ta.extent);
            assert_int_equal(ta.bytes, tb.bytes);
            assert_memory_equal(ta.data, tb.data, ta.bytes);
        }
    }
    assert_int_equal(all_a, all_b);
    for (int64_t k = 0; k < na; k++) hpc_safetensors_close(sa[k]), hpc_safetensors_close(sb[k]);
}

static void what_is_saved_is_what_was_loaded(void **state)
{
    hpc_test_folder *folder = *state;
    for (int k = 0; k < FAMILIES; k++) {
        const family *f = &families[k];
        char from[PATH_MAX], to[PATH_MAX];
        hpc_model_config c, again;
        hpc_weights *w;
        test_ok(hpc_model_config_read(&c, hpc_test_family_path(from, f->name, "")));
        test_ok(hpc_weights_open(&w, from, &c));
        hpc_weights_save_options o = {.dtype = c.dtype, .read = read_from, .user = w};
        if (strcmp(f->name, "starcoder2") == 0) o.part_bytes = 40000; /* as the fixture */
        test_ok(hpc_weights_save(hpc_test_path(to, folder, f->name), &c, &o));
        hpc_weights_close(w);
        same_tensors(from, to);
        test_ok(hpc_model_config_read(&again, to));
        /* both write the same: every member has come back */
        hpc_buf one = {0}, two = {0};
        test_ok(hpc_model_config_write(&one, &c));
        test_ok(hpc_model_config_write(&two, &again));
        assert_string_equal(one.data, two.data);
        hpc_buf_release(&one);
        hpc_buf_release(&two);
        test_ok(hpc_weights_open(&w, to, &again));
        hpc_weights_close(w);
    }
}

int main(void)
{
    struct CMUnitTest tests[3 * FAMILIES + 1];
    char names[3 * FAMILIES][64];
    int n = 0;
    const struct {
        const char *what;
        CMUnitTestFunction run;
    } each[] = {{"logits", logits_are_those_of_transformers},
                {"gradients", gradients_are_those_of_transformers},
                {"steps", steps_are_those_of_transformers}};
    for (int k = 0; k < FAMILIES; k++)
        for (int i = 0; i < (families[k].steps ? 3 : 1); i++) {
            snprintf(names[n], sizeof names[n], "%s %s", families[k].name, each[i].what);
            tests[n] = (struct CMUnitTest){
                .name = names[n], .test_func = each[i].run, .initial_state = (void *)&families[k]};
            n++;
        }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(
        what_is_saved_is_what_was_loaded, hpc_test_folder_setup, hpc_test_folder_teardown);
    return _cmocka_run_group_tests("model/families", tests, (size_t)n, NULL, NULL);
}
