/*
 * words_pack.c: packing operands into 32-bit pack units along k (see words.h).
 *
 * The missing elements of the last unit, step or block are zeros, which change no sum.
 */
#include <string.h>

#include "runtime/device/cpu/kernels/pairs.h"
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/words.h"

typedef uint16_t bf16;

/* An operand: f32 (rounded to bf16 when packed), bf16 or i8. */
typedef struct source {
    const void *data;
    hpc_dtype type;
    int word; /* elements of a word */
} source;

#if defined(__AVX512BW__)

static inline __attribute__((always_inline)) const void *at_of(source s, int64_t at)
{
    return (const char *)s.data + at * (s.type == HPC_F32 ? 4 : s.type == HPC_BF16 ? 2 : 1);
}

/* Rows that are packed across are asked for so many ahead, for no prefetcher of hardware sees a
 * stream in them: as in gemm_pack.c, but it takes less time to pack one. */
enum { AHEAD = 32 };

/* Elements at .. of a row as 16 units; those from n on are zeros. */
static inline __attribute__((always_inline)) __m512i load_row(source s, int64_t at, int64_t n)
{
    const void *x = at_of(s, at);

    if (s.type == HPC_I8 && s.word == 4) return _mm512_maskz_loadu_epi8(mask64(n), x);
    if (s.type == HPC_I8) return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask32(n), x));
#if defined(__AVX512BF16__)
    if (s.type == HPC_F32) {
        __m512 low = _mm512_maskz_loadu_ps(mask16(n), x);
        __m512 high = _mm512_maskz_loadu_ps(mask16(n - 16), (const float *)x + 16);
        return (__m512i)_mm512_cvtne2ps_pbh(high, low);
    }
#endif
    return _mm512_maskz_loadu_epi16(mask32(n), x);
}

/* Elements at .. at+15, those of the mask, each the lowest of a word: bits of as many as one has.
 */
static inline __attribute__((always_inline)) __m512i load_lowest(source s, int64_t at,
                                                                 __mmask16 mask)
{
    const void *x = at_of(s, at);

    if (s.type == HPC_I8) {
        __m128i bytes = _mm_maskz_loadu_epi8(mask, x);
        return s.word == 4 ? _mm512_cvtepu8_epi32(bytes)
                           : _mm512_cvtepu16_epi32(_mm256_cvtepi8_epi16(bytes));
    }
#if defined(__AVX512BF16__)
    if (s.type == HPC_F32)
        return _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, x)));
#endif
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, x));
}

/* Words across: of columns at .. at+15, those of the mask, and of rows ld apart, of which there are
 * `rows`, if not more than a word takes. */
static inline __attribute__((always_inline)) __m512i weave(source s, int64_t at, int64_t ld,
                                                           int64_t rows, __mmask16 mask)
{
    __m512i word = _mm512_setzero_si512();

    for (int e = 0; e < s.word; e++) {
        __builtin_prefetch(at_of(s, at + (AHEAD + e) * ld));
        if (e >= rows) continue;
        __m512i x = load_lowest(s, at + e * ld, mask);
        word = _mm512_or_si512(word, _mm512_slli_epi32(x, (unsigned)(e * (32 / s.word))));
    }
    return word;
}

/* What b is stored as where integers count from -WORD_OFFSET. */
static inline __attribute__((always_inline)) __m512i shifted(source s, __m512i word)
{
    return s.type == HPC_I8 && WORD_OFFSET != 0 ? _mm512_xor_si512(word, _mm512_set1_epi8(-128))
                                                : word;
}

