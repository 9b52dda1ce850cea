/*
 * file_types.c: types that hpccoder does not write: a GGUF model in block formats that it holds
 * unchanged, and matrices of f8_e4m3 with scales of blocks in safetensors.
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

#include "model/priv.h"
#include "model/serve.h"
#include "tests/support/blocks.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"
#include "tests/support/model.h"

enum { TENSORS = 64, SCALE_BLOCK = 128 };

static int drawn(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    hpc_model_init(out, t, 0, hpc_test_model_tensor_n(t), 3);
    return HPC_OK;
}

static hpc_model_config config_of(void)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = 77, c.hidden = 256, c.ffn = 768, c.heads = 4, c.kv_heads = 2, c.positions = 24;
    return c;
}

/* Tensors to write, with the keys of a GGUF file or the scales of a directory. */
typedef struct copy {
    hpc_stored_tensor t[TENSORS];
    uint8_t *data[TENSORS];
    char name[TENSORS][128];
    int64_t n;
} copy;

static int give(hpc_file_writer *w, int64_t i, void *user)
{
    const copy *c = user;
    return hpc_file_write(w, c->data[i], c->t[i].bytes);
}

static uint8_t *add(copy *c, const char *name, const hpc_stored_tensor *like, hpc_dtype d)
{
    const hpc_dtype_info *info = hpc_dtype_get(d);
    int64_t i = c->n++, n = 1;
    assert_true(i < TENSORS);
    for (int k = 0; k < like->rank; k++) n *= like->extent[k];
    snprintf(c->name[i], sizeof c->name[i], "%s", name);
    c->t[i] = *like;
    c->t[i].name = c->name[i];
    c->t[i].dtype = d;
    c->t[i].bytes = (size_t)(n / info->block) * info->block_bytes;
    c->data[i] = hpc_alloc(c->t[i].bytes, 1);
    return c->data[i];
}

static void free_copy(copy *c)
{
    for (int64_t i = 0; i < c->n; i++) hpc_free(c->data[i]);
    hpc_free(c);
}

static int64_t index_of(const copy *c, const char *name)
{
    for (int64_t i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0) return i;
    fail_msg("no tensor %s", name);
    return -1;
}

/* ---- block formats of GGUF ------------------------------------------------------------------- */

static const hpc_dtype formats[] = {HPC_Q4_1, HPC_Q5_0,   HPC_Q5_1,   HPC_Q2_K,
                                    HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS, HPC_Q6_K};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Random blocks with factors of either sign from 2^-7 to 2^-6. */
static void draw_blocks(uint8_t *out, size_t bytes, hpc_dtype d, uint64_t seed)
{
    hpc_test_draw_blocks(out, d, (int64_t)(bytes / hpc_dtype_get(d)->block_bytes), -6, seed);
}

/* The model as a GGUF file whose matrices have the formats in turn. */
static copy *copy_gguf(const char *path)
{
    hpc_model_config c = config_of();
    hpc_gguf_options o = {.dtype = HPC_F32, .read = drawn};
    copy *to = hpc_alloc(1, sizeof *to);
    hpc_gguf *g;
    test_ok(hpc_weights_save_gguf(path, &c, &o));
    test_ok(hpc_gguf_open(&g, path));
    for (int64_t i = 0; i < hpc_gguf_n(g); i++) {
        hpc_stored_tensor t;
        hpc_dtype d = formats[i % FORMATS];
        test_ok(hpc_gguf_at(&t, g, i));
        uint8_t *data = add(to, t.name, &t, t.rank == 2 ? d : t.dtype);
        if (t.rank == 2)
            draw_blocks(data, to->t[i].bytes, d, (uint64_t)i);
        else
            memcpy(data, t.data, t.bytes);
    }
    hpc_gguf_close(g);
    return to;
}

/* Writes the copy in place of the file, with the keys of the file. */
static void write_gguf(const char *path, copy *c)
{
    hpc_gguf_value values[64];
    hpc_gguf *g;
    int64_t n = 0;
    test_ok(hpc_gguf_open(&g, path));
    for (int64_t i = 0; hpc_gguf_value_at(g, i); i++) {
        assert_true(n < 64);
        if (strcmp(hpc_gguf_value_at(g, i)->key, "general.alignment") != 0)
            values[n++] = *hpc_gguf_value_at(g, i);
    }
    test_ok(hpc_gguf_save(path, values, n, c->t, c->n, give, c));
    hpc_gguf_close(g);
}

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    return hpc_serve_choose(user, t, HPC_DTYPE_N);
}

