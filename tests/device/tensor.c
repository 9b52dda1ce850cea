/*
 * tensor.c: sizes, ragged extents and text of tensor descriptions.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "runtime/device/device.h"

static hpc_tensor make(hpc_dtype dtype, int rank, int64_t e0, int64_t e1, int64_t e2)
{
    return (hpc_tensor){
        .extent = {e0, e1, e2}, .rank = (int8_t)rank, .ragged = -1, .dtype = (uint8_t)dtype};
}

static void sizes(void **state)
{
    (void)state;
    hpc_tensor scalar = make(HPC_F32, 0, 0, 0, 0), t = make(HPC_BF16, 3, 2, 5, 7);
    assert_int_equal(hpc_tensor_n(&scalar), 1);
    assert_int_equal(hpc_tensor_cols(&scalar), 1);
    assert_int_equal(hpc_tensor_rows(&scalar), 1);
    assert_int_equal(hpc_tensor_bytes(&scalar), 4);
    assert_int_equal(hpc_tensor_n(&t), 70);
    assert_int_equal(hpc_tensor_cols(&t), 7);
    assert_int_equal(hpc_tensor_rows(&t), 10);
    assert_int_equal(hpc_tensor_bytes(&t), 140);
    t = make(HPC_F64, 2, 3, 0, 0); /* rows do not depend on there being columns */
    assert_int_equal(hpc_tensor_rows(&t), 3);
    assert_int_equal(hpc_tensor_bytes(&t), 0);
    t = make(HPC_I64, 1, 6, 0, 0);
    assert_int_equal(hpc_tensor_rows(&t), 1);
    assert_int_equal(hpc_tensor_bytes(&t), 48);
}

static void physical_layouts(void **state)
{
    (void)state;
    hpc_tensor t = make(HPC_Q4_K, 2, 3, 512, 0);
    assert_int_equal(hpc_tensor_bytes(&t), 3 * 2 * 144);
    t = make(HPC_F32, 2, 17, 5, 0);
    t.pack = HPC_PANEL16;
    assert_int_equal(hpc_tensor_n(&t), 85);
    assert_int_equal(hpc_tensor_bytes(&t), 32 * 5 * 4);
    t = make(HPC_BF16, 3, 3, 16, 4); /* every matrix of a batch is padded by itself */
    t.pack = HPC_PANEL16;
    assert_int_equal(hpc_tensor_bytes(&t), 3 * 16 * 4 * 2);
    t.extent[1] = 1;
    assert_int_equal(hpc_tensor_bytes(&t), 3 * 16 * 4 * 2);
}

static void live_rows(void **state)
{
    (void)state;
    int32_t one[] = {3}, two[] = {2, 0}, wild[] = {-1, 99};
    hpc_tensor t = make(HPC_F32, 2, 5, 7, 0);
    assert_int_equal(hpc_tensor_live(&t, 0), 5);
    assert_true(hpc_tensor_row_live(&t, 4));
    t.ragged = 0, t.count = one;
    assert_int_equal(hpc_tensor_live(&t, 0), 3);
    assert_true(hpc_tensor_row_live(&t, 2));
    assert_false(hpc_tensor_row_live(&t, 3));

    t = make(HPC_F32, 3, 2, 4, 7); /* a count for each of two groups */
    t.ragged = 1, t.count = two;
    for (int64_t r = 0; r < 8; r++) assert_int_equal(hpc_tensor_row_live(&t, r), r < 2);
    t.count = wild; /* data out of range never leads out of the tensor */
    assert_int_equal(hpc_tensor_live(&t, 0), 0);
    assert_int_equal(hpc_tensor_live(&t, 1), 4);

    t.ragged = 0, t.count = one; /* whole leading slices: rows t * heads + h */
    t.extent[0] = 5;
    assert_true(hpc_tensor_row_live(&t, 11));
    assert_false(hpc_tensor_row_live(&t, 12));

    t = make(HPC_F32, 1, 5, 0, 0); /* the only row is there, whatever it holds */
    t.ragged = 0, t.count = wild;
    assert_true(hpc_tensor_row_live(&t, 0));
    assert_int_equal(hpc_tensor_live(&t, 0), 0);
}

static void text(void **state)
{
    (void)state;
    char out[96];
    hpc_tensor t = make(HPC_F32, 2, 256, 768, 0);
    assert_string_equal(hpc_tensor_text(out, &t), "f32[256,768]");
    t.ragged = 0;
    assert_string_equal(hpc_tensor_text(out, &t), "f32[<=256,768]");
    t.ragged = -1, t.pack = HPC_PANEL16;
    assert_string_equal(hpc_tensor_text(out, &t), "f32[256,768]/panel16");
    t = make(HPC_I32, 0, 0, 0, 0);
    assert_string_equal(hpc_tensor_text(out, &t), "i32[]");
    t.rank = -1;
    assert_string_equal(hpc_tensor_text(out, &t), "absent");
    t = make(HPC_Q4_K, 4, INT64_MAX, INT64_MAX, INT64_MAX); /* the longest */
    t.extent[3] = INT64_MAX, t.ragged = 3, t.pack = HPC_PANEL16;
    assert_string_equal(hpc_tensor_text(out, &t),
                        "q4_K[9223372036854775807,9223372036854775807,9223372036854775807,"
                        "<=9223372036854775807]/panel16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(physical_layouts),
                                       cmocka_unit_test(live_rows), cmocka_unit_test(text)};
    return cmocka_run_group_tests_name("device/tensor", tests, NULL, NULL);
}
