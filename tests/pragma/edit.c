/*
 * edit.c: each edit that the evidence of a labelled loop names is applied, and the edited loop is
 * parallel (tests/pragma/edits.py).
 */
/* tsan: left out, other tests run the same code. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/shell.h"

static void edited_loops_are_parallel(void **state)
{
    char program[PATH_MAX];
    (void)state;
    NEED_LIBRARY;
    hpc_test_need("python3");
    const int rc = hpc_test_shell("python3 tests/pragma/edits.py --hpccoder '%s'",
                                  hpc_test_built(program, "hpccoder"));
    if (rc != 0) fail_msg("%s", hpc_test_shown());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(edited_loops_are_parallel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
