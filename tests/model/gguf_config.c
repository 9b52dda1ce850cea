/*
 * gguf_config.c: GGUF files from other programs: keys, blocks, and unsupported features.
 *
 * The fixture is made by tests/fixtures/make_gguf.py.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/model/gguf.h"

#define OTHER "tests/fixtures/gguf/"

/* A tensor of each type that is read: every 61st number is what the other program unpacks. */
static void blocks_of_others_are_unpacked(void **state)
{
    (void)state;
    static float x[1 << 16];
    enum { EVERY = 61 };
    hpc_model_config c;
    hpc_weights *w;
    hpc_model_tensor *list;
    hpc_json *root;
    int64_t n, read = 0;
    test_ok(hpc_model_config_read(&c, OTHER "llama.gguf"));
    assert_string_equal(c.family, "llama");
    assert_true(c.hidden == 256 && c.layers == 1 && c.heads == 4 && c.kv_heads == 2);
    assert_true(c.head_dim == 16 && c.ffn == 32 && c.vocab == 7 && c.positions == 512);
    assert_true(c.rope.theta == 500000 && c.norm_eps == 1e-5 && c.tied && c.act == HPC_SILU);
    assert_true(c.begin == 1 && c.end == 2 && c.pad == -1 && c.dtype == HPC_F32);
    test_ok(hpc_weights_open(&w, OTHER "llama.gguf", &c));
    test_ok(hpc_model_tensors(&list, &n, &c));
    test_ok(hpc_json_read(&root, OTHER "expected.json"));
    for (int64_t k = 0; k < n; k++, read++) {
        const hpc_json *want = hpc_json_get(root, list[k].name);
        int64_t size = hpc_test_model_tensor_n(&list[k]);
        test_ok(hpc_weights_read(x, w, &list[k]));
        assert_int_equal(hpc_json_n(want), (size + EVERY - 1) / EVERY);
        for (int64_t i = 0; i < hpc_json_n(want); i++) {
            double is;
            test_ok(hpc_json_real(&is, hpc_json_at(want, i), list[k].name));
            assert_true((double)x[i * EVERY] == is);
        }
    }
    assert_int_equal(read, hpc_json_n(root));
    hpc_json_free(root);
    hpc_free(list);
    hpc_weights_close(w);
}

/* Keys and tensors of a model, to be changed and written again. */
typedef struct copy {
    hpc_gguf *g;
    hpc_gguf_value value[64];
    hpc_stored_tensor t[64];
    int64_t values, n;
} copy;

static copy copy_of_model(const hpc_model_config *config, const char *path,
                          const hpc_gguf_options *o)
{
    copy c = {.n = 0};
    test_ok(hpc_weights_save_gguf(path, config, o));
    test_ok(hpc_gguf_open(&c.g, path));
    for (const hpc_gguf_value *v; (v = hpc_gguf_value_at(c.g, c.values + 1)); c.values++)
        c.value[c.values] = *v;
    for (; c.n < hpc_gguf_n(c.g); c.n++) test_ok(hpc_gguf_at(&c.t[c.n], c.g, c.n));
    assert_true(c.values < 62 && c.n < 62);
    return c;
}

static copy copy_of(const char *name, const char *path)
{
    hpc_weights *w;
    hpc_model_config config = fixture(name, &w);
    hpc_gguf_options o = {.dtype = HPC_F32, .read = read_from, .user = w};
    copy c = copy_of_model(&config, path, &o);
    hpc_weights_close(w);
    return c;
}

static hpc_gguf_value *key(copy *c, const char *name)
{
    for (int64_t k = 0; k < c->values; k++)
        if (strcmp(c->value[k].key, name) == 0) return &c->value[k];
    return &c->value[c->values++];
}

static void set_int(copy *c, const char *name, const uint32_t *x)
{
    *key(c, name) = (hpc_gguf_value){name, HPC_GGUF_U32, 0, 0, x, sizeof *x};
}

static int give(hpc_file_writer *w, int64_t i, void *user)
{
    const copy *c = user;
    return hpc_file_write(w, c->t[i].data, c->t[i].bytes);
}

