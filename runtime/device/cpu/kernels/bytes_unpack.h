/*
 * bytes_unpack.h: panels of block formats as tiles of integer products read
 * them, a few units at a time.
 */
#ifndef HPC_CPU_BYTES_UNPACK_H
#define HPC_CPU_BYTES_UNPACK_H

#include "runtime/device/cpu/kernels/bytes.h"

enum {
    COLS = BYTES_COLS,
    UNIT = BYTES_UNIT,
    WORDS = UNIT / 4, /* of 4 bytes in a unit */
    PAIRS = UNIT / 2,
    LINE = 4 * COLS,  /* bytes of a word of all columns ... */
    HALVES = 2 * COLS /* ... and of 16 bits */
};

/* Units of a panel: of four bytes of a word of a column, 16 bits are kept in the order 0, 2, 1, 3,
 * as two pairs; q is [unit][word][16][4] bytes, or [unit][pair][16][2] of 16 bits. */
typedef struct unpacked {
    _Alignas(64) uint8_t q[BYTES_UNITS * UNIT * COLS * 2];
    float scale[BYTES_UNITS][COLS], min[BYTES_UNITS][COLS];
} unpacked;

_Static_assert(sizeof(unpacked) * BYTES_PANELS <= BYTES_SPARE, "what a worker sets aside");

static inline bool has_min(hpc_dtype b)
{
    return b == HPC_Q4_K || b == HPC_Q5_K;
}

/* How many units there are from `panel` on, at most BYTES_UNITS of `left`; to bytes if narrow. */
int HPC_WIDTH(cpu_unpack)(unpacked *to, const uint8_t *panel, hpc_dtype b, bool narrow,
                          int64_t left);
/* Scales and minima alone, of the 8 units of a block of q4_K or q5_K. */
void HPC_WIDTH(cpu_unpack_scales)(unpacked *to, const uint8_t *panel);

#endif
