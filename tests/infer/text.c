/*
 * text.c: streamed pieces add up to the text, consist of whole characters, and exclude the end
 * marker.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "infer/engine/text.h"
#include "tests/support/expect.h"

static const char *const files[] = {
    "tests/fixtures/tokenizer/llama.model", "tests/fixtures/tokenizer/ours.model",
    "tests/fixtures/byte_level/gpt2.json", "tests/fixtures/byte_level/qwen2.json"};
enum { FILE_N = sizeof files / sizeof files[0] };

static const char *const texts[] = {
    "",
    " ",
    "for (int i = 0; i < n; ++i)\n    sum += a[i];\n}\n",
    "  \t indented\n\n\n#pragma omp parallel for reduction(+:sum)\n",
    "Gr\303\266\303\237e \342\206\222 \346\225\260 \360\237\232\200\n",
    "}\n}\n  }\n//}\n",
    "\xff\xfe broken \xc3 utf-8 \xe6\x95",
};
enum { TEXT_N = sizeof texts / sizeof texts[0] };

static hpc_tokenizer *open_file(const char *path)
{
    hpc_tokenizer *t = NULL;
    test_ok(hpc_tokenizer_open(&t, path));
    return t;
}

static void encode(hpc_ids *ids, const hpc_tokenizer *t, const char *text, unsigned flags)
{
    hpc_tokenizer_scratch *s = NULL;
    ids->n = 0;
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_tokenizer_encode(ids, t, s, text, strlen(text), flags));
    hpc_tokenizer_scratch_free(s);
}

/* All that is shown of the ids; how many were needed for it. */
static int64_t show(hpc_buf *out, const hpc_tokenizer *t, const hpc_ids *ids,
                    const char *const *stop, bool begins)
{
    hpc_text *x = NULL;
    bool stopped = false;
    int64_t k = 0;
    out->n = 0;
    test_ok(hpc_text_create(&x, t, stop, begins));
    for (; k < ids->n && !stopped; k++) test_ok(hpc_text_push(x, ids->id[k], out, &stopped));
    test_ok(hpc_text_end(x, out));
    hpc_text_free(x);
    return k;
}

static void equal(const hpc_buf *out, const char *text, size_t n)
{
    assert_int_equal(out->n, n);
    if (n > 0) assert_memory_equal(out->data, text, n);
}

static void pieces_make_the_text(void **state)
{
    hpc_ids ids = {0};
    hpc_buf out = {0};

    (void)state;
    for (int f = 0; f < FILE_N; f++) {
        hpc_tokenizer *t = open_file(files[f]);
        for (int k = 0; k < TEXT_N; k++)
            for (int begins = 0; begins < 2; begins++) {
                encode(&ids, t, texts[k], begins ? 0 : HPC_ENCODE_INNER);
                show(&out, t, &ids, NULL, begins);
                equal(&out, texts[k], strlen(texts[k]));
            }
        hpc_tokenizer_close(t);
    }
    hpc_free(ids.id);
    hpc_buf_release(&out);
}

/* Emitted text ends with a whole character, if there are any. */
static void characters_are_whole(void **state)
{
    hpc_ids ids = {0};
    hpc_buf out = {0};

    (void)state;
    for (int f = 0; f < FILE_N; f++) {
        hpc_tokenizer *t = open_file(files[f]);
        hpc_text *x = NULL;
        bool stopped = false;
        size_t shown = 0;
        encode(&ids, t, texts[4], HPC_ENCODE_INNER);
        test_ok(hpc_text_create(&x, t, NULL, false));
        for (int64_t k = 0; k < ids.n; k++) {
            out.n = 0;
            test_ok(hpc_text_push(x, ids.id[k], &out, &stopped));
            shown += out.n;
            assert_true(((uint8_t)texts[4][shown] & 0xc0) != 0x80);
        }
        assert_int_equal(shown, strlen(texts[4]));
        hpc_text_free(x);
        hpc_tokenizer_close(t);
    }
    hpc_free(ids.id);
    hpc_buf_release(&out);
}

/* The first of several, wherever pieces are cut, and no more tokens than it takes. */
static void a_stop_string_ends_it(void **state)
{
    static const char *const stops[][4] = {{"}\n"},     {"sum", "i]"},    {"\n\n\n"},
                                           {"nowhere"}, {"\xe6\x95\xb0"}, {"}\n  }", "}\n}\n"},
                                           {"a", "+="}};
    hpc_ids ids = {0};
    hpc_buf out = {0};

    (void)state;
    for (int f = 0; f < FILE_N; f++) {
        hpc_tokenizer *t = open_file(files[f]);
        for (int k = 0; k < TEXT_N; k++)
            for (size_t s = 0; s < sizeof stops / sizeof stops[0]; s++) {
                const char *end = texts[k] + strlen(texts[k]);
                for (int i = 0; stops[s][i]; i++) {
                    const char *found = strstr(texts[k], stops[s][i]);
                    if (found && found < end) end = found;
                }
                encode(&ids, t, texts[k], HPC_ENCODE_INNER);
                int64_t used = show(&out, t, &ids, stops[s], false);
                equal(&out, texts[k], (size_t)(end - texts[k]));
                if (!*end) assert_int_equal(used, ids.n);
            }
        hpc_tokenizer_close(t);
    }
    hpc_free(ids.id);
    hpc_buf_release(&out);
}

static void what_may_be_a_stop_waits(void **state)
{
    static const char *const stop[] = {"}\n//", NULL};
    hpc_tokenizer *t = open_file(files[0]);
    hpc_ids ids = {0};
    hpc_buf out = {0};
    hpc_text *x = NULL;
    bool stopped = false;

    (void)state;
    test_ok(hpc_text_create(&x, t, stop, false));
    encode(&ids, t, "a}\n", HPC_ENCODE_INNER);
    for (int64_t k = 0; k < ids.n; k++) test_ok(hpc_text_push(x, ids.id[k], &out, &stopped));
    equal(&out, "a", 1);
    encode(&ids, t, "}\n", HPC_ENCODE_INNER);
    for (int64_t k = 0; k < ids.n; k++) test_ok(hpc_text_push(x, ids.id[k], &out, &stopped));
    equal(&out, "a}\n", 3);
    encode(&ids, t, "//", HPC_ENCODE_INNER);
    for (int64_t k = 0; k < ids.n; k++) test_ok(hpc_text_push(x, ids.id[k], &out, &stopped));
    assert_true(stopped);
    equal(&out, "a}\n", 3);
    test_ok(hpc_text_push(x, ids.id[0], &out, &stopped));
    test_ok(hpc_text_end(x, &out));
    assert_true(stopped);
    equal(&out, "a}\n", 3);
    hpc_text_free(x);
    test_fails(hpc_text_create(&x, t, (const char *const[]){"x", "", NULL}, false), HPC_E_ARG,
               "empty stop string");
    assert_null(x);
    hpc_tokenizer_close(t);
    hpc_free(ids.id);
    hpc_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_text),
        cmocka_unit_test(characters_are_whole),
        cmocka_unit_test(a_stop_string_ends_it),
        cmocka_unit_test(what_may_be_a_stop_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
