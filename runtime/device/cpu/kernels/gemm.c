/*
 * gemm.c: blocks of f32 products: packing of a and b, and a register tile that
 * is plain C over the compiler's vector types.
 *
 * b is packed (and dequantised) into panels of 16 columns, GEMM_SLAB deep at most, that are
 * read from the last cache: a panel stays in L1 while the rows of several tiles
 * are multiplied with it, and these, packed as they lie, stay in L2 for all
 * panels. Few rows take smaller blocks of b, which stay in L1: the same chains
 * of additions, only cut elsewhere.
 */
#include <string.h>

#include "runtime/device/cpu/kernels/gemm.h"
#include "runtime/device/cpu/kernels/pairs.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* A tile of TILE_ROWS x TILE_COLS accumulators, a row of b and one splat fill the registers. */
#if defined(__AVX512F__)
enum { LANES = 16, TILE_ROWS = 12, PANELS = 2 };
#elif defined(__AVX2__)
enum { LANES = 8, TILE_ROWS = 6, PANELS = 1 };
#elif defined(__aarch64__)
enum { LANES = 4, TILE_ROWS = 6, PANELS = 1 };
#else
enum { LANES = 4, TILE_ROWS = 2, PANELS = 1 };
#endif
enum {
    VECTORS = GEMM_PANEL / LANES, /* in a row of a panel */
    TILE_COLS = PANELS * GEMM_PANEL,
    FEW_ROWS = 8,   /* at most so many: blocks of b that stay in L1 */
    FEW_DEPTH = 32, /* ... this deep where b's rows run along n */
    FEW_COLS = 32   /* ... this wide where they run along k */
};

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));
typedef float vec_any __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

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

typedef float vec4 __attribute__((vector_size(16)));
typedef float vec4_any __attribute__((vector_size(16), aligned(4), may_alias));

enum {
    TILE_M = 768,          /* so many rows share a packed block of b */
    STRIPS_PER_WORKER = 16 /* with fewer, packing b for each worker costs more than narrow tiles */
};

/* ---- the register tile ------------------------------------------------------ */

/* A packed slice of op(a), a tile high: element (i,p) at i * ROW_LD + p, or where a is stored
 * transposed at p * TRANS_LD + i. Rows are not a multiple of L1's sets apart. */
enum {
    ROW_LD = GEMM_SLAB + 16,
    TRANS_LD = TILE_ROWS > 8 ? 16 : 8,
    SLICE = TILE_ROWS * ROW_LD > TRANS_LD *GEMM_SLAB ? TILE_ROWS *ROW_LD : TRANS_LD *GEMM_SLAB,
    SLICES = 4 /* that are packed at once */
};

_Static_assert(GEMM_SPARE >= SLICES * SLICE + GEMM_PANEL * GEMM_SLAB, "packed a fits the scratch");

typedef struct packed_rows {
    float *at;
    int64_t ld; /* not 0: not packed at all, but read as they lie, with this distance */
    bool trans;
    bool first;        /* the sums begin here; else they go on from c */
    const char *ahead; /* what of b comes next, as much as a tile has time to ask for */
} packed_rows;

enum { AHEAD_BYTES = 32 }; /* of `ahead` for each step of k */

