/*
 * adler.c: the checksum of zlib streams: a is 1 plus the sum of the bytes, b the
 * sum of all values that a had, both modulo 65521.
 */
#include <string.h>

#include "runtime/git/inflate.h"

enum { MODULUS = 65521 };

typedef struct sums {
    uint32_t a, b;
} sums;

enum { LANES = 16, ROWS = 256 };

/* Bytes in rows of 16; each column has sums of its own, of 32 bits without an overflow. */
static sums add_rows(sums s, const uint8_t *p, size_t rows)
{
    while (rows > 0) {
        size_t part = rows < ROWS ? rows : ROWS;
        uint32_t a[LANES] = {0}, b[LANES] = {0};
        for (size_t r = 0; r < part; r++, p += LANES) {
            for (int k = 0; k < LANES; k++) b[k] += a[k];
            for (int k = 0; k < LANES; k++) a[k] += p[k];
        }
        uint64_t sum = s.b + (uint64_t)part * LANES * s.a;
        for (int k = 0; k < LANES; k++)
            sum += (uint64_t)LANES * b[k] + (uint64_t)(LANES - k) * a[k];
        for (int k = 0; k < LANES; k++) s.a += a[k];
        s.a %= MODULUS;
        s.b = (uint32_t)(sum % MODULUS);
        rows -= part;
    }
    return s;
}

#ifdef __x86_64__
#include <immintrin.h>

enum { WIDE = 32, WIDE_ROWS = 128 };

__attribute__((target("avx2"))) static uint32_t sum_avx2(__m256i v)
{
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(half);
}

/* Rows of 32: what all before a row add to b in it, and what the row itself does. */
__attribute__((target("avx2"))) static sums add_rows_avx2(sums s, const uint8_t *p, size_t rows)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    const __m256i weight =
        _mm256_setr_epi8(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14,
                         13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    while (rows > 0) {
        size_t part = rows < WIDE_ROWS ? rows : WIDE_ROWS;
        __m256i a = zero, before = zero, within = zero;
        for (size_t r = 0; r < part; r++, p += WIDE) {
            __m256i row = _mm256_loadu_si256((const __m256i *)p);
            before = _mm256_add_epi32(before, a);
            a = _mm256_add_epi32(a, _mm256_sad_epu8(row, zero));
            within =
                _mm256_add_epi32(within, _mm256_madd_epi16(_mm256_maddubs_epi16(row, weight), one));
        }
        uint64_t sum = s.b + (uint64_t)part * WIDE * s.a;
        sum += (uint64_t)WIDE * sum_avx2(before) + sum_avx2(within);
        s.a = (s.a + sum_avx2(a)) % MODULUS;
        s.b = (uint32_t)(sum % MODULUS);
        rows -= part;
    }
    return s;
}
#endif

uint32_t git_adler(const uint8_t *p, size_t n)
{
    sums s = {1, 0};
    size_t done = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        s = add_rows_avx2(s, p, n / WIDE);
        done = n / WIDE * WIDE;
    }
#endif
    s = add_rows(s, p + done, (n - done) / LANES);
    done += (n - done) / LANES * LANES;
    for (; done < n; done++) s.b += s.a += p[done];
    return s.b % MODULUS << 16 | s.a % MODULUS;
}
