/*
 * quant_file.c: block formats that hpccoder reads and computes with but does not write to files:
 * q4_1, q5_0, q5_1, q2_K, q3_K, iq4_nl and iq4_xs. Unpacking is exact. Packing spans the range of
 * each part and rounds; it does not search scales of less error, as quant.c and llama-quantize do.
 */
#include <math.h>

#include "runtime/device/priv.h"

enum { SUPER = 256, UNIT = 32, HALF = 16 };

typedef struct q4_1_block { /* x = d q + m */
    uint16_t d, m;
    uint8_t q[16]; /* low nibbles: elements 0..15, high: 16..31 */
} q4_1_block;

typedef struct q5_0_block { /* x = d (q - 16) */
    uint16_t d;
    uint8_t high[4]; /* bit i: the fifth bit of element i */
    uint8_t q[16];
} q5_0_block;

typedef struct q5_1_block { /* x = d q + m */
    uint16_t d, m;
    uint8_t high[4];
    uint8_t q[16];
} q5_1_block;

typedef struct q2_k_block { /* x = d scale q - dmin min */
    uint8_t scale[16];      /* of 16 elements: low nibble the scale, high nibble the minimum */
    uint8_t q[64]; /* each half of 128: 32 bytes of 2 bits for elements l, l+32, l+64, l+96 */
    uint16_t d, dmin;
} q2_k_block;

typedef struct q3_k_block { /* x = d (scale - 32) (q - 4) */
    uint8_t high[32];       /* bit s of byte l: the third bit of element 32 s + l */
    uint8_t q[64];          /* as in q2_k */
    uint8_t scale[12];      /* 16 of 6 bits: see q3_k_scale */
    uint16_t d;
} q3_k_block;

typedef struct iq4_nl_block { /* x = d level[q] */
    uint16_t d;
    uint8_t q[16];
} iq4_nl_block;

typedef struct iq4_xs_block { /* x = d (scale - 32) level[q] */
    uint16_t d, scale_high;   /* two bits of each of 8 scales */
    uint8_t scale_low[4];     /* four bits of each */
    uint8_t q[128];           /* 16 bytes for 32 elements, as in iq4_nl */
} iq4_xs_block;

_Static_assert(sizeof(q4_1_block) == 20 && sizeof(q5_0_block) == 22, "block layout");
_Static_assert(sizeof(q5_1_block) == 24 && sizeof(q2_k_block) == 84, "block layout");
_Static_assert(sizeof(q3_k_block) == 110 && sizeof(iq4_nl_block) == 18, "block layout");
_Static_assert(sizeof(iq4_xs_block) == 136, "block layout");

const int8_t hpc_iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

/* ---- integers of a block --------------------------------------------------------------------- */

static int nibble(const uint8_t q[16], int i)
{
    return i < 16 ? q[i] & 15 : q[i - 16] >> 4;
}

