/*
 * Tests of `hpccoder pragma --fix` on loops that are long enough for threads, and on loops that
 * are too short.
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

/* Writes a file, runs a command on it and reads it. */
static void run(void **state, const char *text, const char *words, hpc_buf *after)
{
    char path[PATH_MAX];
    hpc_test_path(path, *state, "a.c");
    if (text) test_ok(hpc_file_save(path, text, strlen(text)));
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root, words);
    if (o.code != 0) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
    hpc_buf_release(after);
    test_ok(hpc_file_read(after, path, 1 << 20));
}

static const char rows[] =
    "void rows(int n, const int *k, double **a, int **at, const double *x, double *y)\n"
    "{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        double s = 0;\n"
    "        const double *row = a[i];\n"
    "        const int *col = at[i];\n"
    "        const int m = k[i];\n"
    "        for (int j = 0; j < m; j++) s += row[j] * x[col[j]];\n"
    "        y[i] = s;\n"
    "    }\n"
    "}\n";
static const char called_in_a_loop[] =
    "static double norm(int n, const double *x)\n"
    "{\n"
    "    double s = 0;\n"
    "    for (int i = 0; i < n; i++) s += x[i] * x[i];\n"
    "    return s;\n"
    "}\n"
    "double all(int n, const int *m, const double *x)\n"
    "{\n"
    "    double most = 0;\n"
    "    for (int k = 0; k < n && most < 9; k += m[k]) most += norm(m[k], x);\n"
    "    return most;\n"
    "}\n";
/* Only the inner trip count is unknown. */
static const char short_nest[] = "double nest(int steps, int n, double (*y)[64], const int *stop)\n"
                                 "{\n"
                                 "    double s = 0;\n"
                                 "    for (int t = 0; t < steps && !stop[t]; t += stop[t + 1])\n"
                                 "        for (int i = 0; i < 8; i++)\n"
                                 "            for (int j = 0; j < n; j++) s += y[i][j];\n"
                                 "    return s;\n"
                                 "}\n";
static const char few[] = "void few(double *y)\n{\n"
                          "    for (int i = 0; i < 50000; i++) y[i] = 0;\n}\n";
static const char many[] = "void many(double *y)\n{\n"
                           "    for (int i = 0; i < 9000000; i++) y[i] = 0;\n}\n";
static const char unknown[] = "void some(int n, double *y)\n{\n"
                              "    for (int i = 0; i < n; i++) y[i] = 0;\n}\n";

static void fix_starts_no_threads_where_an_entry_is_short(void **state)
{
    const char *const texts[] = {rows, called_in_a_loop, few};
    hpc_buf once = {0}, twice = {0};
    NEED_LIBRARY;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        run(state, texts[k], "pragma --fix --guard @a.c", &once);
        assert_null(strstr(once.data, "omp parallel"));
        run(state, NULL, "pragma --fix --guard @a.c", &twice);
        assert_string_equal(once.data, twice.data);
    }
    hpc_buf_release(&once);
    hpc_buf_release(&twice);
}

static void fix_starts_threads_where_an_entry_is_long(void **state)
{
    hpc_buf text = {0};
    NEED_LIBRARY;
    run(state, many, "pragma --fix @a.c", &text);
    hpc_test_says(text.data, "    #pragma omp parallel for\n");
    run(state, unknown, "pragma --fix @a.c", &text);
    hpc_test_says(text.data, "    #pragma omp parallel for if(n > ");
    hpc_buf_release(&text);
}

#define NEST(head) "void f(" head ")\n{\n"
#define ROWS       "    for (int i = 0; i < n; i++)"

/* The trip counts of inner loops that each iteration runs equally often are in the clause. The
 * others count as a fixed number of iterations. */
