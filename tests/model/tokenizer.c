/*
 * tokenizer.c: a model's tokenizer in every container, its stored settings, and copies of its
 * files, which open as the same tokenizer.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/model/foreign.h"
#include "tests/support/fault.h"

#define LLAMA "tests/fixtures/tokenizer/llama.model"
#define SPM   "tests/fixtures/tokenizer/ours.model"
#define JSON  "tests/fixtures/byte_level/llama3.json"

static void put(void **state, const char *name, const char *from)
{
    char path[PATH_MAX];
    hpc_file_view v;
    test_ok(hpc_file_open(&v, from));
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), v.data, v.bytes));
    hpc_file_close(&v);
}

static void put_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void is(const char *model, const char *kind, int64_t n, bool begin)
{
    hpc_tokenizer *t;
    test_ok(hpc_model_tokenizer(&t, model));
    assert_string_equal(hpc_tokenizer_kind(t), kind);
    assert_int_equal(hpc_tokenizer_n(t), n);
    assert_true(hpc_tokenizer_specials(t).add_begin == begin);
    hpc_tokenizer_close(t);
}

static void files_and_folders_open(void **state)
{
    hpc_tokenizer *t;
    is(SPM, "sentencepiece", 1000, false);
    is(JSON, "byte-level", 1003, true);
    test_fails(hpc_model_tokenizer(&t, root_of(state)), HPC_E_ARG,
               "contains neither tokenizer.json nor tokenizer.model");
    assert_null(t);
    test_fails(hpc_model_tokenizer(&t, "tests/nothing"), HPC_E_IO, "tests/nothing");
    put(state, "tokenizer.json", JSON);
    is(root_of(state), "byte-level", 1003, true);
    put(state, "tokenizer.model", SPM); /* before the .json */
    is(root_of(state), "sentencepiece", 1000, false);
    put_text(state, "tokenizer.model", "a list of words"); /* but not where it is something else */
    is(root_of(state), "byte-level", 1003, true);
    put_text(state, "tokenizer.json", "{}");
    test_fails(hpc_model_tokenizer(&t, root_of(state)), HPC_E_FORMAT, "tokenizer.json: no model");
}

static void tokenizer_config_is_asked(void **state)
{
    hpc_tokenizer *t;
    put(state, "tokenizer.model", SPM);
    put_text(state, "tokenizer_config.json", "{\"tokenizer_class\":\"CodeLlamaTokenizerFast\"}");
    is(root_of(state), "sentencepiece", 1000, true);
    put_text(state, "tokenizer_config.json",
             "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_bos_token\":false}");
    is(root_of(state), "sentencepiece", 1000, false);
    put_text(state, "tokenizer_config.json", "{\"add_bos_token\":null,\"add_eos_token\":true}");
    test_ok(hpc_model_tokenizer(&t, root_of(state)));
    assert_false(hpc_tokenizer_specials(t).add_begin);
    assert_true(hpc_tokenizer_specials(t).add_end);
    hpc_tokenizer_close(t);
    put_text(state, "tokenizer_config.json", "{");
    test_fails(hpc_model_tokenizer(&t, root_of(state)), HPC_E_FORMAT, "tokenizer_config.json:1:1");
}

/* Our own GGUF: the file copy and its keys. */
static void keys_go_before_a_copy(void **state)
{
    static const uint8_t yes = 1;
    static const uint32_t five = 5, last = 1001;
    char path[PATH_MAX];
    hpc_file_view v;
    hpc_tokenizer *t;
    test_ok(hpc_file_open(&v, SPM));
    hpc_gguf_value value[] = {
        {MODEL_GGUF_TOKENIZER_MODEL, HPC_GGUF_LIST, HPC_GGUF_U8, (int64_t)v.bytes, v.data, v.bytes},
        {"tokenizer.ggml.add_eos_token", HPC_GGUF_BOOL, 0, 0, &yes, 1},
        {"tokenizer.ggml.eos_token_id", HPC_GGUF_U32, 0, 0, &five, 4},
        {"tokenizer.ggml.padding_token_id", HPC_GGUF_U32, 0, 0, &last, 4}}; /* not in the copy */
    test_ok(hpc_gguf_save(hpc_test_path(path, *state, "a.gguf"), value, 4, NULL, 0, NULL, NULL));
    test_ok(hpc_model_tokenizer(&t, path));
    hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    assert_true(s.begin == 1 && s.end == 5 && s.pad == -1 && !s.add_begin && s.add_end);
    hpc_tokenizer_close(t);
    value[0].kind = HPC_GGUF_TEXT;
    test_ok(hpc_gguf_save(path, value, 4, NULL, 0, NULL, NULL));
    test_fails(hpc_model_tokenizer(&t, path), HPC_E_FORMAT,
               "hpccoder.tokenizer.model: expected a list");
    hpc_file_close(&v);
}

