/*
 * Tests of `hpccoder bench optimizer`: each optimizer once, AdamW first, with train/'s formulas;
 * and of the optimizer part of `bench step`. Times are not checked.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/sanitized.h"
#include "tests/support/expect.h"
#include "train/train.h"

static hpc_test_outcome o;

#define TINY                                                                                       \
    "bench optimizer --hidden 32 --layers 2 --heads 4 --kv-heads 2 --ffn 48 --sequences 2 "        \
    "--length 16 --block 16 --interval 4 --rounds 2 -q "

static double number(const hpc_json *object, const char *key)
{
    double x;
    test_ok(hpc_json_real(&x, hpc_json_get(object, key), key));
    return x;
}

/* Sums over the matrices of two blocks. */
static hpc_optimizer_cost cost_of(int kind)
{
    static const int64_t shape[][2] = {{32, 32}, {16, 32}, {16, 32}, {32, 32},
                                       {48, 32}, {48, 32}, {32, 48}};
    hpc_optimizer_config c = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_optimizer_cost sum = {0};
    c.kind = kind;
    hpc_optimizer_usual(&c);
    c.block = 16;
    for (int k = 0; k < 7; k++) {
        hpc_optimizer_cost x = hpc_optimizer_cost_of(&c, shape[k][0], shape[k][1]);
        sum.apply += 2 * x.apply;
        sum.refresh += 2 * x.refresh;
        sum.state_bytes += 2 * x.state_bytes;
    }
    return sum;
}

static void all_of_them(void **state)
{
    hpc_json *root;
    bool seen[HPC_OPT_N] = {false};
    (void)state;
    hpc_test_command(&o, TINY "--json");
    assert_int_equal(o.code, 0);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
    const hpc_json *list = hpc_json_get(root, "optimizers");
    assert_int_equal(hpc_json_n(list), HPC_OPT_N);
    double model = number(root, "model_flops");
    for (int k = 0; k < HPC_OPT_N; k++) {
        const hpc_json *row = hpc_json_at(list, k);
        const char *name;
        int kind = 0;
        test_ok(hpc_json_text(&name, hpc_json_get(row, "name"), "name"));
        while (strcmp(hpc_optimizer_names[kind], name) != 0) kind++;
        assert_false(seen[kind]);
        seen[kind] = true;
        assert_int_equal(k == 0, kind == HPC_OPT_ADAMW);
        hpc_optimizer_cost c = cost_of(kind);
        double formula = 1 + (c.apply + c.refresh / 4) / model;
        assert_true(number(row, "apply_flops") == c.apply);
        assert_true(number(row, "refresh_flops") == c.refresh);
        assert_true(number(row, "state_bytes") == c.state_bytes);
        assert_true(fabs(number(row, "over_adamw_by_formula") - formula) < 1e-6 * formula);
        assert_true(number(row, "step_ms") > 0);
        assert_true(kind > HPC_OPT_MUON || number(row, "refresh_ms") == 0);
        if (k == 0) assert_true(number(row, "over_adamw") == 1);
    }
    hpc_json_free(root);
}

static void some_of_them(void **state)
{
    (void)state;
    hpc_test_command(&o, TINY "--optimizer soap --optimizer muon");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "adamw");
    hpc_test_says(o.out, "soap");
    hpc_test_says(o.out, "muon");
    assert_null(strstr(o.out, "shampoo"));
    hpc_test_command(&o, TINY "--optimizer adam");
    assert_int_equal(o.code, 2);
    hpc_test_says(o.err, "unknown optimizer 'adam'");
}

/* `bench step --split`: the shares of all ops, forward and backward, add up. */
static void where_a_step_goes(void **state)
{
    double share = 0;
    int rows = 0;
    (void)state;
    hpc_test_command(&o, "bench step --steps 2 --split --optimizer jorge-newton");
    assert_int_equal(o.code, 0);
    const char *table = strstr(o.out, "\nphase ");
    assert_non_null(table);
    hpc_test_says_row(table, "\nforward matmul ");
    hpc_test_says_row(table, "\nbackward attention_grad ");
    hpc_test_says_row(table, "\nrefresh combine ");
    hpc_test_says_row(table, "\nupdate adamw ");
    for (const char *p = table; (p = strchr(p, '%')); p++, rows++) {
        const char *from = p;
        while (from[-1] != ' ') from--;
        share += strtod(from, NULL);
    }
    assert_true(rows > 10 && fabs(share - 100) < 0.05 * rows);
}

/* The machine's limits are measured with each step. */
static void how_near_the_floor(void **state)
{
    hpc_json *line;
    (void)state;
    if (HPC_TEST_ASAN || HPC_TEST_TSAN) {
        print_message("SKIP: sanitizers do not know the peers\n");
        skip();
    }
    hpc_test_command(&o, "bench step --steps 1 --floor --json");
    assert_int_equal(o.code, 0);
    test_ok(hpc_json_parse(&line, o.out, strlen(o.out), "a step"));
    assert_true(number(line, "limit_gflops") > 0 && number(line, "read_gbs") > 0);
    /* The update's bytes come on top of the operations. */
    assert_true(number(line, "of_limits") >= number(line, "gflops") / number(line, "limit_gflops"));
    hpc_json_free(line);
    hpc_test_command(&o, "bench step --steps 2 --floor --peer");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "fraction of the lower bound: ");
    hpc_test_says(o.out, "no peer runs such steps: peers need --tied");
    hpc_test_command(&o, "bench step --steps 1 --peer --length 32 --tied --kv-heads 4");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "tests/bench/torch_step.py --hidden 128 --layers 2 --heads 4 --ffn 352 "
                         "--vocab 256 --rows 8 --length 32 --dtype f32 --threads ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(some_of_them),
        cmocka_unit_test(where_a_step_goes),
        cmocka_unit_test(how_near_the_floor),
    };
    return cmocka_run_group_tests_name("cmd/bench_optimizer", tests, NULL, NULL);
}
