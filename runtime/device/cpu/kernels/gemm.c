/*
 * gemm.c: blocks of f32 products, with a register tile in plain C over the compiler's
 * vector types.
 *
 * b is packed (and dequantised) into panels of 16 columns, at most GEMM_SLAB deep, that
 * are read from the last-level cache. A panel stays in L1 while it is multiplied with
 * the rows of several tiles; these rows, packed in their order, stay in L2 for all
 * panels. Few rows use smaller blocks of b, which stay in L1: the same chains of
 * additions, split elsewhere.
 */
#include <string.h>

#include "runtime/device/cpu/kernels/gemm_tile.h"
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/words.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum {
    FEW_ROWS = 8,   /* at most so many: blocks of b that stay in L1 */
    FEW_DEPTH = 32, /* ... this deep where b's rows run along n */
    FEW_COLS = 32   /* ... this wide where they run along k */
};

/* c + a b. Left to the compiler, whether it fuses the two may differ from one height of tile to
 * the next, and with it a row's bits; the baseline has nothing to fuse with. */
static inline __attribute__((always_inline)) vec multiply_add(vec c, vec a, vec b)
{
#if defined(__AVX512F__)
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return c + a * b;
#endif
}

enum {
    TILE_M = 768,          /* so many rows share a packed block of b */
    STRIPS_PER_WORKER = 16 /* with fewer, packing b for each worker costs more than narrow tiles */
};

/* ---- the register tile ------------------------------------------------------ */

/* Lines of a's columns that are packed while tiles of others are multiplied. Between tiles, loads
 * that wait for memory and what they push out of L1 cost a twelfth of a product of few columns. */
typedef struct lines {
    const char *from;
    int64_t row; /* bytes from one to the next */
    float *to;
    int64_t left;
} lines;

enum { LINE_STEPS = 32 }; /* of k, that are multiplied for each */

typedef struct packed_rows {
    float *at;
    int64_t ld; /* not 0: not packed; read in place with this row distance */
    bool trans;
    bool first;        /* the sums begin here; otherwise they continue from c */
    const char *ahead; /* data that follows, as much as a tile has time to prefetch: ... */
    int64_t stride;    /* ... so many bytes for each step of k */
    lines *next;       /* or NULL; of columns, packed */
} packed_rows;

enum { AHEAD_BYTES = 32 }; /* `stride` in what is packed of b */

/* acc += `rows` rows of a times panels b0, b1 of [*,16], for p .. end - 1 of k. */
static inline __attribute__((always_inline)) void
steps(vec acc[][PANELS][VECTORS], const packed_rows *s, const float *restrict b0,
      const float *restrict b1, int64_t p, int64_t end, const int rows, const bool trans,
      const bool lies)
{
    const float *restrict a = s->at;
    const char *ahead = s->ahead;
    const int64_t stride = s->stride;
    const int64_t row_ld = trans ? 1 : lies ? s->ld : ROW_LD;
    const int64_t ld = !trans ? 1 : lies ? s->ld : TRANS_LD;

#pragma GCC unroll 4
    for (; p < end; p++) {
        /* In this order no compiler needs more registers than there are: one splat at a time. */
        vec bv[PANELS][VECTORS];
        for (int q = 0; q < PANELS; q++)
            for (int v = 0; v < VECTORS; v++)
                bv[q][v] = *(const vec_any *)((q == 0 ? b0 : b1) + p * GEMM_PANEL + v * LANES);
        if (PANELS > 1 && rows == TILE_ROWS) __builtin_prefetch(ahead + p * stride, 0, 2);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            vec av = a[i * row_ld + p * ld] - (vec){0};
            for (int q = 0; q < PANELS; q++)
                for (int v = 0; v < VECTORS; v++)
                    acc[i][q][v] = multiply_add(acc[i][q][v], av, bv[q][v]);
        }
    }
}

static inline __attribute__((always_inline)) void pack_next(lines *n)
{
    enum { AHEAD = 4 };

    for (size_t i = 0; i < COLUMNS_BYTES; i += HPC_ALIGN)
        __builtin_prefetch(n->from + AHEAD * n->row + i);
    gemm_pack_line(n->to, n->from);
    n->from += n->row;
    n->to += TRANS_LD;
    n->left--;
}

