/*
 * Tests of corpus/filter.c: UTF-8, vendored trees, generated and minified files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/priv.h"

/* By the definition: decode, then ask whether encoding gives the same bytes again. */
static bool is_utf8_slowly(const unsigned char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        int length = s[i] < 0x80       ? 1
                     : s[i] >> 5 == 6  ? 2
                     : s[i] >> 4 == 14 ? 3
                     : s[i] >> 3 == 30 ? 4
                                       : 0;
        if (length == 0 || s[i] == 0 || i + (size_t)length > n) return false;
        uint32_t c = length == 1 ? s[i] : s[i] & (0xffU >> (length + 1));
        for (int k = 1; k < length; k++) {
            if (s[i + (size_t)k] >> 6 != 2) return false;
            c = c << 6 | (s[i + (size_t)k] & 0x3f);
        }
        int least = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        if (least != length || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
        i += (size_t)length;
    }
    return true;
}

static void test_utf8(void **state)
{
    unsigned char s[24];
    int valid = 0;
    (void)state;
    for (uint32_t a = 0; a < 256; a++)
        for (uint32_t b = 0; b < 256; b++)
            for (uint32_t c = 0; c < 256; c += c == 0x7f || c == 0xbf ? 1 : 3) {
                memset(s, 'x', sizeof s);
                s[9] = (unsigned char)a, s[10] = (unsigned char)b, s[11] = (unsigned char)c;
                s[12] = 0x80 + (c & 0x3f);
                bool expected = is_utf8_slowly(s, 13);
                valid += expected;
                if (corpus_is_utf8((char *)s, 13) != expected) fail_msg("%02x %02x %02x", a, b, c);
            }
    assert_true(valid > 1000);
    assert_true(corpus_is_utf8("", 0));
    assert_false(corpus_is_utf8("a\0b", 3));
    assert_false(corpus_is_utf8("aaaaaaaaaaaa\0b", 14));
    assert_false(corpus_is_utf8("abc\xc3", 4));
    assert_true(corpus_is_utf8("abc\xc3\xa4", 5));
}

/* Special bytes at any position among plain bytes, within whole blocks and after them. */
static void test_utf8_places(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        bool valid;
    } cases[] = {{"", 1, false},        {"\x80", 1, false},        {"\xff", 1, false},
                 {"\xc3\xa4", 2, true}, {"\xe2\x82\xac", 3, true}, {"\xf0\x9f\x98\x80", 4, true},
                 {"\x01\x7f", 2, true}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t n = cases[k].n; n < 200; n += 1 + n / 60)
            for (size_t at = 0; at + cases[k].n <= n; at++) {
                char *text = malloc(n); /* no byte more: the sanitizer sees who reads on */
                assert_non_null(text);
                memset(text, 'x', n);
                memcpy(text + at, cases[k].bytes, cases[k].n);
                if (corpus_is_utf8(text, n) != cases[k].valid)
                    fail_msg("case %zu at %zu of %zu", k, at, n);
                free(text);
            }
}

static void test_vendored(void **state)
{
    (void)state;
    assert_string_equal(corpus_vendored("a/third_party/x/y.c", "o/x"), "third_party");
    assert_string_equal(corpus_vendored("Vendor/y.c", "o/x"), "vendor");
    assert_string_equal(corpus_vendored("src/json.hpp", "o/x"), "json.hpp");
    assert_string_equal(corpus_vendored("2d/kokkos/core/src/Kokkos_Pair.hpp", "o/x"),
                        "kokkos/core/src/");
    assert_null(corpus_vendored("core/src/Kokkos_Pair.hpp", "o/x"));
    assert_null(corpus_vendored("src/kokkos/stream.cpp", "o/x"));
    assert_null(corpus_vendored("src/vendor.c", "o/x"));
    assert_null(corpus_vendored("src/my_external/x.c", "o/x"));
    assert_null(corpus_vendored("externality/x.c", "o/x"));
    assert_null(corpus_vendored("x.c", "o/x"));
    assert_null(corpus_vendored("", "o/x"));
}

