/*
 * gemm_words.c: blocks of products in pack units of 32 bits along k: bf16, or f32 rounded to it,
 * with f32 sums; i8 with i32 sums. b is packed into panels of 16 columns as [units][16]; a stays in
 * place if its rows can be read as units, which blocks of integers cannot. words.h abstracts the
 * instruction sets.
 */
#include <string.h>

#include "runtime/device/cpu/kernels/pairs.h"
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/words.h"

/* A tile that reaches over c's edge goes through a buffer. */
static void tile_edge(float *c, int64_t c_ld, const word_tile *t, int64_t rows, int64_t cols)
{
    _Alignas(64) float x[WORD_ROWS * WORD_COLS];

    if (t->add) memset(x, 0, sizeof x);
    for (int64_t i = 0; i < rows && t->add; i++)
        memcpy(x + i * WORD_COLS, c + i * c_ld, (size_t)cols * sizeof *c);
    HPC_ISA(cpu_words_tile)(x, WORD_COLS, t, HPC_ISA(cpu_words_height)(rows));
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + i * c_ld, x + i * WORD_COLS, (size_t)cols * sizeof *c);
}

/* ---- the block ------------------------------------------------------------------------------ */

/* A tile of c that comes next. */
static void ask_for_sums(const float *c, int64_t c_ld, bool there)
{
    for (int i = 0; i < WORD_ROWS && there; i++)
        for (int l = 0; l < WORD_COLS; l += 16) __builtin_prefetch(c + i * c_ld + l, 1);
}

/* c = or += a group's rows times packed panels; of each slice's rows, so many columns. Two panels
 * stay in L1 for all slices. */
static void slab(float *c, int64_t c_ld, const word_tile *a, int64_t rows, const uint32_t *b,
                 const int64_t cols[WORD_SLICES])
{
    int64_t slices = gemm_parts(rows, WORD_ROWS), stride = a->words * GEMM_PANEL;
    word_tile t = *a; /* once: a copy in vectors of what was just written waits for all stores */

    for (int64_t j = 0; j < cols[slices - 1]; j += WORD_COLS) {
        const uint32_t *panel = t.b[0] = b + j / GEMM_PANEL * stride;
        const uint32_t *next = j + WORD_COLS < cols[slices - 1] ? panel + WORD_PANELS * stride : b;
        for (int64_t q = 0; q < slices; q++) {
            int64_t height = least(WORD_ROWS, rows - q * WORD_ROWS), n = cols[q] - j;
            float *to = c + q * WORD_ROWS * c_ld + j;
            if (n <= 0) continue;
            /* Where there is no second panel, the first one serves: its results are dropped. */
            t.b[1] = n > GEMM_PANEL ? panel + stride : panel;
            t.a = a->a + q * WORD_ROWS * a->a_ld;
            t.start = a->start ? a->start + q * WORD_ROWS : NULL;
            t.ahead = (const char *)next + q * a->words * WORD_AHEAD;
            ask_for_sums(q + 1 < slices ? to + WORD_ROWS * c_ld : c + j + WORD_COLS, c_ld,
                         q + 1 < slices || j + WORD_COLS < cols[0]);
            if (height == HPC_ISA(cpu_words_height)(height) && n >= WORD_COLS)
                HPC_ISA(cpu_words_tile)(to, c_ld, &t, (int)height);
            else
                tile_edge(to, c_ld, &t, height, least(WORD_COLS, n));
        }
    }
}

/* True if rows of a can be read as units in place: whole steps, whole tiles, and rows that do not
 * all begin in one set of L1. */
static bool as_they_lie(const gemm *g, int64_t k, int64_t rows)
{
    enum { APART = 4096 }; /* bytes */
    int64_t last = rows % WORD_ROWS, step = gemm_word(g) * GEMM_WORD_STEP;
    int64_t ld = g->a_ld * (int64_t)hpc_dtype_get(g->a_type)->block_bytes;
    bool whole = last == 0 ? rows > 0 : last == HPC_ISA(cpu_words_height)(last);
    bool words = (g->a_type == HPC_BF16 && !gemm_fixed(g)) || gemm_word(g) == 4;

    return !g->a_trans && words && whole && k % step == 0 && ld % APART != 0;
}

