/*
 * gemm_pairs.c: blocks of products of bf16, or f32 rounded to it, with sums in f32, on
 * instructions that take pairs along k: a row of AVX-512 (VDPBF16PS) or a tile
 * of AMX (TDPBF16PS).
 *
 * b is packed into panels of 16 columns as [k/2][16][2], a stays where it is if
 * its rows can be read as pairs. What is missing of the last pair (AMX: of the
 * last 16 pairs) is zeros, which change no sum.
 */
#include "runtime/device/cpu/kernels/gemm.h"

#if defined(__AVX512BF16__)
#include <string.h>

#include "runtime/device/cpu/kernels/pairs.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AMX_BF16__)
enum { TILE_ROWS = 32, SLICES = 1 };
#else
enum { TILE_ROWS = 12, SLICES = 4 };
#endif
enum {
    STEP = GEMM_PAIR_STEP,
    TILE_COLS = 2 * GEMM_PANEL,
    GROUP_ROWS = SLICES * TILE_ROWS, /* that are packed at once */
    A_LD = 2 * GEMM_SLAB + 32        /* rows of packed a start in different cache sets */
};

_Static_assert(GEMM_SLAB % 16 == 0 && GEMM_K <= GEMM_SLAB, "a part is no deeper than a slab");
_Static_assert(GROUP_ROWS % 16 == 0 && GROUP_ROWS * A_LD <= 2 * GEMM_SPARE, "rows of a fit");

typedef uint16_t bf16;

/* ---- packing ------------------------------------------------------------------------------ */

/* An operand: bf16, or f32 that is rounded as it is packed. */
typedef struct source {
    const void *data;
    bool wide;
} source;

/* Elements at .. at+31, those of the mask. */
static inline __attribute__((always_inline)) __m512i load32(source s, int64_t at, __mmask32 mask)
{
    if (!s.wide) return _mm512_maskz_loadu_epi16(mask, (const bf16 *)s.data + at);
    const float *x = (const float *)s.data + at;
    __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, x);
    __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), x + 16);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Elements at .. at+15, those of the mask, each in the low half of a word. */
static inline __attribute__((always_inline)) __m512i load16(source s, int64_t at, __mmask16 mask)
{
    __m256i x =
        s.wide
            ? (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, (const float *)s.data + at))
            : _mm256_maskz_loadu_epi16(mask, (const bf16 *)s.data + at);

    return _mm512_cvtepu16_epi32(x);
}

/* (x[0], y[0]), (x[1], y[1]), ...: the first n <= 16 of the rows at x and, if there is one, y. */
static inline __attribute__((always_inline)) __m512i interleave(source s, int64_t x, int64_t y,
                                                                bool has_y, int64_t n)
{
    __m512i low = load16(s, x, mask16(n));

    return has_y ? _mm512_or_si512(low, _mm512_slli_epi32(load16(s, y, mask16(n)), 16)) : low;
}

/* Rows that are packed across are asked for so many ahead, for no prefetcher of hardware sees a
 * stream in them: as in gemm.c, but it takes less time to pack one. */
enum { AHEAD = 32 };

static inline void ask_for(source s, int64_t at)
{
    __builtin_prefetch(s.wide ? (const char *)((const float *)s.data + at)
                              : (const char *)((const bf16 *)s.data + at));
}

/* Of 16 rows of pairs along k from element `at` on, the pairs p .. p + 15; beyond `rows` and k,
 * zeros. */
static inline __attribute__((always_inline)) void
load_pairs(__m512i r[16], source s, int64_t at, int64_t ld, int64_t rows, int64_t p, int64_t k)
{
    __mmask32 mask = mask32(k - 2 * p);

    for (int i = 0; i < 16; i++)
        r[i] = load32(s, at + (i < rows ? i * ld + 2 * p : 0), i < rows ? mask : 0);
}

/* Of a stored panel [k][16], rows 2 p and 2 p + 1, zeros for those behind k, as pairs. */
static inline __attribute__((always_inline)) __m512i panel_pair(const bf16 *panel, int64_t p,
                                                                int64_t k)
{
    const __m512i order = _mm512_set_epi32(
        0x1f000f, 0x1e000e, 0x1d000d, 0x1c000c, 0x1b000b, 0x1a000a, 0x190009, 0x180008, 0x170007,
        0x160006, 0x150005, 0x140004, 0x130003, 0x120002, 0x110001, 0x100000);
    const bf16 *at = panel + p * 2 * GEMM_PANEL;
    __m512i rows = 2 * p + 1 < k ? _mm512_loadu_si512(at)
                                 : _mm512_maskz_loadu_epi16(mask32(GEMM_PANEL * (k - 2 * p)), at);

    return _mm512_permutexvar_epi16(order, rows);
}