static void test_keeps_what_a_project_owns(void **state)
{
    static const struct {
        const char *path, *repository;
    } own[] = {{"cJSON.c", "DaveGamble/cJSON"},
               {"cJSON.h", "cjson"},
               {"cJSON.h", "mirrors/cJSON-mirror"},
               {"stb_image.h", "nothings/stb"},
               {"miniz.c", "richgel999/miniz"},
               {"lib/lz4.c", "lz4/lz4"},
               {"xxhash.h", "Cyan4973/xxHash"},
               {"single_include/nlohmann/json.hpp", "nlohmann/json"},
               {"src/catch2/catch_test_case.cpp", "catchorg/Catch2"},
               {"googletest/include/gtest/gtest.h", "google/googletest"},
               {"include/pybind11/cast.h", "pybind/pybind11"},
               {"include/toml.hpp", "ToruNiina/toml11"},
               {"include/toml.hpp", "marzer/tomlplusplus"}},
      copies[] = {{"cJSON.c", "owner/app"},
                  {"cJSON.c", "cJSON/app"},
                  {"cJSON.c", "owner/cJSON-server"},
                  {"third_party/cJSON/cJSON.c", "DaveGamble/cJSON"},
                  {"external/lz4.c", "lz4/lz4"},
                  {"lib/xxhash.c", "lz4/lz4"},
                  {"tests/catch_amalgamated.cpp", "richgel999/miniz"}};
    (void)state;
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        if (corpus_vendored(own[k].path, own[k].repository))
            fail_msg("%s: %s", own[k].repository, own[k].path);
    for (size_t k = 0; k < sizeof copies / sizeof *copies; k++)
        if (!corpus_vendored(copies[k].path, copies[k].repository))
            fail_msg("%s: %s", copies[k].repository, copies[k].path);
}

static hpc_reason reason_of(const char *path, const char *text)
{
    hpc_reason reason = HPC_REASON_N;
    hpc_tokens t = {0};
    assert_int_equal(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_C, false), 0);
    const char *why = corpus_worthless(&reason, path, text, strlen(text), &t);
    assert_int_equal(why == NULL, reason == HPC_REASON_KEPT);
    hpc_tokens_release(&t);
    return reason;
}

#define CODE "int add(int a, int b) { return a + b; } int sub(int a, int b) { return a - b; }\n"

static void test_generated(void **state)
{
    (void)state;
    assert_int_equal(reason_of("a.c", CODE), HPC_REASON_KEPT);
    assert_int_equal(reason_of("a.c", "int x;\n"), HPC_REASON_TOO_SHORT);
    assert_int_equal(reason_of("a.c", "// int x; int y; int z; int u; int v; int w; int q;\n"),
                     HPC_REASON_TOO_SHORT);
    assert_int_equal(reason_of("a.c", "/* Automatically Generated by x. */\n" CODE),
                     HPC_REASON_GENERATED);
    assert_int_equal(reason_of("a.c", "// Code generated by y. DO NOT EDIT.\n" CODE),
                     HPC_REASON_GENERATED);
    assert_int_equal(reason_of("a.pb.h", CODE), HPC_REASON_GENERATED);
    assert_int_equal(reason_of("x/moc_window.cpp", CODE), HPC_REASON_GENERATED);
    assert_int_equal(reason_of("a.c", "// the mesh is generated by the caller\n" CODE),
                     HPC_REASON_KEPT);
    assert_int_equal(reason_of("a.c", "const char *s = \"do not edit\";\n" CODE), HPC_REASON_KEPT);
}

