/*
 * grammar.c: texts that the rules accept as prefixes, and where they may end. grammar_directive.c
 * tests directives, grammar_vocabulary.c tokens.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/grammar.h"
#include "tests/support/expect.h"

/* ---- brackets -------------------------------------------------------------------------------- */

static const char *const balanced[][2] = {
    {"", ""},
    {"", "int main(void) { return a[0]; }\n"},
    {"int f(int a[", "3]) { return (a[1]); }"},
    {"void f() {\n  if (x) {\n    g(", "1, 2);\n  }\n}\n"},
    {"for (i = 0; i < n; i++) {", "\n  a[i] = '}';\n  b = \")\";\n}"},
    {"{", "/* ) ] */ // ) ] }\n}"},
    {"{", "// goes on \\\n ) ] \n}"},
    {"/* open (", " ) ] */ ()"},
    {"// (", " ) ]\n()"},
    {"s = \"(", ")\\\")\" ; ()"},
    {"s = \"a\\", "\"]\"; ()"},
    {"c = '", "(' + '\\'' + ')'; ()"},
    {"R\"(", " ) ] \" ) }\" )\"; ()"},
    {"R\"xy(", " )\" )x\" )xz\" )xy\"; ()"},
    {"u8R\"(", ")\" ()"},
    {"LR\"--(", ")--\" ()"},
    {"bR\"(", "]\" ()"}, /* a name, then a string */
    {"", "int n = 1'000'000; f('(');"},
    {"", "x = 0x1'F(a); L')' u')' U')' u8')'"},
    {"#error don't (", "\n()"},
    {"", "#define SQUARE(x) ((x) * (x))\n()"},
    {"{", "\n#define BEGIN {{ (\n}"},
    {"{\n#define MAX(a, b) \\\n  ((a) > (b)", " \\\n ? (a) : (b))\n}"},
    {"(", "\n  # pragma omp for schedule(static)\n)"},
    {"(", " # )"}, /* no directive: not first on its line */
    {"/* c */ #if (", ")\n"},
    {"k<<<", "grid, block>>>(x);"},
    {"a[b[", "c](d)]"}, /* the prefix's [ stay open: see below */
    {"f<:", ":> ()"},
    {"} ) ]", "()"}, /* what the prefix did wrong is its own business */
    {"( ] {", "})"},
    {"(a { b )", "()"}, /* the ) closed both */
    {"a / (", ")"},
    {"a /* / ", "*/ ()"},
    {"a /", "/ )\n"},
    {"(\n/", " # )"},
    {"a /", "* ) */"},
    {"\xc3\xa9R\"(", "\" ()"},
    {"for (int i = 0", "; i < n; i++) a[i];"},
    {"for", " (;;) {}"},
    {"{ fo", "r /* ; */ // for\n(i = f(a); ; ) for (;;);"},
    {"", "cilk_for (i = 0; i < n; i++); if (auto x = f(); x) {} switch (g(); 1) {}"},
    {"", "\xc3\xa9 f(({ a; b; }), [&] { return (x); }, \";\", ';', /* ; */ 1);"},
    {"f(a // ;\n", "\n#pragma ;\n);"},
    {"f(", "\n#define END ;\n#define DO(x) { f(x); }\n)"},
    {"{\n#if A\n  while (f(x) &&\n#else\n  while (\n#endif\n      g(y)) {\n    h();\n  }\n  i();\n",
     "}"},
    {"{\n#if A\n  while (f(x) &&\n#else\n  while (\n#endif\n      g(y)) {\n    h(", "); }\n  i();"},
    {"{ a = f(b; c = d[1; ", "}"}, /* the text before closes what it forgot */
    {"", "if constexpr (auto x = f(); x) {}"},
    {"{ if constexpr (auto x = f();", " x) {} }"},
    {"for\r\n", "(;;); fo\\\nr (;;);"},
    {"x = f(g(a", ");"}, /* may be the text's mistake */
};

