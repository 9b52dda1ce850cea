/*
 * pick.c: pick and spread on every backend compared with the reference, and as inverses of each
 * other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/ops.h"

static const struct {
    hpc_dtype a, b;
} widths[] = {{HPC_F32, HPC_F32}, {HPC_BF16, HPC_BF16}, {HPC_F32, HPC_BF16}, {HPC_BF16, HPC_F32}};
enum { WIDTHS = sizeof widths / sizeof *widths, M = 37, N = 29, ALL = M * N };

/* About every third element, including the last, followed by `none` unused indices. */
static hpc_value some_of(hpc_test_case *c, int64_t *kept, int none)
{
    int32_t index[ALL];
    int64_t n = 0;
    for (int32_t i = 0; i < ALL; i++)
        if (i % 3 == 1 || i % 7 == 0 || i == ALL - 1) index[n++] = i;
    for (int k = 0; k < none; k++) index[n++] = -1;
    *kept = n;
    return hpc_test_indices(c, test_type(HPC_I32, n), index);
}

static void picks(void **state)
{
    for (int adds = 0; adds < 2; adds++)
        for (int w = 0; w < WIDTHS; w++) {
            hpc_test_case c;
            int64_t kept;
            hpc_test_case_begin(&c, state, "pick adds %d types %d", adds, w);
            hpc_value x = hpc_test_input(&c, test_type(widths[w].a, M, N), 1);
            hpc_value index = some_of(&c, &kept, 3), y = HPC_NEW;
            if (adds) y = hpc_test_state(&c, test_type(widths[w].b, kept), 2, false);
            y = hpc_pick(c.p, y, x, index, x);
            hpc_test_want(&c, y, adds ? HPC_TEST_SUMMED : HPC_TEST_EXACT);
            hpc_test_case_check(&c);
        }
}

static void spreads(void **state)
{
    for (int w = 0; w < WIDTHS; w++) {
        hpc_test_case c;
        int64_t kept;
        hpc_test_case_begin(&c, state, "spread types %d", w);
        hpc_value index = some_of(&c, &kept, 2);
        hpc_value x = hpc_test_input(&c, test_type(widths[w].a, kept), 1);
        hpc_value y = hpc_test_state(&c, test_type(widths[w].b, M, N), 2, false);
        hpc_test_given_of(&c, y)->constant = true;
        hpc_spread(c.p, y, x, index, y);
        hpc_test_want(&c, y, HPC_TEST_EXACT);
        hpc_test_want(&c, hpc_spread(c.p, HPC_NEW, x, index, y), HPC_TEST_EXACT);
        hpc_test_case_check(&c);
    }
}

/* Spreading what was picked gives x where the index names it and zeros elsewhere; picking that
 * again, the same. */
static void back_and_forth(void **state)
{
    hpc_test_case c;
    int64_t kept;
    hpc_test_case_begin(&c, state, "spread of pick");
    hpc_value x = hpc_test_input(&c, test_type(HPC_F32, M, N), 1);
    hpc_value index = some_of(&c, &kept, 0);
    hpc_value picked = hpc_pick(c.p, HPC_NEW, x, index, x);
    hpc_value y = hpc_spread(c.p, HPC_NEW, picked, index, x);
    hpc_test_want(&c, picked, HPC_TEST_EXACT);
    hpc_test_want(&c, y, HPC_TEST_EXACT);
    hpc_test_want(&c, hpc_pick(c.p, HPC_NEW, y, index, x), HPC_TEST_EXACT);
    hpc_test_case_check(&c);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "pick");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks),
        cmocka_unit_test(spreads),
        cmocka_unit_test(back_and_forth),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/pick", tests, open_bench, hpc_test_bench_close);
}
