/*
 * gguf_weights.c: models as GGUF files: round trips for every family, rounded by type; paired rows
 * of heads; fallback to other types; values that GGUF cannot express.
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

#include "tests/model/gguf.h"
#include "tests/support/fault.h"

enum { MOST = 1 << 19 };

/* All tensors of both, bit for bit. */
static void same_weights(const hpc_weights *a, const hpc_weights *b, const hpc_model_config *c)
{
    static float x[MOST], y[MOST];
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_model_tensors(&list, &n, c));
    for (int64_t k = 0; k < n; k++) {
        size_t bytes = (size_t)hpc_test_model_tensor_n(&list[k]) * sizeof *x;
        assert_true(bytes <= sizeof x);
        test_ok(hpc_weights_read(x, a, &list[k]));
        test_ok(hpc_weights_read(y, b, &list[k]));
        assert_memory_equal(x, y, bytes);
    }
    hpc_free(list);
}

static void every_family_comes_back(void **state)
{
    static const char *const names[] = {
        "llama",      "llama_grouped", "llama_yarn",          "mistral", "qwen2", "qwen2_classes",
        "starcoder2", "gpt_neox",      "gpt_neox_sequential", "gpt2"};
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hpc_weights *from, *to;
        hpc_model_config c = fixture(names[k], &from), again;
        hpc_gguf_options o = {.dtype = HPC_F32, .read = read_from, .user = from};
        test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
        test_ok(hpc_model_config_read(&again, path));
        same_config(&c, &again);
        test_ok(hpc_weights_open(&to, path, &again));
        same_weights(from, to, &c);
        hpc_weights_close(from);
        hpc_weights_close(to);
    }
}

/* ---- how tensors are stored ----------------------------------------------------------------- */

static const float *stored(hpc_stored_tensor *t, const hpc_gguf *g, const char *name)
{
    test_ok(hpc_gguf_find(t, g, name));
    assert_int_equal(t->dtype, HPC_F32);
    return t->data;
}

static void rows_of_heads_are_in_pairs(void **state)
{
    char path[PATH_MAX];
    float ours[32 * 32];
    hpc_weights *w;
    hpc_gguf *g;
    hpc_stored_tensor t;
    hpc_model_tensor q, k;
    hpc_model_config c = fixture("llama_grouped", &w); /* 4 heads of 8, 2 for k and v; biases */
    hpc_gguf_options o = {.dtype = HPC_F32, .read = read_from, .user = w};
    test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
    test_ok(hpc_gguf_open(&g, path));
    assert_true(model_tensor_at(&q, &c, HPC_PART_Q, 1, 0));
    assert_true(model_tensor_at(&k, &c, HPC_PART_K_BIAS, 0, 0));
    test_ok(hpc_weights_read(ours, w, &q));
    const float *x = stored(&t, g, "blk.1.attn_q.weight");
    for (int head = 0; head < 4; head++)
        for (int i = 0; i < 4; i++)
            for (int half = 0; half < 2; half++)
                assert_memory_equal(x + (head * 8 + 2 * i + half) * 32,
                                    ours + (head * 8 + half * 4 + i) * 32, 32 * sizeof *x);
    test_ok(hpc_weights_read(ours, w, &k));
    x = stored(&t, g, "blk.0.attn_k.bias");
    assert_int_equal(t.extent[0], 16);
    for (int e = 0; e < 16; e++) assert_true(x[e] == ours[e / 8 * 8 + e % 2 * 4 + e % 8 / 2]);
    hpc_gguf_close(g);
    hpc_weights_close(w);
}

static void llama3_divides_frequencies(void **state)
{
    char path[PATH_MAX];
    float scaled[4], plain[4];
    hpc_weights *w;
    hpc_gguf *g;
    hpc_stored_tensor t;
    hpc_model_config c = fixture("llama_grouped", &w), p = c;
    hpc_gguf_options o = {.dtype = HPC_Q8_0, .read = read_from, .user = w};
    test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
    test_ok(hpc_gguf_open(&g, path));
    const float *x = stored(&t, g, "rope_freqs.weight");
    p.rope.scaling = HPC_ROPE_PLAIN;
    hpc_rope_frequencies(scaled, &c);
    hpc_rope_frequencies(plain, &p);
    assert_int_equal(t.extent[0], 4);
    assert_true(x[0] > 1 && x[3] == 8);
    for (int i = 0; i < 4; i++) assert_true(fabsf(plain[i] / x[i] - scaled[i]) <= 1e-6f);
    hpc_gguf_close(g);
    hpc_weights_close(w);
}

