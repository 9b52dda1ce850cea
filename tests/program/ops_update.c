/*
 * ops_update.c: shape rules of the optimizers' ops (adam, apply, below, symmetric and integer
 * products, combine, map, tile, eigh) and of soft. State is not overwritten while the same
 * instruction reads it, unless its kernel works in place.
 */
/* tsan: left out, starts no thread. */
#include <math.h>

#include "tests/program/rules.h"

#define Q4(p, ...) input(p, HPC_Q4_0, EXTENTS(__VA_ARGS__))

/* ---- adam, apply, below -------------------------------------------------------------- */

static const hpc_adamw_attr usual = {.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};

static void adam_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value v = STATE(p, 3, 4), m = STATE(p, 3, 4), step = SCALAR(p, HPC_I32);
    hpc_value g = BF16(p, 3, 4), top = BF16(p, 3, 4), clip = SCALAR(p, HPC_F32);
    makes(p, hpc_adam(p, HPC_NEW, m, v, g, HPC_NONE, step, clip, usual), "f32[3,4]");
    makes(p, hpc_adam(p, HPC_NEW, HPC_NONE, v, g, top, step, HPC_NONE, usual), "f32[3,4]");
    hpc_value u = STATE(p, 3, 4);
    assert_int_equal(hpc_adam(p, u, m, v, g, HPC_NONE, step, HPC_NONE, usual), u);
    test_ok(hpc_program_check(p));
    hpc_adam(p, HPC_NEW, m, v, g, top, step, HPC_NONE, usual);
    refuses(p, HPC_E_ARG, "give either m, to be updated, or top in its place");
    p = begin();
    hpc_adam(p, HPC_NEW, HPC_NONE, STATE(p, 3), REAL(p, 3), HPC_NONE, SCALAR(p, HPC_I32), HPC_NONE,
             usual);
    refuses(p, HPC_E_ARG, "give either m, to be updated, or top in its place");
    p = begin();
    hpc_adam(p, HPC_NEW, HPC_NONE, STATE(p, 3), REAL(p, 3), REAL(p, 4), SCALAR(p, HPC_I32),
             HPC_NONE, usual);
    refuses(p, HPC_E_SHAPE, "top is f32[4] and v is f32[3]: they must have the same shape");
    p = begin();
    hpc_adam(p, HPC_NEW, STATE(p, 3), STATE(p, 3), REAL(p, 3), HPC_NONE, SCALAR(p, HPC_F32),
             HPC_NONE, usual);
    refuses(p, HPC_E_SHAPE, "step is f32[]: expected plain i32");
    p = begin();
    hpc_adam(p, HPC_NEW, STATE(p, 3), STATE(p, 3), REAL(p, 3), HPC_NONE, SCALAR(p, HPC_I32),
             HPC_NONE, (hpc_adamw_attr){.beta1 = 1});
    refuses(p, HPC_E_ARG, "beta1 is 1 and beta2 0; both must be at least 0 and below 1");
}

static void adam_add_rules(void **s)
{
    (void)s;
    const hpc_adam_add_attr betas = {0.9, 0.99};
    hpc_program *p = begin();
    hpc_value v = STATE(p, 3, 4), m = STATE(p, 3, 4), clip = SCALAR(p, HPC_F32);
    makes(p, hpc_adam_add(p, m, v, BF16(p, 3, 4), REAL(p, 2), clip, betas), "f32[3,4]");
    test_ok(hpc_program_check(p));
    hpc_adam_add(p, m, v, REAL(p, 3, 4), REAL(p, 3), HPC_NONE, betas);
    refuses(p, HPC_E_SHAPE, "keep is f32[3]: expected a factor for m and one for v");
    p = begin();
    hpc_adam_add(p, STATE(p, 3), STATE(p, 3), REAL(p, 4), REAL(p, 2), HPC_NONE, betas);
    refuses(p, HPC_E_SHAPE, "grad is f32[4] and m is f32[3]: they must have the same shape");
    p = begin();
    hpc_adam_step(p, STATE(p, 3), HPC_NONE, REAL(p, 3), REAL(p, 3), SCALAR(p, HPC_F32),
                  SCALAR(p, HPC_F32), usual);
    refuses(p, HPC_E_SHAPE, "step is f32[]: expected plain i32");
}

