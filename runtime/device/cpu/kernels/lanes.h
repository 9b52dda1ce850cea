/*
 * lanes.h: short float vectors for loops over few rows, where memory bandwidth is the
 * limit and not the vector width.
 */
#ifndef HPC_CPU_LANES_H
#define HPC_CPU_LANES_H

#include <stdint.h>

#include "runtime/device/priv.h"

#if defined(__AVX512F__)
#include <immintrin.h>
enum { LANES = 16 };
#elif defined(__AVX2__)
#include <immintrin.h>
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { LANE_BYTES = LANES * 4 };

typedef float vec __attribute__((vector_size(LANE_BYTES)));
typedef float vec_any __attribute__((vector_size(LANE_BYTES), aligned(2), may_alias));
typedef uint32_t words __attribute__((vector_size(LANE_BYTES)));
typedef uint32_t words_any __attribute__((vector_size(LANE_BYTES), aligned(2), may_alias));
typedef uint16_t halves_any __attribute__((vector_size(LANE_BYTES / 2), aligned(2), may_alias));

/* c + a b, fused where cpu_gemm fuses: the same bits. */
static inline __attribute__((always_inline)) vec multiply_add(vec c, vec a, vec b)
{
#if defined(__AVX512F__)
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    for (int i = 0; i < LANES; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#else
    return c + a * b;
#endif
}

static inline __attribute__((always_inline)) vec splat(float x)
{
    return x - (vec){0};
}

/* Element `at` of what is f32 or bf16, and so many from there on. */
static inline __attribute__((always_inline)) float number_at(const void *x, bool half, int64_t at)
{
    return half ? hpc_bf16_to_f32(((const uint16_t *)x)[at]) : ((const float *)x)[at];
}

static inline __attribute__((always_inline)) vec numbers_at(const void *x, bool half, int64_t at)
{
    if (!half) return *(const vec_any *)((const float *)x + at);
#if defined(__AVX512F__) /* what compilers make of the below takes two halves and several steps */
    __m256i h = _mm256_loadu_si256((const __m256i *)((const uint16_t *)x + at));
    return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16);
#else
    halves_any h = *(const halves_any *)((const uint16_t *)x + at);
    return (vec)(__builtin_convertvector(h, words) << 16);
#endif
}

/* Prefetches memory. It may reach past the end of an object, because the next part often follows
 * there. */
static inline __attribute__((always_inline)) void fetch(const void *at, int64_t bytes)
{
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch((const char *)at + b);
}

#endif
