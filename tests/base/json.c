/*
 * Tests of runtime/base/json.c: lookup, typed getters, positions in messages, hostile input,
 * running out of memory.
 */
/* tsan: left out, starts no thread. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static hpc_json *parse(const char *text)
{
    hpc_json *root;
    if (hpc_json_parse(&root, text, strlen(text), "t") < 0) {
        fail_msg("%s", hpc_error_get()->text);
    }
    return root;
}

static void assert_error(int rc, int code, const char *text)
{
    assert_int_equal(rc, code);
    assert_int_equal(hpc_error_get()->code, code);
    assert_string_equal(hpc_error_get()->text, text);
    hpc_error_clear();
}

static void assert_refused_n(const char *json, size_t n, const char *text)
{
    hpc_json *root = (hpc_json *)&n;
    assert_error(hpc_json_parse(&root, json, n, "conf.json"), HPC_E_FORMAT, text);
    assert_null(root);
}

static void assert_refused(const char *json, const char *text)
{
    assert_refused_n(json, strlen(json), text);
}

/* ---- looking ---- */

static void test_kinds_and_children(void **state)
{
    (void)state;
    hpc_json *root =
        parse("{\"n\":null,\"b\":true,\"i\":-3,\"r\":2.5,\"t\":\"x\",\"l\":[1,[]],\"o\":{}}");
    static const hpc_json_kind kinds[] = {HPC_JSON_NULL,  HPC_JSON_BOOL, HPC_JSON_INT,
                                          HPC_JSON_REAL,  HPC_JSON_TEXT, HPC_JSON_LIST,
                                          HPC_JSON_OBJECT};
    static const char *const keys[] = {"n", "b", "i", "r", "t", "l", "o"};
    assert_int_equal(hpc_json_kind_of(root), HPC_JSON_OBJECT);
    assert_int_equal(hpc_json_n(root), 7);
    for (int64_t i = 0; i < 7; i++) {
        const hpc_json *v;
        assert_string_equal(hpc_json_key(root, i, &v), keys[i]); /* the order of the text */
        assert_int_equal(hpc_json_kind_of(v), kinds[i]);
        assert_ptr_equal(hpc_json_get(root, keys[i]), v);
    }
    const hpc_json *list = hpc_json_get(root, "l");
    assert_int_equal(hpc_json_n(list), 2);
    assert_int_equal(hpc_json_kind_of(hpc_json_at(list, 1)), HPC_JSON_LIST);
    assert_int_equal(hpc_json_n(hpc_json_at(list, 0)), 0);
    hpc_json_free(root);
}

static void test_what_is_not_there(void **state)
{
    (void)state;
    hpc_json *root = parse("{\"l\":[1],\"o\":{}}");
    const hpc_json *list = hpc_json_get(root, "l"), *v = root;
    assert_null(hpc_json_get(root, "m"));
    assert_null(hpc_json_get(root, ""));
    assert_null(hpc_json_get(list, "l"));
    assert_null(hpc_json_get(hpc_json_get(root, "o"), "l"));
    assert_null(hpc_json_at(list, 1));
    assert_null(hpc_json_at(list, -1));
    assert_null(hpc_json_at(root, 0));
    assert_null(hpc_json_key(root, 2, &v));
    assert_null(v);
    assert_null(hpc_json_key(list, 0, NULL));
    hpc_json_free(root);
    hpc_json_free(NULL);
}

/* So lookups can be nested, and a missing key is reported by name. */
static void test_what_is_absent_is_no_value(void **state)
{
    (void)state;
    const hpc_json *v = (const hpc_json *)state;
    int64_t i = 42;
    double r = 42;
    bool b = true;
    const char *t = "kept";
    assert_int_equal(hpc_json_kind_of(NULL), HPC_JSON_NULL);
    assert_int_equal(hpc_json_n(NULL), 0);
    assert_null(hpc_json_at(NULL, 0));
    assert_null(hpc_json_get(NULL, "a"));
    assert_null(hpc_json_key(NULL, 0, &v));
    assert_null(v);
    assert_error(hpc_json_int(&i, NULL, "a"), HPC_E_FORMAT,
                 "a: expected an integer, found nothing");
    assert_error(hpc_json_real(&r, NULL, "b"), HPC_E_FORMAT, "b: expected a number, found nothing");
    assert_error(hpc_json_bool(&b, NULL, "c"), HPC_E_FORMAT,
                 "c: expected true or false, found nothing");
    assert_error(hpc_json_text(&t, NULL, "d"), HPC_E_FORMAT, "d: expected a text, found nothing");
    assert_int_equal(i, 42);
    assert_true(r == 42 && b && strcmp(t, "kept") == 0);
}

