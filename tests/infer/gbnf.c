/*
 * Tests of grammars in GBNF: which texts they accept, and errors.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "infer/engine/grammar.h"
#include "tests/support/expect.h"
#include "tests/support/fault.h"

/* 0: rejected; 1: incomplete; 2: it may end. */
static int judge(hpc_gbnf *g, const char *text, size_t n)
{
    int32_t state = hpc_gbnf_start(g);
    for (size_t k = 0; k < n && state >= 0; k++) state = hpc_gbnf_step(g, state, (uint8_t)text[k]);
    return state < 0 ? 0 : hpc_gbnf_may_end(g, state) ? 2 : 1;
}

typedef struct expected {
    const char *grammar, *whole[4], *part[4], *wrong[4]; /* up to NULL */
} expected;

static void check(const expected *e)
{
    hpc_gbnf *g;
    test_ok(hpc_gbnf_parse(&g, e->grammar, strlen(e->grammar)));
    for (int k = 0; k < 4; k++) {
        if (e->whole[k]) assert_int_equal(judge(g, e->whole[k], strlen(e->whole[k])), 2);
        if (e->part[k]) assert_int_equal(judge(g, e->part[k], strlen(e->part[k])), 1);
        if (e->wrong[k]) assert_int_equal(judge(g, e->wrong[k], strlen(e->wrong[k])), 0);
    }
    hpc_gbnf_free(g);
}

static void texts_follow_their_rules(void **state)
{
    static const expected all[] = {
        {"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "y", "n"}, {"x", "yess", "noyes"}},
        {"root ::= a b?\na ::= [a-c]+ # letters\nb ::= \"-\" [^x\\n]",
         {"a", "abc", "ab-z"},
         {"", "a-"},
         {"d", "a-x", "a-\n", "a-zz"}},
        {"root ::= \"a\"{2} \"b\"{1,} \"c\"{0,2}",
         {"aab", "aabbb", "aabcc"},
         {"a", "aa"},
         {"ab", "aaab", "aabccc"}},
        {"root ::= (\"x\" | \"y\"\n | \"z\")* \"!\"", {"!", "xyz!"}, {"", "xx"}, {"w", "!!"}},
        {"root ::= \"\\x41\\u00e9\\U0001f600\\\"\\\\\\t\"",
         {"A\u00e9\U0001f600\"\\\t"},
         {"A"},
         {"a"}},
        {"root ::=\n  item |\n  item \"!\"\nitem ::= \"a\"\n", {"a", "a!"}, {""}, {"b"}},
        {"root ::= \"\" | root-2\nroot-2 ::= \"(\" root \")\"",
         {"", "()", "((()))"},
         {"(", "(("},
         {")", "())"}},
        {"root ::= [a-] [\\]] [^\\^-]", {"a]b", "-]b"}, {"a", "a]"}, {"b", "a]^", "a]-"}},
        {"root ::= (\"\"* \"a\"?)*", {"", "a", "aaa"}, {NULL}, {"b"}},
    };
    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) check(&all[k]);
}

/* Every code point, in and outside a class, by its UTF-8. */
static void classes_are_of_code_points(void **state)
{
    static const struct {
        const char *grammar;
        uint32_t lo, hi;
        bool within;
    } cases[] = {{"root ::= [\\u0020-\\u07ff]", 0x20, 0x7ff, true},
                 {"root ::= [\\u07fe-\\U00010001]", 0x7fe, 0x10001, true},
                 {"root ::= [^\\u0081-\\U0010fffe]", 0x81, 0x10fffe, false},
                 {"root ::= .", 0, 0x10ffff, true},
                 {"root ::= [\\u1234-\\U00054321]", 0x1234, 0x54321, true}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_gbnf *g;
        test_ok(hpc_gbnf_parse(&g, cases[k].grammar, strlen(cases[k].grammar)));
        for (uint32_t c = 0; c <= 0x10ffff; c += c > 0x20000 && (c & 0xfff) == 0x80 ? 0xf81 : 1) {
            char text[4];
            size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            uint32_t rest = c;
            for (size_t i = n; i-- > 1; rest >>= 6) text[i] = (char)(0x80 | (rest & 63));
            text[0] = (char)(n == 1 ? c : ((0xf00u >> n) & 0xf0u) | rest);
            const bool surrogate = c >= 0xd800 && c < 0xe000;
            const bool is_in = (c >= cases[k].lo && c <= cases[k].hi) == cases[k].within;
            const int want = is_in && !surrogate ? 2 : 0;
            if (judge(g, text, n) != want) fail_msg("%s: U+%04X", cases[k].grammar, (unsigned)c);
        }
        hpc_gbnf_free(g);
    }
}

