/*
 * pragma_compiles.c: `hpccoder pragma --fix` on the labelled loops keeps every compilable file
 * compilable with all warnings, and a second run changes nothing.
 *
 * By gcc and with if clauses; with HPC_TEST_LONG=1 also by clang and with all other ways to insert
 * directives. Loops that are collapsed, vectorised or offloaded (here to the host) also run with
 * their directives on 1, 2 and 4 threads, and give the results of the serial loops.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/source/source.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static const char *const compilers[2][2] = {{"gcc -std=c11", "g++ -std=c++17"},
                                            {"clang -std=c11", "clang++ -std=c++17"}};

/* Excludes reports of loops without vectors, and gcc's false warning that a lastprivate reference
 * is copied out without an assignment. */
static bool compiles(int compiler, const char *root, const char *name)
{
    char words[PATH_MAX];
    bool cpp = hpc_language_of_path(name) == HPC_LANGUAGE_CPP;
    snprintf(words, sizeof words,
             "cd %s && %s -fopenmp -O1 -Wall -Werror %s -c -o out.o %s >log 2>&1", root,
             compilers[compiler][cpp], compiler ? "-Wno-pass-failed" : "-Wno-maybe-uninitialized",
             name);
    return system(words) == 0;
}

static int64_t fix(const char *root, const char *name, const char *options)
{
    char words[512];
    int64_t n = -1;
    snprintf(words, sizeof words, "pragma -p none --fix%s @%s", options, name);
    hpc_test_command_in(&o, root, words);
    if (o.code != 0) fail_msg("%s: %s", name, o.err);
    for (const char *p = o.out; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
        if (strstr(p, " inserted")) n = strtoll(p, NULL, 10);
    return n;
}

static void put_original(const char *root, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX];
    hpc_buf text = {0};
    snprintf(from, sizeof from, "tests/pragma/loops/%s", name);
    snprintf(to, sizeof to, "%s/%s", root, name);
    test_ok(hpc_file_read(&text, from, 1 << 20));
    test_ok(hpc_file_save(to, text.data, text.n));
    hpc_buf_release(&text);
}

/* Compiles the original only where the fixed file fails: that is the slow part. */
static int64_t one_file(const char *root, const char *name, const char *options, bool clang)
{
    put_original(root, name);
    int64_t n = fix(root, name, options);
    bool compiled[2] = {compiles(0, root, name), !clang || compiles(1, root, name)};
    assert_int_equal(fix(root, name, options), 0);
    for (int k = 0; k < 2; k++) {
        if (compiled[k]) continue;
        put_original(root, name);
        if (compiles(k, root, name))
            fail_msg("%s with%s: %s does not compile it any more", name, options, compilers[k][0]);
        /* gcc warns of a wrong directive there */
        assert_true(k == 1 || strcmp(name, "existing.c") == 0);
    }
    return n;
}

static void fixed_files_compile(void **state)
{
    static const char *const options[] = {" --guard", "", " --conditional", " --default-none",
                                          " --default-none --guard"};
    const char *root = ((const hpc_test_folder *)*state)->root;
    hpc_buf names = {0};
    int64_t n, put = 0;
    NEED_LIBRARY;
    bool all = getenv("HPC_TEST_LONG"), clang = all && system("clang --version >/dev/null") == 0;
    test_ok(hpc_file_list(&names, &n, "tests/pragma/loops"));
    for (size_t k = 0; k < (all ? sizeof options / sizeof *options : 1); k++) {
        const char *name = names.data;
        for (int64_t i = 0; i < n; i++, name += strlen(name) + 1)
            if (hpc_language_of_path(name) != HPC_LANGUAGE_NONE)
                put += one_file(root, name, options[k], clang);
    }
    print_message("%lld directives\n", (long long)put);
    assert_true(put > 300);
    hpc_buf_release(&names);
}

/* ---- results --------------------------------------------------------------------------------- */

static const char *const ways[] = {"", " --simd --guard", " --target --conditional",
                                   " --simd --target --conditional --default-none"};

static void new_directives_compile(void **state)
{
    static const char *const files[] = {"collapse.c", "collapse.cpp", "vectors.c",     "device.c",
                                        "nests.c",    "reductions.c", "containers.cpp"};
    const char *root = ((const hpc_test_folder *)*state)->root;
    int64_t put = 0;
    NEED_LIBRARY;
    bool clang = getenv("HPC_TEST_LONG") && system("clang --version >/dev/null") == 0;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            put += one_file(root, files[i], ways[k], clang);
    print_message("%lld directives\n", (long long)put);
    assert_true(put > 300);
}

