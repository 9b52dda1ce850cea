/*
 * update.c: sgd and adamw on every backend against the reference, over
 * several steps of one program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/ops.h"

static const hpc_dtype width[] = {HPC_F32, HPC_BF16};

enum { STEPS = 5, ROWS = 5, COLS = 131 };

static void sgd_case(void **state, double momentum, double decay, bool nesterov, int w)
{
    hpc_test_case c;
    hpc_sgd_attr attr = {.momentum = momentum, .decay = decay, .nesterov = nesterov};
    hpc_test_case_begin(&c, state, "sgd %g %g %d type %d", momentum, decay, nesterov, w);
    hpc_type t = test_type(HPC_F32, ROWS, COLS);
    hpc_value param = hpc_test_state(&c, t, 1, true), mom = hpc_test_state(&c, t, 1, false);
    for (int s = 0; s < STEPS; s++) {
        hpc_value grad = hpc_test_input(&c, test_type(width[w], ROWS, COLS), 1);
        hpc_sgd(c.p, param, mom, grad, hpc_test_scalar(&c, HPC_F32, 0.1 / (s + 1)), attr);
    }
    hpc_test_given_of(&c, mom)->constant = momentum == 0;
    c.terms = 3 * STEPS;
    hpc_test_want(&c, param, HPC_TEST_SUMMED);
    hpc_test_want(&c, mom, HPC_TEST_SUMMED);
    hpc_test_case_check(&c);
}

static void sgds(void **state)
{
    for (int w = 0; w < 2; w++) {
        sgd_case(state, 0, 0, false, w);
        sgd_case(state, 0.9, 0, false, w);
        sgd_case(state, 0.9, 0.1, false, w);
        sgd_case(state, 0.9, 0.1, true, w);
    }
}

/* parts: 1 decay, 2 clip, 4 a copy in bf16. Moments start as they do, at zero. */
static void adamw_case(void **state, int parts, int first_step, int w)
{
    double zeros[ROWS * COLS] = {0};
    hpc_test_case c;
    hpc_adamw_attr attr = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = parts & 1 ? 0.1 : 0};
    hpc_test_case_begin(&c, state, "adamw parts %d from step %d type %d", parts, first_step, w);
    hpc_type t = test_type(HPC_F32, ROWS, COLS), half_type = test_type(HPC_BF16, ROWS, COLS);
    hpc_value param = hpc_test_state(&c, t, 1, true), half = HPC_NONE;
    hpc_value m = hpc_test_state(&c, t, 1, false), v = hpc_test_state(&c, t, 1, false);
    memcpy(hpc_test_given_of(&c, m)->data, zeros, sizeof zeros);
    memcpy(hpc_test_given_of(&c, v)->data, zeros, sizeof zeros);
    if (parts & 4) half = hpc_test_state(&c, half_type, 1, false);
    if (parts & 4) hpc_test_given_of(&c, half)->constant = true;
    for (int s = 0; s < STEPS; s++) {
        hpc_value grad = hpc_test_input(&c, test_type(width[w], ROWS, COLS), 1);
        hpc_value lr = hpc_test_scalar(&c, HPC_F32, 0.01 * (s + 1));
        hpc_value step = hpc_test_scalar(&c, HPC_I32, first_step + s);
        hpc_value clip = parts & 2 && s % 2 ? hpc_test_scalar(&c, HPC_F32, 0.25) : HPC_NONE;
        hpc_adamw(c.p, param, m, v, half, grad, lr, step, clip, attr);
    }
    hpc_test_want(&c, param, HPC_TEST_CURVED);
    hpc_test_want(&c, m, HPC_TEST_CURVED);
    hpc_test_want(&c, v, HPC_TEST_CURVED);
    if (parts & 4) hpc_test_want(&c, half, HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static void adamws(void **state)
{
    for (int parts = 0; parts < 8; parts++)
        for (int w = 0; w < 2; w++) {
            adamw_case(state, parts, 1, w);
            if (parts == 7) adamw_case(state, parts, 100000, w);
        }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "update");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgds),
        cmocka_unit_test(adamws),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/update", tests, open_bench, hpc_test_bench_close);
}
