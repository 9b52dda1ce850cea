/*
 * bytes_unpack.c: block formats, sixteen columns at a time, to integers, scales and minima. The
 * formats themselves are described in quant.c and quant_file.c.
 *
 * Unsigned integers are bytes where there are instructions that multiply them with signed ones, and
 * signed integers where these add up in 32 bits (VNNI). Else they have 16 bits, as have those of
 * q6_K and q3_K, which are multiplied by the scales of 16 elements.
 */
#include "runtime/device/cpu/kernels/bytes_unpack.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* A vector has a word of 4 bytes of each of some columns. */
#if defined(__AVX512F__)
enum { VECTOR = 64 };
#elif defined(__AVX2__)
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif
typedef uint32_t vword __attribute__((vector_size(VECTOR), aligned(4), may_alias));
typedef int32_t vint __attribute__((vector_size(VECTOR)));
typedef int16_t vshort __attribute__((vector_size(VECTOR), aligned(4), may_alias));
typedef float vfloat __attribute__((vector_size(VECTOR), aligned(4), may_alias));

static inline __attribute__((always_inline)) vword word_at(const uint8_t *panel, int w)
{
    return *(const vword *)(panel + w * LINE);
}

static void widen_halves(float *restrict to, const uint8_t *from)
{
    uint16_t half[COLS];

    memcpy(half, from, sizeof half);
#if defined(__F16C__)
    for (int c = 0; c < COLS; c += 8)
        _mm256_storeu_ps(to + c, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(half + c))));
#else
    for (int c = 0; c < COLS; c++) to[c] = hpc_f16_to_f32(half[c]);
#endif
}

/* Four numbers below 256 of each column, as word w of unit u. `at`: bytes to the vector's columns,
 * in a line. */
static inline __attribute__((always_inline)) void put_word(unpacked *to, const bool narrow, int u,
                                                           int w, int at, vword x)
{
    uint8_t *q = to->q + at + (u * WORDS + w) * LINE * (narrow ? 1 : 2);

    if (narrow) {
        *(vword *)q = x;
    } else {
        *(vword *)q = x & 0x00ff00ff;
        *(vword *)(q + LINE) = x >> 8 & 0x00ff00ff;
    }
}

/* The same of numbers from -128 to 127. Narrow, they count from -128. */
static inline __attribute__((always_inline)) void put_signed(unpacked *to, const bool narrow, int u,
                                                             int w, int at, vword x)
{
    uint8_t *q = to->q + at + (u * WORDS + w) * LINE * 2;

    if (narrow) {
        put_word(to, true, u, w, at, x ^ 0x80808080);
    } else {
        *(vshort *)q = (vshort)x << 8 >> 8;
        *(vshort *)(q + LINE) = (vshort)x >> 8;
    }
}

static inline __attribute__((always_inline)) void unpack_q8_0(unpacked *to, const bool narrow,
                                                              int u, const uint8_t *panel)
{
    widen_halves(to->scale[u], panel);
    for (int w = 0; w < WORDS; w++)
        for (int at = 0; at < LINE; at += VECTOR)
            put_signed(to, narrow, u, w, at, word_at(panel + HALVES + at, w));
}

/* The four low bits of x, as bit 4 of the four bytes. */
static inline __attribute__((always_inline)) vword fifth_bits(vword x)
{
    x &= 15;
    x |= x << 14;
    x |= x << 7;
    return (x & 0x01010101) << 4;
}

/* Levels of iq4_nl and iq4_xs, by bytes below 16. */
static inline __attribute__((always_inline)) vword levels_of(vword x)
{
    const int8_t *level = hpc_iq4_levels;

#if defined(__AVX512F__)
    __m512i table = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)level));
    return (vword)_mm512_shuffle_epi8(table, (__m512i)x);
#elif defined(__AVX2__)
    __m256i table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)level));
    return (vword)_mm256_shuffle_epi8(table, (__m256i)x);
#else
    uint8_t byte[VECTOR];
    memcpy(byte, &x, sizeof byte);
    for (int i = 0; i < VECTOR; i++) byte[i] = (uint8_t)level[byte[i]];
    memcpy(&x, byte, sizeof byte);
    return x;
#endif
}

/* The layout of a unit's integers in formats with a nibble for each. */
typedef enum nibbles { PLAIN_NIBBLES, FIFTH_BITS, LEVELS } nibbles;