/* Rows i .. of the block times columns j .. of it, whose panels are packed. */
static void group(float *c, int64_t c_ld, const gemm *g, gemm_block at, int64_t i,
                  const gemm_part *b, const uint32_t *packed_b, uint32_t *packed_a, bool add)
{
    int64_t rows = least(WORD_GROUP, at.rows - i), needed[WORD_SLICES] = {0};
    int64_t size = (int64_t)hpc_dtype_get(g->a_type)->block_bytes;
    int32_t start[WORD_GROUP];
    word_tile t = {.a = (const char *)g->a + ((at.i + i) * g->a_ld + b->p) * size,
                   .a_ld = g->a_ld * size,
                   .words = gemm_words(g, b->k),
                   .add = add,
                   .integers = g->a_type == HPC_I8};

    for (int64_t r = 0; r < rows; r += WORD_ROWS)
        needed[r / WORD_ROWS] =
            gemm_cols_needed(g, at, i + r, least(WORD_ROWS, rows - r), b->j - at.j, b->cols);
    if (needed[(rows - 1) / WORD_ROWS] == 0) return; /* lower rows need the most */
    if (!as_they_lie(g, b->k, rows)) {
        HPC_ISA(cpu_words_rows_of)(packed_a, g, b->p, b->k, at.i + i, rows);
        t.a = (const char *)packed_a;
        t.a_ld = WORD_LD * (int64_t)sizeof *packed_a;
    }
    if (t.integers && WORD_OFFSET != 0) {
        HPC_ISA(cpu_words_start)(start, t.a, t.a_ld, rows, t.words);
        for (int64_t r = rows; r < gemm_parts(rows, WORD_ROWS) * WORD_ROWS; r++) start[r] = 0;
        t.start = start;
    }
    slab(c, c_ld, &t, rows, packed_b, needed);
}

/* Depth of the slabs of so many elements. */
static int64_t slab_of(const gemm *g, int64_t k)
{
    int64_t word = gemm_word(g);

    hpc_assert(word > 0);
    return k > 0 ? gemm_even_part(k, word * WORD_SLAB, word * 16) : word;
}

void HPC_ISA(cpu_words_pack)(float *packed, const gemm *g, const gemm_part *b, int64_t from,
                             int64_t cols)
{
    int64_t wide = gemm_parts(b->cols, GEMM_PANEL) * GEMM_PANEL;
    int64_t deep = slab_of(g, b->k);
    uint32_t *to = (uint32_t *)packed;

    for (int64_t p = 0; p < b->k; p += deep) {
        int64_t k = least(deep, b->k - p), words = gemm_words(g, k);
        for (int64_t j = from; j < from + cols; j += WORD_TOGETHER) {
            int64_t n = least(WORD_TOGETHER, least(from + cols, b->cols) - j);
            HPC_ISA(cpu_words_panels)(to + j * words, g, b->p + p, k, b->j + j, n);
        }
        to += words * wide;
    }
}

void HPC_ISA(cpu_words_rows)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                             const float *packed, gemm_block at, bool add, float *scratch)
{
    int64_t wide = gemm_parts(b->cols, GEMM_PANEL) * GEMM_PANEL, deep = slab_of(g, b->k);

    HPC_ISA(cpu_words_begin)();
    for (int64_t i = 0; i < at.rows; i += WORD_GROUP) {
        const uint32_t *panels = (const uint32_t *)packed;
        for (int64_t p = 0; p < b->k; p += deep) {
            gemm_part slab = {b->p + p, least(deep, b->k - p), b->j, b->cols};
            group(c + i * c_ld, c_ld, g, at, i, &slab, panels, (uint32_t *)scratch, add || p > 0);
            panels += gemm_words(g, slab.k) * wide;
        }
    }
    HPC_ISA(cpu_words_end)();
}

/* ---- a single row --------------------------------------------------------------------------- */

#if defined(__AVX512BF16__)
enum {
    STREAMS = 4,      /* panels at once: sums enough to hide what an addition takes */
    ROW_AHEAD = 2048, /* bytes: so far on, panels are fetched */
    ROW_MOST = 2 * GEMM_K * GEMM_COLS
};

#if defined(__AMX_BF16__)
static inline __m512 widened(const uint16_t *x)
{
    return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)x)),
                                     16);
}

/* c [16 streams] = a row [k] as words times stored panels `ld` apart, with the bits of a tile: of
 * each 16 words a chain of the lower halves and one of the upper ones, their sum, and that added;
 * small numbers are zeros (row_begin). */
