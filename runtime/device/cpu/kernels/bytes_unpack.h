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
    int16_t half_scale[BYTES_UNITS][COLS][2], half_min[BYTES_UNITS][COLS][2]; /* by which q and min
        are multiplied: integers of the halves of a unit, if the format has them. In a tile, q has
        been multiplied. */
} unpacked;

_Static_assert(sizeof(unpacked) * BYTES_PANELS <= BYTES_SPARE, "what a worker sets aside");

/* How the integers of a format are multiplied. Formats of one form share the loops of tiles. */
typedef enum bytes_form {
    BYTES_SIGNED,   /* bytes from -128 on */
    BYTES_SCALED,   /* less than 8 bits times the scale of half a unit: 16 bits */
    BYTES_OFFSET,   /* from 0 to `top`, less an offset */
    BYTES_MIN,      /* from 0 to `top`, with a minimum for each unit */
    BYTES_HALF_MIN, /* times the scale of half a unit from 0 to `top`, with minima of halves */
} bytes_form;

typedef struct format {
    bytes_form form;
    uint8_t top, offset;
    bool half_sums; /* the row's sums are those of halves of units */
} format;

static const format formats[HPC_DTYPE_N] = {
    [HPC_Q8_0] = {BYTES_SIGNED, 0, 0, false},   [HPC_Q4_0] = {BYTES_OFFSET, 15, 8, false},
    [HPC_Q4_K] = {BYTES_MIN, 15, 0, false},     [HPC_Q5_K] = {BYTES_MIN, 31, 0, false},
    [HPC_Q6_K] = {BYTES_SCALED, 0, 0, false},   [HPC_Q4_1] = {BYTES_MIN, 15, 0, false},
    [HPC_Q5_0] = {BYTES_OFFSET, 31, 16, false}, [HPC_Q5_1] = {BYTES_MIN, 31, 0, false},
    [HPC_Q2_K] = {BYTES_HALF_MIN, 45, 0, true}, [HPC_Q3_K] = {BYTES_SCALED, 0, 0, true},
    [HPC_IQ4_NL] = {BYTES_SIGNED, 0, 0, false}, [HPC_IQ4_XS] = {BYTES_SIGNED, 0, 0, false},
};

/* Unpacks up to BYTES_UNITS of the `left` units from `panel` on, to bytes if narrow; returns their
 * number. */
int HPC_WIDTH(cpu_unpack)(unpacked *to, const uint8_t *panel, hpc_dtype b, bool narrow,
                          int64_t left);
/* Unpacks only the scales and minima of the 8 units of a block of q4_K or q5_K. */
void HPC_WIDTH(cpu_unpack_scales)(unpacked *to, const uint8_t *panel);
/* The same of q2_K, q3_K and iq4_xs. */
void HPC_WIDTH(cpu_unpack_factors)(unpacked *to, const uint8_t *panel, hpc_dtype b);

#endif