/* The two bits of element i of a block of 256. */
static int two_bits(const uint8_t q[64], int i)
{
    return q[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}

/* Low nibbles are in the low and high nibbles of bytes 0..7, top bits in bytes 8..11. */
static int q3_k_scale(const uint8_t packed[12], int s)
{
    int low = packed[s % 8] >> s / 8 * 4 & 15;
    return (low | (packed[8 + s % 4] >> s / 4 * 2 & 3) << 4) - 32;
}

static int q3_k_at(const q3_k_block *b, int i)
{
    return two_bits(b->q, i) - (b->high[i % 32] >> i / 32 & 1 ? 0 : 4);
}

static int iq4_xs_scale(const iq4_xs_block *b, int s)
{
    int low = b->scale_low[s / 2] >> s % 2 * 4 & 15;
    return (low | (b->scale_high >> 2 * s & 3) << 4) - 32;
}

/* ---- to f32 ---------------------------------------------------------------------------------- */

/* unit (q - offset) + base. */
static void nibbles_unpack(float *dst, float unit, int offset, float base, const uint8_t q[16],
                           const uint8_t high[4])
{
    uint32_t fifths = 0;
    if (high) memcpy(&fifths, high, sizeof fifths);
    for (int i = 0; i < UNIT / 2; i++) {
        int first = (q[i] & 15) | (int)(fifths >> i & 1) << 4;
        int second = q[i] >> 4 | (int)(fifths >> (i + UNIT / 2) & 1) << 4;
        dst[i] = unit * (float)(first - offset) + base;
        dst[i + UNIT / 2] = unit * (float)(second - offset) + base;
    }
}

static void affine_unpack(float *dst, uint16_t d, uint16_t m, const uint8_t *q, const uint8_t *high)
{
    nibbles_unpack(dst, hpc_f16_to_f32(d), 0, hpc_f16_to_f32(m), q, high);
}

/* A base of -0 leaves the sign of zeros. */
static void q5_0_unpack(float *dst, const q5_0_block *b)
{
    nibbles_unpack(dst, hpc_f16_to_f32(b->d), 16, -0.0f, b->q, b->high);
}

static void q2_k_unpack(float *dst, const q2_k_block *b)
{
    float d = hpc_f16_to_f32(b->d), dmin = hpc_f16_to_f32(b->dmin);
    for (int s = 0; s < 16; s++) {
        float unit = d * (float)(b->scale[s] & 15), min = dmin * (float)(b->scale[s] >> 4);
        for (int i = 16 * s; i < 16 * s + 16; i++) dst[i] = unit * (float)two_bits(b->q, i) - min;
    }
}

static void q3_k_unpack(float *dst, const q3_k_block *b)
{
    float d = hpc_f16_to_f32(b->d);
    for (int s = 0; s < 16; s++) {
        float unit = d * (float)q3_k_scale(b->scale, s);
        for (int i = 16 * s; i < 16 * s + 16; i++) dst[i] = unit * (float)q3_k_at(b, i);
    }
}

static void levels_unpack(float *dst, float d, const uint8_t q[16])
{
    for (int i = 0; i < UNIT; i++) dst[i] = d * (float)hpc_iq4_levels[nibble(q, i)];
}

static void iq4_xs_unpack(float *dst, const iq4_xs_block *b)
{
    float d = hpc_f16_to_f32(b->d);
    for (int s = 0; s < SUPER / UNIT; s++)
        levels_unpack(dst + s * UNIT, d * (float)iq4_xs_scale(b, s), b->q + 16 * s);
}

void hpc_quant_unpack_file(float *dst, const void *block, hpc_dtype from)
{
    const q4_1_block *q41 = block;
    const q5_1_block *q51 = block;
    const iq4_nl_block *nl = block;
    switch (from) {
    case HPC_Q4_1: affine_unpack(dst, q41->d, q41->m, q41->q, NULL); break;
    case HPC_Q5_0: q5_0_unpack(dst, block); break;
    case HPC_Q5_1: affine_unpack(dst, q51->d, q51->m, q51->q, q51->high); break;
    case HPC_Q2_K: q2_k_unpack(dst, block); break;
    case HPC_Q3_K: q3_k_unpack(dst, block); break;
    case HPC_IQ4_NL: levels_unpack(dst, hpc_f16_to_f32(nl->d), nl->q); break;
    case HPC_IQ4_XS: iq4_xs_unpack(dst, block); break;
    default: hpc_assert(!"a block format");
    }
}

/* ---- from f32 -------------------------------------------------------------------------------- */

/* The element of the largest magnitude, with its sign. */
static float extreme_of(const float *x, int n)
{
    float most = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(most)) most = x[i];
    return most;
}

static float inverse_of(float x)
{
    return x < 0 || x > 0 ? 1 / x : 0;
}

static void put_fifth(uint8_t *high, int i, int v)
{
    high[i / 8] |= (uint8_t)(v >> 4 << i % 8);
}

static void put_nibble(uint8_t *q, int i, int v)
{
    q[i % 16] |= (uint8_t)((v & 15) << i / 16 * 4);
}