/* Writes and closes the copy; what comes of reading its configuration and opening its weights. */
static int opened(hpc_model_config *config, copy *c, const char *path)
{
    hpc_weights *w = NULL;
    char other[PATH_MAX + 8];
    snprintf(other, sizeof other, "%s.gguf", path);
    int rc = HPC_OK;
    TRY(hpc_gguf_save(other, c->value, c->values, c->t, c->n, give, c));
    TRY(hpc_model_config_read(config, other));
    TRY(hpc_weights_open(&w, other, config));
out:
    hpc_weights_close(w);
    hpc_gguf_close(c->g);
    return rc;
}

static void drop(copy *c, const char *head)
{
    int64_t n = 0;
    for (int64_t k = 0; k < c->values; k++)
        if (strncmp(c->value[k].key, head, strlen(head)) != 0) c->value[n++] = c->value[k];
    c->values = n;
}

static void keys_of_others_are_understood(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c, want = fixture("llama", NULL);
    hpc_test_path(path, *state, "a.gguf");
    copy k = copy_of("llama", path); /* nothing of ours in it, and no more than there must be */
    drop(&k, "hpccoder.");
    drop(&k, "llama.attention.key_length");
    drop(&k, "llama.attention.value_length");
    drop(&k, "llama.attention.head_count_kv");
    drop(&k, "llama.vocab_size");
    drop(&k, "llama.rope");
    test_ok(opened(&c, &k, path));
    same_config(&want, &c);
    k = copy_of("gpt_neox", path);
    drop(&k, "hpccoder.");
    drop(&k, "gptneox.use_parallel_residual");
    want = fixture("gpt_neox", NULL);
    test_ok(opened(&c, &k, path));
    same_config(&want, &c);
}

static int zeros(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    memset(out, 0, (size_t)model_tensor_n(t) * sizeof *out);
    return HPC_OK;
}

/* Without our keys the divisors are those of Llama 3.1, absent, or an error. */
static void divisors_of_others_are_understood(void **state)
{
    char path[PATH_MAX];
    float ones[32], odd[32];
    hpc_model_config c, want = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_gguf_options o = {.dtype = HPC_F32, .read = zeros};
    hpc_test_path(path, *state, "a.gguf");
    want.heads = want.kv_heads = 2, want.positions = 131072; /* of 64 */
    want.rope = (hpc_rope_config){
        .theta = 500000, .share = 1, .scaling = HPC_ROPE_LLAMA3, .factor = 8, .low = 1, .high = 4};
    want.rope.original = 8192;
    copy k = copy_of_model(&want, path, &o);
    drop(&k, "hpccoder.");
    assert_string_equal(k.t[0].name, "rope_freqs.weight");
    memcpy(odd, k.t[0].data, sizeof odd);
    test_ok(opened(&c, &k, path));
    same_config(&want, &c);
    k = copy_of_model(&want, path, &o);
    drop(&k, "hpccoder.");
    k.t[0].data = odd;
    odd[16] += 0.01f;
    test_fails(opened(&c, &k, path), HPC_E_UNSUPPORTED, "only the frequencies of Llama 3");
    k = copy_of_model(&want, path, &o);
    k.t[0].data = ones;
    for (int i = 0; i < 32; i++) ones[i] = 1;
    test_ok(opened(&c, &k, path));
    assert_int_equal(c.rope.scaling, HPC_ROPE_PLAIN);
    /* A factor alone is a linear one. */
    want.rope =
        (hpc_rope_config){.theta = 10000, .share = 1, .scaling = HPC_ROPE_LINEAR, .factor = 4};
    k = copy_of_model(&want, path, &o);
    drop(&k, "llama.rope.scaling.type");
    test_ok(opened(&c, &k, path));
    same_config(&want, &c);
}

