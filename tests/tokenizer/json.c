/*
 * Tests of tokenizer/json.c and json_steps.c: errors and their positions, hostile and damaged
 * files, running out of memory.
 */
/* tsan: left out, starts no thread. */
#include <stdlib.h>

#include "tests/support/fault.h"
#include "tests/tokenizer/small.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static void assert_refused(const char *family, const char *from, const char *to, int code,
                           const char *message)
{
    hpc_tokenizer *t = small_open(family, from, to);
    assert_null(t);
    if (hpc_error_get()->code != code || strcmp(hpc_error_get()->text, message) != 0) {
        fail_msg("%s -> %s\ngave   %d %s\nwanted %d %s", from, to, hpc_error_get()->code,
                 hpc_error_get()->text, code, message);
    }
    hpc_error_clear();
}

static void assert_opens(const char *family, const char *from, const char *to)
{
    hpc_tokenizer *t = small_open(family, from, to);
    if (!t) fail_msg("%s", hpc_error_get()->text);
    hpc_tokenizer_close(t);
}

/* ---- constructs ------------------------------------------------------------------------ */

static void test_constructs_refused(void **state)
{
    (void)state;
    static const struct {
        const char *family, *from, *to, *message;
    } cases[] = {
        {"gpt2", "\"type\":\"BPE\"", "\"type\":\"Unigram\"",
         "t.json: model: a Unigram model is not supported, only BPE"},
        {"gpt2", "\"dropout\":null", "\"dropout\":0.1", "t.json: model.dropout is not supported"},
        {"gpt2", "\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"</w>\"",
         "t.json: model.end_of_word_suffix is not supported"},
        {"gpt2", "\"byte_fallback\":false", "\"byte_fallback\":true",
         "t.json: model.byte_fallback: this is a converted SentencePiece model; use its "
         "tokenizer.model"},
        {"gpt2", "\"dropout\":null", "\"cache\":1", "t.json: model: unknown value \"cache\""},
        {"gpt2", "\"version\"", "\"colour\":1,\"version\"", "t.json: unknown value \"colour\""},
        {"gpt2", "\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercase\"}",
         "t.json: normalizer: Lowercase is not supported"},
        {"strip", "{\"type\":\"NFC\"}", "{\"type\":\"NFC\"},{\"type\":\"NFKC\"}",
         "t.json: normalizer.normalizers[1]: NFKC is not supported"},
        {"strip", "{\"type\":\"NFC\"}", "{\"type\":\"Prepend\",\"prepend\":\"x\"}",
         "t.json: normalizer.normalizers[0]: Prepend is not supported; if the tokenizer also has a "
         "tokenizer.model, use that"},
        {"gpt2", "{\"type\":\"ByteLevel\",", "{\"type\":\"Metaspace\",",
         "t.json: pre_tokenizer: Metaspace is not supported"},
        {"starcoder2", "{\"type\":\"Digits\",\"individual_digits\":true}",
         "{\"type\":\"Whitespace\"}",
         "t.json: pre_tokenizer.pretokenizers[0]: Whitespace is not supported"},
        {"starcoder2", "{\"type\":\"Digits\"", "{\"type\":\"ByteLevel\"},{\"type\":\"Digits\"",
         "t.json: pre_tokenizer.pretokenizers[1]: Digits after ByteLevel"},
        {"starcoder2", "\"add_prefix_space\":false", "\"add_prefix_space\":true",
         "t.json: pre_tokenizer.pretokenizers[1]: add_prefix_space after other steps"},
        {"starcoder2", "\"individual_digits\"", "\"individual\"",
         "t.json: pre_tokenizer.pretokenizers[0]: unknown value \"individual\""},
        {"qwen2", "\"behavior\":\"Isolated\"", "\"behavior\":\"Lost\"",
         "t.json: pre_tokenizer.pretokenizers[0]: behavior \"Lost\" is not supported"},
        {"qwen2", "{\"Regex\":\"", "{\"Regex\":\"\\\\w|",
         "t.json: pre_tokenizer.pretokenizers[0]: character 1 of the pattern: \\w is not "
         "supported"},
        {"llama3", "\"type\":\"TemplateProcessing\"", "\"type\":\"RobertaProcessing\"",
         "t.json: post_processor.processors[1]: RobertaProcessing is not supported"},
        {"gpt2", "\"decoder\":{\"type\":\"ByteLevel\"", "\"decoder\":{\"type\":\"Metaspace\"",
         "t.json: decoder: Metaspace is not supported"},
        {"gpt2", "\"special\":true", "\"special\":true,\"bold\":true",
         "t.json: added_tokens[0]: unknown value \"bold\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i].family, cases[i].from, cases[i].to, HPC_E_UNSUPPORTED,
                       cases[i].message);
    }
}

