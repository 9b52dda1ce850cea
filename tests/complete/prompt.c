/*
 * Tests of infer/complete/prompt.c: each family's order of prefix and suffix, other files,
 * truncation of long texts, and the parts that an edit does not change.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "tests/complete/at.h"
#include "tests/support/fault.h"
#include "tests/support/tokenizer.h"
#include "tests/support/expect.h"

#define OURS "tests/fixtures/tokenizer/ours.model"

/* The prompt with marks spelled out, as the model's tokens give it back. */
static int64_t shown(hpc_buf *out, const hpc_tokenizer *t, const hpc_complete_request *r,
                     int64_t most)
{
    complete_prompter p;
    hpc_ids ids = {0};
    test_ok(complete_prompter_open(&p, t));
    test_ok(complete_prompt(&ids, &p, r, most));
    assert_true(ids.n <= most);
    out->n = 0;
    test_ok(hpc_tokenizer_decode(out, t, ids.id, ids.n, false));
    hpc_free(ids.id);
    complete_prompter_close(&p);
    return ids.n;
}

static const hpc_snippet snippets[] = {{"b.h", "int b(void);\n", 13},
                                       {"c.h", "int c(void);\n", 13}};

static void shows(hpc_tokenizer *t, const char *file, int64_t snippet_n, const char *expected)
{
    hpc_spot d = place_in("a.c", file);
    const hpc_complete_request r = {.spot = &d,
                                    .path = "src/a.c",
                                    .repository = "o/n",
                                    .snippet = snippets,
                                    .snippet_n = snippet_n};
    hpc_buf out = {0};
    shown(&out, t, &r, 4096);
    assert_string_equal(out.data, expected);
    hpc_buf_release(&out);
    hpc_spot_close(&d);
    hpc_tokenizer_close(t);
}

static hpc_tokenizer *ours(void)
{
    hpc_tokenizer *t;
    test_ok(hpc_tokenizer_open(&t, OURS));
    return t;
}

#define FILE_ "int f(int a) {\n  @\n}\n"

static void test_orders(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const char *const qwen[] = {"<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", NULL};
    static const char *const deepseek[] = {"<\uff5cfim\u2581begin\uff5c>",
                                           "<\uff5cfim\u2581end\uff5c>", NULL};
    static const char *const codellama[] = {"\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>",
                                            "\u2581<EOT>", NULL};
    shows(hpc_test_tokenizer("starcoder2.json", none), FILE_, 0,
          "<file_sep>src/a.c\n<fim_prefix><fim_suffix>\n}\n<fim_middle>int f(int a) {\n  ");
    shows(hpc_test_tokenizer("starcoder2.json", none), FILE_, 2,
          "<repo_name>o/n\n<file_sep>c.h\nint c(void);\n<file_sep>b.h\nint b(void);\n"
          "<file_sep>src/a.c\n<fim_prefix><fim_suffix>\n}\n<fim_middle>int f(int a) {\n  ");
    /* no suffix: the file ends here */
    shows(hpc_test_tokenizer("starcoder2.json", none), "int f(int a) {\n@\n \n", 0,
          "<file_sep>src/a.c\nint f(int a) {\n");
    shows(hpc_test_tokenizer("qwen2.json", qwen), FILE_, 1,
          "<|repo_name|>o/n\n<|file_sep|>b.h\nint b(void);\n<|file_sep|>src/a.c\n"
          "<|fim_prefix|>int f(int a) {\n  <|fim_suffix|>\n}\n<|fim_middle|>");
    /* without marks for files */
    shows(hpc_test_tokenizer("deepseek_coder.json", deepseek), FILE_, 0,
          "<\uff5cfim\u2581begin\uff5c>int f(int a) {\n  "
          "<\uff5cfim\u2581hole\uff5c>\n}\n<\uff5cfim\u2581end\uff5c>");
    shows(ours(), FILE_, 0, "<fim_prefix><fim_suffix>\n}\n<fim_middle>int f(int a) {\n  ");
    shows(ours(), FILE_, 1,
          "<fim_prefix><fim_suffix>\n}\n<fim_middle>// b.h\nint b(void);\n// src/a.c\n"
          "int f(int a) {\n  ");
    shows(hpc_test_tokenizer("gpt2.json", codellama), FILE_, 0,
          "\u2581<PRE>\u2581<SUF>\n}\n\u2581<MID>int f(int a) {\n  ");
    static const char *const seed[] = {"<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", NULL};
    static const char *const codestral[] = {"[PREFIX]", "[SUFFIX]", "[MIDDLE]", NULL};
    static const char *const gemma[] = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
                                        "<|file_separator|>", NULL};
    shows(hpc_test_tokenizer("gpt2.json", seed), FILE_, 0,
          "<[fim-suffix]>\n}\n<[fim-prefix]>int f(int a) {\n  <[fim-middle]>");
    shows(hpc_test_tokenizer("gpt2.json", codestral), FILE_, 0,
          "[SUFFIX]\n}\n[PREFIX]int f(int a) {\n  ");
    shows(hpc_test_tokenizer("gpt2.json", gemma), FILE_, 0,
          "<|file_separator|>src/a.c\n<|fim_prefix|>int f(int a) {\n  <|fim_suffix|>\n}\n"
          "<|fim_middle|>");
    shows(hpc_test_tokenizer("gpt2.json", none), FILE_, 0, "int f(int a) {\n  ");
    shows(hpc_test_tokenizer("gpt2.json", none), FILE_, 1,
          "// b.h\nint b(void);\n// src/a.c\nint f(int a) {\n  ");
}

