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

/* The words of 4 blocks, each in the low half of 64 bits: what is above does not matter. */
typedef struct philox_quad {
    __m256i word[PHILOX_LANES];
} philox_quad;

static inline __attribute__((always_inline)) void philox_round(philox_quad *q, __m256i key0,
                                                               __m256i key1)
{
    __m256i a = _mm256_mul_epu32(q->word[0], _mm256_set1_epi64x(0xd2511f53));
    __m256i b = _mm256_mul_epu32(q->word[2], _mm256_set1_epi64x(0xcd9e8d57));
    __m256i first = _mm256_xor_si256(q->word[1], key0), third = _mm256_xor_si256(q->word[3], key1);

    q->word[0] = _mm256_xor_si256(_mm256_srli_epi64(b, 32), first);
    q->word[1] = b;
    q->word[2] = _mm256_xor_si256(_mm256_srli_epi64(a, 32), third);
    q->word[3] = a;
}

static inline __attribute__((always_inline)) void philox_put(float *out, const philox_quad *q)
{
    const __m256i *w = q->word;
    __m256i low = _mm256_blend_epi32(w[0], _mm256_slli_epi64(w[1], 32), 0xaa);
    __m256i high = _mm256_blend_epi32(w[2], _mm256_slli_epi64(w[3], 32), 0xaa);
    __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    __m256i pair[] = {_mm256_permute2x128_si256(even, odd, 0x20),
                      _mm256_permute2x128_si256(even, odd, 0x31)};

    for (int k = 0; k < 2; k++) {
        __m256 f = _mm256_cvtepi32_ps(_mm256_srli_epi32(pair[k], 8));
        _mm256_storeu_ps(out + 8 * k, _mm256_mul_ps(f, _mm256_set1_ps(0x1p-24f)));
    }
}

/* Two quads at a time, for a round waits for the one before. */
static inline void philox_uniform(float out[PHILOX_GROUP * PHILOX_LANES], const philox_stream *s,
                                  uint64_t block)
{
    for (int j = 0; j < PHILOX_GROUP; j += 8, block += 8, out += 32) {
        __m256i key0 = _mm256_set1_epi32((int32_t)s->seed);
        __m256i key1 = _mm256_set1_epi32((int32_t)(s->seed >> 32));
        philox_quad quad[2];
        for (int k = 0; k < 2; k++) {
            __m256i count = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)block + 4 * k),
                                             _mm256_setr_epi64x(0, 1, 2, 3));
            quad[k] = (philox_quad){{count, _mm256_srli_epi64(count, 32),
                                     _mm256_set1_epi32((int32_t)s->tensor),
                                     _mm256_set1_epi32((int32_t)s->step)}};
        }
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            __asm__("" : "+x"(key0), "+x"(key1)); /* or else sums for all rounds are kept */
            for (int k = 0; k < 2; k++) philox_round(&quad[k], key0, key1);
            key0 = _mm256_add_epi32(key0, _mm256_set1_epi32((int32_t)0x9e3779b9));
            key1 = _mm256_add_epi32(key1, _mm256_set1_epi32((int32_t)0xbb67ae85));
        }
        for (int k = 0; k < 2; k++) philox_put(out + 16 * k, &quad[k]);
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