/* c [rows,TILE_COLS] (+)= a times the panels b[0], b[1], ... of [k,16]. */
static inline __attribute__((always_inline)) void
tile_rows(float *restrict c, int64_t c_ld, const packed_rows *s, const float *const *b, int64_t k,
          const int rows, const bool trans, const bool lies)
{
    const bool packs = LANES == 16 && rows == TILE_ROWS && trans && !lies;
    const float *b0 = b[0], *b1 = b[PANELS - 1];
    vec acc[TILE_ROWS][PANELS][VECTORS];

    /* Unrolled before all else: loops leave the sums in memory before and after their own. */
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < PANELS; q++)
            for (int v = 0; v < VECTORS; v++) acc[i][q][v] = (vec){0};
    if (!s->first)
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
            for (int q = 0; q < PANELS; q++)
                for (int v = 0; v < VECTORS; v++)
                    acc[i][q][v] = *(const vec_any *)(c + i * c_ld + q * GEMM_PANEL + v * LANES);
    if (packs && s->next) {
        lines next = *s->next;
        for (int64_t p = 0, end; p < k; p = end) {
            end = least(k, p + LINE_STEPS);
            if (next.left > 0) pack_next(&next);
            steps(acc, s, b0, b1, p, end, rows, trans, lies);
        }
        *s->next = next;
    } else {
        steps(acc, s, b0, b1, 0, k, rows, trans, lies);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < PANELS; q++)
            for (int v = 0; v < VECTORS; v++)
                *(vec_any *)(c + i * c_ld + q * GEMM_PANEL + v * LANES) = acc[i][q][v];
}

static inline __attribute__((always_inline)) void
tile_of(float *c, int64_t c_ld, const packed_rows *a, const float *const *b, int64_t k, int rows,
        const bool trans, const bool lies)
{
    switch (rows) {
    case 1: tile_rows(c, c_ld, a, b, k, 1, trans, lies); break;
    case 2: tile_rows(c, c_ld, a, b, k, 2, trans, lies); break;
#if defined(__AVX2__) || defined(__aarch64__)
    case 4: tile_rows(c, c_ld, a, b, k, 4, trans, lies); break;
    case 6: tile_rows(c, c_ld, a, b, k, 6, trans, lies); break;
#endif
#if defined(__AVX512F__)
    case 8: tile_rows(c, c_ld, a, b, k, 8, trans, lies); break;
    case 12: tile_rows(c, c_ld, a, b, k, 12, trans, lies); break;
#endif
    }
}

/* Functions of their own: where a compiler finds registers for all at once, it spills some of the
 * inner loops'. */
#define TILES(name, trans, lies)                                                                   \
    static __attribute__((noinline)) void name(float *c, int64_t c_ld, const packed_rows *a,       \
                                               const float *const *b, int64_t k, int rows)         \
    {                                                                                              \
        tile_of(c, c_ld, a, b, k, rows, trans, lies);                                              \
    }
TILES(tile_packed, false, false)
TILES(tile_packed_columns, true, false)
TILES(tile_lying, false, true)
TILES(tile_lying_columns, true, true)

static void tile(float *c, int64_t c_ld, const packed_rows *a, const float *const *b, int64_t k,
                 int rows)
{
    if (a->ld == 0 && !a->trans)
        tile_packed(c, c_ld, a, b, k, rows);
    else if (a->ld == 0)
        tile_packed_columns(c, c_ld, a, b, k, rows);
    else if (!a->trans)
        tile_lying(c, c_ld, a, b, k, rows);
    else
        tile_lying_columns(c, c_ld, a, b, k, rows);
}

/* A tile that reaches over c's edge goes through a buffer. */
static void tile_edge(float *c, int64_t c_ld, const packed_rows *a, const float *const *b,
                      int64_t k, int rows, int cols)
{
    _Alignas(64) float t[TILE_ROWS * TILE_COLS];

    memset(t, 0, sizeof t);
    for (int i = 0; i < rows && !a->first; i++)
        memcpy(t + i * TILE_COLS, c + i * c_ld, (size_t)cols * sizeof *c);
    tile(t, TILE_COLS, a, b, k, tile_height(rows));
    for (int i = 0; i < rows; i++)
        memcpy(c + i * c_ld, t + i * TILE_COLS, (size_t)cols * sizeof *c);
}

/* ---- the block --------------------------------------------------------------- */

/* c [rows,..] (+)= packed rows of k times panels that are `stride` floats apart; of each slice's
 * rows, so many columns. */
