/*
 * gguf_tokenizer.c: a tokenizer in a GGUF file: its original file byte for byte, and its pieces in
 * llama.cpp's form.
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
#include "tests/support/expect.h"
#include "tokenizer/tokenizer.h"

static int zeros(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    memset(out, 0, (size_t)model_tensor_n(t) * sizeof *out);
    return HPC_OK;
}

static hpc_model_config small(int64_t vocab)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.hidden = 32, c.heads = 2, c.kv_heads = 2, c.ffn = 32, c.layers = 1, c.vocab = vocab;
    return c;
}

static void texts_of(hpc_buf *out, const hpc_gguf *g, const char *name, int64_t i)
{
    const hpc_gguf_value *v = hpc_gguf_get(g, name);
    const uint8_t *at = v->data;
    uint64_t n;
    assert_int_equal(v->item, HPC_GGUF_TEXT);
    assert_true(i < v->n);
    for (;; i--, at += 8 + n) {
        memcpy(&n, at, sizeof n);
        if (i == 0) break;
    }
    out->n = 0;
    hpc_buf_add(out, at + 8, (size_t)n);
}

static void same_file(const char *path, const char *file, const char *name)
{
    hpc_gguf *g;
    hpc_buf whole = {0}, copy = {0};
    const char *is;
    test_ok(hpc_gguf_open(&g, path));
    test_ok(hpc_gguf_tokenizer(&is, &copy, g));
    test_ok(hpc_file_read(&whole, file, 1 << 24));
    assert_string_equal(is, name);
    assert_int_equal(copy.n, whole.n);
    assert_memory_equal(copy.data, whole.data, copy.n);
    hpc_buf_release(&whole);
    hpc_buf_release(&copy);
    hpc_gguf_close(g);
}

static void sentencepiece_goes_in(void **state)
{
    static const char file[] = "tests/fixtures/tokenizer/ours.model";
    char path[PATH_MAX], again[PATH_MAX];
    hpc_tokenizer *t;
    hpc_gguf *g;
    hpc_buf text = {0};
    test_ok(hpc_tokenizer_open(&t, file));
    int64_t n = hpc_tokenizer_n(t), users = 0;
    hpc_model_config c = small(n + 3);
    c.begin = 1;
    hpc_gguf_options o = {.dtype = HPC_Q8_0, .read = zeros, .tokenizer = file, .name = "small"};
    test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
    same_file(path, file, "tokenizer.model");
    test_ok(hpc_gguf_open(&g, path));
    const int32_t *types = hpc_gguf_get(g, "tokenizer.ggml.token_type")->data;
    const uint8_t *scores = hpc_gguf_get(g, "tokenizer.ggml.scores")->data;
    for (int64_t id = 0; id < n; id++) {
        size_t bytes;
        float score, stored_score;
        int32_t type;
        const char *piece = hpc_tokenizer_piece(t, (int32_t)id, &bytes);
        memcpy(&type, (const uint8_t *)types + 4 * id, 4);
        memcpy(&stored_score, scores + 4 * id, 4);
        assert_int_equal(type, hpc_tokenizer_piece_type(&score, t, (int32_t)id));
        assert_true(stored_score == score);
        texts_of(&text, g, "tokenizer.ggml.tokens", id);
        users += type == 4;
        if (type == 4 && strstr(piece, "\xE2\x96\x81")) {
            assert_null(strstr(text.data, "\xE2\x96\x81"));
            assert_non_null(strchr(text.data, ' '));
            continue;
        }
        assert_int_equal(text.n, bytes);
        assert_memory_equal(text.data, piece, bytes);
    }
    assert_true(users > 10);
    texts_of(&text, g, "tokenizer.ggml.tokens", n + 2);
    assert_memory_equal(text.data, "[PAD1002]", 9);
    hpc_gguf_close(g);
    assert_int_equal(number(path, "tokenizer.ggml.bos_token_id"), 1);
    assert_int_equal(number(path, "tokenizer.ggml.eos_token_id"), 2);
    assert_int_equal(number(path, "tokenizer.ggml.unknown_token_id"), 0);
    assert_int_equal(number(path, "tokenizer.ggml.fim_mid_token_id"),
                     hpc_tokenizer_find(t, "<fim_middle>"));
    o.tokenizer = path; /* out of such a file again, to the same bytes */
    hpc_test_path(again, *state, "b.gguf");
    test_ok(hpc_weights_save_gguf(again, &c, &o));
    same_file(again, file, "tokenizer.model");
    c.vocab = n - 1;
    test_fails(hpc_weights_save_gguf(again, &c, &o), HPC_E_ARG, "tokens are more than the");
    hpc_tokenizer_close(t);
    hpc_buf_release(&text);
}

