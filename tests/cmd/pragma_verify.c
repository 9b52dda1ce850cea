/*
 * pragma_verify.c: `hpccoder pragma --verify`: what the compiler and runs of a program say, and
 * what is said of mistakes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/base.h"
#include "runtime/proc/proc.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/values.h"

static hpc_test_outcome o;

/* Its first loop is fine as it is called, its second is handed parts of one array, its third is
 * fine. */
static const char program[] = "#include <stdio.h>\n"
                              "static double a[1001], b[1000];\n"
                              "void half(double *y, const double *x, int n);\n"
                              "void half(double *y, const double *x, int n)\n"
                              "{\n"
                              "    for (int i = 0; i < n; i++)\n"
                              "        y[i] = 0.5 * x[i];\n"
                              "}\n"
                              "void move(double *y, const double *x, int n);\n"
                              "void move(double *y, const double *x, int n)\n"
                              "{\n"
                              "    for (int i = 0; i < n; i++)\n"
                              "        y[i] = 0.5 * x[i];\n"
                              "}\n"
                              "static double total(const double *x, int n)\n"
                              "{\n"
                              "    double s = 0;\n"
                              "    for (int i = 0; i < n; i++)\n"
                              "        s += x[i];\n"
                              "    return s;\n"
                              "}\n"
                              "int main(void)\n"
                              "{\n"
                              "    void (*volatile f)(double *, const double *, int) = move;\n"
                              "    a[0] = b[7] = 3;\n"
                              "    half(b, b, 1000);\n"
                              "    f(a + 1, a, 1000);\n"
                              "    printf(\"%.17g\\n\", total(a, 1000) + total(b, 1000));\n"
                              "    return 0;\n"
                              "}\n";

static void write_program(void **state)
{
    static const char build[] = "cc p.c -o p\n";
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, "p.c"), program, strlen(program)));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "build.sh"), build, strlen(build)));
}

static void run(void **state, int code, const char *words)
{
    char all[1000];
    const bool boxed = hpc_proc_exists("bwrap");
    snprintf(all, sizeof all, "%s%s", words, boxed || !strstr(words, "run") ? "" : " --no-sandbox");
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root, all);
    if (o.code != code) fail_msg("%s: exit code %d: %s", all, o.code, o.err);
}

static void test_compile(void **state)
{
    NEED_LIBRARY;
    write_program(state);
    run(state, 0, "pragma @p.c --verify compile --at 18");
    hpc_test_says(o.out, "/p.c:18: parallel\n");
    hpc_test_says(o.out, "    compile: libclang takes the directive\n");
}

/* A copy is built and run: the folder stays as it is. */
static void test_run(void **state)
{
    char path[PATH_MAX];
    NEED_LIBRARY;
    write_program(state);
    run(state, 0, "pragma @p.c --folder @ --verify run --build sh\tbuild.sh --run ./p");
    hpc_test_says(o.out, "/p.c:6: conditional\n");
    hpc_test_says(o.out, "/p.c:12: unsafe\n");
    hpc_test_says(o.out, "    witness: line 13: iteration i = 0 writes y[0] at line 13, iteration "
                         "i = 1 reads it at line 13\n");
    hpc_test_says(o.out, "/p.c:18: parallel\n");
    hpc_test_says(o.out, "    witness: no two of 2000 iterations met (entered 2 times)\n");
    hpc_test_says(o.out, "    run: with 1, 2 and 4 threads the output is the serial one");
    assert_false(hpc_file_exists(hpc_test_path(path, *state, "p")));
}

static void test_mistakes(void **state)
{
    NEED_LIBRARY;
    write_program(state);
    run(state, 2, "pragma @p.c --verify run");
    hpc_test_says(o.err, "--verify run needs --run 'COMMAND'");
    run(state, 2, "pragma @p.c --at 900");
    hpc_test_says(o.err, "p.c: there is no line 900: it has 30 lines\n");
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root, "pragma @p.c --run ./p");
    assert_int_equal(o.code, 2);
    hpc_test_says(o.err, "--run and --build go with --verify run");
    run(state, 0, "pragma @p.c --folder @ --at 18 --verify run --build cc\tq.c --run ./p");
    hpc_test_says(o.out, "/p.c:18: parallel\n");
    hpc_test_says(o.out, "    run: not compared: the build as it is ended with status 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_compile, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_run, hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_mistakes, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
