/*
 * bytes_row.c: single rows times stored columns in the formats of quant_file.c, in AVX2 and
 * AVX-512 VNNI. The results have the bits of the tiles. Rows of other formats have loops of their
 * own in bytes_avx2.c and bytes_vnni.c.
 */
#include "runtime/device/cpu/kernels/bytes_tile.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX2__)
#include <immintrin.h>

/* ---- vectors: a pack unit of each of some columns ---------------------------------------------
 */

#if defined(__AVX512VNNI__)
enum { VECTOR = 64 };
#else
enum { VECTOR = 32 };
#endif
enum { VECTORS = LINE / VECTOR, VECTOR_COLS = VECTOR / 4 };
typedef uint32_t vword __attribute__((vector_size(VECTOR), aligned(4), may_alias));
typedef int32_t vint __attribute__((vector_size(VECTOR), aligned(4), may_alias));
typedef int16_t vshort __attribute__((vector_size(VECTOR), aligned(2), may_alias));
typedef float vfloat __attribute__((vector_size(VECTOR), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* Word w of the columns of vector v. */
INLINE vword word_at(const uint8_t *lines, int w, int v)
{
    return *(const vword *)(lines + w * LINE + v * VECTOR);
}

INLINE vword splat4(const void *at)
{
    uint32_t x;

    memcpy(&x, at, sizeof x);
    return x - (vword){0};
}

#if defined(__AVX512VNNI__)

typedef vint sums; /* of products, in each column */

/* Adds the products of four unsigned bytes and four signed ones. */
INLINE sums add_products(sums s, vword b, vword x)
{
    return (sums)_mm512_dpbusd_epi32((__m512i)s, (__m512i)b, (__m512i)x);
}

INLINE vint sums_end(sums s)
{
    return s;
}

/* Adds the products of levels, by bytes below 16. `zero` has subtracted their offset of 128. */
INLINE vint add_levels(vint s, vword b, vword x)
{
    __m512i level = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)hpc_iq4_levels));

    level = _mm512_xor_si512(level, _mm512_set1_epi8(-128));
    return add_products(s, (vword)_mm512_shuffle_epi8(level, (__m512i)b), x);
}

INLINE vint add_pairs(vint s, vshort a, vshort b)
{
    return s + (vint)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}

/* Bit 4 of byte i of each column is set where bit 4 w + i of the column's word is. */
INLINE vword fifth_bits(vword b, vword bits, const int w)
{
    const __m128i first = _mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    __m128i from = _mm_add_epi8(first, _mm_set1_epi8((char)(w / 2)));
    __m512i byte = _mm512_shuffle_epi8((__m512i)bits, _mm512_broadcast_i32x4(from));
    __m512i bit = _mm512_set1_epi32((int)(w % 2 ? 0x80402010 : 0x08040201));

    return (vword)_mm512_mask_add_epi8((__m512i)b, _mm512_test_epi8_mask(byte, bit), (__m512i)b,
                                       _mm512_set1_epi8(16));
}

INLINE vfloat widen_halves(const uint8_t *from)
{
    return (vfloat)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

#else

typedef vshort sums; /* of products, twice in each column: at most 4 of 31 by 127 */

INLINE sums add_products(sums s, vword b, vword x)
{
    return s + (vshort)_mm256_maddubs_epi16((__m256i)b, (__m256i)x);
}

INLINE vint sums_end(sums s)
{
    return (vint)_mm256_madd_epi16((__m256i)s, _mm256_set1_epi16(1));
}

/* Signs go to the row: two products of at most 127 fit. */
INLINE vint add_levels(vint s, vword b, vword x)
{
    __m256i level = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)hpc_iq4_levels));
    __m256i y = _mm256_shuffle_epi8(level, (__m256i)b);
    __m256i p = _mm256_maddubs_epi16(_mm256_abs_epi8(y), _mm256_sign_epi8((__m256i)x, y));

    return s + (vint)_mm256_madd_epi16(p, _mm256_set1_epi16(1));
}

INLINE vint add_pairs(vint s, vshort a, vshort b)
{
    return s + (vint)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}

INLINE vword fifth_bits(vword b, vword bits, const int w)
{
    const __m128i first = _mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);
    __m128i from = _mm_add_epi8(first, _mm_set1_epi8((char)(w / 2)));
    __m256i byte = _mm256_shuffle_epi8((__m256i)bits, _mm256_broadcastsi128_si256(from));
    __m256i bit = _mm256_set1_epi32((int)(w % 2 ? 0x80402010 : 0x08040201));

    byte = _mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit);
    return b | ((vword)byte & 0x10101010);
}

