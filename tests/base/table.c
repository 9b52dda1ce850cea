/*
 * Tests of runtime/base/table.c: tables and paragraphs fit a width and lose nothing else.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/table.h"
#include "tests/support/fault.h"

static int teardown(void **state)
{
    (void)state;
    hpc_test_fault_reset();
    hpc_error_clear();
    return 0;
}

enum { COLUMNS = 4 };
static const hpc_column columns[COLUMNS] = {
    {.title = "file", .fit = HPC_FIT_CUT_FRONT, .least = 10},
    {.title = "lines", .right = true},
    {.title = "unused"},
    {.title = "what", .fit = HPC_FIT_CUT, .least = 6}};

static void add_rows(hpc_table *t)
{
    static const char *const cell[][COLUMNS] = {{"src/solver/multigrid.c", "1200", "", "a solver"},
                                                {"a.c", "7", "", "caf\303\251 and more text"}};
    for (size_t r = 0; r < sizeof cell / sizeof *cell; r++)
        for (int c = 0; c < COLUMNS; c++) hpc_table_cell(t, "%s", cell[r][c]);
}

static void prints(int width, const char *expected)
{
    hpc_table t = {.column = columns, .columns = COLUMNS};
    hpc_buf out = {0};
    add_rows(&t);
    assert_int_equal(hpc_table_print(&out, &t, width), HPC_OK);
    assert_string_equal(out.data, expected);
    assert_int_equal(t.cells, 0);
    hpc_buf_release(&out);
}

static void table_without_width_is_whole(void **state)
{
    (void)state;
    prints(0, "file                    lines  what\n"
              "src/solver/multigrid.c   1200  a solver\n"
              "a.c                         7  caf\303\251 and more text\n");
}

static void narrow_table_cuts_texts_as_their_columns_allow(void **state)
{
    (void)state;
    prints(34, "file          lines  what\n"
               "...ltigrid.c   1200  a solver\n"
               "a.c               7  caf\303\251 and ...\n");
}

static void columns_that_do_not_fit_follow_below(void **state)
{
    (void)state;
    prints(20, "file          lines\n"
               "...ltigrid.c   1200\n"
               "a.c               7\n"
               "\n"
               "file        what\n"
               "...igrid.c  a so...\n"
               "a.c         caf\303\251...\n");
}

static void last_column_wraps(void **state)
{
    static const hpc_column two[] = {{.title = NULL}, {.fit = HPC_FIT_WRAP, .least = 10}};
    hpc_table t = {.column = two, .columns = 2, .indent = 2};
    hpc_buf out = {0};
    (void)state;
    hpc_table_cell(&t, "key");
    hpc_table_cell(&t, "a sentence that is long; /a/path/that/nothing/breaks");
    hpc_table_cell(&t, "%s", "");
    hpc_table_cell(&t, "%s", "");
    hpc_table_cell(&t, "other");
    hpc_table_cell(&t, "yes");
    assert_int_equal(hpc_table_print(&out, &t, 30), HPC_OK);
    assert_string_equal(out.data, "  key    a sentence that is\n"
                                  "         long;\n"
                                  "         /a/path/that/nothing/breaks\n"
                                  "\n"
                                  "  other  yes\n");
    hpc_buf_release(&out);
}

static void paragraphs_wrap_at_blanks(void **state)
{
    hpc_buf out = {0};
    (void)state;
    hpc_text_fill(&out, "one two three four", 2, 11);
    hpc_text_fill(&out, "one two three four", 2, 0);
    hpc_text_fill(&out, "averyveryverylongword one", 0, 10);
    assert_string_equal(out.data, "one two\n  three\n  four\n"
                                  "one two three four\n"
                                  "averyveryverylongword\none\n");
    hpc_buf_release(&out);
}

static void long_cells_are_kept(void **state)
{
    static const hpc_column one[] = {{.title = NULL}};
    char text[2000];
    hpc_table t = {.column = one, .columns = 1};
    hpc_buf out = {0};
    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    hpc_table_cell(&t, "%s", text);
    assert_int_equal(hpc_table_print(&out, &t, 0), HPC_OK);
    assert_int_equal(out.n, sizeof text);
    hpc_buf_release(&out);
}

static void reports_lack_of_memory(void **state)
{
    (void)state;
    for (int k = 1;; k++) {
        hpc_table t = {.column = columns, .columns = COLUMNS};
        hpc_buf out = {0};
        hpc_test_fail_alloc(k);
        add_rows(&t);
        int rc = hpc_table_print(&out, &t, 30);
        hpc_test_fault_reset();
        hpc_buf_release(&out);
        if (rc == HPC_OK) break;
        assert_int_equal(rc, HPC_E_NOMEM);
        assert_in_range(k, 1, 20);
    }
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
    const struct CMUnitTest tests[] = {
        CASE(table_without_width_is_whole),
        CASE(narrow_table_cuts_texts_as_their_columns_allow),
        CASE(columns_that_do_not_fit_follow_below),
        CASE(last_column_wraps),
        CASE(paragraphs_wrap_at_blanks),
        CASE(long_cells_are_kept),
        CASE(reports_lack_of_memory),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
