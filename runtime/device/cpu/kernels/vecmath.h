/*
 * vecmath.h: exp, tanh, erf and their kin in f32 without branches, so that the
 * loops around them become vector code.
 *
 * Errors are within 3 ulp (erf: within 1e-7), infinities and NaN come out as
 * they should where nothing else is said. They raise no flags and set no errno.
 * Nothing here knows tensors.
 */
#ifndef HPC_CPU_VECMATH_H
#define HPC_CPU_VECMATH_H

#include <math.h>

#include "runtime/device/priv.h"

/* Adding and subtracting it rounds |x| < 2^22 (2^51) to an integer, left in the low bits. */
#define VEC_ROUND   0x1.8p23f
#define VEC_ROUND64 0x1.8p52

/* 2^n for -127 < n < 128 */
static inline float vec_exp2_int(int32_t n)
{
    return hpc_bits_f32((uint32_t)(n + 127) << 23);
}

/* x, or whichever of -bound and bound is nearer; NaN is one of them. By bits, as integers: where
 * floats are compared, compilers compute all outcomes. */
static inline float vec_within(float x, float bound)
{
    int32_t high = (int32_t)hpc_f32_bits(bound), top = (int32_t)hpc_f32_bits(x);
    uint32_t low = hpc_f32_bits(-bound), bits;

    bits = (uint32_t)(top < high ? top : high); /* negative values compare as smaller */
    return hpc_bits_f32(bits < low ? bits : low);
}

/* e^x / 2^n, where n is x / ln(2) rounded: 1 + r + r^2 q(r), the remainder within 4e-9. */
static inline float vec_exp_rest(float x, float n)
{
    float r = x - n * 0x1.62ep-1f; /* exact: 12 bits times at most 8 */
    r = r - n * 0x1.0bfbe8p-15f;
    float p = 0x1.6a23d0p-10f;
    p = p * r + 0x1.123a20p-7f;
    p = p * r + 0x1.5558f2p-5f;
    p = p * r + 0x1.555492p-3f;
    p = p * r + 0x1.fffffcp-2f;
    p = p * r + 1.0f;
    return p * r + 1.0f;
}

/* e^x = 2^n e^r with |r| <= ln(2)/2; 2^n in two steps, for results that are not normal. Beyond the
 * bounds it is infinity or zero anyway. */
static inline float vec_exp(float x)
{
    float t = x > 89.0f ? 89.0f : x; /* NaN passes */
    t = t < -104.0f ? -104.0f : t;
    float k = t * 0x1.715476p0f + VEC_ROUND;
    int32_t n = (int32_t)(hpc_f32_bits(k) - hpc_f32_bits(VEC_ROUND));
    float p = vec_exp_rest(t, k - VEC_ROUND);
    int32_t half = n >> 1;
    return p * vec_exp2_int(half) * vec_exp2_int(n - half);
}

/* e^x for |x| <= VEC_EXP_MOST, where the result is normal: rounding yields 2^n directly. */
#define VEC_EXP_MOST 87.0f
static inline float vec_exp_normal(float x)
{
    const float round = VEC_ROUND + 127;
    float k = x * 0x1.715476p0f + round;

    return vec_exp_rest(x, k - round) * hpc_bits_f32(hpc_f32_bits(k) << 23);
}

/* e^x for x <= 0, or what rounding makes of it, as softmax needs it: what would not be normal is
 * 0. */
static inline float vec_exp_down(float x)
{
    return x < -VEC_EXP_MOST ? 0.0f : vec_exp_normal(x);
}

/* Beyond the bounds it is the least of normal numbers, which x makes visible beyond 1e34 only, or
 * 1; that of NaN is either, so it is x sigmoid(x) that stays NaN. */
static inline float vec_sigmoid(float x)
{
    return 1.0f / (1.0f + vec_exp_normal(-vec_within(x, VEC_EXP_MOST)));
}

static inline float vec_tanh(float x)
{
    float a = fabsf(x), z = x * x;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    float near = p * z * x + x;
    float e = vec_exp_normal(a > 40.0f ? 80.0f : 2.0f * a);
    float far = copysignf(1.0f - 2.0f / (e + 1.0f), x);
    return a < 0.625f ? near : far;
}

/* tanh'(x), as 4 e / (1 + e)^2 with e = exp(-2 |x|): no digits cancel where it vanishes. */
static inline float vec_tanh_slope(float x)
{
    float e = vec_exp_down(-2.0f * fabsf(x)), d = 1.0f + e;
    return 4.0f * e / (d * d);
}

/* erf(x) for |x| <= VEC_ERF_NEAR */
#define VEC_ERF_NEAR 0.927734375f
static inline float vec_erf_near(float x)
{
    float z = x * x;
    float p = -5.96761703e-4f;
    p = p * z + 4.99119423e-3f;
    p = p * z - 2.67681349e-2f;
    p = p * z + 1.12819925e-1f;
    p = p * z - 3.76125336e-1f;
    p = p * z + 1.28379166e-1f;
    return p * x + x;
}

/* 1 - erf(a) for a >= VEC_ERF_NEAR, as e to a polynomial: it keeps its digits as it vanishes. */
static inline float vec_erfc_far(float a)
{
    float p = -1.72853470e-5f;
    p = p * a + 3.83197126e-4f;
    p = p * a - 3.88396438e-3f;
    p = p * a + 2.42546219e-2f;
    p = p * a - 1.06777877e-1f;
    p = p * a - 6.34846687e-1f;
    p = p * a - 1.28717512e-1f;
    return vec_exp_down(p * a - a);
}

static inline float vec_erf(float x)
{
    float a = fabsf(x), far = copysignf(1.0f - vec_erfc_far(a), x);

    return a > VEC_ERF_NEAR ? far : vec_erf_near(x);
}

/* The normal distribution, (1 + erf(x / sqrt(2))) / 2. */
static inline float vec_normal(float x)
{
    float t = x * 0x1.6a09e6p-1f, a = fabsf(t), tail = 0.5f * vec_erfc_far(a);
    float far = t > 0 ? 1.0f - tail : tail;

    return a > VEC_ERF_NEAR ? far : 0.5f + 0.5f * vec_erf_near(t);
}

/* Quarter turns are split off in double: exact enough for any angle that an i32 position gives. */
static inline void vec_sincos(float *sine, float *cosine, float x)
{
    double k = (double)x * 0x1.45f306dc9c883p-1 + VEC_ROUND64, turns = k - VEC_ROUND64;
    double exact = (double)x - turns * 0x1.921fbp+0; /* 22 bits times at most 31 */
    float r = (float)(exact - turns * 0x1.5110b4611a626p-22), z = r * r;
    uint64_t bits;
    memcpy(&bits, &k, sizeof bits);

    float s = -1.9515295891e-4f;
    s = s * z + 8.3321608736e-3f;
    s = s * z - 1.6666654611e-1f;
    s = s * z * r + r;
    float c = 2.443315711809948e-5f;
    c = c * z - 1.388731625493765e-3f;
    c = c * z + 4.166664568298827e-2f;
    c = c * (z * z) - 0.5f * z + 1.0f;

    uint32_t quarter = (uint32_t)bits;
    float of_sine = quarter & 1 ? c : s, of_cosine = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -of_sine : of_sine;
    *cosine = (quarter + 1) & 2 ? -of_cosine : of_cosine;
}

#endif