static void right_recursion_needs_no_further_states(void **state)
{
    static const char text[] = "root ::= \"a\" root | \"b\"";
    hpc_gbnf *g;
    (void)state;
    test_ok(hpc_gbnf_parse(&g, text, strlen(text)));
    int32_t now = hpc_gbnf_step(g, hpc_gbnf_start(g), 'a');
    const int32_t first = now;
    for (int k = 0; k < 100000; k++) now = hpc_gbnf_step(g, now, 'a');
    assert_int_equal(now, first);
    hpc_gbnf_free(g);
}

/* Nested deeper than stacks are kept: it is rejected, and nothing else happens. */
static void depth_has_a_limit(void **state)
{
    static const char text[] = "root ::= \"(\" root \")\" | \"x\"";
    hpc_gbnf *g;
    int32_t now, n = 0;
    (void)state;
    test_ok(hpc_gbnf_parse(&g, text, strlen(text)));
    for (now = hpc_gbnf_start(g); now >= 0; n++) now = hpc_gbnf_step(g, now, '(');
    assert_in_range(n, 1000, 100000);
    hpc_gbnf_free(g);
}

static void errors_name_the_place(void **state)
{
    static const struct {
        const char *grammar, *text;
    } cases[] = {{"", "no rule \"root\""},
                 {"a ::= \"b\"", "no rule \"root\""},
                 {"root ::= a", "line 1: the rule a is not defined"},
                 {"root ::= \"a\"\nroot ::= \"b\"", "twice"},
                 {"root ::= \"a", "the end of the text"},
                 {"root = \"a\"", "line 1: expected ::="},
                 {"root ::= \"a\"\n\nb ::= )", "line 3"},
                 {"root ::= (\"a\"", "expected )"},
                 {"root ::= [z-a]", "ascending"},
                 {"root ::= \"\\q\"", "an escape"},
                 {"root ::= \"\\u12\"", "hexadecimal"},
                 {"root ::= \"\\U00110000\"", "10FFFF"},
                 {"root ::= \"a\"{3,2}", "repetition"},
                 {"root ::= \"a\"{99999}", "4096"},
                 {"root ::= ((((\"a\"{4096}){4096}){4096}){4096})", "too large"},
                 {"root ::= ((((\"\"{4096}){4096}){4096}){4096})", "too large"},
                 {"root ::= root \"a\" | \"b\"", "the rule root of the grammar begins with itself"},
                 {"root ::= \"x\"? a\na ::= b? root \"y\"\nb ::= \"c\"*", "begins with itself"},
                 {"root ::= <think>", "expected the end of the rule"}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hpc_gbnf *g;
        test_fails(hpc_gbnf_parse(&g, cases[k].grammar, strlen(cases[k].grammar)), HPC_E_ARG,
                   cases[k].text);
        assert_null(g);
    }
}

static void rule_of_the_grammar_interface(void **state)
{
    static const char text[] = "root ::= \"ab\"+";
    hpc_grammar_rule r = HPC_GRAMMAR_RULE_DEFAULTS;
    bool whole;
    (void)state;
    r.kind = HPC_GRAMMAR_GBNF;
    test_ok(hpc_gbnf_parse(&r.gbnf, text, strlen(text)));
    assert_true(hpc_grammar_accepts(&r, "anything", 8, "abab", 4, &whole));
    assert_true(whole);
    assert_true(hpc_grammar_accepts(&r, NULL, 0, "aba", 3, &whole));
    assert_false(whole);
    assert_false(hpc_grammar_accepts(&r, NULL, 0, "aa", 2, NULL));
    hpc_gbnf_free(r.gbnf);
}

static int parse_one(void *user)
{
    static const char text[] = "root ::= a | \"b\"{2} [^x-z]\na ::= (\"c\" | .)* \"d\"";
    hpc_gbnf *g;
    (void)user;
    const int rc = hpc_gbnf_parse(&g, text, strlen(text));
    hpc_gbnf_free(g);
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(parse_one, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_follow_their_rules),
        cmocka_unit_test(classes_are_of_code_points),
        cmocka_unit_test(right_recursion_needs_no_further_states),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(rule_of_the_grammar_interface),
        cmocka_unit_test(memory_may_be_short_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