/* Elements of a parameter, as the inference program has it. */
static void served(float *out, const hpc_weights *w, const hpc_model_tensor *t, hpc_dtype d)
{
    hpc_type type = hpc_type_of(d, 2, t->extent);
    uint8_t *bytes = hpc_alloc_aligned(hpc_type_bytes(&type), 1, HPC_ALIGN);
    test_ok(hpc_serve_read(bytes, &type, w, t));
    hpc_to_f32(out, bytes, d, hpc_test_model_tensor_n(t));
    hpc_free(bytes);
}

/* A type that ops take keeps its bytes; the distance of others is below a half step of bf16. */
static void check_held(const hpc_weights *w, const hpc_model_tensor *t)
{
    model_source s;
    int64_t n = hpc_test_model_tensor_n(t);
    float *want = hpc_alloc((size_t)n, sizeof *want), *got = hpc_alloc((size_t)n, sizeof *got);
    test_ok(model_source_of(&s, w, t));
    const hpc_dtype_info *info = hpc_dtype_get(s.t.dtype);
    hpc_dtype d = type_of(t, w);
    assert_int_equal(d, info->held);
    test_ok(hpc_weights_read(want, w, t));
    served(got, w, t, d);
    if (d == s.t.dtype) assert_memory_equal(got, want, (size_t)n * sizeof *want);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabsf(got[i] - want[i]) <= fabsf(want[i]) * 0x1p-8f);
    hpc_free(want);
    hpc_free(got);
}

static void block_formats_are_held_as_they_are(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c;
    hpc_model_tensor *list;
    hpc_weights *w;
    hpc_buf note = {0};
    int64_t n, matrices = 0;
    copy *to = copy_gguf(hpc_test_path(path, *state, "types.gguf"));
    write_gguf(path, to);
    test_ok(hpc_model_config_read(&c, path));
    test_ok(hpc_weights_open(&w, path, &c));
    test_ok(hpc_model_tensors(&list, &n, &c));
    for (int64_t k = 0; k < n; k++)
        if (list[k].rank == 2) check_held(w, &list[k]), matrices++;
    assert_true(matrices > FORMATS);
    test_ok(hpc_weights_note(&note, w));
    assert_int_equal(note.n, 0);
    hpc_buf_release(&note);
    hpc_free(list);
    hpc_weights_close(w);
    free_copy(to);
}

/* A NaN in the last block of each matrix in turn. */
static void factor_that_is_not_finite_is_damage(void **state)
{
    char path[PATH_MAX];
    copy *to = copy_gguf(hpc_test_path(path, *state, "damaged.gguf"));
    for (int f = 0; f < FORMATS; f++) {
        hpc_dtype d = formats[f];
        hpc_model_config c;
        hpc_model_tensor *list;
        hpc_weights *w;
        int64_t n, failed = 0;
        for (int64_t i = 0; i < to->n; i++) {
            if (to->t[i].rank != 2 || to->t[i].dtype != d) continue;
            size_t width = hpc_dtype_get(d)->block_bytes;
            draw_blocks(to->data[i], to->t[i].bytes, d, 5);
            to->data[i][to->t[i].bytes - width + (size_t)hpc_test_factor_at(d, 0) + 1] = 0x7e;
        }
        write_gguf(path, to);
        test_ok(hpc_model_config_read(&c, path));
        test_ok(hpc_weights_open(&w, path, &c));
        test_ok(hpc_model_tensors(&list, &n, &c));
        for (int64_t k = 0; k < n; k++) {
            model_source s;
            test_ok(model_source_of(&s, w, &list[k]));
            if (list[k].rank != 2) continue;
            hpc_type type = hpc_type_of(type_of(&list[k], w), 2, list[k].extent);
            void *bytes = hpc_alloc_aligned(hpc_type_bytes(&type), 1, HPC_ALIGN);
            float *x = hpc_alloc((size_t)hpc_test_model_tensor_n(&list[k]), sizeof *x);
            int rc = hpc_serve_read(bytes, &type, w, &list[k]);
            int of_training = hpc_weights_read(x, w, &list[k]);
            hpc_free(bytes);
            hpc_free(x);
            if (s.t.dtype != d) continue;
            assert_int_equal(rc, HPC_E_FORMAT);
            test_fails(of_training, HPC_E_FORMAT, "the scale of a block is NaN or infinite");
            failed++;
        }
        assert_true(failed > 0);
        for (int64_t i = 0; i < to->n; i++)
            if (to->t[i].rank == 2 && to->t[i].dtype == d)
                draw_blocks(to->data[i], to->t[i].bytes, d, 5);
        hpc_free(list);
        hpc_weights_close(w);
    }
    free_copy(to);
}

