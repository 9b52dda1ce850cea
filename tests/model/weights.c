/*
 * weights.c: invalid directories, and valid ones in other forms than ours; merged adapters, narrow
 * dtypes, several files; a full disk.
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

#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"

#define FIXTURE "tests/fixtures/families/"
enum { MOST = 8192, TENSORS = 64 };

/* ---- a directory changed -------------------------------------------------------------------- */

/* All tensors of a fixture's file, to be changed and written elsewhere. */
typedef struct copy {
    hpc_safetensors *s;
    hpc_stored_tensor t[TENSORS];
    char name[TENSORS][128];
    int64_t n;
} copy;

static copy *copy_of(const char *family)
{
    char path[PATH_MAX];
    copy *c = hpc_alloc(1, sizeof *c);
    snprintf(path, sizeof path, FIXTURE "%s/model.safetensors", family);
    test_ok(hpc_safetensors_open(&c->s, path));
    c->n = hpc_safetensors_n(c->s);
    assert_true(c->n < TENSORS - 2);
    for (int64_t i = 0; i < c->n; i++) {
        test_ok(hpc_safetensors_at(&c->t[i], c->s, i));
        snprintf(c->name[i], sizeof c->name[i], "%s", c->t[i].name);
        c->t[i].name = c->name[i];
    }
    return c;
}

static hpc_stored_tensor *named(copy *c, const char *name)
{
    for (int64_t i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0) return &c->t[i];
    fail_msg("%s is not there", name);
    return NULL;
}

static void add(copy *c, const char *name, hpc_dtype dtype, int64_t n, const void *data)
{
    snprintf(c->name[c->n], sizeof c->name[c->n], "%s", name);
    c->t[c->n] = (hpc_stored_tensor){.name = c->name[c->n],
                                     .dtype = dtype,
                                     .rank = 1,
                                     .extent = {n},
                                     .data = data,
                                     .bytes = (size_t)n * hpc_dtype_get(dtype)->block_bytes};
    c->n++;
}

static int give(hpc_file_writer *w, int64_t i, void *user)
{
    const copy *c = user;
    return hpc_file_write(w, c->t[i].data, c->t[i].bytes);
}

/* Writes and frees the copy; the directory's weights, opened with the fixture's configuration. */
static int opened(hpc_weights **out, const hpc_test_folder *f, copy *c, const char *family)
{
    char path[PATH_MAX];
    hpc_model_config config;
    snprintf(path, sizeof path, FIXTURE "%s", family);
    test_ok(hpc_model_config_read(&config, path));
    test_ok(hpc_safetensors_save(hpc_test_path(path, f, "model.safetensors"), c->t, c->n, NULL,
                                 give, c));
    hpc_safetensors_close(c->s);
    hpc_free(c);
    return hpc_weights_open(out, f->root, &config);
}

static void names_may_lack_their_prefix(void **state)
{
    static const float ones[4] = {1, 1, 1, 1};
    hpc_weights *w;
    copy *c = copy_of("gpt2");
    for (int64_t i = 0; i < c->n; i++) {
        assert_memory_equal(c->name[i], "transformer.", 12);
        c->t[i].name += 12;
    }
    add(c, "h.0.attn.bias", HPC_F32, 4, ones); /* masks, and the head that is the embedding */
    add(c, "h.1.attn.masked_bias", HPC_F32, 1, ones);
    test_ok(opened(&w, *state, c, "gpt2"));
    hpc_weights_close(w);
    c = copy_of("gpt2");
    c->t[c->n] = *named(c, "transformer.wte.weight");
    c->t[c->n++].name = "lm_head.weight";
    test_ok(opened(&w, *state, c, "gpt2"));
    hpc_weights_close(w);
}

