/*
 * Tests of assumptions that no expression tests: their grouping, the code that tests them, the file
 * that confirms them, and the witness of an input that violates one.
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
#include "runtime/proc/proc.h"
#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"
#include "tests/support/shell.h"

static hpc_test_outcome o;

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void write_text(void **state, const char *name, const char *text)
{
    char path[PATH_MAX];
    test_ok(hpc_file_save(hpc_test_path(path, *state, name), text, strlen(text)));
}

static void run(void **state, int code, const char *words)
{
    hpc_test_command_in(&o, root_of(state), words);
    if (o.code != code) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
}

#define SPMV                                                                                       \
    "typedef struct { int n; int *count; double **vals; int **inds; } matrix;\n"                   \
    "void spmv(const matrix *A, const double *x, double *y)\n{\n"                                  \
    "    for (int i = 0; i < A->n; i++) {\n"                                                       \
    "        double sum = 0;\n        const double *vals = A->vals[i];\n"                          \
    "        for (int j = 0; j < A->count[i]; j++) sum += vals[j] * x[A->inds[i][j]];\n"           \
    "        y[i] = sum;\n    }\n}\n"
#define SCATTER                                                                                    \
    "void scatter(int n, const int *perm, double *restrict y, const double *restrict x)\n{\n"      \
    "    for (int i = 0; i < n; i++) y[perm[i]] = x[i];\n}\n"
#define SUM                                                                                        \
    "void sum(int n, const int *bin, double *restrict y, const double *restrict x)\n{\n"           \
    "    for (int i = 0; i < n; i++) y[bin[i]] += x[i];\n}\n"

static void rows_and_arrays_are_one_assumption(void **state)
{
    NEED_LIBRARY;
    write_text(state, "a.c", SPMV);
    run(state, 0, "pragma -p none @a.c --at 4");
    hpc_test_says(o.out, "a.c:4: conditional\n");
    hpc_test_says(o.out, "assumes: the rows of A->vals and x do not overlap y (no test)\n");
    hpc_test_says(o.out, "not inserted: it depends on assumptions without a test");
    run(state, 0, "pragma -p none @a.c --json --at 4");
    hpc_test_says(o.out, "\"check\": null,\n            \"code\": null,\n"
                         "            \"trusted\": false");
}

static void guard_leaves_untested_assumptions_out_and_conditional_does_not(void **state)
{
    NEED_LIBRARY;
    write_text(state, "a.c", SPMV);
    run(state, 0, "pragma -p none @a.c --diff --guard");
    assert_string_equal(o.out, "");
    run(state, 0, "pragma -p none @a.c --diff --conditional");
    hpc_test_says(o.out, "+    #pragma omp parallel for");
}

static void sums_at_indices_from_memory_stay_unsafe(void **state)
{
    NEED_LIBRARY;
    write_text(state, "a.c", SCATTER SUM);
    run(state, 0, "pragma -p none @a.c");
    hpc_test_says(o.out, "a.c:3: conditional\n");
    hpc_test_says(o.out, "assumes: perm has no repeated entry (no test; --at prints code for one)");
    hpc_test_says(o.out, "a.c:7: unsafe\n");
}

/* The code of JSON is put in a function and called with arrays that have and lack repetitions. */
static void code_tests_for_repeated_entries(void **state)
{
    static const char before[] = "#include <stdlib.h>\n"
                                 "static int is_distinct(int n, const int *perm)\n{\n",
                      after[] = "return perm_distinct;\n}\n"
                                "int main(void)\n{\n"
                                "    const int a[] = {7, -3, 0, 12}, b[] = {7, -3, 0, -3};\n"
                                "    return !(is_distinct(4, a) && !is_distinct(4, b) && "
                                "is_distinct(3, b) && is_distinct(0, a));\n}\n";
    hpc_json *root = NULL;
    hpc_buf program = {0};
    const char *code;
    NEED_LIBRARY;
    write_text(state, "a.c", SCATTER);
    run(state, 0, "pragma -p none @a.c --json");
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "out"));
    const hpc_json *loop = hpc_json_at(hpc_json_get(hpc_json_at(root, 0), "loops"), 0),
                   *assumed = hpc_json_at(hpc_json_get(loop, "assumptions"), 0);
    test_ok(hpc_json_text(&code, hpc_json_get(assumed, "code"), "code"));
    hpc_buf_printf(&program, "%s%s%s", before, code, after);
    write_text(state, "test.c", program.data);
    if (hpc_test_shell("cd '%s' && cc -Wall -Wextra -Werror -fsanitize=undefined,address test.c "
                       "-o test && ./test",
                       root_of(state)) != 0)
        fail_msg("%s", hpc_test_shown());
    hpc_buf_release(&program);
    hpc_json_free(root);
}

