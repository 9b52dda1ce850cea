/*
 * Tests of `hpccoder plan check` and `hpccoder plan simulate`.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* Five tasks of each of four microbatches on both ranks: embed, forward, head, backward, table. */
static void a_vocabulary_with_parts_on_all_stages(void **state)
{
    (void)state;
    hpc_test_command(&o, "plan check " TINY "--grid pipe=2 --pipe-vocab interlaced --accumulate 4");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "stages   hold: 5 messages of a microbatch, each received once; 40 tasks");
    hpc_test_says(o.out, "24 of them shared, in one order");
    hpc_test_command(&o, "plan simulate --machine two-cores " TINY
                         "--grid pipe=2 --pipe-vocab interlaced --accumulate 4 --json");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "\"bubble_s\":");
    hpc_test_command(&o, "plan check " TINY "--grid data=2 --pipe-vocab interlaced");
    assert_int_equal(o.code, 0);
    hpc_test_refuses(&o, NULL,
                     "plan check " TINY
                     "--grid pipe=2 --pipe-vocab interlaced --accumulate 4 --pipe-schedule arrival",
                     "and arrival has none; use gpipe or 1f1b");
}

static void a_plan_that_does_not_fit(void **state)
{
    (void)state;
    hpc_test_command(&o, "plan check " TINY "--grid data=2 --memory 0.001");
    assert_int_equal(o.code, 1);
    hpc_test_says(o.out, "memory   rank 0 needs ");
    hpc_test_says(o.out, ", --memory allows 1.0 MiB: use fewer sequences");
    hpc_test_refuses(&o, NULL, "plan check --grid data=3", "6 and 9 are the nearest that work");
    hpc_test_refuses(&o, NULL, "plan check --shape no-such",
                     "neither a known shape nor a model directory");
    hpc_test_refuses(&o, NULL, "plan check extra", "unexpected argument 'extra'");
}

/* The number after the n-th `"key":`, from 0. */
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
                     "no grid of 7 ranks divides both 8 sequences");
    hpc_test_refuses(&o, NULL, "plan simulate --machine dgx-h100 --best 8 --grid data=2",
                     "--grid and --best");
    hpc_test_refuses(&o, NULL, "plan simulate --grid data=2", "--machine is missing: name a file");
    hpc_test_refuses(&o, NULL, "plan simulate --machine nowhere", "--machine nowhere: neither");
    hpc_test_refuses(&o, NULL, "plan simulate --machine dgx-h100 --accumulate 3",
                     "--sequences 8 is not a multiple of --accumulate 3");
}

#define PRUNED "--hidden 64 --ffn 96 --kv-heads 4 --length 32 --dtype bf16 "
enum { MATRICES = 2 * (4 * 64 * 64 + 3 * 64 * 96) }; /* elements, of two blocks */

/* What a rank keeps of parameters, gradients and the optimizer, of `plan check PRUNED words`; or
 * all that it allocates. */
static double bytes_of(const char *words, bool all)
{
    char line[256];
    snprintf(line, sizeof line, "plan check " PRUNED "--json %s", words);
    hpc_test_command(&o, line);
    assert_int_equal(o.code, 0);
    if (all) return number("peak_bytes", 0);
    return number("parameter_bytes", 0) + number("gradient_bytes", 0) +
           number("optimizer_bytes", 0);
}

/* 26 - 24 p bytes for each element of a matrix that is pruned, where 20 are dense; of two ranks
 * each has half of that. */
static void a_pruned_plan_keeps_what_is_left(void **state)
{
    (void)state;
    const double none = bytes_of("--prune 0", false);
    assert_true(none - bytes_of("--gradients bf16", false) == 6 * MATRICES);
    assert_true(none - bytes_of("--prune 0.5", false) == 24 * 0.5 * MATRICES);
    assert_true(none - bytes_of("--prune 0.75", false) == 24 * 0.75 * MATRICES);
    assert_true(bytes_of("--grid row=2 --prune 0", false) -
                    bytes_of("--grid row=2 --prune 0.75", false) ==
                24 * 0.75 * MATRICES / 2);
}