/* c [rows,TILE_COLS] (+)= a times the panels b[0], b[1], ... of [k,16]. */
static inline __attribute__((always_inline)) void
tile_rows(float *restrict c, int64_t c_ld, const packed_rows *s, const float *const *b, int64_t k,
          const int rows, const bool trans, const bool lies)
{
    const float *restrict a = s->at, *restrict b0 = b[0], *restrict b1 = b[PANELS - 1];
    const char *ahead = s->ahead;
    const int64_t row_ld = trans ? 1 : lies ? s->ld : ROW_LD;
    const int64_t ld = !trans ? 1 : lies ? s->ld : TRANS_LD;
    vec acc[TILE_ROWS][PANELS][VECTORS];

    for (int i = 0; i < rows; i++)
        for (int q = 0; q < PANELS; q++)
            for (int v = 0; v < VECTORS; v++) acc[i][q][v] = (vec){0};
    for (int i = 0; i < rows && !s->first; i++)
        for (int q = 0; q < PANELS; q++)
            for (int v = 0; v < VECTORS; v++)
                acc[i][q][v] = *(const vec_any *)(c + i * c_ld + q * GEMM_PANEL + v * LANES);
#pragma GCC unroll 4
    for (int64_t p = 0; p < k; p++) {
        /* In this order no compiler needs more registers than there are: one splat at a time. */
        vec bv[PANELS][VECTORS];
        for (int q = 0; q < PANELS; q++)
            for (int v = 0; v < VECTORS; v++)
                bv[q][v] = *(const vec_any *)((q == 0 ? b0 : b1) + p * GEMM_PANEL + v * LANES);
        if (PANELS > 1 && rows == TILE_ROWS) __builtin_prefetch(ahead + p * AHEAD_BYTES, 0, 2);
        for (int i = 0; i < rows; i++) {
            vec av = a[i * row_ld + p * ld] - (vec){0};
            for (int q = 0; q < PANELS; q++)
                for (int v = 0; v < VECTORS; v++)
                    acc[i][q][v] = multiply_add(acc[i][q][v], av, bv[q][v]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int q = 0; q < PANELS; q++)
            for (int v = 0; v < VECTORS; v++)
                *(vec_any *)(c + i * c_ld + q * GEMM_PANEL + v * LANES) = acc[i][q][v];
}

/* One copy of the loop for each number of rows worth having; what comes of a's spare rows is
 * dropped. */
static int tile_height(int64_t rows)
{
    static const int height[] = {1, 2, 4, 6, 8, 12};
    int h = 0;

    while (height[h] < rows && height[h] < TILE_ROWS) h++;
    return height[h];
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

static void tile(float *c, int64_t c_ld, const packed_rows *a, const float *const *b, int64_t k,
                 int rows)
{
    if (a->ld == 0 && !a->trans)
        tile_of(c, c_ld, a, b, k, rows, false, false);
    else if (a->ld == 0)
        tile_of(c, c_ld, a, b, k, rows, true, false);
    else if (!a->trans)
        tile_of(c, c_ld, a, b, k, rows, false, true);
    else
        tile_of(c, c_ld, a, b, k, rows, true, true);
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

/* ---- packing ---------------------------------------------------------------- */

/* Short runs, for which a call or a string instruction takes too long. */
static inline __attribute__((always_inline)) void copy(float *restrict dst,
                                                       const float *restrict src, int64_t n)
{
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES) *(vec_any *)(dst + i) = *(const vec_any *)(src + i);
    for (; i < n; i++) dst[i] = src[i];
}

#if defined(__F16C__)
static void widen_f16(float *restrict dst, const uint16_t *restrict src, int64_t n)
{
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(src + i))));
    for (; i < n; i++) dst[i] = hpc_f16_to_f32(src[i]);
}
#else
static void widen_f16(float *restrict dst, const uint16_t *restrict src, int64_t n)
{
    hpc_to_f32(dst, src, HPC_F16, n);
}
#endif

static void convert(float *restrict dst, const void *restrict src, hpc_dtype from, int64_t n)
{
    if (from == HPC_F32) {
        copy(dst, src, n);
    } else if (from == HPC_BF16) {
        widen(dst, src, n);
    } else if (from == HPC_F16) {
        widen_f16(dst, src, n);
    } else {
        hpc_to_f32(dst, src, from, n);
    }
}

#if defined(__AVX512F__)

void HPC_ISA(cpu_transpose)(float *restrict dst, int64_t dst_ld, const float *restrict src,
                            int64_t src_ld, int64_t rows, int64_t cols)
{
    for (int64_t r0 = 0; r0 < rows; r0 += 16) {
        int64_t n = least(16, rows - r0);
        for (int64_t c0 = 0; c0 < cols; c0 += 16) {
            __mmask16 mask = mask16(cols - c0), out = mask16(n);
            __m512i r[16];
            for (int i = 0; i < 16; i++)
                r[i] = _mm512_maskz_loadu_epi32(i < n ? mask : 0,
                                                src + (r0 + (i < n ? i : 0)) * src_ld + c0);
            turn16(r);
            for (int i = 0; i < 16 && c0 + i < cols; i++)
                _mm512_mask_storeu_epi32(dst + (c0 + i) * dst_ld + r0, out, r[i]);
        }
    }
}

#else

#if defined(__AVX2__)
static void transpose8(float *dst, int64_t dst_ld, const float *src, int64_t src_ld)
{
    words8 x[8];

    for (int i = 0; i < 8; i++) x[i] = (words8) * (const vec_any *)(src + i * src_ld);
    turn8(x);
    for (int i = 0; i < 8; i++) *(vec_any *)(dst + i * dst_ld) = (vec)x[i];
}
#endif

