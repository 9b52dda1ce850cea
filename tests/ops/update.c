/*
 * update.c: sgd, adamw and its bf16 copies on every backend compared with the reference, over
 * several steps of one program; and updates that a guard skips.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
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

/* parts: 1 the momentum is given, 2 clip, 4 u takes the gradient's memory. */
static void adam_case(void **state, int parts, int first_step, int w)
{
    hpc_test_case c;
    hpc_adamw_attr attr = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-3};
    hpc_test_case_begin(&c, state, "adam parts %d from step %d type %d", parts, first_step, w);
    hpc_type t = test_type(HPC_F32, ROWS, COLS);
    hpc_value v = hpc_test_state(&c, t, 1, false), m = HPC_NONE, u = HPC_NONE;
    if (!(parts & 1)) m = hpc_test_state(&c, t, 1, false);
    hpc_test_given *second = hpc_test_given_of(&c, v);
    for (int64_t i = 0; i < second->n; i++) second->data[i] = fabs(second->data[i]);
    for (int s = 0; s < STEPS; s++) {
        hpc_value grad = hpc_test_input(&c, test_type(width[w], ROWS, COLS), 1), top = HPC_NONE;
        if (parts & 1) top = hpc_test_input(&c, test_type(width[(w + s) % 2], ROWS, COLS), 1);
        hpc_value step = hpc_test_scalar(&c, HPC_I32, first_step + s);
        hpc_value clip = parts & 2 && s % 2 ? hpc_test_scalar(&c, HPC_F32, 0.25) : HPC_NONE;
        if (parts & 4) grad = hpc_test_temporary(&c, grad);
        u = hpc_adam(c.p, HPC_NEW, m, v, grad, top, step, clip, attr);
        hpc_test_want(&c, u, HPC_TEST_CURVED);
        if (parts & 4 && w == 0) hpc_test_in_place(&c, u, grad);
    }
    if (!(parts & 1)) hpc_test_want(&c, m, HPC_TEST_CURVED);
    hpc_test_want(&c, v, HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static void adams(void **state)
{
    for (int parts = 0; parts < 8; parts++)
        for (int w = 0; w < 2; w++) adam_case(state, parts, parts & 2 ? 100000 : 1, w);
}

/* Gradients added to the moments. parts: 1 y takes the gradient's memory, 2 clip. */
static void adam_add_case(void **state, int parts, int w)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "adam_add parts %d type %d", parts, w);
    hpc_type t = test_type(HPC_F32, ROWS, COLS);
    hpc_value m = hpc_test_state(&c, t, 1, false), v = hpc_test_state(&c, t, 1, false);
    hpc_test_given *second = hpc_test_given_of(&c, v);
    for (int64_t i = 0; i < second->n; i++) second->data[i] = fabs(second->data[i]);
    for (int s = 0; s < STEPS; s++) {
        hpc_value grad = hpc_test_input(&c, test_type(width[w], ROWS, COLS), 1);
        hpc_value keep = hpc_test_input(&c, hpc_type_of(HPC_F32, 1, (int64_t[]){2}), 1);
        hpc_value clip = parts & 2 ? hpc_test_scalar(&c, HPC_F32, 1.0 / (s + 1)) : HPC_NONE;
        if (parts & 1) grad = hpc_test_temporary(&c, grad);
        hpc_value y = hpc_adam_add(c.p, m, v, grad, keep, clip, (hpc_adam_add_attr){0.9, 0.95});
        hpc_test_want(&c, y, HPC_TEST_SUMMED);
        if (parts & 1 && w == 0) hpc_test_in_place(&c, y, grad);
    }
    c.terms = 3 * STEPS;
    hpc_test_want(&c, m, HPC_TEST_SUMMED);
    hpc_test_want(&c, v, HPC_TEST_SUMMED);
    hpc_test_case_check(&c);
}

static void adam_adds(void **state)
{
    for (int parts = 0; parts < 4; parts++)
        for (int w = 0; w < 2; w++) adam_add_case(state, parts, w);
}

