/*
 * Tests of infer/serve/document.c: positions in both units, edits, and paths of URIs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "infer/serve/document.h"
#include "tests/support/expect.h"

/* e with an acute accent has 2 bytes and 1 unit of UTF-16, the smiling face has 4 and 2. */
#define FACE "\xf0\x9f\x98\x80"
#define TEXT "a\xc3\xa9" FACE "z\r\nsecond\rthird\n"

static void positions_count_in_the_unit_of_the_client(void **state)
{
    static const struct {
        int64_t line, utf8, utf16;
        size_t at;
    } p[] = {{0, 0, 0, 0},  {0, 1, 1, 1},  {0, 3, 2, 3},  {0, 7, 4, 7},  {0, 8, 5, 8},
             {1, 0, 0, 10}, {1, 6, 6, 16}, {2, 0, 0, 17}, {2, 5, 5, 22}, {3, 0, 0, 23}};
    hpc_buf text = {.data = (char[]){TEXT}, .n = sizeof TEXT - 1};
    (void)state;
    for (size_t k = 0; k < sizeof p / sizeof *p; k++) {
        const int64_t unit[2] = {p[k].utf8, p[k].utf16};
        for (int u = 0; u < 2; u++) {
            hpc_text_position q = {p[k].line, unit[u]};
            assert_int_equal(hpc_text_offset(&text, q, (hpc_position_unit)u), p[k].at);
            q = hpc_text_position_of(&text, p[k].at, (hpc_position_unit)u);
            assert_int_equal(q.line, p[k].line);
            assert_int_equal(q.character, unit[u]);
        }
    }
}

static void positions_outside_the_text_are_moved_into_it(void **state)
{
    hpc_buf text = {.data = (char[]){TEXT}, .n = sizeof TEXT - 1};
    (void)state;
    assert_int_equal(hpc_text_offset(&text, (hpc_text_position){0, 99}, HPC_UNIT_UTF16), 8);
    assert_int_equal(hpc_text_offset(&text, (hpc_text_position){99, 0}, HPC_UNIT_UTF16), 23);
    /* in the middle of a character: where it begins */
    assert_int_equal(hpc_text_offset(&text, (hpc_text_position){0, 2}, HPC_UNIT_UTF8), 1);
    assert_int_equal(hpc_text_offset(&text, (hpc_text_position){0, 3}, HPC_UNIT_UTF16), 3);
    assert_int_equal(hpc_text_position_of(&text, 5, HPC_UNIT_UTF16).character, 2);
    assert_int_equal(hpc_text_position_of(&text, 9, HPC_UNIT_UTF16).line, 0); /* CR | LF */
}

static void bytes_that_are_no_utf8_count_one_each(void **state)
{
    hpc_buf text = {.data = (char[]){"\xe9\xff"
                                     "b"},
                    .n = 3};
    (void)state;
    assert_int_equal(hpc_text_offset(&text, (hpc_text_position){0, 2}, HPC_UNIT_UTF16), 2);
    assert_int_equal(hpc_text_position_of(&text, 3, HPC_UNIT_UTF16).character, 3);
}

static void edits_apply_one_after_another(void **state)
{
    hpc_documents d = {0};
    (void)state;
    test_ok(hpc_documents_put(&d, "file:///a.c", 1, "int a;\n", 7));
    test_ok(hpc_documents_put(&d, "file:///b.c", 1, "", 0));
    hpc_document *x = hpc_documents_find(&d, "file:///a.c");
    test_ok(hpc_document_edit(x, 4, 5, "bcd", 3));
    test_ok(hpc_document_edit(x, x->text.n, x->text.n, "int e;\n", 7));
    assert_string_equal(x->text.data, "int bcd;\nint e;\n");
    test_ok(hpc_document_edit(x, 0, x->text.n, "", 0));
    assert_string_equal(x->text.data, "");
    assert_int_equal(hpc_document_edit(x, 1, 0, "", 0), HPC_E_ARG);
    assert_int_equal(hpc_document_edit(x, 0, 1, "", 0), HPC_E_ARG);
    hpc_error_clear();
    test_ok(hpc_documents_put(&d, "file:///a.c", 7, "new", 3)); /* opened again */
    assert_int_equal(d.n, 2);
    assert_string_equal(hpc_documents_find(&d, "file:///a.c")->text.data, "new");
    hpc_documents_close(&d, "file:///a.c");
    assert_null(hpc_documents_find(&d, "file:///a.c"));
    assert_non_null(hpc_documents_find(&d, "file:///b.c"));
    hpc_documents_release(&d);
}

static void paths_are_decoded(void **state)
{
    static const char *const pairs[][2] = {{"file:///a/b%20c%2B%2b.c", "/a/b c++.c"},
                                           {"file://localhost/a.c", "/a.c"},
                                           {"file:///a%zz%4", "/a%zz%4"},
                                           {"file:///a.c#L1", "/a.c"},
                                           {"file://host/a.c", NULL},
                                           {"untitled:Untitled-1", NULL}};
    (void)state;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        char *path;
        test_ok(hpc_uri_path(&path, pairs[k][0]));
        if (pairs[k][1])
            assert_string_equal(path, pairs[k][1]);
        else
            assert_null(path);
        hpc_free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_count_in_the_unit_of_the_client),
        cmocka_unit_test(positions_outside_the_text_are_moved_into_it),
        cmocka_unit_test(bytes_that_are_no_utf8_count_one_each),
        cmocka_unit_test(edits_apply_one_after_another),
        cmocka_unit_test(paths_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
