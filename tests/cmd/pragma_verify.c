/*
 * Tests of `hpccoder pragma --verify`: evidence from the compiler and from runs of a program, and
 * errors.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/base.h"
#include "runtime/proc/proc.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

/* The first loop is safe as called, the second gets parts of one array, the third is safe. */
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
    hpc_test_says(o.out, "    compile: libclang accepts the directive\n");
}

/* All iterations add to s: that nothing conflicts would contradict the missing reduction. */
static void missing_reduction_is_named_where_iterations_conflict(void **state)
{
    static const char sum[] = "#include <stdio.h>\n"
                              "int main(void)\n"
                              "{\n"
                              "    int n = 500;\n"
                              "    double s = 0;\n"
                              "    #pragma omp parallel for\n"
                              "    for (int i = 0; i < n; i++) s += i * 0.5;\n"
                              "    printf(\"%g\\n\", s);\n"
                              "    return 0;\n"
                              "}\n";
    char path[PATH_MAX];
    NEED_LIBRARY;
    write_program(state);
    test_ok(hpc_file_save(hpc_test_path(path, *state, "p.c"), sum, strlen(sum)));
    run(state, 0, "pragma @p.c --folder @ --verify run --build sh\tbuild.sh --run ./p");
    hpc_test_says(o.out, "which is wrong: a reduction clause is missing");
    hpc_test_says(
        o.out,
        "witness: 500 iterations conflict only in s, handled by reduction(+:s) (entered 1 time)\n");
    hpc_test_says(o.out, "run: with the better directive on 1, 2 and 4 threads the output equals");
    assert_null(strstr(o.out, "no two of"));
}

/* CoMD prints the path of its compiler, which no directive changes. */
static void program_that_prints_its_compiler_is_compared(void **state)
{
    static const char sum[] = "#include <stdio.h>\n"
                              "#include \"made_by.h\"\n"
                              "static double a[200000];\n"
                              "int main(void)\n"
                              "{\n"
                              "    for (int i = 0; i < 200000; i++) a[i] = i * 0.5;\n"
                              "    printf(\"%s %g\\n\", MADE_BY, a[99]);\n"
                              "    return 0;\n"
                              "}\n";
    static const char build[] =
        "printf '#define MADE_BY \"%s\"\\n' \"$(command -v cc)\" >made_by.h && cc p.c -o p\n";
    char path[PATH_MAX];
    NEED_LIBRARY;
    test_ok(hpc_file_save(hpc_test_path(path, *state, "p.c"), sum, strlen(sum)));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "made_by.h"), "#define MADE_BY 0\n", 18));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "build.sh"), build, strlen(build)));
    run(state, 0, "pragma @p.c --folder @ --verify run --build sh\tbuild.sh --run ./p");
    hpc_test_says(o.out, "/p.c:6: parallel\n");
    hpc_test_says(o.out, "run: with 1, 2 and 4 threads the output equals that of the serial run");
}

/* ---- tools in PATH -----------------------------------------------------------------------------
 */

/* A program in the folder bin of the test. */
static void write_tool(void **state, const char *name, const char *script)
{
    char path[PATH_MAX], tool[64];
    test_ok(hpc_file_mkdir(hpc_test_path(path, *state, "bin")));
    snprintf(tool, sizeof tool, "bin/%s", name);
    test_ok(hpc_file_save(hpc_test_path(path, *state, tool), script, strlen(script)));
    assert_int_equal(chmod(path, 0755), 0);
}

/* Like `run`, with bin before PATH, or replacing it. */
static void run_with_tools(void **state, bool alone, int code, const char *words)
{
    char bin[PATH_MAX], path[2 * PATH_MAX + 64];
    const char *old = getenv("PATH");
    char *kept = strdup(old ? old : "");
    hpc_test_path(bin, *state, "bin");
    snprintf(path, sizeof path, "%s%s%s", bin, alone ? "" : ":", alone ? "" : kept);
    setenv("PATH", path, 1);
    run(state, code, words);
    setenv("PATH", kept, 1);
    free(kept);
}

static int64_t times_in(const char *text, const char *part)
{
    int64_t n = 0;
    for (const char *p = text; (p = strstr(p, part)) != NULL; p += strlen(part)) n++;
    return n;
}