static void test_many_keys(void **state)
{
    (void)state;
    hpc_buf b = {0};
    enum { N = 200000 };
    hpc_buf_text(&b, "{");
    for (int i = 0; i < N; i++) hpc_buf_printf(&b, "%s\"k%d\":%d", i ? "," : "", i, i);
    hpc_buf_text(&b, "}");
    hpc_json *root = parse(b.data);
    assert_int_equal(hpc_json_n(root), N);
    for (int i = 0; i < N; i++) {
        char key[16];
        int64_t value = -1;
        snprintf(key, sizeof key, "k%d", i);
        const hpc_json *v;
        assert_string_equal(hpc_json_key(root, i, &v), key);
        assert_ptr_equal(hpc_json_get(root, key), v);
        assert_int_equal(hpc_json_int(&value, v, key), 0);
        assert_int_equal(value, i);
    }
    hpc_json_free(root);
    hpc_buf_release(&b);
}

static void test_scalars_at_the_top(void **state)
{
    (void)state;
    const char *text = NULL;
    double real = 0;
    hpc_json *root = parse(" \"\\u00e9\\ud83d\\ude00\\/\\n\" ");
    assert_int_equal(hpc_json_text(&text, root, "t"), 0);
    assert_string_equal(text, "\xC3\xA9\xF0\x9F\x98\x80/\n");
    hpc_json_free(root);
    root = parse("-0.5e2");
    assert_int_equal(hpc_json_real(&real, root, "r"), 0);
    assert_true(real == -50.0);
    hpc_json_free(root);
}