static void fused_tensors_are_as_readers_have_them(void **state)
{
    static const char *const names[] = {"gpt_neox", "gpt2"};
    char path[PATH_MAX];
    float ours[3][32 * 32];
    for (int f = 0; f < 2; f++) {
        hpc_weights *w;
        hpc_gguf *g;
        hpc_stored_tensor t;
        hpc_model_tensor part;
        hpc_model_config c = fixture(names[f], &w);
        hpc_gguf_options o = {.dtype = HPC_F32, .read = read_from, .user = w};
        test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
        test_ok(hpc_gguf_open(&g, path));
        const int parts[] = {HPC_PART_Q, HPC_PART_K, HPC_PART_V};
        const float *x = stored(&t, g, "blk.1.attn_qkv.weight");
        assert_true(t.extent[0] == 96 && t.extent[1] == 32);
        for (int k = 0; k < 3; k++) {
            assert_true(model_tensor_at(&part, &c, parts[k], 1, 0));
            test_ok(hpc_weights_read(ours[k], w, &part));
            assert_memory_equal(x + k * 32 * 32, ours[k], sizeof ours[k]);
        }
        hpc_gguf_close(g);
        hpc_weights_close(w);
    }
}

/* ---- types
 * ------------------------------------------------------------------------------------------------
 */

static int draw(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    int64_t n = hpc_test_model_tensor_n(t);
    uint32_t key = (uint32_t)((t->part * 3 + t->adapter) * 64 + t->block + 1);
    hpc_random_fill_normal(out, n, 1, key, 0, 0);
    return HPC_OK;
}

/* Rows of 256, but those of `down`, which are of ffn. */
static hpc_model_config wide(int64_t ffn)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.hidden = 256, c.heads = 4, c.kv_heads = 2, c.ffn = ffn, c.vocab = 40, c.layers = 1;
    return c;
}

/* What each tensor of the file is, and that it is read as that type rounds. */
static void check_types(const char *path, const hpc_model_config *c, const hpc_dtype is[HPC_PART_N])
{
    static float x[MOST], y[MOST];
    static uint8_t blocks[4 * MOST];
    hpc_weights *w;
    hpc_gguf *g;
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_gguf_open(&g, path));
    test_ok(hpc_weights_open(&w, path, c));
    test_ok(hpc_model_tensors(&list, &n, c));
    for (int64_t k = 0; k < n; k++) {
        hpc_stored_tensor t;
        model_stored s;
        int64_t size = hpc_test_model_tensor_n(&list[k]);
        test_ok(model_stored_of(&s, &model_gguf_arch_of(c->family)->names, c, &list[k]));
        test_ok(hpc_gguf_find(&t, g, s.name));
        if (t.dtype != is[list[k].part])
            print_error("%s: %s\n", s.name, hpc_dtype_get(t.dtype)->name);
        assert_int_equal(t.dtype, is[list[k].part]);
        test_ok(draw(x, &list[k], NULL));
        test_ok(hpc_weights_read(y, w, &list[k]));
        hpc_from_f32(blocks, t.dtype, x, size);
        hpc_to_f32(x, blocks, t.dtype, size);
        assert_memory_equal(x, y, (size_t)size * sizeof *x);
    }
    hpc_free(list);
    hpc_weights_close(w);
    hpc_gguf_close(g);
}

static void every_type_is_what_it_rounds_to(void **state)
{
    static const struct {
        hpc_dtype dtype, embed;
        int64_t number;
    } types[] = {{HPC_F32, HPC_F32, 0},   {HPC_F16, HPC_F16, 1},    {HPC_BF16, HPC_BF16, 32},
                 {HPC_Q8_0, HPC_Q8_0, 7}, {HPC_Q6_K, HPC_Q6_K, 18}, {HPC_Q4_0, HPC_Q8_0, 2},
                 {HPC_Q4_K, HPC_Q8_0, 14}};
    char path[PATH_MAX], line[400] = "";
    hpc_model_config c = wide(512), again;
    hpc_test_path(path, *state, "a.gguf");
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        hpc_dtype is[HPC_PART_N] = {HPC_F32};
        const int parts[] = {HPC_PART_Q,    HPC_PART_K,  HPC_PART_V,   HPC_PART_O,
                             HPC_PART_GATE, HPC_PART_UP, HPC_PART_DOWN};
        hpc_gguf_options o = {.dtype = types[k].dtype, .read = draw, .remark = keep, .user = line};
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) is[parts[p]] = types[k].dtype;
        is[HPC_PART_EMBED] = is[HPC_PART_HEAD] = types[k].embed;
        test_ok(hpc_weights_save_gguf(path, &c, &o));
        check_types(path, &c, is);
        assert_int_equal(number(path, "general.file_type"), types[k].number);
        test_ok(hpc_model_config_read(&again, path));
        bool half = types[k].dtype == HPC_F16 || types[k].dtype == HPC_BF16;
        assert_int_equal(again.dtype, half ? types[k].dtype : HPC_F32);
        assert_string_equal(line, "");
    }
}

