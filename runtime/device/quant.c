/*
 * quant.c: the block formats of quantised weights, byte for byte as GGUF files hold them. Unpacking
 * is exact; packing q8_0 and q4_0 gives the format's defining bytes, packing the K formats searches
 * scales of small weighted error. Kernels multiply packed weights. quant_file.c has the formats
 * that are not written to files.
 *
 * A K block is 256 elements: sub-blocks with small integer scales (and, in q4_K
 * and q5_K, minima) that share one f16 factor.
 */
#include <math.h>

#include "runtime/device/priv.h"

enum { SUPER = 256 };

typedef struct q8_0_block {
    uint16_t d;
    int8_t q[32];
} q8_0_block;

typedef struct q4_0_block {
    uint16_t d;
    uint8_t q[16]; /* low nibbles: elements 0..15, high: 16..31; biased by 8 */
} q4_0_block;

/* Scales and minima of 8 sub-blocks of 32, 6 bits each: see scale_get. */
typedef struct q4_k_block {
    uint16_t d, dmin;
    uint8_t scale[12];
    uint8_t q[128]; /* 32 bytes for each pair of sub-blocks: low nibbles, then high */
} q4_k_block;

typedef struct q5_k_block {
    uint16_t d, dmin;
    uint8_t scale[12];
    uint8_t high[32]; /* bit s of byte l: the fifth bit of element l of sub-block s */
    uint8_t q[128];
} q5_k_block;

/* 16 sub-blocks of 16; elements are biased by 32. */
typedef struct q6_k_block {
    uint8_t low[128]; /* each half of 128: 64 bytes of low nibbles and high nibbles */
    uint8_t high[64]; /* each half: 32 bytes of 2 bits for elements l, l+32, l+64, l+96 */
    int8_t scale[16];
    uint16_t d;
} q6_k_block;

_Static_assert(sizeof(q8_0_block) == 34 && sizeof(q4_0_block) == 18, "block layout");
_Static_assert(sizeof(q4_k_block) == 144 && sizeof(q5_k_block) == 176, "block layout");
_Static_assert(sizeof(q6_k_block) == 210, "block layout");

/* hpc_nearest as a float, in a form that loops can be made vector code of. */
static inline float nearest_float(float x, float lo, float hi)
{
    float t = x > lo ? x : lo;
    t = t < hi ? t : hi;
    return t + 0x1.8p23f - 0x1.8p23f;
}

/* Sums are taken in so many parts, whatever the machine's vectors are: the same bits everywhere. */
enum { PARTS = 8 };

static float sum_of(const float part[PARTS])
{
    return ((part[0] + part[4]) + (part[1] + part[5])) +
           ((part[2] + part[6]) + (part[3] + part[7]));
}

/* ---- q8_0, q4_0 ------------------------------------------------------------ */

static void q8_0_unpack(float *dst, const q8_0_block *b)
{
    float d = hpc_f16_to_f32(b->d);
    for (int i = 0; i < 32; i++) dst[i] = d * (float)b->q[i];
}

static void q8_0_pack(q8_0_block *b, const float *src)
{
    float most = 0;
    for (int i = 0; i < 32; i++) most = fmaxf(most, fabsf(src[i]));
    float d = most / 127, inverse = d > 0 ? 1 / d : 0;
    b->d = hpc_f16_from_f32(d);
    /* Halves away from zero, as the format's definition has it. */
    for (int i = 0; i < 32; i++) b->q[i] = (int8_t)hpc_nearest(roundf(src[i] * inverse), -127, 127);
}

static void q4_0_unpack(float *dst, const q4_0_block *b)
{
    float d = hpc_f16_to_f32(b->d);
    for (int i = 0; i < 16; i++) {
        dst[i] = d * (float)((b->q[i] & 15) - 8);
        dst[i + 16] = d * (float)((b->q[i] >> 4) - 8);
    }
}

static void q4_0_pack(q4_0_block *b, const float *src)
{
    /* The element of largest magnitude, with its sign, becomes -8 exactly. */
    float most = 0;
    for (int i = 0; i < 32; i++) {
        if (fabsf(src[i]) > fabsf(most)) most = src[i];
    }
    float d = most / -8, inverse = d < 0 || d > 0 ? 1 / d : 0;
    b->d = hpc_f16_from_f32(d);
    for (int i = 0; i < 16; i++) {
        int low = hpc_nearest(floorf(src[i] * inverse + 8.5f), 0, 15);
        int high = hpc_nearest(floorf(src[i + 16] * inverse + 8.5f), 0, 15);
        b->q[i] = (uint8_t)(low | high << 4);
    }
}