static void test_extreme_numbers(void **state)
{
    (void)state;
    hpc_json *root = parse("[9223372036854775807,-9223372036854775808,1.7976931348623157e308,"
                           "5e-324,1e-400,3]");
    int64_t i = 0;
    double r = 0;
    assert_int_equal(hpc_json_int(&i, hpc_json_at(root, 0), "i"), 0);
    assert_true(i == INT64_MAX);
    assert_int_equal(hpc_json_int(&i, hpc_json_at(root, 1), "i"), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(hpc_json_real(&r, hpc_json_at(root, 2), "r"), 0);
    assert_true(r == DBL_MAX);
    assert_int_equal(hpc_json_real(&r, hpc_json_at(root, 3), "r"), 0);
    assert_true(r == 5e-324);
    assert_int_equal(hpc_json_real(&r, hpc_json_at(root, 4), "r"), 0);
    assert_true(r == 0.0);
    assert_int_equal(hpc_json_real(&r, hpc_json_at(root, 5), "r"), 0);
    assert_true(r == 3.0);
    hpc_json_free(root);
}

static void test_getters_name_key_value_and_kind(void **state)
{
    (void)state;
    hpc_json *root =
        parse("{\"a\":\"abc\",\"b\":2.5,\"c\":[1],\"d\":{},\"e\":null,\"f\":true,\"g\":7}");
    int64_t i = 42;
    double r = 42;
    bool b = true;
    const char *t = "kept";
    assert_error(hpc_json_int(&i, hpc_json_get(root, "a"), "key 'a'"), HPC_E_FORMAT,
                 "key 'a': expected an integer, found \"abc\"");
    assert_error(hpc_json_int(&i, hpc_json_get(root, "b"), "b"), HPC_E_FORMAT,
                 "b: expected an integer, found 2.5");
    assert_error(hpc_json_real(&r, hpc_json_get(root, "c"), "c"), HPC_E_FORMAT,
                 "c: expected a number, found a list");
    assert_error(hpc_json_text(&t, hpc_json_get(root, "d"), "d"), HPC_E_FORMAT,
                 "d: expected a text, found an object");
    assert_error(hpc_json_text(&t, hpc_json_get(root, "e"), "e"), HPC_E_FORMAT,
                 "e: expected a text, found null");
    assert_error(hpc_json_real(&r, hpc_json_get(root, "f"), "f"), HPC_E_FORMAT,
                 "f: expected a number, found true");
    assert_error(hpc_json_bool(&b, hpc_json_get(root, "g"), "g"), HPC_E_FORMAT,
                 "g: expected true or false, found 7");
    assert_int_equal(i, 42);
    assert_true(r == 42 && b && strcmp(t, "kept") == 0);
    hpc_json_free(root);
}

static void test_long_values_are_cut_between_characters(void **state)
{
    (void)state;
    int64_t i;
    /* 39 bytes, then characters of two bytes: the cut at 40 would fall inside one. */
    hpc_json *root = parse("\"123456789012345678901234567890123456789\\u00e9\\u00e9\\u00e9\"");
    assert_error(hpc_json_int(&i, root, "x"), HPC_E_FORMAT,
                 "x: expected an integer, found \"123456789012345678901234567890123456789...\"");
    hpc_json_free(root);
    root = parse("\"two\\nlines\"");
    assert_error(hpc_json_int(&i, root, "x"), HPC_E_FORMAT,
                 "x: expected an integer, found \"two lines\"");
    hpc_json_free(root);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_syntax_errors_name_line_and_column(void **state)
{
    (void)state;
    assert_refused("{\n  \"a\": 1,\n  \"b\": x\n}", "conf.json:3:8: invalid token near 'x'");
    assert_refused("[1, 2", "conf.json:1:5: ']' expected near end of file");
    assert_refused("{\"a\" 1}", "conf.json:1:6: ':' expected near '1'");
    assert_refused("[1,]", "conf.json:1:4: unexpected token near ']'");
    assert_refused("[1] x", "conf.json:1:5: end of file expected near 'x'");
    assert_refused("\"a\nb\"", "conf.json:1:2: unexpected newline near '\"a'");
    assert_refused("", "conf.json:1:1: unexpected token near end of file");
    assert_refused_n(NULL, 0, "conf.json:1:1: unexpected token near end of file");
    assert_refused("[01]", "conf.json:1:2: invalid token near '0'");
    assert_refused("[.5]", "conf.json:1:2: invalid token near '.'");
    assert_refused("[+1]", "conf.json:1:2: invalid token near '+'");
    assert_refused("[NaN]", "conf.json:1:4: invalid token near 'NaN'");
    assert_refused("['a']", "conf.json:1:2: invalid token near '''");
    assert_refused("\"\\x\"", "conf.json:1:3: invalid escape near '\"\\x'");
}

static void test_numbers_too_large(void **state)
{
    (void)state;
    char huge[400];
    snprintf(huge, sizeof huge, "[1%0350d]", 0);
    assert_refused("[1e400]", "conf.json:1:6: real number overflow near '1e400'");
    hpc_json *root = NULL;
    assert_int_equal(hpc_json_parse(&root, huge, strlen(huge), "conf.json"), HPC_E_FORMAT);
    assert_null(root);
}

static void assert_real(double expected, const hpc_json *root, const char *key)
{
    const hpc_json *v = hpc_json_get(root, key);
    double r = 0;
    assert_int_equal(hpc_json_kind_of(v), HPC_JSON_REAL);
    assert_int_equal(hpc_json_real(&r, v, key), 0);
    assert_true(r == expected);
}

static void assert_int(int64_t expected, const hpc_json *root, const char *key)
{
    int64_t i = 0;
    assert_int_equal(hpc_json_int(&i, hpc_json_get(root, key), key), 0);
    assert_int_equal(i, expected);
}

static void test_integers_beyond_64_bits_are_reals(void **state)
{
    (void)state;
    int64_t i = 0;
    hpc_json *root = parse("{\"limit\": 1000000000000000019884624838656,"
                           " \"above\": 9223372036854775808, \"below\": -9223372036854775809,"
                           " \"max\": 9223372036854775807, \"min\": -9223372036854775808,"
                           " \"real\": 1234567890123456789012.5, \"n\": 7,"
                           " \"text \\\" 99999999999999999999\": \"99999999999999999999\"}");
    assert_real(1e30, root, "limit");
    assert_real(9223372036854775808.0, root, "above");
    assert_real(-9223372036854775808.0, root, "below");
    assert_real(1234567890123456789012.5, root, "real");
    assert_int(INT64_MAX, root, "max");
    assert_int(INT64_MIN, root, "min");
    assert_int(7, root, "n");
    const char *text = NULL;
    const hpc_json *v = hpc_json_get(root, "text \" 99999999999999999999");
    assert_int_equal(hpc_json_text(&text, v, "text"), 0);
    assert_string_equal(text, "99999999999999999999");
    assert_error(hpc_json_int(&i, hpc_json_get(root, "limit"), "limit"), HPC_E_FORMAT,
                 "limit: expected an integer, found 1e+30");
    hpc_json_free(root);
}

static void test_duplicate_keys(void **state)
{
    (void)state;
    assert_refused("{\"a\": 1,\n \"a\": 2}", "conf.json:2:4: duplicate object key near '\"a\"'");
    hpc_json_free(parse("{\"a\":{\"a\":{}}}"));
}

static void test_bad_utf8(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[\"\xFF\"]",             /* never a byte of UTF-8 */
        "[\"\x80\"]",             /* a continuation alone */
        "[\"\xC0\xAF\"]",         /* overlong */
        "[\"\xE0\x80\xAF\"]",     /* overlong */
        "[\"\xED\xA0\x80\"]",     /* surrogate */
        "[\"\xF4\x90\x80\x80\"]", /* beyond U+10FFFF */
        "[\"\xE2\x82\"]",         /* cut short */
        "[\"\xE2",                /* cut short by the end */
        "[\"\\ud800\"]",          /* half a pair */
        "[\"\\udc00\"]",          /* the other half */
        "{\"\xFF\":1}",           /* in a key */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        hpc_json *root;
        assert_int_equal(hpc_json_parse(&root, bad[i], strlen(bad[i]), "t"), HPC_E_FORMAT);
        assert_null(root);
        assert_memory_equal(hpc_error_get()->text, "t:1:", 4);
        hpc_error_clear();
    }
}

static void test_nul(void **state)
{
    (void)state;
    hpc_json *root;
    assert_int_equal(hpc_json_parse(&root, "[\"a\0b\"]", 7, "t"), HPC_E_FORMAT);
    hpc_error_clear();
    assert_int_equal(hpc_json_parse(&root, "[1]\0", 4, "t"), HPC_E_FORMAT);
    hpc_error_clear();
    assert_int_equal(hpc_json_parse(&root, "[\"a\\u0000b\"]", 12, "t"), HPC_E_FORMAT);
    assert_non_null(strstr(hpc_error_get()->text, "\\u0000 is not allowed"));
    hpc_error_clear();
    assert_int_equal(hpc_json_parse(&root, "{\"\\u0000\":1}", 12, "t"), HPC_E_FORMAT);
    hpc_error_clear();
}

static void test_deep_nesting(void **state)
{
    (void)state;
    enum { DEEP = 1000000 };
    char *text = malloc(DEEP + 1);
    hpc_json *root;
    memset(text, '[', DEEP);
    text[DEEP] = '\0';
    assert_int_equal(hpc_json_parse(&root, text, DEEP, "t"), HPC_E_FORMAT);
    assert_non_null(strstr(hpc_error_get()->text, "maximum parsing depth reached"));
    hpc_error_clear();
    for (int i = 0; i < DEEP / 5; i++) memcpy(text + 5 * i, "{\"a\":", 5);
    assert_int_equal(hpc_json_parse(&root, text, DEEP, "t"), HPC_E_FORMAT);
    assert_non_null(strstr(hpc_error_get()->text, "maximum parsing depth reached"));
    hpc_error_clear();
    memset(text, '[', 1000);
    memset(text + 1000, ']', 1000);
    assert_int_equal(hpc_json_parse(&root, text, 2000, "t"), 0);
    const hpc_json *v = root;
    for (int i = 0; i < 999; i++) v = hpc_json_at(v, 0);
    assert_int_equal(hpc_json_n(v), 0);
    assert_null(hpc_json_at(v, 0));
    hpc_json_free(root);
    free(text);
}

/* Every truncated document is rejected with a position, without reading past its end. */
static void test_truncated_everywhere(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e3,\"x\\u00e9\\n\"],\"b\":{\"c\":null,\"d\":false}}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        hpc_json *root;
        char *exact = malloc(n ? n : 1); /* the sanitizer watches its end */
        memcpy(exact, text, n);
        assert_int_equal(hpc_json_parse(&root, exact, n, "cut"), HPC_E_FORMAT);
        assert_memory_equal(hpc_error_get()->text, "cut:1:", 6);
        hpc_error_clear();
        free(exact);
    }
    hpc_json_free(parse(text));
}

/* With one changed byte a document is rejected with a message, or read. */
static void test_mutations(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e3,\"x\\u00e9\"],\"b\":{\"c\":null,\"d\":true}}";
    for (size_t at = 0; at < sizeof text - 1; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char changed[sizeof text];
            hpc_json *root;
            memcpy(changed, text, sizeof text);
            changed[at] = (char)byte;
            int rc = hpc_json_parse(&root, changed, sizeof text - 1, "m");
            if (rc == 0) {
                assert_non_null(root);
                hpc_json_free(root);
            } else {
                assert_int_equal(rc, HPC_E_FORMAT);
                hpc_error_clear();
            }
        }
    }
}

