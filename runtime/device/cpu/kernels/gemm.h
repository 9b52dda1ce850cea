/*
 * gemm.h: the product in matmul, attention and head_loss: one block of op(a) op(b) in f32, by one
 * worker.
 *
 * It does not handle batches, epilogues, raggedness or other workers. Every element of c is one
 * chain of (fused) multiply-adds over k in ascending order. For bf16 by bf16 the chain is over
 * pairs with bf16 instructions, and over blocks with integer instructions only (see gemm_fixed). So
 * the bits depend neither on the block nor on m. A chain may continue in another call: split at
 * multiples of GEMM_CUT, it keeps its bits.
 */
#ifndef HPC_CPU_GEMM_H
#define HPC_CPU_GEMM_H

#include "runtime/device/cpu/kernels/isa.h"

/* GEMM_K: depth of a packed block, a multiple of every block format. GEMM_SLAB: the largest depth
 * that a tile multiplies at once. Where tiles are two panels wide, L2 delivers two panels of that
 * depth at the rate of the arithmetic, and longer sums in registers save 1 to 2 %. */
#if defined(__AVX512F__)
enum { GEMM_K = 512, GEMM_SLAB = 3072 };
#else
enum { GEMM_K = 256, GEMM_SLAB = 256 };
#endif
enum {
    GEMM_PANEL = 16,      /* columns of a packed panel of b, as in HPC_PANEL16 */
    GEMM_ROWS = 12,       /* a multiple of the tile height on every instruction set ... */
    GEMM_WORD_ROWS = 32,  /* ... and for products in pack units */
    GEMM_CUT = 32,        /* along k: a chain may be split at its multiples */
    GEMM_TILE_GRAIN = 64, /* columns: every tile starts at a multiple of it */
    GEMM_COLS = 1024,     /* columns of a packed block: with GEMM_K, 1 to 2 MiB of the last cache */
    GEMM_WORD_COLS = 512, /* ... and for products in pack units */
    GEMM_SPARE = 80 * (GEMM_SLAB + 32),            /* floats: packed a, and rows being converted */
    GEMM_SCRATCH = GEMM_K * GEMM_COLS + GEMM_SPARE /* floats per worker; packed b comes first */
};

/* op(a) is [*,k], op(b) is [k,*]. Leading dimensions count elements between stored rows. */
typedef struct gemm {
    const void *a, *b;
    int64_t a_ld, b_ld;
    int64_t a_rows; /* rows of op(a) that may be read; 0: only those requested */
    int64_t k;
    hpc_dtype a_type; /* f32, bf16 or, like b, i8: then results are i32 */
    hpc_dtype b_type; /* f32, bf16, or with b_trans f16 and the block formats */
    bool a_trans;     /* stored [k,*] */
    bool b_trans;     /* stored [*,k] */
    bool b_panel;     /* stored as HPC_PANEL16 of [*,b_ld]; f32, bf16 or f16 */
    bool halves;      /* f32 operands a and b are rounded to bf16 */
    bool fixed;       /* bf16 by bf16 may be computed as in gemm_fixed */
    bool lower;       /* elements above the result's diagonal may be left undefined */
    const hpc_cpu_traits *cpu;
} gemm;

/* With instructions for integers but not for bf16, bf16 by bf16 is multiplied in blocks of
 * GEMM_FIXED_K along k, except if b is in panels, whose single rows are read in storage order.
 * Elements of a block are integers below 2^13 times a power of two. Their products are summed
 * exactly, the blocks' sums in f32. Elements above a 32nd of the largest one of their block are
 * exact (all eight bits); others are off by at most 2^-14 of the power of two above the largest.
 * A row or column with an infinity or NaN has only such results. Elements below 2^-118 may be
 * lost; a product of largest elements above 2^127 may be NaN. */
#if defined(__AVX512VNNI__) && !defined(__AVX512BF16__)
enum { GEMM_FIXED = 1 };
#else
enum { GEMM_FIXED = 0 };
#endif
enum { GEMM_FIXED_K = 32, GEMM_FIXED_WORDS = GEMM_FIXED_K / 2 + 1 /* with the scale, an f32 */ };

static inline bool gemm_fixed(const gemm *g)
{
    return GEMM_FIXED && g->fixed && g->a_type == HPC_BF16 && g->b_type == HPC_BF16 && !g->b_panel;
}

/* Elements of each factor in a 32-bit pack unit along k: two bf16 (or f32 rounded to bf16) or four
 * i8 if the instruction set multiplies them; otherwise two widened i8, or two integers of
 * gemm_fixed. 0: the product is computed in f32. */
static inline int gemm_word(const gemm *g)
{
    if (g->a_type == HPC_I8) {
#if defined(__AVX512VNNI__)
        return 4;
#else
        return 2;
#endif
    }
#if defined(__AVX512BF16__)
    bool short_a = g->a_type == HPC_BF16 || (g->halves && g->a_type == HPC_F32);
    bool short_b = g->b_type == HPC_BF16 || (g->halves && g->b_type == HPC_F32);
    return short_a && short_b ? 2 : 0;
#else
    return gemm_fixed(g) ? 2 : 0;
#endif
}

