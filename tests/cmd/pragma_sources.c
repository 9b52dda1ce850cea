/*
 * Tests of `hpccoder pragma` on code that is not compiled as its build does: missing headers, and
 * loops that a library runs in parallel.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "runtime/base/base.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static void run(void **state, const char *words, int code)
{
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root, words);
    if (o.code != code) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
}

static void save(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static void make_folder(void **state, const char *name)
{
    char path[PATH_MAX];
    test_ok(hpc_file_mkdir(hpc_test_path(path, *state, name)));
}

/* The file names neither folder, and one of the headers is included by the other. */
static void headers_are_found_in_the_tree(void **state)
{
    NEED_LIBRARY;
    make_folder(state, "src");
    make_folder(state, "include/parts");
    save(state, "Makefile", "");
    save(state, "include/api.h", "#include \"item.h\"\n");
    save(state, "include/parts/item.h", "typedef struct { double v; } item;\n");
    save(state, "src/a.c",
         "#include \"api.h\"\nvoid f(item *a, int n)\n{\n"
         "    for (int i = 0; i < n; i++) a[i].v = 0;\n}\n");
    run(state, "pragma @src/a.c", 0);
    hpc_test_says(o.out, "a.c:4: parallel\n");
    hpc_test_says(o.out, "less certain: its headers were found by their names alone\n");
}

static void verdicts_without_a_header_are_less_certain(void **state)
{
    NEED_LIBRARY;
    save(state, "b.c",
         "#include \"gone.h\"\nvoid f(double *a, int n)\n{\n"
         "    for (int i = 0; i < n; i++) a[i] = 0;\n}\n"
         "void g(gone *a, int n)\n{\n    for (int i = 0; i < n; i++) touch(&a[i]);\n}\n");
    run(state, "pragma @b.c", 2);
    hpc_test_says(o.out, "b.c:4: parallel\n");
    hpc_test_says(o.out, "less certain: the header gone.h is missing");
    hpc_test_says(o.out, "b.c:8: unknown\n");
}

/* Class templates of a missing header are declared, so that only loops that use them are unknown.
 */
static void class_templates_of_a_missing_header_are_stubs(void **state)
{
    NEED_LIBRARY;
    save(state, "t.cpp",
         "#include \"grid.h\"\n"
         "void scale(Grid<double> &g, int n, double *x)\n{\n"
         "    for (int i = 0; i < n; i++) x[i] = 2 * x[i];\n"
         "    for (int i = 0; i < n; i++) g.set(i, x[i]);\n}\n"
         "Pair<Grid<float>, int> make(int n, float *y)\n{\n"
         "    Pair<Grid<float>, int> v;\n"
         "    for (int i = 0; i < n; i++) y[i] = v[i];\n"
         "    for (int i = 0; i < n; i++) y[i] = 0;\n"
         "    for (int i = 1; i < n; i++) y[i] = y[i - 1];\n"
         "    return v;\n}\n");
    run(state, "pragma @t.cpp", 2);
    hpc_test_says(o.out, "t.cpp:4: parallel\n");
    hpc_test_says(o.out, "t.cpp:5: unknown\n");
    hpc_test_says(o.out, "t.cpp:10: unknown\n");
    hpc_test_says(o.out, "t.cpp:11: parallel\n");
    hpc_test_says(o.out, "t.cpp:12: unsafe\n");
    hpc_test_says(o.out, "form: less certain: the header grid.h is missing");
}

static const char library[] =
    "#include <Kokkos_Core.hpp>\n"
    "void f(double *x, double *y, int n)\n{\n"
    "    Kokkos::parallel_for(\"axpy\", n, KOKKOS_LAMBDA(const int i) {\n"
    "        for (int k = 0; k < 100000; k++) y[i] += x[k];\n"
    "    });\n"
    "    RAJA::forall<policy>(range, [=](int i) { y[i] = x[i]; });\n"
    "    std::for_each(std::execution::par, x, x + n, zero);\n"
    "    std::for_each(x, x + n, zero);\n"
    "    // Kokkos::parallel_for(n, zero);\n"
    "    Kokkos::parallel_for<Kokkos::Policy<Kokkos::Range<int>>>(n, zero);"
    "\n}\n";

static void calls_that_a_library_runs_in_parallel_are_classified(void **state)
{
    NEED_LIBRARY;
    save(state, "k.cpp", library);
    run(state, "pragma @k.cpp", 2);
    hpc_test_says(o.out, "k.cpp:4: already parallel\n");
    hpc_test_says(o.out, "line 4: Kokkos::parallel_for runs in parallel\n");
    hpc_test_says(o.out, "k.cpp:7: already parallel\n");
    hpc_test_says(o.out, "k.cpp:8: already parallel\n");
    hpc_test_says(o.out, "k.cpp:11: already parallel\n");
    hpc_test_says(o.out, "5 loops: 0 parallel, 0 conditional, 0 unsafe, 1 unknown, 4 already "
                         "parallel\n");
    run(state, "pragma @k.cpp --json", 2);
    hpc_test_says(o.out, "\"library\": \"RAJA::forall\"");
    run(state, "pragma @k.cpp --format sarif", 2);
    hpc_test_says(o.out, "\"ruleId\": \"already-parallel\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(headers_are_found_in_the_tree, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(verdicts_without_a_header_are_less_certain,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(class_templates_of_a_missing_header_are_stubs,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(calls_that_a_library_runs_in_parallel_are_classified,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
