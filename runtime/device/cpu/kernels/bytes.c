/*
 * bytes.c: rows rounded to 8 bits, panels of block formats unpacked a few units
 * at a time, and register tiles of integer products.
 *
 * q4_0, q4_K and q5_K unpack to unsigned bytes where there are instructions that
 * multiply them with signed ones (their products are so small that sums of
 * several stay below 2^15); q8_0 and q6_K, whose scales of 16 elements are
 * multiplied in, to 16 bits.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/bytes.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum {
    COLS = BYTES_COLS,
    UNIT = BYTES_UNIT,
    WORDS = UNIT / 4, /* of 4 bytes in a unit */
    PAIRS = UNIT / 2
};

/* Units of a panel: of four bytes of a word of a column, 16 bits are kept in the order 0, 2, 1, 3,
 * as two pairs; q is [unit][word][16][4] bytes, or [unit][pair][16][2] of 16 bits. */
typedef struct unpacked {
    _Alignas(64) uint8_t q[BYTES_UNITS * UNIT * COLS * 2];
    float scale[BYTES_UNITS][COLS], min[BYTES_UNITS][COLS];
} unpacked;

_Static_assert(sizeof(unpacked) <= BYTES_SPARE, "what a worker sets aside");

bool HPC_ISA(cpu_bytes_narrow)(hpc_dtype b)
{
#if defined(__AVX2__)
    return b == HPC_Q4_0 || b == HPC_Q4_K || b == HPC_Q5_K;
#else
    (void)b;
    return false;
#endif
}

static bool has_min(hpc_dtype b)
{
    return b == HPC_Q4_0 || b == HPC_Q4_K || b == HPC_Q5_K;
}

/* ---- rows ------------------------------------------------------------------- */

/* The largest magnitude becomes 127. What is not finite gives a scale that is not. */
static void round_unit(int16_t *restrict q, float *scale, float *sum, const float *restrict x)
{
    uint32_t most = 0;
    int32_t all = 0;

    for (int i = 0; i < UNIT; i++) {
        uint32_t size = hpc_f32_bits(x[i]) & 0x7fffffff;
        most = size > most ? size : most;
    }
    float top = hpc_bits_f32(most), inverse = top > 0 && top < INFINITY ? 127 / top : 0;
    for (int i = 0; i < UNIT; i++) {
        float v = rintf(x[i] * inverse);
        q[i] = (int16_t)(v >= -127 ? v <= 127 ? v : 127 : -127);
    }
    for (int i = 0; i < UNIT; i++) all += q[i];
    *scale = top / 127;
    *sum = (float)all;
}

/* The order in which 16 bits are multiplied: see unpacked. */
static void put_pairs(int16_t *restrict to, const int16_t *restrict q)
{
    for (int w = 0; w < UNIT; w += 4) {
        to[w] = q[w];
        to[w + 1] = q[w + 2];
        to[w + 2] = q[w + 1];
        to[w + 3] = q[w + 3];
    }
}

void HPC_ISA(cpu_bytes_round)(const byte_rows *to, const hpc_tensor *a, bool narrow, int64_t lo,
                              int64_t hi)
{
    for (int64_t u = lo; u < hi; u++) {
        float buffer[UNIT];
        int16_t q[UNIT];
        round_unit(q, to->scale + u, to->sum + u, load(buffer, a, u * UNIT, UNIT));
        if (narrow)
            for (int i = 0; i < UNIT; i++) ((int8_t *)to->q)[u * UNIT + i] = (int8_t)q[i];
        else
            put_pairs((int16_t *)to->q + u * UNIT, q);
    }
}

/* ---- columns ------------------------------------------------------------------ */

/* A vector has a word of 4 bytes of each of some columns. */
#if defined(__AVX512F__)
enum { VECTOR = 64 };
#elif defined(__AVX2__)
enum { VECTOR = 32 };
#else
enum { VECTOR = 16 };
#endif
enum { LINE = 4 * COLS, HALVES = 2 * COLS }; /* bytes of a word, and of 16 bits, of all columns */

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