static void compiler_reads_the_directive_with_its_if_clause(void **state)
{
    char path[PATH_MAX], script[PATH_MAX + 64];
    hpc_buf seen = {0};
    NEED_LIBRARY;
    write_program(state);
    snprintf(script, sizeof script, "#!/bin/sh\ncat >'%s'\n", hpc_test_path(path, *state, "seen"));
    write_tool(state, "cc", script);
    run_with_tools(state, false, 0, "pragma @p.c --guard --verify compile --at 6");
    hpc_test_says(o.out,
                  "propose: #pragma omp parallel for if((n > 300000) && (x == y || x + n <= y || ");
    test_ok(hpc_file_read(&seen, path, 1 << 20));
    hpc_test_says(
        seen.data,
        "_Pragma(\"omp parallel for if((n > 300000) && (x == y || x + n <= y || y + n <= x))\")");
    hpc_buf_release(&seen);
    write_tool(
        state, "cc",
        "#!/bin/sh\necho '<stdin>:6:9: error: if' >&2\n! grep -qF 'if((n > 300000) && (x == y'\n");
    run_with_tools(state, false, 0, "pragma @p.c --guard --verify compile --at 6");
    hpc_test_says(o.out, "/p.c:6: unknown\n");
    hpc_test_says(o.out, "    compile: line 6: cc rejects the directive: if\n");
}

static void missing_compiler_is_reported_once(void **state)
{
    NEED_LIBRARY;
    write_program(state);
    write_tool(state, "other", "#!/bin/sh\n");
    run_with_tools(state, true, 0, "pragma -q @p.c @p.c --verify compile");
    assert_int_equal(times_in(o.err, "nothing was compiled: there is no cc in PATH"), 1);
    hpc_test_says(o.err, "; install a C compiler");
    assert_null(strstr(o.out, "compile: cc"));
}

static void missing_sanitizer_is_reported_once_with_its_package(void **state)
{
    static const char without_library[] =
        "#!/bin/sh\n[ \"$1\" = -dumpversion ] && { echo 14.0.6; exit 0; }\n"
        "echo '/usr/bin/ld: cannot find /usr/lib/linux/libclang_rt.tsan-x86_64.a' >&2\nexit 1\n";
    static const char words[] =
        "pragma @p.c --folder @ --verify run --no-sandbox --build sh\tbuild.sh --run ./p";
    NEED_LIBRARY;
    write_program(state);
    write_tool(state, "clang", without_library);
    run_with_tools(state, false, 0, words);
    assert_int_equal(times_in(o.err, "ThreadSanitizer was not run: clang has no ThreadSanitizer; "
                                     "install Debian's package libclang-rt-14-dev\n"),
                     1);
    assert_null(strstr(o.out, "    race: "));
}

/* A copy is built and run; the folder stays unchanged. */
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
    hpc_test_says(o.out, "    witness: 2000 iterations conflict only in s, handled by "
                         "reduction(+:s) (entered 2 times)\n");
    hpc_test_says(o.out,
                  "    run: with 1, 2 and 4 threads the output equals that of the serial run");
    assert_false(hpc_file_exists(hpc_test_path(path, *state, "p")));
}

static void test_mistakes(void **state)
{
    NEED_LIBRARY;
    write_program(state);
    run(state, 2, "pragma @p.c --verify run");
    hpc_test_says(o.err, "--verify run needs --run 'COMMAND'");
    run(state, 2, "pragma @p.c --at 900");
    hpc_test_says(o.err, "p.c: there is no line 900, the file has 30 lines\n");
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root, "pragma @p.c --run ./p");
    assert_int_equal(o.code, 2);
    hpc_test_says(o.err, "--run and --build need --verify run");
    run(state, 0, "pragma @p.c --folder @ --at 18 --verify run --build cc\tq.c --run ./p");
    hpc_test_says(o.out, "/p.c:18: parallel\n");
    hpc_test_says(o.out, "    run: not compared: the unchanged build exited with status 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_compile, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_run, hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(missing_reduction_is_named_where_iterations_conflict,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(program_that_prints_its_compiler_is_compared,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(compiler_reads_the_directive_with_its_if_clause,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(missing_compiler_is_reported_once, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(missing_sanitizer_is_reported_once_with_its_package,
                                        hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_mistakes, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
