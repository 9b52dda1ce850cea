/*
 * quant.c: block formats: bytes derived by hand, random blocks as the gguf package reads them
 * (tests/fixtures/make_quant.py), and the packing error relative to each block's range.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "runtime/device/priv.h"
#include "tests/support/blocks.h"

enum { F16_ONE = 0x3c00, F16_HALF = 0x3800, F16_TWO = 0x4000 };

static void put16(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static void simple_by_hand(void **state)
{
    (void)state;
    uint8_t q8[34] = {0}, q4[18] = {0};
    float y[32];
    put16(q8, F16_HALF);
    q8[2] = 127, q8[3] = 0x80, q8[33] = 3; /* 127, -128 and the last element */
    hpc_to_f32(y, q8, HPC_Q8_0, 32);
    assert_true(y[0] == 63.5f && y[1] == -64 && y[2] == 0 && y[31] == 1.5f);

    put16(q4, F16_TWO);
    memset(q4 + 2, 0x88, 16);
    q4[2] = 0xf0, q4[17] = 0x19; /* low nibbles are elements 0..15, high ones 16..31 */
    hpc_to_f32(y, q4, HPC_Q4_0, 32);
    assert_true(y[0] == -16 && y[16] == 14 && y[15] == 2 && y[31] == -14 && y[7] == 0);
}

/* Sub-block 1: scale 5, minimum 3. Sub-block 6: scale 0x2b = 43, minimum 0x36 = 54. */
static void put_scales(uint8_t *scale)
{
    scale[1] = 5;
    scale[5] = 3;
    scale[10] = 0x6b;  /* low nibbles of both */
    scale[2] = 2 << 6; /* top bits of the scale */
    scale[6] = 3 << 6; /* and of the minimum */
}

static void k_by_hand(void **state)
{
    (void)state;
    uint8_t q4[144] = {0}, q5[176] = {0}, q6[210] = {0};
    float y[256];
    put16(q4, F16_HALF), put16(q4 + 2, F16_TWO);
    put_scales(q4 + 4);
    q4[16 + 7] = 0x93;       /* elements 7 of sub-blocks 0 (3) and 1 (9) */
    q4[16 + 96 + 31] = 0x4f; /* elements 31 of sub-blocks 6 (15) and 7 (4) */
    hpc_to_f32(y, q4, HPC_Q4_K, 256);
    assert_true(y[7] == 0 && y[32 + 7] == 9 * 2.5f - 6 && y[32] == -6);
    assert_true(y[192 + 31] == 15 * 21.5f - 108 && y[224 + 31] == 0 && y[192] == -108);

    put16(q5, F16_HALF), put16(q5 + 2, F16_TWO);
    put_scales(q5 + 4);
    q5[16 + 7] = 1 << 1;  /* the fifth bit of element 7 of sub-block 1 */
    q5[16 + 31] = 1 << 6; /* and of element 31 of sub-block 6 */
    q5[48 + 7] = 0x93, q5[48 + 96 + 31] = 0x4f;
    hpc_to_f32(y, q5, HPC_Q5_K, 256);
    assert_true(y[32 + 7] == 25 * 2.5f - 6 && y[192 + 31] == 31 * 21.5f - 108);
    assert_true(y[32] == -6 && y[192] == -108);

    put16(q6 + 208, F16_HALF);
    for (int s = 0; s < 16; s++) q6[192 + s] = (uint8_t)(s - 8); /* scales -8 .. 7 */
    q6[64 + 5] = 0x21;             /* second half: elements 5 (low 1) and 69 (low 2) */
    q6[128 + 32 + 5] = 3 << 4 | 1; /* their high bits: 1 and 3; elements 37 and 101 have 0 */
    hpc_to_f32(y, q6, HPC_Q6_K, 256);
    assert_true(y[0] == -0.5f * -8 * 32 && y[128 + 5] == 0 && y[128 + 16] == 0.5f * 1 * -32);
    assert_true(y[128 + 69] == 0.5f * 4 * (50 - 32) && y[128 + 37] == 0.5f * 2 * -32);
    assert_true(y[255] == 0.5f * 7 * -32);
    q6[192 + 8] = 1; /* element 133, first sub-block of the second half */
    hpc_to_f32(y, q6, HPC_Q6_K, 256);
    assert_true(y[128 + 5] == 0.5f * (17 - 32));
}

/* ---- the fixture ------------------------------------------------------------- */

static hpc_json *fixture(void)
{
    hpc_json *root = NULL;
    int rc = hpc_json_read(&root, "tests/fixtures/quant.json");
    if (rc < 0) print_error("%s\n", hpc_error_get()->text);
    assert_int_equal(rc, 0);
    return root;
}

