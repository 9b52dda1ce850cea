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
 * bits depend on its row and its column alone.
 */
#ifndef HPC_CPU_BYTES_H
#define HPC_CPU_BYTES_H

#include "runtime/device/cpu/kernels/isa.h"

enum {
    BYTES_UNIT = 32,   /* of k: they share a scale */
    BYTES_UNITS = 8,   /* unpacked at a time: whole blocks of every format */
    BYTES_COLS = 16,   /* of a panel */
    BYTES_ROWS = 6,    /* of a register tile */
    BYTES_SPARE = 9216 /* bytes that a worker needs to unpack into */
};

/* Rows of op(a), rounded. */
typedef struct byte_rows {
    void *q;      /* [m][k] of int8 where `narrow`, else of int16 in another order */
    float *scale; /* [m][k/32] */
    float *sum;   /* [m][k/32], of q */
    int64_t k;
    bool narrow;
} byte_rows;

/* Whether so many rows are wanted narrow beside that format. */
bool HPC_ISA(cpu_bytes_narrow)(hpc_dtype b, int64_t rows);

/* Units lo .. hi-1 of a [rows,k], counted row by row, are rounded. */
void HPC_ISA(cpu_bytes_round)(const byte_rows *to, const hpc_tensor *a, int64_t lo, int64_t hi);

/* c [rows,16] = rows i .. of a, of all that the same cpu_bytes_narrow was asked for, times what the
 * panel holds. spare: BYTES_SPARE bytes, aligned. */
void HPC_ISA(cpu_bytes)(float *c, const byte_rows *a, int64_t i, int64_t rows, const void *panel,
                        hpc_dtype b, void *spare);

#endif
