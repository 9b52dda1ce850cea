/*
 * Tests of runtime/base/json_write.c: exact output, and round trips of any input through the
 * parser.
 */
/* tsan: left out, starts no thread. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void assert_written(const char *text, const char *json)
{
    hpc_buf b = {0};
    hpc_json_out w = {.buf = &b};
    hpc_json_put_text(&w, NULL, text);
    assert_int_equal(b.failed, 0);
    assert_string_equal(b.data, json);
    hpc_json_free(parse(b.data));
    hpc_buf_release(&b);
}

static void test_write_text(void **state)
{
    (void)state;
    assert_written("", "\"\"");
    assert_written(NULL, "null");
    assert_written("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    assert_written("\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"");
    assert_written("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
                   "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
    /* The first and last characters of each length, and around the surrogates. */
    assert_written(
        "\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\xED\x9F\xBF"
        "\xEE\x80\x80",
        "\"\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"
        "\xED\x9F\xBF\xEE\x80\x80\"");
}

#define R "\xEF\xBF\xBD"
static void test_write_bad_utf8(void **state)
{
    (void)state;
    assert_written("\xFF", "\"" R "\"");
    assert_written("a\x80z", "\"a" R "z\"");
    assert_written("\xC0\xAF", "\"" R R "\"");
    assert_written("\xE0\x80\x80", "\"" R R R "\"");
    assert_written("\xED\xA0\x80", "\"" R R R "\"");
    assert_written("\xF4\x90\x80\x80", "\"" R R R R "\"");
    assert_written("\xE2\x82", "\"" R "\""); /* cut short: one for what there is */
    assert_written("\xF0\x9F\x98", "\"" R "\"");
    assert_written("\xF0\x9F\"", "\"" R "\\\"\"");
    assert_written("\xE2\x82\xE2\x82\xAC", "\"" R "\xE2\x82\xAC\"");
    assert_written("\xC3", "\"" R "\"");
}
#undef R

/* All texts of two arbitrary bytes come out valid; the parser is the judge. */
static void test_write_any_bytes(void **state)
{
    (void)state;
    hpc_buf b = {0};
    hpc_json_out w = {.buf = &b};
    hpc_json_open(&w, NULL, '[');
    for (int x = 1; x < 256; x++) {
        for (int y = 1; y < 256; y++) {
            char text[] = {(char)x, (char)y, '\0'};
            hpc_json_put_text(&w, NULL, text);
        }
    }
    hpc_json_close(&w, ']');
    hpc_json *root = parse(b.data);
    assert_int_equal(hpc_json_n(root), 255 * 255);
    hpc_json_free(root);
    hpc_buf_release(&b);
}

static void assert_real(double value, const char *json)
{
    hpc_buf b = {0};
    hpc_json_out w = {.buf = &b};
    hpc_json_put_real(&w, NULL, value);
    assert_string_equal(b.data, json);
    if (isfinite(value)) {
        double back = 0;
        hpc_json *root = parse(b.data);
        assert_int_equal(hpc_json_kind_of(root), HPC_JSON_REAL);
        assert_int_equal(hpc_json_real(&back, root, "r"), 0);
        assert_memory_equal(&back, &value, sizeof value);
        hpc_json_free(root);
    }
    hpc_buf_release(&b);
}

static void test_write_reals(void **state)
{
    (void)state;
    assert_real(0.0, "0.0");
    assert_real(-0.0, "-0.0");
    assert_real(0.1, "0.1");
    assert_real(3.0, "3.0");
    assert_real(-2.5, "-2.5");
    assert_real(0.1 + 0.2, "0.30000000000000004");
    assert_real(1.0 / 3.0, "0.3333333333333333");
    assert_real((double)0.1f, "0.10000000149011612");
    assert_real(1e20, "1e+20");
    assert_real(123456789012345680.0, "1.2345678901234568e+17");
    assert_real(DBL_MAX, "1.7976931348623157e+308");
    assert_real(DBL_MIN, "2.2250738585072014e-308");
    assert_real(5e-324, "5e-324");
    assert_real(nextafter(DBL_MIN, 0.0), "2.225073858507201e-308");
    assert_real(NAN, "null");
    assert_real(INFINITY, "null");
    assert_real(-INFINITY, "null");
}