/* Unit u: low nibbles, then high ones, of four words, with fifth bits in a word before them. */
static inline __attribute__((always_inline)) void
put_nibbles(unpacked *to, const bool narrow, const nibbles kind, int u, const uint8_t *lines)
{
    const uint8_t *q = kind == FIFTH_BITS ? lines + LINE : lines;

    for (int w = 0; w < WORDS / 2; w++)
        for (int at = 0; at < LINE; at += VECTOR) {
            vword x = word_at(q + at, w), low = x & 0x0f0f0f0f, high = x >> 4 & 0x0f0f0f0f;
            if (kind == FIFTH_BITS) {
                vword fifths = word_at(lines + at, 0) >> 4 * w;
                low |= fifth_bits(fifths), high |= fifth_bits(fifths >> 16);
            }
            if (kind == LEVELS) {
                put_signed(to, narrow, u, w, at, levels_of(low));
                put_signed(to, narrow, u, w + WORDS / 2, at, levels_of(high));
            } else {
                put_word(to, narrow, u, w, at, low);
                put_word(to, narrow, u, w + WORDS / 2, at, high);
            }
        }
}

/* A block of one unit, with a minimum (what is added to it, with the other sign) if it has two
 * numbers. */
static inline __attribute__((always_inline)) void unpack_unit(unpacked *to, const bool narrow,
                                                              const nibbles kind, const bool min,
                                                              int u, const uint8_t *panel)
{
    widen_halves(to->scale[u], panel);
    if (min) widen_halves(to->min[u], panel + HALVES);
    for (int c = 0; c < COLS && min; c++) to->min[u][c] = -to->min[u][c];
    put_nibbles(to, narrow, kind, u, panel + (min ? 2 : 1) * HALVES);
}

static inline __attribute__((always_inline)) void put_scale(float *to, int at, const float *d,
                                                            vword x)
{
    vfloat unit = *(const vfloat *)((const char *)d + at);

    *(vfloat *)((char *)to + at) = unit * __builtin_convertvector((vint)x, vfloat);
}

/* Scales and minima of the 8 units of a block of q4_K or q5_K: see quant.c. */
void HPC_WIDTH(cpu_unpack_scales)(unpacked *to, const uint8_t *panel)
{
    float d[COLS], dmin[COLS];

    widen_halves(d, panel);
    widen_halves(dmin, panel + HALVES);
    for (int at = 0; at < LINE; at += VECTOR) {
        vword s = word_at(panel + 2 * HALVES + at, 0), m = word_at(panel + 2 * HALVES + at, 1);
        vword t = word_at(panel + 2 * HALVES + at, 2);
        for (int u = 0; u < 4; u++, s >>= 8, m >>= 8, t >>= 8) {
            put_scale(to->scale[u], at, d, s & 63);
            put_scale(to->min[u], at, dmin, m & 63);
            put_scale(to->scale[u + 4], at, d, (t & 15) | (s >> 6 & 3) << 4);
            put_scale(to->min[u + 4], at, dmin, (t >> 4 & 15) | (m >> 6 & 3) << 4);
        }
    }
}

static inline __attribute__((always_inline)) void unpack_q45(unpacked *to, const bool narrow,
                                                             const bool fifth, const uint8_t *panel)
{
    const uint8_t *high = panel + 2 * HALVES + 3 * LINE, *q = fifth ? high + WORDS * LINE : high;

    HPC_WIDTH(cpu_unpack_scales)(to, panel);
    for (int at = 0; at < LINE; at += VECTOR)
        for (int w = 0; w < WORDS; w++) {
            vword h = {0};
            if (fifth) h = word_at(high + at, w);
            for (int u = 0; u < BYTES_UNITS; u += 2, h >>= 2) {
                vword x = word_at(q + at, u / 2 * WORDS + w);
                vword even = x & 0x0f0f0f0f, odd = x >> 4 & 0x0f0f0f0f;
                if (fifth) even |= (h & 0x01010101) << 4, odd |= (h >> 1 & 0x01010101) << 4;
                put_word(to, narrow, u, w, at, even);
                put_word(to, narrow, u + 1, w, at, odd);
            }
        }
}

/* Byte `byte` of the words of scales, twice in each column's 32 bits. */
static inline __attribute__((always_inline)) vshort scale16(const uint8_t *scales, int byte)
{
    vint s = (vint)(word_at(scales, byte / 4) << (24 - byte % 4 * 8)) >> 24;

    return (vshort)((s & 0xffff) | s << 16);
}