/* ---- into a directory ------------------------------------------------------------------------ */

static bool there(void **state, const char *name)
{
    char path[PATH_MAX];
    return hpc_file_exists(hpc_test_path(path, *state, name));
}

static void same(const char *a, const char *b)
{
    hpc_tokenizer *t[2];
    test_ok(hpc_model_tokenizer(&t[0], a));
    test_ok(hpc_model_tokenizer(&t[1], b));
    hpc_tokenizer_special x = hpc_tokenizer_specials(t[0]), y = hpc_tokenizer_specials(t[1]);
    hpc_hash128 p = hpc_tokenizer_hash(t[0]), q = hpc_tokenizer_hash(t[1]);
    assert_true(x.begin == y.begin && x.end == y.end && x.unknown == y.unknown);
    assert_true(x.add_begin == y.add_begin && x.add_end == y.add_end);
    assert_true(x.dummy_prefix == y.dummy_prefix);
    assert_true(p.low == q.low && p.high == q.high);
    for (int k = 0; k < 2; k++) hpc_tokenizer_close(t[k]);
}

static void copies_are_the_same(void **state)
{
    static const foreign_edit begins = {
        "add_bos_token", -1, 0, 0, NULL, 0}; /* as llama.cpp has it */
    char path[PATH_MAX], to[PATH_MAX];
    test_ok(hpc_file_mkdir(hpc_test_path(to, *state, "to")));
    hpc_test_path(path, *state, "a.gguf");
    foreign_gguf(path, JSON, 0, NULL);
    test_ok(hpc_model_tokenizer_copy(to, path));
    assert_true(there(state, "to/tokenizer.json"));
    assert_true(there(state, "to/tokenizer_config.json"));
    same(path, to);
    foreign_gguf(path, SPM, 0, NULL);
    test_ok(hpc_model_tokenizer_copy(to, path));
    assert_true(there(state, "to/tokenizer_config.json"));
    same(path, to);
    foreign_gguf(path, SPM, 0, &begins);
    test_ok(hpc_model_tokenizer_copy(to, path));
    assert_true(there(state, "to/tokenizer_config.json"));
    is(path, "sentencepiece", 1000, true);
    same(path, to);
    hpc_test_path(path, *state, "again"); /* and out of a directory */
    test_ok(hpc_file_mkdir(path));
    test_ok(hpc_model_tokenizer_copy(path, to));
    assert_int_equal(hpc_test_entries(path), 3);
    same(path, to);
    put_text(state, "b.gguf", "no GGUF");
    hpc_test_path(path, *state, "b.gguf");
    test_fails(hpc_model_tokenizer_copy(to, path), HPC_E_FORMAT, "/b.gguf: ");
}

static const hpc_json *member(const hpc_json *o, const char *key)
{
    const hpc_json *v = hpc_json_get(o, key);
    if (!v) fail_msg("no %s", key);
    return v;
}

static void is_text(const hpc_json *o, const char *key, const char *want)
{
    const char *text;
    test_ok(hpc_json_text(&text, member(o, key), key));
    assert_string_equal(text, want);
}

static bool is_true(const hpc_json *o, const char *key)
{
    bool yes;
    test_ok(hpc_json_bool(&yes, member(o, key), key));
    return yes;
}

