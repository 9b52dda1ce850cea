/*
 * Tests of model/peft.c and peft_save.c: adapters with ranks, scales, rows and replaced tensors as
 * the peft library writes them, round trips, and rejected settings.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/peft.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"
#include "tests/support/values.h"

enum { MOST = 61 * 32, LISTED = 8 };

static hpc_model_config small(void)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = 61, c.hidden = 32, c.ffn = 48, c.heads = 4, c.kv_heads = 2, c.tied = true;
    return c;
}

/* The base: element i of a tensor is a draw that depends on the tensor. */
static int draw(float *out, const hpc_model_tensor *t, void *user)
{
    double x[MOST];
    int64_t n = hpc_test_model_tensor_n(t);
    (void)user;
    assert_true(n <= MOST);
    hpc_test_draw(x, n, (uint32_t)(100 * t->part + 10 * t->adapter + t->block + 1), 0.3);
    for (int64_t i = 0; i < n; i++) out[i] = (float)x[i];
    return HPC_OK;
}

/* ---- files of peft --------------------------------------------------------------------------- */

typedef struct file {
    hpc_stored_tensor list[LISTED];
    float x[LISTED][MOST];
    int64_t n;
} file;

static float *add(file *f, const char *name, int64_t rows, int64_t cols)
{
    double x[MOST];
    hpc_test_draw(x, rows * (cols ? cols : 1), 900 + (uint32_t)f->n, 0.3);
    for (int64_t i = 0; i < rows * (cols ? cols : 1); i++) f->x[f->n][i] = (float)x[i];
    f->list[f->n] = (hpc_stored_tensor){.name = name,
                                        .dtype = HPC_F32,
                                        .rank = cols ? 2 : 1,
                                        .extent = {rows, cols},
                                        .bytes = (size_t)(rows * (cols ? cols : 1)) * 4};
    return f->x[f->n++];
}

static int write_one(hpc_file_writer *w, int64_t i, void *user)
{
    const file *f = user;
    return hpc_file_write(w, f->x[i], f->list[i].bytes);
}

static void save(const file *f, const hpc_test_folder *folder, const char *config)
{
    char path[PATH_MAX];
    test_ok(
        hpc_file_save(hpc_test_path(path, folder, "adapter_config.json"), config, strlen(config)));
    test_ok(hpc_safetensors_save(hpc_test_path(path, folder, "adapter_model.safetensors"), f->list,
                                 f->n, NULL, write_one, (void *)(uintptr_t)f));
}

#define LAYER "base_model.model.model.layers."
#define Q     LAYER "1.self_attn.q_proj"
#define DOWN  LAYER "0.mlp.down_proj"
#define EMBED "base_model.model.model.embed_tokens.token_adapter.trainable_tokens_delta"

static file *open_file(void)
{
    file *f = hpc_alloc(1, sizeof *f);
    assert_non_null(f);
    add(f, Q ".lora_A.weight", 4, 32);
    add(f, Q ".lora_B.weight", 32, 4);
    add(f, DOWN ".lora_A.weight", 2, 48);
    add(f, DOWN ".lora_B.weight", 32, 2);
    add(f, EMBED, 2, 32);
    add(f, "base_model.model.model.norm.weight", 32, 0);
    return f;
}

static void open_base(hpc_weights **w, const hpc_test_folder *folder)
{
    char dir[PATH_MAX];
    hpc_model_config c = small();
    hpc_weights_save_options o = {.dtype = HPC_F32, .read = draw};
    test_ok(hpc_weights_save(hpc_test_path(dir, folder, "base"), &c, &o));
    test_ok(hpc_weights_open(w, dir, &c));
}

static hpc_model_tensor find(const hpc_model_config *c, const char *name)
{
    hpc_model_tensor *list, t = {.part = -1};
    int64_t n;
    test_ok(hpc_model_tensors(&list, &n, c));
    for (int64_t k = 0; k < n; k++)
        if (strcmp(list[k].name, name) == 0) t = list[k];
    hpc_free(list);
    assert_true(t.part >= 0);
    return t;
}

/* Largest difference of (alpha / rank) B A from `scale` times the product of the file. */
static double product_error(const hpc_peft *p, const hpc_weights *w, const hpc_model_config *c,
                            const char *module, const float *fa, const float *fb, int64_t rank,
                            double scale)
{
    char name[HPC_TENSOR_NAME];
    float a[MOST], b[MOST];
    double most = 0;
    snprintf(name, sizeof name, "%s.lora_A.weight", module);
    hpc_model_tensor ta = find(c, name);
    test_ok(hpc_peft_read(a, p, w, &ta));
    snprintf(name, sizeof name, "%s.lora_B.weight", module);
    hpc_model_tensor tb = find(c, name);
    test_ok(hpc_peft_read(b, p, w, &tb));
    int64_t in = ta.extent[1], all = c->adapter.rank;
    for (int64_t r = 0; r < tb.extent[0]; r++)
        for (int64_t k = 0; k < in; k++) {
            double got = 0, want = 0;
            for (int64_t i = 0; i < all; i++) got += (double)b[r * all + i] * a[i * in + k];
            for (int64_t i = 0; i < rank; i++) want += (double)fb[r * rank + i] * fa[i * in + k];
            most = fmax(most, fabs(c->adapter.alpha / (double)all * got - scale * want));
        }
    return most;
}