static void slab(float *c, int64_t c_ld, const packed_rows *a, int64_t step, const float *b,
                 int64_t stride, int64_t k, int64_t rows, const int64_t cols[SLICES])
{
    int64_t slices = gemm_parts(rows, TILE_ROWS);

    for (int64_t j = 0; j < cols[slices - 1]; j += TILE_COLS) {
        packed_rows slice = *a;
        slice.stride = AHEAD_BYTES;
        for (int64_t q = 0; q < slices; q++, slice.at += step) {
            int height = (int)least(TILE_ROWS, rows - q * TILE_ROWS);
            float *to = c + q * TILE_ROWS * c_ld + j;
            if (j >= cols[q]) continue;
            /* Where there is no second panel, the first one serves: its results are dropped. */
            const float *first = b + j / GEMM_PANEL * stride;
            const float *panel[2] = {first, cols[q] - j > GEMM_PANEL ? first + stride : first};
            const float *next = q + 1 < slices ? to + TILE_ROWS * c_ld : c + j + TILE_COLS;
            bool last = j + TILE_COLS >= cols[slices - 1];
            slice.ahead = (const char *)(last ? b : first + PANELS * stride) + q * k * AHEAD_BYTES;
            for (int i = 0; i < TILE_ROWS && (q + 1 < slices || j + TILE_COLS < cols[0]); i++)
                for (int l = 0; l < TILE_COLS; l += 16) __builtin_prefetch(next + i * c_ld + l, 1);
            if (height == tile_height(height) && cols[q] - j >= TILE_COLS)
                tile(to, c_ld, &slice, panel, k, height);
            else
                tile_edge(to, c_ld, &slice, panel, k, height, (int)least(TILE_COLS, cols[q] - j));
        }
    }
}

/* Variant for all columns, with c's transpose in c. next: the data multiplied next, of `bytes`
 * bytes; all tiles together prefetch it. */
static void slab_turned(float *c, int64_t c_ld, const packed_rows *a, int64_t step, const float *b,
                        int64_t stride, int64_t k, int64_t rows, int64_t cols, const char *next,
                        int64_t bytes)
{
    enum { LINE = HPC_ALIGN / sizeof(float), EACH = TILE_COLS / SLICES };
    _Alignas(HPC_ALIGN) float t[SLICES * TILE_ROWS * TILE_COLS];
    int64_t slices = gemm_parts(rows, TILE_ROWS);
    packed_rows slice = *a;

    slice.ahead = next;
    slice.stride = gemm_parts(bytes, gemm_parts(cols, TILE_COLS) * slices * k);
    for (int64_t j = 0; j < cols; j += TILE_COLS) {
        int64_t wide = least(TILE_COLS, cols - j);
        const float *first = b + j / GEMM_PANEL * stride;
        const float *panel[2] = {first, wide > GEMM_PANEL ? first + stride : first};
        if (!a->first) HPC_ISA(cpu_transpose)(t, TILE_COLS, c + j * c_ld, c_ld, wide, rows);
        for (int64_t q = 0; q < slices; q++, slice.ahead += k * slice.stride) {
            slice.at = a->at + q * step;
            for (int64_t r = q * EACH; r < least((q + 1) * EACH, wide); r++)
                for (int64_t i = 0; i < rows; i += LINE)
                    __builtin_prefetch(c + (j + r) * c_ld + i, 1);
            tile(t + q * TILE_ROWS * TILE_COLS, TILE_COLS, &slice, panel, k,
                 tile_height(rows - q * TILE_ROWS));
        }
        HPC_ISA(cpu_transpose)(c + j * c_ld, c_ld, t, TILE_COLS, rows, wide);
    }
}

/* True if the tiles of n rows of a are read faster in place than packed. That holds in a small
 * piece of memory. It also holds along rows that do not all begin in one or two sets of L1, or if
 * these sets have as many ways as a tile has rows (measured on Intel's cores only). */
static bool as_it_lies(const gemm *g, int64_t n)
{
    enum { NEAR = 16384, APART = 512 }; /* floats */
    bool wide = g->cpu->intel && g->cpu->l1_ways >= TILE_ROWS, apart = wide || g->a_ld % APART != 0;
    bool exact = n % TILE_ROWS == 0 || tile_height(n % TILE_ROWS) == n % TILE_ROWS;

    if (g->a_type != HPC_F32 || g->halves || !exact) return false;
    return g->k * g->a_ld <= NEAR || (!g->a_trans && apart);
}

/* Rows i .. i+n-1 of block `at`, from depth p0 on, as tiles read them: where they lie, or packed.
 * Returns the floats from one slice to the next. */