/* Converters take the types of pieces, the end of a text and the blank before it from here. */
static void tokenizer_config_describes_added_tokens(void **state)
{
    char path[PATH_MAX], to[PATH_MAX], id[24];
    hpc_tokenizer *t;
    hpc_json *root;
    float score;
    int64_t added = 0;
    test_ok(hpc_file_mkdir(hpc_test_path(to, *state, "to")));
    test_ok(hpc_model_tokenizer_copy(to, SPM));
    assert_true(there(state, "to/tokenizer.json"));
    test_ok(hpc_json_read(&root, hpc_test_path(path, *state, "to/tokenizer_config.json")));
    is_text(root, "tokenizer_class", "PreTrainedTokenizerFast");
    is_text(root, "eos_token", "</s>");
    is_text(root, "unk_token", "<unk>");
    assert_false(is_true(root, "add_prefix_space"));
    assert_false(is_true(root, "add_bos_token"));
    const hpc_json *all = member(root, "added_tokens_decoder");
    test_ok(hpc_model_tokenizer(&t, SPM));
    for (int32_t k = 0; k < hpc_tokenizer_n(t); k++) {
        int type = hpc_tokenizer_piece_type(&score, t, k);
        if (type != 3 && type != 4) continue;
        snprintf(id, sizeof id, "%d", (int)k);
        assert_int_equal(is_true(member(all, id), "special"), type == 3);
        if (strcmp(hpc_tokenizer_piece(t, k, NULL), "\xE2\x96\x81\xE2\x96\x81") == 0)
            is_text(member(all, id), "content", "  ");
        added++;
    }
    assert_true(added > 20 && added == hpc_json_n(all));
    hpc_tokenizer_close(t);
    hpc_json_free(root);
    test_ok(hpc_model_tokenizer_copy(to, LLAMA)); /* it puts a blank before a text */
    test_ok(hpc_json_read(&root, path));
    is_text(root, "tokenizer_class", "LlamaTokenizer");
    assert_true(is_true(root, "add_prefix_space"));
    hpc_json_free(root);
}

static void a_file_gets_its_usual_name(void **state)
{
    char path[PATH_MAX], to[PATH_MAX];
    test_ok(hpc_file_mkdir(hpc_test_path(to, *state, "to")));
    put(state, "words", SPM);
    test_ok(hpc_model_tokenizer_copy(to, hpc_test_path(path, *state, "words")));
    same(SPM, to);
    put(state, "other.json", JSON);
    test_ok(hpc_file_remove(hpc_test_path(path, *state, "to/tokenizer.model")));
    test_ok(hpc_model_tokenizer_copy(to, hpc_test_path(path, *state, "other.json")));
    same(JSON, to);
}

static int open_once(void *path)
{
    hpc_tokenizer *t;
    int rc = hpc_model_tokenizer(&t, path);
    hpc_tokenizer_close(t);
    return rc;
}

typedef struct copying {
    char from[PATH_MAX], to[PATH_MAX];
} copying;

static int copy_once(void *user)
{
    const copying *c = user;
    return hpc_model_tokenizer_copy(c->to, c->from);
}

static void each_allocation_may_fail(void **state)
{
    static const foreign_edit begins = {"add_bos_token", -1, 0, 0, NULL, 0};
    copying c;
    put(state, "tokenizer.model", SPM);
    put_text(state, "tokenizer_config.json", "{\"add_bos_token\":true}");
    assert_true(hpc_test_each_alloc(open_once, (void *)root_of(state)) > 20);
    foreign_gguf(hpc_test_path(c.from, *state, "a.gguf"), SPM, 0, &begins);
    test_ok(hpc_file_mkdir(hpc_test_path(c.to, *state, "to")));
    assert_true(hpc_test_each_alloc(copy_once, &c) > 20);
    same(c.from, c.to);
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(files_and_folders_open),
        IN_FOLDER(tokenizer_config_is_asked),
        IN_FOLDER(keys_go_before_a_copy),
        IN_FOLDER(copies_are_the_same),
        IN_FOLDER(tokenizer_config_describes_added_tokens),
        IN_FOLDER(a_file_gets_its_usual_name),
        IN_FOLDER(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("model/tokenizer", tests, NULL, NULL);
}