static void transpose4(float *dst, int64_t dst_ld, const float *src, int64_t src_ld)
{
    vec4 r0 = *(const vec4_any *)src, r1 = *(const vec4_any *)(src + src_ld);
    vec4 r2 = *(const vec4_any *)(src + 2 * src_ld), r3 = *(const vec4_any *)(src + 3 * src_ld);
    vec4 lo01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
    vec4 hi01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
    vec4 lo23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
    vec4 hi23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);

    *(vec4_any *)dst = __builtin_shufflevector(lo01, lo23, 0, 1, 4, 5);
    *(vec4_any *)(dst + dst_ld) = __builtin_shufflevector(lo01, lo23, 2, 3, 6, 7);
    *(vec4_any *)(dst + 2 * dst_ld) = __builtin_shufflevector(hi01, hi23, 0, 1, 4, 5);
    *(vec4_any *)(dst + 3 * dst_ld) = __builtin_shufflevector(hi01, hi23, 2, 3, 6, 7);
}

void HPC_ISA(cpu_transpose)(float *restrict dst, int64_t dst_ld, const float *restrict src,
                            int64_t src_ld, int64_t rows, int64_t cols)
{
    int64_t rows4 = rows & ~(int64_t)3, cols4 = cols & ~(int64_t)3, rows8 = 0, cols8 = 0;

#if defined(__AVX2__)
    rows8 = rows & ~(int64_t)7, cols8 = cols & ~(int64_t)7;
    for (int64_t c = 0; c < cols8; c += 8)
        for (int64_t r = 0; r < rows8; r += 8)
            transpose8(dst + c * dst_ld + r, dst_ld, src + r * src_ld + c, src_ld);
#endif
    for (int64_t c = 0; c < cols4; c += 4)
        for (int64_t r = c < cols8 ? rows8 : 0; r < rows4; r += 4)
            transpose4(dst + c * dst_ld + r, dst_ld, src + r * src_ld + c, src_ld);
    for (int64_t c = 0; c < cols; c++)
        for (int64_t r = c < cols4 ? rows4 : 0; r < rows; r++)
            dst[c * dst_ld + r] = src[r * src_ld + c];
}

#endif

enum { RUN = 64 };

/* Rows j..j+cols-1 of b [n,k] become a panel [k][16], zeros behind the last. */
static void pack_panel_trans(float *panel, const gemm *g, int64_t p0, int64_t k, int64_t j,
                             int64_t cols, float *rows)
{
    const float *src = rows;
    int64_t src_ld = GEMM_SLAB;

    if (g->b_type == HPC_F32) {
        src = (const float *)g->b + j * g->b_ld + p0;
        src_ld = g->b_ld;
    } else {
        for (int64_t r = 0; r < cols; r++)
            convert(rows + r * GEMM_SLAB, gemm_element(g->b, g->b_type, (j + r) * g->b_ld + p0),
                    g->b_type, k);
    }
    if (cols < GEMM_PANEL) memset(panel, 0, (size_t)(k * GEMM_PANEL) * sizeof *panel);
    for (int64_t p = 0; p < k; p += RUN) {
        int64_t run = least(RUN, k - p);
        for (int64_t q = 0; q < RUN; q++) __builtin_prefetch(panel + (p + RUN + q) * GEMM_PANEL, 1);
        HPC_ISA(cpu_transpose)(panel + p * GEMM_PANEL, GEMM_PANEL, src + p, src_ld, cols, run);
    }
}

/* Rows of what is packed across them are asked for so many ahead: no prefetcher of hardware sees
 * a stream in them. */
enum { AHEAD = 8, TOGETHER = 4 * GEMM_PANEL };

/* Row p of b, columns j .. j+cols-1, into as many panels as it takes. */
static void pack_row(float *to, const gemm *g, int64_t p, int64_t k, int64_t j, int64_t cols)
{
    size_t bytes = hpc_dtype_get(g->b_type)->block_bytes;
    const char *row = gemm_element(g->b, g->b_type, p * g->b_ld + j);

    for (int64_t c = 0; c < cols; c += GEMM_PANEL, to += k * GEMM_PANEL) {
        int64_t width = least(GEMM_PANEL, cols - c);
        const char *from = row + (size_t)c * bytes;
        if (g->b_type == HPC_F32 && width == GEMM_PANEL) {
            __builtin_prefetch(from + (size_t)(AHEAD * g->b_ld) * bytes);
            memcpy(to, from, GEMM_PANEL * sizeof *to);
            continue;
        }
        convert(to, from, g->b_type, width);
        for (int64_t e = width; e < GEMM_PANEL; e++) to[e] = 0;
    }
}