/* parts: 1 decay, 2 a copy in bf16. */
static void adam_step_case(void **state, int parts, int first_step)
{
    hpc_test_case c;
    hpc_adamw_attr attr = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-3, .decay = parts & 1 ? 0.1 : 0};
    hpc_test_case_begin(&c, state, "adam_step parts %d from step %d", parts, first_step);
    hpc_type t = test_type(HPC_F32, ROWS, COLS);
    hpc_value param = hpc_test_state(&c, t, 1, true), half = HPC_NONE;
    hpc_value m = hpc_test_input(&c, t, 1), v = hpc_test_input(&c, t, 1);
    hpc_test_given *second = hpc_test_given_of(&c, v);
    for (int64_t i = 0; i < second->n; i++) second->data[i] = fabs(second->data[i]);
    if (parts & 2) half = hpc_test_state(&c, test_type(HPC_BF16, ROWS, COLS), 1, false);
    if (parts & 2) hpc_test_given_of(&c, half)->constant = true;
    for (int s = 0; s < STEPS; s++)
        hpc_adam_step(c.p, param, half, m, v, hpc_test_scalar(&c, HPC_F32, 0.01 * (s + 1)),
                      hpc_test_scalar(&c, HPC_I32, first_step + s), attr);
    hpc_test_want(&c, param, HPC_TEST_CURVED);
    if (parts & 2) hpc_test_want(&c, half, HPC_TEST_CURVED);
    hpc_test_case_check(&c);
}

static void adam_steps(void **state)
{
    for (int parts = 0; parts < 4; parts++) adam_step_case(state, parts, parts & 1 ? 100000 : 1);
}

/* parts: 1 decay, 2 by, 4 a copy in bf16. */
static void apply_case(void **state, int parts, int w)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "apply parts %d type %d", parts, w);
    hpc_value param = hpc_test_state(&c, test_type(HPC_F32, ROWS, COLS), 1, true), half = HPC_NONE;
    if (parts & 4) half = hpc_test_state(&c, test_type(HPC_BF16, ROWS, COLS), 1, false);
    if (parts & 4) hpc_test_given_of(&c, half)->constant = true;
    for (int s = 0; s < STEPS; s++) {
        hpc_value dir = hpc_test_input(&c, test_type(width[w], ROWS, COLS), 1);
        hpc_value lr = hpc_test_scalar(&c, HPC_F32, 0.1 * (s + 1));
        hpc_value by = parts & 2 ? hpc_test_scalar(&c, HPC_F32, 1.0 / (s + 2)) : HPC_NONE;
        hpc_apply(c.p, param, half, dir, lr, by,
                  (hpc_apply_attr){.alpha = 0.3 * s, .decay = parts & 1 ? 0.1 : 0});
    }
    c.terms = 3 * STEPS;
    hpc_test_want(&c, param, HPC_TEST_SUMMED);
    if (parts & 4) hpc_test_want(&c, half, HPC_TEST_SUMMED);
    hpc_test_case_check(&c);
}

static void applies(void **state)
{
    for (int parts = 0; parts < 8; parts++)
        for (int w = 0; w < 2; w++) apply_case(state, parts, w);
}

/* adam, then apply, is adamw: decay, clip and copy included. */
static void halves_make_a_whole(void **state)
{
    hpc_test_case c;
    hpc_adamw_attr attr = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decay = 0.1};
    hpc_type t = test_type(HPC_F32, ROWS, COLS), b = test_type(HPC_BF16, ROWS, COLS);
    hpc_value param[2], half[2], m[2], v[2];
    hpc_test_case_begin(&c, state, "halves of adamw");
    for (int k = 0; k < 2; k++) {
        param[k] = hpc_test_state(&c, t, 1, true), half[k] = hpc_test_state(&c, b, 1, false);
        m[k] = hpc_test_state(&c, t, 0, false), v[k] = hpc_test_state(&c, t, 0, false);
        hpc_test_given_of(&c, half[k])->constant = true;
    }
    memcpy(hpc_test_given_of(&c, param[1])->data, hpc_test_given_of(&c, param[0])->data,
           ROWS * COLS * sizeof(double));
    hpc_value clip = hpc_test_scalar(&c, HPC_F32, 0.25);
    for (int s = 0; s < STEPS; s++) {
        hpc_value grad = hpc_test_input(&c, b, 1), lr = hpc_test_scalar(&c, HPC_F32, 0.01);
        hpc_value step = hpc_test_scalar(&c, HPC_I32, 1 + s);
        hpc_adamw(c.p, param[0], m[0], v[0], half[0], grad, lr, step, clip, attr);
        hpc_value u = hpc_adam(c.p, HPC_NEW, m[1], v[1], grad, HPC_NONE, step, clip, attr);
        hpc_apply(c.p, param[1], half[1], u, lr, HPC_NONE, (hpc_apply_attr){.decay = attr.decay});
    }
    for (int k = 0; k < 2; k++) {
        hpc_test_want(&c, param[k], HPC_TEST_CURVED);
        hpc_test_want(&c, half[k], HPC_TEST_CURVED);
    }
    hpc_test_case_solve(&c);
    for (int i = 0; i < ROWS * COLS; i++)
        assert_true(fabs(c.wanted[0].correct[i] - c.wanted[2].correct[i]) < 1e-15 * STEPS * 8);
    for (int k = 0; k < c.wanted_n; k++) hpc_free(c.wanted[k].correct), hpc_free(c.wanted[k].live);
    hpc_test_case_check(&c);
}

