/*
 * bytes_tile.h: what bytes.c requires of an instruction set: a register tile for many rows and
 * unpacked columns, and loops that multiply a single row with stored columns.
 */
#ifndef HPC_CPU_BYTES_TILE_H
#define HPC_CPU_BYTES_TILE_H

#include "runtime/device/cpu/kernels/bytes_unpack.h"

/* Rows of one tile, from some unit on: 4 bytes w of row i are at 4 (w height + i). */
typedef struct byte_tile {
    const uint8_t *q;
    const float *scale; /* of unit u at u height + i */
    const void *sum;
    int height;
    bool first; /* sums begin here, whatever c holds */
    /* Not NULL (VNNI): sums end here and are stored to rows `to_ld` apart instead of c, the columns
     * of the second panel after those of the first. */
    float *to;
    int64_t to_ld;
    bool fetch_far; /* as in byte_rows */
} byte_tile;

/* The integer dot product takes one side unsigned: signed bytes have an offset of 128 for VNNI.
 * Otherwise the sum of two such products would overflow 16 bits. */
static inline int zero_of(const format f)
{
#if defined(__AVX512VNNI__)
    if (f.form == BYTES_SIGNED) return 128;
#endif
    return f.offset;
}

/* Adds the next units to c [height,16]; with two panels, those of the second to c + apart. */
void HPC_ISA(cpu_bytes_tile)(float *c, int64_t apart, const byte_tile *a, const unpacked *b,
                             int panels, int units, hpc_dtype type);

/* c [16] = a narrow row times all units of a panel. False: the format has no such kernel. */
bool HPC_ISA(cpu_bytes_row)(float *c, const byte_tile *a, const uint8_t *panel, hpc_dtype b,
                            int64_t units, unpacked *spare);
/* The same for the formats of quant_file.c. (bytes_row.c) */
void HPC_ISA(cpu_bytes_row_file)(float *c, const byte_tile *a, const uint8_t *panel, hpc_dtype b,
                                 int64_t units, unpacked *spare);

/* True if m rows are multiplied directly by the stored columns: for few rows, unpacking costs more
 * than it saves. */
static inline bool is_direct(hpc_dtype b, int64_t m)
{
#if defined(__AVX512VNNI__)
    return b == HPC_Q8_0 && m <= 2 * (int64_t)BYTES_ROWS;
#else
    (void)b, (void)m;
    return false;
#endif
}

/* Variant of cpu_bytes_tile for the units of one stored panel, if is_direct. */
void HPC_ISA(cpu_bytes_few)(float *c, const byte_tile *a, const uint8_t *panel, int units);

/* On Intel, whose L2 allows more outstanding requests, data are always prefetched to L2 and further
 * ahead (a row times q4_0 takes 10 to 16 % less time). */
enum { FETCH_AHEAD = 2048, FETCH_AHEAD_FAR = 8192 };

/* Prefetches the data some bytes after part `part` of `parts` of a block, which has so many
 * lines and halves. Memory is read in order, but faster than the hardware prefetcher follows. far:
 * prefetches to L2 only, which allows more outstanding requests. On other CPUs than Intel's, that
 * helps single rows, which only wait for memory, but not loops with more work. */
static inline __attribute__((always_inline)) void fetch(const byte_tile *a, const uint8_t *block,
                                                        const int lines, const int halves, int part,
                                                        const int parts, const bool far)
{
    const int bytes = (lines * LINE + halves * HALVES) / parts;

    block += (a->fetch_far ? FETCH_AHEAD_FAR : FETCH_AHEAD) + part * bytes;
    for (int b = 0; b < bytes; b += 64) {
        if (far || a->fetch_far)
            __builtin_prefetch(block + b, 0, 2);
        else
            __builtin_prefetch(block + b);
    }
}

#endif
