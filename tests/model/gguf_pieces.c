/*
 * gguf_pieces.c: tokenizers from GGUF files that contain only pieces: ids equal those of the
 * original tokenizer, in both directions; special tokens from keys; inconsistent files give a
 * one-line error.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/model/foreign.h"
#include "tests/support/expect.h"
#include "tests/support/fault.h"

#define BYTE_LEVEL "tests/fixtures/byte_level/"
#define SPM        "tests/fixtures/tokenizer/"

/* ---- the same ids --------------------------------------------------------------------------- */

typedef struct both {
    hpc_tokenizer *t[2];
    hpc_tokenizer_scratch *s[2];
    int64_t compared; /* ids */
} both;

static void open_both(both *b, const char *a, const char *path)
{
    *b = (both){0};
    test_ok(hpc_tokenizer_open(&b->t[0], a));
    test_ok(hpc_model_tokenizer(&b->t[1], path));
    for (int k = 0; k < 2; k++) test_ok(hpc_tokenizer_scratch_create(&b->s[k], b->t[k]));
}

static void close_both(both *b)
{
    for (int k = 0; k < 2; k++) {
        hpc_tokenizer_scratch_free(b->s[k]);
        hpc_tokenizer_close(b->t[k]);
    }
}

static void same_text(const both *b, const hpc_ids *ids, bool skip)
{
    hpc_buf text[2] = {0};
    for (int k = 0; k < 2; k++)
        test_ok(hpc_tokenizer_decode(&text[k], b->t[k], ids->id, ids->n, skip));
    assert_int_equal(text[0].n, text[1].n);
    if (text[0].n > 0) assert_memory_equal(text[0].data, text[1].data, text[0].n);
    for (int k = 0; k < 2; k++) hpc_buf_release(&text[k]);
}

static void compare(both *b, const char *text, size_t n)
{
    static const unsigned flags[] = {0, HPC_ENCODE_SPECIALS, HPC_ENCODE_INNER,
                                     HPC_ENCODE_SPECIALS | HPC_ENCODE_INNER};
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        hpc_ids ids[2] = {0};
        for (int k = 0; k < 2; k++)
            test_ok(hpc_tokenizer_encode(&ids[k], b->t[k], b->s[k], text, n, flags[f]));
        if (ids[0].n != ids[1].n ||
            (ids[0].n > 0 && memcmp(ids[0].id, ids[1].id, (size_t)ids[0].n * 4) != 0))
            fail_msg("other ids, flags %u: %.*s", flags[f], (int)(n < 200 ? n : 200), text);
        same_text(b, &ids[0], false);
        same_text(b, &ids[0], true);
        b->compared += ids[0].n;
        for (int k = 0; k < 2; k++) hpc_free(ids[k].id);
    }
}

static void compare_texts(both *b)
{
    hpc_json *root = hpc_test_json(BYTE_LEVEL "expected.json.zst");
    const hpc_json *texts = hpc_json_get(root, "texts");
    for (int64_t k = 0; k < hpc_json_n(texts); k++) {
        const char *text;
        test_ok(hpc_json_text(&text, hpc_json_at(texts, k), "text"));
        compare(b, text, strlen(text));
    }
    hpc_json_free(root);
}

static void compare_sources(both *b)
{
    static const char *const files[] = {"model/gguf.c",
                                        "model/gguf_pre.c",
                                        "Makefile",
                                        "README.md",
                                        "tests/fixtures/make_byte_level.py",
                                        BYTE_LEVEL "gpt2.json"};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        hpc_file_view v;
        test_ok(hpc_file_open(&v, files[k]));
        compare(b, (const char *)v.data, v.bytes);
        hpc_file_close(&v);
    }
}

/* Every piece as a text of its own, and its type. */
static void compare_pieces(both *b)
{
    for (int32_t id = 0; id < hpc_tokenizer_n(b->t[0]); id++) {
        size_t n[2] = {0};
        float score[2];
        const char *text[2];
        int type[2];
        for (int k = 0; k < 2; k++) {
            text[k] = hpc_tokenizer_piece(b->t[k], id, &n[k]);
            type[k] = hpc_tokenizer_piece_type(&score[k], b->t[k], id);
        }
        assert_int_equal(type[0], type[1]);
        if (!text[0]) continue;
        assert_true(score[0] == score[1]);
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(text[0], text[1], n[0]);
        compare(b, text[0], n[0]);
    }
}