static void code_computes_products_in_64_bits(void **state)
{
    static const char text[] =
        "void f(int n, int m, const int *restrict perm, const double *restrict x, "
        "double *restrict y)\n{\n"
        "    for (int i = 0; i < n * m; i++) y[perm[i]] = x[i];\n}\n";
    NEED_LIBRARY;
    write_text(state, "a.c", text);
    run(state, 0, "pragma -p none @a.c --at 3");
    hpc_test_says(o.out, "const long long first = 0, last = (long long)n*m - 1;\n");
}

static void trust_takes_confirmed_assumptions_for_granted(void **state)
{
    NEED_LIBRARY;
    write_text(state, "a.c", SPMV SCATTER);
    write_text(state, "trust.txt",
               "# confirmed\n\n"
               "a.c: spmv: the rows of A->vals and x do not overlap y\n");
    run(state, 0, "pragma -p none @a.c --diff --trust @trust.txt");
    hpc_test_says(o.out, "+    #pragma omp parallel for schedule(dynamic)");
    assert_null(strstr(o.out, "y[perm[i]] = x[i];\n+"));
    assert_string_equal(o.err, "");
    run(state, 0, "pragma -p none @a.c --json --trust @trust.txt");
    hpc_test_says(o.out, "\"trusted\": true");
}

static void trust_reports_entries_on_which_no_loop_depends(void **state)
{
    NEED_LIBRARY;
    write_text(state, "a.c", SPMV);
    write_text(state, "trust.txt",
               "a.c: spmv: the rows of A->vals do not overlap y\n"
               "other.c: spmv: the rows of A->vals do not overlap y\n");
    run(state, 0, "pragma -p none @a.c --trust @trust.txt");
    hpc_test_says(o.err, "trust.txt:1: no loop of spmv in a.c depends on this assumption");
    assert_null(strstr(o.err, "other.c"));
    write_text(state, "trust.txt", "a.c: spmv\n");
    hpc_test_refuses(&o, root_of(state), "pragma @a.c --trust @trust.txt",
                     "trust.txt:1: expected FILE: FUNCTION: ASSUMPTION");
}

/* y is the first row of the matrix, then memory of its own. */
static void witness_shows_the_violated_assumption(void **state)
{
    static const char program[] = SPMV "int main(int argc, char **argv)\n{\n"
                                       "    static double v[4][4], x[4], y[4];\n"
                                       "    static int ind[4][4];\n"
                                       "    int count[4] = {4, 4, 4, 4}, *inds[4];\n"
                                       "    double *vals[4];\n"
                                       "    (void)argv;\n"
                                       "    for (int i = 0; i < 4; i++) vals[i] = v[i];\n"
                                       "    for (int i = 0; i < 4; i++) inds[i] = ind[i];\n"
                                       "    matrix A = {4, count, vals, inds};\n"
                                       "    spmv(&A, x, argc > 1 ? vals[3] : y);\n"
                                       "    return 0;\n}\n";
    char words[300];
    const char *sandbox = hpc_proc_exists("bwrap") ? "" : " --no-sandbox";
    NEED_LIBRARY;
    if (!hpc_proc_exists("cc")) skip();
    write_text(state, "p.c", program);
    write_text(state, "build.sh", "cc p.c -o p\n");
    for (int violates = 0; violates < 2; violates++) {
        snprintf(words, sizeof words,
                 "pragma @p.c --at 4 --folder @ --verify run --build sh\tbuild.sh --run ./p%s%s",
                 violates ? "\t1" : "", sandbox);
        run(state, 0, words);
        hpc_test_says(o.out, violates ? "p.c:4: unsafe\n" : "p.c:4: conditional\n");
        if (violates) hpc_test_says(o.out, "    witness: line 8: iteration i = 0 writes");
    }
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_and_arrays_are_one_assumption),
        TEST(guard_leaves_untested_assumptions_out_and_conditional_does_not),
        TEST(sums_at_indices_from_memory_stay_unsafe),
        TEST(code_computes_products_in_64_bits),
        TEST(code_tests_for_repeated_entries),
        TEST(witness_shows_the_violated_assumption),
        TEST(trust_takes_confirmed_assumptions_for_granted),
        TEST(trust_reports_entries_on_which_no_loop_depends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