static inline __attribute__((always_inline)) void
pack_panel(uint32_t *panel, const gemm *g, source b, int64_t p0, int64_t k, int64_t j, int64_t cols)
{
    int64_t words = gemm_words(g, k);

    if (g->b_trans && !g->b_panel) {
        for (int64_t p = 0; p < words; p += 16) {
            __m512i r[16];
            for (int i = 0; i < 16; i++) {
                int64_t at = (j + (i < cols ? i : 0)) * g->b_ld + p0 + p * b.word;
                __builtin_prefetch(at_of(b, at + GEMM_PANEL * g->b_ld), 0, 2);
                r[i] = shifted(b, load_row(b, at, i < cols ? k - p * b.word : 0));
            }
            turn16(r);
            for (int i = 0; i < 16 && p + i < words; i++)
                _mm512_store_si512(panel + (p + i) * GEMM_PANEL, r[i]);
        }
        return;
    }
#if defined(__AVX512BF16__)
    if (g->b_panel && b.type == HPC_BF16) {
        const bf16 *from = (const bf16 *)b.data + j * g->b_ld + p0 * GEMM_PANEL;
        for (int64_t p = 0; p < words; p++)
            _mm512_store_si512(panel + p * GEMM_PANEL, panel_pair(from, p, k));
        return;
    }
#endif
    int64_t ld = g->b_panel ? GEMM_PANEL : g->b_ld;
    int64_t at = g->b_panel ? j * g->b_ld + p0 * GEMM_PANEL : p0 * ld + j;
    for (int64_t p = 0; p < words; p++, at += b.word * ld)
        _mm512_store_si512(panel + p * GEMM_PANEL,
                           shifted(b, weave(b, at, ld, k - p * b.word, mask16(cols))));
}

static inline __attribute__((always_inline)) void pack_row(uint32_t *to, source a, int64_t at,
                                                           int64_t k, int64_t words)
{
    for (int64_t p = 0; p < words; p += 16)
        _mm512_storeu_si512(to + p, load_row(a, k > 0 ? at + p * a.word : 0, k - p * a.word));
}

/* 16 words of 16 columns of a, at `row` and depths p0 .. p0+k-1, become rows. */
static inline __attribute__((always_inline)) void pack_square(uint32_t *to, const gemm *g, source a,
                                                              int64_t p0, int64_t k, int64_t row,
                                                              int64_t rows, int64_t height)
{
    __m512i r[16];

    for (int q = 0; q < 16; q++) {
        int64_t depth = q * a.word, left = rows > 0 ? k - depth : 0;
        r[q] = weave(a, (p0 + (left > 0 ? depth : 0)) * g->a_ld + row, g->a_ld, left, mask16(rows));
    }
    turn16(r);
    for (int q = 0; q < 16 && q < height; q++) _mm512_storeu_si512(to + q * WORD_LD, r[q]);
}

#else

static inline int32_t element_at(source s, int64_t at)
{
    return ((const int8_t *)s.data)[at];
}

/* The word of elements at, at + ld, ..., of which there are n. */
static inline __attribute__((always_inline)) uint32_t word_at(source s, int64_t at, int64_t ld,
                                                              int64_t n)
{
    uint32_t low = n > 0 ? (uint16_t)element_at(s, at) : 0;
    uint32_t high = n > 1 ? (uint16_t)element_at(s, at + ld) : 0;

    return low | high << 16;
}

static inline void pack_row(uint32_t *to, source a, int64_t at, int64_t k, int64_t words)
{
    int64_t whole = k > 0 ? k / 2 : 0;

    for (int64_t p = 0; p < whole; p++) to[p] = word_at(a, at + 2 * p, 1, 2);
    for (int64_t p = whole; p < words; p++) to[p] = word_at(a, at + 2 * p, 1, k - 2 * p);
}

static inline void pack_panel(uint32_t *panel, const gemm *g, source b, int64_t p0, int64_t k,
                              int64_t j, int64_t cols)
{
    int64_t words = gemm_words(g, k), step = g->b_trans ? 1 : g->b_ld;
    int64_t apart = g->b_trans ? g->b_ld : 1, at = p0 * step + j * apart;

    for (int64_t p = 0; p < words; p++, at += 2 * step, panel += GEMM_PANEL) {
        if (cols == GEMM_PANEL && !g->b_trans && 2 * p + 1 < k) {
            for (int c = 0; c < GEMM_PANEL; c++) panel[c] = word_at(b, at + c, step, 2);
            continue;
        }
        for (int c = 0; c < GEMM_PANEL; c++)
            panel[c] = word_at(b, at + c * apart, step, c < cols ? k - 2 * p : 0);
    }
}

