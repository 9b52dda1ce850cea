/*
 * Tests of infer/complete/spot.c: positions, line ends, encodings, and conversion back.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "infer/complete/complete.h"
#include "tests/support/fault.h"
#include "tests/support/expect.h"

typedef struct example {
    const char *bytes;
    int64_t line, col;
    size_t at, raw;   /* expected */
    const char *text; /* NULL: the bytes */
} example;

static void test_places(void **state)
{
    (void)state;
    static const example all[] = {
        {"", 0, 0, 0, 0, NULL},
        {"", 1, 1, 0, 0, NULL},
        {"a", 0, 0, 1, 1, NULL},
        {"ab\ncd", 1, 0, 2, 2, NULL},
        {"ab\ncd", 2, 1, 3, 3, NULL},
        {"ab\ncd", 2, 3, 5, 5, NULL},
        {"ab\ncd", 0, 2, 4, 4, NULL},
        {"ab\n", 0, 0, 3, 3, NULL},
        {"ab\n", 2, 1, 3, 3, NULL},
        {"\tab\n", 1, 2, 1, 1, NULL},
        {"ab\r\ncd\r\n", 1, 0, 2, 2, "ab\ncd\n"},
        {"ab\r\ncd\r\n", 2, 2, 4, 5, "ab\ncd\n"},
        {"a\rb\n", 1, 3, 2, 2, "a\rb\n"},
        {"\xc3\xa9x\n", 1, 2, 2, 2, NULL},
        {"\xe9x\n", 1, 2, 2, 1, "\xc3\xa9x\n"},
        {"\xef\xbb\xbf"
         "ab",
         1, 1, 0, 3, "ab"},
        {"\xed\xa0\x80", 1, 2, 2, 1, "\xc3\xad\xc2\xa0\xc2\x80"}, /* a surrogate is not UTF-8 */
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        const example *e = &all[k];
        const char *text = e->text ? e->text : e->bytes;
        hpc_spot d;
        test_ok(
            hpc_spot_open(&d, "a.c", e->bytes, strlen(e->bytes), (hpc_position){e->line, e->col}));
        assert_int_equal(d.text.n, strlen(text));
        assert_memory_equal(d.text.data, text, strlen(text) + 1);
        assert_int_equal(d.at, e->at);
        assert_int_equal(d.raw_at, e->raw);
        assert_int_equal(d.language, HPC_LANGUAGE_C);
        hpc_spot_close(&d);
    }
}

static void refused(const char *bytes, size_t n, int64_t line, int64_t col, int code,
                    const char *says)
{
    hpc_spot d;
    hpc_error_clear();
    assert_int_equal(hpc_spot_open(&d, "a.c", bytes, n, (hpc_position){line, col}), code);
    assert_string_equal(hpc_error_get()->text, says);
    assert_null(d.text.data);
    hpc_error_clear();
}

static void test_mistakes(void **state)
{
    (void)state;
    refused("ab\ncd", 5, 3, 0, HPC_E_ARG, "a.c:3: the file has only 2 lines");
    refused("ab\ncd\n", 6, 4, 1, HPC_E_ARG, "a.c:4: the file has only 2 lines");
    refused("a\n", 2, 3, 0, HPC_E_ARG, "a.c:3: the file has only 1 line");
    refused("", 0, 2, 0, HPC_E_ARG, "a.c:2: the file has only 1 line");
    refused("a\n\n", 3, 4, 0, HPC_E_ARG, "a.c:4: the file has only 2 lines");
    refused("ab\ncd", 5, 2, 4, HPC_E_ARG, "a.c:2:4: the line has only 3 columns");
    refused("", 0, 1, 2, HPC_E_ARG, "a.c:1:2: the line has only 1 column");
    refused("ab", 2, -1, 0, HPC_E_ARG, "a.c:-1:0: lines and columns count from 1");
    refused("a\0b", 3, 0, 0, HPC_E_FORMAT, "a.c: not text: byte 1 is NUL");
    refused("\xff\xfe"
            "a\0",
            4, 0, 0, HPC_E_FORMAT, "a.c: UTF-16 text: convert it to UTF-8 first");
}

/* A text put in is spelled as the file is. */
static void spelled(const char *bytes, const char *text, const char *expected)
{
    hpc_spot d;
    hpc_buf out = {0};
    test_ok(hpc_spot_open(&d, "a.c", bytes, strlen(bytes), (hpc_position){0}));
    test_ok(hpc_spot_spell(&out, &d, text, strlen(text)));
    assert_string_equal(out.data, expected);
    hpc_buf_release(&out);
    hpc_spot_close(&d);
}

static void test_spelling(void **state)
{
    (void)state;
    spelled("a\n", "x\ny\xc3\xa9", "x\ny\xc3\xa9");
    spelled("a\r\n", "x\ny\n", "x\r\ny\r\n");
    spelled("a\r\nb\nc\nd\n", "x\n", "x\n"); /* mostly line feeds */
    spelled("\xe9\n", "\xc3\xbc\xc2\xa0\n", "\xfc\xa0\n");
    hpc_spot d;
    hpc_buf out = {0};
    test_ok(hpc_spot_open(&d, "a.c", "\xe9", 1, (hpc_position){0}));
    test_fails(hpc_spot_spell(&out, &d, "\xe2\x82\xac", 3), HPC_E_UNSUPPORTED,
               "the file is in Latin-1, which has no \"\xe2\x82\xac\": convert it to UTF-8");
    hpc_buf_release(&out);
    hpc_spot_close(&d);
}

/* All bytes there are, each in its place. */
static void test_all_of_latin1_comes_back(void **state)
{
    (void)state;
    char bytes[255];
    hpc_spot d;
    hpc_buf out = {0};
    for (int k = 0; k < 255; k++) bytes[k] = (char)(k + 1);
    test_ok(hpc_spot_open(&d, "a.c", bytes, 255, (hpc_position){0}));
    assert_true(d.latin1);
    test_ok(hpc_spot_spell(&out, &d, d.text.data, d.text.n));
    assert_int_equal(out.n, 255);
    assert_memory_equal(out.data, bytes, 255);
    hpc_buf_release(&out);
    hpc_spot_close(&d);
}

static void test_a_megabyte(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *bytes = malloc(N);
    hpc_spot d;
    for (int k = 0; k < N; k++) bytes[k] = k % 64 == 63 ? '\n' : 'x';
    test_ok(hpc_spot_open(&d, "a.c", bytes, N, (hpc_position){N / 128, 5}));
    assert_int_equal(d.at, (N / 128 - 1) * 64 + 4);
    hpc_spot_close(&d);
    free(bytes);
}

static int open_and_close(void *user)
{
    hpc_spot d;
    int rc = hpc_spot_open(&d, "a.c", user, strlen(user), (hpc_position){1, 2});
    hpc_spot_close(&d);
    return rc;
}

static void test_each_allocation_fails(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(open_and_close, (void *)"\xe9 a\r\nb") >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),     cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_spelling),   cmocka_unit_test(test_all_of_latin1_comes_back),
        cmocka_unit_test(test_a_megabyte), cmocka_unit_test(test_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
