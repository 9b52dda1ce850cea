/*
 * gguf_pre.c: llama.cpp's pre-tokenizer names: each maps to steps that a tokenizer supports, and
 * is recognised from a tokenizer.json with these steps.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/model/foreign.h"

static hpc_tokenizer *named(void **state, const char *pre)
{
    char path[PATH_MAX];
    hpc_tokenizer *t;
    foreign_edit e = {"pre", HPC_GGUF_TEXT, 0, 0, pre, strlen(pre)};
    foreign_gguf(hpc_test_path(path, *state, "a.gguf"), "tests/fixtures/byte_level/gpt2.json", 0,
                 &e);
    test_ok(hpc_model_tokenizer(&t, path));
    return t;
}

static void all_names_open_and_lose_nothing(void **state)
{
    static const char *const names[] = {"default",
                                        "gpt-2",
                                        "phi-2",
                                        "mpt",
                                        "olmo",
                                        "starcoder",
                                        "refact",
                                        "command-r",
                                        "smollm",
                                        "codeshell",
                                        "llama-bpe",
                                        "llama3",
                                        "llama-v3",
                                        "falcon3",
                                        "pixtral",
                                        "dbrx",
                                        "smaug-bpe",
                                        "chatglm-bpe",
                                        "glm4",
                                        "qwen2",
                                        "stablelm2",
                                        "megrez",
                                        "hunyuan",
                                        "qwen35",
                                        "deepseek-r1-qwen",
                                        "deepseek-v3",
                                        "joyai-llm",
                                        "deepseek-llm",
                                        "deepseek-coder",
                                        "gpt-4o",
                                        "llama4",
                                        "minimax-m2",
                                        "tekken",
                                        "seed-coder",
                                        "falcon"};
    static const char text[] = "  for (int i = 0; i < 12345; i++)\r\n\t\tsum += a[i]; // \xC3\x84"
                               "rger, it's 1.5e-3 \xE4\xB8\xAD\xE6\x96\x87 O\xCC\x88\n\n  x";
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hpc_tokenizer *t = named(state, names[k]);
        hpc_tokenizer_scratch *s;
        hpc_ids ids = {0};
        hpc_buf back = {0};
        test_ok(hpc_tokenizer_scratch_create(&s, t));
        test_ok(hpc_tokenizer_encode(&ids, t, s, text, sizeof text - 1, 0));
        test_ok(hpc_tokenizer_decode(&back, t, ids.id, ids.n, false));
        assert_string_equal(back.data, text);
        hpc_free(ids.id);
        hpc_buf_release(&back);
        hpc_tokenizer_scratch_free(s);
        hpc_tokenizer_close(t);
    }
    assert_null(model_pre_find(""));
    assert_null(model_pre_find("qwen"));
}

/* Bytes and some pairs: fewer ids than bytes show which stayed together. */
enum { MERGES = 11, N = 256 + MERGES };
typedef struct small {
    hpc_tokenizer_given piece[N];
    char text[N][12];
} small;

static const char *const merge[MERGES] = {
    "1 1", "11 11", "a a", "\xC4\xA0 a", "\xC4\x8A \xC4\x8A", "\xC4\xA0 1",
    "a 1", ". a",   "A a", "a A",        ". \xC4\x8A"};

static void make(small *s)
{
    unsigned next = 0x100;
    for (unsigned c = 0; c < 256; c++) {
        bool itself = (c > 0x20 && c < 0x7F) || (c > 0xA0 && c != 0xAD);
        unsigned point = itself ? c : next++;
        if (point < 0x80)
            snprintf(s->text[c], 12, "%c", (char)point);
        else
            snprintf(s->text[c], 12, "%c%c", (char)(0xC0 | point >> 6),
                     (char)(0x80 | (point & 63)));
    }
    for (int k = 0; k < MERGES; k++) {
        const char *blank = strchr(merge[k] + 1, ' ');
        snprintf(s->text[256 + k], 12, "%.*s%s", (int)(blank - merge[k]), merge[k], blank + 1);
    }
    for (int id = 0; id < N; id++) s->piece[id] = (hpc_tokenizer_given){s->text[id], 0, 1};
}

static int64_t ids_n(const model_pre *p, const char *text)
{
    small made;
    make(&made);
    hpc_tokenizer_pieces q = {.name = "q",
                              .piece = made.piece,
                              .n = N,
                              .step = p->step,
                              .special = {.unknown = -1, .begin = -1, .end = -1, .pad = -1},
                              .whole_words = p->whole_words,
                              .merge = merge,
                              .merges_n = MERGES};
    hpc_buf file = {0};
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
    hpc_ids ids = {0};
    test_ok(hpc_tokenizer_make_json(&file, &q));
    test_ok(hpc_tokenizer_open_json(&t, file.data, file.n, "q"));
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, strlen(text), 0));
    int64_t got = ids.n;
    hpc_free(ids.id);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
    hpc_buf_release(&file);
    return got;
}