static void put_two_bits(uint8_t q[64], int i, int v)
{
    q[i / 128 * 32 + i % 32] |= (uint8_t)((v & 3) << i % 128 / 32 * 2);
}

static void affine_pack(uint16_t *d, uint16_t *m, uint8_t *q, uint8_t *high, const float *x)
{
    int top = high ? 31 : 15;
    float lo = x[0], hi = x[0];
    for (int i = 0; i < UNIT; i++) lo = fminf(lo, x[i]), hi = fmaxf(hi, x[i]);
    float inverse = inverse_of((hi - lo) / (float)top);
    *d = hpc_f16_from_f32((hi - lo) / (float)top);
    *m = hpc_f16_from_f32(lo);
    for (int i = 0; i < UNIT; i++) {
        int v = hpc_nearest((x[i] - lo) * inverse, 0, top);
        put_nibble(q, i, v);
        if (high) put_fifth(high, i, v);
    }
}

/* The extreme element becomes -16. */
static void q5_0_pack(q5_0_block *b, const float *x)
{
    float d = extreme_of(x, UNIT) / -16, inverse = inverse_of(d);
    b->d = hpc_f16_from_f32(d);
    for (int i = 0; i < UNIT; i++) {
        int v = hpc_nearest(x[i] * inverse, -16, 15) + 16;
        put_nibble(b->q, i, v);
        put_fifth(b->high, i, v);
    }
}

static int nearest_level(float x)
{
    int best = 0;
    for (int k = 1; k < 16; k++)
        if (fabsf(x - (float)hpc_iq4_levels[k]) < fabsf(x - (float)hpc_iq4_levels[best])) best = k;
    return best;
}

static void levels_pack(uint8_t q[16], float d, const float *x)
{
    float inverse = inverse_of(d);
    for (int i = 0; i < UNIT; i++) put_nibble(q, i, nearest_level(x[i] * inverse));
}

static void iq4_nl_pack(iq4_nl_block *b, const float *x)
{
    float d = extreme_of(x, UNIT) / -127;
    b->d = hpc_f16_from_f32(d);
    levels_pack(b->q, d, x);
}

/* Scales of n parts of a block, six bits each: the extreme one becomes -32. Returns the factor. */
static float scales_pack(int *scale, const float *wish, int n)
{
    float d = hpc_f16_to_f32(hpc_f16_from_f32(extreme_of(wish, n) / -32)), inverse = inverse_of(d);
    for (int s = 0; s < n; s++) scale[s] = hpc_nearest(wish[s] * inverse, -32, 31);
    return d;
}

static void iq4_xs_pack(iq4_xs_block *b, const float *x)
{
    enum { N = SUPER / UNIT };
    float wish[N];
    int scale[N];
    for (int s = 0; s < N; s++) wish[s] = extreme_of(x + s * UNIT, UNIT) / -127;
    float d = scales_pack(scale, wish, N);
    b->d = hpc_f16_from_f32(d);
    for (int s = 0; s < N; s++) {
        int v = scale[s] + 32;
        b->scale_low[s / 2] |= (uint8_t)((v & 15) << s % 2 * 4);
        b->scale_high |= (uint16_t)(v >> 4 << 2 * s);
        levels_pack(b->q + 16 * s, d * (float)scale[s], x + s * UNIT);
    }
}

static void q3_k_pack(q3_k_block *b, const float *x)
{
    enum { N = SUPER / HALF };
    float wish[N];
    int scale[N];
    for (int s = 0; s < N; s++) wish[s] = extreme_of(x + s * HALF, HALF) / -4;
    float d = scales_pack(scale, wish, N);
    b->d = hpc_f16_from_f32(d);
    for (int s = 0; s < N; s++) {
        int v = scale[s] + 32;
        b->scale[s % 8] |= (uint8_t)((v & 15) << s / 8 * 4);
        b->scale[8 + s % 4] |= (uint8_t)(v >> 4 << s / 4 * 2);
    }
    for (int i = 0; i < SUPER; i++) {
        float inverse = inverse_of(d * (float)scale[i / HALF]);
        int v = hpc_nearest(x[i] * inverse, -4, 3) + 4;
        put_two_bits(b->q, i, v);
        b->high[i % 32] |= (uint8_t)(v >> 2 << i / 32);
    }
}