/* Calls of what a file holds; numbers are such that any order of sums gives the same. */
static const struct {
    const char *file, *calls;
} runs[] = {
    {"collapse.c",
     "few_rows(37, b, a); tell(); few_and_known((void *)b, (void *)a); tell();\n"
     "many_rows((void *)b, (void *)a); tell(); three_loops(9, 11, 13, b, a); tell();\n"
     "three_short((void *)b, (void *)a); tell(); product(40, c, a, b); tell();\n"
     "triangular((void *)b); tell(); scalar_of_pair(37, b, a); tell();\n"
     "sum_of_columns(20, 30, b, a); tell(); recurrence_innermost(5, 6, 7, b); tell();\n"
     "told(sum_of_all(99, a)); told(counter_is_read(37, b)); tell();\n"
     "told(outer_counter_is_read(0, b)); steps_of_two(40, f, g); tell();\n"
     "goes_on_early(37, b, a); tell(); transposed(37, b, a); tell(); told(greatest(99, g));\n"
     "few_rows(0, b, a); few_rows(-3, b, a); three_loops(3, -1, 4, b, a); tell();\n"},
    {"vectors.c",
     "scaled(999, b, a); tell(); told(dot(1000, a, b)); told(last_one(1000, b, a)); tell();\n"
     "roots(1000, b, a); tell(); few_of_them(b, a); tell(); told(sum_of_few(g));\n"
     "too_few(b, a); tell(); calls_outside(99, b, a); strided(99, 5, b, a); tell();\n"
     "every_eighth(999, b); tell(); gathered(99, b, a, at); tell(); rows_of_them(9, 8, b, a);\n"
     "tell(); steps_of_time(5, b, c); tell(); may_overlap(999, b, a); tell();\n"
     "may_overlap(999, b + 1, b); tell(); two_ways(999, b, a); tell(); told(switched(99, at));\n"},
    {"device.c",
     "doubled(999, b, a); tell(); doubled(0, b, a); doubled(-5, b, a); tell();\n"
     "added(1000, f, g, 2); tell(); told(dot_of(1000, a, b)); told(dot_apart(1000, a, b));\n"
     "known(b, a); tell(); stencil(1000, b, a); stencil(1, b, a); tell(); plane(30, 40, b, a);\n"
     "plane(30, -2, b, a); tell(); whole_array(); by_index(99, b, a, at); tell();\n"
     "sometimes(99, b, a, 0); sometimes_again(999, b, a); tell(); calls_helper(99, b); tell();\n"
     "every_other(99, b); tell(); triangle_of(30, b); tell(); small_one(b); tell();\n"},
};

static void write_caller(const char *root, size_t k)
{
    static const char before[] =
        "#include <stdio.h>\n"
        "enum { N = 1 << 17 };\n"
        "static double a[N], b[N], c[N];\nstatic float f[N], g[N];\nstatic int at[N];\n"
        "static void told(double x) { printf(\"%.17g\\n\", x); }\n"
        "static void tell(void)\n{\n    double s = 0;\n    for (int i = 0; i < N; i++)\n"
        "        s += (b[i] + c[i] * 2 + f[i] * 3) * (i % 13 + 1);\n    told(s);\n}\n"
        "int main(void)\n{\n    for (int i = 0; i < N; i++) {\n"
        "        a[i] = i % 31 - 9;\n        b[i] = i % 7 / 4.0;\n        g[i] = i % 11 - 2;\n"
        "        at[i] = i * 5 % 64;\n    }\n";
    char path[PATH_MAX];
    hpc_buf text = {0};
    hpc_buf_printf(&text, "#include \"%s\"\n%s%s    return 0;\n}\n", runs[k].file, before,
                   runs[k].calls);
    snprintf(path, sizeof path, "%s/run.c", root);
    test_ok(text.failed);
    test_ok(hpc_file_save(path, text.data, text.n));
    hpc_buf_release(&text);
}

static void shell(const char *root, const char *words)
{
    char all[PATH_MAX];
    snprintf(all, sizeof all, "cd %s && %s", root, words);
    if (system(all) != 0) fail_msg("%s", all);
}

static void run_with(const char *root, size_t k, const char *options)
{
    char words[512];
    static const char *const by[] = {"gcc", "clang"};
    snprintf(words, sizeof words, "cp tests/pragma/loops/%s %s", runs[k].file, root);
    assert_int_equal(system(words), 0);
    write_caller(root, k);
    shell(root, "gcc -std=c11 -O1 -w -o serial run.c -lm && ./serial >serial.out");
    assert_true(fix(root, runs[k].file, options) > 0);
    for (int i = 0; i < 2; i++) {
        if (i == 1 && system("clang --version >/dev/null") != 0) continue;
        snprintf(words, sizeof words, "%s -std=c11 -fopenmp -O2 -w -o threads run.c -lm", by[i]);
        shell(root, words);
        for (int n = 1; n <= 4; n *= 2) {
            snprintf(words, sizeof words,
                     "OMP_NUM_THREADS=%d ./threads >threads.out && cmp serial.out threads.out", n);
            shell(root, words);
        }
    }
}

static void results_are_the_serial_ones(void **state)
{
    const char *root = ((const hpc_test_folder *)*state)->root;
    NEED_LIBRARY;
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++)
        for (size_t i = 0; i < 3; i++) {
            bool overlap = strcmp(runs[k].file, "vectors.c") == 0 && i == 2;
            if (!overlap) run_with(root, k, ways[i]); /* --conditional takes it for granted */
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fixed_files_compile, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(new_directives_compile, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(results_are_the_serial_ones, hpc_test_folder_setup,
                                        hpc_test_folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