static inline void pack_square(uint32_t *to, const gemm *g, source a, int64_t p0, int64_t k,
                               int64_t row, int64_t rows, int64_t height)
{
    for (int q = 0; q < height; q++)
        for (int p = 0; p < 16; p++)
            to[q * WORD_LD + p] =
                word_at(a, (p0 + 2 * p) * g->a_ld + row + q, g->a_ld, q < rows ? k - 2 * p : 0);
}

#endif

#if defined(__AVX512VNNI__)
/* Four rows of 64 columns of i8: four panels' words at once, each row's line of memory read in one
 * piece. False: it is something else. */
static bool pack_together(uint32_t *panels, const gemm *g, int64_t p0, int64_t k, int64_t j,
                          int64_t cols)
{
    const char *from = (const char *)g->b + p0 * g->b_ld + j;
    int64_t words = gemm_words(g, k), stride = words * GEMM_PANEL;

    if (g->b_type != HPC_I8 || g->b_trans || cols != WORD_TOGETHER) return false;
    for (int64_t p = 0; p < words; p++, from += 4 * g->b_ld) {
        __m512i r[4], t[4];
        for (int e = 0; e < 4; e++) {
            __builtin_prefetch(from + (AHEAD + e) * g->b_ld);
            r[e] = _mm512_maskz_loadu_epi8(mask64(4 * p + e < k ? 64 : 0), from + e * g->b_ld);
        }
        t[0] = _mm512_unpacklo_epi8(r[0], r[1]);
        t[1] = _mm512_unpackhi_epi8(r[0], r[1]);
        t[2] = _mm512_unpacklo_epi8(r[2], r[3]);
        t[3] = _mm512_unpackhi_epi8(r[2], r[3]);
        r[0] = _mm512_unpacklo_epi16(t[0], t[2]); /* of each panel words 0 .. 3, 4 .. 7, ... */
        r[1] = _mm512_unpackhi_epi16(t[0], t[2]);
        r[2] = _mm512_unpacklo_epi16(t[1], t[3]);
        r[3] = _mm512_unpackhi_epi16(t[1], t[3]);
        t[0] = _mm512_shuffle_i32x4(r[0], r[1], 0x44);
        t[1] = _mm512_shuffle_i32x4(r[2], r[3], 0x44);
        t[2] = _mm512_shuffle_i32x4(r[0], r[1], 0xee);
        t[3] = _mm512_shuffle_i32x4(r[2], r[3], 0xee);
        r[0] = _mm512_shuffle_i32x4(t[0], t[1], 0x88);
        r[1] = _mm512_shuffle_i32x4(t[0], t[1], 0xdd);
        r[2] = _mm512_shuffle_i32x4(t[2], t[3], 0x88);
        r[3] = _mm512_shuffle_i32x4(t[2], t[3], 0xdd);
        for (int q = 0; q < 4; q++)
            _mm512_store_si512(panels + q * stride + p * GEMM_PANEL,
                               shifted((source){g->b, HPC_I8, 4}, r[q]));
    }
    return true;
}
#else
static bool pack_together(uint32_t *panels, const gemm *g, int64_t p0, int64_t k, int64_t j,
                          int64_t cols)
{
    (void)panels, (void)g, (void)p0, (void)k, (void)j, (void)cols;
    return false;
}
#endif

/* ---- blocks of integers (gemm_fixed) ------------------------------------------------------- */

#if defined(__AVX512VNNI__) && !defined(__AVX512BF16__)

enum {
    FIXED_AHEAD = 128, /* rows, of L2 */
    FIXED_BITS = 13,
    FIXED_LEAST = 13 /* the least exponent, as bf16 has it, whose scale is normal */
};

/* The larger one of a pair's magnitudes. */
static inline __m512i larger_of_pair(__m512i pairs)
{
    return _mm512_max_epu32(_mm512_srli_epi32(pairs, 16),
                            _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff)));
}

/* What a block is multiplied by whose largest magnitude, as bf16 has it, is `most`, and what that
 * takes back: NaN if there is one, or an infinity. */