INLINE vfloat widen_halves(const uint8_t *from)
{
    return (vfloat)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

#endif

/* x - a b, and x + a b, rounded once. */
INLINE vfloat less_product(vfloat x, vfloat a, vfloat b)
{
#if defined(__AVX512VNNI__)
    return (vfloat)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)x);
#else
    return (vfloat)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)x);
#endif
}

INLINE vfloat plus_product(vfloat x, vfloat a, vfloat b)
{
#if defined(__AVX512VNNI__)
    return (vfloat)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)x);
#else
    return (vfloat)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)x);
#endif
}

INLINE vfloat to_float(vint x)
{
    return __builtin_convertvector(x, vfloat);
}

INLINE vfloat splat_float(float x)
{
    return x - (vfloat){0};
}

/* ---- units of nibbles --------------------------------------------------------------------------
 */

/* A unit's integers: low nibbles, then high ones, of four words, times the unit q of the row. */
INLINE vint dot_nibbles(vint start, const uint8_t *lines, const uint8_t *fifths, const uint8_t *q,
                        int v)
{
    sums low = {0}, high = {0};
    vword bits = {0};

    if (fifths) bits = word_at(fifths, 0, v);
#pragma GCC unroll 4
    for (int w = 0; w < WORDS / 2; w++) {
        vword x = word_at(lines, w, v), y = x >> 4 & 0x0f0f0f0f;
        x &= 0x0f0f0f0f;
        if (fifths) x = fifth_bits(x, bits, w), y = fifth_bits(y, bits, w + WORDS / 2);
        low = add_products(low, x, splat4(q + 4 * w));
        high = add_products(high, y, splat4(q + UNIT / 2 + 4 * w));
    }
    return start + sums_end(low) + sums_end(high);
}

INLINE vint dot_levels(vint start, const uint8_t *lines, const uint8_t *q, int v)
{
    vint high = {0};

#pragma GCC unroll 4
    for (int w = 0; w < WORDS / 2; w++) {
        vword x = word_at(lines, w, v);
        start = add_levels(start, x & 0x0f0f0f0f, splat4(q + 4 * w));
        high = add_levels(high, x >> 4 & 0x0f0f0f0f, splat4(q + UNIT / 2 + 4 * w));
    }
    return start + high;
}

/* Initial sum of a unit: minus the contribution of the integers' offset. */
INLINE vint start_at(const byte_tile *a, int64_t u, const format f)
{
    return zero_of(f) ? (vint)splat4((const int32_t *)a->sum + u) : (vint){0};
}

/* Blocks of one unit. */
INLINE void row_units(vfloat y[VECTORS], const byte_tile *a, const uint8_t *panel, int64_t units,
                      const hpc_dtype b)
{
    const format f = formats[b];
    const bool has_min = f.form == BYTES_MIN, has_fifths = f.top == 31;
    const int numbers = has_min ? 2 : 1, lines_n = WORDS / 2 + (has_fifths ? 1 : 0);
    const uint8_t *q = a->q;

    for (int64_t u = 0; u < units; u++, q += UNIT, panel += numbers * HALVES + lines_n * LINE) {
        const uint8_t *fifths = panel + numbers * HALVES;
        const uint8_t *lines = has_fifths ? fifths + LINE : fifths;
        fetch(a, panel, lines_n, numbers, 0, 1, false);
        for (int v = 0; v < VECTORS; v++) {
            vint dot = start_at(a, u, f);
            if (f.form == BYTES_SIGNED)
                dot = dot_levels(dot, lines, q, v);
            else
                dot = dot_nibbles(dot, lines, has_fifths ? fifths : NULL, q, v);
            vfloat x = to_float(dot) * widen_halves(panel + v * VECTOR / 2);
            if (has_min)
                x = less_product(x, -widen_halves(panel + HALVES + v * VECTOR / 2),
                                 splat_float(((const float *)a->sum)[u]));
            y[v] = plus_product(y[v], x, splat_float(a->scale[u]));
        }
    }
}