static const char *const unbalanced[][2] = {
    {"", "!)"},
    {"(", "!]"},
    {"({", "}!]"},
    {"int f(int a", ") { return a[0!}"},
    {"{", "}\n!}"},
    {"{\n#define X (", ") !)"},
    {"{", "\n#define END !}"},
    {"(\n#if 1 ", "\n)!)"},
    {"s = \"(\"", "!)"},
    {"s = \"", "(\"!)"},
    {"s = \"\\", "\"\"!)"},
    {"c = 1'", "0!)"},
    {"c = '", "'!)"},
    {"/* ( ", "(*/!)"},
    {"// (", "\n!)"},
    {"// \\", "\n)\n!)"},
    {"R\"(", ")\"!)"},
    {"R\"a b(", "\"!)"},   /* no delimiter */
    {"s = \"abc", "\n!)"}, /* ends with its line */
    {"a /", " !)"},
    {"k<<<1, ", "2>>>(x!]"},
    {"f(", "a!;"},
    {"a[", "1!;"},
    {"{ x = norm(a, n", "!; }"},
    {"for (i = f(", "0!; i < n; i++)"},
    {"for (i = 0; i < n; i++) f", "(i!;"},
    {"for x (", "!;"},
    {"", "forx (!;"},
    {"", "xfor (!;"},
    {"", "while (a!;"},
    {"", "if (a[0!;"},
    {"f('\\'', ", "\"(\"!;"},
    {"(\n#define F(x) g(x", ")\n!;"},
    {"{ (\n#define F for\n", "(!;"},
    {"{ { f(a", "); } y = g(b!;"},
    {"", "it = find_if(a, b!;"},
};

static void brackets(void **state)
{
    const hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_BRACKETS);

    (void)state;
    for (size_t k = 0; k < sizeof balanced / sizeof *balanced; k++)
        hpc_test_taken(&r, balanced[k][0], balanced[k][1]);
    for (size_t k = 0; k < sizeof unbalanced / sizeof *unbalanced; k++)
        hpc_test_refused(&r, unbalanced[k][0], unbalanced[k][1]);
}

static void of_the_text_before_some_may_be_closed(void **state)
{
    hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_BRACKETS);

    (void)state;
    hpc_test_taken(&r, "{ { (", ")}}");
    r.closers = 2;
    hpc_test_refused(&r, "{ { (", "){}}()!}");
    r.closers = 0;
    hpc_test_taken(&r, "{ { (", "()");
    hpc_test_refused(&r, "{ { (", "!)");
    r.closers = 9;
    hpc_test_refused(&r, "{", "}!}");
    /* Those of a directive are not counted among them. */
    r.closers = 1;
    hpc_test_refused(&r, "{ {\n#if f((", "))\n}!}");
}

static void as_many_are_open_as_before(void **state)
{
    hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_BRACKETS);

    (void)state;
    assert_true(hpc_test_may_end(&r, "f(", "g(\"")); /* anywhere */
    r.balanced = true;
    assert_true(hpc_test_may_end(&r, "f(", ""));
    assert_false(hpc_test_may_end(&r, "f(", "g("));
    assert_true(hpc_test_may_end(&r, "f(", "g()"));
    assert_false(hpc_test_may_end(&r, "f(", ")"));
    assert_true(hpc_test_may_end(&r, "if (x) {", "} else {"));
    assert_false(hpc_test_may_end(&r, "f(", "\"a"));
    assert_false(hpc_test_may_end(&r, "f(", "// a"));
    assert_true(hpc_test_may_end(&r, "f(", "// a\n"));
    assert_false(hpc_test_may_end(&r, "f(", "\n#if a"));
    assert_true(hpc_test_may_end(&r, "f(", "\n#if a\n"));
    assert_false(hpc_test_may_end(&r, "f(", "\\"));
    /* Begun in the prefix: it may continue. */
    assert_true(hpc_test_may_end(&r, "// a", " b"));
    assert_false(hpc_test_may_end(&r, "// a", " b\n// c"));
    assert_true(hpc_test_may_end(&r, "(\n#define A f(", "x"));
    assert_false(hpc_test_may_end(&r, "(\n#define A f(", "x)"));
    assert_true(hpc_test_may_end(&r, "(\n#define A f(", "x)\n"));
}