static void q2_k_pack(q2_k_block *b, const float *x)
{
    enum { N = SUPER / HALF };
    float wish[N], min[N];
    for (int s = 0; s < N; s++) {
        float lo = 0, hi = x[s * HALF];
        for (int i = s * HALF; i < s * HALF + HALF; i++) lo = fminf(lo, x[i]), hi = fmaxf(hi, x[i]);
        wish[s] = (hi - lo) / 3, min[s] = -lo;
    }
    b->d = hpc_f16_from_f32(extreme_of(wish, N) / 15);
    b->dmin = hpc_f16_from_f32(extreme_of(min, N) / 15);
    float d = hpc_f16_to_f32(b->d), dmin = hpc_f16_to_f32(b->dmin);
    for (int s = 0; s < N; s++) {
        int sc = hpc_nearest(wish[s] * inverse_of(d), 0, 15);
        int mn = hpc_nearest(min[s] * inverse_of(dmin), 0, 15);
        b->scale[s] = (uint8_t)(sc | mn << 4);
        float inverse = inverse_of(d * (float)sc), base = dmin * (float)mn;
        for (int i = s * HALF; i < s * HALF + HALF; i++)
            put_two_bits(b->q, i, hpc_nearest((x[i] + base) * inverse, 0, 3));
    }
}

void hpc_quant_pack_file(void *block, hpc_dtype to, const float *src)
{
    q4_1_block *q41 = block;
    q5_1_block *q51 = block;
    memset(block, 0, hpc_dtype_get(to)->block_bytes);
    switch (to) {
    case HPC_Q4_1: affine_pack(&q41->d, &q41->m, q41->q, NULL, src); break;
    case HPC_Q5_0: q5_0_pack(block, src); break;
    case HPC_Q5_1: affine_pack(&q51->d, &q51->m, q51->q, q51->high, src); break;
    case HPC_Q2_K: q2_k_pack(block, src); break;
    case HPC_Q3_K: q3_k_pack(block, src); break;
    case HPC_IQ4_NL: iq4_nl_pack(block, src); break;
    case HPC_IQ4_XS: iq4_xs_pack(block, src); break;
    default: hpc_assert(!"a block format");
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Where the f16 factors of a block are: at `at` and, if there are two, after it. */
static const struct {
    uint8_t at, n;
} factors[HPC_DTYPE_N] = {
    [HPC_Q8_0] = {0, 1},   [HPC_Q4_0] = {0, 1},   [HPC_Q4_K] = {0, 2},   [HPC_Q5_K] = {0, 2},
    [HPC_Q6_K] = {208, 1}, [HPC_Q4_1] = {0, 2},   [HPC_Q5_0] = {0, 1},   [HPC_Q5_1] = {0, 2},
    [HPC_Q2_K] = {80, 2},  [HPC_Q3_K] = {108, 1}, [HPC_IQ4_NL] = {0, 1}, [HPC_IQ4_XS] = {0, 1},
};

bool hpc_blocks_finite(const void *src, hpc_dtype from, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get(from);
    const uint8_t *factor = (const uint8_t *)src + factors[from].at;
    int64_t blocks = n / info->block;
    uint16_t both[2];
    bool bad = false;
    for (int64_t i = 0; i < blocks; i++, factor += info->block_bytes) {
        both[1] = 0;
        memcpy(both, factor, factors[from].n * sizeof *both);
        bad |= (both[0] & 0x7c00) == 0x7c00 || (both[1] & 0x7c00) == 0x7c00;
    }
    return !bad;
}
