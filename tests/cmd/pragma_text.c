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

/* Six parts of one array give 15 pairs that may overlap: one line. */
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
    hpc_test_says(o.out, "    alias: lines 10 to 14: q0[i], q1[i], q2[i], q3[i] may overlap other "
                         "accesses (15 pairs)\n");
    assert_in_range(lines, 1, 7);
    run(state, "pragma @many.c --json");
    hpc_test_says(o.out, "q4[i] and q5[i] (line 15) may derive from one pointer"); /* every pair */
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(evidence_takes_few_lines, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
