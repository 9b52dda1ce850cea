/*
 * gemm_pack.c: packing of both operands for f32 tiles (gemm.c): b into panels of 16 columns, rows
 * of a into slices as high as a tile; and the transposition that this needs.
 */
#include <string.h>

#include "runtime/device/cpu/kernels/gemm_tile.h"
#include "runtime/device/cpu/kernels/pairs.h"
#include "runtime/device/cpu/kernels/priv.h"
#include "runtime/device/cpu/kernels/words.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef float vec4 __attribute__((vector_size(16)));
typedef float vec4_any __attribute__((vector_size(16), aligned(4), may_alias));

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

/* The same of a length that the compiler knows, without a call. False: not of this type. */
static inline __attribute__((always_inline)) bool
convert_few(float *restrict dst, const void *restrict src, hpc_dtype from, const int n)
{
    if (from == HPC_F32)
        memcpy(dst, src, (size_t)n * sizeof *dst);
    else if (from == HPC_BF16)
        widen(dst, src, n);
    return from == HPC_F32 || from == HPC_BF16;
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

/* Packs rows j..j+cols-1 of b [n,k] as a panel [k][16]; columns after the last are zeros. */
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
 * a stream in short pieces of them. All panels at once fall onto one set of L1; with a large L2
 * pieces as long as a worker's columns take 2 to 4 % less of 256 rows' product. */
enum {
    AHEAD = 8,
    AHEAD_INTEL = 4, /* rows of b, to L2 */
    TOGETHER = 4 * GEMM_PANEL,
    TOGETHER_INTEL = 32 * GEMM_PANEL
};

/* Row p of b, columns j .. j+cols-1, into as many panels as it takes. */
static void pack_row(float *to, const gemm *g, int64_t p, int64_t k, int64_t j, int64_t cols)
{
    size_t bytes = hpc_dtype_get(g->b_type)->block_bytes;
    const char *row = gemm_element(g->b, g->b_type, p * g->b_ld + j);

    for (int64_t c = 0; c < cols; c += GEMM_PANEL, to += k * GEMM_PANEL) {
        int64_t width = least(GEMM_PANEL, cols - c);
        const char *from = row + (size_t)c * bytes;
        if (g->cpu->intel)
            __builtin_prefetch(from + (size_t)(AHEAD_INTEL * g->b_ld) * bytes, 0, 2);
        else
            __builtin_prefetch(from + (size_t)(AHEAD * g->b_ld) * bytes);
        if (width == GEMM_PANEL && convert_few(to, from, g->b_type, GEMM_PANEL)) continue;
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
    const int64_t together = g->cpu->intel ? TOGETHER_INTEL : TOGETHER;
    for (int64_t j = 0; j < cols; j += together)
        for (int64_t p = 0; p < k; p++)
            pack_row(packed + j * k + p * GEMM_PANEL, g, p0 + p, k, j0 + j,
                     least(together, cols - j));
}

void HPC_ISA(cpu_gemm_round)(float *x, int64_t n)
{
    uint16_t half[GEMM_PANEL];

    for (int64_t i = 0; i < n; i += GEMM_PANEL) {
        int64_t part = least(GEMM_PANEL, n - i);
        narrow(half, x + i, part);
        widen(x + i, half, part);
    }
}

void HPC_ISA(cpu_gemm_pack_rows)(float *slices, const gemm *g, int64_t p0, int64_t k, int64_t i,
                                 int64_t rows)
{
    bool round = g->halves && g->a_type == HPC_F32;

    for (int64_t r = 0; r < rows; r++) {
        float *to = slices + r / TILE_ROWS * SLICE + r % TILE_ROWS * ROW_LD;
        convert(to, gemm_element(g->a, g->a_type, (i + r) * g->a_ld + p0), g->a_type, k);
        if (round) HPC_ISA(cpu_gemm_round)(to, k);
    }
    int64_t last = (rows - 1) / TILE_ROWS * TILE_ROWS;
    for (int64_t r = rows; r < last + tile_height(rows - last); r++)
        memset(slices + last / TILE_ROWS * SLICE + r % TILE_ROWS * ROW_LD, 0,
               (size_t)k * sizeof(float));
}

void HPC_ISA(cpu_gemm_pack_columns)(float *slices, const gemm *g, int64_t p0, int64_t k, int64_t i,
                                    int64_t left, int64_t rows)
{
    int64_t many = gemm_parts(rows, TILE_ROWS);
    bool lines = gemm_packs_lines(g) && rows == SLICES * TILE_ROWS;
    const char *from = gemm_element(g->a, g->a_type, p0 * g->a_ld + i);
    size_t row = (size_t)((const char *)gemm_element(from, g->a_type, g->a_ld) - from);
    size_t wide = (size_t)((const char *)gemm_element(from, g->a_type, rows) - from);
    size_t high = (size_t)((const char *)gemm_element(from, g->a_type, TILE_ROWS) - from);

    for (int64_t p = 0; p < k; p++, from += row) {
        float *to = slices + p * TRANS_LD;
        for (size_t line = 0; line < wide; line += HPC_ALIGN)
            __builtin_prefetch(from + AHEAD * row + line);
        if (lines) {
            gemm_pack_line(to, from);
            continue;
        }
        for (int64_t q = 0; q < many; q++, to += SLICE) {
            /* Values of other rows are ignored. */
            const void *x = from + (size_t)q * high;
            if (left - q * TILE_ROWS >= TRANS_LD && convert_few(to, x, g->a_type, TRANS_LD))
                continue;
            memset(to, 0, TRANS_LD * sizeof *to);
            convert(to, x, g->a_type, least(TILE_ROWS, rows - q * TILE_ROWS));
        }
    }
    for (int64_t q = 0; q < many && g->halves && g->a_type == HPC_F32; q++)
        HPC_ISA(cpu_gemm_round)(slices + q * SLICE, k * TRANS_LD);
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
            HPC_ISA(cpu_gemm_round)(to, k * gemm_parts(cols, GEMM_PANEL) * GEMM_PANEL);
    }
}
