/*
 * Tests of the loops of real code that `hpccoder pragma` lists, and of their directives.
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

#include "runtime/base/base.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void write_source(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static void run(void **state, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != 0) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
}

/* Members of anonymous structs and unions are named without them. */
static void fields_of_anonymous_structs_compile_in_clauses(void **state)
{
    static const char source[] = "typedef struct node {\n"
                                 "    union {\n"
                                 "        struct { int base, count; double *key; };\n"
                                 "        struct { struct { long next; } free; };\n"
                                 "    };\n"
                                 "} node;\n"
                                 "void scale(node *restrict d, node s, double *restrict x)\n"
                                 "{\n"
                                 "    for (int i = 0; i < d->count; i++) x[i] = i * 2.0;\n"
                                 "    for (int i = 0; i < s.count; i++) x[i] = i * 3.0;\n"
                                 "}\n";
    char words[PATH_MAX + 64];
    NEED_LIBRARY;
    write_source(state, "a.c", source);
    run(state, "pragma -p none --fix @a.c");
    hpc_test_says(o.out, "if(d->count > ");
    hpc_test_says(o.out, "if(s.count > ");
    snprintf(words, sizeof words, "cd '%s' && gcc -std=c11 -Wall -Werror -fopenmp -c a.c",
             root_of(state));
    assert_int_equal(system(words), 0);
}

static const hpc_json *key(const hpc_json *v, const char *name)
{
    const hpc_json *at = hpc_json_get(v, name);
    if (!at) fail_msg("no key %s", name);
    return at;
}

/* The loops of one file, by a run of the command with --json. */
static const hpc_json *loops_of(void **state, hpc_json **root, const char *words)
{
    run(state, words);
    test_ok(hpc_json_parse(root, o.out, strlen(o.out), "out"));
    return key(hpc_json_at(*root, 0), "loops");
}

/* All but the rank, which counts the loops that are listed. */
static void is_listed(const hpc_json *all, const hpc_json *loop)
{
    for (int64_t k = 0; k < hpc_json_n(all); k++) {
        hpc_buf a = {0}, b = {0};
        hpc_json_out x = {.buf = &a}, y = {.buf = &b};
        static const char *const keys[] = {"line",       "column",   "verdict",    "pragma",
                                           "confidence", "evidence", "assumptions"};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            hpc_json_put(&x, NULL, key(hpc_json_at(all, k), keys[i]));
            hpc_json_put(&y, NULL, key(loop, keys[i]));
        }
        bool same = a.n == b.n && memcmp(a.data, b.data, a.n) == 0;
        hpc_buf_release(&a);
        hpc_buf_release(&b);
        if (same) return;
    }
    fail_msg("a loop differs with --at: %s", o.out);
}

static void results_for_a_loop_do_not_depend_on_at(void **state)
{
    static const char source[] = "void f(int n, int m, int l, double a[n][m][l], double *x)\n{\n"
                                 "    for (int i = 0; i < n; i++)\n"
                                 "        for (int j = 0; j < m; j++) {\n"
                                 "            double s = 0;\n"
                                 "            for (int k = 0; k < l; k++) s += a[i][j][k];\n"
                                 "            for (int k = 0; k < l; k++) a[i][j][k] /= s;\n"
                                 "        }\n"
                                 "    for (int i = 1; i < n; i++) x[i] += x[i - 1];\n"
                                 "    for (int i = 1; i < n; i++) x[i] = i;\n}\n";
    hpc_json *whole = NULL;
    char words[64];
    NEED_LIBRARY;
    write_source(state, "a.c", source);
    const hpc_json *all = loops_of(state, &whole, "pragma -p none --json @a.c");
    assert_int_equal(hpc_json_n(all), 6);
    static const int listed[] = {0, 0, 0, 1, 2, 2, 3, 3, 2, 1, 1};
    for (int line = 3; line <= 10; line++) {
        hpc_json *part = NULL;
        snprintf(words, sizeof words, "pragma -p none --json @a.c --at %d", line);
        const hpc_json *some = loops_of(state, &part, words);
        assert_int_equal(hpc_json_n(some), listed[line]);
        for (int64_t k = 0; k < hpc_json_n(some); k++) is_listed(all, hpc_json_at(some, k));
        hpc_json_free(part);
    }
    hpc_json_free(whole);
}

/* One use of a macro may have several loops, and no line is before the second. */
static void each_loop_of_a_macro_is_listed(void **state)
{
    static const char source[] =
        "#define NEST(i, j, n) for (int i = 0; i < (n); i++) for (int j = 0; j < (n); j++)\n"
        "#define TWO(x, y, n) for (int k = 0; k < (n); k++) x[k] = 0; "
        "for (int k = 1; k < (n); k++) y[k] = y[k - 1]\n"
        "void f(int n, double (*x)[100], double *restrict y, double *restrict z)\n{\n"
        "    NEST(i, j, n) x[i][j] = 1;\n"
        "    TWO(y, z, n);\n}\n";
    const char *at;
    NEED_LIBRARY;
    write_source(state, "a.c", source);
    run(state, "pragma -p none @a.c");
    hpc_test_says(o.out, "4 loops: 3 parallel, 0 conditional, 1 unsafe, 0 unknown\n");
    at = strstr(o.out, "if((long long)n*n > ");
    assert_non_null(at);
    assert_non_null(strstr(at, "    no directive: it is expanded from a macro\n"));
    at = strstr(o.out, "a.c:6: parallel\n");
    assert_non_null(at);
    assert_non_null(strstr(at, "a.c:6: unsafe\n"));
    run(state, "pragma -p none --fix @a.c");
    assert_string_equal(o.out, "0 directives inserted\n");
}