/* Which of the two transformers takes depends on its version. */
static void a_head_that_is_not_the_embedding_is_refused(void **state)
{
    static float other[61 * 32];
    hpc_weights *w;
    copy *c = copy_of("gpt2");
    const hpc_stored_tensor *embed = named(c, "transformer.wte.weight");
    assert_int_equal(embed->bytes, sizeof other);
    memcpy(other, embed->data, sizeof other);
    other[7] += 1;
    c->t[c->n] = *embed;
    c->t[c->n].data = other;
    c->t[c->n++].name = "lm_head.weight";
    test_fails(opened(&w, *state, c, "gpt2"), HPC_E_UNSUPPORTED,
               "tensor lm_head.weight differs from the embedding, but tie_word_embeddings is set");
}

static void data_need_not_be_aligned(void **state)
{
    static const uint8_t two[2] = {0}; /* in front: f32 is then no multiple of 4 */
    static float want[61 * 32];
    hpc_weights *w;
    float got[61 * 32];
    copy *c = copy_of("llama");
    const hpc_stored_tensor *embed = named(c, "model.embed_tokens.weight");
    memcpy(want, embed->data, sizeof want);
    memmove(c->t + 1, c->t, (size_t)c->n * sizeof *c->t);
    c->n++;
    c->t[0] = (hpc_stored_tensor){"model.rotary_emb.inv_freq", HPC_BF16, 1, {1}, two, 2};
    test_ok(opened(&w, *state, c, "llama"));
    hpc_model_tensor *list;
    int64_t n;
    hpc_model_config config;
    test_ok(hpc_model_config_read(&config, FIXTURE "llama"));
    test_ok(hpc_model_tensors(&list, &n, &config));
    test_ok(hpc_weights_read(got, w, &list[0]));
    assert_memory_equal(got, want, sizeof want);
    hpc_free(list);
    hpc_weights_close(w);
}

static void what_does_not_fit_is_named(void **state)
{
    hpc_weights *w = NULL;
    static const float ones[64] = {1};
    copy *c = copy_of("llama");
    named(c, "model.layers.1.mlp.up_proj.weight")->name = "model.layers.1.mlp.up.weight";
    test_fails(opened(&w, *state, c, "llama"), HPC_E_FORMAT,
               "tensor model.layers.1.mlp.up_proj.weight is missing");
    c = copy_of("llama");
    hpc_stored_tensor *t = named(c, "model.layers.0.mlp.up_proj.weight");
    t->extent[0] = 32, t->extent[1] = 48;
    test_fails(
        opened(&w, *state, c, "llama"), HPC_E_FORMAT,
        "tensor model.layers.0.mlp.up_proj.weight is [32,48], the configuration needs [48,32]");
    c = copy_of("llama");
    named(c, "model.norm.weight")->dtype = HPC_I32;
    test_fails(opened(&w, *state, c, "llama"), HPC_E_FORMAT, "model.norm.weight has integer");
    c = copy_of("llama");
    add(c, "model.layers.0.self_attn.q_norm.weight", HPC_F32, 8, ones);
    test_fails(opened(&w, *state, c, "llama"), HPC_E_UNSUPPORTED,
               "tensor model.layers.0.self_attn.q_norm.weight does not belong to this llama");
    c = copy_of("llama");
    add(c, "model.layers.0.self_attn.q_proj.bias", HPC_F32, 32, ones);
    test_fails(opened(&w, *state, c, "llama"), HPC_E_UNSUPPORTED, "q_proj.bias does not belong");
    assert_null(w);
}

static void save_text(const hpc_test_folder *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, f, name), text, strlen(text)));
}

