/*
 * bytes_unpack.h: unpacks panels of block formats, a few units at a time, in the layout that tiles
 * of integer products read.
 */
#ifndef HPC_CPU_BYTES_UNPACK_H
#define HPC_CPU_BYTES_UNPACK_H

#include "runtime/device/cpu/kernels/bytes.h"

enum {
    COLS = BYTES_COLS,
    UNIT = BYTES_UNIT,
    WORDS = UNIT / 4, /* groups of 4 bytes in a unit */
    PAIRS = UNIT / 2,
    LINE = 4 * COLS,  /* bytes of such a group of all columns ... */
    HALVES = 2 * COLS /* ... and of 16-bit numbers */
};

/* Unpacked units of a panel. q is [unit][group][16][4] bytes, or [unit][pair][16][2] of 16 bits.
 * With 16 bits, the four numbers of a group are in the order 0, 2, 1, 3, as two pairs. */
typedef struct unpacked {
    _Alignas(64) uint8_t q[BYTES_UNITS * UNIT * COLS * 2];
    float scale[BYTES_UNITS][COLS], min[BYTES_UNITS][COLS];
} unpacked;

_Static_assert(sizeof(unpacked) * BYTES_PANELS <= BYTES_SPARE, "what a worker sets aside");

static inline bool has_min(hpc_dtype b)
{
    return b == HPC_Q4_K || b == HPC_Q5_K;
}

/* Unpacks up to BYTES_UNITS of the `left` units from `panel` on, to bytes if narrow; returns their
 * number. */
int HPC_WIDTH(cpu_unpack)(unpacked *to, const uint8_t *panel, hpc_dtype b, bool narrow,
                          int64_t left);
/* Unpacks only the scales and minima of the 8 units of a block of q4_K or q5_K. */
void HPC_WIDTH(cpu_unpack_scales)(unpacked *to, const uint8_t *panel);

#endif