static void compare_all(void **state, const char *file, int64_t vocab)
{
    char path[PATH_MAX];
    both b;
    foreign_gguf(hpc_test_path(path, *state, "a.gguf"), file, vocab, NULL);
    open_both(&b, file, path);
    assert_int_equal(hpc_tokenizer_n(b.t[0]), hpc_tokenizer_n(b.t[1]));
    compare_texts(&b);
    compare_sources(&b);
    compare_pieces(&b);
    assert_true(b.compared > 100000);
    close_both(&b);
}

static void sentencepiece_has_its_ids(void **state)
{
    static const char *const names[] = {"ours", "llama", "unused"};
    char file[PATH_MAX];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(file, sizeof file, SPM "%s.model", names[k]);
        compare_all(state, file, 0);
    }
    compare_all(state, SPM "ours.model", 1010); /* more rows in the model than tokens */
}

static void byte_level_has_its_ids(void **state)
{
    static const char *const names[] = {"gpt2",           "starcoder2",  "llama3",
                                        "deepseek_coder", "deepseek_v3", "o200k"};
    char file[PATH_MAX];
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(file, sizeof file, BYTE_LEVEL "%s.json", names[k]);
        compare_all(state, file, k % 2 ? 0 : 2000);
    }
}

/* In such a file nothing is said of NFC, so that is compared with Qwen's without it. */
static void qwen_is_not_normalised(void **state)
{
    static const char nfc[] = "\"normalizer\":{\"type\":\"NFC\"}";
    char path[PATH_MAX];
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, BYTE_LEVEL "qwen2.json", 1 << 24));
    char *at = strstr(text.data, nfc);
    assert_non_null(at);
    memset(at, ' ', strlen(nfc));
    memcpy(at, "\"normalizer\":null", strlen("\"normalizer\":null"));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "tokenizer.json"), text.data, text.n));
    hpc_buf_release(&text);
    compare_all(state, path, 0);
}

/* ---- what the keys say ---------------------------------------------------------------------- */

static const foreign_edit nothing = {.key = ""};

static hpc_tokenizer_special specials(void **state, const char *file, const foreign_edit *e)
{
    char path[PATH_MAX];
    hpc_tokenizer *t;
    foreign_gguf(hpc_test_path(path, *state, "a.gguf"), file, 0, e);
    test_ok(hpc_model_tokenizer(&t, path));
    hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    hpc_tokenizer_close(t);
    return s;
}

#define BOOL(name, is) ((foreign_edit){.key = name, .kind = HPC_GGUF_BOOL, .data = is, .bytes = 1})
#define ID(name, is)   ((foreign_edit){.key = name, .kind = HPC_GGUF_U32, .data = is, .bytes = 4})
#define GONE(name)     ((foreign_edit){.key = name, .kind = -1})