static int64_t find_rows(packed_rows *a, const gemm *g, gemm_block at, int64_t p0, int64_t k,
                         int64_t i, int64_t n)
{
    int64_t there = at.i + at.rows > g->a_rows ? at.i + at.rows : g->a_rows;

    i += at.i;
    if (as_it_lies(g, n)) {
        a->at = (float *)g->a + (a->trans ? p0 * g->a_ld + i : i * g->a_ld + p0);
        a->ld = g->a_ld;
        return a->trans ? TILE_ROWS : TILE_ROWS * g->a_ld;
    }
    if (a->trans)
        HPC_ISA(cpu_gemm_pack_columns)(a->at, g, p0, k, i, there - i, n);
    else
        HPC_ISA(cpu_gemm_pack_rows)(a->at, g, p0, k, i, n);
    return SLICE;
}

/* The same of rows that may have been packed ahead; and the next ones, if there are so many, are to
 * be. `next` outlives what is multiplied. */
static int64_t find_ahead(packed_rows *a, lines *next, gemm_ahead *ahead, const gemm *g,
                          gemm_block at, int64_t p0, int64_t k, int64_t i, int64_t n)
{
    enum { ROWS = SLICES * TILE_ROWS };
    const gemm_ahead was = *ahead;
    int64_t first = at.i + i, there = g->a_rows - first;

    *ahead = (gemm_ahead){.half = !was.half};
    if (!gemm_packs_ahead(g) || as_it_lies(g, n)) return find_rows(a, g, at, p0, k, i, n);
    float *other = a->at + !was.half * HALF;
    a->at += was.half * HALF;
    float *rest = a->at + was.done * TRANS_LD;
    if (was.rows < n || was.i != first || was.p != p0 || was.k != k)
        find_rows(a, g, at, p0, k, i, n);
    else
        HPC_ISA(cpu_gemm_pack_columns)(rest, g, p0 + was.done, k - was.done, first, there, ROWS);
    if (there < n + ROWS) return SLICE;
    *ahead = (gemm_ahead){.i = first + n, .rows = ROWS, .p = p0, .k = k, .half = !was.half};
    *next = (lines){.from = gemm_element(g->a, g->a_type, p0 * g->a_ld + ahead->i),
                    .row = g->a_ld * (int64_t)sizeof(float),
                    .to = other,
                    .left = k};
    a->next = next;
    return SLICE;
}

/* n rows of c (+)= rows of a, from depth p of the part on, times one packed slab. */
static void rows_by_slab(float *c, int64_t c_ld, const gemm *g, const gemm_part *b, int64_t p,
                         const float *packed, gemm_block at, int64_t i, int64_t n, packed_rows a,
                         gemm_ahead *ahead)
{
    int64_t k = least(GEMM_SLAB, b->k - p), p0 = b->p + p, needed[SLICES] = {0};
    int64_t stride = k * GEMM_PANEL;

    packed += p * gemm_parts(b->cols, GEMM_PANEL) * GEMM_PANEL;
    if (gemm_is_direct(g)) {
        packed = (const float *)g->b + b->j * g->b_ld + p0 * GEMM_PANEL;
        stride = g->b_ld * GEMM_PANEL;
    }
    for (int64_t r = 0; r < n; r += TILE_ROWS)
        needed[r / TILE_ROWS] =
            gemm_cols_needed(g, at, i + r, least(TILE_ROWS, n - r), b->j - at.j, b->cols);
    if (needed[(n - 1) / TILE_ROWS] == 0) return; /* lower rows need the most */
    lines next = {0};
    int64_t step = ahead && b->k <= AHEAD_K ? find_ahead(&a, &next, ahead, g, at, p0, k, i, n)
                                            : find_rows(&a, g, at, p0, k, i, n);
    a.first = a.first && p == 0;
    slab(c, c_ld, &a, step, packed, stride, k, n, needed);
    if (a.next) ahead->done = k - next.left;
}

static packed_rows rows_in(float *scratch, const gemm *g, bool add)
{
    return (packed_rows){
        .at = scratch + GEMM_PANEL * GEMM_SLAB, .trans = g->a_trans, .first = !add};
}

void HPC_ISA(cpu_gemm_rows)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                            const float *packed, gemm_block at, bool add, gemm_ahead *ahead,
                            float *scratch)
{
    packed_rows a = rows_in(scratch, g, add);

    if (gemm_word(g)) {
        HPC_ISA(cpu_words_rows)(c, c_ld, g, b, packed, at, add, scratch);
        return;
    }
    for (int64_t i = 0, n; i < at.rows; i += n) {
        n = least(SLICES * TILE_ROWS, at.rows - i);
        for (int64_t p = 0; p < b->k; p += GEMM_SLAB)
            rows_by_slab(c + i * c_ld, c_ld, g, b, p, packed, at, i, n, a, ahead);
    }
}