static void apply_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value w = STATE(p, 3, 4), lr = SCALAR(p, HPC_F32);
    hpc_value half = state(p, HPC_BF16, EXTENTS(3, 4));
    hpc_apply(p, w, half, BF16(p, 3, 4), lr, lr, (hpc_apply_attr){.decay = 0.1});
    test_ok(hpc_program_check(p));
    const hpc_apply_attr *at = p->segment[0].insn[0].attr;
    assert_true(at->alpha == 1);
    hpc_apply(p, w, HPC_NONE, REAL(p, 4, 3), lr, HPC_NONE, (hpc_apply_attr){0});
    refuses(p, HPC_E_SHAPE, "dir is f32[4,3] and param is f32[3,4]: they must have the same shape");
    p = begin();
    hpc_apply(p, STATE(p, 3), STATE(p, 3), REAL(p, 3), SCALAR(p, HPC_F32), HPC_NONE,
              (hpc_apply_attr){0});
    refuses(p, HPC_E_SHAPE, "half is f32[3]: expected bf16");
    p = begin();
    hpc_apply(p, STATE(p, 3), HPC_NONE, REAL(p, 3), REAL(p, 1), HPC_NONE, (hpc_apply_attr){0});
    refuses(p, HPC_E_SHAPE, "lr is f32[1]: expected a scalar");
    p = begin();
    hpc_value operand[] = {STATE(p, 3), HPC_NONE, REAL(p, 3), SCALAR(p, HPC_F32), HPC_NONE};
    hpc_emit(p, &hpc_op_apply, operand, NULL);
    refuses(p, HPC_E_ARG, "alpha is 0, with which nothing is applied; 1 is plain");
}

static void below_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value x = SCALAR(p, HPC_F32);
    makes(p, hpc_below(p, HPC_NEW, x, HPC_NONE), "i32[]");
    p->tags.guard = hpc_below(p, HPC_NEW, x, SCALAR(p, HPC_BF16));
    hpc_value ok = state(p, HPC_I32, 0, NULL);
    assert_int_equal(hpc_below(p, ok, x, HPC_NONE), ok);
    test_ok(hpc_program_check(p));
    hpc_below(p, HPC_NEW, REAL(p, 1), HPC_NONE);
    refuses(p, HPC_E_SHAPE, "x is f32[1]: expected a scalar");
    p = begin();
    hpc_below(p, state(p, HPC_F32, 0, NULL), SCALAR(p, HPC_F32), HPC_NONE);
    refuses(p, HPC_E_SHAPE, "ok is f32[]: expected i32[]");
}

/* ---- combine, map, tile -------------------------------------------------------------- */

static hpc_value sum(hpc_program *p, hpc_value x1, hpc_value x2, bool trans)
{
    return hpc_combine(p, HPC_NEW, x1, x2, NULL, (hpc_combine_attr){0, 1, 1, trans});
}

static hpc_value damp(hpc_program *p, hpc_value x, hpc_value by)
{
    hpc_value s[] = {by, HPC_NONE, HPC_NONE};
    return hpc_combine(p, HPC_NEW, x, HPC_NONE, s, (hpc_combine_attr){.a0 = 1, .a1 = 1});
}

static void symmetric_refuses(void **s)
{
    (void)s;
    hpc_matmul_attr half = {.symmetric = true, .trans_b = true}, curved = half;
    curved.act = HPC_SILU;
    hpc_program *p = begin();
    makes(p, hpc_matmul(p, REAL(p, 2, 3, 4), REAL(p, 2, 3, 4), half), "f32[2,3,3]");
    hpc_matmul(p, REAL(p, 3, 4), REAL(p, 5, 4), half);
    refuses(p, HPC_E_SHAPE, "a is f32[3,4] and b is f32[5,4]: 3 x 5 is not symmetric");
    p = begin();
    hpc_matmul(p, REAL(p, 3, 4), REAL(p, 3, 4), curved);
    refuses(p, HPC_E_ARG, "a symmetric product takes no act, and this has silu");
    p = begin();
    hpc_value n = SCALAR(p, HPC_I32);
    hpc_type t = hpc_type_ragged(hpc_type_of(HPC_F32, 2, (int64_t[]){3, 4}), 0, n);
    hpc_matmul(p, hpc_program_input(p, "a", t), REAL(p, 3, 4), half);
    refuses(p, HPC_E_SHAPE, "a is f32[%0<=3,4]: a symmetric product has no run-time extent");
    p = begin();
    hpc_value operand[] = {HPC_NEW, HPC_NEW, REAL(p, 3, 4), REAL(p, 3, 4), HPC_NONE, HPC_NONE};
    half.alpha = 1;
    hpc_emit(p, &hpc_op_matmul, operand, &half);
    refuses(p, HPC_E_ARG, "a symmetric product has no pre and no bias");
    p = begin();
    hpc_value biased[] = {HPC_NEW, HPC_NONE, REAL(p, 3, 4), REAL(p, 3, 4), REAL(p, 3), HPC_NONE};
    hpc_emit(p, &hpc_op_matmul, biased, &half);
    refuses(p, HPC_E_ARG, "a symmetric product has no pre and no bias");
}

