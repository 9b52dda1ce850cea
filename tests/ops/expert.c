/*
 * expert.c: the gate, the dispatch of tokens and products of groups of rows, on every backend
 * compared with the reference; and against numbers that are computed here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "tests/support/gradient.h"
#include "tests/support/launch.h"

enum { T = 23, E = 7, K = 3 };

static hpc_gate_io logits_of(hpc_test_case *c, hpc_dtype d, bool ragged)
{
    hpc_type t = test_type(d, T, E);
    hpc_value n = HPC_NONE;
    if (ragged) n = hpc_test_indices(c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){T - 4});
    if (ragged) t = hpc_type_ragged(t, 0, n);
    return (hpc_gate_io){.logits = hpc_test_input(c, t, 2),
                         .bias = HPC_NONE,
                         .anneal = HPC_NONE,
                         .step = HPC_NONE,
                         .base = HPC_NONE,
                         .wants_prob = true};
}

static void want_gate(hpc_test_case *c, hpc_gate_io *io, hpc_gate_attr attr)
{
    hpc_test_want(c, hpc_gate(c->p, io, attr), HPC_TEST_CURVED);
    hpc_test_want(c, io->expert, HPC_TEST_EXACT);
    hpc_test_want(c, io->prob, HPC_TEST_CURVED);
    hpc_test_want(c, io->lse, HPC_TEST_CURVED);
    hpc_test_given_of(c, io->logits)->constant = true; /* not every logit is selected */
    hpc_test_case_check(c);
}

static void gates(void **state)
{
    for (int kind = HPC_GATE_SOFTMAX; kind <= HPC_GATE_SIGMOID; kind++)
        for (int how = 0; how < 8; how++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "gate %d, %d", kind, how);
            hpc_gate_io io = logits_of(&c, how & 4 ? HPC_BF16 : HPC_F32, how & 2);
            if (kind == HPC_GATE_SIGMOID) {
                io.bias = hpc_test_input(&c, test_type(HPC_F32, E), 1);
                hpc_test_given_of(&c, io.bias)->constant = true;
            }
            want_gate(&c, &io,
                      (hpc_gate_attr){
                          .kind = kind, .k = K, .normalise = how & 1, .scale = how & 1 ? 2.5 : 0});
        }
}

/* Scores with noise, all experts above a threshold. */
static void gates_anneal(void **state)
{
    for (int noisy = 0; noisy < 2; noisy++)
        for (int k = K; k <= E; k += E - K) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "annealed gate, noisy %d, k %d", noisy, k);
            hpc_gate_io io = logits_of(&c, HPC_F32, false);
            io.anneal = hpc_test_input_of(&c, test_type(HPC_F32, 2), (double[]){0.5, 0.0625});
            io.step = hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){17});
            hpc_test_given_of(&c, io.anneal)->constant = true;
            want_gate(&c, &io,
                      (hpc_gate_attr){.k = k, .noisy = noisy, .seed = 5, .tensor = 3, .row0 = 2});
        }
}

static void gates_have_gradients(void **state)
{
    for (int how = 0; how < 16; how++) {
        hpc_test_case c;
        bool noise = how & 4;
        hpc_test_case_begin(&c, state, "gate_grad %d", how);
        hpc_gate_io io = logits_of(&c, HPC_F64, false);
        if (noise) {
            io.anneal = hpc_test_input_of(&c, test_type(HPC_F64, 2), (double[]){0.7, 0.05});
            hpc_test_given_of(&c, io.anneal)->constant = true;
        }
        hpc_gate_attr attr = {
            .kind = how & 1, .normalise = how & 2, .noisy = noise && how & 8, .k = K, .scale = 1.5};
        hpc_test_want(&c, hpc_gate(c.p, &io, attr), HPC_TEST_EXACT);
        if (!(how & 8)) hpc_test_want(&c, io.prob, HPC_TEST_EXACT);
        if (!(how & 8)) hpc_test_want(&c, io.lse, HPC_TEST_EXACT);
        hpc_test_gradient_check(&c);
    }
}

/* The gradient kernel on every backend. */
static void gradients_agree(void **state)
{
    for (int d = 0; d < 2; d++) {
        hpc_dtype dtype = d ? HPC_BF16 : HPC_F32;
        int32_t expert[T * K];
        hpc_test_case c;
        for (int s = 0; s < T * K; s++) expert[s] = (s / K * 2 + s % K * 3) % E;
        hpc_test_case_begin(&c, state, "gate_grad in type %d", dtype);
        hpc_value operand[] = {HPC_NEW,
                               hpc_test_input(&c, test_type(HPC_F32, T, K), 1),
                               hpc_test_input(&c, test_type(HPC_F32, T, E), 1),
                               hpc_test_input(&c, test_type(HPC_F32, T), 1),
                               hpc_test_input(&c, test_type(dtype, T, E), 1),
                               hpc_test_indices(&c, test_type(HPC_I32, T, K), expert),
                               HPC_NONE,
                               HPC_NONE,
                               HPC_NONE};
        hpc_gate_attr attr = {.k = K, .normalise = true, .scale = 1};
        hpc_emit(c.p, &hpc_op_gate_grad, operand, &attr);
        hpc_test_want(&c, operand[0], HPC_TEST_CURVED);
        hpc_test_case_check(&c);
    }
}