static void byte_level_goes_in(void **state)
{
    static const struct {
        const char *file, *pre;
    } known[] = {{"gpt2", "gpt-2"},
                 {"starcoder2", "starcoder"},
                 {"llama3", "llama-bpe"},
                 {"qwen2", "qwen2"},
                 {"deepseek_coder", "deepseek-coder"},
                 {"deepseek_v3", "deepseek-v3"},
                 {"o200k", "gpt-4o"},
                 {"strip", "hpccoder"}};
    char path[PATH_MAX], file[PATH_MAX], line[400], pre[32];
    hpc_buf text = {0};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        hpc_model_config c = small(2000);
        hpc_gguf *g;
        snprintf(file, sizeof file, "tests/fixtures/byte_level/%s.json", known[k].file);
        hpc_gguf_options o = {
            .dtype = HPC_Q8_0, .read = zeros, .tokenizer = file, .remark = keep, .user = line};
        line[0] = '\0';
        test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
        same_file(path, file, "tokenizer.json");
        test_ok(hpc_gguf_open(&g, path));
        test_ok(model_gguf_text(pre, sizeof pre, g, "tokenizer.ggml.pre"));
        assert_string_equal(pre, known[k].pre);
        bool named = strcmp(pre, "hpccoder") != 0;
        assert_int_equal(strstr(line, "llama.cpp has no equivalent") == NULL, named);
        texts_of(&text, g, "tokenizer.ggml.merges", 0);
        assert_non_null(memchr(text.data, ' ', text.n));
        hpc_gguf_close(g);
    }
    hpc_buf_release(&text);
}

static void what_llama_cpp_does_otherwise_is_remarked_upon(void **state)
{
    static const struct {
        const char *file, *says;
    } cases[] = {{"ours", ""},
                 {"llama", ""},
                 {"unused", "the tokenizer has unused tokens"},
                 {"nfkc", "the tokenizer has no byte tokens"}};
    char path[PATH_MAX], file[PATH_MAX], line[400];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_model_config c = small(1000);
        snprintf(file, sizeof file, "tests/fixtures/tokenizer/%s.model", cases[k].file);
        hpc_gguf_options o = {
            .dtype = HPC_F16, .read = zeros, .tokenizer = file, .remark = keep, .user = line};
        line[0] = '\0';
        test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "a.gguf"), &c, &o));
        assert_int_equal(line[0] == '\0', cases[k].says[0] == '\0');
        assert_non_null(strstr(line, cases[k].says));
        same_file(path, file, "tokenizer.model");
    }
}

/* tokenizer_config.json's begin and end settings override the file's. */
static void texts_begin_as_transformers_has_it(void **state)
{
    static const struct {
        const char *json; /* NULL: none */
        bool begin, end;
    } cases[] = {{NULL, false, false},
                 {"{}", false, false},
                 {"{\"tokenizer_class\":\"LlamaTokenizer\"}", true, false},
                 {"{\"tokenizer_class\":\"LlamaTokenizer\",\"add_bos_token\":false}", false, false},
                 {"{\"add_bos_token\":true,\"add_eos_token\":true}", true, true}};
    const hpc_test_folder *f = *state;
    char path[PATH_MAX], file[PATH_MAX];
    hpc_file_view v;
    test_ok(hpc_file_open(&v, "tests/fixtures/tokenizer/ours.model"));
    test_ok(hpc_file_save(hpc_test_path(file, f, "tokenizer.model"), v.data, v.bytes));
    hpc_file_close(&v);
    hpc_test_path(file, f, "tokenizer_config.json");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_gguf *g;
        bool begin, end;
        hpc_model_config c = small(1000);
        hpc_gguf_options o = {.dtype = HPC_F16, .read = zeros, .tokenizer = f->root};
        if (cases[k].json) test_ok(hpc_file_save(file, cases[k].json, strlen(cases[k].json)));
        test_ok(hpc_weights_save_gguf(hpc_test_path(path, f, "a.gguf"), &c, &o));
        test_ok(hpc_gguf_open(&g, path));
        test_ok(model_gguf_bool(&begin, g, "tokenizer.ggml.add_bos_token", !cases[k].begin));
        test_ok(model_gguf_bool(&end, g, "tokenizer.ggml.add_eos_token", !cases[k].end));
        assert_true(begin == cases[k].begin && end == cases[k].end);
        hpc_gguf_close(g);
    }
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(sentencepiece_goes_in),
        IN_FOLDER(byte_level_goes_in),
        IN_FOLDER(what_llama_cpp_does_otherwise_is_remarked_upon),
        IN_FOLDER(texts_begin_as_transformers_has_it),
    };
    return cmocka_run_group_tests_name("model/gguf_tokenizer", tests, NULL, NULL);
}
