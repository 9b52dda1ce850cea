/*
 * bytes_plain.c: a row rounded to 8 bits times rows of blocks as files store them, in AVX2, for
 * matrices that are multiplied by few rows and are not worth packing. A row of blocks is read once,
 * from start to end: the scaled integer sums of its units are stored, and then added, 8 rows at a
 * time. The results have the bits of the tiles. The formats are described in quant.c and
 * quant_file.c.
 */
#include "runtime/device/cpu/kernels/bytes_unpack.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX2__)
#include <immintrin.h>

enum {
    WIDTH = 8,        /* units, and rows, of a vector */
    BLOCK_MOST = 272, /* bytes of 8 units */
    AHEAD = 4096      /* bytes: a core prefetches no further than to the end of a page */
};
_Static_assert((int)WIDTH == (int)BYTES_UNITS, "a vector has the units of a large block");

#define INLINE static inline __attribute__((always_inline))

/* The row: 8 units of it. sum: see byte_rows. */
typedef struct units {
    const uint8_t *q, *sum;
} units;

/* Bytes of a block: known when loops are compiled. */
INLINE int bytes_of(const hpc_dtype d)
{
    switch (d) {
    case HPC_Q4_1: return 20;
    case HPC_Q5_0: return 22;
    case HPC_Q5_1: return 24;
    case HPC_Q8_0: return 34;
    case HPC_Q2_K: return 84;
    case HPC_Q3_K: return 110;
    case HPC_IQ4_XS: return 136;
    case HPC_Q4_K: return 144;
    case HPC_Q5_K: return 176;
    case HPC_Q6_K: return 210;
    default: return 18; /* q4_0, iq4_nl */
    }
}

/* ---- integers of a unit ---------------------------------------------------------------------- */

/* 16 bytes: their low nibbles, then their high ones. */
INLINE __m256i nibbles_at(const uint8_t *from)
{
    const __m256i shift = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4);
    __m256i x = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)from));

    return _mm256_and_si256(_mm256_srlv_epi32(x, shift), _mm256_set1_epi8(15));
}

INLINE __m256i bytes_at(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

/* `bits` bits of each of 32 bytes, from bit `shift` on. */
INLINE __m256i bits_at(const uint8_t *from, int shift, int bits)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes_at(from), shift),
                            _mm256_set1_epi8((char)((1 << bits) - 1)));
}

INLINE __m256i shifted(__m256i x, int bits) /* bytes, nothing of which is lost */
{
    return _mm256_slli_epi16(x, bits);
}

/* Bit i of four bytes as bit 4 of byte i. */
INLINE __m256i fifth_bits(const uint8_t *from)
{
    const __m256i byte =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    int32_t word;

    memcpy(&word, from, sizeof word);
    __m256i x = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(word), byte), bit);
    return shifted(_mm256_min_epu8(x, _mm256_set1_epi8(1)), 4);
}

INLINE __m256i levels_of(__m256i nibbles)
{
    __m128i level = _mm_loadu_si128((const __m128i *)hpc_iq4_levels);

    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(level), nibbles);
}

/* Unit u of a block, or of consecutive blocks of one unit each: with an offset in q6_K, q3_K and
 * those of BYTES_OFFSET. */
INLINE __m256i integers_at(const uint8_t *block, const int u, const hpc_dtype d)
{
    const int bytes = bytes_of(d);

    switch (d) {
    case HPC_Q4_0: return nibbles_at(block + u * bytes + 2);
    case HPC_Q4_1: return nibbles_at(block + u * bytes + 4);
    case HPC_Q5_0:
        return _mm256_or_si256(nibbles_at(block + u * bytes + 6),
                               fifth_bits(block + u * bytes + 2));
    case HPC_Q5_1:
        return _mm256_or_si256(nibbles_at(block + u * bytes + 8),
                               fifth_bits(block + u * bytes + 4));
    case HPC_IQ4_NL: return levels_of(nibbles_at(block + u * bytes + 2));
    case HPC_IQ4_XS: return levels_of(nibbles_at(block + 8 + u * 16));
    case HPC_Q4_K: return bits_at(block + 16 + u / 2 * UNIT, u % 2 * 4, 4);
    case HPC_Q5_K:
        return _mm256_or_si256(bits_at(block + 48 + u / 2 * UNIT, u % 2 * 4, 4),
                               shifted(bits_at(block + 16, u, 1), 4));
    case HPC_Q6_K:
        return _mm256_or_si256(bits_at(block + (u / 4 * 2 + u % 2) * UNIT, u % 4 / 2 * 4, 4),
                               shifted(bits_at(block + 128 + u / 4 * UNIT, u % 4 * 2, 2), 4));
    case HPC_Q2_K: return bits_at(block + 16 + u / 4 * UNIT, u % 4 * 2, 2);
    case HPC_Q3_K:
        return _mm256_or_si256(bits_at(block + 32 + u / 4 * UNIT, u % 4 * 2, 2),
                               shifted(bits_at(block, u, 1), 2));
    default: return bytes_at(block + u * bytes + 2); /* q8_0 */
    }
}