static void rows_that_are_no_blocks_fall_back(void **state)
{
    char path[PATH_MAX], line[400] = "";
    hpc_dtype is[HPC_PART_N] = {HPC_F32};
    hpc_model_config c = wide(96), again;
    const int parts[] = {HPC_PART_Q, HPC_PART_K,    HPC_PART_V,
                         HPC_PART_O, HPC_PART_GATE, HPC_PART_UP};
    hpc_gguf_options o = {.dtype = HPC_Q4_K, .read = draw, .remark = keep, .user = line};
    hpc_test_path(path, *state, "a.gguf");
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) is[parts[p]] = HPC_Q4_K;
    is[HPC_PART_EMBED] = is[HPC_PART_HEAD] = is[HPC_PART_DOWN] = HPC_Q8_0;
    test_ok(hpc_weights_save_gguf(path, &c, &o));
    check_types(path, &c, is);
    assert_string_equal(line, "tensors in q8_0 instead of q4_K, because their rows are not "
                              "multiples of 256: 1 (blk.0.ffn_down.weight, ...)");
    c = wide(90);
    is[HPC_PART_DOWN] = HPC_F16;
    test_ok(hpc_weights_save_gguf(path, &c, &o));
    check_types(path, &c, is);
    test_ok(hpc_model_config_read(&again, path));
    assert_int_equal(again.dtype, HPC_F32); /* not all is f16 */
    assert_string_equal(line, "tensors in f16 instead of q4_K, because their rows are not "
                              "multiples of 32: 1 (blk.0.ffn_down.weight, ...)");
}

/* The same numbers as in a directory, where the sums are checked. */
static void adapters_are_merged(void **state)
{
    char path[PATH_MAX], dir[PATH_MAX];
    hpc_weights *a, *b;
    hpc_model_config c = fixture("llama_grouped", NULL), plain = c;
    c.adapter = (hpc_adapter_config){
        .rank = 3, .alpha = 6, .targets = 1u << HPC_PART_Q | 1u << HPC_PART_DOWN};
    hpc_weights_save_options o = {.dtype = HPC_F32, .read = draw};
    hpc_gguf_options g = {.dtype = HPC_F32, .read = draw};
    test_ok(hpc_weights_save(hpc_test_path(dir, *state, "a"), &c, &o));
    test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &g));
    test_ok(hpc_weights_open(&a, dir, &plain));
    test_ok(hpc_weights_open(&b, path, &plain));
    same_weights(a, b, &plain);
    hpc_weights_close(a);
    hpc_weights_close(b);
}

static void a_window_is_remarked_upon(void **state)
{
    char path[PATH_MAX], line[400] = "";
    hpc_model_config c = fixture("mistral", NULL); /* of 4, and 64 positions */
    hpc_gguf_options o = {.dtype = HPC_F32, .read = draw, .remark = keep, .user = line};
    test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
    assert_string_equal(
        line, "llama.cpp ignores the attention window: its results differ beyond 4 tokens");
}

static int infinite(float *out, const hpc_model_tensor *t, void *user)
{
    int rc = draw(out, t, user);
    if (t->part == HPC_PART_UP) out[7] = *(const float *)user;
    return rc;
}

static void numbers_that_do_not_fit_are_named(void **state)
{
    char path[PATH_MAX];
    const struct {
        hpc_dtype dtype;
        float x;
    } bad[] = {
        {HPC_Q8_0, INFINITY}, {HPC_Q8_0, 9e6f}, {HPC_Q4_0, 6e5f}, {HPC_Q4_K, NAN}, {HPC_F16, 7e4f}};
    hpc_model_config c = wide(256);
    hpc_test_path(path, *state, "a.gguf");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        hpc_gguf_options o = {
            .dtype = bad[k].dtype, .read = infinite, .user = (void *)(intptr_t)&bad[k].x};
        test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_ARG, "tensor blk.0.ffn_up.weight: ");
        assert_false(hpc_file_exists(path));
    }
}

