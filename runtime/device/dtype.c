/*
 * dtype.c: the table of element types, and conversions to and from f32 of every unquantised one.
 * Block formats are in quant.c; kernels have faster conversions of their own.
 */
#include "runtime/device/priv.h"

static const hpc_dtype_info infos[HPC_DTYPE_N] = {
    [HPC_F32] = {"f32", 1, 4, true, false, HPC_F32},
    [HPC_BF16] = {"bf16", 1, 2, true, false, HPC_BF16},
    [HPC_F16] = {"f16", 1, 2, true, false, HPC_F16},
    [HPC_F64] = {"f64", 1, 8, true, false, HPC_F64},
    [HPC_I32] = {"i32", 1, 4, false, false, HPC_I32},
    [HPC_I64] = {"i64", 1, 8, false, false, HPC_I64},
    [HPC_I8] = {"i8", 1, 1, false, false, HPC_I8},
    [HPC_Q8_0] = {"q8_0", 32, 34, true, true, HPC_Q8_0},
    [HPC_Q4_0] = {"q4_0", 32, 18, true, true, HPC_Q4_0},
    [HPC_Q4_K] = {"q4_K", 256, 144, true, true, HPC_Q4_K},
    [HPC_Q5_K] = {"q5_K", 256, 176, true, true, HPC_Q5_K},
    [HPC_Q6_K] = {"q6_K", 256, 210, true, true, HPC_Q6_K},
    [HPC_Q4_1] = {"q4_1", 32, 20, true, true, HPC_Q4_1},
    [HPC_Q5_0] = {"q5_0", 32, 22, true, true, HPC_Q5_0},
    [HPC_Q5_1] = {"q5_1", 32, 24, true, true, HPC_Q5_1},
    [HPC_Q2_K] = {"q2_K", 256, 84, true, true, HPC_Q2_K},
    [HPC_Q3_K] = {"q3_K", 256, 110, true, true, HPC_Q3_K},
    [HPC_IQ4_NL] = {"iq4_nl", 32, 18, true, true, HPC_IQ4_NL},
    [HPC_IQ4_XS] = {"iq4_xs", 256, 136, true, true, HPC_IQ4_XS},
    [HPC_F8_E4M3] = {"f8_e4m3", 1, 1, true, false, HPC_BF16},
};

const hpc_dtype_info *hpc_dtype_get(hpc_dtype d)
{
    hpc_assert((unsigned)d < HPC_DTYPE_N);
    return &infos[d];
}

int hpc_dtype_find(hpc_dtype *out, const char *name)
{
    char known[128] = "";
    size_t used = 0;
    for (int d = 0; d < HPC_DTYPE_N; d++) {
        if (infos[d].held != (hpc_dtype)d) continue;
        if (strcmp(infos[d].name, name) == 0) {
            *out = (hpc_dtype)d;
            return 0;
        }
        size_t n = strlen(infos[d].name);
        if (used + n + 2 >= sizeof known) continue;
        if (d > 0) memcpy(known + used, ", ", 2), used += 2;
        memcpy(known + used, infos[d].name, n + 1);
        used += n;
    }
    return hpc_fail(HPC_E_ARG, "unknown dtype '%s'; known are %s", name, known);
}

/* Towards zero, saturating; NaN gives 0: what a C cast leaves undefined. */
static int32_t to_i32(float x)
{
    if (!(x > -0x1p31f)) return x <= -0x1p31f ? INT32_MIN : 0;
    return x >= 0x1p31f ? INT32_MAX : (int32_t)x;
}

static int8_t to_i8(float x)
{
    if (!(x > -0x1p7f)) return x <= -0x1p7f ? INT8_MIN : 0;
    return x >= 0x1p7f ? INT8_MAX : (int8_t)x;
}

static int64_t to_i64(float x)
{
    if (!(x > -0x1p63f)) return x <= -0x1p63f ? INT64_MIN : 0;
    return x >= 0x1p63f ? INT64_MAX : (int64_t)x;
}

/* No infinities: only the largest magnitude of either sign is NaN. */
static float f8_e4m3_to_f32(uint8_t x)
{
    uint32_t sign = (uint32_t)(x & 0x80) << 24, exp = x >> 3 & 15, man = x & 7;
    if ((x & 0x7f) == 0x7f) return hpc_bits_f32(sign | 0x7fc00000);
    if (exp == 0) return hpc_bits_f32(sign | hpc_f32_bits((float)man * 0x1p-9f));
    return hpc_bits_f32(sign | (exp + 120) << 23 | man << 20);
}

void hpc_to_f32(float *dst, const void *src, hpc_dtype from, int64_t n)
{
    const uint16_t *half = src;
    switch (from) {
    case HPC_F32: memmove(dst, src, (size_t)n * sizeof *dst); break;
    case HPC_BF16:
        for (int64_t i = 0; i < n; i++) dst[i] = hpc_bf16_to_f32(half[i]);
        break;
    case HPC_F16:
        for (int64_t i = 0; i < n; i++) dst[i] = hpc_f16_to_f32(half[i]);
        break;
    case HPC_F64:
        for (int64_t i = 0; i < n; i++) dst[i] = (float)((const double *)src)[i];
        break;
    case HPC_I32:
        for (int64_t i = 0; i < n; i++) dst[i] = (float)((const int32_t *)src)[i];
        break;
    case HPC_I64:
        for (int64_t i = 0; i < n; i++) dst[i] = (float)((const int64_t *)src)[i];
        break;
    case HPC_I8:
        for (int64_t i = 0; i < n; i++) dst[i] = (float)((const int8_t *)src)[i];
        break;
    case HPC_F8_E4M3:
        for (int64_t i = 0; i < n; i++) dst[i] = f8_e4m3_to_f32(((const uint8_t *)src)[i]);
        break;
    default: hpc_quant_unpack(dst, src, from, n);
    }
}

void hpc_from_f32(void *dst, hpc_dtype to, const float *src, int64_t n)
{
    uint16_t *half = dst;
    switch (to) {
    case HPC_F32: memmove(dst, src, (size_t)n * sizeof *src); break;
    case HPC_BF16:
        for (int64_t i = 0; i < n; i++) half[i] = hpc_bf16_from_f32(src[i]);
        break;
    case HPC_F16:
        for (int64_t i = 0; i < n; i++) half[i] = hpc_f16_from_f32(src[i]);
        break;
    case HPC_F64:
        for (int64_t i = 0; i < n; i++) ((double *)dst)[i] = src[i];
        break;
    case HPC_I32:
        for (int64_t i = 0; i < n; i++) ((int32_t *)dst)[i] = to_i32(src[i]);
        break;
    case HPC_I64:
        for (int64_t i = 0; i < n; i++) ((int64_t *)dst)[i] = to_i64(src[i]);
        break;
    case HPC_I8:
        for (int64_t i = 0; i < n; i++) ((int8_t *)dst)[i] = to_i8(src[i]);
        break;
    default: hpc_quant_pack(dst, to, src, n);
    }
}