static void flags_follow_the_keys(void **state)
{
    static const struct {
        const char *file;
        foreign_edit e;
        bool begin, end, prefix;
    } cases[] = {
        {SPM "ours.model", {.key = ""}, false, false, false},
        {SPM "llama.model", {.key = ""}, false, false, true},
        {SPM "ours.model", {.key = "add_bos_token", .kind = -1}, true, false, false},
        {SPM "ours.model", {.key = "add_space_prefix", .kind = -1}, false, false, true},
        {SPM "ours.model", {"add_bos_token", HPC_GGUF_BOOL, 0, 0, "\1", 1}, true, false, false},
        {SPM "llama.model", {"add_eos_token", HPC_GGUF_BOOL, 0, 0, "\1", 1}, false, true, true},
        {SPM "llama.model", {"add_space_prefix", HPC_GGUF_BOOL, 0, 0, "", 1}, false, false, false},
        {BYTE_LEVEL "gpt2.json", {.key = ""}, false, false, false},
        {BYTE_LEVEL "gpt2.json", {.key = "add_bos_token", .kind = -1}, false, false, false},
        {BYTE_LEVEL "gpt2.json", {"add_eos_token", HPC_GGUF_BOOL, 0, 0, "\1", 1}, false, true, 0},
        {BYTE_LEVEL "llama3.json", {.key = ""}, true, false, false},
        {BYTE_LEVEL "llama3.json", {.key = "add_bos_token", .kind = -1}, true, false, false},
        {BYTE_LEVEL "llama3.json", {"add_bos_token", HPC_GGUF_BOOL, 0, 0, "", 1}, false, false, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_tokenizer_special s = specials(state, cases[k].file, &cases[k].e);
        if (s.add_begin != cases[k].begin || s.add_end != cases[k].end ||
            s.dummy_prefix != cases[k].prefix)
            fail_msg("case %zu: begin %d, end %d, prefix %d", k, s.add_begin, s.add_end,
                     s.dummy_prefix);
    }
}

static void special_ids_follow_the_keys(void **state)
{
    static const uint32_t five = 5, none = UINT32_MAX;
    hpc_tokenizer_special s = specials(state, SPM "ours.model", &nothing);
    assert_true(s.unknown == 0 && s.begin == 1 && s.end == 2 && s.pad == -1);
    s = specials(state, SPM "ours.model", &ID("bos_token_id", &five));
    assert_true(s.begin == 5 && s.end == 2);
    s = specials(state, SPM "ours.model", &ID("eos_token_id", &five));
    assert_true(s.begin == 1 && s.end == 5);
    s = specials(state, SPM "ours.model", &ID("padding_token_id", &five));
    assert_true(s.pad == 5);
    s = specials(state, SPM "ours.model", &GONE("unknown_token_id"));
    assert_int_equal(s.unknown, 0);
    s = specials(state, BYTE_LEVEL "gpt2.json", &ID("eos_token_id", &five));
    assert_true(s.unknown == -1 && s.end == 5);
    s = specials(state, BYTE_LEVEL "gpt2.json", &ID("unknown_token_id", &five));
    assert_int_equal(s.unknown, 5);
    s = specials(state, BYTE_LEVEL "gpt2.json",
                 &(foreign_edit){"bos_token_id", HPC_GGUF_I32, 0, 0, &none, 4}); /* -1 */
    assert_int_equal(s.begin, -1);
}

/* Marks are those of the keys, then those of earlier keys, then known names. */
static void marks_follow_the_keys(void **state)
{
    static const struct {
        const char *key;
        hpc_special special;
    } cases[] = {
        {"fim_pre_token_id", HPC_SPECIAL_FIM_PREFIX}, {"fim_suf_token_id", HPC_SPECIAL_FIM_SUFFIX},
        {"middle_token_id", HPC_SPECIAL_FIM_MIDDLE},  {"fim_pad_token_id", HPC_SPECIAL_FIM_PAD},
        {"fim_rep_token_id", HPC_SPECIAL_REPOSITORY}, {"fim_sep_token_id", HPC_SPECIAL_FILE}};
    static const uint32_t seven = 7, beyond = 1 << 20;
    char path[PATH_MAX];
    hpc_tokenizer *t;
    int32_t id;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        foreign_gguf(hpc_test_path(path, *state, "a.gguf"), BYTE_LEVEL "gpt2.json", 0,
                     &ID(cases[k].key, &seven));
        test_ok(hpc_model_tokenizer(&t, path));
        const char *name = hpc_tokenizer_special_name(t, cases[k].special, &id);
        size_t n;
        const char *piece = hpc_tokenizer_piece(t, 7, &n);
        assert_int_equal(id, 7);
        assert_true(strlen(name) == n && memcmp(name, piece, n) == 0);
        assert_int_equal(hpc_tokenizer_fim_order(t), HPC_FIM_NONE); /* one mark of three */
        hpc_tokenizer_close(t);
    }
    foreign_gguf(path, BYTE_LEVEL "gpt2.json", 0, &ID("fim_pre_token_id", &beyond));
    test_fails(hpc_model_tokenizer(&t, path), HPC_E_FORMAT, "is not one of its");
    foreign_gguf(path, BYTE_LEVEL "starcoder2.json", 0, &GONE("fim_pre_token_id"));
    test_ok(hpc_model_tokenizer(&t, path));
    hpc_tokenizer_special_name(t, HPC_SPECIAL_FIM_PREFIX, &id);
    assert_int_equal(id, hpc_tokenizer_find(t, "<fim_prefix>"));
    assert_int_equal(hpc_tokenizer_fim_order(t), HPC_FIM_MIDDLE_LAST);
    hpc_tokenizer_close(t);
}