static void brackets_are_bounded(void **state)
{
    hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_BRACKETS);
    char many[600];

    (void)state;
    memset(many, '(', sizeof many);
    assert_true(hpc_grammar_accepts(&r, "", 0, many, 256, NULL));
    assert_false(hpc_grammar_accepts(&r, "", 0, many, 257, NULL));
    /* Also in a directive. */
    strcpy(many + 250, "\n#if [[[[[[[[[[");
    hpc_test_refused(&r, many, "]]]]]]]]]]!]");
    hpc_test_taken(&r, many, "]]]\n)))))");
    memset(many, '(', sizeof many);
    many[0] = '[', many[300] = '{';
    r.balanced = true;
    for (size_t n = 300; n < 302; n++) { /* the innermost 256 of those before */
        char closers[260];
        memset(closers, ')', sizeof closers);
        closers[0] = n == 301 ? '}' : ')';
        assert_true(hpc_grammar_accepts(&r, many, n, closers, 256, NULL));
        assert_false(hpc_grammar_accepts(&r, many, n, closers, 257, NULL));
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static const char *const values[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-12.50e+10",
    "1E9",
    "0.001",
    "123456789012345678",
    "\"\"",
    "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0041\\uD834\\udd1e\"",
    "[]",
    "{}",
    "[ ]",
    "{ }",
    " \t\r\n[1 , [ ] ,{ } , \"x\" , null ]",
    "{\"a\":1}",
    "{ \"a\" : [ true , { \"b\" : { } } ] }",
    "\"Gr\303\266\303\237e \342\206\222 \360\237\232\200 \355\237\277 \356\200\200\"",
    "[1e1,-1,0.5E-3,2]",
    "\"\x7f\"",
};

static const char *const no_values[] = {
    "!,",
    "!]",
    "nul!\n",
    "t!True",
    "!True",
    "!'a'",
    "0!1",
    "-!a",
    "1.!e5",
    "1e!x",
    "1e+!,",
    "1!a",
    "123456789012345678!9",
    "0.123456789012345678!9",
    "1e12!3",
    "[1!}",
    "[1 !2]",
    "[!,",
    "[1,!]",
    "{!1:2}",
    "{\"a\"!}",
    "{\"a\":!}",
    "{\"a\":1!]",
    "{\"a\":1,!}",
    "{\"a\" !\"b\"}",
    "\"a!\n\"",
    "\"\\!x\"",
    "\"\\u00!g0\"",
    "\"\\u000!0\"",
    "\"\\ud800!\"",
    "\"\\ud800\\!n\"",
    "\"\\ud800\\ud!800\"",
    "\"\\ud800\\u!0041\"",
    "\"\\ud!c00\"",
    "\"!\x80\"",
    "\"!\xc1\"",
    "\"\xe0!\x80\x80\"",
    "\"\xed!\xa0\x80\"",
    "\"\xf0!\x80\"",
    "\"\xf4!\x90\"",
    "\"!\xf5\"",
    "\"\xc3!\"",
    "[]! ",
    "{}!{",
    "\"\"!\n",
    "true!,",
};

static void json(void **state)
{
    const hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_JSON);
    char before[100];

    (void)state;
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        hpc_json *v;
        test_ok(hpc_json_parse(&v, values[k], strlen(values[k]), "test"));
        hpc_json_free(v);
        for (size_t n = 0; n <= strlen(values[k]); n++) {
            snprintf(before, sizeof before, "%.*s", (int)n, values[k]);
            hpc_test_taken(&r, before, values[k] + n);
        }
    }
    for (size_t k = 0; k < sizeof no_values / sizeof *no_values; k++)
        hpc_test_refused(&r, "", no_values[k]);
    assert_false(hpc_test_may_end(&r, "", ""));
    assert_false(hpc_test_may_end(&r, "[", "1"));
    assert_true(hpc_test_may_end(&r, "1", "2"));
}

static void levels_are_bounded(void **state)
{
    const hpc_grammar_rule r = hpc_test_rule(HPC_GRAMMAR_JSON);
    char deep[200];
    bool complete;

    (void)state;
    memset(deep, '[', sizeof deep);
    assert_false(hpc_grammar_accepts(&r, "", 0, deep, 65, NULL));
    memset(deep + 64, ']', 64);
    assert_true(hpc_grammar_accepts(&r, "", 0, deep, 128, &complete));
    assert_true(complete);
    assert_true(hpc_grammar_accepts(&r, "", 0, deep, 127, &complete));
    assert_false(complete);
    deep[127] = '}';
    assert_false(hpc_grammar_accepts(&r, "", 0, deep, 128, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brackets),
        cmocka_unit_test(of_the_text_before_some_may_be_closed),
        cmocka_unit_test(as_many_are_open_as_before),
        cmocka_unit_test(brackets_are_bounded),
        cmocka_unit_test(json),
        cmocka_unit_test(levels_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
