/*
 * Tests of invalid input through the public interface: operands that do not fit or are absent,
 * types that a backend does not support, indices out of range at run time. Each gives an error
 * with its position, without crash, hang or leak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/launch.h"
#include "tests/support/ops.h"

#define F32(...) test_type(HPC_F32, __VA_ARGS__)
#define I32(...) test_type(HPC_I32, __VA_ARGS__)

/* ---- as a program is emitted ---------------------------------------------------------- */

typedef struct bad_emission {
    const hpc_op *op;
    int operand_n;
    hpc_type operand[8]; /* inputs from `first` on; those before are new */
    int first;
    union {
        hpc_matmul_attr matmul;
        hpc_norm_attr norm;
        hpc_rope_attr rope;
        hpc_attention_attr attention;
        hpc_act_attr act;
        hpc_dropout_attr dropout;
        hpc_binary_attr binary;
        hpc_copy_attr copy;
        hpc_scatter_attr scatter;
        hpc_spread_attr spread;
        hpc_route_attr route;
        hpc_reduce_attr reduce;
    } attr;
    int code;
    const char *part;
} bad_emission;

/* An operand that is left out. */
static const hpc_type absent = {.rank = -1};

static void refuses(const bad_emission *b)
{
    char place[64];
    hpc_value operand[HPC_OPERAND_MAX];
    hpc_program *p = hpc_program_create();
    test_ok(hpc_program_segment(p, HPC_FORWARD, 3));
    for (int k = 0; k < b->op->sig.operand_n; k++) {
        operand[k] = k < b->first ? HPC_NEW : HPC_NONE;
        char name[2] = {(char)('a' + k), 0};
        if (k >= b->first && k < b->first + b->operand_n && b->operand[k - b->first].rank >= 0)
            operand[k] = hpc_program_input(p, name, b->operand[k - b->first]);
    }
    if (b->op == &hpc_op_matmul) operand[1] = HPC_NONE; /* pre goes with activations */
    assert_int_equal(hpc_emit(p, b->op, operand, &b->attr), HPC_NONE);
    const char *text = hpc_error_get()->text;
    (void)snprintf(place, sizeof place, "forward[3] #0 %s", b->op->sig.name);
    if (!strstr(text, place)) print_error("'%s' does not name %s\n", text, place);
    assert_non_null(strstr(text, place));
    test_fails(hpc_program_status(p), b->code, b->part);
    hpc_program_free(p);
}

