/*
 * serve_load.c: parameters in the program's state have the bits of reading and packing them one by
 * one, from every family's files, in every type and layout, with any number of threads; file pages
 * that were read are dropped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model/serve.h"
#include "runtime/device/kernel/planes.h"
#include "tests/support/command.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"
#include "tests/support/sanitized.h"

static hpc_dtype matrices; /* their type */

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    (void)user;
    hpc_dtype d = hpc_serve_dtype(t, matrices);
    return t->extent[1] % hpc_dtype_get(d)->block ? HPC_F16 : d;
}

static int drawn(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
    (void)user;
    hpc_model_init(out, t, 0, n, 3);
    for (int64_t k = 0; k < n; k++) out[k] += 0.01f * (float)(k % 7); /* vectors differ too */
    return HPC_OK;
}

static hpc_model_config config_of(const char *family)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    snprintf(c.family, sizeof c.family, "%s", family);
    c.vocab = 77, c.hidden = 256, c.ffn = 352, c.heads = 4, c.kv_heads = 2, c.positions = 24;
    if (strcmp(family, "llama") == 0) return c;
    c.norm = HPC_LAYER, c.gated = false, c.act = HPC_GELU_TANH, c.kv_heads = 4;
    c.qkv_bias = c.out_bias = c.mlp_bias = true;
    if (strcmp(family, "gpt2") == 0) c.position = HPC_LEARNED, c.tied = true;
    if (strcmp(family, "gpt_neox") == 0) c.parallel = true;
    return c;
}

typedef struct served {
    hpc_model_config c;
    hpc_weights *w;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_serve_io io;
} served;

static int open_served(served *s, const char *path, const char *backend, int threads)
{
    hpc_serve_emission e = {.tokens = 4,
                            .sequences = 1,
                            .outputs = 1,
                            .pages = 1,
                            .page = 4,
                            .sequence_pages = 1,
                            .dtype = type_of};
    char library[PATH_MAX];
    hpc_device_options o = {.backend = backend, .threads = threads};
    int rc;
    *s = (served){0};
    if (strcmp(backend, "cuda-shim") == 0)
        o.library = hpc_test_built(library, "hpccoder-cuda-shim.so");
    TRY(hpc_model_config_read(&s->c, path));
    TRY(hpc_weights_open(&s->w, path, &s->c));
    s->c.dtype = HPC_F32;
    s->p = hpc_program_create();
    if (!s->p) TRY(HPC_E_NOMEM);
    TRY(hpc_device_open(&s->d, &o));
    e.device = s->d;
    TRY(hpc_serve_emit(&s->io, s->p, &s->c, &e));
    TRY(hpc_exec_open(&s->e, s->p, s->d, NULL, NULL));
    TRY(hpc_serve_load(s->e, s->p, s->d, s->w, &s->c));
out:
    return rc;
}

static void close_served(served *s)
{
    hpc_exec_close(s->e);
    hpc_device_close(s->d);
    hpc_program_free(s->p);
    hpc_weights_close(s->w);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Row r of n rows of k elements, from planes. */
static void row_of_planes(uint8_t *row, const uint8_t *planes, hpc_dtype d, int64_t n, int64_t r,
                          int64_t k)
{
    const hpc_block_parts of = hpc_block_parts_of(d);
    size_t from, bytes;
    for (int p = 0; hpc_planes_part(&from, &bytes, d, p, n, r, 1, k); p++)
        for (int64_t b = 0; b < k / of.block; b++)
            memcpy(row + b * of.block_bytes + of.part[p].at,
                   planes + from + (size_t)b * of.part[p].bytes, of.part[p].bytes);
}

/* Of the state's bytes, numbers in plain order. */
static void numbers_of(float *out, const hpc_type *type, const uint8_t *bytes)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)type->dtype);
    int64_t k = type->extent[type->rank - 1], n = type->rank > 1 ? type->extent[0] : 1;
    uint8_t *row = hpc_alloc((size_t)(k / info->block), info->block_bytes);
    for (int64_t r = 0; r < n; r++) {
        if (type->pack == HPC_PANEL16)
            hpc_panel16_row(row, bytes, (hpc_dtype)type->dtype, k, r, 0, k);
        else if (type->pack == HPC_PLANES)
            row_of_planes(row, bytes, (hpc_dtype)type->dtype, n, r, k);
        else
            memcpy(row, bytes + (size_t)(r * (k / info->block)) * info->block_bytes,
                   (size_t)(k / info->block) * info->block_bytes);
        hpc_to_f32(out + r * k, row, (hpc_dtype)type->dtype, k);
    }
    hpc_free(row);
}

