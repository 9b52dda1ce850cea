/*
 * Tests of runtime/source/check_bracket.c: unmatched brackets, and text that may fill a gap.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/source/check_priv.h"
#include "tests/support/fault.h"

static void unmatched(const char *text, size_t from, int64_t expected, const char *first)
{
    hpc_tokens t = {0};
    int64_t n, token;
    assert_int_equal(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_C, false), 0);
    assert_int_equal(check_unmatched(&n, &token, &t, text, from), 0);
    assert_int_equal(n, expected);
    if (first)
        assert_string_equal(text + t.item[token].at, first);
    else
        assert_int_equal(token, t.n);
    hpc_tokens_release(&t);
}

static void brackets_without_a_partner(void **state)
{
    (void)state;
    unmatched("", 0, 0, NULL);
    unmatched("int f(int a[3]) { return (a[0]); }", 0, 0, NULL);
    unmatched("f(a", 0, 1, "(a");
    unmatched("f)a", 0, 1, ")a");
    unmatched("{ f(a; }", 0, 1, "(a; }");
    unmatched("{ f(a[1); }", 0, 1, "[1); }");
    unmatched("{ f(a]); }", 0, 1, "]); }");
    unmatched("{ ( } )", 0, 2, "( } )"); /* a block ends what is open in it */
    unmatched("{ { }", 0, 1, "{ { }");
    unmatched("{ } }", 0, 1, "}");
    unmatched("((( {", 0, 4, "((( {");
    unmatched("(x } (", 3, 3, "} (");
    unmatched("(x", 1, 1, NULL);
    unmatched("/* ( */ \"(\" '('\n#define B (\n", 0, 0, NULL);
}

/* The gap is where '@' is; its fillings, each in < >. */
static void fillings(const char *before, const char *behind, const char *expected)
{
    hpc_buf text = {0}, out = {0}, shown = {0};
    hpc_tokens t = {0};
    int64_t n;
    hpc_buf_printf(&text, "%s%s", before, behind);
    assert_int_equal(text.failed, 0);
    assert_int_equal(hpc_lex(&t, text.data, text.n, HPC_LANGUAGE_C, false), 0);
    assert_int_equal(check_fillings(&out, &n, &t, text.data, strlen(before), strlen(before)), 0);
    const char *p = out.data;
    for (int64_t k = 0; k < n; k++, p += strlen(p) + 1) hpc_buf_printf(&shown, "<%s>", p);
    assert_string_equal(shown.data, expected);
    hpc_buf_release(&text);
    hpc_buf_release(&out);
    hpc_buf_release(&shown);
    hpc_tokens_release(&t);
}

static void what_may_fill_a_gap(void **state)
{
    (void)state;
    fillings("int f(int x)\n", "\nint g;", "<;><0;><{}><0{}><0>");
    fillings("int f(int x)\n{ ", "", "<;}><0;}><{}}><0{}}><}><0}>");
    fillings("{ g(a, ", "\n", "<);}><0);}><){}}><0){}}><)}><0)}>");
    fillings("{ g(a, ", "); }", "<;><0;><{}><0{}><0>");
    fillings("{ if (x[", " y(); } }", "<]){;><0]){;><]){{}><0]){{}><]){><0]){>");
    fillings("", "}", "<{;><0{;><{{}><0{{}><{><0{>");
    fillings("{ {", "{", "<;}}><0;}}><{}}}><0{}}}><}}><0}}>");
}

static int all_once(void *user)
{
    (void)user;
    static const char text[] = "{ ( [ ] ) } ) ) (((( {{{{";
    hpc_tokens t = {0};
    hpc_buf out = {0};
    int64_t n, token;
    int rc;
    TRY(hpc_lex(&t, text, strlen(text), HPC_LANGUAGE_C, false));
    TRY(check_unmatched(&n, &token, &t, text, 0));
    assert_int_equal(n, 10);
    TRY(check_fillings(&out, &n, &t, text, 5, 5));
    assert_int_equal(n, 6);
out:
    hpc_tokens_release(&t);
    hpc_buf_release(&out);
    return rc;
}

static void each_allocation(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(all_once, NULL) >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brackets_without_a_partner),
        cmocka_unit_test(what_may_fill_a_gap),
        cmocka_unit_test(each_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