/* Each phrase, unchanged, in capitals, and at the very end of the range searched. */
static void test_phrases(void **state)
{
    static const char *const phrases[] = {
        "do not edit",
        "do not modify this file",
        "automatically generated",
        "auto-generated",
        "auto generated",
        "autogenerated",
        "this file is generated",
        "this file was generated",
        "file generated by",
        "code generated by",
        "generated automatically",
        "machine generated",
        "machine-generated",
        "@generated",
        "generated from a template",
        "-- translated by f2c",
        "translated by f2c",
        "created by swig",
        "a bison parser",
        "a lexical scanner generated by flex",
        "generated by the protocol buffer compiler",
        "generated by tapenade",
        "meta object code from reading",
    };
    hpc_buf text = {0};
    (void)state;
    for (size_t k = 0; k < sizeof phrases / sizeof *phrases; k++) {
        size_t n = strlen(phrases[k]);
        for (size_t blanks = 0; blanks < 70; blanks += 23) {
            text.n = 0;
            hpc_buf_printf(&text, "/*%*s%s*/\n" CODE, (int)blanks, "", phrases[k]);
            if (reason_of("a.c", text.data) != HPC_REASON_GENERATED) fail_msg("%s", text.data);
            for (char *p = text.data + 2 + blanks; *p != '*'; p++)
                if (*p >= 'a' && *p <= 'z') *p = (char)(*p - 32);
            if (reason_of("a.c", text.data) != HPC_REASON_GENERATED) fail_msg("%s", text.data);
            text.data[2 + blanks + n / 2] = '#';
            if (reason_of("a.c", text.data) != HPC_REASON_KEPT) fail_msg("%s", text.data);
        }
        for (size_t cut = 0; cut < 2; cut++) { /* 4096 bytes of comments */
            text.n = 0;
            hpc_buf_printf(&text, "/*%*s%s*/\n" CODE, (int)(4096 - 2 - n + cut), "", phrases[k]);
            assert_int_equal(reason_of("a.c", text.data) == HPC_REASON_GENERATED, cut == 0);
        }
    }
    assert_int_equal(text.failed, 0);
    hpc_buf_release(&text);
}

static void test_minified(void **state)
{
    hpc_buf text = {0};
    (void)state;
    for (int k = 0; k < 40; k++) hpc_buf_text(&text, "int add(int a, int b) { return a + b; } ");
    assert_int_equal(reason_of("a.c", text.data), HPC_REASON_KEPT); /* short: says little */
    for (int k = 0; k < 40; k++) hpc_buf_text(&text, "int add(int a, int b) { return a + b; } ");
    assert_int_equal(reason_of("a.c", text.data), HPC_REASON_MINIFIED);
    text.n = 0;
    hpc_buf_text(&text, "static const int t[] = {\n");
    for (int k = 0; k < 600; k++) hpc_buf_printf(&text, "%d,%s", k, k % 8 ? " " : "\n");
    hpc_buf_text(&text, "};\n");
    assert_int_equal(reason_of("a.c", text.data), HPC_REASON_MINIFIED);
    assert_int_equal(text.failed, 0);
    hpc_buf_release(&text);
}

/* Numbers among 1000 tokens, before and after the others. */
static void test_tables(void **state)
{
    hpc_buf text = {0};
    (void)state;
    for (int numbers = 399; numbers <= 402; numbers++)
        for (int first = 0; first < 2; first++) {
            text.n = 0;
            for (int k = 0; k < 1000; k++) {
                bool number = first ? k < numbers : k >= 1000 - numbers;
                hpc_buf_printf(&text, number ? "%d%s" : "x%d%s", k, k % 8 ? " " : "\n");
            }
            assert_int_equal(reason_of("a.c", text.data),
                             numbers > 400 ? HPC_REASON_MINIFIED : HPC_REASON_KEPT);
        }
    for (int code = 499; code <= 500; code++) { /* fewer are never a table */
        text.n = 0;
        for (int k = 0; k < code; k++) hpc_buf_printf(&text, "%d ", k);
        hpc_buf_text(&text, "// so many\n");
        while (text.n < 8 * 1000) hpc_buf_text(&text, "//\n");
        assert_int_equal(reason_of("a.c", text.data),
                         code < 500 ? HPC_REASON_KEPT : HPC_REASON_MINIFIED);
    }
    assert_int_equal(text.failed, 0);
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),      cmocka_unit_test(test_utf8_places),
        cmocka_unit_test(test_vendored),  cmocka_unit_test(test_keeps_what_a_project_owns),
        cmocka_unit_test(test_generated), cmocka_unit_test(test_phrases),
        cmocka_unit_test(test_minified),  cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
