/*
 * words_tile.c: register tiles of products in pack units of 32 bits along k: AVX-512 vectors or AMX
 * tiles, and pairs of 16 bits on other instruction sets.
 */
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "runtime/device/cpu/kernels/lanes.h"
#include "runtime/device/cpu/kernels/pairs.h"
#include "runtime/device/cpu/kernels/tiles.h"
#include "runtime/device/cpu/kernels/words.h"

#if defined(__AMX_BF16__)

void HPC_ISA(cpu_words_begin)(void)
{
    tiles_begin();
}

void HPC_ISA(cpu_words_end)(void)
{
    tiles_end();
}

int HPC_ISA(cpu_words_height)(int64_t rows)
{
    (void)rows;
    return WORD_ROWS;
}

static inline __attribute__((always_inline)) void multiply(const word_tile *t, const bool integers)
{
    for (int64_t p = 0; p < t->words; p += GEMM_WORD_STEP) {
        _tile_loadd(4, t->a + 4 * p, (size_t)t->a_ld);
        _tile_loadd(6, t->b[0] + p * GEMM_PANEL, 64);
        _tile_loadd(7, t->b[1] + p * GEMM_PANEL, 64);
        if (integers) {
            _tile_dpbssd(0, 4, 6);
            _tile_dpbssd(1, 4, 7);
        } else {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        }
        _tile_loadd(5, t->a + 16 * t->a_ld + 4 * p, (size_t)t->a_ld);
        if (integers) {
            _tile_dpbssd(2, 5, 6);
            _tile_dpbssd(3, 5, 7);
        } else {
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
}

void HPC_ISA(cpu_words_tile)(float *c, int64_t c_ld, const word_tile *t, int rows)
{
    size_t c_bytes = (size_t)c_ld * sizeof *c;
    float *low = c + 16 * c_ld;

    (void)rows;
    if (t->add) {
        _tile_loadd(0, c, c_bytes);
        _tile_loadd(1, c + 16, c_bytes);
        _tile_loadd(2, low, c_bytes);
        _tile_loadd(3, low + 16, c_bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    if (t->integers)
        multiply(t, true);
    else
        multiply(t, false);
    _tile_stored(0, c, c_bytes);
    _tile_stored(1, c + 16, c_bytes);
    _tile_stored(2, low, c_bytes);
    _tile_stored(3, low + 16, c_bytes);
}

#else

/* ---- a vector of words ---------------------------------------------------------------------- */

enum { VECTORS = WORD_COLS / LANES };

typedef int32_t lanes __attribute__((vector_size(LANE_BYTES), may_alias));
typedef int32_t loose_lanes __attribute__((vector_size(LANE_BYTES), may_alias, aligned(4)));
typedef uint32_t wrapping_lanes __attribute__((vector_size(LANE_BYTES), may_alias));

static inline __attribute__((always_inline)) lanes splat_word(const void *at)
{
    int32_t x;

    memcpy(&x, at, sizeof x);
    return x - (lanes){0};
}

/* sum + what is multiplied of the integers of a and b, word by word: of b what words.h says. */
static inline __attribute__((always_inline)) lanes add_products(lanes sum, lanes a, lanes b)
{
#if defined(__AVX512VNNI__)
    return (lanes)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)b, (__m512i)a);
#elif defined(__AVX512BW__)
    return sum + (lanes)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return sum + (lanes)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return sum + (lanes)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    return sum + (a >> 16) * (b >> 16) + (a << 16 >> 16) * (b << 16 >> 16);
#endif
}

/* ---- the tile ------------------------------------------------------------------------------- */

/* What loops over sums is unrolled at once: else gcc 12 may keep them in memory. */
static inline __attribute__((always_inline)) void integer_rows(float *restrict c, int64_t c_ld,
                                                               const word_tile *t, const int rows)
{
    const char *a = t->a, *ahead = t->ahead;
    const uint32_t *b0 = t->b[0], *b1 = t->b[1];
    lanes acc[WORD_ROWS][VECTORS];

#pragma GCC unroll 24
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < VECTORS; v++) {
            acc[i][v] = (lanes){0};
            if (t->add) acc[i][v] = *(const loose_lanes *)(c + i * c_ld + v * LANES);
        }
#pragma GCC unroll 4
    for (int64_t p = 0; p < t->words; p++) {
        lanes x[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            const uint32_t *from = v * LANES < GEMM_PANEL ? b0 : b1;
            x[v] = *(const lanes *)(from + p * GEMM_PANEL + v * LANES % GEMM_PANEL);
        }
        if (rows == WORD_ROWS) __builtin_prefetch(ahead + p * WORD_AHEAD, 0, 2);
#pragma GCC unroll 24
        for (int i = 0; i < rows; i++) {
            lanes s = splat_word(a + i * t->a_ld + 4 * p);
            for (int v = 0; v < VECTORS; v++) acc[i][v] = add_products(acc[i][v], s, x[v]);
        }
    }
#pragma GCC unroll 24
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < VECTORS; v++) {
            wrapping_lanes sum = (wrapping_lanes)acc[i][v]; /* it wraps before its start is in it */
            if (WORD_OFFSET != 0) sum += (wrapping_lanes)splat_word(t->start + i);
            *(loose_lanes *)(c + i * c_ld + v * LANES) = (lanes)sum;
        }
}

