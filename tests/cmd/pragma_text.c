/*
 * Tests of the text output of `hpccoder pragma`.
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

static void run(void **state, const char *words)
{
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root, words);
    if (o.code != 0) fail_msg("%s: exit code %d: %s", words, o.code, o.err);
}

/* Six parts of one array give 15 pairs that may overlap: a line for each part. */
static void evidence_takes_few_lines(void **state)
{
    char path[PATH_MAX];
    hpc_buf text = {0};
    int lines = 0;
    NEED_LIBRARY;
    hpc_buf_text(&text, "void f(int n, double *p, const int *at)\n{\n");
    for (int k = 0; k < 6; k++) hpc_buf_printf(&text, "    double *q%d = p + at[%d];\n", k, k);
    hpc_buf_text(&text, "    for (int i = 0; i < n; i++) {\n");
    for (int k = 0; k < 6; k++) hpc_buf_printf(&text, "        q%d[i] = %d;\n", k, k);
    hpc_buf_text(&text, "    }\n}\n");
    test_ok(hpc_file_save(hpc_test_path(path, *state, "many.c"), text.data, text.n));
    run(state, "pragma @many.c");
    for (const char *at = o.out; (at = strstr(at, "\n    ")); at++) lines++;
    hpc_test_says(o.out, "    alias: line 10: q0 may overlap q1, q2, q3, q4 and 1 more (5 pairs of "
                         "accesses)\n");
    hpc_test_says(o.out, "    alias: line 11: q1 may overlap q2, q3, q4 and q5 (4 pairs of ");
    assert_in_range(lines, 1, 7);
    run(state, "pragma @many.c --json");
    hpc_test_says(o.out, "q4[i] and q5[i] (line 15) may derive from one pointer"); /* every pair */
    hpc_buf_release(&text);
}

/* A loop in a function of its own, and the edit that the program names; NULL: none. */
static void edits_are_named_where_they_suffice(void **state)
{
    static const struct {
        const char *body, *edit;
    } loops[] = {
        {"a[i] = c[i];\n b[i] = a[i - 1];",
         "split the loop after line 4: each of the two loops is"},
        {"b[i] = a[i + 1];\n a[i] = c[i];", "split the loop after line 4"},
        {"b[i] = a[i - 1];\n a[i] = c[i];", NULL}, /* the second part comes first */
        {"double t = c[i];\n a[i] = t;\n b[i] = t + a[i - 1];",
         "split the loop after line 5 and repeat line 4"},
        {"double t = c[i];\n t += 1;\n a[i] = t;\n b[i] = t + a[i - 1];", NULL}, /* t passes on */
        {"a[i] = c[i] + b[i - 1];\n b[i] = a[i - 1];", NULL},                    /* a circle */
        {"h[k[i]] += c[i];", "put #pragma omp atomic before the update in line 4"},
        {"h[k[i]] += h[0];", NULL},
        {"p[i] = q[i - 1];", "restrict in the declarations excludes an overlap of"},
        {"a[i] = c[i];\n printf(\"%g\", c[i]);", "split the loop after line 4: the first loop is"},
        {"h[0] = c[i];\n a[i] = h[0] * h[0];",
         "privatise h: each iteration assigns it before it reads it, unless the values are needed"},
        {"for (int j = 0; j < 9; j++) w[j] = c[i] + j;\n a[i] = w[0] + w[8];", "privatise w: each"},
        {"for (int j = 0; j < 9; j++) w[j] = h[j] = c[i];\n a[i] = w[2] + h[3];",
         "privatise h and w: each iteration assigns them before it reads them"},
        {"for (int j = 0; j < 9; j++) w[j] = c[i];\n a[i] = w[9];",
         "split the loop after line 4: the second loop is"}, /* w[9] is not assigned */
        {"if (c[i] > 0) w[0] = c[i];\n a[i] = w[0];", NULL}, /* not in each iteration */
        {"a[i] = w[0];\n w[0] = c[i];", NULL},               /* read first */
        {"maybe(w, c[i]);\n a[i] = w[0];", NULL},            /* a call may not assign it */
        {"w[0] = c[i];", NULL},                              /* a result */
        {"w[0] = c[i];\n a[i] = w[0] + a[i - 1];", NULL},    /* another conflict */
    };
    NEED_LIBRARY;
    for (size_t k = 0; k < sizeof loops / sizeof *loops; k++) {
        char path[PATH_MAX];
        hpc_buf text = {0};
        hpc_buf_printf(
            &text,
            "#include <stdio.h>\nstatic double w[10]; static void maybe(double *x, double y) { "
            "if (y > 0) x[0] = y; } void f(int n, "
            "double *restrict a, double *restrict b, "
            "const double *restrict c, double *restrict h, const int *restrict k, double "
            "*p, const double *q) {\n for (int i = 1; i < n; i++) {\n %s\n }\n}\n",
            loops[k].body);
        test_ok(hpc_file_save(hpc_test_path(path, *state, "edit.c"), text.data, text.n));
        run(state, "pragma @edit.c");
        const char *edit = strstr(o.out, "    edit: ");
        if (!edit != !loops[k].edit) fail_msg("%s: %s", loops[k].body, o.out);
        if (edit) hpc_test_says(edit, loops[k].edit);
        hpc_buf_release(&text);
    }
}

/* The order is that of the measured times; inner lines count for the loop. */
static void loops_are_sorted_by_the_line_profile(void **state)
{
    static const char text[] = "void f(int n, double *restrict a, double *restrict b)\n{\n"
                               "    for (int i = 0; i < n; i++) a[i] = 1;\n"
                               "    for (int i = 0; i < n; i++) {\n        b[i] = 2;\n    }\n}\n";
    static const char profile[] = "# Overhead  Source:Line\n 10.00%  hot.c:3\n"
                                  " 70.00%  src/hot.c:5\n 15.00%  hot.c:4\n 5.00% other.c:3\n";
    char path[PATH_MAX];
    NEED_LIBRARY;
    test_ok(hpc_file_save(hpc_test_path(path, *state, "hot.c"), text, sizeof text - 1));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "hot.txt"), profile, sizeof profile - 1));
    run(state, "pragma @hot.c --line-profile @hot.txt");
    const char *first = strstr(o.out, "hot.c:4: parallel"), *last = strstr(o.out, "hot.c:3: ");
    assert_true(first && last && first < last);
    hpc_test_says(o.out, "    time: 15.0 % of the line profile\n");
    hpc_test_says(o.out, "    time: 10.0 % of the line profile\n");
    test_ok(hpc_file_save(hpc_test_path(path, *state, "hot.txt"), "none\n", 5));
    hpc_test_command_in(&o, ((const hpc_test_folder *)*state)->root,
                        "pragma @hot.c --line-profile @hot.txt");
    hpc_test_says(o.err, "no line has a place FILE:LINE and a time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(edits_are_named_where_they_suffice, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(loops_are_sorted_by_the_line_profile, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(evidence_takes_few_lines, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