/* ---- factors of 8 units ---------------------------------------------------------------------- */

INLINE __m256 half_at(const uint8_t *from)
{
    uint16_t half;

    memcpy(&half, from, sizeof half);
    return _mm256_set1_ps(_cvtsh_ss(half));
}

/* Number i of two. */
INLINE __m256 half_of_two(const uint8_t *from, const int i)
{
    int32_t word;

    memcpy(&word, from, sizeof word);
    __m128 x = _mm_cvtph_ps(_mm_cvtsi32_si128(word));
    return _mm256_broadcastss_ps(i ? _mm_movehdup_ps(x) : x);
}

/* Numbers of 16 bits, one of each of 8 blocks. */
INLINE __m256 halves_at(const uint8_t *from, const hpc_dtype d)
{
    uint16_t half[WIDTH];

    for (int u = 0; u < WIDTH; u++) memcpy(half + u, from + u * bytes_of(d), sizeof *half);
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)half));
}

INLINE __m256 floats_of(uint64_t bytes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bytes)));
}

/* 6 bits of each unit in q4_K and q5_K: of `low`, or of the upper units 4 bits of `high` from
 * `nibble` on and 2 of `low`. */
INLINE __m256 six_bits(const uint8_t *low, const uint8_t *high, const int nibble)
{
    uint32_t x, y;

    memcpy(&x, low, sizeof x);
    memcpy(&y, high, sizeof y);
    y = (y >> nibble & 0x0f0f0f0f) | (x >> 2 & 0x30303030);
    return floats_of((uint64_t)y << 32 | (x & 0x3f3f3f3f));
}

/* 6 bits of each unit in iq4_xs: 4 of the second operand and 2 of the first, less 32. */
INLINE __m256 six_bits_apart(const uint8_t *high, const uint8_t *low)
{
    const __m256i two = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
    uint16_t x;
    int32_t y;

    memcpy(&x, high, sizeof x);
    memcpy(&y, low, sizeof y);
    __m256i h =
        _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(x), two), _mm256_set1_epi32(3));
    __m256i l = _mm256_srlv_epi32(_mm256_set1_epi32(y), _mm256_add_epi32(two, two));
    l = _mm256_or_si256(_mm256_and_si256(l, _mm256_set1_epi32(15)), _mm256_slli_epi32(h, 4));
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(l, _mm256_set1_epi32(32)));
}

INLINE __m256 scales_of(const uint8_t *block, const hpc_dtype d)
{
    switch (d) {
    case HPC_Q4_K:
    case HPC_Q5_K: return _mm256_mul_ps(half_of_two(block, 0), six_bits(block + 4, block + 12, 0));
    case HPC_IQ4_XS: return _mm256_mul_ps(half_at(block), six_bits_apart(block + 2, block + 4));
    case HPC_Q6_K: return half_at(block + 208);
    case HPC_Q2_K: return half_of_two(block + 80, 0);
    case HPC_Q3_K: return half_at(block + 108);
    default: return halves_at(block, d);
    }
}

INLINE __m256 negated(__m256 x)
{
    return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f));
}