static void directories_are_checked(void **state)
{
    const hpc_test_folder *f = *state;
    hpc_model_config c;
    hpc_weights *w;
    test_ok(hpc_model_config_read(&c, FIXTURE "llama"));
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_FORMAT, "has no model.safetensors");
    save_text(f, "pytorch_model.bin", "x");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_UNSUPPORTED, "has only pickled weights");
    save_text(f, "model.safetensors", "x");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_FORMAT,
               "1 bytes are not a safetensors file");
    char whole[PATH_MAX];
    test_ok(hpc_file_remove(hpc_test_path(whole, f, "model.safetensors")));
    save_text(f, "model.safetensors.index.json", "{}");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_FORMAT, "weight_map names no file");
    save_text(f, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"../b\"}}");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_FORMAT, "'../b' is not a file of this");
    save_text(f, "model.safetensors.index.json", "{\"weight_map\":[\"a\"]}");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_FORMAT, "weight_map is not an object");
    save_text(f, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"b.safetensors\"}}");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_IO, "b.safetensors");
    save_text(f, "b.safetensors", "\2\0\0\0");
    copy *all = copy_of("llama");
    char path[PATH_MAX];
    test_ok(hpc_safetensors_save(hpc_test_path(path, f, "b.safetensors"), all->t, all->n, NULL,
                                 give, all));
    hpc_safetensors_close(all->s);
    hpc_free(all);
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_FORMAT, "tensor a is not in b.safetensors");
    snprintf(c.family, sizeof c.family, "other");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_ARG, "family=other");
    snprintf(c.family, sizeof c.family, "llama");
    c.norm = HPC_LAYER;
    save_text(f, "model.safetensors.index.json",
              "{\"weight_map\":{\"lm_head.weight\":\"b.safetensors\"}}");
    test_fails(hpc_weights_open(&w, f->root, &c), HPC_E_UNSUPPORTED,
               "input_layernorm.bias: files of a llama cannot store it");
}

static void a_class_head_may_be_missing(void **state)
{
    (void)state;
    hpc_model_config c;
    hpc_weights *w;
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_model_config_read(&c, FIXTURE "llama"));
    c.head = HPC_HEAD_PAIRS, c.classes = 2;
    test_ok(hpc_weights_open(&w, FIXTURE "llama", &c));
    test_ok(hpc_model_tensors(&list, &n, &c));
    for (int64_t k = 0; k < n; k++)
        assert_int_equal(hpc_weights_has(w, &list[k]), list[k].part != HPC_PART_CLASSES);
    float x[128];
    test_fails(hpc_weights_read(x, w, &list[n - 1]), HPC_E_FORMAT,
               "tensor score.weight is missing");
    hpc_free(list);
    hpc_weights_close(w);
}

/* ---- saving --------------------------------------------------------------------------------- */

static int draw(float *out, const hpc_model_tensor *t, void *user)
{
    double x[MOST];
    const double *scale = user;
    int64_t n = hpc_test_model_tensor_n(t);
    assert_true(n <= MOST);
    hpc_test_draw(x, n, (uint32_t)(100 * t->part + 10 * t->adapter + t->block), *scale);
    for (int64_t i = 0; i < n; i++) out[i] = (float)x[i];
    return HPC_OK;
}

static hpc_model_config small(const char *family)
{
    hpc_model_config c;
    char path[PATH_MAX];
    snprintf(path, sizeof path, FIXTURE "%s", family);
    test_ok(hpc_model_config_read(&c, path));
    return c;
}