static void put_sample(hpc_json_out *w)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_int(w, "i", INT64_MIN);
    hpc_json_open(w, "empty", '[');
    hpc_json_close(w, ']');
    hpc_json_open(w, "list", '[');
    hpc_json_put_bool(w, NULL, true);
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "k\"", "v");
    hpc_json_close(w, '}');
    hpc_json_put_bool(w, NULL, false);
    hpc_json_close(w, ']');
    hpc_json_put_real(w, "r", 0.5);
    hpc_json_close(w, '}');
}

static void test_write_layout(void **state)
{
    (void)state;
    hpc_buf b = {0};
    put_sample(&(hpc_json_out){.buf = &b});
    assert_string_equal(b.data, "{\"i\":-9223372036854775808,\"empty\":[],"
                                "\"list\":[true,{\"k\\\"\":\"v\"},false],\"r\":0.5}");
    hpc_buf_release(&b);
    put_sample(&(hpc_json_out){.buf = &b, .indent = 2});
    assert_string_equal(b.data, "{\n"
                                "  \"i\": -9223372036854775808,\n"
                                "  \"empty\": [],\n"
                                "  \"list\": [\n"
                                "    true,\n"
                                "    {\n"
                                "      \"k\\\"\": \"v\"\n"
                                "    },\n"
                                "    false\n"
                                "  ],\n"
                                "  \"r\": 0.5\n"
                                "}");
    hpc_buf_release(&b);
}

/* Parsed input is written unchanged. */
static void test_write_what_was_read(void **state)
{
    (void)state;
    static const char text[] =
        "{\"t\":\"a\\\"\\u0001\xC3\xA9\",\"l\":[1,-2.5,1e+300,true,false,null,[],{}],"
        "\"o\":{\"\":{\"k\":[{\"i\":9223372036854775807}]}}}";
    hpc_buf b = {0};
    hpc_json *root = parse(text);
    hpc_json_put(&(hpc_json_out){.buf = &b}, NULL, root);
    assert_int_equal(b.failed, 0);
    assert_string_equal(b.data, text);
    hpc_buf_release(&b);
    hpc_json_put(&(hpc_json_out){.buf = &b}, NULL, NULL);
    assert_string_equal(b.data, "null");
    hpc_buf_release(&b);
    hpc_json_free(root);
}

static void test_write_what_was_read_deep(void **state)
{
    (void)state;
    hpc_buf deep = {0}, b = {0};
    for (int depth = 64; depth <= 600; depth += 536) {
        deep.n = 0;
        for (int i = 0; i < depth; i++) hpc_buf_text(&deep, i % 2 ? "{\"k\":" : "[");
        hpc_buf_text(&deep, "1");
        for (int i = depth; i-- > 0;) hpc_buf_text(&deep, i % 2 ? "}" : "]");
        hpc_json *root = parse(deep.data);
        hpc_json_put(&(hpc_json_out){.buf = &b}, NULL, root);
        hpc_json_free(root);
        if (depth == 64) assert_string_equal(b.data, deep.data);
    }
    assert_error(b.failed, HPC_E_FORMAT, "JSON nested deeper than 64 levels cannot be written");
    hpc_buf_release(&deep);
    hpc_buf_release(&b);
}

static void nest(hpc_buf *b, int depth)
{
    hpc_json_out w = {.buf = b};
    for (int i = 0; i < depth; i++) hpc_json_open(&w, NULL, '[');
    hpc_json_put_int(&w, NULL, 1);
    for (int i = 0; i < depth; i++) hpc_json_close(&w, ']');
    assert_int_equal(w.depth, 0);
}

static void test_write_depth(void **state)
{
    (void)state;
    hpc_buf b = {0};
    nest(&b, 64);
    assert_int_equal(b.failed, 0);
    hpc_json_free(parse(b.data));
    hpc_buf_release(&b);
    nest(&b, 70);
    assert_error(b.failed, HPC_E_FORMAT, "JSON nested deeper than 64 levels cannot be written");
    hpc_buf_release(&b);
}

static int write_body(void *user)
{
    (void)user;
    hpc_buf b = {0};
    put_sample(&(hpc_json_out){.buf = &b, .indent = 8});
    int rc = b.failed;
    hpc_buf_release(&b);
    return rc;
}

static void test_write_without_memory(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(write_body, NULL) >= 1);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_write_text),
        CASE(test_write_bad_utf8),
        CASE(test_write_any_bytes),
        CASE(test_write_reals),
        CASE(test_write_layout),
        CASE(test_write_depth),
        CASE(test_write_without_memory),
        CASE(test_write_what_was_read),
        CASE(test_write_what_was_read_deep),
    };
    return cmocka_run_group_tests_name("json_write", tests, NULL, NULL);
}
