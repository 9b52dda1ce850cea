/*
 * ops_expert.c: shape rules of the ops of mixtures of experts: results, and errors that name the
 * operand.
 */
/* tsan: left out, starts no thread. */
#include "tests/program/rules.h"

enum { T = 6, E = 4 };

static hpc_gate_io io_of(hpc_value logits)
{
    return (hpc_gate_io){.logits = logits,
                         .bias = HPC_NONE,
                         .anneal = HPC_NONE,
                         .step = HPC_NONE,
                         .base = HPC_NONE,
                         .wants_prob = true};
}

static void gates(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_gate_io io = io_of(BF16(p, T, E));
    makes(p, hpc_gate(p, &io, (hpc_gate_attr){.k = 2}), "f32[6,2]");
    makes(p, io.expert, "i32[6,2]");
    makes(p, io.prob, "f32[6,4]");
    makes(p, io.lse, "f32[6]");
    hpc_gate(p, &io, (hpc_gate_attr){.k = E + 1});
    refuses(p, HPC_E_ARG, "k is 5; it must be between 1 and the 4 experts");
    p = begin();
    io = io_of(REAL(p, T, E));
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1, .kind = 7});
    refuses(p, HPC_E_ARG, "kind 7 is neither softmax nor sigmoid");
    p = begin();
    io = io_of(REAL(p, T, E));
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1, .noisy = true});
    refuses(p, HPC_E_ARG, "noisy weights need the operand anneal");
    p = begin();
    io = io_of(REAL(p, T, E));
    io.bias = REAL(p, E + 1);
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1});
    refuses(p, HPC_E_SHAPE, "logits is f32[6,4] and bias is f32[5]: each expert needs its bias");
    p = begin();
    io = io_of(REAL(p, T, HPC_EXPERTS_MOST + 1));
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1});
    refuses(p, HPC_E_ARG, "1025 experts; at most 1024 are supported");
}

static void dispatches(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_dispatched d = hpc_dispatch(p, INDEX(p, T, 2), (hpc_dispatch_attr){.experts = E});
    makes(p, d.start, "i32[5]");
    makes(p, d.load, "f32[4]");
    makes(p, d.dropped, "f32[]");
    assert_int_equal(p->value[d.token].type.extent[0], 2 * T);
    assert_int_equal(p->value[d.token].type.ragged, 0);
    hpc_dispatch(p, INDEX(p, T, 2), (hpc_dispatch_attr){0});
    refuses(p, HPC_E_ARG, "experts is 0 and cap 0; at least 1 and 0 are expected");
}

static void capacity_admits(void **s)
{
    (void)s;
    const hpc_dispatch_attr two = {.experts = E, .cap = 2};
    hpc_program *p = begin();
    hpc_admitted a = hpc_admit(p, INDEX(p, T, 2), two);
    makes(p, a.expert, "i32[6,2]");
    makes(p, a.dropped, "f32[]");
    makes(p, a.load, "f32[4]");
    hpc_admit(p, INDEX(p, T, 2), (hpc_dispatch_attr){.experts = E});
    refuses(p, HPC_E_ARG, "experts is 4 and cap 0; at least 1 and 1 are expected");
    p = begin();
    hpc_value n = INDEX(p, 1), rows = INDEX(p, T, 2);
    n = hpc_view(p, n, 0, NULL);
    ragged(p, rows, 0, n);
    hpc_admit(p, rows, two);
    refuses(p, HPC_E_SHAPE, "expert is i32[%2<=6,2]: the number of tokens must be fixed");
}

static void products(void **s)
{
    (void)s;
    const hpc_grouped_attr trans = {.trans_b = true}, sum = {.sum = true};
    hpc_program *p = begin();
    hpc_value a = REAL(p, 9, 8), b = REAL(p, E, 5, 8);
    hpc_value start = INDEX(p, E + 1), dy = REAL(p, 9, 5);
    makes(p, hpc_grouped(p, HPC_NEW, a, b, start, trans), "f32[9,5]");
    makes(p, hpc_grouped(p, HPC_NEW, dy, a, start, sum), "f32[4,5,8]");
    hpc_grouped(p, HPC_NEW, a, b, INDEX(p, E), trans);
    refuses(p, HPC_E_SHAPE, "b is f32[4,5,8] and start is i32[4]: 4 matrices need 5 starts");
    p = begin();
    a = REAL(p, 9, 7), b = REAL(p, E, 5, 8);
    hpc_grouped(p, HPC_NEW, a, b, INDEX(p, E + 1), trans);
    refuses(p, HPC_E_SHAPE, "a is f32[9,7] and b is f32[4,5,8]: inner extents differ");
    p = begin();
    a = REAL(p, 9, 32), b = input(p, HPC_Q8_0, EXTENTS(E, 5, 32));
    hpc_grouped(p, HPC_NEW, a, b, INDEX(p, E + 1), trans);
    refuses(p, HPC_E_SHAPE, "b is q8_0[4,5,32]: int8 takes block formats, and only these");
    p = begin();
    a = REAL(p, 9, 8), b = REAL(p, 8, 8);
    hpc_grouped(p, HPC_NEW, a, b, INDEX(p, E + 1), sum);
    refuses(p, HPC_E_SHAPE, "a is f32[9,8] and b is f32[8,8]: both must have the same rows");
}

static void sums_have_run_time_rows(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value n = SCALAR(p, HPC_I32), like = REAL(p, T, 3);
    ragged(p, like, 0, n);
    hpc_value y = hpc_scatter_to(p, REAL(p, 9, 3), INDEX(p, 9), like);
    assert_int_equal(p->value[y].type.ragged, 0);
    assert_int_equal(p->value[y].type.count, n);
    hpc_value y_state = STATE(p, T, 3);
    hpc_value operand[] = {y_state, REAL(p, 9, 3), INDEX(p, 9), n};
    hpc_emit(p, &hpc_op_scatter, operand, &(hpc_scatter_attr){.rows = T});
    refuses(p, HPC_E_ARG, "rows is of a new y only, and y is state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates),
        cmocka_unit_test(dispatches),
        cmocka_unit_test(capacity_admits),
        cmocka_unit_test(products),
        cmocka_unit_test(sums_have_run_time_rows),
    };
    return cmocka_run_group_tests_name("program/ops_expert", tests, NULL, NULL);
}