/* ---- below ------------------------------------------------------------------------------ */

static void tests_of_numbers(void **state)
{
    static const struct {
        double x, limit;
        int limited, ok;
    } of[] = {
        {1, 2, 1, 1},    {2, 2, 1, 1},         {3, 2, 1, 0},        {-1e30, 2, 1, 1},
        {1e30, 0, 0, 1}, {NAN, 2, 1, 0},       {1, NAN, 1, 0},      {INFINITY, INFINITY, 1, 0},
        {NAN, 0, 0, 0},  {-INFINITY, 0, 1, 0}, {INFINITY, 0, 0, 0}, {1, INFINITY, 1, 1},
    };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        for (int w = 0; w < 2; w++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "%g below %g", of[k].x, of[k].limit);
            hpc_value x = hpc_test_scalar(&c, width[w], of[k].x), limit = HPC_NONE;
            hpc_test_given_of(&c, x)->constant = true;
            if (of[k].limited) limit = hpc_test_scalar(&c, width[w], of[k].limit);
            if (of[k].limited) hpc_test_given_of(&c, limit)->constant = true;
            hpc_test_want(&c, hpc_below(c.p, HPC_NEW, x, limit), HPC_TEST_EXACT);
            hpc_test_case_solve(&c);
            assert_true(c.wanted[0].correct[0] == of[k].ok);
            hpc_free(c.wanted[0].correct), hpc_free(c.wanted[0].live);
            hpc_test_case_check(&c);
        }
}

/* A direction that is not finite is not applied; neither is one that is too long. */
static void what_went_wrong_is_not_applied(void **state)
{
    static const double odd[] = {NAN, INFINITY, 1e3, 0.5};
    for (int k = 0; k < 4; k++) {
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "guarded by %g", odd[k]);
        hpc_value param = hpc_test_state(&c, test_type(HPC_F32, ROWS, COLS), 1, true);
        hpc_value ok = hpc_test_state(&c, hpc_type_of(HPC_I32, 0, NULL), 0, false);
        hpc_value dir = hpc_test_input(&c, test_type(HPC_F32, ROWS, COLS), 1);
        hpc_value limit = hpc_test_scalar(&c, HPC_F32, 1e4);
        hpc_value lr = hpc_test_scalar(&c, HPC_F32, 0.1);
        for (int g = 0; g < c.given_n; g++) c.given[g].constant = true;
        double before = hpc_test_given_of(&c, param)->data[7];
        hpc_test_given_of(&c, dir)->data[7] = odd[k];
        hpc_below(c.p, ok, hpc_reduce(c.p, HPC_NEW, dir, HPC_SUMSQ, HPC_OVER_ALL), limit);
        c.p->tags.guard = ok;
        hpc_apply(c.p, param, HPC_NONE, dir, lr, HPC_NONE, (hpc_apply_attr){0});
        hpc_test_want(&c, param, HPC_TEST_ROUNDED);
        hpc_test_want(&c, ok, HPC_TEST_EXACT);
        hpc_test_case_solve(&c);
        assert_true(c.wanted[1].correct[0] == (k == 3));
        assert_int_equal(c.wanted[0].correct[7] == before, k < 3);
        for (int j = 0; j < 2; j++) hpc_free(c.wanted[j].correct), hpc_free(c.wanted[j].live);
        hpc_test_case_check(&c);
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
        cmocka_unit_test(adams),
        cmocka_unit_test(adam_adds),
        cmocka_unit_test(adam_steps),
        cmocka_unit_test(applies),
        cmocka_unit_test(halves_make_a_whole),
        cmocka_unit_test(tests_of_numbers),
        cmocka_unit_test(what_went_wrong_is_not_applied),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/update", tests, open_bench, hpc_test_bench_close);
}