static void ranks_and_scales_of_matrices_are_kept(void **state)
{
    file *f = open_file();
    hpc_weights *w;
    hpc_peft *p;
    hpc_model_config c = small();
    open_base(&w, *state);
    save(f, *state,
         "{\"peft_type\": \"LORA\", \"bias\": \"none\", \"r\": 4, \"lora_alpha\": 6,"
         "\"use_rslora\": true, \"alpha_pattern\": {\"mlp.down_proj\": 3},"
         "\"rank_pattern\": {\"down_proj\": 2}, \"trainable_token_indices\": [7, 60]}");
    test_ok(hpc_peft_open(&p, ((const hpc_test_folder *)*state)->root, &c));
    assert_true(c.adapter.rank == 4 && fabs(c.adapter.alpha - 12) < 1e-12);
    assert_int_equal(c.adapter.targets, 1u << HPC_PART_Q | 1u << HPC_PART_DOWN);
    assert_true(product_error(p, w, &c, "model.layers.1.self_attn.q_proj", f->x[0], f->x[1], 4,
                              6 / sqrt(4)) < 1e-6);
    assert_true(product_error(p, w, &c, "model.layers.0.mlp.down_proj", f->x[2], f->x[3], 2,
                              3 / sqrt(2)) < 1e-6);
    assert_true(product_error(p, w, &c, "model.layers.1.mlp.down_proj", f->x[2], f->x[3], 2, 0) ==
                0);
    hpc_peft_close(p);
    hpc_weights_close(w);
    hpc_free(f);
}

/* Rows in the file are whole; a tensor of modules_to_save replaces that of the base. */
static void rows_and_replaced_tensors_are_read(void **state)
{
    file *f = open_file();
    hpc_weights *w;
    hpc_peft *p;
    hpc_model_config c = small();
    float rows[MOST], table[MOST], norm[MOST];
    open_base(&w, *state);
    save(f, *state,
         "{\"peft_type\": \"LORA\", \"bias\": \"none\", \"lora_alpha\": 8,"
         "\"trainable_token_indices\": {\"embed_tokens\": [7, 60]}}");
    test_ok(hpc_peft_open(&p, ((const hpc_test_folder *)*state)->root, &c));
    hpc_model_tensor t = find(&c, "model.embed_tokens.lora_rows.weight");
    hpc_model_tensor embed = find(&c, "model.embed_tokens.weight");
    test_ok(hpc_peft_read(rows, p, w, &t));
    test_ok(draw(table, &embed, NULL));
    for (int k = 0; k < 64; k++) {
        float base = table[c.adapter.token[k / 32] * 32 + k % 32];
        assert_true(rows[k] == f->x[4][k] - base);
    }
    hpc_model_tensor last = find(&c, "model.norm.weight");
    assert_true(hpc_peft_replaces_any(p) && hpc_peft_replaces(p, &last));
    assert_false(hpc_peft_replaces(p, &embed));
    test_ok(hpc_peft_read(norm, p, w, &last));
    assert_memory_equal(norm, f->x[5], sizeof(float) * 32);
    hpc_peft_close(p);
    hpc_weights_close(w);
    hpc_free(f);
}

static void what_cannot_be_applied_is_rejected(void **state)
{
    static const struct {
        const char *config, *message;
    } bad[] = {
        {"{\"peft_type\": \"IA3\", \"bias\": \"none\", \"lora_alpha\": 8}", "peft_type"},
        {"{\"peft_type\": \"LORA\", \"bias\": \"all\", \"lora_alpha\": 8}", "bias"},
        {"{\"peft_type\": \"LORA\", \"bias\": \"none\", \"use_dora\": true, \"lora_alpha\": 8}",
         "use_dora"},
        {"{\"peft_type\": \"LORA\", \"bias\": \"none\"}", "lora_alpha"},
        {"{\"peft_type\": \"LORA\", \"bias\": \"none\", \"lora_alpha\": 8}", "0 ids"},
        {"{\"peft_type\": \"LORA\", \"bias\": \"none\", \"lora_alpha\": 8, "
         "\"trainable_token_indices\": [7, 61]}",
         "token 61 to train"},
    };
    file *f = open_file();
    hpc_peft *p;
    const char *dir = ((const hpc_test_folder *)*state)->root;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        hpc_model_config c = small();
        save(f, *state, bad[k].config);
        assert_true(hpc_peft_open(&p, dir, &c) < 0);
        if (!strstr(hpc_error_get()->text, bad[k].message)) fail_msg("%s", hpc_error_get()->text);
        hpc_error_clear();
    }
    hpc_model_config c = small();
    add(f, LAYER "0.mlp.experts.lora_A.weight", 2, 32);
    save(f, *state, "{\"peft_type\": \"LORA\", \"bias\": \"none\", \"lora_alpha\": 8}");
    test_fails(hpc_peft_open(&p, dir, &c), HPC_E_UNSUPPORTED, "1 of 7 tensors");
    hpc_free(f);
}

int main(void)
{
#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(ranks_and_scales_of_matrices_are_kept),
        IN_FOLDER(rows_and_replaced_tensors_are_read),
        IN_FOLDER(what_cannot_be_applied_is_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