static void unpack_q6_k(unpacked *to, const uint8_t *panel)
{
    const uint8_t *low = panel + HALVES, *high = low + 32 * LINE, *scales = high + 16 * LINE;

    widen_halves(to->scale[0], panel);
    for (int u = 1; u < BYTES_UNITS; u++) memcpy(to->scale[u], to->scale[0], sizeof to->scale[u]);
    for (int at = 0; at < LINE; at += VECTOR)
        for (int u = 0; u < BYTES_UNITS; u++) {
            uint8_t *q = to->q + at + u * WORDS * LINE * 2;
            int half = u / 4, b = u % 4;
            vshort scale = scale16(scales + at, 2 * u);
            for (int w = 0; w < WORDS; w++, q += 2 * LINE) {
                vword x = word_at(low + at, (2 * half + b % 2) * WORDS + w) >> b / 2 * 4;
                vword h = word_at(high + at, half * WORDS + w) >> 2 * b;
                if (w == WORDS / 2) scale = scale16(scales + at, 2 * u + 1);
                x = (x & 0x0f0f0f0f) | (h & 0x03030303) << 4;
                *(vshort *)q = ((vshort)(x & 0x00ff00ff) - 32) * scale;
                *(vshort *)(q + LINE) = ((vshort)(x >> 8 & 0x00ff00ff) - 32) * scale;
            }
        }
}

/* ---- q2_K, q3_K, iq4_xs ------------------------------------------------------------ */

/* Bytes 0 and 1 of x, or 2 and 3, as 16 bits, less `bias`. */
static inline __attribute__((always_inline)) void put_pair(int16_t (*to)[2], int at, vword x,
                                                           int half, int bias)
{
    x >>= 16 * half;
    *(vshort *)((char *)to + at) = (vshort)((x & 0xff) | (x & 0xff00) << 8) - (int16_t)bias;
}

static void q2_k_factors(unpacked *to, const uint8_t *panel)
{
    const uint8_t *scales = panel + 2 * HALVES;

    for (int u = 0; u < BYTES_UNITS; u++) {
        widen_halves(to->scale[u], panel);
        widen_halves(to->min[u], panel + HALVES);
        for (int at = 0; at < LINE; at += VECTOR) {
            vword x = word_at(scales + at, u / 2);
            put_pair(to->half_scale[u], at, x & 0x0f0f0f0f, u % 2, 0);
            put_pair(to->half_min[u], at, x >> 4 & 0x0f0f0f0f, u % 2, 0);
        }
    }
}

/* Four scales of a word: nibbles of one of two words, and two bits each of a third. */
static void q3_k_factors(unpacked *to, const uint8_t *panel)
{
    const uint8_t *scales = panel + HALVES + 3 * WORDS * LINE;

    for (int u = 0; u < BYTES_UNITS; u++) {
        int four = u / 2;
        widen_halves(to->scale[u], panel);
        for (int at = 0; at < LINE; at += VECTOR) {
            vword x = word_at(scales + at, four % 2) >> four / 2 * 4 & 0x0f0f0f0f;
            x |= (word_at(scales + at, 2) >> 2 * four & 0x03030303) << 4;
            put_pair(to->half_scale[u], at, x, u % 2, 32);
        }
    }
}

static void iq4_xs_factors(unpacked *to, const uint8_t *panel)
{
    const uint8_t *low = panel + 2 * HALVES;
    float d[COLS];
    uint16_t half[COLS];
    uint32_t high[COLS];

    widen_halves(d, panel);
    memcpy(half, panel + HALVES, sizeof half);
    for (int c = 0; c < COLS; c++) high[c] = half[c];
    for (int u = 0; u < BYTES_UNITS; u++)
        for (int at = 0; at < LINE; at += VECTOR) {
            vword top = *(const vword *)((const char *)high + at) >> 2 * u & 3;
            put_scale(to->scale[u], at, d, ((word_at(low + at, 0) >> 4 * u & 15) | top << 4) - 32);
        }
}

void HPC_WIDTH(cpu_unpack_factors)(unpacked *to, const uint8_t *panel, hpc_dtype b)
{
    switch (b) {
    case HPC_Q2_K: q2_k_factors(to, panel); break;
    case HPC_Q3_K: q3_k_factors(to, panel); break;
    default: iq4_xs_factors(to, panel);
    }
}

/* The scale of one half of a unit, twice in each column's 32 bits. */
static inline __attribute__((always_inline)) vshort half_scale(const unpacked *b, int u, int half,
                                                               int at)
{
    vword x = *(const vword *)((const char *)b->half_scale[u] + at);

    return (vshort)(half ? x >> 16 | (x & 0xffff0000) : (x & 0xffff) | x << 16);
}

