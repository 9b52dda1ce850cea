/*
 * code_graph.c: nodes and typed edges of loops and of changes, damaged texts, and the limit of
 * nodes.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/source/graphs.h"

typedef struct sample {
    hpc_code_graph g;
    hpc_tokens t;
} sample;

static void graph_of(sample *s, const char *text)
{
    test_ok(hpc_lex(&s->t, text, strlen(text), HPC_LANGUAGE_C, false));
    test_ok(hpc_code_graph_of(&s->g, &s->t, text, 0, strlen(text), HPC_LANGUAGE_C));
}

static void release(sample *s)
{
    hpc_code_graph_release(&s->g);
    hpc_tokens_release(&s->t);
}

static void control_follows_loops_branches_and_jumps(void **state)
{
    (void)state;
    sample s = {0};
    /*           0         1         2         3
     *           0123456789012345678901234567890123456789 */
    graph_of(&s, "for (;;) { a; b; } c;");
    expect_edges(&s.g, HPC_CODE_CONTROL, "0>11 11>14 14>0 ");
    graph_of(&s, "{ for (;;) if (x) a; b; }");
    expect_edges(&s.g, HPC_CODE_CONTROL, "2>11 11>18 11>2 18>2 2>21 ");
    graph_of(&s, "{ while (x) { if (y) break; a; } b; }");
    expect_edges(&s.g, HPC_CODE_CONTROL, "2>14 14>21 21>2 14>28 28>2 2>33 ");
    graph_of(&s, "{ do a; while (x); b; }");
    expect_edges(&s.g, HPC_CODE_CONTROL, "2>5 5>2 2>8 8>19 ");
    release(&s);
}

static void data_follow_names_and_loops(void **state)
{
    (void)state;
    sample s = {0};
    graph_of(&s, "{ x = 1; y = x; x += y; }");
    expect_edges(&s.g, HPC_CODE_DATA, "2>13 2>16 9>21 ");
    expect_edges(&s.g, HPC_CODE_CARRIED, "");
    graph_of(&s, "for (;;) { b = a[i]; a[i + 1] = b; }");
    expect_edges(&s.g, HPC_CODE_DATA, "11>32 ");
    expect_edges(&s.g, HPC_CODE_CARRIED, "21>15 ");
    graph_of(&s, "{ p->n = 1; q = p->n; }");
    expect_edges(&s.g, HPC_CODE_DATA, "2>16 ");
    release(&s);
}

static void calls_are_linked_to_arguments_and_to_each_other(void **state)
{
    (void)state;
    sample s = {0};
    graph_of(&s, "{ f(1); g(); f(2); }");
    expect_edges(&s.g, HPC_CODE_FLOW, "3>2 9>8 2>13 14>13 ");
    release(&s);
}

static void syntax_is_a_tree(void **state)
{
    (void)state;
    sample s = {0};
    graph_of(&s, "for (int i = 0; i < n; i++) { a[i] = f(b[i], 2) + 1; if (c) { d; } else e; }");
    expect_tree(&s.g);
    assert_int_equal(s.g.node[0].kind, HPC_CODE_LOOP);
    assert_int_equal(s.g.node[0].depth, 0);
    assert_int_equal(s.g.node[s.g.n - 1].depth, 1);
    release(&s);
}

static void variables_have_no_label_but_functions_do(void **state)
{
    (void)state;
    sample s = {0}, other = {0};
    graph_of(&s, "{ x = f(y) + \"a\"; }");
    graph_of(&other, "{ alpha = f(beta) + \"b\"; }");
    assert_int_equal(s.g.n, other.g.n);
    for (int64_t k = 0; k < s.g.n; k++) {
        assert_int_equal(s.g.node[k].label, other.g.node[k].label);
        assert_int_equal(s.g.node[k].kind, other.g.node[k].kind);
    }
    graph_of(&other, "{ x = g(y) + \"a\"; }");
    int64_t differ = 0;
    for (int64_t k = 0; k < s.g.n; k++) differ += s.g.node[k].label != other.g.node[k].label;
    assert_int_equal(differ, 1);
    release(&s);
    release(&other);
}

