/*
 * bytes.h: the product that matmul of packed block formats is made of: rows
 * rounded to 8 bits times a panel of 16 columns, by one worker.
 *
 * Of a column, each 32 of k are integers q with a scale and, in some formats, a
 * minimum: q scale - min. Of a row, they are integers with a scale of their own
 * and their sum. What 32 of k add to an element is
 *
 *     row's scale * (scale * sum of products - min * sum of row's integers)
 *
 * with exact integer sums, added in f32 in ascending order of k. So an element's
 * bits depend on its row and its column alone. Integers that count from a number
 * other than 0 have their share of it taken from the sum of products.
 */
#ifndef HPC_CPU_BYTES_H
#define HPC_CPU_BYTES_H

#include "runtime/device/cpu/kernels/isa.h"

enum {
    BYTES_UNIT = 32, /* of k: they share a scale */
    BYTES_UNITS = 8, /* unpacked at a time: whole blocks of every format */
    BYTES_COLS = 16, /* of a panel */
    BYTES_ROWS = 6,  /* of a register tile */
#if defined(__AVX512VNNI__)
    BYTES_PANELS = 2, /* as wide as a tile can be: one load of a row's serves both */
#else
    BYTES_PANELS = 1,
#endif
    BYTES_SPARE = 9216 * BYTES_PANELS /* bytes that a worker needs to unpack into */
};

/* Rows of op(a), rounded, in the order in which tiles read them: BYTES_UNITS units of all rows,
 * then the next. Within these, groups of BYTES_ROWS rows (fewer in the last group) interleave 32
 * bits of each row, and scales and sums likewise. A single row is contiguous. */
typedef struct byte_rows {
    void *q;      /* int8 where `narrow`, else int16 in another order */
    float *scale; /* of each unit */
    void *sum;    /* of each unit's q: in float; where `zero` is not 0, -zero times it in int32 */
    int64_t m, k;
    int zero; /* offset of the unsigned integers of the other operand's format */
    bool narrow;
} byte_rows;

/* Describes m rows of depth k, rounded for that format of b. The caller provides the memory. */
byte_rows HPC_ISA(cpu_bytes_rows)(hpc_dtype b, int64_t m, int64_t k);

/* Units lo .. hi-1 of a [rows,k], counted row by row, are rounded. */
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

/* c: [panels][rows,16] floats to work in. spare: BYTES_SPARE bytes, aligned. */
void HPC_ISA(cpu_bytes)(const byte_job *job, float *c, void *spare);

#endif