static inline __m512 fixing(__m512 *scale, __m512i most)
{
    __m512i e = _mm512_max_epu32(_mm512_srli_epi32(most, 7), _mm512_set1_epi32(FIXED_LEAST));
    __mmask16 numbers = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(255));
    __m512i by = _mm512_sub_epi32(_mm512_set1_epi32(2 * 127 - 1 + FIXED_BITS), e);
    __m512i back = _mm512_sub_epi32(e, _mm512_set1_epi32(FIXED_BITS - 1));

    back = _mm512_mask_slli_epi32(_mm512_set1_epi32(-1), numbers, back, 23);
    *scale = _mm512_castsi512_ps(back);
    return _mm512_castsi512_ps(_mm512_slli_epi32(by, 23));
}

/* Pairs of bf16 as pairs of integers: the lowest bits of sums that are so large. */
static inline __m512i fixed(__m512i pairs, __m512 by)
{
    const __m512 large = _mm512_set1_ps(0x1.8p23F);
    __m512i low = _mm512_slli_epi32(pairs, 16);
    __m512i high = _mm512_and_si512(pairs, _mm512_set1_epi32((int)0xffff0000u));
    __m512 x = _mm512_fmadd_ps(_mm512_castsi512_ps(low), by, large);
    __m512 y = _mm512_fmadd_ps(_mm512_castsi512_ps(high), by, large);

    return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_castps_si512(x),
                                   _mm512_slli_epi32(_mm512_castps_si512(y), 16));
}

static inline __m512i magnitudes(__m512i pairs)
{
    return _mm512_and_si512(pairs, _mm512_set1_epi32(0x7fff7fff));
}

/* Units of a block, each of 16 columns, followed by the columns' scales. */
static inline __attribute__((always_inline)) void fix_columns(__m512i r[GEMM_FIXED_WORDS])
{
    __m512i most = magnitudes(r[0]);
    __m512 scale;

    for (int i = 1; i < 16; i++) most = _mm512_max_epu16(most, magnitudes(r[i]));
    __m512 by = fixing(&scale, larger_of_pair(most));
    for (int i = 0; i < 16; i++) r[i] = fixed(r[i], by);
    r[16] = _mm512_castps_si512(scale);
}

/* A block of one row, followed by its scale. */
static inline __attribute__((always_inline)) void store_fixed_row(uint32_t *to, __m512i row)
{
    __m512i x = magnitudes(row);
    __m256i y = _mm256_max_epu16(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));
    __m128i z = _mm_max_epu16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
    __m512 scale;

    z = _mm_minpos_epu16(_mm_xor_si128(z, _mm_set1_epi16(-1)));
    z = _mm_xor_si128(z, _mm_set1_epi16(-1));
    __m512 by = fixing(&scale, _mm512_broadcastd_epi32(_mm_cvtepu16_epi32(z)));
    _mm512_storeu_si512(to, fixed(row, by));
    _mm_store_ss((float *)to + 16, _mm512_castps512_ps128(scale));
}

/* Two panels at once, `apart` words from each other, whose rows run along the columns of b: lines
 * of memory are read whole. */