static void what_we_cannot_do_is_named(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c;
    static const uint32_t eight = 8, three = 3, many = 3000, none = 0;
    static const struct {
        const char *key;
        const uint32_t *x;
        int code;
        const char *says;
    } bad[] = {
        {"llama.expert_count", &eight, HPC_E_FORMAT, "llama.expert_used_count"},
        {"llama.attention.value_length", &none, HPC_E_UNSUPPORTED,
         "a width different from that of"},
        {"llama.rope.dimension_count", &none, HPC_E_UNSUPPORTED, "partially rotated heads"},
        {"hpccoder.version", &eight, HPC_E_UNSUPPORTED, "hpccoder.version: 8 is newer than 1"},
        {"llama.block_count", &none, HPC_E_ARG, "layers=0 is not between"},
        {"llama.block_count", &eight, HPC_E_FORMAT, "tensor blk.2.attn_norm.weight is missing"},
        {"llama.block_count", &many, HPC_E_FORMAT, "3000 layers, and "},
        {"general.architecture", &eight, HPC_E_FORMAT, "key general.architecture: expected a text"},
        {"llama.attention.head_count_kv", &three, HPC_E_SHAPE, "heads=4 is not a multiple"},
    };
    hpc_test_path(path, *state, "a.gguf");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        copy m = copy_of("llama", path);
        set_int(&m, bad[k].key, bad[k].x);
        test_fails(opened(&c, &m, path), bad[k].code, bad[k].says);
    }
    copy m = copy_of("llama", path);
    *key(&m, "general.architecture") =
        (hpc_gguf_value){"general.architecture", HPC_GGUF_TEXT, 0, 0, "mamba", 5};
    test_fails(opened(&c, &m, path), HPC_E_UNSUPPORTED,
               "general.architecture: unknown value 'mamba'; expected llama, qwen2");
    m = copy_of("llama", path);
    m.t[m.n] = m.t[0];
    m.t[m.n++].name = "blk.0.attn_sinks.weight";
    test_fails(opened(&c, &m, path), HPC_E_UNSUPPORTED,
               "tensor blk.0.attn_sinks.weight does not belong to this llama: its keys describe");
    m = copy_of("llama", path);
    m.t[1].dtype = HPC_Q8_0, m.t[1].bytes = 34;
    test_fails(opened(&c, &m, path), HPC_E_UNSUPPORTED, "vectors of q8_0 are not supported");
}

/* ---- a model's file changed everywhere ------------------------------------------------------ */

/* The configuration of the bytes in memory; now and then all of the model, through a file. */
static int use(const hpc_buf *b, const char *path, bool whole)
{
    static float x[1 << 12];
    hpc_gguf *g = NULL;
    hpc_weights *w = NULL;
    hpc_model_tensor *list = NULL;
    hpc_model_config c;
    int64_t n = 0;
    int rc = HPC_OK;
    TRY(model_gguf_parse(&g, b->data, b->n, b->n, path));
    TRY(model_gguf_config_read(&c, g));
    if (!whole) goto out;
    test_ok(hpc_file_save(path, b->data, b->n));
    TRY(hpc_weights_open(&w, path, &c));
    test_ok(hpc_model_tensors(&list, &n, &c));
    for (int64_t k = 0; k < n; k++) {
        assert_true(hpc_test_model_tensor_n(&list[k]) <= 1 << 12);
        TRY(hpc_weights_read(x, w, &list[k])); /* damaged scales are errors */
    }
out:
    hpc_free(list);
    hpc_weights_close(w);
    hpc_gguf_close(g);
    return rc;
}

static void no_byte_breaks_a_model(void **state)
{
    char path[PATH_MAX];
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    hpc_gguf_options o = {.dtype = HPC_Q8_0, .read = zeros};
    hpc_buf b = {0};
    int64_t passed = 0, refused = 0;
    c.hidden = 8, c.heads = 2, c.kv_heads = 1, c.ffn = 32, c.layers = 1, c.vocab = 5;
    hpc_test_path(path, *state, "a.gguf");
    test_ok(hpc_weights_save_gguf(path, &c, &o));
    test_ok(hpc_file_read(&b, path, 1 << 20));
    assert_true(use(&b, path, true) == HPC_OK);
    for (size_t at = 0; at < b.n; at++) {
        static const uint8_t by[] = {1, 2, 16, 128, 255};
        for (size_t k = 0; k < sizeof by; k++) {
            b.data[at] = (char)((uint8_t)b.data[at] ^ by[k]);
            int rc = use(&b, path, (at * sizeof by + k) % 101 == 0);
            assert_true(rc == HPC_OK || hpc_error_get()->text[0]);
            assert_null(strchr(hpc_error_get()->text, '\n'));
            *(rc < 0 ? &refused : &passed) += 1;
            hpc_error_clear();
            b.data[at] = (char)((uint8_t)b.data[at] ^ by[k]);
        }
    }
    assert_true(refused > 1000 && passed > 1000);
    hpc_buf_release(&b);
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_others_are_unpacked),
        IN_FOLDER(keys_of_others_are_understood),
        IN_FOLDER(divisors_of_others_are_understood),
        IN_FOLDER(what_we_cannot_do_is_named),
        IN_FOLDER(no_byte_breaks_a_model),
    };
    return cmocka_run_group_tests_name("model/gguf_config", tests, NULL, NULL);
}