/* Columns j .. j+cols-1 of b and depths p0 .. p0+k-1, as a panel of whole steps. */
static inline __attribute__((always_inline)) void
pack_panel_of(bf16 *panel, const gemm *g, source b, int64_t p0, int64_t k, int64_t j, int64_t cols)
{
    int64_t pairs = (k + STEP - 1) / STEP * (STEP / 2);

    if (g->b_trans && !g->b_panel) {
        for (int64_t p = 0; p < pairs; p += 16) {
            __m512i r[16];
            load_pairs(r, b, j * g->b_ld + p0, g->b_ld, cols, p, k);
            turn16(r);
            for (int i = 0; i < 16 && p + i < pairs; i++)
                _mm512_store_si512(panel + (p + i) * 2 * GEMM_PANEL, r[i]);
        }
        return;
    }
    if (g->b_panel && !b.wide) {
        const bf16 *from = (const bf16 *)b.data + j * g->b_ld + p0 * GEMM_PANEL;
        for (int64_t p = 0; p < pairs; p++)
            _mm512_store_si512(panel + p * 2 * GEMM_PANEL, panel_pair(from, p, k));
        return;
    }
    int64_t ld = g->b_panel ? GEMM_PANEL : g->b_ld;
    int64_t at = g->b_panel ? j * g->b_ld + p0 * GEMM_PANEL : p0 * ld + j;
    for (int64_t p = 0; p < pairs; p++, at += 2 * ld) {
        __m512i row = _mm512_setzero_si512();
        ask_for(b, at + AHEAD * ld);
        ask_for(b, at + (AHEAD + 1) * ld);
        if (2 * p < k) row = interleave(b, at, at + ld, 2 * p + 1 < k, cols);
        _mm512_store_si512(panel + p * 2 * GEMM_PANEL, row);
    }
}

static void pack_panel(bf16 *panel, const gemm *g, int64_t p0, int64_t k, int64_t j, int64_t cols)
{
    if (g->b_type == HPC_F32)
        pack_panel_of(panel, g, (source){g->b, true}, p0, k, j, cols);
    else
        pack_panel_of(panel, g, (source){g->b, false}, p0, k, j, cols);
}

/* Row `row` of a, not transposed, or zeros. */
static inline __attribute__((always_inline)) void pack_row(bf16 *to, source a, int64_t row,
                                                           int64_t k, int64_t steps, bool there)
{
    for (int64_t p = 0; p < steps; p += 32)
        _mm512_storeu_si512(to + p, load32(a, there ? row + p : 0, there ? mask32(k - p) : 0));
}

/* Rows i .. i+rows-1 of op(a), zeros up to whole tiles and the end of the last step. */
static inline __attribute__((always_inline)) void
pack_a_of(bf16 *packed, const gemm *g, source a, int64_t p0, int64_t k, int64_t i, int64_t rows)
{
    int64_t pairs = (k + STEP - 1) / STEP * (STEP / 2), ld = g->a_ld;
    int64_t padded = gemm_parts(rows, TILE_ROWS) * TILE_ROWS;

    for (int64_t r = 0; r < padded && !g->a_trans; r++)
        pack_row(packed + r * A_LD, a, (i + r) * ld + p0, k, 2 * pairs, r < rows);
    for (int64_t p = 0; p < pairs && g->a_trans; p += 16)
        for (int64_t r0 = 0; r0 < padded; r0 += 16) {
            int64_t n = least(16, rows - r0), row = i + (n > 0 ? r0 : 0);
            __m512i r[16];
            for (int q = 0; q < 16; q++) {
                int64_t depth = 2 * (p + q), at = (p0 + (depth < k ? depth : 0)) * ld + row;
                ask_for(a, at + AHEAD * ld);
                ask_for(a, at + (AHEAD + 1) * ld);
                r[q] = interleave(a, at, at + ld, depth + 1 < k, depth < k ? n : 0);
            }
            turn16(r);
            for (int q = 0; q < 16 && r0 + q < padded; q++)
                _mm512_storeu_si512(packed + (r0 + q) * A_LD + 2 * p, r[q]);
        }
}

