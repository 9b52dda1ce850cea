/*
 * dtype.c: the table of element types, and conversions: every bf16 and f16 pattern, and rounding
 * compared with arithmetic in double.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/device/device.h"

static float from_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint16_t round_to(hpc_dtype to, float x)
{
    uint16_t h;
    hpc_from_f32(&h, to, &x, 1);
    return h;
}

static float widen(hpc_dtype from, uint16_t h)
{
    float x;
    hpc_to_f32(&x, &h, from, 1);
    return x;
}

static void table(void **state)
{
    (void)state;
    hpc_dtype d;
    for (int i = 0; i < HPC_DTYPE_N; i++) {
        const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)i);
        bool taken = info->held == (hpc_dtype)i; /* by ops; others are converted */
        assert_int_equal(hpc_dtype_find(&d, info->name), taken ? 0 : HPC_E_ARG);
        hpc_error_clear();
        if (taken)
            assert_int_equal(d, i);
        else
            assert_int_equal(hpc_dtype_get(info->held)->held, info->held);
    }
    assert_int_equal(hpc_dtype_get(HPC_Q6_K)->block_bytes, 210);
    assert_int_equal(hpc_dtype_get(HPC_Q4_0)->block, 32);
    assert_false(hpc_dtype_get(HPC_I32)->real);
    assert_true(hpc_dtype_get(HPC_Q8_0)->quantised);
    assert_int_equal(hpc_dtype_find(&d, "f8"), HPC_E_ARG);
    assert_string_equal(hpc_error_get()->text, "unknown dtype 'f8'; known are f32, bf16, f16, f64, "
                                               "i32, i64, i8, q8_0, q4_0, q4_K, q5_K, q6_K, "
                                               "q4_1, q5_0, q5_1, q2_K, q3_K, iq4_nl, iq4_xs");
    hpc_error_clear();
}

/* The value of a pattern with so many exponent and fraction bits, from the definition. */
static double value_of(uint32_t h, int exp_bits, int man_bits)
{
    int bias = (1 << (exp_bits - 1)) - 1, top = (1 << exp_bits) - 1;
    int exp = (int)(h >> man_bits) & top, man = (int)h & ((1 << man_bits) - 1);
    double sign = h >> (exp_bits + man_bits) & 1 ? -1 : 1;
    if (exp == top) return man ? (double)NAN : sign * (double)INFINITY;
    if (exp == 0) return sign * ldexp(man, 1 - bias - man_bits);
    return sign * ldexp(man + (1 << man_bits), exp - bias - man_bits);
}

static void every_pattern(hpc_dtype d, int exp_bits, int man_bits)
{
    for (uint32_t h = 0; h < 65536; h++) {
        double want = value_of(h, exp_bits, man_bits);
        float got = widen(d, (uint16_t)h);
        uint16_t back = round_to(d, got);
        if (isnan(want)) {
            assert_true(isnan(got));
            assert_true(isnan(widen(d, back)));
            assert_int_equal(back >> 15, h >> 15);
            continue;
        }
        assert_true((double)got == want && !signbit(got) == !signbit(want));
        assert_int_equal(back, h);
    }
}

static void patterns(void **state)
{
    (void)state;
    every_pattern(HPC_BF16, 8, 7);
    every_pattern(HPC_F16, 5, 10);
}

/* Between neighbouring patterns: below the middle down, above it up, on it to the even one. The
 * successor of the largest finite value is where infinity would continue the sequence. */