#if defined(__AVX512BF16__)
/* The same of bf16, with sums of their own type: gcc 12 does not keep vectors that change theirs in
 * registers. */
static inline __attribute__((always_inline)) void pair_rows(float *restrict c, int64_t c_ld,
                                                            const word_tile *t, const int rows)
{
    const char *a = t->a, *ahead = t->ahead;
    const uint32_t *b0 = t->b[0], *b1 = t->b[1];
    __m512 acc[WORD_ROWS][2];

#pragma GCC unroll 24
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < 2; q++)
            acc[i][q] =
                t->add ? _mm512_loadu_ps(c + i * c_ld + q * GEMM_PANEL) : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int64_t p = 0; p < t->words; p++) {
        __m512bh x0 = (__m512bh)_mm512_load_si512(b0 + p * GEMM_PANEL);
        __m512bh x1 = (__m512bh)_mm512_load_si512(b1 + p * GEMM_PANEL);
        if (rows == WORD_ROWS) __builtin_prefetch(ahead + p * WORD_AHEAD, 0, 2);
#pragma GCC unroll 24
        for (int i = 0; i < rows; i++) {
            int32_t pair;
            memcpy(&pair, a + i * t->a_ld + 4 * p, sizeof pair);
            __m512bh s = (__m512bh)_mm512_set1_epi32(pair);
            acc[i][0] = _mm512_dpbf16_ps(acc[i][0], s, x0);
            acc[i][1] = _mm512_dpbf16_ps(acc[i][1], s, x1);
        }
    }
#pragma GCC unroll 24
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < 2; q++) _mm512_storeu_ps(c + i * c_ld + q * GEMM_PANEL, acc[i][q]);
}
#elif defined(__AVX512VNNI__)
/* The same of blocks: of each, sums of integers, scaled and added to those of f32 before it, which
 * stay in L1. Rows are always packed. */