static void test_constructs_taken(void **state)
{
    (void)state;
    assert_opens("gpt2", "\"dropout\":null", "\"dropout\":0.0");
    assert_opens("gpt2", "\"type\":\"BPE\",", "");
    assert_opens("gpt2", "\"\xc4\x84\":", "\"no such byte\":"); /* spells 0x04 */
    assert_opens("gpt2", "\"unk_token\":null", "\"unk_token\":\"<|endoftext|>\"");
    assert_opens("gpt2", "\"end_of_word_suffix\":null", "\"end_of_word_suffix\":\"\"");
    assert_opens("gpt2", "\"truncation\":null", "\"truncation\":{\"max_length\":4}");
    assert_opens("gpt2", "\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}");
    assert_opens("gpt2", "[\"\xc4\xa0\",\"\xc4\xa0\"]",
                 "\"\xc4\xa0 \xc4\xa0\""); /* merge as text */
}

static void test_no_byte_level(void **state)
{
    (void)state;
    hpc_tokenizer *t =
        small_open("starcoder2", ",{\"type\":\"ByteLevel\"", "],\"x\":[{\"type\":\"B\"");
    assert_null(t);
    assert_string_equal(hpc_error_get()->text, "t.json: pre_tokenizer: unknown value \"x\"");
    hpc_error_clear();
    t = small_open("gpt2", "\"pre_tokenizer\":{", "\"pre_tokenizer\":null,\"padding\":{");
    assert_null(t); /* padding occurs twice */
    hpc_error_clear();
    t = small_open("gpt2",
                   "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
                   "\"use_regex\":true}",
                   "null");
    assert_null(t);
    assert_int_equal(hpc_error_get()->code, HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "pre_tokenizer has no ByteLevel"));
}

/* ---- hostile vocabularies ---------------------------------------------------------------- */

static void test_hostile_files(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"\"!\":1,", "\"!\":2,", "t.json: model.vocab: \"!\" and \"\"\" are both 2"},
        {"\"!\":1,", "\"!\":-1,", "t.json: model.vocab: \"!\" has no id from 0 to 2147483646"},
        {"\"!\":1,", "\"!\":\"1\",", "t.json: model.vocab: \"!\" has no id from 0 to 2147483646"},
        {"\"!\":1,", "\"!\":1.5,", "t.json: model.vocab: \"!\" has no id from 0 to 2147483646"},
        {"\"!\":1,", "\"!\":2147483647,",
         "t.json: model.vocab: \"!\" has no id from 0 to 2147483646"},
        {"\"!\":1,", "\"!\":2147483646,", "t.json: id 2147483646, but only 1001 tokens"},
        {"\"merges\":[", "\"merges\":[[\"q\",\"!\"],",
         "t.json: model.merges[0]: \"q!\" is not in model.vocab"},
        {"\"merges\":[", "\"merges\":[[\"zzzz\",\"!\"],",
         "t.json: model.merges[0]: \"zzzz\" is not in model.vocab"},
        {"\"merges\":[", "\"merges\":[\"q\",", "t.json: model.merges[0] is not a pair of tokens"},
        {"\"merges\":[", "\"merges\":[\"a b c\",",
         "t.json: model.merges[0] is not a pair of tokens"},
        {"\"merges\":[", "\"merges\":[[\"a\",1],",
         "t.json: model.merges[0] is not a pair of tokens"},
        {"\"merges\":[", "\"merges\":[[\"\xc4\xa0\",\"\xc4\xa0\"],",
         "t.json: model.merges[1]: duplicate pair"},
        {"\"ignore_merges\":false", "\"ignore_merges\":3",
         "t.json: model: ignore_merges: expected true or false, found 3"},
        {"\"merges\":[", "\"merges\":7,\"vocabulary\":[",
         "t.json: model: unknown value \"vocabulary\""},
        {"\"added_tokens\":[", "\"added_tokens\":[3,", "t.json: an added token without id"},
        {"\"added_tokens\":[", "\"added_tokens\":[{\"id\":5},",
         "t.json: added_tokens[0]: no text \"content\""},
        {"\"added_tokens\":[", "\"added_tokens\":[{\"id\":5,\"content\":\"new\"},",
         "t.json: added_tokens[0]: id 5 already belongs to \"%\""},
        {"\"added_tokens\":[", "\"added_tokens\":[{\"id\":5,\"content\":\"!\"},",
         "t.json: added_tokens[0]: \"!\" already exists, with id 1"},
        {"\"added_tokens\":[", "\"added_tokens\":[{\"id\":0,\"content\":\"<|endoftext|>\"},",
         "t.json: added_tokens[1]: \"<|endoftext|>\" already exists, with id 0"},
        {"\"special\":true", "\"special\":1",
         "t.json: added_tokens[0]: special: expected true or false, found 1"},
        {"\"unk_token\":null", "\"unk_token\":\"nobody\"",
         "t.json: model.unk_token \"nobody\" is not in the vocabulary"},
        {"\"vocab\":{", "\"vocab\":[],\"dropout2\":{", "t.json: model: unknown value \"dropout2\""},
        {"\"model\":{", "\"truncation2\":{", "t.json: unknown value \"truncation2\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code = strstr(cases[i].message, "unknown value") ? HPC_E_UNSUPPORTED : HPC_E_FORMAT;
        assert_refused("gpt2", cases[i].from, cases[i].to, code, cases[i].message);
    }
}