/* W + (alpha / rank) B A in double, for each family's way of storing it. */
static void adapters_are_merged(void **state)
{
    const hpc_test_folder *f = *state;
    static const char *const families[] = {"llama", "gpt_neox", "gpt2"};
    const int part[] = {HPC_PART_Q, HPC_PART_V, HPC_PART_DOWN};
    for (int k = 0; k < 3; k++) {
        double scale = 0.3;
        char dir[PATH_MAX];
        hpc_model_config c = small(families[k]);
        hpc_weights *w;
        c.adapter = (hpc_adapter_config){.rank = 3,
                                         .alpha = 6,
                                         .targets = 1u << HPC_PART_Q | 1u << HPC_PART_V |
                                                    1u << HPC_PART_DOWN,
                                         .token_n = 2,
                                         .token = {3, 7}};
        hpc_weights_save_options o = {.dtype = HPC_F32, .read = draw, .user = &scale};
        test_ok(hpc_weights_save(hpc_test_path(dir, f, families[k]), &c, &o));
        hpc_model_tensor *list;
        int64_t n;
        test_ok(hpc_model_tensors(&list, &n, &c));
        hpc_model_config plain = small(families[k]);
        test_ok(hpc_weights_open(&w, dir, &plain));
        int merged = 0;
        for (int64_t i = 0; i < n; i++) {
            float got[MOST], x[MOST], a[MOST], b[MOST];
            if (list[i].adapter) continue;
            test_ok(hpc_weights_read(got, w, &list[i]));
            test_ok(draw(x, &list[i], &scale));
            bool adapted = i + 1 < n && list[i + 1].adapter == 1;
            bool rows = i + 1 < n && list[i + 1].adapter == 3;
            int64_t cols = list[i].rank == 2 ? list[i].extent[1] : 1;
            if (adapted) test_ok(draw(a, &list[i + 1], &scale));
            if (adapted) test_ok(draw(b, &list[i + 2], &scale));
            if (rows) test_ok(draw(a, &list[i + 1], &scale));
            merged += adapted;
            for (int64_t e = 0; e < hpc_test_model_tensor_n(&list[i]); e++) {
                double want = x[e];
                for (int64_t j = 0; j < 3 && adapted; j++)
                    want += 2.0 * b[e / cols * 3 + j] * a[j * cols + e % cols];
                for (int j = 0; j < 2 && rows; j++)
                    if (e / cols == c.adapter.token[j]) want += a[j * cols + e % cols];
                assert_true(fabs(got[e] - want) <= 1e-6 * (adapted || rows ? 1 : 0));
            }
        }
        assert_int_equal(merged, 2 * (int)(sizeof part / sizeof *part));
        hpc_free(list);
        hpc_weights_close(w);
    }
}

static void narrow_types_round_and_do_not_overflow(void **state)
{
    char dir[PATH_MAX];
    const hpc_dtype types[] = {HPC_BF16, HPC_F16};
    for (int k = 0; k < 2; k++) {
        double scale = 0.1;
        hpc_model_config c = small("llama"), again;
        hpc_weights *w;
        hpc_weights_save_options o = {.dtype = types[k], .read = draw, .user = &scale};
        test_ok(hpc_weights_save(hpc_test_path(dir, *state, "a"), &c, &o));
        test_ok(hpc_model_config_read(&again, dir));
        assert_int_equal(again.dtype, types[k]);
        test_ok(hpc_weights_open(&w, dir, &again));
        hpc_model_tensor *list;
        int64_t n;
        test_ok(hpc_model_tensors(&list, &n, &c));
        float got[MOST], x[MOST];
        uint16_t half[MOST];
        test_ok(hpc_weights_read(got, w, &list[0]));
        test_ok(draw(x, &list[0], &scale));
        int64_t size = hpc_test_model_tensor_n(&list[0]);
        hpc_from_f32(half, types[k], x, size);
        hpc_to_f32(x, half, types[k], size);
        assert_memory_equal(got, x, (size_t)size * sizeof *x);
        hpc_weights_close(w);
        hpc_free(list);
        scale = 1e5;
        if (types[k] == HPC_BF16) continue;
        test_fails(hpc_weights_save(hpc_test_path(dir, *state, "b"), &c, &o), HPC_E_ARG,
                   "exceeds the range of f16");
    }
}