static inline __attribute__((always_inline)) void row_panels(float *c, const uint32_t *a,
                                                             const uint16_t *b, int64_t ld,
                                                             int64_t k, int64_t cols,
                                                             const int streams)
{
    int64_t words = gemm_parts(k, 2);
    __m512 acc[STREAMS];

    for (int q = 0; q < streams; q++) acc[q] = _mm512_setzero_ps();
    for (int64_t p = 0; p < words; p += GEMM_WORD_STEP) {
        __m512 chain[2][STREAMS];
        for (int q = 0; q < streams; q++) chain[0][q] = chain[1][q] = _mm512_setzero_ps();
        for (int64_t w = p; w < least(words, p + GEMM_WORD_STEP); w++) {
            __m512 low = (__m512)_mm512_set1_epi32((int)(a[w] << 16));
            __m512 high = (__m512)_mm512_set1_epi32((int)(a[w] & 0xffff0000));
            for (int q = 0; q < streams; q++) {
                const uint16_t *from = b + q * ld + 2 * w * GEMM_PANEL;
                __builtin_prefetch((const char *)from + ROW_AHEAD, 0, 2);
                chain[0][q] = _mm512_fmadd_ps(low, widened(from), chain[0][q]);
                if (2 * w + 1 == k) continue;
                chain[1][q] = _mm512_fmadd_ps(high, widened(from + GEMM_PANEL), chain[1][q]);
            }
        }
        for (int q = 0; q < streams; q++)
            acc[q] = _mm512_add_ps(acc[q], _mm512_add_ps(chain[0][q], chain[1][q]));
    }
    for (int q = 0; q < streams; q++)
        _mm512_mask_storeu_ps(c + q * GEMM_PANEL, mask16(cols - q * GEMM_PANEL), acc[q]);
}

static unsigned row_begin(void)
{
    enum { FLUSH = 0x8000, DENORMALS_ARE_ZERO = 0x40 };
    unsigned before = _mm_getcsr();

    _mm_setcsr(before | FLUSH | DENORMALS_ARE_ZERO);
    return before;
}

static void row_end(unsigned before)
{
    _mm_setcsr(before);
}
#else
/* c [16 streams] = a row [k] as words times stored panels `ld` apart. */
static inline __attribute__((always_inline)) void row_panels(float *c, const uint32_t *a,
                                                             const uint16_t *b, int64_t ld,
                                                             int64_t k, int64_t cols,
                                                             const int streams)
{
    __m512 acc[STREAMS];

    for (int q = 0; q < streams; q++) acc[q] = _mm512_setzero_ps();
    for (int64_t p = 0; 2 * p < k; p++) {
        __m512bh s = (__m512bh)_mm512_set1_epi32((int)a[p]);
        for (int q = 0; q < streams; q++) {
            __builtin_prefetch((const char *)(b + q * ld + p * 2 * GEMM_PANEL) + ROW_AHEAD, 0, 2);
            acc[q] = _mm512_dpbf16_ps(acc[q], s, (__m512bh)panel_pair(b + q * ld, p, k));
        }
    }
    for (int q = 0; q < streams; q++)
        _mm512_mask_storeu_ps(c + q * GEMM_PANEL, mask16(cols - q * GEMM_PANEL), acc[q]);
}

static unsigned row_begin(void)
{
    return 0;
}

static void row_end(unsigned before)
{
    (void)before;
}
#endif

/* A single row times stored panels, each read once at memory bandwidth. */
bool HPC_ISA(cpu_words_row)(float *c, const gemm *g, gemm_block at, float *scratch)
{
    int64_t ld = g->b_ld * GEMM_PANEL;
    const uint16_t *b = (const uint16_t *)g->b + at.j * g->b_ld;
    uint32_t *a = (uint32_t *)scratch;

    if (g->b_type != HPC_BF16 || g->k > ROW_MOST) return false;
    HPC_ISA(cpu_words_row_of)(a, g, 0, g->k, at.i);
    unsigned before = row_begin();
    for (int64_t j = 0; j < at.cols;) {
        int64_t left = at.cols - j;
        const uint16_t *panels = b + j * g->b_ld;
        if (left > (STREAMS - 1) * GEMM_PANEL) {
            row_panels(c + j, a, panels, ld, g->k, left, STREAMS);
            j += STREAMS * GEMM_PANEL;
        } else {
            row_panels(c + j, a, panels, ld, g->k, left, 1);
            j += GEMM_PANEL;
        }
    }
    row_end(before);
    return true;
}
#else
bool HPC_ISA(cpu_words_row)(float *c, const gemm *g, gemm_block at, float *scratch)
{
    (void)c, (void)g, (void)at, (void)scratch;
    return false;
}
#endif