INLINE __m256 minima_of(const uint8_t *block, const hpc_dtype d)
{
    switch (d) {
    case HPC_Q4_1: return negated(halves_at(block + 2, d));
    case HPC_Q5_1: return negated(halves_at(block + 2, d));
    case HPC_Q2_K: return half_of_two(block + 80, 1);
    default: return _mm256_mul_ps(half_of_two(block, 1), six_bits(block + 8, block + 12, 4));
    }
}

/* Integer scales of the halves of each unit, as 16 bits. */
INLINE __m256i half_scales_of(const uint8_t *block, const hpc_dtype d)
{
    const __m128i four = _mm_set1_epi8(15);
    __m128i x;
    uint32_t top;

    if (d == HPC_Q2_K) {
        x = _mm_and_si128(_mm_loadu_si128((const __m128i *)block), four);
    } else if (d == HPC_Q3_K) {
        memcpy(&top, block + 104, sizeof top);
        x = _mm_loadl_epi64((const __m128i *)(block + 96));
        x = _mm_and_si128(_mm_unpacklo_epi64(x, _mm_srli_epi16(x, 4)), four);
        __m128i high = _mm_srlv_epi32(_mm_set1_epi32((int32_t)top), _mm_setr_epi32(0, 2, 4, 6));
        high = _mm_slli_epi16(_mm_and_si128(high, _mm_set1_epi8(3)), 4);
        x = _mm_sub_epi8(_mm_or_si128(x, high), _mm_set1_epi8(32));
    } else { /* q6_K: first halves, then second ones */
        const __m128i apart = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
        x = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 192)), apart);
    }
    return _mm256_cvtepi8_epi16(x);
}

INLINE __m256i half_minima_of(const uint8_t *block)
{
    __m128i x = _mm_srli_epi16(_mm_loadu_si128((const __m128i *)block), 4);

    return _mm256_cvtepi8_epi16(_mm_and_si128(x, _mm_set1_epi8(15)));
}

/* ---- sums of 8 units ------------------------------------------------------------------------- */

/* Four sums of each 128 bits of two vectors become two, alternating. */
INLINE __m256i fold32(__m256i a, __m256i b)
{
    return _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}

INLINE __m256i fold64(__m256i a, __m256i b)
{
    return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

/* The sum of each of 8 vectors of 32 bits. */
INLINE __m256i total(const __m256i x[WIDTH])
{
    __m256i a = fold64(fold32(x[0], x[1]), fold32(x[2], x[3]));
    __m256i b = fold64(fold32(x[4], x[5]), fold32(x[6], x[7]));

    return _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                            _mm256_permute2x128_si256(a, b, 0x31));
}