static inline __attribute__((always_inline)) void pair_rows(float *restrict c, int64_t c_ld,
                                                            const word_tile *t, const int rows)
{
    enum { STEPS = GEMM_FIXED_WORDS - 1 };
    _Alignas(64) float sums[WORD_ROWS * WORD_COLS];
    const float *a = (const float *)(const void *)t->a;
    const uint32_t *b0 = t->b[0], *b1 = t->b[1];
    const char *ahead = t->ahead;

    for (int i = 0; i < rows; i++)
        for (int q = 0; q < WORD_COLS; q += GEMM_PANEL)
            _mm512_store_ps(sums + i * WORD_COLS + q,
                            t->add ? _mm512_loadu_ps(c + i * c_ld + q) : _mm512_setzero_ps());
    for (int64_t p = 0; p < t->words; p += GEMM_FIXED_WORDS) {
        lanes acc[WORD_ROWS][2];

#pragma GCC unroll 24
        for (int i = 0; i < rows; i++) acc[i][0] = acc[i][1] = (lanes){0};
#pragma GCC unroll 2
        for (int w = 0; w < STEPS; w++) {
            __m512i x0 = _mm512_load_si512(b0), x1 = _mm512_load_si512(b1);
            if (rows == WORD_ROWS) __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 24
            for (int i = 0; i < rows; i++) {
                __m512i s = (__m512i)splat_word(a + i * WORD_LD);
                acc[i][0] = (lanes)_mm512_dpwssd_epi32((__m512i)acc[i][0], x0, s);
                acc[i][1] = (lanes)_mm512_dpwssd_epi32((__m512i)acc[i][1], x1, s);
            }
            a++, ahead += WORD_AHEAD;
            b0 += GEMM_PANEL, b1 += GEMM_PANEL;
        }
        __m512 s0 = _mm512_load_ps(b0), s1 = _mm512_load_ps(b1);
#pragma GCC unroll 24
        for (int i = 0; i < rows; i++) {
            float *sum = sums + i * WORD_COLS;
            __m512 scale = _mm512_set1_ps(a[i * WORD_LD]);
            __m512 y0 = _mm512_cvtepi32_ps((__m512i)acc[i][0]);
            __m512 y1 = _mm512_cvtepi32_ps((__m512i)acc[i][1]);
            y0 = _mm512_fmadd_ps(y0, _mm512_mul_ps(s0, scale), _mm512_load_ps(sum));
            y1 = _mm512_fmadd_ps(y1, _mm512_mul_ps(s1, scale), _mm512_load_ps(sum + GEMM_PANEL));
            _mm512_store_ps(sum, y0);
            _mm512_store_ps(sum + GEMM_PANEL, y1);
        }
        a++, ahead += WORD_AHEAD;
        b0 += GEMM_PANEL, b1 += GEMM_PANEL;
    }
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < WORD_COLS; q += GEMM_PANEL)
            _mm512_storeu_ps(c + i * c_ld + q, _mm512_load_ps(sums + i * WORD_COLS + q));
}
#else
#define pair_rows integer_rows /* this instruction set has no separate loop for pairs */
#endif

static inline __attribute__((always_inline)) void tile_rows(float *c, int64_t c_ld,
                                                            const word_tile *t, const int rows)
{
    if (t->integers)
        integer_rows(c, c_ld, t, rows);
    else
        pair_rows(c, c_ld, t, rows);
}

void HPC_ISA(cpu_words_tile)(float *c, int64_t c_ld, const word_tile *t, int rows)
{
    switch (rows) {
    case 1: tile_rows(c, c_ld, t, 1); break;
    case 2: tile_rows(c, c_ld, t, 2); break;
#if defined(__AVX2__)
    case 4: tile_rows(c, c_ld, t, 4); break;
#endif
#if defined(__AVX512BW__)
    case 8: tile_rows(c, c_ld, t, 8); break;
#endif
    default: tile_rows(c, c_ld, t, WORD_ROWS); break;
    }
}

int HPC_ISA(cpu_words_height)(int64_t rows)
{
    for (int n = 1; n < WORD_ROWS; n *= 2)
        if (rows <= n) return n;
    return WORD_ROWS;
}

void HPC_ISA(cpu_words_begin)(void) {}

void HPC_ISA(cpu_words_end)(void) {}

#endif

void HPC_ISA(cpu_words_start)(int32_t *start, const char *a, int64_t a_ld, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++) {
        const int8_t *x = (const int8_t *)(a + r * a_ld);
        int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t p = 0; p < 4 * n; p++) sum += x[p];
        start[r] = -WORD_OFFSET * sum;
    }
}