/* ---- q4_K, q5_K: x = scale q - min ------------------------------------------ */

/* The 6-bit scale and minimum of sub-block s: the first four in the low bits of bytes 0..3 and
 * 4..7; the last four in the nibbles of bytes 8..11, their top bits in the tops of the others. */
static void scale_get(int *scale, int *min, const uint8_t packed[12], int s)
{
    if (s < 4) {
        *scale = packed[s] & 63;
        *min = packed[s + 4] & 63;
    } else {
        *scale = (packed[s + 4] & 15) | packed[s - 4] >> 6 << 4;
        *min = packed[s + 4] >> 4 | packed[s] >> 6 << 4;
    }
}

static void scale_put(uint8_t packed[12], int s, int scale, int min) /* packed is zero at first */
{
    if (s < 4) {
        packed[s] |= (uint8_t)scale;
        packed[s + 4] |= (uint8_t)min;
    } else {
        packed[s + 4] |= (uint8_t)((scale & 15) | (min & 15) << 4);
        packed[s - 4] |= (uint8_t)(scale >> 4 << 6);
        packed[s] |= (uint8_t)(min >> 4 << 6);
    }
}

static void mins_unpack(float *dst, uint16_t d, uint16_t dmin, const uint8_t scale[12],
                        const uint8_t *q, const uint8_t *high)
{
    for (int s = 0; s < 8; s++) {
        int sc, mn, shift = s % 2 * 4;
        scale_get(&sc, &mn, scale, s);
        float unit = hpc_f16_to_f32(d) * (float)sc, min = hpc_f16_to_f32(dmin) * (float)mn;
        for (int i = 0; i < 32; i++) {
            int v = q[s / 2 * 32 + i] >> shift & 15;
            if (high) v |= (high[i] >> s & 1) << 4;
            dst[s * 32 + i] = unit * (float)v - min;
        }
    }
}

/* How much an element's error counts: larger weights matter more, yet none is free. */
static void weigh(float *w, const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    float rms = sqrtf(sum / (float)n);
    for (int i = 0; i < n; i++) w[i] = rms + fabsf(x[i]);
}

typedef struct affine {
    float scale, min;
} affine;

static float affine_error(const float *x, const float *w, affine f, int top)
{
    float inverse = f.scale > 0 ? 1 / f.scale : 0, sum[PARTS] = {0};
    for (int i = 0; i < 32; i += PARTS)
        for (int k = 0; k < PARTS; k++) {
            float q = nearest_float((x[i + k] + f.min) * inverse, 0, (float)top);
            float e = f.scale * q - f.min - x[i + k];
            sum[k] += w[i + k] * e * e;
        }
    return sum_of(sum);
}

/* Weighted least squares of x against q for the rounding that f gives; min stays >= 0. */
static affine affine_refit(const float *x, const float *w, affine f, int top)
{
    float w_[PARTS] = {0}, q_[PARTS] = {0}, x_[PARTS] = {0}, qq[PARTS] = {0}, qx[PARTS] = {0};
    for (int i = 0; i < 32; i += PARTS)
        for (int k = 0; k < PARTS; k++) {
            float q = nearest_float((x[i + k] + f.min) / f.scale, 0, (float)top);
            float by = w[i + k], at = x[i + k];
            w_[k] += by, q_[k] += by * q, x_[k] += by * at;
            qq[k] += by * q * q, qx[k] += by * q * at;
        }
    float sw = sum_of(w_), sq = sum_of(q_), sx = sum_of(x_), sqq = sum_of(qq), sqx = sum_of(qx);
    float det = sw * sqq - sq * sq;
    if (!(det > 0)) return f;
    affine fit = {(sw * sqx - sq * sx) / det, (sq * sqx - sqq * sx) / det};
    if (fit.min < 0) fit = (affine){sqx / sqq, 0};
    return fit.scale > 0 ? fit : f;
}