/* Some pre-tokenizer names imply that a word in the vocabulary needs no merges. */
static void names_say_whether_words_need_merges(void **state)
{
    static const struct {
        const char *file, *says;
    } cases[] = {{BYTE_LEVEL "llama3.json", "\"ignore_merges\":true"},
                 {BYTE_LEVEL "qwen2.json", "\"ignore_merges\":false"}};
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_gguf *g;
        hpc_buf file = {0};
        const char *name;
        foreign_gguf(hpc_test_path(path, *state, "a.gguf"), cases[k].file, 0, NULL);
        test_ok(hpc_gguf_open(&g, path));
        test_ok(hpc_gguf_tokenizer(&name, &file, g));
        assert_string_equal(name, "tokenizer.json");
        assert_non_null(strstr(file.data, cases[k].says));
        hpc_buf_release(&file);
        hpc_gguf_close(g);
    }
}

/* Converters that have no .model call the unknown piece a control piece. */
static void a_control_piece_may_be_the_unknown_one(void **state)
{
    char path[PATH_MAX];
    int32_t types[1000];
    float score;
    hpc_tokenizer *t;
    test_ok(hpc_tokenizer_open(&t, SPM "ours.model"));
    for (int32_t id = 0; id < 1000; id++) types[id] = hpc_tokenizer_piece_type(&score, t, id);
    hpc_tokenizer_close(t);
    assert_int_equal(types[0], 2);
    types[0] = 3;
    foreign_edit e = {"token_type", HPC_GGUF_LIST, HPC_GGUF_I32, 1000, types, sizeof types};
    foreign_gguf(hpc_test_path(path, *state, "a.gguf"), SPM "ours.model", 0, &e);
    test_ok(hpc_model_tokenizer(&t, path));
    assert_int_equal(hpc_tokenizer_specials(t).unknown, 0);
    assert_int_equal(hpc_tokenizer_piece_type(&score, t, 0), 2);
    hpc_tokenizer_close(t);
}

/* Old files have no types: bytes are recognised by spelling. */
static void types_may_be_missing(void **state)
{
    char path[PATH_MAX];
    both b;
    float score;
    foreign_gguf(hpc_test_path(path, *state, "a.gguf"), SPM "llama.model", 0, &GONE("token_type"));
    open_both(&b, SPM "llama.model", path);
    assert_int_equal(hpc_tokenizer_piece_type(&score, b.t[1], 0), 2);
    assert_int_equal(hpc_tokenizer_piece_type(&score, b.t[1], hpc_tokenizer_find(b.t[0], "<0x0A>")),
                     6);
    compare(&b, "int a\n\t= b;\n", 12);
    close_both(&b);
}

/* Where a file has a copy as well, that is what is read. */
static void a_copy_goes_before_pieces(void **state)
{
    char path[PATH_MAX];
    hpc_buf text = {0};
    hpc_file_view v;
    hpc_tokenizer *t;
    test_ok(hpc_file_open(&v, BYTE_LEVEL "gpt2.json"));
    hpc_gguf_value copy = {MODEL_GGUF_TOKENIZER_JSON, HPC_GGUF_TEXT, 0, 0, v.data, v.bytes};
    test_ok(hpc_gguf_save(hpc_test_path(path, *state, "a.gguf"), &copy, 1, NULL, 0, NULL, NULL));
    test_ok(hpc_model_tokenizer(&t, path));
    assert_string_equal(hpc_tokenizer_kind(t), "byte-level");
    hpc_tokenizer_close(t);
    hpc_file_close(&v);
    hpc_buf_release(&text);
}

/* ---- what does not fit ---------------------------------------------------------------------- */

static void refused(void **state, const char *file, foreign_edit e, int code, const char *part)
{
    char path[PATH_MAX];
    hpc_tokenizer *t;
    foreign_gguf(hpc_test_path(path, *state, "a.gguf"), file, 0, &e);
    int rc = hpc_model_tokenizer(&t, path);
    assert_null(t);
    assert_null(strchr(hpc_error_get()->text, '\n'));
    assert_non_null(strstr(hpc_error_get()->text, "/a.gguf: "));
    test_fails(rc, code, part);
}