/* ---- files and memory ---- */

static void test_read(void **state)
{
    (void)state;
    char path[] = "/tmp/hpc-json-XXXXXX", expected[80];
    hpc_json *root;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hpc_file_save(path, "{\"x\": 1}", 8), 0);
    assert_int_equal(hpc_json_read(&root, path), 0);
    assert_int_equal(hpc_json_n(root), 1);
    hpc_json_free(root);
    assert_int_equal(hpc_file_save(path, "{\"x\": }", 7), 0);
    snprintf(expected, sizeof expected, "%s:1:7: unexpected token near '}'", path);
    assert_error(hpc_json_read(&root, path), HPC_E_FORMAT, expected);
    assert_null(root);
    unlink(path);
    snprintf(expected, sizeof expected, "cannot open %s: No such file or directory", path);
    assert_error(hpc_json_read(&root, path), HPC_E_IO, expected);
}

static int parse_body(void *user)
{
    hpc_json *root;
    const char *text = user;
    int rc = hpc_json_parse(&root, text, strlen(text), "t");
    if (rc < 0) assert_null(root);
    hpc_json_free(root);
    return rc;
}

static void test_parse_without_memory(void **state)
{
    (void)state;
    hpc_buf b = {0};
    hpc_buf_text(&b, "[0");
    for (int i = 0; i < 3000; i++) hpc_buf_printf(&b, ",{\"k\":[%d]}", i);
    hpc_buf_text(&b, "]");
    assert_true(hpc_test_each_alloc(parse_body, b.data) >= 4);
    hpc_buf_release(&b);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_kinds_and_children),
        CASE(test_what_is_not_there),
        CASE(test_what_is_absent_is_no_value),
        CASE(test_many_keys),
        CASE(test_scalars_at_the_top),
        CASE(test_extreme_numbers),
        CASE(test_getters_name_key_value_and_kind),
        CASE(test_long_values_are_cut_between_characters),
        CASE(test_syntax_errors_name_line_and_column),
        CASE(test_numbers_too_large),
        CASE(test_integers_beyond_64_bits_are_reals),
        CASE(test_duplicate_keys),
        CASE(test_bad_utf8),
        CASE(test_nul),
        CASE(test_deep_nesting),
        CASE(test_truncated_everywhere),
        CASE(test_mutations),
        CASE(test_read),
        CASE(test_parse_without_memory),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