/* Stop tokens: all that are not text, by kind or name. */
static void test_stops(void **state)
{
    (void)state;
    static const char *const qwen[] = {"<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", NULL};
    hpc_tokenizer *t = hpc_test_tokenizer("qwen2.json", qwen);
    static const char *const stops[] = {"<|endoftext|>",  "<|im_start|>",   "<|im_end|>",
                                        "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
                                        "<|file_sep|>",   "<|repo_name|>"};
    complete_prompter p;
    test_ok(complete_prompter_open(&p, t));
    assert_int_equal(p.stop_n, 8);
    for (int k = 0; k < 8; k++) {
        bool found = false;
        for (int64_t i = 0; i < p.stop_n; i++)
            found = found || p.stop[i] == hpc_tokenizer_find(t, stops[k]);
        assert_true(found);
    }
    /* and what the model has more than the tokenizer */
    test_ok(complete_prompter_stop_behind(&p, hpc_tokenizer_n(t)));
    assert_int_equal(p.stop_n, 8);
    test_ok(complete_prompter_stop_behind(&p, hpc_tokenizer_n(t) + 3));
    assert_int_equal(p.stop_n, 11);
    for (int k = 0; k < 3; k++) assert_int_equal(p.stop[8 + k], hpc_tokenizer_n(t) + k);
    complete_prompter_close(&p);
    hpc_tokenizer_close(t);
    t = ours();
    bool unknown = false;
    test_ok(complete_prompter_open(&p, t));
    for (int64_t i = 0; i < p.stop_n; i++)
        unknown = unknown || p.stop[i] == hpc_tokenizer_specials(t).unknown;
    assert_true(unknown);
    complete_prompter_close(&p);
    hpc_tokenizer_close(t);
}

/* ---- long files ------------------------------------------------------------------------------ */

enum { LINES = 2000 };

/* `at` is the line whose beginning is the place. */
static hpc_spot long_file(int at)
{
    hpc_buf text = {0};
    hpc_spot d;
    for (int k = 1; k <= LINES; k++) hpc_buf_printf(&text, "    line(%d, x);\n", k);
    test_ok(hpc_spot_open(&d, "a.c", text.data, text.n, (hpc_position){at, 1}));
    hpc_buf_release(&text);
    return d;
}

static const char *behind(const hpc_buf *out, const char *mark)
{
    const char *at = strstr(out->data, mark);
    assert_non_null(at);
    return at + strlen(mark);
}

/* Keeps the text nearest to the cursor, in whole lines at its start; a quarter is for
 * the suffix. */
static void test_what_fits(void **state)
{
    (void)state;
    static const char last[] = "    line(1000, x);\n", next[] = "    line(1001, x);\n";
    hpc_tokenizer *t = ours();
    hpc_spot d = long_file(1001);
    const hpc_complete_request r = {.spot = &d, .path = "a.c"};
    hpc_buf out = {0};
    for (int64_t most = 256; most <= 16384; most *= 2) {
        int64_t n = shown(&out, t, &r, most);
        const char *suffix = behind(&out, "<fim_suffix>"), *prefix = behind(&out, "<fim_middle>");
        size_t prefix_n = out.n - (size_t)(prefix - out.data);
        size_t suffix_n = (size_t)(prefix - suffix) - strlen("<fim_middle>");
        assert_memory_equal(suffix, next, strlen(next));
        assert_string_equal(out.data + out.n - strlen(last), last);
        assert_memory_equal(prefix, "    line(", 9);
        assert_in_range(100 * suffix_n / (suffix_n + prefix_n), 20, 40);
        assert_true(n > most - 100 || n > 10000);
    }
    hpc_buf_release(&out);
    hpc_spot_close(&d);
    hpc_tokenizer_close(t);
}

static void make(hpc_ids *ids, complete_prompter *p, const hpc_spot *d, int64_t most)
{
    const hpc_complete_request r = {.spot = d, .path = "a.c"};
    test_ok(complete_prompt(ids, p, &r, most));
}

static int64_t common(const hpc_ids *a, const hpc_ids *b)
{
    int64_t k = 0;
    while (k < a->n && k < b->n && a->id[k] == b->id[k]) k++;
    return k;
}

