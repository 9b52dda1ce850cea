/*
 * bytes.h: the product of rows rounded to 8 bits with panels of 16 columns in block formats, by one
 * worker: the core of matmul with packed weights.
 *
 * In a column, every 32 elements along k (a unit) are integers q with a scale and, in some formats,
 * a minimum: q scale - min. In a row, a unit has integers, a scale and the sum of the integers. A
 * unit contributes to an element
 *
 *     row's scale * (scale * sum of products - min * sum of row's integers)
 *
 * with exact integer sums, added in f32 in ascending order of k. So the bits of an element depend
 * only on its row and column. If a format's integers have an offset, its contribution is subtracted
 * from the sum of products. In q2_K and q3_K, both halves of a unit have scales of their own, which
 * are integers and part of q, and in q2_K integer minima: min sum is an integer sum of two terms.
 */
#ifndef HPC_CPU_BYTES_H
#define HPC_CPU_BYTES_H

#include "runtime/device/cpu/kernels/isa.h"

enum {
    BYTES_UNIT = 32, /* elements along k with a common scale */
    BYTES_UNITS = 8, /* units unpacked at a time: whole blocks of every format */
    BYTES_COLS = 16, /* columns of a panel */
    BYTES_ROWS = 6,  /* rows of a register tile */
#if defined(__AVX512VNNI__)
    BYTES_PANELS = 2, /* width of a tile: one load from a row serves both panels */
#else
    BYTES_PANELS = 1,
#endif
#if defined(__AVX512VNNI__)
    BYTES_FEW = 2, /* up to so many rows, packing a matrix for them costs more than it saves */
#elif defined(__AVX2__)
    BYTES_FEW = 3,
#else
    BYTES_FEW = 0,
#endif
    BYTES_SPARE = 10240 * BYTES_PANELS /* bytes per worker for unpacked units */
};

/* Rows of op(a), rounded, in the order in which tiles read them: BYTES_UNITS units of all rows,
 * then the next. Within these, groups of BYTES_ROWS rows (fewer in the last group) interleave 32
 * bits of each row, and scales and sums likewise. A single row is contiguous. */
typedef struct byte_rows {
    void *q;      /* int8 if `narrow`, else int16 in another order */
    float *scale; /* of each unit */
    void *sum; /* of each unit's q, as float; if `zero` is not 0, -zero times the sum, as int32; if
                * `half_sums`, the sums of its halves, as two int16 */
    int64_t m, k;
    bool half_sums;
    int zero; /* offset of the unsigned integers of the other operand's format */
    bool narrow;
    bool fetch_far; /* prefetch further ahead, and to L2: on Intel */
} byte_rows;

/* Describes m rows of depth k, rounded for that format of b. The caller provides the memory. */
byte_rows HPC_ISA(cpu_bytes_rows)(hpc_dtype b, int64_t m, int64_t k);

/* Rounds units lo .. hi-1 of a [rows,k], counted row by row. */
void HPC_ISA(cpu_bytes_round)(const byte_rows *to, const hpc_tensor *a, int64_t lo, int64_t hi);

/* Product of rows and columns: rows i .. of a, i a multiple of BYTES_ROWS, and the columns of
 * `panels` consecutive panels, at most BYTES_PANELS, from `panel` on. */
typedef struct byte_job {
    const byte_rows *a;
    int64_t i, rows;
    const void *panel;
    int panels;
    hpc_dtype b;
    /* Called with a few finished rows of sums, so that its stores overlap with other rows' work.
     * at, rows: their position in this job. x [rows,16], of panel p at p * apart, may be
     * overwritten. */
    void (*done)(const struct byte_job *job, int64_t at, int64_t rows, float *x, int64_t apart);
    const void *user;
    float *y; /* not NULL: receives the plain sums, rows y_ld apart; `done` may not be called */
    int64_t y_ld;
} byte_job;

/* c [n] = a single row, a->m = 1, times n <= BYTES_COLS rows of blocks as files store them, with
 * the bits of cpu_bytes. term: work space for BYTES_COLS rows of `bytes_terms` floats. Must not be
 * called if BYTES_FEW is 0. (bytes_plain.c) */
void HPC_WIDTH(cpu_bytes_plain)(float *c, const byte_rows *a, const uint8_t *rows, hpc_dtype b,
                                int64_t n, float *term);

static inline int64_t bytes_terms(int64_t k)
{
    return (k / BYTES_UNIT + BYTES_UNITS - 1) / BYTES_UNITS * BYTES_UNITS;
}

/* c: work space for [panels][rows,16] floats. spare: BYTES_SPARE bytes, aligned. */
void HPC_ISA(cpu_bytes)(const byte_job *job, float *c, void *spare);

#endif