static void evidence_names_the_container_of_an_element(void **state)
{
    static const char source[] =
        "#include <vector>\n#include <list>\n"
        "void f(std::vector<double> &v, std::list<double> &l, double *y)\n{\n"
        "    for (auto x : v) v[0] += x;\n"
        "    for (auto &x : l) y[0] = x;\n"
        "    for (auto &x : l) x = 1;\n}\n";
    NEED_LIBRARY;
    write_source(state, "a.cpp", source);
    run(state, "pragma -p none @a.cpp");
    hpc_test_says(o.out, "v[0] and x (element of v) (read at line 5) may be the same location");
    hpc_test_says(o.out, "line 6: the addresses of x (element of l) and y[0] are unknown\n");
    hpc_test_says(o.out, "line 7: the address of x (element of l) is unknown\n");
}

static void device_code_gets_no_directive(void **state)
{
    static const char source[] =
        "__global__ void kernel(int n, const float *__restrict__ x, float *__restrict__ y)\n"
        "{\n"
        "    float s = 0;\n"
        "    for (int i = 0; i < n; i++) s += x[i];\n"
        "    y[threadIdx.x] = s;\n"
        "}\n"
        "__device__ float sum(int n, const float *x)\n"
        "{\n"
        "    float s = 0;\n"
        "    for (int i = 0; i < n; i++) s += x[i];\n"
        "    return s;\n"
        "}\n"
        "__host__ __device__ float both(int n, const float *x)\n"
        "{\n"
        "    float s = 0;\n"
        "    for (int i = 0; i < n; i++) s += x[i];\n"
        "    return s;\n"
        "}\n"
        "void fill(int n, float *x)\n"
        "{\n"
        "    for (int i = 0; i < n; i++) x[i] = i;\n"
        "}\n";
    NEED_LIBRARY;
    write_source(state, "a.cu", source);
    run(state, "pragma -p none --simd @a.cu");
    hpc_test_says(o.out, "a.cu:4: parallel\n");
    hpc_test_says(o.out, "    no directive: each thread of a GPU runs it\n");
    run(state, "pragma -p none --fix --simd @a.cu");
    assert_null(strstr(o.out, "a.cu:4:"));
    assert_null(strstr(o.out, "a.cu:10:"));
    hpc_test_says(o.out, "a.cu:16: #pragma omp parallel for");
    hpc_test_says(o.out, "a.cu:21: #pragma omp parallel for");
    hpc_test_says(o.out, "2 directives inserted\n");
}

/* A macro's "do ... while (0)" is one statement: no loop itself, and none around another. */
static void do_while_zero_is_no_loop(void **state)
{
    static const char source[] = "#define START(t) do { t = 1; } while (0)\n"
                                 "int f(int n, double *x, int *t)\n"
                                 "{\n"
                                 "    START(t[0]);\n"
                                 "    do {\n"
                                 "        for (int i = 0; i < n; i++) x[i] = i * 2.0;\n"
                                 "    } while (0);\n"
                                 "    do {\n"
                                 "        if (t[0]) break;\n"
                                 "        t[1] = 2;\n"
                                 "    } while (0);\n"
                                 "    do { n--; } while (n);\n"
                                 "    return n;\n"
                                 "}\n";
    NEED_LIBRARY;
    write_source(state, "a.c", source);
    run(state, "pragma -p none @a.c");
    assert_null(strstr(o.out, "a.c:4:"));
    assert_null(strstr(o.out, "a.c:5:"));
    hpc_test_says(o.out, "a.c:6: parallel\n");
    hpc_test_says(o.out, "a.c:8: unknown\n");
    hpc_test_says(o.out, "a.c:12: unknown\n");
}

/* mpicc knows the folder; libclang reads our declarations of CUDA, whatever the flags. */
static void advice_on_errors_can_be_followed(void **state)
{
    static const char mpi[] = "#include <mpi.h>\nint rank(MPI_Comm c);\n";
    static const char cuda[] = "void f(void **p) { cudaMalloc(p, 8); cudnnCreate(p); }\n";
    NEED_LIBRARY;
    write_source(state, "a.c", mpi);
    hpc_test_command_in(&o, root_of(state), "pragma -p none @a.c -- -nostdinc");
    assert_int_equal(o.code, 2);
    hpc_test_says(o.err, "a.c:1: 'mpi.h' file not found");
    hpc_test_says(o.err, "; give MPI's flags after --, as -- $(mpicc --showme:compile)\n");
    write_source(state, "a.cu", cuda);
    hpc_test_command_in(&o, root_of(state), "pragma -p none @a.cu");
    assert_int_equal(o.code, 2);
    hpc_test_says(o.err, "; only the common functions of CUDA and HIP are declared here: calls of "
                         "others are unknown\n");
}

static void utf16_is_named(void **state)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, "z.c"), "\xff\xfei\0n\0", 6));
    hpc_test_refuses(&o, root_of(state), "pragma @z.c", "UTF-16 text: convert it to UTF-8 first");
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(fields_of_anonymous_structs_compile_in_clauses),
                                       TEST(results_for_a_loop_do_not_depend_on_at),
                                       TEST(each_loop_of_a_macro_is_listed),
                                       TEST(evidence_names_the_container_of_an_element),
                                       TEST(device_code_gets_no_directive),
                                       TEST(do_while_zero_is_no_loop),
                                       TEST(advice_on_errors_can_be_followed),
                                       TEST(utf16_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
