/*
 * Tests of model/delta.c: rounding of differences from a base model, merging by every reader, and
 * rejected files.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/mix.h"
#include "tests/model/gguf.h"
#include "tests/support/fault.h"

enum { MOST = 1 << 19 };
enum change { NONE, DIRECTION, NOISE }; /* what fine-tuning did */

typedef struct tuned {
    const hpc_weights *base;
    enum change change;
} tuned;

static float noise(uint64_t key)
{
    return (float)(int64_t)(hpc_mix(key) >> 40) / (1 << 23) - 1;
}

/* The base, changed. */
static int read_tuned(float *out, const hpc_model_tensor *t, void *user)
{
    const tuned *m = user;
    int64_t cols = t->rank == 2 ? t->extent[1] : 1;
    int rc = hpc_weights_read(out, m->base, t);
    for (int64_t i = 0; i < t->extent[0] * cols && m->change != NONE; i++) {
        float both = noise((uint64_t)(i / cols)) * noise((uint64_t)(1000 + i % cols));
        out[i] += m->change == NOISE || t->rank == 1 ? noise((uint64_t)(5000 + i)) / 8 : both;
    }
    return rc;
}

typedef struct pair {
    char base[PATH_MAX], delta[PATH_MAX];
    hpc_model_config c;
    hpc_weights *w;
    tuned model;
    hpc_delta_options o;
} pair;

static void make_base(pair *p, const hpc_test_folder *f, enum change change)
{
    hpc_weights *from;
    p->c = fixture("llama_grouped", &from);
    hpc_gguf_options o = {.dtype = HPC_F32, .read = read_from, .user = from};
    test_ok(hpc_weights_save_gguf(hpc_test_path(p->base, f, "base.gguf"), &p->c, &o));
    hpc_weights_close(from);
    hpc_test_path(p->delta, f, "delta.gguf");
    remove(p->delta);
    test_ok(hpc_model_config_read(&p->c, p->base));
    test_ok(hpc_weights_open(&p->w, p->base, &p->c));
    p->model = (tuned){p->w, change};
    p->o = (hpc_delta_options){.base = p->base, .read = read_tuned, .user = &p->model};
}

static void make(pair *p, const hpc_test_folder *f, enum change change)
{
    make_base(p, f, change);
    test_ok(hpc_delta_save(p->delta, &p->c, &p->o));
}

/* Share of the change's energy that is lost, of the worst matrix; vectors must be exact but for the
 * rounding of a sum. */
static double lost(pair *p)
{
    static float base[MOST], wanted[MOST], read[MOST];
    hpc_model_config c;
    hpc_weights *w;
    hpc_model_tensor *list;
    int64_t n;
    double worst = 0;
    test_ok(hpc_model_config_read(&c, p->delta));
    same_config(&c, &p->c);
    test_ok(hpc_weights_open(&w, p->delta, &c));
    test_ok(hpc_model_tensors(&list, &n, &c));
    for (int64_t k = 0; k < n; k++) {
        int64_t size = hpc_test_model_tensor_n(&list[k]);
        double all = 0, left = 0;
        assert_true(size <= MOST);
        test_ok(hpc_weights_read(base, p->w, &list[k]));
        test_ok(read_tuned(wanted, &list[k], &p->model));
        test_ok(hpc_weights_read(read, w, &list[k]));
        for (int64_t i = 0; i < size; i++) {
            double change = (double)wanted[i] - base[i], error = (double)wanted[i] - read[i];
            if (list[k].rank == 1) assert_true(fabs(error) <= 1e-6 * (1 + fabs(wanted[i])));
            all += change * change;
            left += error * error;
        }
        if (list[k].rank == 2 && all > 0 && left / all > worst) worst = left / all;
        if (p->model.change == NONE) assert_memory_equal(read, base, (size_t)size * sizeof *read);
    }
    hpc_free(list);
    hpc_weights_close(w);
    return worst;
}

static void unchanged_model_equals_its_base(void **state)
{
    pair p;
    make(&p, *state, NONE);
    assert_true(lost(&p) == 0);
    hpc_weights_close(p.w);
}

static void common_direction_is_exact(void **state)
{
    pair p;
    make(&p, *state, DIRECTION);
    assert_true(lost(&p) < 1e-8);
    hpc_weights_close(p.w);
}

/* Ternary digits keep 8/9 of the energy of uniform noise at the best threshold; the threshold here
 * is that of a normal distribution. */
static void noise_keeps_most_of_its_energy(void **state)
{
    pair p;
    make(&p, *state, NOISE);
    double share = lost(&p);
    assert_true(share > 0.02 && share < 0.2);
    hpc_weights_close(p.w);
}

