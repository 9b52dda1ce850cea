/*
 * code_graph_tree.c: graphs of loops and functions from libclang's trees: control, data by
 * declaration, macros, types as labels, members, calls, and the limit of nodes.
 */
/* tsan: left out, starts no thread. */
#include <stdlib.h>

#include "runtime/source/tree.h"
#include "tests/source/check.h"
#include "tests/source/graphs.h"

/* The first loop or the last function of a file. */
static void graph_of(hpc_code_graph *g, hpc_language l, const char *text, hpc_tree_kind kind)
{
    hpc_checker *c = open_checker(0);
    hpc_tree_source *source;
    hpc_tree t = {0};
    int32_t node = 0;
    OK(hpc_tree_open(&source, c,
                     &(hpc_tree_file){.path = l == HPC_LANGUAGE_C ? "here.c" : "here.cpp",
                                      .text = text,
                                      .n = strlen(text),
                                      .language = l}));
    OK(hpc_tree_get(&t, source));
    for (int32_t k = 1; k < t.n; k++)
        if (t.node[k].kind == kind && (node == 0 || kind == HPC_TREE_FUNCTION)) node = k;
    assert_true(node > 0);
    OK(hpc_code_graph_of_tree(g, &t, node));
    hpc_tree_release(&t);
    hpc_tree_close(source);
    hpc_checker_close(c);
}

static void loop_of(hpc_code_graph *g, const char *text)
{
    graph_of(g, HPC_LANGUAGE_C, text, HPC_TREE_FOR);
}

static void function_of(hpc_code_graph *g, const char *text)
{
    graph_of(g, HPC_LANGUAGE_C, text, HPC_TREE_FUNCTION);
}

static int64_t count(const hpc_code_graph *g, hpc_code_kind kind)
{
    int64_t n = 0;
    for (int64_t k = 0; k < g->n; k++) n += g->node[k].kind == kind;
    return n;
}

static void control_follows_loops_branches_and_jumps(void **state)
{
    (void)state;
    hpc_code_graph g = {0};
    NEED_LIBRARY;
    /*              0         1         2         3         4
     *              01234567890123456789012345678901234567890123456789 */
    function_of(&g, "void f(int a) { for (;;) { a++; a--; } a = 1; }");
    expect_edges(&g, HPC_CODE_CONTROL, "16>27 27>32 32>16 16>39 ");
    function_of(&g, "void f(int a) { while (a) { if (a) break; a--; } a = 1; }");
    expect_edges(&g, HPC_CODE_CONTROL, "16>28 28>35 35>16 28>42 42>16 16>49 ");
    function_of(&g, "void f(int a) { if (a) a = 1; else a = 2; a = 3; }");
    expect_edges(&g, HPC_CODE_CONTROL, "16>23 16>35 16>42 23>42 35>42 ");
    hpc_code_graph_release(&g);
}

static void data_follow_declarations(void **state)
{
    (void)state;
    hpc_code_graph g = {0};
    NEED_LIBRARY;
    /*              0         1         2         3         4         5
     *              0123456789012345678901234567890123456789012345678901234567 */
    function_of(&g, "void f(int *a) { int x = 1; { int x = 2; *a = x; } *a = x; }");
    expect_edges(&g, HPC_CODE_DATA, "30>46 17>56 ");
    loop_of(&g, "void f(int n, int *a, int b) { for (;;) { b = a[n]; a[n + 1] = b; } }");
    expect_edges(&g, HPC_CODE_DATA, "42>63 ");
    expect_edges(&g, HPC_CODE_CARRIED, "52>46 ");
    function_of(&g, "#define SET(v, e) v = e\nvoid f(int x, int y) { SET(x, 1); SET(y, x); }");
    assert_int_equal(count(&g, HPC_CODE_CALL), 0);
    assert_int_equal(count(&g, HPC_CODE_WRITE), 2);
    hpc_code_graph_release(&g);
}

