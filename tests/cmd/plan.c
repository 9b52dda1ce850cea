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

/* The number behind the n-th `"key":`, from 0. */
static double number(const char *key, int n)
{
    const char *at = o.out;
    char word[64];
    snprintf(word, sizeof word, "\"%s\":", key);
    for (int k = 0; k <= n; k++) {
        at = strstr(at, word);
        assert_non_null(at);
        at += strlen(word);
    }
    return strtod(at, NULL);
}

static void every_machine_that_comes_is_read(void **state)
{
    static const char *const machine[] = {"dgx-h100",        "a100-selene", "a100-perlmutter",
                                          "mi250x-frontier", "cpu-cluster", "two-cores"};
    char words[256];
    (void)state;
    for (size_t k = 0; k < sizeof machine / sizeof *machine; k++) {
        snprintf(words, sizeof words,
                 "plan simulate --machine %s " TINY "--grid data=2,row=2 --zero 1 --json",
                 machine[k]);
        hpc_test_command(&o, words);
        assert_int_equal(o.code, 0);
        hpc_test_says(o.out, "\"predicted\":true");
        assert_true(number("step_s", 0) > 0);
        assert_true(number("exposed_s", 0) <= number("communication_s", 0) * (1 + 1e-9));
        assert_true(number("step_s", 0) >= number("least_s", 0));
    }
}

static void a_large_plan_is_simulated_unallocated(void **state)
{
    (void)state;
    hpc_test_command(&o, "plan simulate --machine dgx-h100 --shape gpt3-175b --dtype bf16 --zero 1 "
                         "--grid data=16,depth=8,row=8 --sequences 1024 --length 2048 "
                         "--accumulate 8 --recompute block --json");
    assert_int_equal(o.code, 0);
    assert_true(number("parameters", 0) > 174e9 && number("parameters", 0) < 176e9);
    assert_true(number("mfu", 0) > 0.01 && number("mfu", 0) < 0.82);
    hpc_test_command(&o, "plan simulate --machine a100-selene --heads 8 --kv-heads 8 --ffn 512 "
                         "--grid row=8");
    hpc_test_says(o.out, "row=8,col=1 sends 7 m h a block");
    hpc_test_says(o.out, "the least of 8 ranks is 6, of row=4,col=2\n");
    hpc_test_command(&o, "plan simulate --machine dgx-h100 --shape gpt3-175b --dtype bf16 "
                         "--grid data=8 --sequences 8 --length 2048");
    assert_int_equal(o.code, 1);
    hpc_test_says(o.out, "; it does not fit\n");
}

/* In order of time, of those that fit. */
static void grids_are_ranked(void **state)
{
    (void)state;
    hpc_test_command(&o, "plan simulate --machine a100-perlmutter " TINY
                         "--best 8 --top 5 --sequences 16 --json");
    assert_int_equal(o.code, 0);
    for (int k = 0; k < 5; k++) assert_true(number("ranks", k) == 8);
    for (int k = 1; k < 5; k++) assert_true(number("step_s", k) >= number("step_s", k - 1));
    hpc_test_refuses(&o, NULL, "plan simulate --machine dgx-h100 --best 7 " TINY,
                     "no grid of 7 ranks divides 8 sequences");
    hpc_test_refuses(&o, NULL, "plan simulate --machine dgx-h100 --best 8 --grid data=2",
                     "--grid and --best");
    hpc_test_refuses(&o, NULL, "plan simulate --grid data=2", "--machine names a file");
    hpc_test_refuses(&o, NULL, "plan simulate --machine nowhere", "--machine nowhere: neither");
    hpc_test_refuses(&o, NULL, "plan simulate --machine dgx-h100 --accumulate 3",
                     "--sequences 8 are not divided by --accumulate 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_plan_that_holds),
                                       cmocka_unit_test(a_plan_that_does_not_fit),
                                       cmocka_unit_test(every_machine_that_comes_is_read),
                                       cmocka_unit_test(a_large_plan_is_simulated_unallocated),
                                       cmocka_unit_test(grids_are_ranked)};
    return cmocka_run_group_tests_name("cmd/plan", tests, NULL, NULL);
}
