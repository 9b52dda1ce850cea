/*
 * philox.h: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011) for groups of counters.
 *
 * Compiled with the instruction set of the including file; all give the same bits.
 * The portable version loops over short arrays, one lane at a time, so that the
 * compiler vectorises it.
 */
#ifndef HPC_PHILOX_H
#define HPC_PHILOX_H

#include <string.h>

#include "runtime/base/base.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum {
    PHILOX_ROUNDS = 10,
    PHILOX_LANES = 4,
    PHILOX_GROUP = 16, /* blocks drawn at once */
    PHILOX_WORDS = PHILOX_GROUP * PHILOX_LANES
};

/* Replaces n counters by their random bits; element j of the four words is one block. A constant n
 * lets the compiler unroll and vectorise the inner loop. */
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

/* The upper 24 bits as a number in [0, 1). */
static inline float philox_unit(uint32_t bits)
{
    return (float)(int32_t)(bits >> 8) * 0x1p-24f;
}

#if defined(__AVX512F__)

/* The words of 8 blocks, each in the low half of a 64-bit lane; the high half is ignored. */
typedef struct philox_eight {
    __m512i word[PHILOX_LANES];
} philox_eight;

static inline __attribute__((always_inline)) void philox_round(philox_eight *e, __m512i key0,
                                                               __m512i key1)
{
    enum { XOR = 0x96 }; /* of three operands */
    __m512i a = _mm512_mul_epu32(e->word[0], _mm512_set1_epi64(0xd2511f53));
    __m512i b = _mm512_mul_epu32(e->word[2], _mm512_set1_epi64(0xcd9e8d57));
    e->word[0] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(b, 32), e->word[1], key0, XOR);
    e->word[2] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(a, 32), e->word[3], key1, XOR);
    e->word[1] = b;
    e->word[3] = a;
}

/* Block for block. */
static inline __attribute__((always_inline)) void philox_put(uint32_t *out, const philox_eight *e)
{
    const __m512i *w = e->word, first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    __m512i low = _mm512_mask_blend_epi32(0xaaaa, w[0], _mm512_slli_epi64(w[1], 32));
    __m512i high = _mm512_mask_blend_epi32(0xaaaa, w[2], _mm512_slli_epi64(w[3], 32));
    __m512i even = _mm512_unpacklo_epi64(low, high), odd = _mm512_unpackhi_epi64(low, high);
    __m512i second = _mm512_add_epi64(first, _mm512_set1_epi64(4));
    _mm512_storeu_si512(out, _mm512_permutex2var_epi64(even, first, odd));
    _mm512_storeu_si512(out + 16, _mm512_permutex2var_epi64(even, second, odd));
}

/* Interleaves all blocks, because each round of a block depends on the previous one. */
static inline void philox_words(uint32_t out[PHILOX_WORDS], const philox_stream *s, uint64_t block)
{
    enum { N = PHILOX_GROUP / 8 };
    __m512i key0 = _mm512_set1_epi32((int32_t)s->seed);
    __m512i key1 = _mm512_set1_epi32((int32_t)(s->seed >> 32));
    philox_eight eight[N];
    for (int k = 0; k < N; k++) {
        __m512i count = _mm512_add_epi64(_mm512_set1_epi64((int64_t)block + 8 * k),
                                         _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        eight[k] = (philox_eight){{count, _mm512_srli_epi64(count, 32),
                                   _mm512_set1_epi32((int32_t)s->tensor),
                                   _mm512_set1_epi32((int32_t)s->step)}};
    }
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        __asm__("" : "+v"(key0), "+v"(key1)); /* or else sums for all rounds are kept */
        for (int k = 0; k < N; k++) philox_round(&eight[k], key0, key1);
        key0 = _mm512_add_epi32(key0, _mm512_set1_epi32((int32_t)0x9e3779b9));
        key1 = _mm512_add_epi32(key1, _mm512_set1_epi32((int32_t)0xbb67ae85));
    }
    for (int k = 0; k < N; k++) philox_put(out + 32 * k, &eight[k]);
}

#elif defined(__AVX2__)

/* The words of 4 blocks, each in the low half of a 64-bit lane; the high half is ignored. */
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

/* Block for block. */
static inline __attribute__((always_inline)) void philox_put(uint32_t *out, const philox_quad *q)
{
    const __m256i *w = q->word;
    __m256i low = _mm256_blend_epi32(w[0], _mm256_slli_epi64(w[1], 32), 0xaa);
    __m256i high = _mm256_blend_epi32(w[2], _mm256_slli_epi64(w[3], 32), 0xaa);
    __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    _mm256_storeu_si256((__m256i *)out, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(out + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}

/* Interleaves two quads, because each round of a block depends on the previous one. */
static inline void philox_words(uint32_t out[PHILOX_WORDS], const philox_stream *s, uint64_t block)
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

static inline void philox_words(uint32_t out[PHILOX_WORDS], const philox_stream *s, uint64_t block)
{
    uint32_t word[PHILOX_LANES][PHILOX_GROUP];
    philox_draw(word, PHILOX_GROUP, s, block);
    for (int j = 0; j < PHILOX_GROUP; j++)
        for (int lane = 0; lane < PHILOX_LANES; lane++)
            out[j * PHILOX_LANES + lane] = word[lane][j];
}

#endif

/* Writes elements first to first + n - 1 of the stream, each of `size` bytes (4 or 2). `group`
 * computes PHILOX_GROUP blocks; of the first and the last group only a part may be copied. */
static inline __attribute__((always_inline)) void
philox_fill(void *out, int64_t n, size_t size, const philox_stream *s, uint64_t first,
            void (*group)(uint32_t out[PHILOX_WORDS], const philox_stream *s, uint64_t block))
{
    const int64_t lanes = (int64_t)(PHILOX_LANES * sizeof(uint32_t) / size);
    hpc_assert(n >= 0 && (n == 0 || first <= UINT64_MAX - (uint64_t)(n - 1)));
    uint64_t block = first / (uint64_t)lanes;
    int64_t skip = (int64_t)(first % (uint64_t)lanes);
    for (int64_t done = 0; done < n; block += PHILOX_GROUP) {
        int64_t left = n - done, here = PHILOX_GROUP * lanes - skip;
        uint32_t part[PHILOX_WORDS];
        if (here > left) here = left;
        group(part, s, block);
        memcpy((char *)out + (size_t)done * size, (char *)part + (size_t)skip * size,
               (size_t)here * size);
        done += here;
        skip = 0;
    }
}

#endif
