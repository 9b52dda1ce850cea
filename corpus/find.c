/*
 * find.c: searches a text for rare words.
 *
 * The C library prepares its search for each word, which for a few kilobytes of text takes longer
 * than comparing a word's first and last byte at sixteen positions at once. Many words are found
 * by heads of three bytes: each half byte is looked up in a table of sixteen entries, one
 * instruction per vector. The caller compares the rest of the word.
 */
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "corpus/priv.h"
#include "corpus/vector.h"

/* ---- one word ------------------------------------------------------------------------- */

static const char *at_one_of(const char *p, size_t n, const char *word, size_t m)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == word[0] && memcmp(p + i, word, m) == 0) return p + i;
    return NULL;
}

const char *corpus_find(const char *text, size_t n, const char *word)
{
    size_t m = strlen(word), step = sizeof(corpus_bytes);
    hpc_assert(m > 0);
    if (n < m) return NULL;
    size_t places = n - m + 1, i = 0;
    corpus_bytes first = (corpus_bytes){0} + (uint8_t)word[0];
    corpus_bytes last = (corpus_bytes){0} + (uint8_t)word[m - 1];
    for (; places - i >= step; i += step) {
        corpus_bytes begins = (corpus_bytes)(corpus_bytes_load(text + i) == first);
        corpus_bytes ends = (corpus_bytes)(corpus_bytes_load(text + i + m - 1) == last);
        if (!corpus_bytes_any(begins & ends, 0xff)) continue;
        const char *found = at_one_of(text + i, step, word, m);
        if (found) return found;
    }
    return at_one_of(text + i, places - i, word, m);
}

/* ---- many words ------------------------------------------------------------------------- */

static void add_head(corpus_heads *h, uint8_t row, const char head[3])
{
    for (size_t k = 0; k < 3; k++) {
        uint8_t c = (uint8_t)head[k];
        h->low[k][c & 15] |= row;
        h->high[k][c >> 4] |= row;
        for (size_t half = 0; c == '.' && half < 16; half++) {
            h->low[k][half] |= row;
            h->high[k][half] |= row;
        }
    }
}

void corpus_heads_init(corpus_heads *out, const char *const *row, int rows_n)
{
    hpc_assert(rows_n <= CORPUS_HEAD_ROWS);
    *out = (corpus_heads){0};
    for (int r = 0; r < rows_n; r++)
        for (const char *p = row[r];; p += 4) {
            add_head(out, (uint8_t)(1 << r), p);
            if (p[3] == '\0') break;
        }
}

static inline unsigned row_of(const corpus_heads *h, size_t k, char byte)
{
    uint8_t c = (uint8_t)byte;
    return h->low[k][c & 15] & h->high[k][c >> 4];
}

size_t corpus_heads_next_plainly(const corpus_heads *h, const char *text, size_t n, size_t from)
{
    size_t at = from;
    for (const char *p = text + at; n - at > 2; at++, p++)
        if (row_of(h, 0, p[0]) & row_of(h, 1, p[1]) & row_of(h, 2, p[2])) return at;
    for (; at < n; at++) /* bytes after the text count as zero */
        if (row_of(h, 0, text[at]) & row_of(h, 1, n - at > 1 ? text[at + 1] : '\0') &
            row_of(h, 2, '\0'))
            return at;
    return n;
}

#if defined(__x86_64__)

typedef __m256i wide;
#define WIDE_TARGET __attribute__((target("avx2")))

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx2");
}

WIDE_TARGET static inline wide load_table(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
}

/* The rows of the bytes at p. */
WIDE_TARGET static inline wide rows_at(const char *p, wide low, wide high)
{
    const wide half = _mm256_set1_epi8(15), v = _mm256_loadu_si256((const __m256i *)p);
    return _mm256_shuffle_epi8(low, v & half) &
           _mm256_shuffle_epi8(high, _mm256_srli_epi16(v, 4) & half);
}

/* The first byte that is not zero, or sizeof(wide). */
WIDE_TARGET static inline size_t first_of(wide v)
{
    unsigned zero = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256()));
    return ~zero ? (size_t)__builtin_ctz(~zero) : sizeof v;
}

#elif defined(__aarch64__)

typedef uint8x16_t wide;
#define WIDE_TARGET

static bool has_wide(void)
{
    return true;
}

static inline wide load_table(const uint8_t table[16])
{
    return vld1q_u8(table);
}

static inline wide rows_at(const char *p, wide low, wide high)
{
    wide v = vld1q_u8((const uint8_t *)p);
    return vqtbl1q_u8(low, v & vdupq_n_u8(15)) & vqtbl1q_u8(high, vshrq_n_u8(v, 4));
}

static inline size_t first_of(wide v)
{
    uint8x8_t halves = vshrn_n_u16(vreinterpretq_u16_u8(vtstq_u8(v, v)), 4);
    uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(halves), 0); /* four bits for each byte */
    return mask ? (size_t)__builtin_ctzll(mask) / 4 : sizeof v;
}

#endif
#if defined(__x86_64__) || defined(__aarch64__)

enum { REACH = sizeof(wide) + 2 }; /* bytes that are read for a vector of places */

/* As far as whole vectors go: the first place that is one, or that is left. */
WIDE_TARGET static size_t next_wide(const corpus_heads *h, const char *text, size_t n, size_t from)
{
    wide low0 = load_table(h->low[0]), high0 = load_table(h->high[0]);
    wide low1 = load_table(h->low[1]), high1 = load_table(h->high[1]);
    wide low2 = load_table(h->low[2]), high2 = load_table(h->high[2]);
    const char *p = text + from, *end = text + n - REACH;
    for (; p <= end; p += sizeof(wide)) {
        size_t first = first_of(rows_at(p, low0, high0) & rows_at(p + 1, low1, high1) &
                                rows_at(p + 2, low2, high2));
        if (first < sizeof(wide)) return (size_t)(p - text) + first;
    }
    return (size_t)(p - text);
}

size_t corpus_heads_next(const corpus_heads *h, const char *text, size_t n, size_t from)
{
    char rest[REACH + sizeof(wide)] = {0};
    if (!has_wide()) return corpus_heads_next_plainly(h, text, n, from);
    size_t at = n - from < REACH ? from : next_wide(h, text, n, from);
    if (n - at >= REACH) return at;
    memcpy(rest, text + at, n - at);
    at += next_wide(h, rest, sizeof rest, 0);
    return at < n ? at : n;
}

#else

size_t corpus_heads_next(const corpus_heads *h, const char *text, size_t n, size_t from)
{
    return corpus_heads_next_plainly(h, text, n, from);
}

#endif