static foreign_edit texts(hpc_buf *out, const char *key, const char *const *text, int64_t n)
{
    out->n = 0;
    foreign_texts(out, text, n);
    return (foreign_edit){key, HPC_GGUF_LIST, HPC_GGUF_TEXT, n, out->data, out->n};
}

static void keys_that_do_not_fit_are_named(void **state)
{
    static const uint32_t much = 100000;
    static const int32_t few[2] = {1, 1};
    const char *spm = SPM "ours.model", *bytes = BYTE_LEVEL "gpt2.json";
    const foreign_edit list = {"tokens", HPC_GGUF_LIST, HPC_GGUF_I32, 2, few, 8};
    const foreign_edit types = {"token_type", HPC_GGUF_LIST, HPC_GGUF_I32, 2, few, 8};
    const foreign_edit scores = {"scores", HPC_GGUF_LIST, HPC_GGUF_F32, 2, few, 8};
    const foreign_edit whole = {"scores", HPC_GGUF_LIST, HPC_GGUF_I32, 2, few, 8};
    foreign_edit e = {"pre", HPC_GGUF_TEXT, 0, 0, "jalapeno\n", 9};
    refused(state, bytes, e, HPC_E_UNSUPPORTED, "key tokenizer.ggml.pre is jalapeno?, which");
    e = (foreign_edit){"model", HPC_GGUF_TEXT, 0, 0, "bert", 4};
    refused(state, bytes, e, HPC_E_UNSUPPORTED, "key tokenizer.ggml.model is bert; only llama");
    e.data = "none";
    refused(state, spm, e, HPC_E_ARG, "has no tokenizer");
    refused(state, spm, GONE("model"), HPC_E_ARG, "has no tokenizer");
    refused(state, spm, GONE("tokens"), HPC_E_FORMAT, "key tokenizer.ggml.tokens is missing");
    refused(state, bytes, GONE("tokens"), HPC_E_FORMAT, "key tokenizer.ggml.tokens is missing");
    refused(state, bytes, GONE("merges"), HPC_E_FORMAT, "key tokenizer.ggml.merges is missing");
    refused(state, spm, list, HPC_E_FORMAT, "key tokenizer.ggml.tokens: expected a list of texts");
    refused(state, spm, types, HPC_E_FORMAT, "token_type has 2 items for 1000 tokens");
    refused(state, bytes, types, HPC_E_FORMAT, "token_type has 2 items for 1000 tokens");
    refused(state, spm, scores, HPC_E_FORMAT, "scores has 2 items for 1000 tokens");
    refused(state, spm, whole, HPC_E_FORMAT, "scores: expected a list of f32");
    refused(state, spm, ID("bos_token_id", &much), HPC_E_FORMAT, "100000 is not one of its 1000");
    refused(state, bytes, ID("eos_token_id", &much), HPC_E_FORMAT, "100000 is not one of its 1000");
    refused(state, bytes, BOOL("eos_token_id", "\1"), HPC_E_FORMAT, "expected an integer");
    refused(state, spm, ID("add_space_prefix", &much), HPC_E_FORMAT, "expected true or false");
}

static void tokens_that_do_not_fit_are_named(void **state)
{
    static const char *const twice[] = {"<unk>", "ab", "c", "ab"}, *const other[] = {"a", "\xFF"};
    hpc_buf text = {0};
    uint64_t one = 1;
    char nul[9] = {0};
    foreign_edit e = texts(&text, "tokens", twice, 4);
    const char *spm = SPM "ours.model", *bytes = BYTE_LEVEL "gpt2.json";
    refused(state, bytes, e, HPC_E_FORMAT, "token_type has 1000 items for 4 tokens");
    memcpy(nul, &one, 8);
    e = (foreign_edit){"tokens", HPC_GGUF_LIST, HPC_GGUF_TEXT, 1, nul, 9};
    refused(state, bytes, e, HPC_E_FORMAT, "key tokenizer.ggml.tokens: item 0 has a NUL");
    refused(state, spm, e, HPC_E_FORMAT, "key tokenizer.ggml.tokens: item 0 has a NUL");
    e = texts(&text, "merges", other, 2);
    refused(state, bytes, e, HPC_E_FORMAT, "merge 0 is not a pair of tokens");
    e = texts(&text, "merges", (const char *const[]){"a nothing"}, 1);
    refused(state, bytes, e, HPC_E_FORMAT, "the second part of merge 0 is not a token");
    e = texts(&text, "merges", (const char *const[]){"\xFF a"}, 1);
    refused(state, bytes, e, HPC_E_FORMAT, "the first part of merge 0 is not a token");
    e = texts(&text, "merges", (const char *const[]){"! \""}, 1);
    refused(state, bytes, e, HPC_E_FORMAT, "the result of merge 0 is not a token");
    e = texts(&text, "merges", (const char *const[]){"i n", "i n"}, 2);
    refused(state, bytes, e, HPC_E_FORMAT, "merges[1]: duplicate pair");
    int32_t types[1000];
    for (int k = 0; k < 1000; k++) types[k] = k == 500 ? 7 : 1;
    e = (foreign_edit){"token_type", HPC_GGUF_LIST, HPC_GGUF_I32, 1000, types, sizeof types};
    refused(state, bytes, e, HPC_E_FORMAT, "token 500 is of type 7; types go from 1 to 6");
    refused(state, spm, e, HPC_E_FORMAT, "token 500 is of type 7; types go from 1 to 6");
    hpc_buf_release(&text);
}