/* What the file says, rounded to the state's type unless it is of that type already. */
static void want_of(float *out, const served *s, const hpc_model_tensor *t, const hpc_type *type)
{
    hpc_dtype d = (hpc_dtype)type->dtype;
    int64_t n = t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
    test_ok(hpc_weights_read(out, s->w, t));
    if (t->rank == 2 && hpc_serve_stored(s->w, t) == d) return;
    void *bytes = hpc_alloc((size_t)n, sizeof(double));
    hpc_from_f32(bytes, d, out, n);
    hpc_to_f32(out, bytes, d, n);
    hpc_free(bytes);
}

static void check(served *s, const char *what)
{
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_model_tensors(&list, &n, &s->c));
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(s->p, list[k].name);
        const hpc_type *type = &s->p->value[v].type;
        size_t bytes = hpc_type_bytes(type);
        int64_t numbers =
            list[k].rank == 2 ? list[k].extent[0] * list[k].extent[1] : list[k].extent[0];
        uint8_t *state = hpc_alloc(bytes, 1);
        float *got = hpc_alloc((size_t)numbers, sizeof *got),
              *want = hpc_alloc((size_t)numbers, sizeof *want);
        test_ok(hpc_exec_read(s->e, 0, v, state, bytes));
        numbers_of(got, type, state);
        want_of(want, s, &list[k], type);
        if (memcmp(got, want, (size_t)numbers * sizeof *got) != 0)
            fail_msg("%s: %s as %s", what, list[k].name,
                     hpc_dtype_get((hpc_dtype)type->dtype)->name);
        hpc_free(state);
        hpc_free(got);
        hpc_free(want);
    }
    hpc_free(list);
}

static void check_file(const char *path)
{
    static const hpc_dtype types[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_Q8_0, HPC_Q4_0, HPC_Q4_K};
    static const struct {
        const char *backend;
        int threads;
    } devices[] = {{"cpu", 1}, {"cpu", 3}, {"mock", 1}, {"cuda-shim", 1}};
    /* The thread sanitizer knows nothing of the shim's stacks. */
    const size_t n = sizeof devices / sizeof *devices - HPC_TEST_TSAN;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (size_t i = 0; i < n; i++) {
            served s;
            matrices = types[k];
            test_ok(open_served(&s, path, devices[i].backend, devices[i].threads));
            check(&s, path);
            close_served(&s);
        }
}

static void of_every_family(void **state)
{
    static const char *const families[] = {"llama", "gpt2", "gpt_neox"};
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        hpc_model_config c = config_of(families[k]);
        hpc_weights_save_options o = {.dtype = k % 2 ? HPC_BF16 : HPC_F32, .read = drawn};
        hpc_test_path(path, *state, families[k]);
        test_ok(hpc_weights_save(path, &c, &o));
        check_file(path);
    }
}

static void of_every_stored_type(void **state)
{
    static const hpc_dtype types[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_Q8_0, HPC_Q4_0, HPC_Q4_K};
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        hpc_model_config c = config_of("llama");
        hpc_gguf_options o = {.dtype = types[k], .read = drawn};
        c.tied = k % 2;
        hpc_test_path(path, *state, "model.gguf");
        test_ok(hpc_weights_save_gguf(path, &c, &o));
        check_file(path);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* KiB of the mapped file that this process has in memory. */
static long resident(const char *path)
{
    char line[PATH_MAX + 256];
    bool ours = false;
    unsigned long from, to;
    long all = 0, kib;
    FILE *f = fopen("/proc/self/smaps", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) ours = strstr(line, path) != NULL;
        if (ours && sscanf(line, "Rss: %ld", &kib) == 1) all += kib;
    }
    fclose(f);
    return all;
}

/* But for its header, and pages that tensors share. */
static void what_was_read_goes(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c = config_of("llama");
    hpc_gguf_options o = {.dtype = HPC_Q8_0, .read = drawn};
    served s;
    hpc_model_tensor *list;
    int64_t n;
    c.vocab = 20000;
    hpc_test_path(path, *state, "large.gguf");
    test_ok(hpc_weights_save_gguf(path, &c, &o));
    matrices = HPC_Q8_0;
    test_ok(open_served(&s, path, "cpu", 2));
    test_ok(hpc_model_tensors(&list, &n, &c));
    assert_in_range(resident(path), 0, 64 + 8 * n);
    check(&s, path); /* reads it again: the reference */
    assert_in_range(resident(path), 10000, 13000);
    hpc_free(list);
    close_served(&s);
}

static int whole_life(void *user)
{
    served s;
    int rc = open_served(&s, user, "cpu", 2);
    close_served(&s);
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c = config_of("gpt2");
    hpc_weights_save_options o = {.dtype = HPC_F32, .read = drawn};
    hpc_test_path(path, *state, "short");
    test_ok(hpc_weights_save(path, &c, &o));
    matrices = HPC_Q8_0;
    assert_true(hpc_test_each_alloc(whole_life, path) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_every_family, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(of_every_stored_type, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(what_was_read_goes, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(memory_may_be_short_anywhere, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("model/serve_load", tests, NULL, NULL);
}
