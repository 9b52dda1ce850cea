/*
 * window.c: classifies 64 bytes of a text as names, blanks and others. It uses the compiler's
 * vectors, so one source serves all machines, except those with instructions that look up bytes in
 * a table of 16.
 */
#include "runtime/source/window.h"

typedef int8_t vector __attribute__((vector_size(16)));
typedef uint8_t bytes __attribute__((vector_size(16)));

/* Sixty-four bytes, a bit for each. */
typedef struct sets {
    uint64_t names, blanks;
} sets;

/* Of bytes that are all ones or all zeros. */
static inline uint64_t gather(vector v)
{
#if defined(__SSE2__)
    return (uint64_t)(unsigned)_mm_movemask_epi8((__m128i)v);
#else
    hpc_block b = hpc_block_load((const uint8_t *)&v);
    const uint64_t ones = 0x0101010101010101u, weights = 0x0102040810204080u;
    return (b.low & ones) * weights >> 56 | (b.high & ones) * weights >> 56 << 8;
#endif
}

/* True for bytes in [low, high]: the range is shifted to the top of the signed bytes. */
static inline vector within(bytes v, uint8_t low, uint8_t high)
{
    return (vector)(v + (uint8_t)(127 - high)) > (int8_t)(126 - high + low);
}

/* As hpc_byte_class has them. */
static inline void sort_16(sets *s, const uint8_t *p, int i)
{
    bytes v;
    memcpy(&v, p + i, sizeof v);
    vector name = within(v | 0x20, 'a', 'z') | within(v, '0', '9') | (v == '_') | (v == '$') |
                  ((vector)v < 0);
    vector blank = within(v, '\v', '\r') | (v == '\t') | (v == ' ');
    s->names |= gather(name) << i;
    s->blanks |= gather(blank) << i;
}

static sets sort(const uint8_t *p)
{
    sets s = {0, 0};
    sort_16(&s, p, 0);
    sort_16(&s, p, 16);
    sort_16(&s, p, 32);
    sort_16(&s, p, 48);
    return s;
}

#ifdef __x86_64__
#include <immintrin.h>

/* The table entry of each half of a byte names the groups that the byte may belong to; both must
 * agree. */
enum {
    A_TO_O = 1 << 0, /* of either case */
    P_TO_Z = 1 << 1,
    DIGIT = 1 << 2,
    LINE = 1 << 3,
    DOLLAR = 1 << 4,
    CONTROL = 1 << 5, /* \t, \v, \f, \r */
    SPACE = 1 << 6,
    NAME = A_TO_O | P_TO_Z | DIGIT
};
/* clang-format off */
static const int8_t by_low[16] = {
    P_TO_Z | DIGIT | SPACE, NAME, NAME, NAME, NAME | DOLLAR, NAME, NAME, NAME, NAME,
    NAME | CONTROL, A_TO_O | P_TO_Z, A_TO_O | CONTROL, A_TO_O | CONTROL, A_TO_O | CONTROL,
    A_TO_O, A_TO_O | LINE,
};
static const int8_t by_high[16] = {
    CONTROL, 0, DOLLAR | SPACE, DIGIT, A_TO_O, P_TO_Z | LINE, A_TO_O, P_TO_Z,
};
/* clang-format on */

__attribute__((target("avx2"))) static inline void sort_32(sets *s, const uint8_t *p, int i)
{
    __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)by_low));
    __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)by_high));
    __m256i v = _mm256_loadu_si256((const __m256i *)(p + i));
    __m256i top = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15));
    __m256i group = _mm256_and_si256(_mm256_shuffle_epi8(low, v), _mm256_shuffle_epi8(high, top));
    uint32_t known = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(group, _mm256_set1_epi8(0)));
    uint32_t blank =
        (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(group, _mm256_set1_epi8(CONTROL - 1)));
    uint32_t beyond = (uint32_t)_mm256_movemask_epi8(v); /* ASCII */
    s->names |= (uint64_t)((known & ~blank) | beyond) << i;
    s->blanks |= (uint64_t)blank << i;
}

__attribute__((target("avx2"))) static sets sort_avx2(const uint8_t *p)
{
    sets s = {0, 0};
    sort_32(&s, p, 0);
    sort_32(&s, p, 32);
    return s;
}
#endif

static sets sort_best(const uint8_t *p)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) return sort_avx2(p);
#endif
    return sort(p);
}

void hpc_window_open(hpc_window *w, const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    w->at = p;
    w->bytes = p;
    if (left < 80) {
        memset(w->copy, 0, sizeof w->copy);
        memcpy(w->copy, p, left);
        w->bytes = w->copy;
    }
    sets s = sort_best(w->bytes);
    w->breaks = ~(s.names & s.names << 1);
    w->n = left < 64 ? (uint32_t)left : 63 - (uint32_t)__builtin_clzll(w->breaks);
    w->starts = w->breaks & ~s.blanks & ((UINT64_C(1) << w->n) - 1);
}
