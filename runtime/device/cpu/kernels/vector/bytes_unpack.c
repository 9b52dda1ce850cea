/*
 * bytes_unpack.c: block formats, sixteen columns at a time, to integers, scales
 * and minima. The formats themselves are described in quant.c.
 *
 * q4_0, q4_K and q5_K unpack to unsigned bytes where there are instructions that
 * multiply them with signed ones, and q8_0 where these add up in 32 bits (VNNI);
 * else, and q6_K, whose scales of 16 elements are multiplied in, to 16 bits.
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

/* Narrow, they count from -128. */
static inline __attribute__((always_inline)) void unpack_q8_0(unpacked *to, const bool narrow,
                                                              int u, const uint8_t *panel)
{
    uint8_t *q = to->q + u * WORDS * LINE * 2;

    widen_halves(to->scale[u], panel);
    for (int w = 0; w < WORDS && narrow; w++)
        for (int at = 0; at < LINE; at += VECTOR)
            put_word(to, true, u, w, at, word_at(panel + HALVES + at, w) ^ 0x80808080);
    for (int w = 0; w < WORDS && !narrow; w++, q += 2 * LINE)
        for (int at = 0; at < LINE; at += VECTOR) {
            vshort x = *(const vshort *)(panel + HALVES + w * LINE + at);
            *(vshort *)(q + at) = x << 8 >> 8;
            *(vshort *)(q + LINE + at) = x >> 8;
        }
}

static inline __attribute__((always_inline)) void unpack_q4_0(unpacked *to, const bool narrow,
                                                              int u, const uint8_t *panel)
{
    widen_halves(to->scale[u], panel);
    for (int w = 0; w < WORDS / 2; w++)
        for (int at = 0; at < LINE; at += VECTOR) {
            vword x = word_at(panel + HALVES + at, w);
            put_word(to, narrow, u, w, at, x & 0x0f0f0f0f);
            put_word(to, narrow, u, w + WORDS / 2, at, x >> 4 & 0x0f0f0f0f);
        }
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

int HPC_WIDTH(cpu_unpack)(unpacked *to, const uint8_t *panel, hpc_dtype b, bool narrow,
                          int64_t left)
{
    int units = (int)least(BYTES_UNITS, left);
    size_t step = hpc_dtype_get(b)->block_bytes * COLS;

    switch (b) {
    case HPC_Q8_0:
        for (int u = 0; u < units; u++) unpack_q8_0(to, narrow, u, panel + (size_t)u * step);
        break;
    case HPC_Q4_0:
        for (int u = 0; u < units; u++)
            if (narrow)
                unpack_q4_0(to, true, u, panel + (size_t)u * step);
            else
                unpack_q4_0(to, false, u, panel + (size_t)u * step);
        break;
    case HPC_Q6_K: unpack_q6_k(to, panel); break;
    default:
        if (narrow)
            unpack_q45(to, true, b == HPC_Q5_K, panel);
        else
            unpack_q45(to, false, b == HPC_Q5_K, panel);
    }
    return units;
}