static void export_is_deterministic(void **state)
{
    pair p;
    hpc_buf a = {0}, b = {0};
    make(&p, *state, NOISE);
    test_ok(hpc_file_read(&a, p.delta, 1 << 24));
    remove(p.delta);
    test_ok(hpc_delta_save(p.delta, &p.c, &p.o));
    test_ok(hpc_file_read(&b, p.delta, 1 << 24));
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    hpc_buf_release(&a);
    hpc_buf_release(&b);
    hpc_weights_close(p.w);
}

/* ---- what is rejected ------------------------------------------------------------------------ */

static void rejects(int rc, const char *says)
{
    assert_true(rc < 0);
    if (!strstr(hpc_error_get()->text, says)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
}

static void rejects_missing_and_changed_base(void **state)
{
    pair p;
    hpc_model_config c;
    make(&p, *state, NOISE);
    hpc_weights_close(p.w);
    hpc_buf bytes = {0};
    test_ok(hpc_file_read(&bytes, p.base, 1 << 24));
    bytes.data[bytes.n - 1] ^= 1;
    test_ok(hpc_file_save(p.base, bytes.data, bytes.n));
    rejects(hpc_model_config_read(&c, p.delta), "from another base.gguf");
    assert_int_equal(remove(p.base), 0);
    rejects(hpc_model_config_read(&c, p.delta), "base.gguf, which is not in its folder");
    hpc_buf_release(&bytes);
}

static void rejects_bases_that_do_not_fit(void **state)
{
    pair p;
    make(&p, *state, NOISE);
    hpc_delta_options o = p.o;
    o.base = p.delta;
    rejects(hpc_delta_save("build/none.gguf", &p.c, &o), "not a FILE.gguf with a whole model");
    o.base = "tests/fixtures/families/llama";
    rejects(hpc_delta_save("build/none.gguf", &p.c, &o), "not a FILE.gguf with a whole model");
    hpc_model_config wider = p.c;
    wider.ffn *= 2;
    rejects(hpc_delta_save("build/none.gguf", &wider, &p.o), "its ffn is");
    wider = p.c;
    wider.adapter.rank = 2;
    rejects(hpc_delta_save("build/none.gguf", &wider, &p.o), "merges its adapters");
    assert_false(hpc_file_exists("build/none.gguf"));
    hpc_weights_close(p.w);
}

static void save_adapter(const char *path, const char *kind, const char *base)
{
    hpc_gguf_value value[] = {
        {.key = "general.architecture", .kind = HPC_GGUF_TEXT, .data = "llama", .bytes = 5},
        {.key = "general.type", .kind = HPC_GGUF_TEXT, .data = "adapter", .bytes = 7},
        {.key = "adapter.type", .kind = HPC_GGUF_TEXT, .data = kind, .bytes = strlen(kind)},
        {.key = "adapter.base", .kind = HPC_GGUF_TEXT, .data = base, .bytes = strlen(base)}};
    remove(path);
    test_ok(hpc_gguf_save(path, value, 4, NULL, 0, NULL, NULL));
}

static void rejects_other_adapters(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c;
    hpc_test_path(path, *state, "other.gguf");
    save_adapter(path, "lora", "base.gguf");
    rejects(hpc_model_config_read(&c, path), "adapter.type is 'lora'");
    save_adapter(path, "hpccoder.ternary", "../base.gguf");
    rejects(hpc_model_config_read(&c, path), "not a file name");
    save_adapter(path, "hpccoder.ternary", "other.gguf"); /* of itself */
    rejects(hpc_model_config_read(&c, path), "from another other.gguf");
}

static int save_and_read(void *user)
{
    pair *p = user;
    hpc_model_config c;
    hpc_weights *w = NULL;
    int rc;
    remove(p->delta);
    TRY(hpc_delta_save(p->delta, &p->c, &p->o));
    TRY(hpc_model_config_read(&c, p->delta));
    TRY(hpc_weights_open(&w, p->delta, &c));
out:
    hpc_weights_close(w);
    return rc;
}

static void out_of_memory(void **state)
{
    pair p;
    make_base(&p, *state, NOISE);
    assert_true(hpc_test_each_alloc(save_and_read, &p) > 30);
    hpc_weights_close(p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unchanged_model_equals_its_base, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(common_direction_is_exact, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(noise_keeps_most_of_its_energy, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(export_is_deterministic, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_missing_and_changed_base, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_bases_that_do_not_fit, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(rejects_other_adapters, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(out_of_memory, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