static void int8_refuses(void **s)
{
    (void)s;
    hpc_matmul_attr row = {.trans_b = true}, bytes = {.trans_b = true, .int8 = true};
    hpc_matmul_attr turned = {.trans_a = true, .trans_b = true, .int8 = true};
    hpc_program *p = begin();
    makes(p, hpc_matmul(p, BF16(p, 3, 32), hpc_pack(p, Q4(p, 5, 32)), bytes), "bf16[3,5]");
    hpc_matmul(p, REAL(p, 3, 32), hpc_pack(p, Q4(p, 5, 32)), row);
    refuses(p, HPC_E_SHAPE, "b is q4_0[5,32]/panel16: packed blocks are multiplied as int8 alone");
    p = begin();
    makes(p, hpc_matmul(p, REAL(p, 3, 32), Q4(p, 5, 32), bytes), "f32[3,5]");
    hpc_matmul(p, REAL(p, 3, 32), REAL(p, 5, 32), bytes);
    refuses(p, HPC_E_SHAPE, "b is f32[5,32]: int8 takes a block format alone");
    p = begin();
    hpc_matmul(p, REAL(p, 32, 3), hpc_pack(p, Q4(p, 5, 32)), turned);
    refuses(p, HPC_E_ARG, "int8 goes with neither trans_a nor symmetric nor halves");
}

static void combine_makes(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, sum(p, BF16(p, 3, 4), REAL(p, 3, 4), false), "bf16[3,4]");
    makes(p, sum(p, REAL(p, 2, 3, 4), REAL(p, 2, 4, 3), true), "f32[2,3,4]");
    makes(p, sum(p, HPC_NONE, REAL(p, 4, 3), true), "f32[3,4]");
    makes(p, sum(p, REAL(p, 1, 2, 3, 4), HPC_NONE, false), "f32[1,2,3,4]");
    makes(p, damp(p, REAL(p, 5, 4, 4), REAL(p, 5)), "f32[5,4,4]");
    makes(p, damp(p, REAL(p, 4, 4), SCALAR(p, HPC_F32)), "f32[4,4]");
    hpc_value unit = STATE(p, 5, 4, 4);
    assert_int_equal(hpc_combine(p, unit, HPC_NONE, HPC_NONE, NULL, (hpc_combine_attr){.a0 = 1}),
                     unit);
    ends(p);
}

static void combine_refuses(void **s)
{
    (void)s;
    hpc_program *p = begin();
    sum(p, REAL(p, 3, 4), REAL(p, 4, 3), false);
    refuses(p, HPC_E_SHAPE, "x1 is f32[3,4] and x2 is f32[4,3]: they must have the same shape");
    p = begin();
    sum(p, REAL(p, 3, 4), REAL(p, 3, 4), true);
    refuses(p, HPC_E_SHAPE,
            "x1 is f32[3,4] and x2 is f32[3,4]: they must have the same shape, x2 being "
            "transposed");
    p = begin();
    sum(p, REAL(p, 3), REAL(p, 3), true);
    refuses(p, HPC_E_SHAPE, "x1 is f32[3]: expected a rank of 2 to 3");
    p = begin();
    damp(p, REAL(p, 3, 4), HPC_NONE);
    refuses(p, HPC_E_SHAPE, "y is f32[3,4]: only to a square matrix is I added");
    p = begin();
    damp(p, REAL(p, 5, 4, 4), REAL(p, 4));
    refuses(p, HPC_E_SHAPE,
            "s0 is f32[4] and y is f32[5,4,4]: expected a scalar, or one for each matrix of a "
            "batch");
    p = begin();
    damp(p, REAL(p, 4, 4), REAL(p, 4));
    refuses(p, HPC_E_SHAPE,
            "s0 is f32[4] and y is f32[4,4]: expected a scalar, or one for each matrix of a batch");
    p = begin();
    sum(p, HPC_NONE, HPC_NONE, false);
    refuses(p, HPC_E_ARG, "without x1 and x2, nothing gives y its shape: give state");
    p = begin();
    hpc_combine(p, HPC_NEW, REAL(p, 3), HPC_NONE, NULL, (hpc_combine_attr){.a1 = (double)NAN});
    refuses(p, HPC_E_ARG, "a0, a1, a2 are 0, nan, 0; they must be finite");
    p = begin();
    hpc_combine(p, STATE(p, 4), REAL(p, 3), HPC_NONE, NULL, (hpc_combine_attr){.a1 = 1});
    refuses(p, HPC_E_SHAPE, "y is f32[4]: expected f32[3]");
    p = begin();
    hpc_value x = REAL(p, 8, 5);
    p->value[x].type = hpc_type_ragged(p->value[x].type, 0, SCALAR(p, HPC_I32));
    sum(p, x, HPC_NONE, false);
    refuses(p, HPC_E_SHAPE, "x1 is f32[%1<=8,5]: only fixed extents are combined");
}