static void pack_a(bf16 *packed, const gemm *g, int64_t p0, int64_t k, int64_t i, int64_t rows)
{
    if (g->a_type == HPC_F32)
        pack_a_of(packed, g, (source){g->a, true}, p0, k, i, rows);
    else
        pack_a_of(packed, g, (source){g->a, false}, p0, k, i, rows);
}

/* ---- the register tile --------------------------------------------------------------------- */

enum { AHEAD_BYTES = 32 }; /* of what of b comes next, asked for at each pair of k */

#if defined(__AMX_BF16__)

typedef struct tile_shapes { /* as LDTILECFG wants it */
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_shapes;

static void begin_tiles(void)
{
    tile_shapes s = {.palette = 1};

    for (int i = 0; i < 8; i++) s.bytes[i] = 64, s.rows[i] = 16;
    _tile_loadconfig(&s);
}

static void end_tiles(void)
{
    _tile_release();
}

/* c [32,32] = or += a [32,k] times the panels b0 and b1, k in whole steps. */
static void tile(float *c, int64_t c_ld, const bf16 *a, int64_t a_ld, const bf16 *b0,
                 const bf16 *b1, int64_t k, const char *ahead, int rows, bool add)
{
    size_t c_bytes = (size_t)c_ld * sizeof *c, a_bytes = (size_t)a_ld * sizeof *a;
    float *low = c + 16 * c_ld;

    (void)rows, (void)ahead;
    if (add) {
        _tile_loadd(0, c, c_bytes);
        _tile_loadd(1, c + 16, c_bytes);
        _tile_loadd(2, low, c_bytes);
        _tile_loadd(3, low + 16, c_bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t p = 0; p < k; p += STEP) {
        _tile_loadd(4, a + p, a_bytes);
        _tile_loadd(6, b0 + p * GEMM_PANEL, 64);
        _tile_loadd(7, b1 + p * GEMM_PANEL, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + 16 * a_ld + p, a_bytes);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, c, c_bytes);
    _tile_stored(1, c + 16, c_bytes);
    _tile_stored(2, low, c_bytes);
    _tile_stored(3, low + 16, c_bytes);
}

static int tile_height(int64_t rows)
{
    (void)rows;
    return TILE_ROWS;
}

#else

static void begin_tiles(void) {}

static void end_tiles(void) {}

static inline __attribute__((always_inline)) void
tile_rows(float *restrict c, int64_t c_ld, const bf16 *restrict a, int64_t a_ld,
          const bf16 *restrict b0, const bf16 *restrict b1, int64_t k, const char *ahead,
          const int rows, bool add)
{
    __m512 acc[TILE_ROWS][2];

    for (int i = 0; i < rows; i++)
        for (int q = 0; q < 2; q++)
            acc[i][q] = add ? _mm512_loadu_ps(c + i * c_ld + q * GEMM_PANEL) : _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int64_t p = 0; p < k; p += 2) {
        __m512bh x0 = (__m512bh)_mm512_load_si512(b0 + p * GEMM_PANEL);
        __m512bh x1 = (__m512bh)_mm512_load_si512(b1 + p * GEMM_PANEL);
        if (rows == TILE_ROWS) __builtin_prefetch(ahead + p / 2 * AHEAD_BYTES, 0, 2);
        for (int i = 0; i < rows; i++) {
            int32_t pair;
            memcpy(&pair, a + i * a_ld + p, sizeof pair);
            __m512bh s = (__m512bh)_mm512_set1_epi32(pair);
            acc[i][0] = _mm512_dpbf16_ps(acc[i][0], s, x0);
            acc[i][1] = _mm512_dpbf16_ps(acc[i][1], s, x1);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < 2; q++) _mm512_storeu_ps(c + i * c_ld + q * GEMM_PANEL, acc[i][q]);
}

static void tile(float *c, int64_t c_ld, const bf16 *a, int64_t a_ld, const bf16 *b0,
                 const bf16 *b1, int64_t k, const char *ahead, int rows, bool add)
{
    switch (rows) {
    case 1: tile_rows(c, c_ld, a, a_ld, b0, b1, k, ahead, 1, add); break;
    case 2: tile_rows(c, c_ld, a, a_ld, b0, b1, k, ahead, 2, add); break;
    case 4: tile_rows(c, c_ld, a, a_ld, b0, b1, k, ahead, 4, add); break;
    case 8: tile_rows(c, c_ld, a, a_ld, b0, b1, k, ahead, 8, add); break;
    default: tile_rows(c, c_ld, a, a_ld, b0, b1, k, ahead, 12, add); break;
    }
}

static int tile_height(int64_t rows)
{
    return rows <= 1 ? 1 : rows <= 2 ? 2 : rows <= 4 ? 4 : rows <= 8 ? 8 : 12;
}

#endif

/* A tile that reaches over c's edge goes through a buffer. */
static void tile_edge(float *c, int64_t c_ld, const bf16 *a, int64_t a_ld, const bf16 *b0,
                      const bf16 *b1, int64_t k, const char *ahead, int64_t rows, int64_t cols,
                      bool add)
{
    _Alignas(64) float t[TILE_ROWS * TILE_COLS];

    if (add) memset(t, 0, sizeof t);
    for (int64_t i = 0; i < rows && add; i++)
        memcpy(t + i * TILE_COLS, c + i * c_ld, (size_t)cols * sizeof *c);
    tile(t, TILE_COLS, a, a_ld, b0, b1, k, ahead, tile_height(rows), add);
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + i * c_ld, t + i * TILE_COLS, (size_t)cols * sizeof *c);
}

/* ---- the block ------------------------------------------------------------------------------ */

/* Rows of a, as they lie or packed. */
typedef struct a_rows {
    const bf16 *at;
    int64_t ld, rows;
} a_rows;

/* A tile of c that comes next. */
static void ask_for_sums(const float *c, int64_t c_ld, bool there)
{
    for (int i = 0; i < TILE_ROWS && there; i++)
        for (int l = 0; l < TILE_COLS; l += 16) __builtin_prefetch(c + i * c_ld + l, 1);
}

/* c = or += a group's rows times packed panels `stride` elements apart; of each slice's rows, so
 * many columns. Two panels stay in L1 for all slices. */
static void slab(float *c, int64_t c_ld, const a_rows *a, const bf16 *b, int64_t stride, int64_t k,
                 const int64_t cols[SLICES], bool add)
{
    int64_t slices = gemm_parts(a->rows, TILE_ROWS);

    for (int64_t j = 0; j < cols[slices - 1]; j += TILE_COLS) {
        const bf16 *b0 = b + j / GEMM_PANEL * stride;
        for (int64_t q = 0; q < slices; q++) {
            int64_t rows = least(TILE_ROWS, a->rows - q * TILE_ROWS), n = cols[q] - j;
            const bf16 *slice = a->at + q * TILE_ROWS * a->ld;
            float *to = c + q * TILE_ROWS * c_ld + j;
            if (n <= 0) continue;
            /* Where there is no second panel, the first one serves: its results are dropped. */
            const bf16 *b1 = n > GEMM_PANEL ? b0 + stride : b0;
            const bf16 *next = j + TILE_COLS < cols[slices - 1] ? b0 + 2 * stride : b;
            const char *ahead = (const char *)next + q * (k / 2) * AHEAD_BYTES;
            ask_for_sums(q + 1 < slices ? to + TILE_ROWS * c_ld : c + j + TILE_COLS, c_ld,
                         q + 1 < slices || j + TILE_COLS < cols[0]);
            if (rows == tile_height(rows) && n >= TILE_COLS)
                tile(to, c_ld, slice, a->ld, b0, b1, k, ahead, (int)rows, add);
            else
                tile_edge(to, c_ld, slice, a->ld, b0, b1, k, ahead, rows, least(TILE_COLS, n), add);
        }
    }
}

enum { APART = 2048 }; /* rows a multiple of it apart begin in one of L1's sets */

/* Rows i .. of the block times columns j .. of it, whose panels are packed. */
static void group(float *c, int64_t c_ld, const gemm *g, gemm_block at, int64_t i,
                  const gemm_part *b, const bf16 *packed_b, bf16 *packed_a, bool add)
{
    int64_t rows = least(GROUP_ROWS, at.rows - i), needed[SLICES] = {0};
    int64_t steps = (b->k + STEP - 1) / STEP * STEP, last = rows % TILE_ROWS;
    a_rows a = {(const bf16 *)g->a + (at.i + i) * g->a_ld + b->p, g->a_ld, rows};
    bool whole = last == 0 ? rows > 0 : last == tile_height(last);
    bool apart = STEP != 2 || g->a_ld % APART != 0;

    for (int64_t r = 0; r < rows; r += TILE_ROWS)
        needed[r / TILE_ROWS] =
            gemm_cols_needed(g, at, i + r, least(TILE_ROWS, rows - r), b->j - at.j, b->cols);
    if (needed[(rows - 1) / TILE_ROWS] == 0) return; /* lower rows need the most */
    if (g->a_trans || g->a_type != HPC_BF16 || b->k != steps || !whole || !apart) {
        pack_a(packed_a, g, b->p, b->k, at.i + i, rows);
        a.at = packed_a, a.ld = A_LD;
    }
    slab(c, c_ld, &a, packed_b, steps * GEMM_PANEL, steps, needed, add);
}

enum {
    STREAMS = 4,      /* panels at once: sums enough to hide what an addition takes */
    ROW_AHEAD = 2048, /* bytes: so far on, panels are fetched */
    ROW_MOST = 2 * GEMM_K * GEMM_COLS
};

/* c [16 streams] = a row [k], even and padded with a zero, times stored panels `ld` apart. */
static inline __attribute__((always_inline)) void row_panels(float *c, const bf16 *a, const bf16 *b,
                                                             int64_t ld, int64_t k, int64_t cols,
                                                             const int streams)
{
    __m512 acc[STREAMS];

    for (int q = 0; q < streams; q++) acc[q] = _mm512_setzero_ps();
    for (int64_t p = 0; 2 * p < k; p++) {
        int32_t pair;
        memcpy(&pair, a + 2 * p, sizeof pair);
        __m512bh s = (__m512bh)_mm512_set1_epi32(pair);
        for (int q = 0; q < streams; q++) {
            __builtin_prefetch((const char *)(b + q * ld + p * 2 * GEMM_PANEL) + ROW_AHEAD, 0, 2);
            acc[q] = _mm512_dpbf16_ps(acc[q], s, (__m512bh)panel_pair(b + q * ld, p, k));
        }
    }
    for (int q = 0; q < streams; q++)
        _mm512_mask_storeu_ps(c + q * GEMM_PANEL, mask16(cols - q * GEMM_PANEL), acc[q]);
}

/* A single row times panels that lie as they are stored, read once: as fast as memory gives them.
 * On AMX the bits would be others than those of a tile. */
bool HPC_ISA(cpu_pairs_row)(float *c, const gemm *g, gemm_block at, float *scratch)
{
    int64_t ld = g->b_ld * GEMM_PANEL;
    const bf16 *b = (const bf16 *)g->b + at.j * g->b_ld;
    bf16 *a = (bf16 *)scratch;

    if (STEP != 2 || g->b_type != HPC_BF16 || g->k > ROW_MOST) return false;
    for (int64_t p = 0; p < g->k; p += 32)
        _mm512_storeu_si512(a + p, load32((source){g->a, g->a_type == HPC_F32}, at.i * g->a_ld + p,
                                          mask32(g->k - p)));
    for (int64_t j = 0; j < at.cols;) {
        int64_t left = at.cols - j;
        const bf16 *panels = b + j * g->b_ld;
        if (left > (STREAMS - 1) * GEMM_PANEL) {
            row_panels(c + j, a, panels, ld, g->k, left, STREAMS);
            j += STREAMS * GEMM_PANEL;
        } else {
            row_panels(c + j, a, panels, ld, g->k, left, 1);
            j += GEMM_PANEL;
        }
    }
    return true;
}

void HPC_ISA(cpu_pairs_pack)(float *packed, const gemm *g, const gemm_part *b, int64_t from,
                             int64_t cols)
{
    int64_t wide = gemm_parts(b->cols, GEMM_PANEL) * GEMM_PANEL;

    for (int64_t p = 0; p < b->k; p += 2 * GEMM_SLAB) {
        int64_t k = least(2 * GEMM_SLAB, b->k - p), steps = gemm_parts(k, STEP) * STEP;
        bf16 *to = (bf16 *)packed + p * wide;
        for (int64_t j = from; j < from + cols; j += GEMM_PANEL)
            pack_panel(to + j * steps, g, b->p + p, k, b->j + j, least(GEMM_PANEL, b->cols - j));
    }
}

void HPC_ISA(cpu_pairs_rows)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                             const float *packed, gemm_block at, bool add, float *scratch)
{
    int64_t wide = gemm_parts(b->cols, GEMM_PANEL) * GEMM_PANEL;

    begin_tiles();
    for (int64_t i = 0; i < at.rows; i += GROUP_ROWS)
        for (int64_t p = 0; p < b->k; p += 2 * GEMM_SLAB) {
            gemm_part slab = {b->p + p, least(2 * GEMM_SLAB, b->k - p), b->j, b->cols};
            group(c + i * c_ld, c_ld, g, at, i, &slab, (const bf16 *)packed + p * wide,
                  (bf16 *)scratch, add || p > 0);
        }
    end_tiles();
}
#endif