/* A file with any byte changed opens, or gives a one-line error. */
static void any_byte_may_be_another(void **state)
{
    static const char *const files[] = {SPM "ours.model", BYTE_LEVEL "starcoder2.json"};
    char path[PATH_MAX];
    hpc_buf text = {0};
    uint32_t seed = 7;
    int64_t opened = 0, failed = 0;
    for (int k = 0; k < 300; k++) {
        hpc_gguf *g = NULL;
        hpc_buf file = {0};
        const char *name;
        if (k % 150 == 0) {
            text.n = 0;
            foreign_gguf(hpc_test_path(path, *state, "a.gguf"), files[k / 150], 0, NULL);
            test_ok(hpc_file_read(&text, path, 1 << 24));
        }
        seed = seed * 1664525u + 1013904223u;
        size_t at = (seed >> 4) % text.n;
        char was = text.data[at];
        text.data[at] = (char)(seed >> 24);
        hpc_tokenizer *t = NULL;
        int rc = model_gguf_parse(&g, text.data, text.n, text.n, "a");
        if (rc >= 0) rc = hpc_gguf_tokenizer(&name, &file, g);
        if (rc >= 0)
            rc = strcmp(name, "tokenizer.model") == 0
                     ? hpc_tokenizer_open_model(&t, file.data, file.n, "a")
                     : hpc_tokenizer_open_json(&t, file.data, file.n, "a");
        assert_true(rc >= 0 || hpc_error_get()->text[0]);
        opened += rc >= 0;
        failed += rc < 0;
        text.data[at] = was;
        hpc_error_clear();
        hpc_tokenizer_close(t);
        hpc_buf_release(&file);
        hpc_gguf_close(g);
    }
    assert_true(opened > 20 && failed > 20);
    hpc_buf_release(&text);
}

static int open_once(void *path)
{
    hpc_tokenizer *t;
    int rc = hpc_model_tokenizer(&t, path);
    hpc_tokenizer_close(t);
    return rc;
}

static void each_allocation_may_fail(void **state)
{
    static const char *const files[] = {SPM "llama.model", BYTE_LEVEL "llama3.json"};
    char path[PATH_MAX];
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        foreign_gguf(hpc_test_path(path, *state, "a.gguf"), files[k], 0, NULL);
        assert_true(hpc_test_each_alloc(open_once, path) > 30);
    }
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(sentencepiece_has_its_ids),
        IN_FOLDER(byte_level_has_its_ids),
        IN_FOLDER(qwen_is_not_normalised),
        IN_FOLDER(flags_follow_the_keys),
        IN_FOLDER(special_ids_follow_the_keys),
        IN_FOLDER(marks_follow_the_keys),
        IN_FOLDER(names_say_whether_words_need_merges),
        IN_FOLDER(a_control_piece_may_be_the_unknown_one),
        IN_FOLDER(types_may_be_missing),
        IN_FOLDER(a_copy_goes_before_pieces),
        IN_FOLDER(keys_that_do_not_fit_are_named),
        IN_FOLDER(tokens_that_do_not_fit_are_named),
        IN_FOLDER(any_byte_may_be_another),
        IN_FOLDER(each_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("model/gguf_pieces", tests, NULL, NULL);
}
