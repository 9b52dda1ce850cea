/*
 * Tests of runtime/source/tree*.c. With a file name (and compiler flags) as arguments it prints
 * that file's tree.
 */
/* tsan: left out, starts no thread. */
#include <stdio.h>

#include "runtime/source/tree.h"
#include "tests/source/check.h"

/* ---- for people ----------------------------------------------------------------------------- */

static int print_file(const char *path, const char *const *flags)
{
    char program[PATH_MAX];
    hpc_checker_options o = HPC_CHECKER_DEFAULTS;
    hpc_checker *c = NULL;
    hpc_tree_source *s = NULL;
    hpc_tree t = {0};
    hpc_check_flags given = {0};
    hpc_buf text = {0}, out = {0};
    int rc;
    o.program = hpc_test_built(program, "hpccoder-clang");
    TRY(hpc_file_read(&text, path, (size_t)16 << 20));
    TRY(hpc_check_flags_given(&given, flags, NULL));
    TRY(hpc_checker_open(&c, &o));
    const int64_t begin = hpc_clock_ns();
    TRY(hpc_tree_open(&s, c,
                      &(hpc_tree_file){.path = path,
                                       .text = text.data,
                                       .n = text.n,
                                       .language = hpc_language_of_path(path),
                                       .flags = &given}));
    const int64_t opened = hpc_clock_ns();
    TRY(hpc_tree_get(&t, s));
    const int64_t got = hpc_clock_ns();
    TRY(hpc_tree_print(&out, &t, 0));
    printf("%s", out.data);
    printf("%lld nodes, %lld types, %lld symbols, %lld errors, missing \"%s\"; opened in %.1f ms, "
           "read in %.1f ms\n",
           (long long)t.n, (long long)t.types_n, (long long)t.symbols_n, (long long)t.errors,
           t.missing, (double)(opened - begin) / 1e6, (double)(got - opened) / 1e6);
out:
    if (rc < 0) printf("%s\n", hpc_error_get()->text);
    hpc_tree_release(&t);
    hpc_tree_close(s);
    hpc_checker_close(c);
    hpc_check_flags_release(&given);
    hpc_buf_release(&text);
    hpc_buf_release(&out);
    return rc < 0;
}

/* ---- trees ---------------------------------------------------------------------------------- */

static const char *const names[HPC_LANGUAGE_N] = {
    [HPC_LANGUAGE_C] = "here.c", [HPC_LANGUAGE_CPP] = "here.cpp", [HPC_LANGUAGE_CUDA] = "here.cu"};

static hpc_tree_source *open_tree(hpc_checker *c, hpc_language l, const char *text)
{
    hpc_tree_source *s;
    OK(hpc_tree_open(
        &s, c, &(hpc_tree_file){.path = names[l], .text = text, .n = strlen(text), .language = l}));
    return s;
}

static void prints(const hpc_tree *t, const char *expected)
{
    hpc_buf out = {0};
    OK(hpc_tree_print(&out, t, 0));
    if (strcmp(out.data, expected) != 0)
        fail_msg("the tree is\n%s\nand not\n%s", out.data, expected);
    hpc_buf_release(&out);
}

static void tree_is(hpc_language l, const char *text, const char *expected)
{
    hpc_checker *c = open_checker(0);
    hpc_tree_source *s = open_tree(c, l, text);
    hpc_tree t = {0};
    OK(hpc_tree_get(&t, s));
    prints(&t, expected);
    hpc_tree_release(&t);
    hpc_tree_close(s);
    hpc_checker_close(c);
}

static void a_loop(void **state)
{
    (void)state;
    NEED_LIBRARY;
    tree_is(HPC_LANGUAGE_C,
            "void f(int n, double *restrict a, const double b[])\n{\n"
            "    for (int i = 0; i < n; i++) a[i] += 2 * (b[i]);\n}\n",
            "FILE 1:1\n"
            "  FUNCTION 1:1 'f'\n"
            "    VARIABLE 1:8 'n' int\n"
            "    VARIABLE 1:15 'a' restrict *double\n"
            "    VARIABLE 1:35 'b' *const double\n"
            "    BLOCK 2:1\n"
            "      FOR 3:5\n"
            "        DECLARE 3:10\n"
            "          VARIABLE 3:10 'i' int\n"
            "            NUMBER 3:18 0 int\n"
            "        BINARY < 3:21 int\n"
            "          NAME 3:21 'i' int\n"
            "          NAME 3:25 'n' int\n"
            "        UNARY x++ 3:28 int\n"
            "          NAME 3:28 'i' int\n"
            "        ASSIGN + 3:33 double\n"
            "          INDEX 3:33 double\n"
            "            NAME 3:33 'a' restrict *double\n"
            "            NAME 3:35 'i' int\n"
            "          BINARY * 3:41 double\n"
            "            NUMBER 3:41 2 int\n"
            "            INDEX 3:46 const double\n"
            "              NAME 3:46 'b' *const double\n"
            "              NAME 3:48 'i' int\n");
}

/* The number of a field is in its symbol, for initialisers in braces. */
static void called_methods_of_local_classes_are_elsewhere(void **state)
{
    static const char text[] = "void f(double *y)\n{\n    struct add { int n; double *y; void "
                               "operator()(int i) { y[i] = n; } } g{1, y};\n    g(2);\n}\n";
    hpc_checker *c;
    hpc_tree t = {0};
    int64_t methods = 0, fields = 0;
    (void)state;
    NEED_LIBRARY;
    c = open_checker(0);
    hpc_tree_source *s = open_tree(c, HPC_LANGUAGE_CPP, text);
    OK(hpc_tree_get(&t, s));
    for (int64_t i = 0; i < t.n; i++)
        methods += t.node[i].kind == HPC_TREE_FUNCTION && (t.node[i].flags & HPC_TREE_ELSEWHERE) &&
                   strcmp(t.name + t.symbol[t.node[i].symbol].name, "operator()") == 0;
    for (int64_t v = 0; v < t.symbols_n; v++) {
        const char *name = t.name + t.symbol[v].name;
        if (t.symbol[v].kind != HPC_SYMBOL_FIELD) continue;
        assert_int_equal(t.symbol[v].value, 2 * HPC_FIELDS + (strcmp(name, "n") == 0 ? 1 : 2));
        fields++;
    }
    assert_int_equal(methods, 1);
    assert_int_equal(fields, 2);
    hpc_tree_release(&t);
    hpc_tree_close(s);
    hpc_checker_close(c);
}

int main(int n, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(called_methods_of_local_classes_are_elsewhere),
        cmocka_unit_test(a_loop),
    };
    if (n > 1) return print_file(words[1], (const char *const *)words + 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