static void row_iq4_xs(vfloat y[VECTORS], const byte_tile *a, const uint8_t *panel, int64_t units,
                       unpacked *spare)
{
    const uint8_t *q = a->q, *lines = panel + 2 * HALVES + LINE;

    for (int64_t u = 0; u < units; u++, q += UNIT, lines += WORDS / 2 * LINE) {
        int in = (int)(u % BYTES_UNITS);
        if (in == 0 && u > 0) panel = lines, lines += 2 * HALVES + LINE;
        if (in == 0) HPC_WIDTH(cpu_unpack_factors)(spare, panel, HPC_IQ4_XS);
        fetch(a, lines, WORDS / 2, 0, 0, 1, false);
        for (int v = 0; v < VECTORS; v++) {
            vint dot = dot_levels(start_at(a, u, formats[HPC_IQ4_XS]), lines, q, v);
            vfloat x = to_float(dot) * *(const vfloat *)&spare->scale[in][v * VECTOR_COLS];
            y[v] = plus_product(y[v], x, splat_float(a->scale[u]));
        }
    }
}

/* ---- units whose halves have scales ------------------------------------------------------------
 */

/* Unit `in` of a block: two bits, and if `high` a third, of each integer. Sums of the halves, as
 * pairs of 16 bits. */
INLINE vshort dot_halves(const uint8_t *low, const uint8_t *high, const uint8_t *q, int in, int v)
{
    vint half[2];

    low += in / 4 * WORDS * LINE;
#pragma GCC unroll 2
    for (int h = 0; h < 2; h++) {
        sums s = {0};
#pragma GCC unroll 4
        for (int w = h * WORDS / 2; w < (h + 1) * WORDS / 2; w++) {
            vword x = word_at(low, w, v) >> in % 4 * 2 & 0x03030303;
            if (high) x |= (word_at(high, w, v) >> in & 0x01010101) << 2;
            s = add_products(s, x, splat4(q + 4 * w));
        }
        half[h] = sums_end(s);
    }
    return (vshort)((half[0] & 0xffff) | half[1] << 16);
}

/* q2_K, or q3_K if there is a third bit: then integers count from 4. */
INLINE void row_halves(vfloat y[VECTORS], const byte_tile *a, const uint8_t *panel, int64_t units,
                       unpacked *spare, const bool third)
{
    const int numbers = third ? 1 : 2, lines_n = third ? 3 * WORDS + 3 : 2 * WORDS + 4;
    const uint8_t *q = a->q;

    for (int64_t u = 0; u < units; u++, q += UNIT) {
        int in = (int)(u % BYTES_UNITS);
        const uint8_t *high = panel + numbers * HALVES;
        const uint8_t *low = high + (third ? WORDS : BYTES_UNITS / 2) * LINE;
        vshort sum = (vshort)splat4((const int32_t *)a->sum + u);
        if (in == 0) HPC_WIDTH(cpu_unpack_factors)(spare, panel, third ? HPC_Q3_K : HPC_Q2_K);
        if (in % 2 == 0) fetch(a, panel, lines_n, numbers, in / 2, 4, false);
        for (int v = 0; v < VECTORS; v++) {
            vshort dot = dot_halves(low, third ? high : NULL, q, in, v);
            if (third) dot -= 4 * sum;
            vshort scale = *(const vshort *)spare->half_scale[in][v * VECTOR_COLS];
            vfloat x = to_float(add_pairs((vint){0}, dot, scale));
            x *= *(const vfloat *)&spare->scale[in][v * VECTOR_COLS];
            if (!third) {
                vshort min = *(const vshort *)spare->half_min[in][v * VECTOR_COLS];
                x = less_product(x, *(const vfloat *)&spare->min[in][v * VECTOR_COLS],
                                 to_float(add_pairs((vint){0}, min, sum)));
            }
            y[v] = plus_product(y[v], x, splat_float(a->scale[u]));
        }
        if (in == BYTES_UNITS - 1) panel += numbers * HALVES + lines_n * LINE;
    }
}

void HPC_ISA(cpu_bytes_row_file)(float *c, const byte_tile *a, const uint8_t *panel, hpc_dtype b,
                                 int64_t units, unpacked *spare)
{
    vfloat y[VECTORS] = {{0}};

    switch (b) {
    case HPC_Q4_1: row_units(y, a, panel, units, HPC_Q4_1); break;
    case HPC_Q5_0: row_units(y, a, panel, units, HPC_Q5_0); break;
    case HPC_Q5_1: row_units(y, a, panel, units, HPC_Q5_1); break;
    case HPC_IQ4_NL: row_units(y, a, panel, units, HPC_IQ4_NL); break;
    case HPC_IQ4_XS: row_iq4_xs(y, a, panel, units, spare); break;
    case HPC_Q2_K: row_halves(y, a, panel, units, spare, false); break;
    case HPC_Q3_K: row_halves(y, a, panel, units, spare, true); break;
    default: hpc_assert(!"a format of quant_file.c");
    }
    memcpy(c, y, sizeof y);
}

#endif