/* Tokens after which the prompts of a file and of its edited version differ. */
static void test_an_edit(void **state)
{
    (void)state;
    enum { MOST = 2000, BEFORE = 40 };
    hpc_tokenizer *t = ours();
    complete_prompter p;
    hpc_ids was = {0}, is = {0};
    hpc_spot d = long_file(1001);
    test_ok(complete_prompter_open(&p, t));
    make(&was, &p, &d, MOST);
    char *line = d.text.data + d.at;
    for (int k = 0; k < BEFORE; k++)
        line = d.text.data + complete_line_begin(d.text.data, (size_t)(line - d.text.data) - 1);
    line[4] = 'L'; /* of "line" */
    make(&is, &p, &d, MOST);
    p.work.n = 0;
    test_ok(hpc_tokenizer_encode(&p.work, t, p.scratch, line, (size_t)(d.text.data + d.at - line),
                                 HPC_ENCODE_INNER));
    const int64_t line_tokens = p.work.n;
    assert_true(line_tokens < 900 && was.n > 1900);
    assert_in_range(is.n - common(&was, &is), line_tokens - 4, line_tokens + 4);
    complete_prompter_close(&p);
    hpc_free(was.id);
    hpc_free(is.id);
    hpc_spot_close(&d);
    hpc_tokenizer_close(t);
}

/* While typing, the start of the prompt moves once per many tokens, not for each. */
static void test_typing(void **state)
{
    (void)state;
    enum { MOST = 1000, TYPED = 3000 };
    hpc_tokenizer *t = ours();
    complete_prompter p;
    hpc_ids was = {0}, is = {0};
    hpc_spot d = long_file(1001);
    int64_t made = 0, moved = 0;
    test_ok(complete_prompter_open(&p, t));
    make(&was, &p, &d, MOST);
    for (int k = 0; k < TYPED; k++) {
        hpc_buf text = {0};
        test_ok(hpc_buf_add(&text, d.text.data, d.at));
        test_ok(hpc_buf_add(&text, &"a(b, c);\n"[k % 9], 1));
        test_ok(hpc_buf_add(&text, d.text.data + d.at, d.text.n - d.at));
        hpc_buf_release(&d.text);
        d.text = text;
        d.at++;
        make(&is, &p, &d, MOST);
        moved += is.n - common(&was, &is) > 16;
        made += is.n - common(&was, &is);
        hpc_ids swap = was;
        was = is;
        is = swap;
    }
    /* about 2000 tokens, 64 of them between moves, which cost what is before the place */
    assert_in_range(moved, 10, 45);
    assert_true(made < 4 * TYPED + 800 * moved);
    complete_prompter_close(&p);
    hpc_free(was.id);
    hpc_free(is.id);
    hpc_spot_close(&d);
    hpc_tokenizer_close(t);
}

/* A megabyte in one line, and a budget of next to nothing. */
static void test_odd_texts(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    hpc_tokenizer *t = ours();
    complete_prompter p;
    hpc_ids ids = {0};
    char *text = hpc_alloc(N, 1);
    hpc_spot d;
    memset(text, 'x', N);
    test_ok(complete_prompter_open(&p, t));
    test_ok(hpc_spot_open(&d, "a.c", text, N, (hpc_position){1, N / 2}));
    for (int64_t most = 5; most <= 5000; most *= 10) {
        make(&ids, &p, &d, most);
        assert_in_range(ids.n, 3, most + 8); /* the path is shown in any case */
    }
    hpc_spot_close(&d);
    test_ok(hpc_spot_open(&d, "a.c", text, 0, (hpc_position){0}));
    make(&ids, &p, &d, 100);
    assert_int_equal(ids.n, 0);
    hpc_spot_close(&d);
    hpc_free(text);
    hpc_free(ids.id);
    complete_prompter_close(&p);
    hpc_tokenizer_close(t);
}

typedef struct asked {
    hpc_tokenizer *t;
    hpc_complete_request r;
} asked;

static int prompt(void *user)
{
    const asked *a = user;
    complete_prompter p;
    hpc_ids ids = {0};
    int rc = complete_prompter_open(&p, a->t);
    if (rc < 0) return rc;
    rc = complete_prompt(&ids, &p, &a->r, 1000);
    complete_prompter_close(&p);
    hpc_free(ids.id);
    return rc;
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    hpc_spot d = place_in("a.c", FILE_);
    asked a = {
        hpc_test_tokenizer("starcoder2.json", none),
        {.spot = &d, .path = "a.c", .repository = "o/n", .snippet = snippets, .snippet_n = 2}};
    assert_true(hpc_test_each_alloc(prompt, &a) >= 8);
    hpc_spot_close(&d);
    hpc_tokenizer_close(a.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_what_fits),
        cmocka_unit_test(test_an_edit),
        cmocka_unit_test(test_typing),
        cmocka_unit_test(test_odd_texts),
        cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