static void misfits_name_both_shapes(void **state)
{
    (void)state;
    const bad_emission bad[] = {
        {&hpc_op_matmul,
         2,
         {F32(4, 5), F32(6, 7)},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_SHAPE,
         "a is f32[4,5] and b is f32[6,7]: inner extents 5 and 6 differ"},
        {&hpc_op_matmul,
         2,
         {F32(2, 4, 5), F32(3, 5, 7)},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_SHAPE,
         "a is f32[2,4,5] and b is f32[3,5,7]: batches 2 and 3 differ"},
        {&hpc_op_matmul,
         3,
         {F32(4, 5), F32(5, 7), F32(6)},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_SHAPE,
         "b is f32[5,7] and bias is f32[6]: a bias of 7"},
        {&hpc_op_norm,
         2,
         {F32(4, 5), F32(6)},
         2,
         .attr.norm = {.eps = 1},
         HPC_E_SHAPE,
         "w is f32[6] and x is f32[4,5]"},
        {&hpc_op_rope,
         3,
         {F32(4, 2, 6), I32(5), F32(3)},
         1,
         .attr.rope = {.scale = 1},
         HPC_E_SHAPE,
         "x is f32[4,2,6] and pos is i32[5]"},
        {&hpc_op_attention,
         4,
         {F32(4, 3, 8), F32(4, 2, 8), F32(4, 2, 8), I32(2)},
         2,
         .attr.attention = {.scale = 1},
         HPC_E_SHAPE,
         "q is f32[4,3,8] and k is f32[4,2,8]"},
        {&hpc_op_glu,
         2,
         {F32(4, 3), F32(3, 4)},
         1,
         .attr.act = {HPC_SILU},
         HPC_E_SHAPE,
         "up is f32[3,4] and gate is f32[4,3]"},
        {&hpc_op_head_loss,
         3,
         {F32(4, 3), F32(9, 5), I32(4)},
         2,
         .code = HPC_E_SHAPE,
         .part = "x is f32[4,3] and w is f32[9,5]"},
        {&hpc_op_head_loss,
         3,
         {F32(4, 3), F32(9, 3), I32(5)},
         2,
         .code = HPC_E_SHAPE,
         .part = "x is f32[4,3] and target is i32[5]"},
        {&hpc_op_binary,
         2,
         {F32(4, 3), F32(4)},
         1,
         .code = HPC_E_SHAPE,
         .part = "a is f32[4,3] and b is f32[4]"},
        {&hpc_op_scatter,
         2,
         {F32(4, 3), I32(5)},
         1,
         .attr.scatter = {.rows = 9},
         HPC_E_SHAPE,
         "x is f32[4,3] and index is i32[5]"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refuses(&bad[k]);
}

static void wrong_elements_are_named(void **state)
{
    (void)state;
    const bad_emission bad[] = {
        {&hpc_op_matmul,
         2,
         {test_type(HPC_Q8_0, 4, 32), F32(32, 7)},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_SHAPE,
         "a is q8_0[4,32]"},
        {&hpc_op_matmul,
         2,
         {F32(4, 32), test_type(HPC_Q4_0, 32, 64)},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_SHAPE,
         "b is q4_0[32,64]"},
        {&hpc_op_matmul,
         2,
         {test_type(HPC_I8, 4, 32), F32(32, 64)},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_SHAPE,
         "b is f32[32,64]: expected plain i8"},
        {&hpc_op_norm, 1, {I32(4, 5)}, 2, .attr.norm = {.eps = 1}, HPC_E_SHAPE, "x is i32[4,5]"},
        {&hpc_op_spread,
         2,
         {F32(4), I32(5)},
         1,
         .attr.spread = {.m = 3, .n = 4},
         HPC_E_SHAPE,
         "x is f32[4] and index is i32[5]"},
        {&hpc_op_spread, 2, {F32(5), I32(5)}, 1, .code = HPC_E_ARG, .part = "a new y needs both"},
        {&hpc_op_pick, 2, {F32(4, 5), F32(3)}, 1, .code = HPC_E_SHAPE, .part = "index is f32[3]"},
        {&hpc_op_gather, 2, {F32(4, 5), F32(3)}, 1, .code = HPC_E_SHAPE, .part = "index is f32[3]"},
        {&hpc_op_copy, 1, {I32(4, 5)}, 1, .attr.copy = {HPC_F32}, HPC_E_SHAPE, "x is i32[4,5]"},
        {&hpc_op_copy,
         1,
         {F32(4, 32)},
         1,
         .attr.copy = {HPC_Q8_0},
         HPC_E_SHAPE,
         "no conversion to q8_0"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refuses(&bad[k]);
}

static void absent_operands_are_named(void **state)
{
    (void)state;
    const bad_emission bad[] = {
        {&hpc_op_matmul,
         2,
         {F32(4, 5), absent},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_ARG,
         "operand b"},
        {&hpc_op_norm, 1, {absent}, 2, .attr.norm = {.eps = 1}, HPC_E_ARG, "operand x"},
        {&hpc_op_gather, 2, {F32(4, 5), absent}, 1, .code = HPC_E_ARG, .part = "operand index"},
        {&hpc_op_head_loss,
         3,
         {F32(4, 5), F32(6, 5), absent},
         2,
         .code = HPC_E_ARG,
         .part = "operand target"},
        {&hpc_op_attention,
         6,
         {F32(1, 1, 8), F32(2, 4, 1, 8), F32(2, 4, 1, 8), I32(2), absent, I32(1, 2)},
         2,
         .attr.attention = {.scale = 1},
         HPC_E_ARG,
         "len, which are absent"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refuses(&bad[k]);
}

static void wrong_attributes_are_named(void **state)
{
    (void)state;
    const bad_emission bad[] = {
        {&hpc_op_matmul,
         2,
         {F32(4, 5), F32(5, 7)},
         2,
         .attr.matmul = {.alpha = 1, .act = 17},
         HPC_E_ARG,
         "unknown activation 17"},
        {&hpc_op_matmul,
         2,
         {test_type(HPC_I8, 4, 5), test_type(HPC_I8, 5, 7)},
         2,
         .attr.matmul = {.alpha = 0.5},
         HPC_E_ARG,
         "a product of i8 takes trans_a and trans_b"},
        {&hpc_op_matmul,
         3,
         {test_type(HPC_I8, 4, 5), test_type(HPC_I8, 5, 7), F32(7)},
         2,
         .attr.matmul = {.alpha = 1},
         HPC_E_ARG,
         "a product of i8 has no bias"},
        {&hpc_op_norm, 1, {F32(4, 5)}, 2, .attr.norm = {.kind = 5}, HPC_E_ARG, "kind 5"},
        {&hpc_op_norm, 1, {F32(4, 5)}, 2, .attr.norm = {.eps = -1}, HPC_E_ARG, "eps is -1"},
        {&hpc_op_dropout, 1, {F32(4, 5)}, 1, .attr.dropout = {.p = 1}, HPC_E_ARG, "p is 1"},
        {&hpc_op_reduce, 1, {F32(4, 5)}, 1, .attr.reduce = {.kind = 9}, HPC_E_ARG, "kind 9"},
        {&hpc_op_route,
         1,
         {I32(4)},
         2,
         .attr.route = {.groups = 0, .cap = 1},
         HPC_E_ARG,
         "groups is 0"},
        {&hpc_op_copy, 1, {F32(4)}, 1, .attr.copy = {99}, HPC_E_ARG, "dtype 99"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) refuses(&bad[k]);
}

/* ---- as a program is opened ---------------------------------------------------------------- */

/* Valid, but no kernel takes it: f16 by columns. The reference does, in its place. */
static void what_a_backend_cannot_is_named(void **state)
{
    static const char *const backend[] = {"cpu", "mock"};
    (void)state;
    for (int k = 0; k < 2; k++)
        for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
            char part[160];
            hpc_device *d;
            hpc_exec *e;
            hpc_program *p = hpc_program_create();
            test_ok(hpc_device_open(
                &d, &(hpc_device_options){.backend = backend[k], .isa = *isa, .threads = 1}));
            test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
            hpc_value a = hpc_program_input(p, "a", F32(4, 32));
            hpc_value b = hpc_program_input(p, "b", test_type(HPC_F16, 32, 9));
            p->tags.block = 6;
            hpc_matmul(p, hpc_activate(p, a, HPC_SILU), b, (hpc_matmul_attr){0});
            (void)snprintf(part, sizeof part,
                           "forward[0] #1 matmul (block 6): backend %s: matmul_%s does not take "
                           "f16[32,9] as its operand b",
                           backend[k], *isa);
            test_fails(hpc_exec_open(&e, p, d, NULL, NULL), HPC_E_UNSUPPORTED, part);
            assert_null(e);
            test_ok(hpc_to_double(p));
            test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
            hpc_exec_close(e);
            hpc_device_close(d);
            hpc_program_free(p);
        }
}

static void unknown_machines_are_named(void **state)
{
    hpc_device *d;
    (void)state;
    test_fails(hpc_device_open(&d, &(hpc_device_options){.backend = "gpu"}), HPC_E_UNSUPPORTED,
               "gpu");
    test_fails(hpc_device_open(&d, &(hpc_device_options){.isa = "mmx"}), HPC_E_UNSUPPORTED, "mmx");
}

/* ---- as it runs ----------------------------------------------------------------------------- */

enum { GATHER, SCATTER, LOSS, LOSS_GRAD, GROUP, CAP, DIRECTION, STEP, BAD_N };

static const char *const complaint[BAD_N] = {
    [GATHER] = "gather: index 7 at 2 is past the 7 rows",
    [SCATTER] = "scatter: index 7 at 2 is past the 7 rows",
    [LOSS] = " of row 2",
    [LOSS_GRAD] = " of row 2",
    [GROUP] = "route: token 2 goes to group 7 of 7",
    [CAP] = "route: group 0 has more than 4 tokens",
    [DIRECTION] = "adam: step is 0",
    [STEP] = "adamw: step is 0",
};

/* Instruction 1 goes wrong where index[2] is 7. */
static hpc_value emit_bad(hpc_program *p, int what, hpc_dtype d)
{
    hpc_value table = hpc_program_input(p, "table", test_type(d, 7, 5));
    hpc_value rows = hpc_program_input(p, "rows", test_type(d, 6, 5)), count;
    hpc_value index = hpc_program_input(p, "index", I32(6));
    hpc_value one = hpc_program_input(p, "one", test_type(d, 6));
    hpc_value param = hpc_program_state(p, "param", test_type(d, 5), true);
    hpc_value m = hpc_program_state(p, "m", test_type(d, 5), false);
    hpc_value v = hpc_program_state(p, "v", test_type(d, 5), false), y = HPC_NONE;
    hpc_value slope = hpc_program_input(p, "slope", test_type(d, 5));
    hpc_value lr = hpc_program_input(p, "lr", hpc_type_of(d, 0, NULL));
    hpc_value step = hpc_program_input(p, "step", hpc_type_of(HPC_I32, 0, NULL));
    hpc_value grad[] = {HPC_NONE, HPC_NEW, HPC_NONE, one, one, rows, table, index};
    hpc_value x = hpc_scale(p, HPC_NEW, rows, HPC_NONE, 2);
    switch (what) {
    case GATHER: y = hpc_gather(p, table, index); break;
    case SCATTER: y = hpc_scatter(p, HPC_NEW, x, index, (hpc_scatter_attr){.rows = 7}); break;
    case LOSS: y = hpc_head_loss(p, x, table, index); break;
    case LOSS_GRAD:
        hpc_emit(p, &hpc_op_head_loss_grad, grad, NULL);
        y = grad[1];
        break;
    case GROUP: y = hpc_route(p, index, 7, 6, &count); break;
    case CAP: y = hpc_route(p, index, 8, 4, &count); break;
    case DIRECTION:
        y = hpc_adam(p, HPC_NEW, m, v, slope, HPC_NONE, step, HPC_NONE, (hpc_adamw_attr){.eps = 1});
        break;
    default:
        hpc_adamw(p, param, m, v, HPC_NONE, slope, lr, step, HPC_NONE, (hpc_adamw_attr){.eps = 1});
        y = param;
    }
    hpc_value after = what == STEP ? y : hpc_copy(p, y, (hpc_dtype)p->value[y].type.dtype);
    hpc_program_keep(p, after);
    return index;
}

static void write_inputs(hpc_exec *e, const hpc_program *p)
{
    for (hpc_value v = 0; v < p->value_n; v++)
        if (p->value[v].kind != HPC_VALUE_TEMP && p->value[v].type.dtype != HPC_I32)
            hpc_test_feed(e, 0, v, 1, 1);
}

/* Three rows of two sequences, in two pages of two keys each. */
static void attention_goes_wrong(const hpc_device_options *o, hpc_dtype dtype, bool paged)
{
    static const struct {
        bool paged;
        int32_t start[3], len[2], pages[4];
        const char *part; /* NULL: nothing is wrong */
    } bad[] = {
        {false, {0, 2, 4}, .part = "sequence 1 has rows 2 to 4 of 3"},
        {false, {0, 2, 1}, .part = "sequence 1 has rows 2 to 1 of 3"},
        {false, {-1, 2, 3}, .part = "sequence 0 has rows -1 to 2 of 3"},
        {false, {0, 3, 3}, .part = NULL},
        {true, {0, 1, 3}, {3, 2}, {1, 2, 0, 9}, "sequence 0"},
        {true, {0, 1, 3}, {3, 2}, {1, -1, 0, 9}, "sequence 0"},
        {true, {0, 1, 3}, {1, 5}, {1, 0, 0, 1}, "sequence 1"},
        {true, {0, 1, 3}, {3, 2}, {1, 0, 0, 9}, NULL},
    };
    hpc_device *d;
    hpc_exec *e;
    hpc_program *p = hpc_program_create();
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    hpc_value q = hpc_program_input(p, "q", test_type(dtype, 3, 2, 8));
    hpc_value kv = hpc_program_input(
        p, "kv", paged ? test_type(dtype, 2, 2, 1, 8) : test_type(dtype, 3, 1, 8));
    hpc_value start = hpc_program_input(p, "start", I32(3)), len = HPC_NONE, pages = HPC_NONE;
    if (paged) len = hpc_program_input(p, "len", I32(2));
    if (paged) pages = hpc_program_input(p, "pages", I32(2, 2));
    hpc_attention(p, q, kv, kv, start, len, pages, (hpc_attention_attr){.causal = true});
    test_ok(hpc_program_check(p));
    test_ok(hpc_device_open(&d, o));
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    write_inputs(e, p);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        if (bad[k].paged != paged) continue;
        hpc_test_write_i32(e, 0, start, bad[k].start);
        if (paged) hpc_test_write_i32(e, 0, len, bad[k].len);
        if (paged) hpc_test_write_i32(e, 0, pages, bad[k].pages);
        int rc = hpc_exec_run(e, 0, 0);
        if (!bad[k].part) test_ok(rc);
        if (bad[k].part) assert_non_null(strstr(hpc_error_get()->text, "forward[0] #0"));
        if (bad[k].part) test_fails(rc, HPC_E_SHAPE, bad[k].part);
    }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

static void sequences_and_pages_out_of_range(void **state)
{
    (void)state;
    for (int paged = 0; paged < 2; paged++)
        for (int width = 0; width < 2; width++) {
            hpc_dtype d = width ? HPC_F64 : HPC_F32;
            for (int threads = 1; threads <= 7; threads += 3)
                for (const char *const *isa = hpc_test_isas(); *isa; isa++)
                    attention_goes_wrong(&(hpc_device_options){.isa = *isa, .threads = threads}, d,
                                         paged);
            attention_goes_wrong(&(hpc_device_options){.backend = "mock"}, d, paged);
        }
}

/* Fails each time, and works once the input is valid. */
static void goes_wrong(const hpc_device_options *o, int what, hpc_dtype dtype)
{
    const int32_t wrong[] = {0, 0, what == CAP ? 0 : 7, 0, 0, 1}, right[] = {0, 1, 2, 3, -1, 1};
    hpc_device *d;
    hpc_exec *e;
    hpc_program *p = hpc_program_create();
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    hpc_value index = emit_bad(p, what, dtype);
    test_ok(hpc_program_check(p));
    test_ok(hpc_device_open(&d, o));
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    write_inputs(e, p);
    hpc_test_write_scalar(e, 0, hpc_program_find(p, "step"), 0);
    hpc_test_write_i32(e, 0, index, wrong);
    for (int again = 0; again < 2; again++) {
        int rc = hpc_exec_run(e, 0, 0);
        if (!strstr(hpc_error_get()->text, "forward[0] #1")) print_error("no place is named\n");
        assert_non_null(strstr(hpc_error_get()->text, "forward[0] #1"));
        test_fails(rc, HPC_E_ARG, complaint[what]);
    }
    hpc_test_write_scalar(e, 0, hpc_program_find(p, "step"), 1);
    hpc_test_write_i32(e, 0, index, right);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

static void indices_out_of_range_on_cpu(void **state)
{
    (void)state;
    for (int what = 0; what < BAD_N; what++)
        for (int threads = 1; threads <= 7; threads += 3)
            for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
                hpc_device_options o = {.backend = "cpu", .isa = *isa, .threads = threads};
                goes_wrong(&o, what, HPC_F32);
                goes_wrong(&o, what, HPC_F64);
            }
}

static void indices_out_of_range_on_mock(void **state)
{
    (void)state;
    for (int what = 0; what < BAD_N; what++) {
        goes_wrong(&(hpc_device_options){.backend = "mock"}, what, HPC_F32);
        goes_wrong(&(hpc_device_options){.backend = "mock"}, what, HPC_F64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misfits_name_both_shapes),
        cmocka_unit_test(wrong_elements_are_named),
        cmocka_unit_test(absent_operands_are_named),
        cmocka_unit_test(wrong_attributes_are_named),
        cmocka_unit_test(what_a_backend_cannot_is_named),
        cmocka_unit_test(unknown_machines_are_named),
        cmocka_unit_test(indices_out_of_range_on_cpu),
        cmocka_unit_test(indices_out_of_range_on_mock),
        cmocka_unit_test(sequences_and_pages_out_of_range),
    };
    return cmocka_run_group_tests_name("ops/refuse", tests, NULL, NULL);
}