static void clauses_test_the_trip_counts_of_the_nest(void **state)
{
    static const struct {
        const char *text, *clause;
    } nests[] = {
        {NEST("int n, double *restrict a, const double *restrict b") ROWS
         " for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)\n"
         "        a[((long)i * n + j) * n + k] = b[((long)i * n + j) * n + k];\n}\n",
         "if((long long)n*n*n > 100000)"},
        {NEST("int n, int m, double *restrict a") ROWS
         " for (int j = 1; j < m - 1; j++) a[(long)i * m + j] = 0;\n}\n",
         "if((long long)n*(m - 2) > "},
        {NEST("unsigned n, unsigned long m, double *restrict a") "    for (unsigned i = 0; i < n; "
                                                                 "i++) for (unsigned long j = 1; j "
                                                                 "< m; j++)\n"
                                                                 "        a[i * m + j] = 0;\n}\n",
         "if((long long)n*((long long)m - 1) > "},
        {NEST("int n, int m, double *restrict a") "    for (int i = 0; i < n; i += 8) for (int j = "
                                                  "0; j < m; j += 4)\n"
                                                  "        a[(long)i * m + j] = 0;\n}\n",
         "if((long long)n*m > 20000000)"}, /* a 32nd of the iterations */
        {short_nest, "collapse(2) reduction(+:s) if(n > "},
        {NEST("int n, double (*restrict a)[n]") ROWS
         " for (int j = 0; j < i; j++) a[i][j] = 0;\n}\n",
         "if(n > "},
        {NEST("int n, int m, const double *restrict a, int *restrict at") ROWS
         " for (int j = 0; j < m; j++) { if (a[(long)i * m + j] > 0) continue; at[i] = j; }\n}\n",
         "if(n > "},
        {NEST("int n, const int *restrict m, double *restrict a") ROWS
         " if (m[i]) for (int j = 0; j < n; j++) a[(long)i * n + j] = 0;\n}\n",
         "if(n > "},
        {NEST("int n, int *const *p, double (*restrict a)[64]") ROWS
         " for (int j = 0; j < **p; j++) a[i][j] = 0;\n}\n",
         "if(n > "}, /* the test would read memory that only iterations read */
    };
    hpc_buf text = {0};
    NEED_LIBRARY;
    for (size_t k = 0; k < sizeof nests / sizeof *nests; k++) {
        run(state, nests[k].text, "pragma -p none @a.c", &text);
        if (!strstr(o.out, nests[k].clause)) fail_msg("%s: %s", nests[k].clause, o.out);
    }
    hpc_buf_release(&text);
}

/* The model decides about directives: proofs do not depend on it. */
static void short_loops_keep_their_verdict_and_say_why_no_threads(void **state)
{
    hpc_buf text = {0};
    NEED_LIBRARY;
    run(state, few, "pragma @a.c", &text);
    hpc_test_says(o.out, "a.c:3: parallel\n");
    hpc_test_says(o.out, "do not pay for the start of threads\n");
    run(state, few, "pragma --json @a.c", &text);
    hpc_test_says(o.out, "do not pay for the start of threads\"");
    run(state, unknown, "pragma --json @a.c", &text);
    hpc_test_says(o.out, "\"enough_iterations\"");
    hpc_test_says(o.out, "\"n > ");
    hpc_buf_release(&text);
}

/* An if clause that is false for all values of the bounds is useless; compilers warn. */
static void types_that_bound_the_trip_count_get_no_threads(void **state)
{
    static const char narrow[] =
        "#include <stdint.h>\n"
        "void narrow(uint16_t end, uint32_t begin, int64_t n, double *restrict x)\n"
        "{\n"
        "    for (uint32_t k = 0; k < end; k++) x[k] = 1;\n"
        "    for (uint32_t k = begin; k < 1024; k++) x[k] = 2;\n"
        "    for (int64_t k = 0; k < n; k++) x[k] = 3;\n"
        "}\n";
    hpc_buf after = {0};
    NEED_LIBRARY;
    run(state, narrow, "pragma -p none @a.c", &after);
    hpc_test_says(o.out, "no directive: its types allow at most 65535 iterations of about");
    hpc_test_says(o.out, "no directive: its types allow at most 1024 iterations of about");
    run(state, NULL, "pragma -p none --fix @a.c", &after);
    hpc_test_says(o.out, "a.c:6: #pragma omp parallel for if(n > ");
    hpc_test_says(o.out, "1 directive inserted\n");
    hpc_buf_release(&after);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fix_starts_no_threads_where_an_entry_is_short),
        TEST(fix_starts_threads_where_an_entry_is_long),
        TEST(clauses_test_the_trip_counts_of_the_nest),
        TEST(short_loops_keep_their_verdict_and_say_why_no_threads),
        TEST(types_that_bound_the_trip_count_get_no_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