static void middles(hpc_dtype d, int exp_bits, int man_bits)
{
    uint32_t infinity = ((1u << exp_bits) - 1) << man_bits;
    for (uint32_t h = 0; h < infinity; h++) {
        double low = value_of(h, exp_bits, man_bits), high = value_of(h + 1, exp_bits, man_bits);
        if (isinf(high)) high = 2 * low - value_of(h - 1, exp_bits, man_bits);
        float middle = (float)((low + high) / 2);
        uint16_t even = (uint16_t)(h + (h & 1)), sign = 0x8000;
        assert_int_equal(round_to(d, middle), even);
        assert_int_equal(round_to(d, nextafterf(middle, 0)), h);
        assert_int_equal(round_to(d, nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(round_to(d, -middle), even | sign);
    }
}

static void rounding(void **state)
{
    (void)state;
    middles(HPC_F16, 5, 10);
    middles(HPC_BF16, 8, 7);
    assert_int_equal(round_to(HPC_F16, 65519.996f), 0x7bff);
    assert_int_equal(round_to(HPC_F16, 65520.0f), 0x7c00);
    assert_int_equal(round_to(HPC_F16, -1e30f), 0xfc00);
    assert_int_equal(round_to(HPC_F16, 0x1p-25f), 0);
    assert_int_equal(round_to(HPC_F16, 0x1.000002p-25f), 1);
    assert_int_equal(round_to(HPC_F16, from_bits(1)), 0); /* f32's own subnormals */
    assert_int_equal(round_to(HPC_F16, -0.0f), 0x8000);
    assert_int_equal(round_to(HPC_BF16, 3.4028235e38f), 0x7f80);
    assert_int_equal(round_to(HPC_BF16, from_bits(0x18000)), 2);
}

/* Every pattern of f8_e4m3, from the definition: no infinities, and one NaN of either sign. */
static void f8_patterns(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 256; h++) {
        uint8_t byte = (uint8_t)h;
        float got;
        int exp = (int)(h >> 3) & 15, man = (int)h & 7;
        double want = exp ? ldexp(8 + man, exp - 10) : ldexp(man, -9);
        hpc_to_f32(&got, &byte, HPC_F8_E4M3, 1);
        if (exp == 15 && man == 7)
            assert_true(isnan(got));
        else
            assert_true((double)got == (h & 0x80 ? -want : want));
        assert_int_equal(!!signbit(got), h >> 7);
    }
}

static void not_a_number(void **state)
{
    (void)state;
    /* Payloads in the bits that are cut off: rounding must not carry into infinity or zero. */
    const uint32_t bits[] = {0x7fc00000, 0xffc00000, 0x7f800001,
                             0xff800001, 0x7fffffff, 0xffffffff};
    for (int i = 0; i < 6; i++) {
        assert_true(isnan(widen(HPC_F16, round_to(HPC_F16, from_bits(bits[i])))));
        assert_true(isnan(widen(HPC_BF16, round_to(HPC_BF16, from_bits(bits[i])))));
        assert_int_equal(round_to(HPC_F16, from_bits(bits[i])) >> 15, bits[i] >> 31);
        assert_int_equal(round_to(HPC_BF16, from_bits(bits[i])) >> 15, bits[i] >> 31);
    }
}

static void others(void **state)
{
    (void)state;
    const float x[] = {1.75f, -1.75f,   3e9f,     -3e9f,   1e30f,  -1e30f,
                       NAN,   -0x1p31f, -0x1p63f, 0x1p31f, 0x1p63f};
    const int32_t want[] = {1, -1,        INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN,
                            0, INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX};
    const int64_t wide[] = {1, -1,        3000000000, -3000000000, INT64_MAX, INT64_MIN,
                            0, INT32_MIN, INT64_MIN,  1ll << 31,   INT64_MAX};
    int32_t i32[11];
    int64_t i64[11];
    double f64[9];
    float f32[9];
    hpc_from_f32(i32, HPC_I32, x, 11);
    hpc_from_f32(i64, HPC_I64, x, 11);
    hpc_from_f32(f64, HPC_F64, x, 6);
    hpc_from_f32(f32, HPC_F32, x, 6);
    assert_memory_equal(i32, want, sizeof want);
    assert_memory_equal(i64, wide, sizeof wide);
    int8_t i8[11];
    hpc_from_f32(i8, HPC_I8, (const float[]){1.9f, -1.9f, 127.9f, -127.9f, NAN, 1e9f}, 6);
    assert_memory_equal(i8, ((const int8_t[]){1, -1, 127, -127, 0, 127}), 6);
    hpc_from_f32(i8, HPC_I8, (const float[]){-128, -129, -INFINITY, 128}, 4);
    assert_memory_equal(i8, ((const int8_t[]){-128, -128, -128, 127}), 4);
    assert_memory_equal(f32, x, 6 * sizeof *x);
    for (int i = 0; i < 6; i++) assert_true(f64[i] == (double)x[i]);
    hpc_to_f32(f32, f64, HPC_F64, 6);
    assert_memory_equal(f32, x, 6 * sizeof *x);
    hpc_to_f32(f32, (const int32_t[]){-7, 16777217}, HPC_I32, 2);
    assert_true(f32[0] == -7 && f32[1] == 16777216);
    hpc_to_f32(f32, (const int8_t[]){-128, 127}, HPC_I8, 2);
    assert_true(f32[0] == -128 && f32[1] == 127);
    hpc_to_f32(f32, (const int64_t[]){-7, 1ll << 40}, HPC_I64, 2);
    assert_true(f32[0] == -7 && f32[1] == 0x1p40f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table),    cmocka_unit_test(patterns),
                                       cmocka_unit_test(rounding), cmocka_unit_test(not_a_number),
                                       cmocka_unit_test(others),   cmocka_unit_test(f8_patterns)};
    return cmocka_run_group_tests_name("device/dtype", tests, NULL, NULL);
}
