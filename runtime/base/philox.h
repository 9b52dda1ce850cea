/*
 * philox.h: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011) for many counters at once, to be compiled
 * for whatever instructions its includer has: the bits are the same.
 *
 * Work goes through short arrays, one lane of each per loop, so that plain loops
 * become vector code.
 */
#ifndef HPC_PHILOX_H
#define HPC_PHILOX_H

#include <string.h>

#include "runtime/base/base.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { PHILOX_ROUNDS = 10, PHILOX_LANES = 4, PHILOX_GROUP = 16 /* blocks drawn at once */ };

/* Element j of all four words is one block; its counter comes in and its bits go out. A
 * constant n lets the inner loop unroll and vectorise. */
__attribute__((always_inline)) static inline void philox(uint32_t word[PHILOX_LANES][PHILOX_GROUP],
                                                         int n, uint64_t seed)
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        for (int j = 0; j < n; j++) {
            uint64_t a = (uint64_t)word[0][j] * 0xd2511f53u;
            uint64_t b = (uint64_t)word[2][j] * 0xcd9e8d57u;
            word[0][j] = (uint32_t)(b >> 32) ^ word[1][j] ^ key0;
            word[1][j] = (uint32_t)b;
            word[2][j] = (uint32_t)(a >> 32) ^ word[3][j] ^ key1;
            word[3][j] = (uint32_t)a;
        }
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
}

typedef struct philox_stream {
    uint64_t seed;
    uint32_t tensor, step;
} philox_stream;

__attribute__((always_inline)) static inline void
philox_draw(uint32_t word[PHILOX_LANES][PHILOX_GROUP], int n, const philox_stream *s,
            uint64_t block)
{
    for (int j = 0; j < n; j++) {
        word[0][j] = (uint32_t)(block + (uint64_t)j);
        word[1][j] = (uint32_t)((block + (uint64_t)j) >> 32);
        word[2][j] = s->tensor;
        word[3][j] = s->step;
    }
    philox(word, n, s->seed);
}

/* The first 24 bits, as a number in [0, 1). */
static inline float philox_unit(uint32_t bits)
{
    return (float)(int32_t)(bits >> 8) * 0x1p-24f;
}

#if defined(__AVX2__)

/* Low and high halves of the products of 8 words with a constant. */
static inline __attribute__((always_inline)) void philox_multiply(__m256i *low, __m256i *high,
                                                                  __m256i x, uint32_t by)
{
    __m256i factor = _mm256_set1_epi64x(by), even = _mm256_mul_epu32(x, factor);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), factor);

    *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    *high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

/* Numbers of 8 blocks, whose words lie across four vectors. */
static inline __attribute__((always_inline)) void philox_put(float *out, const __m256i word[4])
{
    const __m256 unit = _mm256_set1_ps(0x1p-24f);
    __m256 f[4], low[2], high[2];

    for (int k = 0; k < 4; k++)
        f[k] = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(word[k], 8)), unit);
    for (int k = 0; k < 2; k++) {
        low[k] = _mm256_unpacklo_ps(f[2 * k], f[2 * k + 1]);
        high[k] = _mm256_unpackhi_ps(f[2 * k], f[2 * k + 1]);
    }
    __m256 a = _mm256_shuffle_ps(low[0], low[1], 0x44), b = _mm256_shuffle_ps(low[0], low[1], 0xee);
    __m256 c = _mm256_shuffle_ps(high[0], high[1], 0x44);
    __m256 d = _mm256_shuffle_ps(high[0], high[1], 0xee);
    _mm256_storeu_ps(out, _mm256_permute2f128_ps(a, b, 0x20));
    _mm256_storeu_ps(out + 8, _mm256_permute2f128_ps(c, d, 0x20));
    _mm256_storeu_ps(out + 16, _mm256_permute2f128_ps(a, b, 0x31));
    _mm256_storeu_ps(out + 24, _mm256_permute2f128_ps(c, d, 0x31));
}

static inline void philox_uniform(float out[PHILOX_GROUP * PHILOX_LANES], const philox_stream *s,
                                  uint64_t block)
{
    for (int j = 0; j < PHILOX_GROUP; j += 8, block += 8, out += 32) {
        uint32_t key0 = (uint32_t)s->seed, key1 = (uint32_t)(s->seed >> 32), count[2][8];
        for (unsigned k = 0; k < 8; k++) {
            count[0][k] = (uint32_t)(block + k);
            count[1][k] = (uint32_t)((block + k) >> 32);
        }
        __m256i word[4] = {_mm256_loadu_si256((const __m256i *)count[0]),
                           _mm256_loadu_si256((const __m256i *)count[1]),
                           _mm256_set1_epi32((int32_t)s->tensor),
                           _mm256_set1_epi32((int32_t)s->step)};
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            __m256i low[2], high[2];
            philox_multiply(&low[0], &high[0], word[0], 0xd2511f53u);
            philox_multiply(&low[1], &high[1], word[2], 0xcd9e8d57u);
            __m256i first = _mm256_xor_si256(high[1], _mm256_set1_epi32((int32_t)key0));
            __m256i third = _mm256_xor_si256(high[0], _mm256_set1_epi32((int32_t)key1));
            word[0] = _mm256_xor_si256(first, word[1]);
            word[1] = low[1];
            word[2] = _mm256_xor_si256(third, word[3]);
            word[3] = low[0];
            key0 += 0x9e3779b9u;
            key1 += 0xbb67ae85u;
        }
        philox_put(out, word);
    }
}

#else

static inline void philox_uniform(float out[PHILOX_GROUP * PHILOX_LANES], const philox_stream *s,
                                  uint64_t block)
{
    uint32_t word[PHILOX_LANES][PHILOX_GROUP];
    philox_draw(word, PHILOX_GROUP, s, block);
    for (int j = 0; j < PHILOX_GROUP; j++)
        for (int lane = 0; lane < PHILOX_LANES; lane++)
            out[j * PHILOX_LANES + lane] = philox_unit(word[lane][j]);
}

#endif

/* Groups begin at the block of `first`; at both ends only a part of one may be wanted. */
static inline __attribute__((always_inline)) void
philox_fill(float *out, int64_t n, const philox_stream *s, uint64_t first,
            void (*group)(float *out, const philox_stream *s, uint64_t block))
{
    hpc_assert(n >= 0 && (n == 0 || first <= UINT64_MAX - (uint64_t)(n - 1)));
    uint64_t block = first / PHILOX_LANES;
    int64_t skip = (int64_t)(first % PHILOX_LANES);
    for (int64_t done = 0; done < n; block += PHILOX_GROUP) {
        int64_t left = n - done, here = PHILOX_GROUP * PHILOX_LANES - skip;
        if (here > left) here = left;
        if (here == PHILOX_GROUP * PHILOX_LANES) {
            group(out + done, s, block);
        } else {
            float part[PHILOX_GROUP * PHILOX_LANES];
            group(part, s, block);
            memcpy(out + done, part + skip, (size_t)here * sizeof *part);
        }
        done += here;
        skip = 0;
    }
}

#endif
