/*
 * plan.c: `plan check` and `plan simulate` as a user would type them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"

static hpc_test_outcome o;

#define TINY "--hidden 64 --ffn 96 --length 32 "

static void a_plan_that_holds(void **state)
{
    (void)state;
    hpc_test_command(&o, "plan check " TINY "--grid data=2,depth=2,row=2 --zero 1");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "ranks    8, of which 8 programs were compared\n");
    hpc_test_says(o.out, "order    holds: ");
    hpc_test_says(o.out, "layouts  hold: ");
    hpc_test_says(o.out, "memory   ");
    hpc_test_command(&o, "plan check --shape gpt-80b --dtype bf16 --grid data=32,depth=4,row=8 "
                         "--zero 3 --sequences 128 --length 64 --json");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "{\"ranks\":1024,\"compared\":11,\"order\":{\"ok\":true,\"text\":null,");
}

static void a_plan_that_does_not_fit(void **state)
{
    (void)state;
    hpc_test_command(&o, "plan check " TINY "--grid data=2 --memory 0.001");
    assert_int_equal(o.code, 1);
    hpc_test_says(o.out, "memory   rank 0 needs ");
    hpc_test_says(o.out, ", --memory allows 1.0 MiB: fewer sequences");
    hpc_test_refuses(&o, NULL, "plan check --grid data=3", "6 and 9 are the nearest that work");
    hpc_test_refuses(&o, NULL, "plan check --shape no-such",
                     "no known shape, and no model directory");
    hpc_test_refuses(&o, NULL, "plan check extra", "unexpected argument 'extra'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_plan_that_holds),
                                       cmocka_unit_test(a_plan_that_does_not_fit)};
    return cmocka_run_group_tests_name("cmd/plan", tests, NULL, NULL);
}