/* True if b needs no packing. */
static inline bool gemm_is_direct(const gemm *g)
{
    return g->b_panel && g->b_type == HPC_F32 && !g->halves;
}

typedef struct gemm_block { /* rows i..i+rows-1 and columns j..j+cols-1 of the result */
    int64_t i, rows, j, cols;
} gemm_block;

/* Division of a result among workers. Columns of tiles are divided into strips of rows; workers
 * take equal shares of the strips, and walk over theirs in tiles. */
typedef struct gemm_tiles {
    int64_t m, n;  /* the largest tile; 0 x 0 if there is nothing to do */
    int64_t strip; /* rows of a strip */
    bool lower;    /* tiles above the diagonal cost nothing */
} gemm_tiles;

/* Tiles for `batch` results [m,n] that fit the caches (at most 768 rows of GEMM_COLS), with enough
 * strips for every worker. */
gemm_tiles HPC_ISA(cpu_gemm_tiles)(const gemm *g, int64_t batch, int64_t m, int64_t n, int workers);

static inline int64_t gemm_parts(int64_t n, int64_t part)
{
    return (n + part - 1) / part;
}

/* Size of even parts of n, at most `most`, rounded up to a multiple of `grain`. */
static inline int64_t gemm_even_part(int64_t n, int64_t most, int64_t grain)
{
    int64_t part = gemm_parts(n, gemm_parts(n, most));
    return gemm_parts(part, grain) * grain;
}

/* Cost of a strip's columns j .. j+cols-1, in units of GEMM_TILE_GRAIN columns. */
static inline int64_t gemm_strip_cost(gemm_tiles t, int64_t strip, int64_t j, int64_t cols)
{
    int64_t below = (strip + 1) * t.strip - j;

    if (t.lower && below < cols) cols = below > 0 ? below : 0;
    return gemm_parts(cols, GEMM_TILE_GRAIN);
}

/* The first strip of a column of tiles with a cost above 0. */
static inline int64_t gemm_first_strip(gemm_tiles t, int64_t j)
{
    return t.lower ? j / t.strip : 0;
}

/* Number of a column's `strips` that begin before `cost`, including strips without cost. */
static inline int64_t gemm_strips_before(gemm_tiles t, int64_t cost, int64_t j, int64_t cols,
                                         int64_t strips)
{
    int64_t s = gemm_first_strip(t, j);

    if (!t.lower) {
        s = cost > 0 ? gemm_parts(cost, gemm_parts(cols, GEMM_TILE_GRAIN)) : 0;
        return s < strips ? s : strips;
    }
    for (int64_t before = 0; s < strips && before < cost; s++)
        before += gemm_strip_cost(t, s, j, cols);
    return s;
}

/* Cost of a column of tiles of m rows. */
static inline int64_t gemm_column_cost(gemm_tiles t, int64_t m, int64_t j, int64_t cols)
{
    int64_t strips = gemm_parts(m, t.strip), all = 0;

    if (!t.lower) return strips * gemm_parts(cols, GEMM_TILE_GRAIN);
    for (int64_t s = gemm_first_strip(t, j); s < strips; s++) all += gemm_strip_cost(t, s, j, cols);
    return all;
}

/* Cost of a result [m,n]. */
static inline int64_t gemm_cost(gemm_tiles t, int64_t m, int64_t n)
{
    int64_t all = 0;

    if (!t.lower) return gemm_column_cost(t, m, 0, n);
    for (int64_t j = 0; j < n; j += t.n)
        all += gemm_column_cost(t, m, j, n - j < t.n ? n - j : t.n);
    return all;
}

/* Iteration over the tiles of a result [m,n] in a worker's share, the costs lo .. hi - 1. It goes
 * down each column of tiles, because neighbours read the same part of b. */
typedef struct gemm_walk {
    gemm_tiles tile;
    int64_t m, n, lo, hi;
    int64_t next;   /* column of tiles */
    int64_t i, end; /* remaining rows of the current one */
} gemm_walk;

static inline bool gemm_next(gemm_block *at, gemm_walk *w)
{
    int64_t strips = gemm_parts(w->m, w->tile.strip);

    while (w->i >= w->end && w->next < w->n) {
        int64_t cols = w->n - w->next < w->tile.n ? w->n - w->next : w->tile.n;
        int64_t cost = gemm_column_cost(w->tile, w->m, w->next, cols);
        *at = (gemm_block){.j = w->next, .cols = cols};
        w->i = gemm_strips_before(w->tile, w->lo, w->next, cols, strips) * w->tile.strip;
        w->end = gemm_strips_before(w->tile, w->hi, w->next, cols, strips) * w->tile.strip;
        if (w->end > w->m) w->end = w->m;
        w->lo -= cost;
        w->hi -= cost;
        w->next += w->tile.n;
    }
    if (w->i >= w->end) return false;
    int64_t part = gemm_even_part(w->end - w->i, w->tile.m, w->tile.strip);
    at->i = w->i;
    at->rows = w->end - w->i < part ? w->end - w->i : part;
    w->i += at->rows;
    return true;
}

