/*
 * gemm_tile.h: the size of f32 tiles and the layout of packed rows: shared by gemm.c, which
 * multiplies, gemm_pack.c, and gemm_coop.c, which chooses the depth.
 */
#ifndef HPC_CPU_GEMM_TILE_H
#define HPC_CPU_GEMM_TILE_H

#include "runtime/device/cpu/kernels/gemm.h"

#if defined(__x86_64__)
#include <immintrin.h>
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
    TILE_COLS = PANELS * GEMM_PANEL
};

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));
typedef float vec_any __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* A packed slice of op(a) has the height of a tile. Element (i,p) is at i * ROW_LD + p, or if a is
 * stored transposed at p * TRANS_LD + i. The distance of rows avoids conflicts in the sets of L1.
 */
enum {
    ROW_LD = GEMM_SLAB + 16,
    TRANS_LD = TILE_ROWS > 8 ? 16 : 8,
    SLICE = TILE_ROWS * ROW_LD > TRANS_LD *GEMM_SLAB ? TILE_ROWS *ROW_LD : TRANS_LD *GEMM_SLAB,
    SLICES = 4 /* slices that are packed at once */
};

_Static_assert(GEMM_SPARE >= SLICES * SLICE + GEMM_PANEL * GEMM_SLAB, "packed a fits the scratch");

/* Smallest height of a tile for so many rows. Each height has a copy of the loop; results of
 * surplus rows are dropped. */
static inline int tile_height(int64_t rows)
{
    static const int height[] = {1, 2, 4, 6, 8, 12};
    int h = 0;

    while (height[h] < rows && height[h] < TILE_ROWS) h++;
    return height[h];
}

/* Pack rows i .. i+rows-1 of op(a), depth p .. p+k-1, into slices. Surplus rows of the last tile
 * are zeros; if a is stored transposed (columns), they are undefined. left: rows that may be read
 * from i on. */
void HPC_ISA(cpu_gemm_pack_rows)(float *slices, const gemm *g, int64_t p, int64_t k, int64_t i,
                                 int64_t rows);
void HPC_ISA(cpu_gemm_pack_columns)(float *slices, const gemm *g, int64_t p, int64_t k, int64_t i,
                                    int64_t left, int64_t rows);

/* Columns of a that are packed ahead, while others are multiplied, use the other half of slices. */
enum { HALF = SLICE / 2, AHEAD_K = HALF / TRANS_LD };
_Static_assert(HALF % 16 == 0, "halves are aligned as slices are");

/* gemm_packs_lines: true if gemm_pack_line packs the columns; gemm_packs_ahead: also ahead. */
static inline bool gemm_packs_lines(const gemm *g)
{
    return LANES == 16 && g->a_type == HPC_F32;
}

static inline bool gemm_packs_ahead(const gemm *g)
{
    return HPC_ISA_INTEL && g->a_trans && gemm_packs_lines(g) && !g->halves && !gemm_word(g);
}

/* Packs a line of all slices' columns, COLUMNS_BYTES, in whole cache lines; bytes after a
 * slice's own are undefined. to: aligned to 64. */
enum { COLUMNS_BYTES = SLICES * TILE_ROWS * sizeof(float) };

static inline __attribute__((always_inline)) void gemm_pack_line(float *to, const char *from)
{
#if defined(__AVX512F__)
    __m512i x = _mm512_loadu_si512(from), y = _mm512_loadu_si512(from + 64);
    __m512i z = _mm512_loadu_si512(from + 128);

    _mm512_store_si512(to, x);
    _mm512_store_si512(to + SLICE, _mm512_alignr_epi32(y, x, 12));
    _mm512_store_si512(to + 2 * SLICE, _mm512_alignr_epi32(z, y, 8));
    _mm512_store_si512(to + 3 * SLICE, _mm512_alignr_epi32(z, z, 4));
#else
    (void)to, (void)from;
#endif
}

/* Rounds to bf16 and back to f32. n is a multiple of GEMM_PANEL, or x has capacity up to the next
 * one. */
void HPC_ISA(cpu_gemm_round)(float *x, int64_t n);

#endif