static int64_t read_case(uint8_t bytes[512], float values[512], const hpc_json *item)
{
    const hpc_json *list = hpc_json_get(item, "values");
    const char *hex = NULL;
    int64_t n = hpc_json_n(list);
    assert_true(n > 0 && n <= 512);
    for (int64_t i = 0; i < n; i++) {
        double v;
        assert_int_equal(hpc_json_real(&v, hpc_json_at(list, i), "value"), 0);
        values[i] = (float)v;
    }
    assert_int_equal(hpc_json_text(&hex, hpc_json_get(item, "bytes"), "bytes"), 0);
    for (size_t i = 0; i < strlen(hex) / 2; i++) {
        const char *digits = "0123456789abcdef";
        long high = strchr(digits, hex[2 * i]) - digits,
             low = strchr(digits, hex[2 * i + 1]) - digits;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return n;
}

static void reads_like_gguf(void **state)
{
    (void)state;
    hpc_json *root = fixture();
    const hpc_json *cases = hpc_json_get(root, "unpack");
    assert_int_equal(hpc_json_n(cases), 5);
    for (int64_t i = 0; i < hpc_json_n(cases); i++) {
        const hpc_json *item;
        hpc_dtype d;
        uint8_t bytes[512];
        float want[512], got[512];
        assert_int_equal(hpc_dtype_find(&d, hpc_json_key(cases, i, &item)), 0);
        int64_t n = read_case(bytes, want, item);
        hpc_to_f32(got, bytes, d, n);
        assert_memory_equal(got, want, (size_t)n * sizeof *want);
    }
    hpc_json_free(root);
}

static void writes_like_gguf(void **state)
{
    (void)state;
    hpc_json *root = fixture();
    const hpc_json *cases = hpc_json_get(root, "pack");
    assert_int_equal(hpc_json_n(cases), 2);
    for (int64_t i = 0; i < hpc_json_n(cases); i++) {
        const hpc_json *item;
        hpc_dtype d;
        uint8_t want[512], got[512];
        float values[512];
        assert_int_equal(hpc_dtype_find(&d, hpc_json_key(cases, i, &item)), 0);
        int64_t n = read_case(want, values, item);
        hpc_from_f32(got, d, values, n);
        assert_memory_equal(got, want, (size_t)n / 32 * hpc_dtype_get(d)->block_bytes);
    }
    hpc_json_free(root);
}

/* ---- formats of files ---------------------------------------------------------- */

static hpc_dtype file_type(const char *name)
{
    for (int d = 0; d < HPC_DTYPE_N; d++)
        if (strcmp(hpc_dtype_get((hpc_dtype)d)->name, name) == 0) return (hpc_dtype)d;
    fail_msg("no dtype %s", name);
    return HPC_DTYPE_N;
}

static void file_formats_read_like_gguf(void **state)
{
    (void)state;
    enum { EVERY = 5 }; /* numbers that the fixture has */
    hpc_json *root = fixture();
    const hpc_json *cases = hpc_json_get(root, "file");
    assert_int_equal(hpc_json_n(cases), 7);
    for (int64_t i = 0; i < hpc_json_n(cases); i++) {
        const hpc_json *item;
        uint8_t bytes[512];
        float want[512], got[256];
        hpc_dtype d = file_type(hpc_json_key(cases, i, &item));
        int64_t n = read_case(bytes, want, item);
        assert_int_equal(n, (hpc_dtype_get(d)->block + EVERY - 1) / EVERY);
        hpc_to_f32(got, bytes, d, hpc_dtype_get(d)->block);
        for (int64_t k = 0; k < n; k++)
            assert_memory_equal(&got[k * EVERY], &want[k], sizeof *want);
    }
    hpc_json_free(root);
}

static double range(const float *x, int64_t n, bool symmetric)
{
    double low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) low = fmin(low, x[i]), high = fmax(high, x[i]);
    return symmetric ? fmax(-low, high) : high - low;
}

static const hpc_dtype of_files[] = {HPC_Q4_1, HPC_Q5_0,   HPC_Q5_1,  HPC_Q2_K,
                                     HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};

static void finds_factors_that_are_not_finite(void **state)
{
    (void)state;
    static uint8_t bytes[3 * 256];
    for (int k = 0; k < 7; k++)
        for (int f = 0; hpc_test_factor_at(of_files[k], f) >= 0; f++) {
            const hpc_dtype_info *info = hpc_dtype_get(of_files[k]);
            uint8_t *last = bytes + 2 * info->block_bytes + hpc_test_factor_at(of_files[k], f);
            hpc_test_draw_blocks(bytes, of_files[k], 3, 0, 1);
            assert_true(hpc_blocks_finite(bytes, of_files[k], 3 * info->block));
            put16(last, 0xfc00); /* -infinity */
            assert_false(hpc_blocks_finite(bytes, of_files[k], 3 * info->block));
            assert_true(hpc_blocks_finite(bytes, of_files[k], 2 * info->block));
            put16(last, 0x7c01); /* NaN */
            assert_false(hpc_blocks_finite(bytes, of_files[k], 3 * info->block));
        }
}

/* ---- the error of packing ------------------------------------------------------ */

typedef struct bound {
    hpc_dtype dtype;
    int64_t sub;  /* elements that share a scale */
    double worst; /* largest error of an element, relative to the sub-block's range */
    double rms;   /* over all normal numbers, relative to their deviation */
} bound;