/* Number of the columns j .. j+cols-1 of a block that its rows i .. i+rows-1 need: all, or whole
 * register tiles up to the diagonal. */
static inline int64_t gemm_cols_needed(const gemm *g, gemm_block at, int64_t i, int64_t rows,
                                       int64_t j, int64_t cols)
{
    enum { WIDTH = 2 * GEMM_PANEL };
    int64_t below = at.i + i + rows - at.j - j;

    if (!g->lower || below >= cols) return cols;
    if (below <= 0) return 0;
    below = gemm_parts(below, WIDTH) * WIDTH;
    return below < cols ? below : cols;
}

/* Address of element `at` from `base`; in block formats, `at` is the first element of a block. */
static inline void *gemm_element(const void *base, hpc_dtype type, int64_t at)
{
    const hpc_dtype_info *info = hpc_dtype_get(type);

    return (char *)base + (size_t)(at / info->block) * info->block_bytes;
}

/* dst[c][r] = src[r][c] */
void HPC_ISA(cpu_transpose)(float *restrict dst, int64_t dst_ld, const float *restrict src,
                            int64_t src_ld, int64_t rows, int64_t cols);

/* c [rows,cols] = the block, or with `add` c += the block, as a chain that continues from c.
 * With `lower`, elements above the diagonal may be undefined. If b is b_panel, at.j is a
 * multiple of GEMM_PANEL. scratch: GEMM_SCRATCH floats, aligned to 64. */
void HPC_ISA(cpu_gemm)(float *c, int64_t c_ld, const gemm *g, gemm_block at, bool add,
                       float *scratch);

/* A part of b: p .. p+k-1 of its depth, p a multiple of GEMM_CUT, and columns j .. j+cols-1. */
typedef struct gemm_part {
    int64_t p, k, j, cols;
} gemm_part;

/* Pack units are packed in whole steps of the instruction that multiplies them. */
#if defined(__AMX_BF16__)
enum { GEMM_WORD_STEP = 16 };
#else
enum { GEMM_WORD_STEP = 1 };
#endif

/* Pack units of k elements, in whole steps or blocks. */
static inline int64_t gemm_words(const gemm *g, int64_t k)
{
    int64_t word = gemm_word(g);

    hpc_assert(word > 0);
    if (gemm_fixed(g)) return gemm_parts(k, GEMM_FIXED_K) * GEMM_FIXED_WORDS;
    return gemm_parts(k, word * GEMM_WORD_STEP) * GEMM_WORD_STEP;
}

/* Size of a packed part of k x cols, in floats. */
static inline int64_t gemm_packed_floats(const gemm *g, int64_t k, int64_t cols)
{
    int64_t wide = gemm_parts(cols, GEMM_PANEL) * GEMM_PANEL;

    if (gemm_is_direct(g)) return 0;
    return (gemm_word(g) ? gemm_words(g, k) : k) * wide;
}

/* cpu_gemm is cpu_gemm_pack followed by cpu_gemm_rows. This packs columns from .. from+cols-1 of a
 * part, `from` a multiple of GEMM_PANEL, into `packed`, gemm_packed_floats for the whole part.
 * scratch: GEMM_SPARE floats, aligned to 64. */
void HPC_ISA(cpu_gemm_pack)(float *packed, const gemm *g, const gemm_part *b, int64_t from,
                            int64_t cols, float *scratch);
/* State of packing rows ahead into scratch; keep both while factors and part stay the same. */
typedef struct gemm_ahead {
    int64_t i, rows, p, k; /* rows i .. i+rows-1 of a, depth p .. p+k-1; initially {0} */
    int64_t done;          /* the depth that is packed so far */
    int half;              /* the half of the buffer that holds them */
} gemm_ahead;

/* Sets c, from the part's first column on, to the contribution of the part to block `at`, or adds
 * it. ahead may be NULL. */
void HPC_ISA(cpu_gemm_rows)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                            const float *packed, gemm_block at, bool add, gemm_ahead *ahead,
                            float *scratch);

/* The same with c's transpose in c, for f32 by f32 without `lower`, and a part that is at most a
 * slab deep. Rows of a up to a_rows are prefetched. */
void HPC_ISA(cpu_gemm_turned)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                              const float *packed, gemm_block at, bool add, float *scratch);

/* c [cols] = row `row` of a, which is not transposed, times panels from column j on, a multiple of
 * GEMM_PANEL. The bits are those of cpu_gemm without pairs. False: the types are not supported. */
bool HPC_WIDTH(cpu_gemm_row)(float *c, const gemm *g, int64_t row, int64_t j, int64_t cols);

#endif