/* ---- f8_e4m3 --------------------------------------------------------------------------------- */

static bool is_f8(const hpc_stored_tensor *t)
{
    return t->rank == 2 && strstr(t->name, "_proj.weight") != NULL;
}

/* The model as tensors of which the matrices of products are f8_e4m3 with scales. */
static copy *copy_directory(const char *dir, hpc_model_config c)
{
    char path[PATH_MAX];
    const hpc_weights_save_options o = {.dtype = HPC_BF16, .read = drawn};
    copy *to = hpc_alloc(1, sizeof *to);
    hpc_safetensors *s;
    test_ok(hpc_weights_save(dir, &c, &o));
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    test_ok(hpc_safetensors_open(&s, path));
    for (int64_t i = 0; i < hpc_safetensors_n(s); i++) {
        hpc_stored_tensor t, blocks;
        char name[160];
        test_ok(hpc_safetensors_at(&t, s, i));
        uint8_t *data = add(to, t.name, &t, is_f8(&t) ? HPC_F8_E4M3 : t.dtype);
        if (!is_f8(&t)) {
            memcpy(data, t.data, t.bytes);
            continue;
        }
        for (size_t k = 0; k < t.bytes / 2; k++) {
            uint8_t x = (uint8_t)hpc_random_bits(9, (uint32_t)i, 0, k);
            data[k] = (x & 0x7f) == 0x7f ? 0 : x; /* no NaN */
        }
        blocks = t;
        for (int k = 0; k < 2; k++)
            blocks.extent[k] = (t.extent[k] + SCALE_BLOCK - 1) / SCALE_BLOCK;
        snprintf(name, sizeof name, "%s_scale_inv", t.name);
        float *scale = (float *)add(to, name, &blocks, HPC_F32);
        for (int64_t k = 0; k < blocks.extent[0] * blocks.extent[1]; k++)
            scale[k] = 0.001f * (float)(k + 1);
    }
    hpc_safetensors_close(s);
    return to;
}

static int open_directory(hpc_weights **w, const char *dir, copy *to)
{
    char path[PATH_MAX];
    hpc_model_config c;
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    test_ok(hpc_safetensors_save(path, to->t, to->n, NULL, give, to));
    test_ok(hpc_model_config_read(&c, dir));
    return hpc_weights_open(w, dir, &c);
}

static void f8_is_multiplied_with_scales_of_blocks(void **state)
{
    char dir[PATH_MAX];
    hpc_weights *w;
    hpc_model_tensor t;
    hpc_model_config c = config_of();
    hpc_buf note = {0};
    float *got = hpc_alloc(768 * 256, sizeof *got);
    copy *to = copy_directory(hpc_test_path(dir, *state, "f8"), c);
    test_ok(open_directory(&w, dir, to));
    assert_true(model_tensor_at(&t, &c, HPC_PART_UP, 1, 0));
    assert_int_equal(t.extent[0], 768);
    test_ok(hpc_weights_read(got, w, &t));
    const uint8_t *bytes = to->data[index_of(to, "model.layers.1.mlp.up_proj.weight")];
    for (int64_t r = 0; r < 768; r++)
        for (int64_t k = 0; k < 256; k++) {
            float x;
            hpc_to_f32(&x, bytes + r * 256 + k, HPC_F8_E4M3, 1);
            x *= 0.001f * (float)(r / SCALE_BLOCK * 2 + k / SCALE_BLOCK + 1);
            assert_memory_equal(&got[r * 256 + k], &x, sizeof x);
        }
    check_held(w, &t);
    test_ok(hpc_weights_note(&note, w));
    assert_string_equal(note.data, "14 matrices of f8_e4m3 are held as bf16 (nearest values)");
    hpc_buf_release(&note);
    hpc_weights_close(w);
    free_copy(to);
    hpc_free(got);
}