/* S = 0.95 S + 0.05 X: one version is read, the next written, whichever way X lies. */
static void averages_are_versions(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_combine_attr attr = {.a1 = 0.95, .a2 = 0.05};
    hpc_value average = STATE(p, 2, 4, 4), x = REAL(p, 2, 4, 4);
    hpc_value whole = hpc_view(p, average, 3, (int64_t[]){2, 4, 4});
    assert_int_equal(hpc_combine(p, average, average, x, NULL, attr), average);
    attr.trans = true;
    assert_int_equal(hpc_combine(p, average, average, x, NULL, attr), average);
    const hpc_insn *i = &p->segment[0].insn[2];
    assert_int_equal(i->version[1], 1);
    assert_int_equal(p->value[average].version, 2);
    whole = hpc_view(p, average, 3, (int64_t[]){2, 4, 4}); /* a view of the written value */
    hpc_combine(p, average, whole, x, NULL, attr);
    ends(p);
}

static void state_is_not_written_over_what_is_read(void **s)
{
    (void)s;
    hpc_combine_attr attr = {.a1 = 0.95, .a2 = 0.05};
    for (int trans = 0; trans < 2; trans++) {
        hpc_program *p = begin();
        attr.trans = trans;
        hpc_value y = STATE(p, 4, 4);
        hpc_combine(p, y, REAL(p, 4, 4), y, NULL, attr);
        refuses(p, HPC_E_ARG, "operand x2 lies in s0, which y overwrites: give a copy of it");
    }
    hpc_program *p = begin();
    attr.trans = false;
    hpc_value y = STATE(p, 2, 4), row = hpc_slice(p, y, 1, 1);
    hpc_combine(p, y, row, HPC_NONE, NULL, attr);
    refuses(p, HPC_E_ARG, "operand x1 lies in s0, which y overwrites: give a copy of it");
    p = begin();
    y = STATE(p, 4, 4);
    hpc_value product[] = {y, HPC_NONE, y, REAL(p, 4, 4), HPC_NONE, HPC_NONE};
    hpc_emit(p, &hpc_op_matmul, product, &(hpc_matmul_attr){.alpha = 1});
    refuses(p, HPC_E_ARG, "operand a lies in s0, which y overwrites: give a copy of it");
    p = begin();
    y = STATE(p, 4);
    hpc_scale(p, y, y, HPC_NONE, 2); /* would be added to itself */
    refuses(p, HPC_E_ARG, "operand x lies in s0, which y overwrites: give a copy of it");
    p = begin();
    y = STATE(p, 4);
    hpc_sgd(p, y, y, REAL(p, 4), SCALAR(p, HPC_F32), (hpc_sgd_attr){0});
    refuses(p, HPC_E_ARG, "operand mom lies in s0, which param overwrites: give a copy of it");
}

static void soft_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, hpc_soft_of(p, HPC_SOFT_LESS, REAL(p, 6), REAL(p, 6), INDEX(p, 6)), "f32[6]");
    makes(p, hpc_soft_of(p, HPC_SOFT_EXP, F64(p, 6), F64(p, 6), HPC_NONE), "f64[6]");
    hpc_soft_of(p, HPC_SOFT_LOG, REAL(p, 6), REAL(p, 5), HPC_NONE);
    refuses(p, HPC_E_SHAPE, "b is f32[5] and a is f32[6]: they must have the same shape");
    p = begin();
    hpc_soft_of(p, HPC_SOFT_LESS + 1, REAL(p, 6), REAL(p, 6), HPC_NONE);
    refuses(p, HPC_E_ARG, "kind 3 is not exp, log or less");
}