/* The best of a few scales around the one that spans the range, each refitted. */
static affine affine_search(const float *x, const float *w, int top)
{
    float lo = 0, hi = x[0];
    for (int i = 0; i < 32; i++) lo = fminf(lo, x[i]), hi = fmaxf(hi, x[i]);
    affine best = {(hi - lo) / (float)top, -lo};
    if (!(hi > lo))
        return (affine){0, -lo}; /* constant and not positive: the minimum says it all */
    float least = affine_error(x, w, best, top);
    for (int step = -5; step <= 10; step++) {
        affine f = {(hi - lo) / ((float)top + 0.1f * (float)step), -lo};
        f = affine_refit(x, w, f, top);
        float error = affine_error(x, w, f, top);
        if (error < least) least = error, best = f;
    }
    return best;
}

/* Of the integers around the wished scale and minimum, those of least error. */
static void affine_round(int *scale, int *min, const float *x, const float *w, affine wish,
                         affine unit, int top)
{
    int sc0 = unit.scale > 0 ? hpc_nearest(wish.scale / unit.scale, 0, 63) : 0;
    int mn0 = unit.min > 0 ? hpc_nearest(wish.min / unit.min, 0, 63) : 0;
    float least = INFINITY;
    *scale = sc0, *min = mn0;
    for (int sc = sc0 > 0 ? sc0 - 1 : 0; sc <= sc0 + 1 && sc <= 63; sc++) {
        for (int mn = mn0 > 0 ? mn0 - 1 : 0; mn <= mn0 + 1 && mn <= 63; mn++) {
            affine f = {unit.scale * (float)sc, unit.min * (float)mn};
            float error = affine_error(x, w, f, top);
            if (error < least) least = error, *scale = sc, *min = mn;
        }
    }
}

static void mins_pack(uint16_t *d, uint16_t *dmin, uint8_t scale[12], uint8_t *q, uint8_t *high,
                      const float *src)
{
    int top = high ? 31 : 15;
    float weight[SUPER];
    affine wish[8], most = {0, 0};
    for (int s = 0; s < 8; s++) {
        weigh(weight + s * 32, src + s * 32, 32);
        wish[s] = affine_search(src + s * 32, weight + s * 32, top);
        most.scale = fmaxf(most.scale, wish[s].scale);
        most.min = fmaxf(most.min, wish[s].min);
    }
    *d = hpc_f16_from_f32(most.scale / 63);
    *dmin = hpc_f16_from_f32(most.min / 63);
    affine unit = {hpc_f16_to_f32(*d), hpc_f16_to_f32(*dmin)};
    for (int s = 0; s < 8; s++) {
        const float *x = src + s * 32;
        int sc, mn;
        affine_round(&sc, &mn, x, weight + s * 32, wish[s], unit, top);
        scale_put(scale, s, sc, mn);
        float step = unit.scale * (float)sc, inverse = step > 0 ? 1 / step : 0;
        for (int i = 0; i < 32; i++) {
            int v = hpc_nearest((x[i] + unit.min * (float)mn) * inverse, 0, top);
            q[s / 2 * 32 + i] |= (uint8_t)((v & 15) << s % 2 * 4);
            if (high) high[i] |= (uint8_t)(v >> 4 << s);
        }
    }
}

static void q4_k_pack(q4_k_block *b, const float *src)
{
    memset(b, 0, sizeof *b);
    mins_pack(&b->d, &b->dmin, b->scale, b->q, NULL, src);
}

static void q5_k_pack(q5_k_block *b, const float *src)
{
    memset(b, 0, sizeof *b);
    mins_pack(&b->d, &b->dmin, b->scale, b->q, b->high, src);
}

/* ---- q6_K: x = scale (q - 32) ------------------------------------------------ */

/* Where the six bits of element i live. */
typedef struct q6_place {
    int low, low_shift, high, high_shift;
} q6_place;

static q6_place q6_at(int i)
{
    int half = i / 128, quarter = i % 128 / 32, l = i % 32;
    return (q6_place){half * 64 + quarter % 2 * 32 + l, quarter / 2 * 4, half * 32 + l,
                      quarter * 2};
}

static void q6_k_unpack(float *dst, const q6_k_block *b)
{
    float d = hpc_f16_to_f32(b->d);
    for (int i = 0; i < SUPER; i++) {
        q6_place at = q6_at(i);
        int q = (b->low[at.low] >> at.low_shift & 15) | (b->high[at.high] >> at.high_shift & 3)
                                                            << 4;
        dst[i] = d * (float)b->scale[i / 16] * (float)(q - 32);
    }
}