static inline __attribute__((always_inline)) void fix_two_panels(uint32_t *panel, int64_t apart,
                                                                 const gemm *g, source b,
                                                                 int64_t p0, int64_t k, int64_t j,
                                                                 int64_t cols)
{
    const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
    const __m512i second = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    __mmask32 mask = mask32(cols);

    for (int64_t p = 0; p < k; p += GEMM_FIXED_K, panel += GEMM_FIXED_WORDS * GEMM_PANEL) {
        __m512i most[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        for (int i = 0; i < 16; i++) {
            int64_t at = (p0 + p + 2 * i) * g->b_ld + j, left = k - p - 2 * i;
            __m512i x = _mm512_maskz_loadu_epi16(left > 0 ? mask : 0, at_of(b, at));
            __m512i y = _mm512_maskz_loadu_epi16(left > 1 ? mask : 0, at_of(b, at + g->b_ld));
            __builtin_prefetch(at_of(b, at + FIXED_AHEAD * g->b_ld), 0, 2);
            __builtin_prefetch(at_of(b, at + (FIXED_AHEAD + 1) * g->b_ld), 0, 2);
            __m512i low = _mm512_unpacklo_epi16(x, y), high = _mm512_unpackhi_epi16(x, y);
            x = _mm512_permutex2var_epi64(low, first, high);
            y = _mm512_permutex2var_epi64(low, second, high);
            most[0] = _mm512_max_epu16(most[0], magnitudes(x));
            most[1] = _mm512_max_epu16(most[1], magnitudes(y));
            _mm512_store_si512(panel + i * GEMM_PANEL, x);
            _mm512_store_si512(panel + apart + i * GEMM_PANEL, y);
        }
        for (int q = 0; q < 2; q++) {
            uint32_t *to = panel + q * apart;
            __m512 scale, by = fixing(&scale, larger_of_pair(most[q]));
            for (int i = 0; i < 16; i++, to += GEMM_PANEL)
                _mm512_store_si512(to, fixed(_mm512_load_si512(to), by));
            _mm512_store_ps((float *)to, scale);
        }
    }
}

/* Blocks of 16 columns of b. */
static inline __attribute__((always_inline)) void
fix_panel(uint32_t *panel, const gemm *g, source b, int64_t p0, int64_t k, int64_t j, int64_t cols)
{
    for (int64_t p = 0; p < k; p += GEMM_FIXED_K, panel += GEMM_FIXED_WORDS * GEMM_PANEL) {
        __m512i r[GEMM_FIXED_WORDS];
        for (int i = 0; i < 16 && g->b_trans; i++) {
            int64_t at = (j + (i < cols ? i : 0)) * g->b_ld + p0 + p;
            __builtin_prefetch(at_of(b, at + GEMM_PANEL * g->b_ld), 0, 2);
            r[i] = load_row(b, at, i < cols ? k - p : 0);
        }
        for (int i = 0; i < 16 && !g->b_trans; i++)
            r[i] = weave(b, (p0 + p + 2 * i) * g->b_ld + j, g->b_ld, k - p - 2 * i, mask16(cols));
        if (g->b_trans) turn16(r);
        fix_columns(r);
#pragma GCC unroll 17
        for (int i = 0; i < GEMM_FIXED_WORDS; i++) _mm512_store_si512(panel + i * GEMM_PANEL, r[i]);
    }
}

/* Rows of a, as cpu_words_rows_of. */
static void fix_rows(uint32_t *to, const gemm *g, int64_t p0, int64_t k, int64_t i, int64_t rows)
{
    int64_t padded = gemm_parts(rows, WORD_ROWS) * WORD_ROWS;
    const source a = {g->a, HPC_BF16, 2};

    for (int64_t r = 0; r < padded && !g->a_trans; r++)
        for (int64_t p = 0, w = 0; p < k; p += GEMM_FIXED_K, w += GEMM_FIXED_WORDS)
            store_fixed_row(to + r * WORD_LD + w,
                            r < rows ? load_row(a, (i + r) * g->a_ld + p0 + p, k - p)
                                     : _mm512_setzero_si512());
    for (int64_t p = 0, w = 0; p < k && g->a_trans; p += GEMM_FIXED_K, w += GEMM_FIXED_WORDS)
        for (int64_t r = 0; r < padded; r += 16) {
            __m512i x[GEMM_FIXED_WORDS];
            float scale[16];
            int64_t at = (p0 + p) * g->a_ld + i + (r < rows ? r : 0);
            for (int q = 0; q < 16; q++)
                x[q] = weave(a, at + 2 * q * g->a_ld, g->a_ld, k - p - 2 * q, mask16(rows - r));
            fix_columns(x);
            _mm512_storeu_si512(scale, x[16]);
            turn16(x);
            for (int q = 0; q < 16 && q < padded - r; q++) {
                _mm512_storeu_si512(to + (r + q) * WORD_LD + w, x[q]);
                memcpy(to + (r + q) * WORD_LD + w + 16, scale + q, sizeof *scale);
            }
        }
}

/* Panels of b, as cpu_words_panels. */
static void fix_panels(uint32_t *panels, const gemm *g, int64_t p0, int64_t k, int64_t j,
                       int64_t cols)
{
    int64_t apart = gemm_words(g, k) * GEMM_PANEL;
    const source b = {g->b, HPC_BF16, 2};

    for (; cols > GEMM_PANEL && !g->b_trans; cols -= 2 * GEMM_PANEL) {
        fix_two_panels(panels, apart, g, b, p0, k, j, cols);
        j += 2 * GEMM_PANEL, panels += 2 * apart;
    }
    for (; cols > 0; cols -= GEMM_PANEL, j += GEMM_PANEL, panels += apart)
        fix_panel(panels, g, b, p0, k, j, least(GEMM_PANEL, cols));
}
#else
static void fix_rows(uint32_t *to, const gemm *g, int64_t p0, int64_t k, int64_t i, int64_t rows)
{
    (void)to, (void)g, (void)p0, (void)k, (void)i, (void)rows;
}

static void fix_panels(uint32_t *panels, const gemm *g, int64_t p0, int64_t k, int64_t j,
                       int64_t cols)
{
    (void)panels, (void)g, (void)p0, (void)k, (void)j, (void)cols;
}
#endif

/* ---- by type -------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void
pack_rows(uint32_t *to, const gemm *g, source a, int64_t p0, int64_t k, int64_t i, int64_t rows)
{
    int64_t words = gemm_words(g, k), padded = gemm_parts(rows, WORD_ROWS) * WORD_ROWS;

    for (int64_t r = 0; r < padded && !g->a_trans; r++)
        pack_row(to + r * WORD_LD, a, (i + r) * g->a_ld + p0, r < rows ? k : 0, words);
    for (int64_t p = 0; p < words && g->a_trans; p += 16)
        for (int64_t r = 0; r < padded; r += 16)
            pack_square(to + r * WORD_LD + p, g, a, p0 + p * a.word, k - p * a.word,
                        i + (r < rows ? r : 0), rows - r, least(16, padded - r));
}

/* `call` with a type that is known when it is compiled, and how many elements a word has. */
#if defined(__AVX512BF16__)
#define BY_TYPE(type, call)                                                                        \
    do {                                                                                           \
        if ((type) == HPC_F32)                                                                     \
            call(HPC_F32, 2);                                                                      \
        else if ((type) == HPC_BF16)                                                               \
            call(HPC_BF16, 2);                                                                     \
        else                                                                                       \
            call(HPC_I8, 4);                                                                       \
    } while (0)
#elif defined(__AVX512VNNI__)
#define BY_TYPE(type, call) call(HPC_I8, 4)
#else
#define BY_TYPE(type, call) call(HPC_I8, 2)
#endif

void HPC_ISA(cpu_words_panels)(uint32_t *panels, const gemm *g, int64_t p0, int64_t k, int64_t j,
                               int64_t cols)
{
    int64_t words = gemm_words(g, k);

    if (gemm_fixed(g)) {
        fix_panels(panels, g, p0, k, j, cols);
        return;
    }
    if (pack_together(panels, g, p0, k, j, cols)) return;
    for (; cols > 0; cols -= GEMM_PANEL, j += GEMM_PANEL, panels += words * GEMM_PANEL) {
        int64_t wide = least(GEMM_PANEL, cols);
#define PANEL(type, word) pack_panel(panels, g, (source){g->b, type, word}, p0, k, j, wide)
        BY_TYPE(g->b_type, PANEL);
    }
}

void HPC_ISA(cpu_words_rows_of)(uint32_t *to, const gemm *g, int64_t p0, int64_t k, int64_t i,
                                int64_t rows)
{
    if (gemm_fixed(g)) {
        fix_rows(to, g, p0, k, i, rows);
        return;
    }
#define ROWS(type, word) pack_rows(to, g, (source){g->a, type, word}, p0, k, i, rows)
    BY_TYPE(g->a_type, ROWS);
}

void HPC_ISA(cpu_words_row_of)(uint32_t *to, const gemm *g, int64_t p0, int64_t k, int64_t i)
{
#define ROW(type, word)                                                                            \
    pack_row(to, (source){g->a, type, word}, i * g->a_ld + p0, k, gemm_words(g, k))
    BY_TYPE(g->a_type, ROW);
}