INLINE __m256i fold16(__m256i a, __m256i b)
{
    return _mm256_add_epi16(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
}

INLINE __m256i fold16by2(__m256i a, __m256i b)
{
    return _mm256_add_epi16(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}

INLINE __m256i fold16by4(__m256i a, __m256i b)
{
    return _mm256_add_epi16(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

/* The sums of both halves of each of 8 vectors of 16 bits: as pairs. */
INLINE __m256i half_totals(const __m256i x[WIDTH])
{
    __m256i a = fold16by2(fold16(x[0], x[1]), fold16(x[2], x[3]));
    __m256i b = fold16by2(fold16(x[4], x[5]), fold16(x[6], x[7]));

    a = fold16by4(a, b);
    __m128i low = _mm256_castsi256_si128(a), high = _mm256_extracti128_si256(a, 1);
    return _mm256_set_m128i(_mm_unpackhi_epi16(low, high), _mm_unpacklo_epi16(low, high));
}

/* The sum of each of 8 vectors of 16 bits, if half a sum fits in these. */
INLINE __m256i total16(const __m256i x[WIDTH])
{
    const __m256i pairs = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    __m256i a = fold16by2(fold16(x[0], x[1]), fold16(x[2], x[3]));
    __m256i b = fold16by2(fold16(x[4], x[5]), fold16(x[6], x[7]));

    a = _mm256_add_epi16(_mm256_permute2x128_si256(a, b, 0x20),
                         _mm256_permute2x128_si256(a, b, 0x31));
    return _mm256_madd_epi16(_mm256_shuffle_epi8(a, pairs), _mm256_set1_epi16(1));
}

/* Products of bytes, added in pairs. */
INLINE __m256i products(__m256i b, __m256i x, const hpc_dtype d)
{
    if (formats[d].form == BYTES_SIGNED) /* signs go to the row */
        return _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(x, b));
    __m256i p = _mm256_maddubs_epi16(b, x);
    if (d == HPC_Q6_K) p = _mm256_sub_epi16(p, _mm256_maddubs_epi16(_mm256_set1_epi8(32), x));
    return p;
}

/* The scales of the halves of unit u of q6_K, for each pair of its elements. */
INLINE __m256i scales_at(__m256i scales, const int u)
{
    return _mm256_shuffle_epi8(scales, _mm256_set1_epi16((int16_t)((2 * u + 1) << 8 | 2 * u)));
}

/* Integer sums of 8 units; integers below 16 add up in 16 bits for half a unit. */
INLINE __m256i dots_of(const uint8_t *block, const units *row, const hpc_dtype d)
{
    const bool halves = d == HPC_Q2_K || d == HPC_Q3_K;
    const bool small = halves || formats[d].top == 15;
    __m256i x[WIDTH], scale = _mm256_set1_epi16(1), sum = bytes_at(row->sum);

    if (halves || d == HPC_Q6_K) scale = half_scales_of(block, d);
#pragma GCC unroll 8
    for (int u = 0; u < WIDTH; u++) {
        x[u] = products(integers_at(block, u, d), bytes_at(row->q + u * UNIT), d);
        if (!small) x[u] = _mm256_madd_epi16(x[u], d == HPC_Q6_K ? scales_at(scale, u) : scale);
    }
    __m256i dot = halves ? _mm256_madd_epi16(half_totals(x), scale) : small ? total16(x) : total(x);
    if (formats[d].form == BYTES_OFFSET) dot = _mm256_add_epi32(dot, sum);
    if (d == HPC_Q3_K)
        dot = _mm256_sub_epi32(dot, _mm256_slli_epi32(_mm256_madd_epi16(scale, sum), 2));
    return dot;
}

/* ---- rows of blocks -------------------------------------------------------------------------- */

/* The sum of 8 units, before the row's scale. */
INLINE __m256 terms_of(const uint8_t *block, const units *row, const hpc_dtype d)
{
    __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(dots_of(block, row, d)), scales_of(block, d));
    __m256i sum = bytes_at(row->sum);

    if (formats[d].form == BYTES_MIN)
        x = _mm256_fnmadd_ps(minima_of(block, d), _mm256_castsi256_ps(sum), x);
    if (formats[d].form == BYTES_HALF_MIN) {
        __m256i less = _mm256_madd_epi16(half_minima_of(block), sum);
        x = _mm256_fnmadd_ps(minima_of(block, d), _mm256_cvtepi32_ps(less), x);
    }
    return x;
}

/* The last units, fewer than 8: of formats whose blocks have one. */
INLINE void last_terms(float *term, const units *row, const uint8_t *block, int64_t n,
                       const hpc_dtype d)
{
    uint8_t q[WIDTH * UNIT] = {0}, sum[WIDTH * sizeof(float)] = {0}, padded[BLOCK_MOST] = {0};

    memcpy(q, row->q, (size_t)n * UNIT);
    memcpy(sum, row->sum, (size_t)n * sizeof(float));
    memcpy(padded, block, (size_t)(n * bytes_of(d)));
    _mm256_storeu_ps(term, terms_of(padded, &(units){q, sum}, d));
}

INLINE void row_terms(float *term, const byte_rows *a, const uint8_t *block, const hpc_dtype d)
{
    const bool large = bytes_of(d) > bytes_of(HPC_Q8_0);
    const int bytes = large ? bytes_of(d) : WIDTH * bytes_of(d);
    int64_t n = a->k / UNIT, u = 0;
    units row = {a->q, a->sum};

    for (; u + WIDTH <= n; u += WIDTH, block += bytes) {
#pragma GCC unroll 5
        for (int at = 0; at < bytes; at += 64) __builtin_prefetch(block + AHEAD + at);
        _mm256_storeu_ps(term + u, terms_of(block, &row, d));
        row.q += WIDTH * UNIT, row.sum += WIDTH * sizeof(float);
    }
    if (u < n) last_terms(term + u, &row, block, n - u, d);
}

/* The type is known in each call. */
static void row_terms_by_type(float *term, const byte_rows *a, const uint8_t *block, hpc_dtype d)
{
    switch (d) {
    case HPC_Q8_0: row_terms(term, a, block, HPC_Q8_0); break;
    case HPC_Q4_0: row_terms(term, a, block, HPC_Q4_0); break;
    case HPC_Q4_K: row_terms(term, a, block, HPC_Q4_K); break;
    case HPC_Q5_K: row_terms(term, a, block, HPC_Q5_K); break;
    case HPC_Q6_K: row_terms(term, a, block, HPC_Q6_K); break;
    case HPC_Q4_1: row_terms(term, a, block, HPC_Q4_1); break;
    case HPC_Q5_0: row_terms(term, a, block, HPC_Q5_0); break;
    case HPC_Q5_1: row_terms(term, a, block, HPC_Q5_1); break;
    case HPC_Q2_K: row_terms(term, a, block, HPC_Q2_K); break;
    case HPC_Q3_K: row_terms(term, a, block, HPC_Q3_K); break;
    case HPC_IQ4_NL: row_terms(term, a, block, HPC_IQ4_NL); break;
    case HPC_IQ4_XS: row_terms(term, a, block, HPC_IQ4_XS); break;
    default: hpc_assert(!"a block format");
    }
}

/* ---- their sums ------------------------------------------------------------------------------ */

/* Rows of 8 become columns. */
INLINE void transpose(__m256 x[WIDTH])
{
    __m256 y[WIDTH];

    for (int i = 0; i < WIDTH; i += 2) {
        y[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
        y[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
    }
    for (int i = 0; i < WIDTH; i += 4)
        for (int h = 0; h < 2; h++) {
            x[i + 2 * h] = _mm256_shuffle_ps(y[i + h], y[i + h + 2], 0x44);
            x[i + 2 * h + 1] = _mm256_shuffle_ps(y[i + h], y[i + h + 2], 0xee);
        }
    for (int i = 0; i < 4; i++) {
        y[i] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x20);
        y[i + 4] = _mm256_permute2f128_ps(x[i], x[i + 4], 0x31);
    }
    for (int i = 0; i < WIDTH; i++) x[i] = y[i];
}

/* c[8]: sums of n <= 8 rows of terms, `apart` from each other, in ascending order of units. */
static void add_terms(float *c, const float *term, int64_t apart, int64_t n, const byte_rows *a)
{
    int64_t all = a->k / UNIT;
    __m256 y = _mm256_setzero_ps();

    for (int64_t u = 0; u < all; u += WIDTH) {
        int64_t units_n = least(WIDTH, all - u);
        __m256 x[WIDTH];
        for (int r = 0; r < WIDTH; r++) x[r] = _mm256_loadu_ps(term + least(r, n - 1) * apart + u);
        transpose(x);
        for (int i = 0; i < units_n; i++)
            y = _mm256_fmadd_ps(x[i], _mm256_set1_ps(a->scale[u + i]), y);
    }
    _mm256_storeu_ps(c, y);
}

void HPC_WIDTH(cpu_bytes_plain)(float *c, const byte_rows *a, const uint8_t *rows, hpc_dtype b,
                                int64_t n, float *term)
{
    const hpc_dtype_info *info = hpc_dtype_get(b);
    int64_t apart = bytes_terms(a->k);
    size_t bytes = (size_t)(a->k / info->block) * info->block_bytes;

    for (int64_t r = 0; r < n; r++) row_terms_by_type(term + r * apart, a, rows + r * bytes, b);
    for (int64_t r = 0; r < n; r += WIDTH)
        add_terms(c + r, term + r * apart, apart, least(WIDTH, n - r), a);
}

#else

void HPC_WIDTH(cpu_bytes_plain)(float *c, const byte_rows *a, const uint8_t *rows, hpc_dtype b,
                                int64_t n, float *term)
{
    (void)c, (void)a, (void)rows, (void)b, (void)n, (void)term;
    hpc_assert(!"with AVX2 only");
}

#endif