static void names_do_what_they_stand_for(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        int64_t n;
    } cases[] = {
        {"gpt-2", "1111", 1},          {"gpt-2", " 1", 1},          {"gpt-2", ".a", 2},
        {"starcoder", "1111", 4},      {"starcoder", " 1", 2},      {"starcoder", ".\n", 2},
        {"llama-bpe", "1111", 3},      {"llama-bpe", ".a", 1},      {"llama-bpe", ".\n", 1},
        {"dbrx", "1111", 3},           {"qwen2", "1111", 4},        {"qwen2", ".a", 1},
        {"qwen35", "11", 2},           {"qwen35", ".\n", 1},        {"deepseek-coder", "11", 2},
        {"deepseek-coder", "\n\n", 2}, {"deepseek-coder", " a", 1}, {"deepseek-llm", " a", 1},
        {"deepseek-llm", "\n\n", 2},   {"deepseek-llm", "11", 1},   {"deepseek-v3", "1111", 3},
        {"deepseek-v3", ".a", 1},      {"gpt-4o", "aA", 2},         {"gpt-4o", "Aa", 1},
        {"gpt-4o", "1111", 3},         {"tekken", "11", 2},         {"tekken", "aA", 2},
        {"seed-coder", ".\n", 2},      {"seed-coder", "11", 2},     {"falcon", "1111", 3},
        {"falcon", ".a", 2},           {"default", "1111", 3},      {"default", "\n\n", 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const model_pre *p = model_pre_find(cases[k].name);
        assert_non_null(p);
        int64_t n = ids_n(p, cases[k].text);
        if (n != cases[k].n) fail_msg("%s: case %zu has %lld ids", cases[k].name, k, (long long)n);
    }
}

static void name_is(const char *json, const char *name)
{
    hpc_json *root;
    test_ok(hpc_json_parse(&root, json, strlen(json), "t"));
    const char *is = model_pre_name(root);
    if (name)
        assert_string_equal(is ? is : "none", name);
    else
        assert_null(is);
    hpc_json_free(root);
}

#define WORDS       "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define DIGITS      "{\"type\":\"Digits\",\"individual_digits\":true}"
#define LIST(items) "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[" items "]}}"

static void a_step_more_or_less_has_no_name(void **state)
{
    (void)state;
    name_is("{\"pre_tokenizer\":" WORDS "}", "gpt-2");
    name_is("{\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}", "gpt-2");
    name_is("{\"pre_tokenizer\":" WORDS ",\"model\":{\"ignore_merges\":true}}", NULL);
    name_is("{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true}}", NULL);
    name_is(LIST(WORDS), "gpt-2");
    name_is(LIST(DIGITS "," WORDS), "starcoder");
    name_is(LIST(DIGITS "," WORDS "," WORDS), NULL);
    name_is(LIST(DIGITS), NULL);
    name_is(LIST(""), NULL);
    name_is(LIST(WORDS "," DIGITS), NULL);
    name_is("{\"pre_tokenizer\":null}", NULL);
    name_is("{}", NULL);
}

/* DeepSeek's file parts digits, llama.cpp does not: of their pieces none has two. */
static void both_kinds_of_deepseek_are_named(void **state)
{
    (void)state;
    const model_pre *p = model_pre_find("deepseek-llm");
    for (int digits = 0; digits < 2; digits++) {
        hpc_buf text = {0};
        hpc_json *root;
        hpc_tokenizer_step step[MODEL_PRE_STEPS];
        hpc_tokenizer_pieces q = {.name = "q",
                                  .step = step,
                                  .special = {.unknown = -1, .begin = -1, .end = -1, .pad = -1}};
        memcpy(step, p->step, sizeof step);
        assert_int_equal(step[5].kind, HPC_STEP_SPLIT);
        assert_string_equal(step[5].regex, "\\p{N}+");
        if (digits) step[5] = (hpc_tokenizer_step){HPC_STEP_DIGITS, NULL};
        test_ok(hpc_tokenizer_make_json(&text, &q));
        test_ok(hpc_json_parse(&root, text.data, text.n, "q"));
        assert_string_equal(model_pre_name(root), "deepseek-llm");
        hpc_json_free(root);
        hpc_buf_release(&text);
    }
}

/* What the fixture has is Llama 3's pattern, which another name stands for without its flag. */
static void whole_words_are_part_of_a_name(void **state)
{
    (void)state;
    hpc_buf text = {0};
    hpc_json *root;
    test_ok(hpc_file_read(&text, "tests/fixtures/byte_level/llama3.json", 1 << 24));
    char *at = strstr(text.data, "\"ignore_merges\":true");
    assert_non_null(at);
    test_ok(hpc_json_parse(&root, text.data, text.n, "t"));
    assert_string_equal(model_pre_name(root), "llama-bpe");
    hpc_json_free(root);
    memcpy(at, "\"ignore_merges\":null", strlen("\"ignore_merges\":null"));
    test_ok(hpc_json_parse(&root, text.data, text.n, "t"));
    assert_string_equal(model_pre_name(root), "dbrx");
    hpc_json_free(root);
    hpc_buf_release(&text);
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(all_names_open_and_lose_nothing), IN_FOLDER(names_do_what_they_stand_for),
        IN_FOLDER(a_step_more_or_less_has_no_name), IN_FOLDER(both_kinds_of_deepseek_are_named),
        IN_FOLDER(whole_words_are_part_of_a_name),
    };
    return cmocka_run_group_tests_name("model/gguf_pre", tests, NULL, NULL);
}