static void map_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, hpc_map_each(p, BF16(p, 3, 4), (hpc_map_attr){.alpha = 1, .power = 2}), "bf16[3,4]");
    hpc_map_each(p, REAL(p, 3), (hpc_map_attr){.alpha = 1});
    refuses(p, HPC_E_ARG,
            "alpha is 1 and power 0; both must be finite and not 0 "
            "(alpha may be 0 when guarded)");
    p = begin();
    hpc_map_each(p, REAL(p, 3), (hpc_map_attr){.alpha = 1, .power = 1, .lo = 2, .hi = 1});
    refuses(p, HPC_E_ARG, "lo is 2 and hi 1; the bounds must be in order");
}

static void bundle_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, hpc_bundle(p, (hpc_value[]){REAL(p, 6, 8), REAL(p, 4)}, 2, 2), "f32[52]");
    hpc_bundle(p, (hpc_value[]){REAL(p, 6, 8), BF16(p, 4)}, 2, 1);
    refuses(p, HPC_E_SHAPE,
            "x1 is bf16[4] and x0 is f32[6,8]: they must have elements of one type");
    p = begin();
    hpc_bundle(p, (hpc_value[]){REAL(p, 6, 8), REAL(p, 3)}, 2, 2);
    refuses(p, HPC_E_SHAPE, "x1 is f32[3]: its elements are not 2 parts");
    p = begin();
    hpc_bundle(p, (hpc_value[]){REAL(p, 3)}, 1, 0);
    refuses(p, HPC_E_ARG, "parts is 0; it must be at least 1");
}

static void tile_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, hpc_tile(p, BF16(p, 6, 8), 3, 4), "bf16[4,3,4]");
    makes(p, hpc_untile(p, REAL(p, 4, 3, 4), 6, 8), "f32[6,8]");
    makes(p, hpc_untile(p, REAL(p, 4, 3, 4), 3, 16), "f32[3,16]");
    hpc_tile(p, REAL(p, 6, 8), 4, 4);
    refuses(p, HPC_E_SHAPE, "x is f32[6,8]: blocks of 4 by 4 do not divide 6 by 8");
    p = begin();
    hpc_tile(p, REAL(p, 6, 8), 0, 4);
    refuses(p, HPC_E_SHAPE, "x is f32[6,8]: blocks of 0 by 4 do not divide 6 by 8");
    p = begin();
    hpc_untile(p, REAL(p, 4, 3, 4), 6, 4);
    refuses(p, HPC_E_SHAPE, "x is f32[4,3,4]: 6 by 4 are 2 such blocks");
    p = begin();
    makes(p, hpc_tile(p, REAL(p, 2, 6, 8), 3, 4), "f32[8,3,4]");
    makes(p, hpc_untile_batch(p, REAL(p, 8, 3, 4), 2, 6, 8), "f32[2,6,8]");
    hpc_tile(p, REAL(p, 2, 3, 6, 8), 3, 4);
    refuses(p, HPC_E_SHAPE, "x is f32[2,3,6,8]: expected a rank of 2 to 3");
}

static void eigh_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value values;
    makes(p, hpc_eigh(p, BF16(p, 5, 4, 4), &values), "f32[5,4,4]");
    makes(p, values, "f32[5,4]");
    makes(p, hpc_eigh(p, REAL(p, 4, 4), NULL), "f32[4,4]");
    assert_true(hpc_insn_cost(p, &p->segment[0].insn[0]).flops == 9.0 * 4 * 4 * 4 * 5);
    test_ok(hpc_program_check(p));
    assert_int_equal(hpc_eigh(p, REAL(p, 3, 4), &values), HPC_NONE);
    assert_int_equal(values, HPC_NONE);
    refuses(p, HPC_E_SHAPE, "x is f32[3,4]: expected square matrices");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam_rules),
        cmocka_unit_test(adam_add_rules),
        cmocka_unit_test(apply_rules),
        cmocka_unit_test(below_rules),
        cmocka_unit_test(symmetric_refuses),
        cmocka_unit_test(int8_refuses),
        cmocka_unit_test(combine_makes),
        cmocka_unit_test(combine_refuses),
        cmocka_unit_test(averages_are_versions),
        cmocka_unit_test(state_is_not_written_over_what_is_read),
        cmocka_unit_test(soft_rules),
        cmocka_unit_test(map_rules),
        cmocka_unit_test(bundle_rules),
        cmocka_unit_test(tile_rules),
        cmocka_unit_test(eigh_rules),
    };
    return cmocka_run_group_tests_name("program/ops_update", tests, NULL, NULL);
}