static void scales_are_checked(void **state)
{
    char dir[PATH_MAX];
    hpc_weights *w;
    copy *to = copy_directory(hpc_test_path(dir, *state, "scales"), config_of());
    int64_t i = index_of(to, "model.layers.0.mlp.up_proj.weight_scale_inv");
    to->name[i][0] = 'M';
    test_fails(open_directory(&w, dir, to), HPC_E_UNSUPPORTED,
               "model.layers.0.mlp.up_proj.weight_scale_inv are missing");
    to->name[i][0] = 'm';
    to->t[i].extent[0] = 4, to->t[i].extent[1] = 3; /* 12 scales, but of 768 by 256 */
    test_fails(open_directory(&w, dir, to), HPC_E_FORMAT,
               "weight_scale_inv is [4,3], which does not fit [768,256]");
    to->t[i].extent[0] = 6, to->t[i].extent[1] = 2;
    to->t[i].dtype = HPC_I32;
    test_fails(open_directory(&w, dir, to), HPC_E_FORMAT, "expected a matrix of f32, f16 or bf16");
    free_copy(to);
}

static void scale_that_is_not_finite_is_damage(void **state)
{
    char dir[PATH_MAX];
    hpc_weights *w;
    hpc_model_tensor t;
    hpc_model_config c = config_of();
    float *x = hpc_alloc(768 * 256, sizeof *x);
    copy *to = copy_directory(hpc_test_path(dir, *state, "infinite"), c);
    ((float *)to->data[index_of(to, "model.layers.1.mlp.up_proj.weight_scale_inv")])[11] = INFINITY;
    test_ok(open_directory(&w, dir, to));
    assert_true(model_tensor_at(&t, &c, HPC_PART_UP, 0, 0));
    test_ok(hpc_weights_read(x, w, &t));
    assert_true(model_tensor_at(&t, &c, HPC_PART_UP, 1, 0));
    test_fails(hpc_weights_read(x, w, &t), HPC_E_FORMAT, "the scale of a block is NaN or infinite");
    hpc_type type = hpc_type_of(HPC_BF16, 2, t.extent);
    void *bytes = hpc_alloc_aligned(hpc_type_bytes(&type), 1, HPC_ALIGN);
    test_fails(hpc_serve_read(bytes, &type, w, &t), HPC_E_FORMAT,
               "the scale of a block is NaN or infinite");
    hpc_free(bytes);
    hpc_weights_close(w);
    free_copy(to);
    hpc_free(x);
}

/* Its scales would be indexed by the wrong extent, and beyond their end. */
static void f8_is_refused_in_transposed_matrices(void **state)
{
    char dir[PATH_MAX];
    hpc_weights *w;
    hpc_model_config c = model_family_find("gpt2")->preset;
    snprintf(c.family, sizeof c.family, "gpt2");
    c.vocab = 77, c.hidden = 256, c.ffn = 1024, c.heads = c.kv_heads = 4, c.positions = 24;
    c.layers = 1, c.norm_eps = 1e-5, c.init_std = 0.02, c.act = HPC_GELU_TANH, c.tied = true;
    c.begin = c.end = -1;
    copy *to = copy_directory(hpc_test_path(dir, *state, "transposed"), c);
    test_fails(open_directory(&w, dir, to), HPC_E_UNSUPPORTED,
               "h.0.attn.c_proj.weight: F8_E4M3 is not supported in a gpt2");
    free_copy(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_formats_are_held_as_they_are),
        cmocka_unit_test(factor_that_is_not_finite_is_damage),
        cmocka_unit_test(f8_is_multiplied_with_scales_of_blocks),
        cmocka_unit_test(scales_are_checked),
        cmocka_unit_test(scale_that_is_not_finite_is_damage),
        cmocka_unit_test(f8_is_refused_in_transposed_matrices),
    };
    return cmocka_run_group_tests_name("model/file_types", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
