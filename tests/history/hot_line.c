/*
 * Tests of corpus/history/hot_line.h: a moved line is recognised by its text and its neighbours.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "corpus/history/hot_line.h"

static uint32_t key(const char *text, uint32_t number)
{
    uint32_t line[32] = {0}, n = 0;
    for (const char *at = text; *at; at++)
        if (*at == '\n' || !at[1]) line[++n] = (uint32_t)(at - text) + 1;
    return hpc_line_key(text, line, n, number);
}

static void test_keys(void **state)
{
    (void)state;
    const char *text = "a;\n\tb;  \n\n  \nc;\nb;\n";
    assert_int_equal(key(text, 3), 0); /* blank ones have none, nor those that are not there */
    assert_int_equal(key(text, 4), 0);
    assert_int_equal(key(text, 0), 0);
    assert_int_equal(key(text, 7), 0);
    assert_int_not_equal(key(text, 2), 0);
    assert_int_not_equal(key(text, 2), key(text, 6)); /* the same text at another place */
    assert_int_equal(key(text, 2), key("x\na;\nb;\r\nc;\ny", 3));
    assert_int_not_equal(key(text, 2), key("a;\nb;\nd;\n", 2));
    assert_int_not_equal(key(text, 2), key("e;\nb;\nc;\n", 2));
    assert_int_not_equal(key(text, 2), key("a;\nb ;\nc;\n", 2));
    assert_int_equal(key("b;", 1), key("\n\n b;\n\n", 3)); /* without any neighbours */
    assert_int_not_equal(key("a\nb", 1), key("b\na", 2));  /* order matters */
}

static void test_shares(void **state)
{
    (void)state;
    const hpc_hot_line hot[] = {{1, 0.5f}, {7, 0.25f}, {UINT32_MAX, 0.125f}};
    assert_true(hpc_hot_share(hot, 3, 1) == 0.5f);
    assert_true(hpc_hot_share(hot, 3, 7) == 0.25f);
    assert_true(hpc_hot_share(hot, 3, UINT32_MAX) == 0.125f);
    assert_true(hpc_hot_share(hot, 3, 6) == 0);
    assert_true(hpc_hot_share(hot, 2, UINT32_MAX) == 0);
    assert_true(hpc_hot_share(NULL, 0, 1) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys), cmocka_unit_test(test_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