static void a_pruned_plan_is_proven(void **state)
{
    char words[256];
    (void)state;
    hpc_test_command(&o, "plan check " PRUNED "--grid data=2,depth=2,row=2 --zero 1 --prune 0.9");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "order    holds: ");
    hpc_test_says(o.out, "layouts  hold: ");
    double dense = bytes_of("--grid row=2,col=2 --sequence", true);
    double pruned = bytes_of("--grid row=2,col=2 --sequence --prune 0.9", true);
    assert_true(pruned < dense);
    snprintf(words, sizeof words,
             "plan check " PRUNED "--grid row=2,col=2 --sequence --memory %.9f ",
             (dense + pruned) / 2 / 0x1p30);
    hpc_test_command(&o, words);
    assert_int_equal(o.code, 1);
    hpc_test_says(o.out, "memory   rank 0 needs ");
    strcat(words, "--prune 0.9");
    hpc_test_command(&o, words);
    assert_int_equal(o.code, 0);
    hpc_test_refuses(&o, NULL, "plan check --prune 1", "prune=1 must be in [0, 1");
    hpc_test_refuses(&o, NULL, "plan check --prune 0.5 --zero 2 --grid data=2",
                     "zero=2: ranks can only shard the optimizer's state of a pruned model");
    hpc_test_refuses(&o, NULL, "plan simulate --machine dgx-h100 --prune 0.5 --optimizer soap",
                     "prune: the moments of soap");
    hpc_test_command(&o, "plan show --layers 1 --grid data=2,row=2 --prune 0.9 --rank 3");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "self_attn.o_proj.weight@1 = pick(x=");
}

/* Two bytes of each element that is left, three times half of them along four ranks. */
static void a_pruned_plan_sends_what_is_left(void **state)
{
    double sent[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        hpc_test_command(&o, k ? "plan simulate --machine dgx-h100 " PRUNED
                                 "--grid data=4 --json --prune 0.5"
                               : "plan simulate --machine dgx-h100 " PRUNED
                                 "--grid data=4 --json --gradients bf16");
        sent[k] = number("sent_bytes", 0);
    }
    assert_true(sent[0] - sent[1] == 1.5 * 2 * MATRICES / 2);
}

/* bf16: 12 bytes of an element of a master and its moments are outside, and move both ways in a
 * step; 12 of an element of a bucket stay. Of two ranks along data (ZeRO) or pipe each has a part.
 */
static void an_offloaded_plan_counts_both_memories(void **state)
{
    static const char *const grid[] = {"", "--grid data=2 --zero 1 ",
                                       "--grid pipe=2 --accumulate 2 "};
    (void)state;
    for (size_t k = 0; k < sizeof grid / sizeof *grid; k++) {
        char words[256];
        snprintf(words, sizeof words, "%s", grid[k]);
        double in = bytes_of(words, false), all = number("peak_bytes", 0);
        assert_true(number("outside_bytes", 0) == 0);
        strcat(words, "--offload-bucket 512");
        double out = bytes_of(words, false), outside = number("outside_bytes", 0);
        assert_true(outside > 0 && in - out == outside - 12 * 512);
        assert_true(number("peak_bytes", 0) < all);
        snprintf(words, sizeof words,
                 "plan simulate --machine cpu-cluster " PRUNED "--json --offload-bucket 512 %s",
                 grid[k]);
        hpc_test_command(&o, words);
        assert_int_equal(o.code, 0);
        assert_true(number("outside_bytes", 0) == outside);
        assert_true(k == 2 || number("moved_bytes", 0) == 2 * outside);
        assert_true(number("moved_s", 0) >= number("moved_bytes", 0) / 3e9);
    }
}

/* Three ranks divide neither a width of 64 nor a vocabulary of 1024, but the 96 columns of down: of
 * a block four matrices and two norms stay whole, and of the others two norms and the table. */
static void what_zero_leaves_whole_is_named(void **state)
{
    (void)state;
    hpc_test_command(&o,
                     "plan check " TINY "--grid data=3 --zero 1 --sequences 6 --layers 2 --json");
    assert_int_equal(o.code, 0);
    assert_true(number("tensors", 0) > 0);
    hpc_test_says(o.out, "\"largest\":\"model.embed_tokens.weight\"");
    hpc_test_command(&o, "plan check " TINY "--grid data=3 --zero 1 --sequences 6 --vocab 1026");
    hpc_test_says(o.out, "which the ranks along data do not divide");
    hpc_test_command(&o, "plan check " TINY "--grid data=2 --zero 1 --vocab 1025 --json");
    assert_int_equal(o.code, 0);
    assert_true(number("tensors", 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_plan_that_holds),
                                       cmocka_unit_test(a_vocabulary_with_parts_on_all_stages),
                                       cmocka_unit_test(a_plan_that_does_not_fit),
                                       cmocka_unit_test(every_machine_that_comes_is_read),
                                       cmocka_unit_test(a_large_plan_is_simulated_unallocated),
                                       cmocka_unit_test(grids_are_ranked),
                                       cmocka_unit_test(a_pruned_plan_keeps_what_is_left),
                                       cmocka_unit_test(a_pruned_plan_is_proven),
                                       cmocka_unit_test(a_pruned_plan_sends_what_is_left),
                                       cmocka_unit_test(an_offloaded_plan_counts_both_memories),
                                       cmocka_unit_test(what_zero_leaves_whole_is_named)};
    return cmocka_run_group_tests_name("cmd/plan", tests, NULL, NULL);
}