static void unpack_q8_0(unpacked *to, int u, const uint8_t *panel)
{
    uint8_t *q = to->q + u * WORDS * LINE * 2;

    widen_halves(to->scale[u], panel);
    for (int w = 0; w < WORDS; w++, q += 2 * LINE)
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
    for (int c = 0; c < COLS; c++) to->min[u][c] = 8 * to->scale[u][c];
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
static void unpack_scales(unpacked *to, const uint8_t *panel)
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

    unpack_scales(to, panel);
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

/* How many units there are from `panel` on, at most BYTES_UNITS of `left`. */
static int unpack(unpacked *to, const uint8_t *panel, hpc_dtype b, bool narrow, int64_t left)
{
    int units = (int)least(BYTES_UNITS, left);
    size_t step = hpc_dtype_get(b)->block_bytes * COLS;

    switch (b) {
    case HPC_Q8_0:
        for (int u = 0; u < units; u++) unpack_q8_0(to, u, panel + (size_t)u * step);
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

/* ---- tiles ------------------------------------------------------------------------ */

#if defined(__AVX2__)

typedef __m256i pair256[2]; /* of 16 columns */

/* Into a register: as an operand in memory it would be loaded for each row again. */
static inline __attribute__((always_inline)) __m256i loaded(const uint8_t *at)
{
    __m256i x = _mm256_load_si256((const __m256i *)at);

    __asm__("" : "+x"(x));
    return x;
}

static inline __attribute__((always_inline)) __m256i splat4(const void *at)
{
    int32_t x;

    memcpy(&x, at, sizeof x);
    return _mm256_set1_epi32(x);
}

/* *sum += x where it is, and in the order in which they are written: else compilers fetch all rows
 * first, and run out of registers. */
static inline __attribute__((always_inline)) void add32(__m256i *sum, __m256i x)
{
    __asm__ volatile("vpaddd %1, %0, %0" : "+x"(*sum) : "x"(x));
}

static inline __attribute__((always_inline)) void add16(__m256i *sum, __m256i x)
{
    __asm__ volatile("vpaddw %1, %0, %0" : "+x"(*sum) : "x"(x));
}

/* Sums of 16 bits: of 2 products each, of at most 15 (or 31) by 127, 8 (or 4) times. */
static inline __attribute__((always_inline)) void dots_narrow(pair256 *sum, const uint8_t *q,
                                                              const int8_t *a, int64_t ld,
                                                              const int rows, const int times)
{
    const __m256i ones = _mm256_set1_epi16(1);

    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    for (int part = 0; part < WORDS; part += times) {
        pair256 s[BYTES_ROWS];
        for (int i = 0; i < rows; i++) s[i][0] = s[i][1] = _mm256_setzero_si256();
        for (int w = part; w < part + times; w++) {
            __m256i b0 = loaded(q + w * 64);
            __m256i b1 = loaded(q + w * 64 + 32);
            for (int i = 0; i < rows; i++) {
                __m256i x = splat4(a + i * ld + 4 * w);
                add16(&s[i][0], _mm256_maddubs_epi16(b0, x));
                add16(&s[i][1], _mm256_maddubs_epi16(b1, x));
            }
        }
        for (int i = 0; i < rows; i++)
            for (int h = 0; h < 2; h++)
                sum[i][h] = _mm256_add_epi32(sum[i][h], _mm256_madd_epi16(s[i][h], ones));
    }
}

static inline __attribute__((always_inline)) void
dots_wide(pair256 *sum, const uint8_t *q, const int16_t *a, int64_t ld, const int rows)
{
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    for (int p = 0; p < PAIRS; p++) {
        __m256i b0 = loaded(q + p * 64);
        __m256i b1 = loaded(q + p * 64 + 32);
        for (int i = 0; i < rows; i++) {
            __m256i x = splat4(a + i * ld + 2 * p);
            add32(&sum[i][0], _mm256_madd_epi16(b0, x));
            add32(&sum[i][1], _mm256_madd_epi16(b1, x));
        }
    }
}

/* Rows of c [rows,16] go on by the units of b; a, scale and sum are the first row's. */
static inline __attribute__((always_inline)) void tile_rows(float *restrict c, const byte_rows *a,
                                                            const unpacked *b, int units,
                                                            hpc_dtype type, bool narrow,
                                                            const int rows)
{
    int64_t ld = a->k / UNIT;

    for (int u = 0; u < units; u++) {
        pair256 sum[BYTES_ROWS];
        if (!narrow)
            dots_wide(sum, b->q + u * UNIT * COLS * 2, (const int16_t *)a->q + u * UNIT, a->k,
                      rows);
        else if (type == HPC_Q5_K)
            dots_narrow(sum, b->q + u * UNIT * COLS, (const int8_t *)a->q + u * UNIT, a->k, rows,
                        WORDS / 2);
        else
            dots_narrow(sum, b->q + u * UNIT * COLS, (const int8_t *)a->q + u * UNIT, a->k, rows,
                        WORDS);
        for (int i = 0; i < rows; i++)
            for (int h = 0; h < 2; h++) {
                __m256 x = _mm256_cvtepi32_ps(sum[i][h]),
                       old = _mm256_loadu_ps(c + i * COLS + 8 * h);
                x = _mm256_mul_ps(x, _mm256_load_ps(b->scale[u] + 8 * h));
                if (has_min(type))
                    x = _mm256_fnmadd_ps(_mm256_load_ps(b->min[u] + 8 * h),
                                         _mm256_set1_ps(a->sum[i * ld + u]), x);
                x = _mm256_fmadd_ps(x, _mm256_set1_ps(a->scale[i * ld + u]), old);
                _mm256_storeu_ps(c + i * COLS + 8 * h, x);
            }
    }
}

static inline __attribute__((always_inline)) void tile_of(float *c, const byte_rows *a,
                                                          const unpacked *b, int units,
                                                          hpc_dtype type, bool narrow, int rows)
{
    switch (rows) {
    case 1: tile_rows(c, a, b, units, type, narrow, 1); break;
    case 2: tile_rows(c, a, b, units, type, narrow, 2); break;
    case 3: tile_rows(c, a, b, units, type, narrow, 3); break;
    case 4: tile_rows(c, a, b, units, type, narrow, 4); break;
    case 5: tile_rows(c, a, b, units, type, narrow, 5); break;
    default: tile_rows(c, a, b, units, type, narrow, 6); break;
    }
}

static void tile(float *c, const byte_rows *a, const unpacked *b, int units, hpc_dtype type,
                 int rows)
{
    switch (type) {
    case HPC_Q8_0: tile_of(c, a, b, units, HPC_Q8_0, false, rows); break;
    case HPC_Q6_K: tile_of(c, a, b, units, HPC_Q6_K, false, rows); break;
    case HPC_Q4_0:
    case HPC_Q4_K: tile_of(c, a, b, units, HPC_Q4_K, true, rows); break;
    default: tile_of(c, a, b, units, HPC_Q5_K, true, rows);
    }
}

#else

static void tile(float *c, const byte_rows *a, const unpacked *b, int units, hpc_dtype type,
                 int rows)
{
    for (int i = 0; i < rows; i++, c += COLS)
        for (int u = 0; u < units; u++) {
            const int16_t *q = (const int16_t *)b->q + u * UNIT * COLS;
            const int16_t *x = (const int16_t *)a->q + i * a->k + u * UNIT;
            int64_t at = i * (a->k / UNIT) + u;
            int32_t sum[COLS] = {0};
            for (int p = 0; p < PAIRS; p++)
                for (int e = 0; e < COLS; e++)
                    sum[e] +=
                        q[(p * COLS + e) * 2] * x[2 * p] + q[(p * COLS + e) * 2 + 1] * x[2 * p + 1];
            for (int e = 0; e < COLS; e++) {
                float v = b->scale[u][e] * (float)sum[e];
                if (has_min(type)) v -= b->min[u][e] * a->sum[at];
                c[e] += a->scale[at] * v;
            }
        }
}

#endif

/* ---- the product --------------------------------------------------------------------- */

void HPC_ISA(cpu_bytes)(float *c, const byte_rows *a, int64_t i, int64_t rows, const void *panel,
                        hpc_dtype b, void *spare)
{
    const hpc_dtype_info *info = hpc_dtype_get(b);
    bool narrow = HPC_ISA(cpu_bytes_narrow)(b);
    int64_t units = a->k / UNIT, size = narrow ? 1 : 2;
    unpacked *to = spare;

    memset(c, 0, (size_t)(rows * COLS) * sizeof *c);
    for (int64_t u = 0; u < units; u += BYTES_UNITS) {
        const uint8_t *at =
            (const uint8_t *)panel + (size_t)(u * UNIT / info->block) * info->block_bytes * COLS;
        int n = unpack(to, at, b, narrow, units - u);
        for (int64_t r = 0; r < rows; r += BYTES_ROWS) {
            int64_t first = (i + r) * units + u;
            byte_rows part = {.q = (char *)a->q + first * UNIT * size,
                              .scale = a->scale + first,
                              .sum = a->sum + first,
                              .k = a->k};
            tile(c + r * COLS, &part, to, n, b, (int)least(BYTES_ROWS, rows - r));
        }
    }
}
