/*
 * Tests of trees of many files that share parsed headers: they equal those of each file alone.
 */
/* tsan: left out, starts no thread. */
#include <stdio.h>

#include "runtime/source/tree.h"
#include "tests/source/check.h"
#include "tests/support/folder.h"

#define HEADERS "#include <cmath>\n#include <vector>\n#include \"own.h\"\n"

static const char *const texts[] = {
    HEADERS "double f(std::vector<double> &v)\n{\n    double s = 0;\n"
            "    for (std::size_t i = 0; i < v.size(); i++) s += std::sqrt(v[i]) + half(v[i]);\n"
            "    return s;\n}\n",
    HEADERS "template <class T> T g(const std::vector<T> &v)\n{\n    T s = T();\n"
            "    for (T x : v) s += x;\n    return s;\n}\nint use() { return g<int>({1, 2}); }\n",
    HEADERS "Unknown *p;\nvoid f(Unknown *q, int n)\n{\n"
            "    for (int i = 0; i < n; i++) q[i] = p[i];\n}\n",
    HEADERS "int f(int n)\n{\n    int s = 0;\n    for (int i = 0; i < n; i++) s += i;\n", /* no } */
    HEADERS "#include <gone.h>\n#include <map>\nint f(int n) { return n + ; }\n",
    HEADERS "#include \"text.h\nint x = M_PI;\n",
    HEADERS "#define EACH(i) for (int i = 0; i < 3; i++)\nvoid f(int *a) { EACH(k) a[k] = k; }",
    HEADERS "#if 1\nint x;\n",
};
enum { TEXTS_N = sizeof texts / sizeof *texts };

static void get(hpc_tree *out, hpc_checker *c, const char *path, const char *text, bool once)
{
    hpc_tree_source *s;
    OK(hpc_tree_open(&s, c,
                     &(hpc_tree_file){.path = path,
                                      .text = text,
                                      .n = strlen(text),
                                      .language = HPC_LANGUAGE_CPP,
                                      .once = once}));
    OK(hpc_tree_get(out, s));
    hpc_tree_close(s);
}

static void same(const hpc_tree *a, const hpc_tree *b)
{
    hpc_buf x = {0}, y = {0};
    OK(hpc_tree_print(&x, a, 0));
    OK(hpc_tree_print(&y, b, 0));
    assert_string_equal(x.data, y.data);
    assert_int_equal(a->errors, b->errors);
    assert_string_equal(a->missing, b->missing);
    assert_int_equal(a->n, b->n);
    for (int64_t k = 0; k < a->n; k++) {
        assert_int_equal(a->node[k].flags, b->node[k].flags);
        assert_int_equal(a->node[k].at, b->node[k].at);
        assert_int_equal(a->node[k].to, b->node[k].to);
    }
    assert_int_equal(a->symbols_n, b->symbols_n);
    assert_int_equal(a->types_n, b->types_n);
    hpc_buf_release(&x);
    hpc_buf_release(&y);
}

static void trees_are_those_of_each_file_alone(void **state)
{
    static const char own[] = "#pragma once\ninline double half(double x) { return x / 2; }\n";
    char path[PATH_MAX], name[32];
    NEED_LIBRARY;
    OK(hpc_file_save(hpc_test_path(path, *state, "own.h"), own, sizeof own - 1));
    hpc_checker *together = open_checker(0), *alone = open_checker(0);
    for (int round = 0; round < 2; round++)
        for (int k = 0; k < TEXTS_N; k++) {
            hpc_tree a = {0}, b = {0};
            snprintf(name, sizeof name, "file%d.cpp", k);
            hpc_test_path(path, *state, name);
            get(&a, together, path, texts[k], true);
            get(&b, alone, path, texts[k], false);
            assert_true(a.n > 1 || k >= 5);
            same(&a, &b);
            hpc_tree_release(&a);
            hpc_tree_release(&b);
        }
    hpc_checker_close(together);
    hpc_checker_close(alone);
}

/* Headers that the process had are read again in the next one. */
static void a_crash_costs_one_file(void **state)
{
    static const char crash[] = HEADERS "#pragma clang __debug crash\n";
    char path[PATH_MAX];
    hpc_tree_source *s;
    NEED_LIBRARY;
    hpc_test_path(path, *state, "a.cpp");
    hpc_checker *c = open_checker(0);
    for (int k = 0; k < 4; k++) {
        hpc_tree t = {0};
        get(&t, c, path, texts[1], true);
        assert_int_equal(t.errors, 1); /* own.h is missing */
        hpc_tree_release(&t);
        assert_int_equal(hpc_tree_open(&s, c,
                                       &(hpc_tree_file){.path = path,
                                                        .text = crash,
                                                        .n = sizeof crash - 1,
                                                        .language = HPC_LANGUAGE_CPP,
                                                        .once = true}),
                         HPC_E_UNSUPPORTED);
        assert_non_null(strstr(hpc_error_get()->text, "libclang was killed by signal"));
        hpc_error_clear();
    }
    hpc_checker_close(c);
}

#define EACH(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {EACH(trees_are_those_of_each_file_alone),
                                       EACH(a_crash_costs_one_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
