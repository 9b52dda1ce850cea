/*
 * act.c: act, glu and their gradients on every backend compared with the reference: all kinds,
 * mixed types, in place, run-time extents.
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
enum { WIDTHS = sizeof widths / sizeof *widths };

static hpc_type ragged_type(hpc_test_case *c, int how, hpc_dtype d)
{
    static const int32_t count[] = {3, 0, 37, 1, 17};
    hpc_type t = test_type(d, 5, 37);
    if (how == 0) return t;
    if (how == 1)
        return hpc_type_ragged(t, 0,
                               hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){4}));
    return hpc_type_ragged(t, 1, hpc_test_indices(c, test_type(HPC_I32, 5), count));
}

static void acts(void **state)
{
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int w = 0; w < 2; w++)
            for (int how = 0; how < 3; how++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "act %d type %d ragged %d", act, w, how);
                hpc_value x = hpc_test_input(&c, ragged_type(&c, how, widths[w].a), 3);
                if (how == 0) x = hpc_test_temporary(&c, x);
                hpc_value y = hpc_activate(c.p, x, (hpc_act)act);
                hpc_test_want(&c, y, HPC_TEST_CURVED);
                if (how == 0) hpc_test_in_place(&c, y, x);
                hpc_test_case_check(&c);
            }
}

/* Where functions are flat, steep or overflow if they are written carelessly. */
static void acts_of_extremes(void **state)
{
    static const double x[] = {0,    -0.0, 1e-30, -1e-30, 1e-3, -1e-3, 5,    -5,   9.5,
                               -9.5, 20,   -20,   50,     -50,  88,    -88,  90,   -90,
                               104,  -104, 1e4,   -1e4,   1e6,  -1e6,  1e15, -1e15};
    enum { N = sizeof x / sizeof *x };
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int k = 0; k < N; k++) { /* one by one: the bound is relative */
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "act %d of %g", act, x[k]);
            hpc_value in = hpc_test_input_of(&c, test_type(HPC_F32, 1), &x[k]);
            hpc_test_given_of(&c, in)->constant = true;
            hpc_value grad[] = {HPC_NEW,
                                hpc_test_input_of(&c, test_type(HPC_F32, 1), (double[]){1}), in};
            hpc_test_given_of(&c, grad[1])->constant = true;
            hpc_value shift = hpc_test_input_of(&c, test_type(HPC_F32, 1), (double[]){0x1p-10});
            hpc_test_given_of(&c, shift)->constant = true;
            hpc_emit(c.p, &hpc_op_act_grad, grad, &(hpc_act_attr){.act = act});
            hpc_value y = hpc_activate(c.p, in, (hpc_act)act);
            /* Tails need be right only against what they are added to: 2^-10 stands for that. */
            hpc_test_want(&c, hpc_binary(c.p, HPC_ADD, y, shift), HPC_TEST_CURVED);
            hpc_test_want(&c, hpc_binary(c.p, HPC_ADD, grad[0], shift), HPC_TEST_CURVED);
            hpc_test_case_check(&c);
        }
}

static void act_grads(void **state)
{
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int w = 0; w < WIDTHS; w++)
            for (int how = 0; how < 3; how++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "act_grad %d types %d ragged %d", act, w, how);
                hpc_type t = ragged_type(&c, how, widths[w].a), other = t;
                other.dtype = (uint8_t)widths[w].b;
                hpc_value dy = hpc_test_input(&c, other, 1);
                hpc_value operand[] = {HPC_NEW, dy, hpc_test_input(&c, t, 3)};
                hpc_test_given_of(&c, operand[2])->constant = act == HPC_ACT_NONE;
                bool place = how == 0 && w < 2;
                if (place) operand[1] = hpc_test_temporary(&c, dy);
                hpc_emit(c.p, &hpc_op_act_grad, operand, &(hpc_act_attr){.act = act});
                hpc_test_want(&c, operand[0], HPC_TEST_CURVED);
                if (place) hpc_test_in_place(&c, operand[0], operand[1]);
                hpc_test_case_check(&c);
            }
}

static void glus(void **state)
{
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int w = 0; w < WIDTHS; w++)
            for (int how = 0; how < 3; how++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "glu %d types %d ragged %d", act, w, how);
                hpc_type t = ragged_type(&c, how, widths[w].a), other = t;
                other.dtype = (uint8_t)widths[w].b;
                hpc_value gate = hpc_test_input(&c, t, 3), up = hpc_test_input(&c, other, 1);
                if (how == 0) gate = hpc_test_temporary(&c, gate);
                hpc_value y = hpc_glu(c.p, gate, up, (hpc_act)act);
                hpc_test_want(&c, y, HPC_TEST_CURVED);
                if (how == 0) hpc_test_in_place(&c, y, gate);
                hpc_test_case_check(&c);
            }
}

static void glu_grads(void **state)
{
    for (int act = HPC_ACT_NONE; act <= HPC_TANH; act++)
        for (int w = 0; w < WIDTHS; w++)
            for (int how = 0; how < 3; how++) {
                hpc_test_case c;
                hpc_test_case_begin(&c, state, "glu_grad %d types %d ragged %d", act, w, how);
                hpc_type t = ragged_type(&c, how, widths[w].a), other = t;
                other.dtype = (uint8_t)widths[w].b;
                hpc_value operand[] = {HPC_NEW, HPC_NEW, hpc_test_input(&c, t, 1),
                                       hpc_test_input(&c, other, 3), hpc_test_input(&c, t, 1)};
                hpc_emit(c.p, &hpc_op_glu_grad, operand, &(hpc_act_attr){.act = act});
                hpc_test_want(&c, operand[0], HPC_TEST_CURVED);
                hpc_test_want(&c, operand[1], HPC_TEST_CURVED);
                hpc_test_case_check(&c);
            }
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "act");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acts),      cmocka_unit_test(acts_of_extremes),
        cmocka_unit_test(act_grads), cmocka_unit_test(glus),
        cmocka_unit_test(glu_grads), cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/act", tests, open_bench, hpc_test_bench_close);
}