static void pack_b(float *packed, const gemm *g, int64_t p0, int64_t k, int64_t j0, int64_t cols,
                   float *rows)
{
    for (int64_t j = 0; j < cols; j += GEMM_PANEL) {
        float *panel = packed + j * k;
        int64_t width = least(GEMM_PANEL, cols - j);

        if (g->b_panel) {
            int64_t at = (j0 + j) * g->b_ld + p0 * GEMM_PANEL;
            convert(panel, gemm_element(g->b, g->b_type, at), g->b_type, k * GEMM_PANEL);
        } else if (g->b_trans) {
            pack_panel_trans(panel, g, p0, k, j0 + j, width, rows);
        }
    }
    if (g->b_panel || g->b_trans) return;
    for (int64_t j = 0; j < cols; j += TOGETHER) /* all panels at once fall onto one set of L1 */
        for (int64_t p = 0; p < k; p++)
            pack_row(packed + j * k + p * GEMM_PANEL, g, p0 + p, k, j0 + j,
                     least(TOGETHER, cols - j));
}

/* To bf16 and back, for factors that count rounded. */
static void round_all(float *x, int64_t n)
{
    uint16_t half[GEMM_PANEL];

    for (int64_t i = 0; i < n; i += GEMM_PANEL) {
        int64_t part = least(GEMM_PANEL, n - i);
        narrow(half, x + i, part);
        widen(x + i, half, part);
    }
}

/* Rows i.. of op(a), `rows` for each slice in turn but fewer for the last, and zeros up to the
 * height of its tile. */
static void pack_rows(const packed_rows *s, const gemm *g, int64_t p0, int64_t k, int64_t i,
                      int64_t rows)
{
    bool round = g->halves && g->a_type == HPC_F32;

    for (int64_t r = 0; r < rows; r++) {
        float *to = s->at + r / TILE_ROWS * SLICE + r % TILE_ROWS * ROW_LD;
        convert(to, gemm_element(g->a, g->a_type, (i + r) * g->a_ld + p0), g->a_type, k);
        if (round) round_all(to, k);
    }
    int64_t last = (rows - 1) / TILE_ROWS * TILE_ROWS;
    for (int64_t r = rows; r < last + tile_height(rows - last); r++)
        memset(s->at + last / TILE_ROWS * SLICE + r % TILE_ROWS * ROW_LD, 0,
               (size_t)k * sizeof(float));
}

/* The same where a is stored transposed, but with anything up to the height of the last tile. left:
 * rows known to be there from i on. */