/* Half a step is range / (2 levels); the rest is for the scales' own rounding. The affine formats
 * may cut a tail off when that lowers the weighted error. q3_K and iq4 end before the opposite of
 * the extreme element: at 3 / 4 and 113 / 127. */
static const bound bounds[] = {
    {HPC_Q8_0, 32, 0.6 / 127, 0.0055},   {HPC_Q4_0, 32, 1.0 / 8, 0.087},
    {HPC_Q4_K, 32, 0.05, 0.073},         {HPC_Q5_K, 32, 0.025, 0.036},
    {HPC_Q6_K, 16, 0.7 / 32, 0.018},     {HPC_Q4_1, 32, 0.52 / 15, 0.08},
    {HPC_Q5_0, 32, 1.0 / 16, 0.044},     {HPC_Q5_1, 32, 0.52 / 31, 0.0385},
    {HPC_Q2_K, 16, 0.18, 0.335},         {HPC_Q3_K, 16, 0.27, 0.157},
    {HPC_IQ4_NL, 32, 14.0 / 127, 0.082}, {HPC_IQ4_XS, 32, 0.13, 0.082},
};

static void packing_error(void **state)
{
    (void)state;
    enum { N = 8192 };
    static float x[N], y[N];
    static uint8_t packed[N * 2];
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        hpc_dtype d = bounds[b].dtype;
        bool symmetric =
            d != HPC_Q4_K && d != HPC_Q5_K && d != HPC_Q4_1 && d != HPC_Q5_1 && d != HPC_Q2_K;
        double square = 0, worst = 0;
        hpc_random_fill_normal(x, N, 7, 1, 0, 0);
        hpc_from_f32(packed, bounds[b].dtype, x, N);
        hpc_to_f32(y, packed, bounds[b].dtype, N);
        for (int64_t i = 0; i < N; i++) {
            int64_t sub = i / bounds[b].sub * bounds[b].sub;
            double e = fabs((double)y[i] - (double)x[i]);
            square += e * e;
            worst = fmax(worst, e / range(x + sub, bounds[b].sub, symmetric));
        }
        if (worst > bounds[b].worst || sqrt(square / N) > bounds[b].rms) {
            fail_msg("%s: worst %g, rms %g", hpc_dtype_get(bounds[b].dtype)->name, worst,
                     sqrt(square / N));
        }
    }
}

/* Scales far apart, and values that a block format can hold exactly. */
static void packing_edges(void **state)
{
    (void)state;
    static const hpc_dtype all[] = {HPC_Q8_0, HPC_Q4_0, HPC_Q4_K, HPC_Q5_K, HPC_Q6_K,   HPC_Q4_1,
                                    HPC_Q5_0, HPC_Q5_1, HPC_Q2_K, HPC_Q3_K, HPC_IQ4_NL, HPC_IQ4_XS};
    float x[256], y[256];
    uint8_t packed[512];
    for (size_t d = 0; d < sizeof all / sizeof *all; d++) {
        memset(x, 0, sizeof x);
        hpc_from_f32(packed, all[d], x, 256);
        hpc_to_f32(y, packed, all[d], 256);
        for (int i = 0; i < 256; i++) assert_true(y[i] == 0);

        for (int i = 0; i < 256; i++) x[i] = -1; /* constant, and below zero */
        hpc_from_f32(packed, all[d], x, 256);
        hpc_to_f32(y, packed, all[d], 256);
        for (int i = 0; i < 256; i++) assert_true(fabsf(y[i] + 1) < 0.005f);

        for (int i = 0; i < 256; i++) x[i] = 1e-12f; /* below what an f16 factor can scale */
        hpc_from_f32(packed, all[d], x, 256);
        hpc_to_f32(y, packed, all[d], 256);
        for (int i = 0; i < 256; i++) assert_true(fabsf(y[i]) < 1e-6f);

        x[17] = NAN,
        x[200] = INFINITY; /* nonsense in: no undefined behaviour, whatever comes out */
        hpc_from_f32(packed, all[d], x, 256);
        hpc_to_f32(y, packed, all[d], 256);
    }
    for (int i = 0; i < 256; i++) x[i] = 0.25f * (float)(i % 16) - 1; /* 16 levels exactly */
    hpc_from_f32(packed, HPC_Q4_K, x, 256);
    hpc_to_f32(y, packed, HPC_Q4_K, 256);
    for (int i = 0; i < 256; i++) assert_true(fabsf(y[i] - x[i]) < 0.003f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_by_hand),
        cmocka_unit_test(k_by_hand),
        cmocka_unit_test(reads_like_gguf),
        cmocka_unit_test(writes_like_gguf),
        cmocka_unit_test(packing_error),
        cmocka_unit_test(packing_edges),
        cmocka_unit_test(file_formats_read_like_gguf),
        cmocka_unit_test(finds_factors_that_are_not_finite),
    };
    return cmocka_run_group_tests_name("device/quant", tests, NULL, NULL);
}
