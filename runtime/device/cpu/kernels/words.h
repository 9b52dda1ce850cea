/*
 * words.h: products of pack units, 32 bits along k (gemm_words.c), and what they require of an
 * instruction set: packing of operands, and a register tile.
 *
 * A unit holds two bf16 (VDPBF16PS, AMX), four i8 (VNNI, AMX), or two i8 widened to 16 bits (other
 * instruction sets). Sums of bf16 are f32. Sums of i8 are exact i32, stored in float arrays. Where
 * bf16 is multiplied as blocks of integers (gemm_fixed), a unit holds two of these, and each block
 * is followed by its f32 scale (a panel's by 16). VNNI multiplies unsigned by signed i8, so packing
 * adds WORD_OFFSET to b, and the initial sums cancel the excess. AMX takes either sign.
 */
#ifndef HPC_CPU_WORDS_H
#define HPC_CPU_WORDS_H

#include "runtime/device/cpu/kernels/gemm.h"

/* Rows and panels of a register tile, how many tiles' rows are packed at once, and how deep. AMX
 * tiles read L2 as fast as L1, and prefetching costs them a third of their rate. */
#if defined(__AMX_BF16__)
#ifndef AMX_SLICES
#define AMX_SLICES 1
#define AMX_SLAB   256
#endif
enum { WORD_ROWS = 32, WORD_SLICES = AMX_SLICES, WORD_PANELS = 2, WORD_SLAB = AMX_SLAB };
#elif defined(__AVX512BW__)
enum { WORD_ROWS = 12, WORD_SLICES = 4, WORD_PANELS = 2, WORD_SLAB = GEMM_SLAB };
#elif defined(__AVX2__)
enum { WORD_ROWS = 6, WORD_SLICES = 8, WORD_PANELS = 1, WORD_SLAB = GEMM_SLAB };
#else
enum { WORD_ROWS = 2, WORD_SLICES = 24, WORD_PANELS = 1, WORD_SLAB = GEMM_SLAB };
#endif
enum {
    WORD_COLS = WORD_PANELS * GEMM_PANEL,
    WORD_GROUP = WORD_SLICES * WORD_ROWS,
    /* Pack units: rows of packed a, or blocks of them, start in different cache sets. */
    WORD_LD = WORD_SLAB + 16 + GEMM_FIXED * WORD_SLAB / 16,
    WORD_AHEAD = 32 /* bytes of the next part of b prefetched for each unit of k */
};

_Static_assert(GEMM_CUT % GEMM_FIXED_K == 0 && 2 * GEMM_K % GEMM_FIXED_K == 0, "blocks stay whole");
_Static_assert(WORD_SLAB % 16 == 0 && 2 * 16 % GEMM_FIXED_K == 0, "whole steps, and blocks");
_Static_assert(!GEMM_FIXED || WORD_LD >= 2 * WORD_SLAB / GEMM_FIXED_K * GEMM_FIXED_WORDS,
               "they fit");
_Static_assert(WORD_GROUP % 16 == 0 && WORD_GROUP * WORD_LD <= GEMM_SPARE, "rows of a fit");

/* Offset that packing adds to the integers of b (see above); 0: none. */
#if defined(__AVX512VNNI__) && !defined(__AMX_INT8__)
enum { WORD_OFFSET = 128 };
#else
enum { WORD_OFFSET = 0 };
#endif

/* Packs columns j .. j+cols-1 of b and depths p0 .. p0+k-1, at most WORD_TOGETHER columns, as
 * consecutive panels [units][16]. Depths from k on are zeros. Missing columns have undefined
 * contents; their results are dropped. */
enum { WORD_TOGETHER = 64 };
void HPC_ISA(cpu_words_panels)(uint32_t *panels, const gemm *g, int64_t p0, int64_t k, int64_t j,
                               int64_t cols);
/* Packs rows i .. i+rows-1 of op(a), WORD_LD units apart. Depths from k on, and rows that complete
 * the last tile, are zeros. */
void HPC_ISA(cpu_words_rows_of)(uint32_t *to, const gemm *g, int64_t p0, int64_t k, int64_t i,
                                int64_t rows);
/* Packs one row of a, which is not transposed; writes up to 15 units past its end. */
void HPC_ISA(cpu_words_row_of)(uint32_t *to, const gemm *g, int64_t p0, int64_t k, int64_t i);

typedef struct word_tile {
    const char *a; /* rows of units, a_ld bytes apart; blocks of integers are WORD_LD units apart */
    int64_t a_ld;
    const uint32_t *b[2]; /* panels; without a second one, the first twice */
    int64_t words;
    const int32_t *start; /* initial sums of rows, for integers with WORD_OFFSET */
    const char *ahead;    /* WORD_AHEAD bytes are prefetched from here for each unit */
    bool add, integers;
} word_tile;

/* Height of the smallest tile that holds so many rows. */
int HPC_ISA(cpu_words_height)(int64_t rows);
/* c [rows,WORD_COLS] = or += the product; rows: a result of cpu_words_height. */
void HPC_ISA(cpu_words_tile)(float *c, int64_t c_ld, const word_tile *t, int rows);
/* Called before and after a sequence of tiles. */
void HPC_ISA(cpu_words_begin)(void);
void HPC_ISA(cpu_words_end)(void);
/* start[r] = -WORD_OFFSET times the sum of row r's i8. */
void HPC_ISA(cpu_words_start)(int32_t *start, const char *a, int64_t a_ld, int64_t rows, int64_t n);

/* Implementations of cpu_gemm_pack, cpu_gemm_rows and cpu_gemm (for one row of supported types) for
 * products in pack units; results of i8 are i32. */
void HPC_ISA(cpu_words_pack)(float *packed, const gemm *g, const gemm_part *b, int64_t from,
                             int64_t cols);
void HPC_ISA(cpu_words_rows)(float *c, int64_t c_ld, const gemm *g, const gemm_part *b,
                             const float *packed, gemm_block at, bool add, float *scratch);
bool HPC_ISA(cpu_words_row)(float *c, const gemm *g, gemm_block at, float *scratch);

#endif