static void fields_of_the_object_itself_are_variables(void **state)
{
    (void)state;
    hpc_code_graph g = {0};
    NEED_LIBRARY;
    /*   0         1         2         3         4         5
     *   01234567890123456789012345678901234567890123456789012345 */
    graph_of(&g, HPC_LANGUAGE_CPP, "struct s { int x, y; void f(s *o) { x = 1; o->y = x; } };",
             HPC_TREE_FUNCTION);
    expect_edges(&g, HPC_CODE_DATA, "36>50 ");
    assert_int_equal(count(&g, HPC_CODE_WORD), 1); /* y of another object */
    hpc_code_graph_release(&g);
}

static void calls_are_linked_to_arguments_and_to_each_other(void **state)
{
    (void)state;
    hpc_code_graph g = {0};
    NEED_LIBRARY;
    function_of(&g, "void f(int a) { f(a); f(2); }");
    expect_edges(&g, HPC_CODE_FLOW, "18>16 16>22 24>22 ");
    hpc_code_graph_release(&g);
}

/* Names of variables do not count, their types do. */
static void labels_are_types_and_functions(void **state)
{
    (void)state;
    static const char *const same =
        "void f(int n, double *z) { for (int k = 0; k < n; k++) z[k] = k; }";
    static const char *const other =
        "void f(int n, float *a) { for (int i = 0; i < n; i++) a[i] = i; }";
    hpc_code_graph a = {0}, b = {0};
    int64_t differ = 0;
    NEED_LIBRARY;
    loop_of(&a, "void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = i; }");
    loop_of(&b, same);
    assert_int_equal(a.n, b.n);
    for (int64_t k = 0; k < a.n; k++) {
        assert_int_equal(a.node[k].label, b.node[k].label);
        assert_int_equal(a.node[k].kind, b.node[k].kind);
    }
    loop_of(&b, other);
    assert_int_equal(a.n, b.n);
    for (int64_t k = 0; k < a.n; k++) differ += a.node[k].label != b.node[k].label;
    assert_int_equal(differ, 1);
    expect_tree(&a);
    assert_int_equal(a.node[0].kind, HPC_CODE_LOOP);
    assert_int_equal(a.node[a.n - 1].depth, 1);
    hpc_code_graph_release(&a);
    hpc_code_graph_release(&b);
}

static void all_kinds_of_code_have_graphs(void **state)
{
    (void)state;
    hpc_code_graph g = {0};
    NEED_LIBRARY;
    graph_of(&g, HPC_LANGUAGE_CPP,
             "struct p { int v; p(int a) : v(a) {} };\n"
             "int g(p &, int = 0);\n"
             "int f(int n, int *a) {\n"
             "  int b[2] = {1, 2}; auto h = [&](int k) { if (k) return b[0]; return n; };\n"
             "  do { switch (n) { case 1: n++; break; default: n -= 2; } } while (n > 0);\n"
             "  try { p *q = new p(n); g(*q); delete q; } catch (...) { throw; }\n"
             "  for (int &x : b) { x <<= 1; if (x) continue; goto end; }\n"
             "end:\n"
             "  return n ? h(*a) : (int)sizeof b + undeclared;\n}\n",
             HPC_TREE_FUNCTION);
    expect_tree(&g);
    hpc_code_graph_release(&g);
}

static void large_code_is_cut(void **state)
{
    (void)state;
    hpc_code_graph g = {0};
    hpc_buf b = {0};
    NEED_LIBRARY;
    test_ok(hpc_buf_text(&b, "void f(int a) { for (;;) {"));
    for (int k = 0; k < 400; k++) test_ok(hpc_buf_text(&b, " a = a + 1;"));
    test_ok(hpc_buf_text(&b, "} }"));
    loop_of(&g, b.data);
    assert_true(g.cut && g.n == HPC_CODE_NODES);
    expect_tree(&g);
    hpc_code_graph_release(&g);
    hpc_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_follows_loops_branches_and_jumps),
        cmocka_unit_test(data_follow_declarations),
        cmocka_unit_test(fields_of_the_object_itself_are_variables),
        cmocka_unit_test(calls_are_linked_to_arguments_and_to_each_other),
        cmocka_unit_test(labels_are_types_and_functions),
        cmocka_unit_test(all_kinds_of_code_have_graphs),
        cmocka_unit_test(large_code_is_cut),
    };
    return cmocka_run_group_tests_name("source/code_graph_tree", tests, NULL, NULL);
}