static void parts_are_as_small_as_asked(void **state)
{
    double scale = 0.1;
    char dir[PATH_MAX], path[PATH_MAX + 64];
    hpc_model_config c = small("llama");
    hpc_weights *w;
    hpc_weights_save_options o = {
        .dtype = HPC_F32, .part_bytes = 20000, .read = draw, .user = &scale};
    test_ok(hpc_weights_save(hpc_test_path(dir, *state, "a"), &c, &o));
    int parts = hpc_test_entries(dir) - 3; /* index, config.json, generation_config.json */
    assert_true(parts >= 5);
    for (int k = 0; k < parts; k++) {
        hpc_safetensors *s;
        size_t bytes = 0;
        snprintf(path, sizeof path, "%s/model-%05d-of-%05d.safetensors", dir, k + 1, parts);
        test_ok(hpc_safetensors_open(&s, path));
        for (int64_t i = 0; i < hpc_safetensors_n(s); i++) {
            hpc_stored_tensor t;
            test_ok(hpc_safetensors_at(&t, s, i));
            bytes += t.bytes;
        }
        assert_true(hpc_safetensors_n(s) > 0 && bytes <= 20000);
        hpc_safetensors_close(s);
    }
    test_ok(hpc_weights_open(&w, dir, &c));
    hpc_weights_close(w);
    hpc_safetensors *s; /* saved over it in one file, it is that which counts; and back */
    o.part_bytes = 0;
    test_ok(hpc_weights_save(dir, &c, &o));
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", dir);
    assert_false(hpc_file_exists(path));
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    test_ok(hpc_safetensors_open(&s, path));
    hpc_safetensors_close(s);
    o.part_bytes = 20000;
    test_ok(hpc_weights_save(dir, &c, &o));
    assert_false(hpc_file_exists(path));
    test_ok(hpc_weights_open(&w, dir, &c));
    hpc_weights_close(w);
}

typedef struct saving {
    const char *dir;
    hpc_model_config c;
} saving;

static int first_values(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user; /* and allocates nothing */
    hpc_model_init(out, t, 0, hpc_test_model_tensor_n(t), 1);
    return HPC_OK;
}

static int save(void *user)
{
    saving *s = user;
    hpc_weights_save_options o = {.dtype = HPC_BF16, .read = first_values};
    return hpc_weights_save(s->dir, &s->c, &o);
}

static int load(void *user)
{
    saving *s = user;
    hpc_weights *w = NULL;
    hpc_model_config c;
    int rc = HPC_OK;
    TRY(hpc_model_config_read(&c, s->dir));
    TRY(hpc_weights_open(&w, s->dir, &c));
out:
    hpc_weights_close(w);
    return rc;
}

static void failures_leave_no_model(void **state)
{
    char dir[PATH_MAX], path[PATH_MAX + 64];
    saving s = {.c = small("gpt_neox")};
    s.dir = hpc_test_path(dir, *state, "a");
    snprintf(path, sizeof path, "%s/config.json", dir);
    int64_t failed = 0;
    for (int64_t n = 1;; n += 3) {
        hpc_test_fail_io(n);
        int rc = save(&s);
        bool hit = hpc_test_io_failed();
        hpc_test_fault_reset();
        failed += rc < 0;
        hpc_error_clear();
        if (hpc_file_exists(path)) test_ok(load(&s)); /* it comes last */
        test_ok(hpc_file_remove(path));
        if (!hit) break;
    }
    assert_true(failed > 10);
    test_ok(save(&s));
    assert_true(hpc_test_each_alloc(load, &s) > 10);
    assert_true(hpc_test_each_alloc(save, &s) > 10);
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(names_may_lack_their_prefix),
        IN_FOLDER(a_head_that_is_not_the_embedding_is_refused),
        IN_FOLDER(data_need_not_be_aligned),
        IN_FOLDER(what_does_not_fit_is_named),
        IN_FOLDER(directories_are_checked),
        cmocka_unit_test(a_class_head_may_be_missing),
        IN_FOLDER(adapters_are_merged),
        IN_FOLDER(narrow_types_round_and_do_not_overflow),
        IN_FOLDER(parts_are_as_small_as_asked),
        IN_FOLDER(failures_leave_no_model),
    };
    return cmocka_run_group_tests_name("model/weights", tests, NULL, NULL);
}