static void a_change_links_what_is_the_same(void **state)
{
    (void)state;
    static const char base[] = "{ a = f(b); }", head[] = "{ a = f(b) + c; }";
    sample s = {0};
    hpc_tokens t = {0};
    graph_of(&s, base);
    int64_t n = s.g.n, same = 0, changed = 0;
    test_ok(hpc_lex(&t, head, sizeof head - 1, HPC_LANGUAGE_C, false));
    test_ok(hpc_code_graph_add_head(&s.g, &t, head, 0, sizeof head - 1, HPC_LANGUAGE_C));
    assert_int_equal(s.g.n, 2 * n + 2);
    for (int64_t k = 0; k < s.g.edges_n; k++) {
        const hpc_code_edge *e = &s.g.edge[k];
        if (e->kind != HPC_CODE_SAME) {
            assert_int_equal(s.g.node[e->from].side, s.g.node[e->to].side);
            continue;
        }
        assert_int_equal(s.g.node[e->from].kind, s.g.node[e->to].kind);
        assert_true(e->from < n && e->to >= n);
        same++;
    }
    for (int64_t k = 0; k < s.g.n; k++) changed += s.g.node[k].changed;
    assert_int_equal(same, n);
    assert_int_equal(changed, 2);
    hpc_tokens_release(&t);
    release(&s);
}

static void directives_and_comments_have_no_nodes(void **state)
{
    (void)state;
    sample s = {0};
    graph_of(&s, "{ a; }");
    int64_t n = s.g.n;
    graph_of(&s, "{\n#pragma omp parallel for\n/* for (;;) */ a;\n}");
    assert_int_equal(s.g.n, n);
    release(&s);
}

static void damaged_and_long_texts_have_graphs(void **state)
{
    (void)state;
    static const char *const damaged[] = {"",           ")",
                                          "}}}",        "for (",
                                          "for (;;",    "if",
                                          "else",       "{ a; ) b; ] }",
                                          "do",         "f(g(h(",
                                          ";;;",        "a[b[c[d",
                                          "= = =",      "case 1: f(x);",
                                          "for (;;) }", "->",
                                          "++",         "{ do do do ; }"};
    sample s = {0};
    for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++) graph_of(&s, damaged[k]);
    char text[20000];
    memset(text, '{', sizeof text);
    text[sizeof text - 1] = 0;
    graph_of(&s, text);
    assert_true(s.g.cut);
    for (size_t k = 0; k + 4 < sizeof text; k += 4) memcpy(text + k, "a=b;", 4);
    graph_of(&s, text);
    assert_true(s.g.cut && s.g.n <= HPC_CODE_NODES + 3);
    release(&s);
}

static void fortran_is_rejected(void **state)
{
    (void)state;
    sample s = {0};
    test_ok(hpc_lex(&s.t, "do i = 1, n\nend do\n", 19, HPC_LANGUAGE_FORTRAN, false));
    test_fails(hpc_code_graph_of(&s.g, &s.t, "do i = 1, n\nend do\n", 0, 19, HPC_LANGUAGE_FORTRAN),
               HPC_E_UNSUPPORTED, "Fortran");
    release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_follows_loops_branches_and_jumps),
        cmocka_unit_test(data_follow_names_and_loops),
        cmocka_unit_test(calls_are_linked_to_arguments_and_to_each_other),
        cmocka_unit_test(syntax_is_a_tree),
        cmocka_unit_test(variables_have_no_label_but_functions_do),
        cmocka_unit_test(a_change_links_what_is_the_same),
        cmocka_unit_test(directives_and_comments_have_no_nodes),
        cmocka_unit_test(damaged_and_long_texts_have_graphs),
        cmocka_unit_test(fortran_is_rejected),
    };
    return cmocka_run_group_tests_name("source/code_graph", tests, NULL, NULL);
}