static void pack_columns(const packed_rows *s, const gemm *g, int64_t p0, int64_t k, int64_t i,
                         int64_t left, int64_t rows)
{
    int64_t slices = gemm_parts(rows, TILE_ROWS);
    const char *from = gemm_element(g->a, g->a_type, p0 * g->a_ld + i);
    size_t row = (size_t)((const char *)gemm_element(from, g->a_type, g->a_ld) - from);
    size_t wide = (size_t)((const char *)gemm_element(from, g->a_type, rows) - from);

    for (int64_t p = 0; p < k; p++, from += row) {
        float *to = s->at + p * TRANS_LD;
        for (size_t line = 0; line < wide; line += HPC_ALIGN)
            __builtin_prefetch(from + AHEAD * row + line);
        for (int64_t q = 0; q < slices; q++, to += SLICE) {
            /* A copy of known length; what is of other rows is not looked at. */
            if (g->a_type == HPC_F32 && left - q * TILE_ROWS >= TRANS_LD) {
                memcpy(to, from + (size_t)(q * TILE_ROWS) * sizeof *to, TRANS_LD * sizeof *to);
                continue;
            }
            int64_t n = least(TILE_ROWS, rows - q * TILE_ROWS);
            memset(to, 0, TRANS_LD * sizeof *to);
            convert(to, gemm_element(from, g->a_type, q * TILE_ROWS), g->a_type, n);
        }
    }
    for (int64_t q = 0; q < slices && g->halves && g->a_type == HPC_F32; q++)
        round_all(s->at + q * SLICE, k * TRANS_LD);
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

/* Whether the tiles of n rows of a are quicker read where they are: in a small piece of memory, or
 * along rows that do not all begin in one or two of L1's sets. */
static bool as_it_lies(const gemm *g, int64_t n)
{
    enum { NEAR = 16384, APART = 512 }; /* floats */
    bool exact = n % TILE_ROWS == 0 || tile_height(n % TILE_ROWS) == n % TILE_ROWS;

    if (g->a_type != HPC_F32 || g->halves || !exact) return false;
    return g->k * g->a_ld <= NEAR || (!g->a_trans && g->a_ld % APART != 0);
}

void HPC_ISA(cpu_gemm_pack)(float *packed, const gemm *g, const gemm_part *b, int64_t from,
                            int64_t cols, float *scratch)
{
    int64_t width = gemm_parts(b->cols, GEMM_PANEL) * GEMM_PANEL;

    if (gemm_word(g)) {
        HPC_ISA(cpu_words_pack)(packed, g, b, from, cols);
        return;
    }
    for (int64_t p = 0; p < b->k && !gemm_is_direct(g); p += GEMM_SLAB) {
        int64_t k = least(GEMM_SLAB, b->k - p);
        float *to = packed + p * width + from * k;
        pack_b(to, g, b->p + p, k, b->j + from, cols, scratch);
        if (g->halves && g->b_type == HPC_F32)
            round_all(to, k * gemm_parts(cols, GEMM_PANEL) * GEMM_PANEL);
    }
}

/* So many rows of c (+)= a's, from depth p of the part on, times one packed slab of it. */
static void rows_by_slab(float *c, int64_t c_ld, const gemm *g, const gemm_part *b, int64_t p,
                         const float *packed, gemm_block at, int64_t i, int64_t n, packed_rows a)
{
    int64_t k = least(GEMM_SLAB, b->k - p), p0 = b->p + p, step = SLICE, needed[SLICES] = {0};
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
    if (as_it_lies(g, n)) {
        int64_t first = a.trans ? p0 * g->a_ld + at.i + i : (at.i + i) * g->a_ld + p0;
        a.at = (float *)g->a + first;
        a.ld = g->a_ld;
        step = a.trans ? TILE_ROWS : TILE_ROWS * g->a_ld;
    } else if (a.trans) {
        int64_t there = at.i + at.rows > g->a_rows ? at.i + at.rows : g->a_rows;
        pack_columns(&a, g, p0, k, at.i + i, there - at.i - i, n);
    } else {
        pack_rows(&a, g, p0, k, at.i + i, n);
    }
    a.first = a.first && p == 0;
    slab(c, c_ld, &a, step, packed, stride, k, n, needed);
}

void HPC_ISA(cpu_gemm_rows)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                            const float *packed, gemm_block at, bool add, float *scratch)
{
    packed_rows a = {.at = scratch + GEMM_PANEL * GEMM_SLAB, .trans = g->a_trans, .first = !add};

    if (gemm_word(g)) {
        HPC_ISA(cpu_words_rows)(c, c_ld, g, b, packed, at, add, scratch);
        return;
    }
    for (int64_t i = 0, n; i < at.rows; i += n) {
        n = least(SLICES * TILE_ROWS, at.rows - i);
        for (int64_t p = 0; p < b->k; p += GEMM_SLAB)
            rows_by_slab(c + i * c_ld, c_ld, g, b, p, packed, at, i, n, a);
    }
}

/* A single row times panels as they lie. */
static bool one_row(float *c, const gemm *g, gemm_block at, bool add, float *scratch)
{
    gemm row = *g;

    if (at.rows != 1 || !g->b_panel || add || g->a_trans || g->lower) return false;
    if (gemm_word(g)) return HPC_ISA(cpu_words_row)(c, g, at, scratch);
    if (g->halves && (g->b_type == HPC_F32 || g->k > GEMM_K * GEMM_COLS)) return false;
    if (g->halves && g->a_type == HPC_F32) {
        copy(scratch, (const float *)g->a + at.i * g->a_ld, g->k);
        round_all(scratch, g->k);
        row.a = scratch;
        at.i = 0;
    }
    return HPC_ISA(cpu_gemm_row)(c, &row, at.i, at.j, at.cols);
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
            HPC_ISA(cpu_gemm_rows)(c + j, c_ld, g, &b, packed, at, add || p > 0, spare);
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