/* ---- what such a file cannot say ------------------------------------------------------------ */

static void what_gguf_cannot_say_is_named(void **state)
{
    char path[PATH_MAX];
    hpc_test_path(path, *state, "a.gguf");
    hpc_gguf_options o = {.dtype = HPC_F32, .read = draw};
    hpc_model_config c = fixture("llama_linear", NULL); /* with GELU */
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED, "act: GGUF's llama has");
    c.act = HPC_SILU;
    test_ok(hpc_weights_save_gguf(path, &c, &o));
    c = fixture("llama", NULL);
    c.parallel = true;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED,
               "parallel=1: GGUF's llama cannot express this value, readers would use 0");
    c = fixture("llama", NULL);
    c.rope.share = 0.5;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED, "partially rotated heads");
    c = fixture("llama_yarn", NULL);
    c.rope.attention = 2;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED, "rope attention=2: GGUF's");
    c = fixture("starcoder2", NULL);
    c.out_bias = false;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED, "out-bias: GGUF's star");
    c = fixture("qwen2", NULL);
    c.rope.scaling = HPC_ROPE_LLAMA3, c.rope.factor = 8, c.rope.low = 1, c.rope.high = 4;
    c.rope.original = 16;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED,
               "rope scaling=llama3: GGUF's qwen2 has none of that kind");
    c = fixture("starcoder2", NULL);
    c.head_dim = 2 * hpc_model_config_head_dim(&c);
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED,
               "head-dim: GGUF's starcoder2 has heads that together");
    c = fixture("gpt_neox", NULL);
    c.tied = true;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED, "tied: GGUF's gptneox has");
    c = fixture("llama", NULL);
    c.norm = HPC_LAYER;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_UNSUPPORTED,
               "files of a llama in GGUF cannot store it");
    c = fixture("llama", NULL);
    o.dtype = HPC_Q5_K;
    test_fails(hpc_weights_save_gguf(path, &c, &o), HPC_E_ARG, "dtype=q5_K: GGUF files need");
}

/* ---- failures ------------------------------------------------------------------------------- */

static int first_values(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user; /* and allocates nothing */
    hpc_model_init(out, t, 0, hpc_test_model_tensor_n(t), 1);
    return HPC_OK;
}

static int save(void *user)
{
    hpc_model_config c = wide(96);
    c.vocab = 1000;
    hpc_gguf_options o = {.dtype = HPC_Q4_K,
                          .read = first_values,
                          .tokenizer = "tests/fixtures/byte_level/gpt2.json"};
    return hpc_weights_save_gguf(user, &c, &o);
}

static int load(void *user)
{
    hpc_weights *w = NULL;
    hpc_model_config c;
    int rc = HPC_OK;
    TRY(hpc_model_config_read(&c, user));
    TRY(hpc_weights_open(&w, user, &c));
out:
    hpc_weights_close(w);
    return rc;
}

static void failures_leave_nothing(void **state)
{
    char path[PATH_MAX];
    hpc_test_path(path, *state, "a.gguf");
    for (int64_t n = 1;; n += 2) {
        hpc_test_fail_io(n);
        int rc = save(path);
        bool hit = hpc_test_io_failed();
        hpc_test_fault_reset();
        assert_true(rc == HPC_OK || hit);
        hpc_error_clear();
        if (hpc_file_exists(path)) test_ok(load(path));
        test_ok(hpc_file_remove(path));
        if (!hit) break;
    }
    test_ok(save(path));
    assert_true(hpc_test_each_alloc(load, path) > 10);
    assert_true(hpc_test_each_alloc(save, path) > 10);
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(every_family_comes_back),
        IN_FOLDER(rows_of_heads_are_in_pairs),
        IN_FOLDER(llama3_divides_frequencies),
        IN_FOLDER(fused_tensors_are_as_readers_have_them),
        IN_FOLDER(every_type_is_what_it_rounds_to),
        IN_FOLDER(rows_that_are_no_blocks_fall_back),
        IN_FOLDER(adapters_are_merged),
        IN_FOLDER(a_window_is_remarked_upon),
        IN_FOLDER(numbers_that_do_not_fit_are_named),
        IN_FOLDER(what_gguf_cannot_say_is_named),
        IN_FOLDER(failures_leave_nothing),
    };
    return cmocka_run_group_tests_name("model/gguf_weights", tests, NULL, NULL);
}
