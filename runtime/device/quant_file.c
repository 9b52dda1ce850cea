/*
 * quant_file.c: block formats that only files have: q4_1, q5_0, q5_1, q2_K, q3_K, iq4_nl and
 * iq4_xs. Unpacks them exactly, and converts them to the formats that ops take.
 *
 * q5_0 and iq4_nl are q8_0 with fewer levels, and q3_K is q6_K with fewer: these conversions keep
 * the factor and every value. The steps of q8_0 are a sixteenth of those of q4_1 and less of those
 * of q2_K, but an eighth of those of q5_1, which becomes f16.
 */
#include "runtime/device/priv.h"

enum { SUPER = 256, UNIT = 32, Q8_BYTES = 34 };

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

typedef struct q8_block {
    uint16_t d;
    int8_t q[UNIT];
} q8_block;

typedef struct q6_block { /* see quant.c */
    uint8_t low[128], high[64];
    int8_t scale[16];
    uint16_t d;
} q6_block;

_Static_assert(sizeof(q4_1_block) == 20 && sizeof(q5_0_block) == 22, "block layout");
_Static_assert(sizeof(q5_1_block) == 24 && sizeof(q2_k_block) == 84, "block layout");
_Static_assert(sizeof(q3_k_block) == 110 && sizeof(iq4_nl_block) == 18, "block layout");
_Static_assert(sizeof(iq4_xs_block) == 136 && sizeof(q8_block) == Q8_BYTES, "block layout");
_Static_assert(sizeof(q6_block) == 210, "block layout");

static const int8_t levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

/* ---- integers of a block --------------------------------------------------------------------- */

static int fifth_bit(const uint8_t high[4], int i)
{
    return (high[i / 8] >> i % 8 & 1) << 4;
}

static int nibble(const uint8_t q[16], int i)
{
    return i < 16 ? q[i] & 15 : q[i - 16] >> 4;
}

static int q5_0_at(const q5_0_block *b, int i)
{
    return (nibble(b->q, i) | fifth_bit(b->high, i)) - 16;
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

static void affine_unpack(float *dst, uint16_t d, uint16_t m, const uint8_t *q, const uint8_t *high)
{
    float unit = hpc_f16_to_f32(d), base = hpc_f16_to_f32(m);
    for (int i = 0; i < UNIT; i++) {
        int v = nibble(q, i) | (high ? fifth_bit(high, i) : 0);
        dst[i] = unit * (float)v + base;
    }
}

static void q5_0_unpack(float *dst, const q5_0_block *b)
{
    float d = hpc_f16_to_f32(b->d);
    for (int i = 0; i < UNIT; i++) dst[i] = d * (float)q5_0_at(b, i);
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
    for (int i = 0; i < UNIT; i++) dst[i] = d * (float)levels[nibble(q, i)];
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

/* ---- to the formats that ops take ------------------------------------------------------------ */

static void q5_0_hold(q8_block *to, const q5_0_block *b)
{
    to->d = b->d;
    for (int i = 0; i < UNIT; i++) to->q[i] = (int8_t)q5_0_at(b, i);
}

static void levels_hold(q8_block *to, uint16_t d, const uint8_t q[16])
{
    to->d = d;
    for (int i = 0; i < UNIT; i++) to->q[i] = levels[nibble(q, i)];
}

static void iq4_xs_hold(q8_block to[SUPER / UNIT], const iq4_xs_block *b)
{
    float d = hpc_f16_to_f32(b->d);
    for (int s = 0; s < SUPER / UNIT; s++)
        levels_hold(&to[s], hpc_f16_from_f32(d * (float)iq4_xs_scale(b, s)), b->q + 16 * s);
}

static void q3_k_hold(q6_block *to, const q3_k_block *b)
{
    memset(to, 0, sizeof *to);
    to->d = b->d;
    for (int s = 0; s < 16; s++) to->scale[s] = (int8_t)q3_k_scale(b->scale, s);
    for (int i = 0; i < SUPER; i++) {
        int q = q3_k_at(b, i) + 32, half = i / 128, quarter = i % 128 / 32, l = i % 32;
        to->low[half * 64 + quarter % 2 * 32 + l] |= (uint8_t)((q & 15) << quarter / 2 * 4);
        to->high[half * 32 + l] |= (uint8_t)(q >> 4 << 2 * quarter);
    }
}

static void block_hold(void *to, const void *block, hpc_dtype from)
{
    const hpc_dtype_info *info = hpc_dtype_get(from);
    const iq4_nl_block *nl = block;
    float x[SUPER];
    switch (from) {
    case HPC_Q5_0: q5_0_hold(to, block); break;
    case HPC_Q3_K: q3_k_hold(to, block); break;
    case HPC_IQ4_NL: levels_hold(to, nl->d, nl->q); break;
    case HPC_IQ4_XS: iq4_xs_hold(to, block); break;
    default: hpc_quant_unpack_file(x, block, from); hpc_from_f32(to, info->held, x, info->block);
    }
}

void hpc_hold_blocks(void *dst, const void *src, hpc_dtype from, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get(from), *held = hpc_dtype_get(info->held);
    size_t step = (size_t)(info->block / held->block) * held->block_bytes;
    const uint8_t *block = src;
    uint8_t *to = dst;
    hpc_assert(info->quantised && n % info->block == 0);
    for (int64_t i = 0; i < n; i += info->block, block += info->block_bytes, to += step)
        block_hold(to, block, from);
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