/* A scale, of either sign, for 16 elements: the best of a few, each refitted by least squares. */
static float linear_search(const float *x)
{
    float w[16], most = 0, best = 0, gain = 0;
    weigh(w, x, 16);
    for (int i = 0; i < 16; i++) {
        if (fabsf(x[i]) > fabsf(most)) most = x[i];
    }
    if (!(fabsf(most) > 0)) return 0;
    for (int step = -9; step <= 9; step++) {
        float inverse = -(32 + 0.1f * (float)step) / most, xq_[PARTS] = {0}, qq_[PARTS] = {0};
        for (int i = 0; i < 16; i += PARTS)
            for (int k = 0; k < PARTS; k++) {
                float q = nearest_float(x[i + k] * inverse, -32, 31);
                xq_[k] += w[i + k] * x[i + k] * q;
                qq_[k] += w[i + k] * q * q;
            }
        float xq = sum_of(xq_), qq = sum_of(qq_);
        /* With scale xq / qq the squared error falls by xq^2 / qq. */
        if (qq > 0 && xq * xq > gain * qq) gain = xq * xq / qq, best = xq / qq;
    }
    return best;
}

static void q6_k_pack(q6_k_block *b, const float *src)
{
    float wish[16], most = 0;
    memset(b, 0, sizeof *b);
    for (int s = 0; s < 16; s++) {
        wish[s] = linear_search(src + s * 16);
        if (fabsf(wish[s]) > fabsf(most)) most = wish[s];
    }
    b->d = hpc_f16_from_f32(most / -128);
    float d = hpc_f16_to_f32(b->d), inverse = d < 0 || d > 0 ? 1 / d : 0;
    for (int s = 0; s < 16; s++) b->scale[s] = (int8_t)hpc_nearest(wish[s] * inverse, -128, 127);
    for (int i = 0; i < SUPER; i++) {
        float unit = d * (float)b->scale[i / 16];
        int q = (unit < 0 || unit > 0 ? hpc_nearest(src[i] / unit, -32, 31) : 0) + 32;
        q6_place at = q6_at(i);
        b->low[at.low] |= (uint8_t)((q & 15) << at.low_shift);
        b->high[at.high] |= (uint8_t)(q >> 4 << at.high_shift);
    }
}

/* ---- entry points ------------------------------------------------------------ */

static void block_unpack(float *dst, const void *src, hpc_dtype from)
{
    const q4_k_block *q4 = src;
    const q5_k_block *q5 = src;
    switch (from) {
    case HPC_Q8_0: q8_0_unpack(dst, src); break;
    case HPC_Q4_0: q4_0_unpack(dst, src); break;
    case HPC_Q4_K: mins_unpack(dst, q4->d, q4->dmin, q4->scale, q4->q, NULL); break;
    case HPC_Q5_K: mins_unpack(dst, q5->d, q5->dmin, q5->scale, q5->q, q5->high); break;
    case HPC_Q6_K: q6_k_unpack(dst, src); break;
    default: hpc_quant_unpack_file(dst, src, from);
    }
}

static void block_pack(void *dst, hpc_dtype to, const float *src)
{
    switch (to) {
    case HPC_Q8_0: q8_0_pack(dst, src); break;
    case HPC_Q4_0: q4_0_pack(dst, src); break;
    case HPC_Q4_K: q4_k_pack(dst, src); break;
    case HPC_Q5_K: q5_k_pack(dst, src); break;
    case HPC_Q6_K: q6_k_pack(dst, src); break;
    default: hpc_quant_pack_file(dst, to, src);
    }
}

/* ---- runs of blocks ------------------------------------------------------------ */

void hpc_quant_unpack(float *dst, const void *src, hpc_dtype from, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get(from);
    const uint8_t *bytes = src;
    hpc_assert(n % info->block == 0);
    for (int64_t i = 0; i < n; i += info->block, bytes += info->block_bytes) {
        block_unpack(dst + i, bytes, from);
    }
}

void hpc_quant_pack(void *dst, hpc_dtype to, const float *src, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get(to);
    uint8_t *bytes = dst;
    hpc_assert(n % info->block == 0);
    for (int64_t i = 0; i < n; i += info->block, bytes += info->block_bytes) {
        block_pack(bytes, to, src + i);
    }
}