/* Products with scales below 16 stay in their bytes. */
static inline __attribute__((always_inline)) void unpack_q2_k(unpacked *to, const bool narrow,
                                                              const uint8_t *panel)
{
    const uint8_t *q = panel + 2 * HALVES + BYTES_UNITS / 2 * LINE;

    q2_k_factors(to, panel);
    for (int at = 0; at < LINE; at += VECTOR)
        for (int u = 0; u < BYTES_UNITS; u++)
            for (int w = 0; w < WORDS; w++) {
                vword x = word_at(q + at, u / 4 * WORDS + w) >> u % 4 * 2 & 0x03030303;
                vshort scale = half_scale(to, u, w / (WORDS / 2), at);
                put_word(to, narrow, u, w, at, (vword)((vshort)x * scale));
            }
}

static void unpack_q3_k(unpacked *to, const uint8_t *panel)
{
    const uint8_t *high = panel + HALVES, *low = high + WORDS * LINE;

    q3_k_factors(to, panel);
    for (int at = 0; at < LINE; at += VECTOR)
        for (int u = 0; u < BYTES_UNITS; u++)
            for (int w = 0; w < WORDS; w++) {
                uint8_t *q = to->q + at + (u * WORDS + w) * LINE * 2;
                vword x = word_at(low + at, u / 4 * WORDS + w) >> u % 4 * 2 & 0x03030303;
                vshort scale = half_scale(to, u, w / (WORDS / 2), at);
                x |= (word_at(high + at, w) >> u & 0x01010101) << 2;
                *(vshort *)q = ((vshort)(x & 0x00ff00ff) - 4) * scale;
                *(vshort *)(q + LINE) = ((vshort)(x >> 8 & 0x00ff00ff) - 4) * scale;
            }
}

static inline __attribute__((always_inline)) void unpack_iq4_xs(unpacked *to, const bool narrow,
                                                                const uint8_t *panel)
{
    const uint8_t *lines = panel + 2 * HALVES + LINE;

    iq4_xs_factors(to, panel);
    for (int u = 0; u < BYTES_UNITS; u++, lines += WORDS / 2 * LINE)
        put_nibbles(to, narrow, LEVELS, u, lines);
}

/* ---- all of them ------------------------------------------------------------------- */

/* `narrow` is known in each call. */
static inline __attribute__((always_inline)) void
unpack_units(unpacked *to, const uint8_t *panel, hpc_dtype b, const bool narrow, int units)
{
    size_t step = hpc_dtype_get(b)->block_bytes * COLS;

    for (int u = 0; u < units; u++, panel += step) switch (b)
        {
        case HPC_Q8_0: unpack_q8_0(to, narrow, u, panel); break;
        case HPC_Q4_0: unpack_unit(to, narrow, PLAIN_NIBBLES, false, u, panel); break;
        case HPC_Q4_1: unpack_unit(to, narrow, PLAIN_NIBBLES, true, u, panel); break;
        case HPC_Q5_0: unpack_unit(to, narrow, FIFTH_BITS, false, u, panel); break;
        case HPC_Q5_1: unpack_unit(to, narrow, FIFTH_BITS, true, u, panel); break;
        default: unpack_unit(to, narrow, LEVELS, false, u, panel);
        }
}

static inline __attribute__((always_inline)) void unpack_block(unpacked *to, const uint8_t *panel,
                                                               hpc_dtype b, const bool narrow)
{
    switch (b) {
    case HPC_Q6_K: unpack_q6_k(to, panel); break;
    case HPC_Q2_K: unpack_q2_k(to, narrow, panel); break;
    case HPC_Q3_K: unpack_q3_k(to, panel); break;
    case HPC_IQ4_XS: unpack_iq4_xs(to, narrow, panel); break;
    default: unpack_q45(to, narrow, b == HPC_Q5_K, panel);
    }
}

int HPC_WIDTH(cpu_unpack)(unpacked *to, const uint8_t *panel, hpc_dtype b, bool narrow,
                          int64_t left)
{
    int units = (int)least(BYTES_UNITS, left);
    bool of_units = hpc_dtype_get(b)->block == UNIT;

    if (of_units && narrow)
        unpack_units(to, panel, b, true, units);
    else if (of_units)
        unpack_units(to, panel, b, false, units);
    else if (narrow)
        unpack_block(to, panel, b, true);
    else
        unpack_block(to, panel, b, false);
    return units;
}