/* Two experts with equal logits: P(w > c) = 1 / (1 + (c / (1 - c))^tau) each. */
static void active_experts_follow_the_temperature(void **state)
{
    enum { N = 1 << 17 };
    static const struct {
        double tau, active;
    } at[] = {{0.5, 1.939}, {0.3, 1.776}, {0.1, 1.332}};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const double z[2] = {0.25, 0.25};
        const hpc_gate_attr attr = {.k = 2, .seed = 11, .scale = 1};
        double active = 0;
        for (uint64_t t = 0; t < N; t++) {
            double weight[2], prob[2], lse;
            int32_t expert[2];
            hpc_gate_row row = {
                .experts = 2, .first = 2 * t, .tau = at[i].tau, .threshold = 0.001, .z = z};
            hpc_gate_select(expert, weight, prob, &lse, &row, &attr);
            active += (expert[0] >= 0) + (expert[1] >= 0);
        }
        assert_true(fabs(active / N - at[i].active) < 0.005);
    }
}

static void hard_gates_take_one_expert(void **state)
{
    const double z[E] = {0, 1, -1, 3, 2.5, 0, 0};
    const hpc_gate_attr attr = {.k = E, .scale = 1};
    double weight[E], prob[E], lse;
    int32_t expert[E];
    hpc_gate_row row = {.experts = E, .step = (uint32_t)-1, .tau = 0.3, .threshold = 1, .z = z};
    (void)state;
    hpc_gate_select(expert, weight, prob, &lse, &row, &attr);
    assert_int_equal(expert[0], 3);
    assert_true(weight[0] == prob[3]);
    for (int j = 1; j < E; j++) assert_true(expert[j] == -1 && weight[j] == 0);
}

/* ---- dispatch -------------------------------------------------------------------------- */

static void want_dispatch(hpc_test_case *c, hpc_dispatched d)
{
    const hpc_value all[] = {d.slot, d.token, d.group, d.start, d.dropped};
    for (int k = 0; k < 5; k++) hpc_test_want(c, all[k], HPC_TEST_EXACT);
    hpc_test_want(c, d.load, HPC_TEST_ROUNDED);
}

static void tokens_go_to_experts(void **state)
{
    for (int how = 0; how < 8; how++) {
        int32_t expert[T * K];
        hpc_test_case c;
        hpc_type t = test_type(HPC_I32, T, K);
        for (int s = 0; s < T * K; s++)
            expert[s] = how & 4      ? 2
                        : s % 7 == 3 ? -1
                                     : (s / K * 5 + s % K * 2) % (E - 1); /* none for the last */
        hpc_test_case_begin(&c, state, "dispatch %d", how);
        if (how & 1)
            t = hpc_type_ragged(
                t, 0, hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), (int32_t[]){T - 6}));
        hpc_value to = hpc_test_indices(&c, t, expert);
        want_dispatch(
            &c, hpc_dispatch(c.p, to, (hpc_dispatch_attr){.experts = E, .cap = how & 2 ? 4 : 0}));
        hpc_test_case_check(&c);
    }
}

/* ---- products -------------------------------------------------------------------------- */

enum { ROWS = 61, IN = 48, OUT = 37, GROUPS = 5 };
static const int32_t starts[][GROUPS + 1] = {
    {0, 7, 7, 40, 41, 60}, {0, 0, 0, 61, 61, 61}, {0, 0, 0, 0, 0, 0}};

static void products_by_group(void **state)
{
    static const hpc_dtype types[] = {HPC_F32, HPC_BF16, HPC_F16};
    for (int how = 0; how < 36; how++) {
        hpc_dtype a = how % 2 ? HPC_BF16 : HPC_F32, b = types[how / 2 % 3];
        bool trans = b == HPC_F16 || how / 6 % 2, packed = trans && how % 4 < 2;
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "grouped %d", how);
        hpc_value start = hpc_test_indices(&c, test_type(HPC_I32, GROUPS + 1), starts[how / 12]);
        hpc_value n =
            hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), &starts[how / 12][GROUPS]);
        hpc_value x = hpc_test_input(&c, hpc_type_ragged(test_type(a, ROWS, IN), 0, n), 1);
        hpc_type t = trans ? test_type(b, GROUPS, OUT, IN) : test_type(b, GROUPS, IN, OUT);
        hpc_value w = hpc_test_input(&c, t, 1);
        hpc_test_given_of(&c, w)->constant = true; /* groups may be empty */
        hpc_test_given_of(&c, x)->constant = starts[how / 12][GROUPS] == 0;
        if (packed) w = hpc_pack(c.p, w);
        c.terms = IN;
        c.fixes = a == HPC_BF16 && b == HPC_BF16 && !packed;
        hpc_value y = hpc_grouped(c.p, HPC_NEW, x, w, start, (hpc_grouped_attr){.trans_b = trans});
        hpc_test_want(&c, y, HPC_TEST_SUMMED);
        hpc_test_case_check(&c);
    }
}

