/*
 * ops_expert.c: shape rules of the ops of mixtures of experts: results, and errors that name the
 * operand.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "runtime/program/op/op.h"

enum { T = 6, E = 4 };

static hpc_program *begin(void)
{
    hpc_error_clear();
    hpc_program *p = hpc_program_create();
    assert_non_null(p);
    assert_int_equal(hpc_program_segment(p, HPC_FORWARD, 0), 0);
    return p;
}

static hpc_value input(hpc_program *p, hpc_dtype dtype, int rank, const int64_t *extent)
{
    char name[16];
    snprintf(name, sizeof name, "i%lld", (long long)p->value_n);
    return hpc_program_input(p, name, hpc_type_of(dtype, rank, extent));
}
#define INPUT(p, dtype, ...)                                                                       \
    input(p, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                     \
          (int64_t[]){__VA_ARGS__})

static void makes(const hpc_program *p, hpc_value v, const char *type)
{
    char text[128];
    if (hpc_program_status(p) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_string_equal(hpc_type_text(text, &p->value[v].type), type);
}

static void refuses(hpc_program *p, const char *part)
{
    assert_true(hpc_program_status(p) < 0);
    if (!strstr(hpc_error_get()->text, part)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
    hpc_program_free(p);
}

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
    hpc_gate_io io = io_of(INPUT(p, HPC_BF16, T, E));
    makes(p, hpc_gate(p, &io, (hpc_gate_attr){.k = 2}), "f32[6,2]");
    makes(p, io.expert, "i32[6,2]");
    makes(p, io.prob, "f32[6,4]");
    makes(p, io.lse, "f32[6]");
    hpc_gate(p, &io, (hpc_gate_attr){.k = E + 1});
    refuses(p, "k is 5; it must be between 1 and the 4 experts");
    p = begin();
    io = io_of(INPUT(p, HPC_F32, T, E));
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1, .kind = 7});
    refuses(p, "kind 7 is neither softmax nor sigmoid");
    p = begin();
    io = io_of(INPUT(p, HPC_F32, T, E));
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1, .noisy = true});
    refuses(p, "noisy weights need the operand anneal");
    p = begin();
    io = io_of(INPUT(p, HPC_F32, T, E));
    io.bias = INPUT(p, HPC_F32, E + 1);
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1});
    refuses(p, "logits is f32[6,4] and bias is f32[5]: each expert needs its bias");
    p = begin();
    io = io_of(INPUT(p, HPC_F32, T, HPC_EXPERTS_MOST + 1));
    hpc_gate(p, &io, (hpc_gate_attr){.k = 1});
    refuses(p, "1025 experts; at most 1024 are supported");
}

static void dispatches(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_dispatched d = hpc_dispatch(p, INPUT(p, HPC_I32, T, 2), (hpc_dispatch_attr){.experts = E});
    makes(p, d.start, "i32[5]");
    makes(p, d.load, "f32[4]");
    makes(p, d.dropped, "f32[]");
    assert_int_equal(p->value[d.token].type.extent[0], 2 * T);
    assert_int_equal(p->value[d.token].type.ragged, 0);
    hpc_dispatch(p, INPUT(p, HPC_I32, T, 2), (hpc_dispatch_attr){0});
    refuses(p, "experts is 0 and cap 0; at least 1 and 0 are expected");
}

static void capacity_admits(void **s)
{
    (void)s;
    const hpc_dispatch_attr two = {.experts = E, .cap = 2};
    hpc_program *p = begin();
    hpc_admitted a = hpc_admit(p, INPUT(p, HPC_I32, T, 2), two);
    makes(p, a.expert, "i32[6,2]");
    makes(p, a.dropped, "f32[]");
    makes(p, a.load, "f32[4]");
    hpc_admit(p, INPUT(p, HPC_I32, T, 2), (hpc_dispatch_attr){.experts = E});
    refuses(p, "experts is 4 and cap 0; at least 1 is expected");
    p = begin();
    hpc_value n = INPUT(p, HPC_I32, 1), rows = INPUT(p, HPC_I32, T, 2);
    n = hpc_view(p, n, 0, NULL);
    p->value[rows].type = hpc_type_ragged(p->value[rows].type, 0, n);
    hpc_admit(p, rows, two);
    refuses(p, "the number of tokens must be fixed");
}

static void products(void **s)
{
    (void)s;
    const hpc_grouped_attr trans = {.trans_b = true}, sum = {.sum = true};
    hpc_program *p = begin();
    hpc_value a = INPUT(p, HPC_F32, 9, 8), b = INPUT(p, HPC_F32, E, 5, 8);
    hpc_value start = INPUT(p, HPC_I32, E + 1), dy = INPUT(p, HPC_F32, 9, 5);
    makes(p, hpc_grouped(p, HPC_NEW, a, b, start, trans), "f32[9,5]");
    makes(p, hpc_grouped(p, HPC_NEW, dy, a, start, sum), "f32[4,5,8]");
    hpc_grouped(p, HPC_NEW, a, b, INPUT(p, HPC_I32, E), trans);
    refuses(p, "4 matrices need 5 starts");
    p = begin();
    a = INPUT(p, HPC_F32, 9, 7), b = INPUT(p, HPC_F32, E, 5, 8);
    hpc_grouped(p, HPC_NEW, a, b, INPUT(p, HPC_I32, E + 1), trans);
    refuses(p, "a is f32[9,7] and b is f32[4,5,8]: inner extents differ");
    p = begin();
    a = INPUT(p, HPC_F32, 9, 32), b = INPUT(p, HPC_Q8_0, E, 5, 32);
    hpc_grouped(p, HPC_NEW, a, b, INPUT(p, HPC_I32, E + 1), trans);
    refuses(p, "int8 takes block formats, and only these");
    p = begin();
    a = INPUT(p, HPC_F32, 9, 8), b = INPUT(p, HPC_F32, 8, 8);
    hpc_grouped(p, HPC_NEW, a, b, INPUT(p, HPC_I32, E + 1), sum);
    refuses(p, "both must have the same rows");
}

static void sums_have_run_time_rows(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value n = input(p, HPC_I32, 0, NULL), like = INPUT(p, HPC_F32, T, 3);
    p->value[like].type = hpc_type_ragged(p->value[like].type, 0, n);
    hpc_value y = hpc_scatter_to(p, INPUT(p, HPC_F32, 9, 3), INPUT(p, HPC_I32, 9), like);
    assert_int_equal(p->value[y].type.ragged, 0);
    assert_int_equal(p->value[y].type.count, n);
    hpc_value state = hpc_program_state(p, "y", hpc_type_of(HPC_F32, 2, (int64_t[]){T, 3}), false);
    hpc_value operand[] = {state, INPUT(p, HPC_F32, 9, 3), INPUT(p, HPC_I32, 9), n};
    hpc_emit(p, &hpc_op_scatter, operand, &(hpc_scatter_attr){.rows = T});
    refuses(p, "rows is of a new y only");
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