void HPC_ISA(cpu_gemm_turned)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                              const float *packed, gemm_block at, bool add, float *scratch)
{
    int64_t row = g->a_ld * (int64_t)hpc_dtype_get(g->a_type)->block_bytes;

    for (int64_t i = 0, n; i < at.rows; i += n) {
        n = least(SLICES * TILE_ROWS, at.rows - i);
        packed_rows a = rows_in(scratch, g, add);
        int64_t step = find_rows(&a, g, at, b->p, b->k, i, n);
        int64_t end = at.i + i + n, more = least(n, g->a_rows - end);
        bool all = !g->a_trans && b->k == g->a_ld && more > 0; /* next rows are in one piece */
        slab_turned(c + i, c_ld, &a, step, packed, b->k * GEMM_PANEL, b->k, n, b->cols,
                    all ? (const char *)g->a + end * row : (const char *)packed,
                    all ? more * row : 0);
    }
}

/* A single row times stored panels. */
static bool one_row(float *c, const gemm *g, gemm_block at, bool add, float *scratch)
{
    gemm row = *g;

    if (at.rows != 1 || !g->b_panel || add || g->a_trans || g->lower) return false;
    if (gemm_word(g)) return HPC_ISA(cpu_words_row)(c, g, at, scratch);
    if (g->halves && (g->b_type == HPC_F32 || g->k > GEMM_K * GEMM_COLS)) return false;
    if (g->halves && g->a_type == HPC_F32) {
        memcpy(scratch, (const float *)g->a + at.i * g->a_ld, (size_t)g->k * sizeof *scratch);
        HPC_ISA(cpu_gemm_round)(scratch, g->k);
        row.a = scratch;
        at.i = 0;
    }
    return HPC_WIDTH(cpu_gemm_row)(c, &row, at.i, at.j, at.cols);
}

void HPC_ISA(cpu_gemm)(float *c, int64_t c_ld, const gemm *g, gemm_block at, bool add,
                       float *scratch)
{
    int word = gemm_word(g);
    bool few = at.rows <= FEW_ROWS;
    int64_t depth = word                                       ? word * GEMM_K
                    : few && !g->b_trans && !gemm_is_direct(g) ? FEW_DEPTH
                                                               : GEMM_K;
    int64_t width = few && (word || g->b_trans) ? FEW_COLS : word ? GEMM_WORD_COLS : GEMM_COLS;
    float *packed = scratch, *spare = scratch + GEMM_K * GEMM_COLS;

    if (one_row(c, g, at, add, scratch)) return;
    for (int64_t i = 0; i < at.rows && !add && g->k == 0; i++)
        memset(c + i * c_ld, 0, (size_t)at.cols * sizeof *c);
    for (int64_t p = 0; p < g->k; p += depth) {
        for (int64_t j = 0; j < at.cols; j += width) {
            gemm_part b = {p, least(depth, g->k - p), at.j + j, least(width, at.cols - j)};
            HPC_ISA(cpu_gemm_pack)(packed, g, &b, 0, b.cols, spare);
            HPC_ISA(cpu_gemm_rows)(c + j, c_ld, g, &b, packed, at, add || p > 0, NULL, spare);
        }
    }
}

/* ---- tasks ------------------------------------------------------------------- */

gemm_tiles HPC_ISA(cpu_gemm_tiles)(const gemm *g, int64_t batch, int64_t m, int64_t n, int workers)
{
    bool words = gemm_word(g) != 0;
    gemm_tiles t = {.strip = words ? GEMM_WORD_ROWS : GEMM_ROWS, .lower = g->lower};
    int64_t strips = gemm_parts(m, t.strip), most = words ? GEMM_WORD_COLS : GEMM_COLS;

    if (m == 0 || n == 0) return t;
    do {
        t.n = gemm_even_part(n, most, GEMM_TILE_GRAIN);
        most = t.n / 2;
    } while (workers > 1 && t.n > GEMM_TILE_GRAIN &&
             batch * strips * gemm_parts(n, t.n) < STRIPS_PER_WORKER * (int64_t)workers);
    t.m = gemm_even_part(m, TILE_M, t.strip);
    return t;
}