static void test_not_a_tokenizer(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[]",
                                        "{}",
                                        "null",
                                        "{\"model\":3}",
                                        "{\"model\":{}}",
                                        "{\"model\":{\"vocab\":{},\"merges\":[]}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hpc_tokenizer *t;
        assert_true(hpc_tokenizer_open_json(&t, texts[i], strlen(texts[i]), "t.json") < 0);
        assert_null(t);
        assert_int_equal(strncmp(hpc_error_get()->text, "t.json", 6), 0);
        hpc_error_clear();
    }
    hpc_buf deep = {0};
    hpc_tokenizer *t;
    for (int i = 0; i < 40; i++) hpc_buf_text(&deep, "{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < 40; i++) hpc_buf_text(&deep, "]}");
    t = small_open("strip", "{\"type\":\"NFC\"}", deep.data);
    assert_null(t);
    assert_non_null(strstr(hpc_error_get()->text, "sequences more than 8 deep"));
    hpc_buf_release(&deep);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void test_truncated(void **state)
{
    (void)state;
    hpc_buf text = {0};
    small_text(&text, "qwen2", NULL, NULL);
    for (size_t n = 0; n < text.n; n += n < 3000 || n + 1000 > text.n ? 7 : 499) {
        hpc_tokenizer *t;
        assert_int_equal(hpc_tokenizer_open_json(&t, text.data, n, "t.json"), HPC_E_FORMAT);
        assert_null(t);
        hpc_error_clear();
    }
    hpc_buf_release(&text);
}

static void test_flipped_bytes(void **state)
{
    (void)state;
    static const char *const families[] = {"strip", "classes", "llama3"};
    int rounds = getenv("HPC_TEST_LONG") ? 5000 : 120;
    uint32_t seed = 1;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        hpc_buf text = {0};
        small_text(&text, families[f], NULL, NULL);
        for (int i = 0; i < rounds; i++) {
            /* half of the flips where the steps are */
            size_t at = small_random(&seed) % (i % 2 ? text.n : 2500);
            char old = text.data[at];
            hpc_tokenizer *t;
            text.data[at] = (char)(i % 3 ? old ^ (1 << small_random(&seed) % 7) : '0' + i % 10);
            if (hpc_tokenizer_open_json(&t, text.data, text.n, "t.json") == 0) {
                small_use(t);
            } else {
                assert_null(t);
                assert_true(strlen(hpc_error_get()->text) > 6);
                hpc_error_clear();
            }
            text.data[at] = old;
        }
        hpc_buf_release(&text);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

typedef struct input {
    hpc_buf text;
} input;

static int open_once(void *user)
{
    const input *in = user;
    hpc_tokenizer *t;
    int rc = hpc_tokenizer_open_json(&t, in->text.data, in->text.n, "t.json");
    assert_int_equal(rc < 0, t == NULL);
    hpc_tokenizer_close(t);
    return rc;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const families[] = {"strip", "merge_next", "llama3"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        input in = {0};
        small_text(&in.text, families[f], NULL, NULL);
        assert_true(hpc_test_each_alloc(open_once, &in) > 20);
        hpc_buf_release(&in.text);
    }
}

static void test_hash_is_of_the_content(void **state)
{
    (void)state;
    hpc_tokenizer *a = small_open("gpt2", NULL, NULL);
    hpc_tokenizer *b = small_open("gpt2", NULL, NULL);
    hpc_tokenizer *c = small_open("gpt2", "\"version\":\"1.0\"", "\"version\":\"1.1\"");
    hpc_hash128 x = hpc_tokenizer_hash(a), y = hpc_tokenizer_hash(b), z = hpc_tokenizer_hash(c);
    assert_true(x.low == y.low && x.high == y.high);
    assert_true(x.low != z.low);
    assert_int_equal(hpc_tokenizer_n(a), 1000);
    hpc_tokenizer_close(a);
    hpc_tokenizer_close(b);
    hpc_tokenizer_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_constructs_refused, setup),
        cmocka_unit_test_setup(test_constructs_taken, setup),
        cmocka_unit_test_setup(test_no_byte_level, setup),
        cmocka_unit_test_setup(test_hostile_files, setup),
        cmocka_unit_test_setup(test_not_a_tokenizer, setup),
        cmocka_unit_test_setup(test_truncated, setup),
        cmocka_unit_test_setup(test_flipped_bytes, setup),
        cmocka_unit_test_setup(test_every_allocation_may_fail, setup),
        cmocka_unit_test_setup(test_hash_is_of_the_content, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