static void sums_by_group(void **state)
{
    for (int how = 0; how < 12; how++) {
        hpc_dtype d = how % 2 ? HPC_BF16 : HPC_F32;
        hpc_test_case c;
        hpc_test_case_begin(&c, state, "sums of groups %d", how);
        hpc_value start = hpc_test_indices(&c, test_type(HPC_I32, GROUPS + 1), starts[how / 4]);
        hpc_value n = hpc_test_indices(&c, hpc_type_of(HPC_I32, 0, NULL), &starts[how / 4][GROUPS]);
        hpc_value dy = hpc_test_input(&c, hpc_type_ragged(test_type(d, ROWS, OUT), 0, n), 1);
        hpc_value x = hpc_test_input(&c, hpc_type_ragged(test_type(d, ROWS, IN), 0, n), 1);
        hpc_test_given_of(&c, dy)->constant = starts[how / 4][GROUPS] == 0;
        hpc_test_given_of(&c, x)->constant = starts[how / 4][GROUPS] == 0;
        hpc_value y = HPC_NEW;
        if (how / 2 % 2) y = hpc_test_state(&c, test_type(HPC_F32, GROUPS, OUT, IN), 1, false);
        c.terms = ROWS;
        c.fixes = d == HPC_BF16;
        hpc_test_want(&c, hpc_grouped(c.p, y, dy, x, start, (hpc_grouped_attr){.sum = true}),
                      HPC_TEST_SUMMED);
        hpc_test_case_check(&c);
    }
}

/* Blocks in panels and plain blocks give the bits of matmul, which has a batch entry for
 * each group. */
static void blocks_by_group(const char *isa, hpc_dtype type)
{
    enum { DEPTH = 512, CAP = 40 };
    static double y[3][GROUPS * CAP * OUT];
    static const int32_t group_of[GROUPS] = {7, 0, 33, 1, 19};
    int32_t group[ROWS];
    hpc_device *d;
    hpc_exec *e;
    hpc_value count;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", test_type(HPC_F32, ROWS, DEPTH));
    hpc_value w = hpc_program_input(p, "w", test_type(type, GROUPS, OUT, DEPTH));
    hpc_value to = hpc_program_input(p, "group", test_type(HPC_I32, ROWS));
    hpc_value start = hpc_program_input(p, "start", test_type(HPC_I32, GROUPS + 1));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value packed = hpc_pack(p, w), index = hpc_route(p, to, GROUPS, CAP, &count);
    hpc_grouped_attr attr = {.trans_b = true, .int8 = true};
    hpc_value out[] = {hpc_grouped(p, HPC_NEW, x, w, start, attr),
                       hpc_grouped(p, HPC_NEW, x, packed, start, attr),
                       hpc_matmul(p, hpc_gather(p, x, index), packed,
                                  (hpc_matmul_attr){.trans_b = true, .int8 = true})};
    for (int k = 0; k < 3; k++) hpc_program_keep(p, out[k]);
    test_ok(hpc_program_status(p));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cpu", .isa = isa, .threads = 2}));
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    for (int g = 0, r = 0; g < GROUPS; g++)
        for (int i = 0; i < group_of[g]; i++) group[r++] = g;
    group[ROWS - 1] = -1; /* after all groups */
    hpc_test_feed(e, 0, x, 1, 1);
    hpc_test_feed(e, 0, w, 2, 1);
    hpc_test_write_i32(e, 0, to, group);
    hpc_test_write_i32(e, 0, start, starts[0]);
    test_ok(hpc_exec_run(e, 0, 0));
    for (int k = 0; k < 3; k++) hpc_test_read(e, 0, out[k], y[k]);
    for (int g = 0, r = 0; g < GROUPS; g++)
        for (int i = 0; i < group_of[g]; i++, r++)
            for (int j = 0; j < OUT; j++) {
                double want = y[2][(g * CAP + i) * OUT + j];
                assert_true(y[0][r * OUT + j] == want && y[1][r * OUT + j] == want);
            }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

static void blocks_need_no_panels(void **state)
{
    static const hpc_dtype types[] = {HPC_Q8_0, HPC_Q4_0, HPC_Q4_K,   HPC_Q5_K,
                                      HPC_Q6_K, HPC_Q4_1, HPC_Q5_0,   HPC_Q5_1,
                                      HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        for (int k = 0; k < 12; k++) blocks_by_group(*isa, types[k]);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "expert");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates),
        cmocka_unit_test(gates_anneal),
        cmocka_unit_test(gates_have_gradients),
        cmocka_unit_test(gradients_agree),
        cmocka_unit_test(active_experts_follow_the_temperature),
        cmocka_unit_test(hard_gates_take_one_expert),
        cmocka_unit_test(tokens_go_to_experts),
        cmocka_unit_test(products_by_group),
        cmocka_unit_test(sums_by_group),
        cmocka_unit_test(blocks_need_no_panels),
        cmocka_unit_test(hpc_test_bench_covers),
    };
    return cmocka_run_group_tests_name("ops/expert", tests, open_bench, hpc_test_bench_close);
}
