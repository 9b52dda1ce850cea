/*
 * planes.h: the parts of a block of each block format, as HPC_PLANES stores them: parts whose sizes
 * are multiples of 16 bytes first, so that every part of every block is aligned as kernels load it.
 */
#ifndef HPC_KERNEL_PLANES_H
#define HPC_KERNEL_PLANES_H

#include "runtime/device/device.h"

enum { HPC_PARTS_MOST = 4 };

typedef struct hpc_block_part {
    uint8_t at, bytes; /* in the block as files have it; 0 bytes: no more parts */
} hpc_block_part;

typedef struct hpc_block_parts {
    hpc_block_part part[HPC_PARTS_MOST];
    uint8_t block_bytes;
    uint16_t block; /* elements */
} hpc_block_parts;

/* block 0: not a block format. */
static inline hpc_block_parts hpc_block_parts_of(int dtype)
{
    /* In the order of hpc_dtype, because C++ has no designators of arrays: quants, high bits,
     * scales, factors. */
    static const hpc_block_parts parts[] = {
        {{{2, 32}, {0, 2}}, 34, 32},                            /* q8_0 */
        {{{2, 16}, {0, 2}}, 18, 32},                            /* q4_0 */
        {{{16, 128}, {4, 12}, {0, 4}}, 144, 256},               /* q4_K */
        {{{48, 128}, {16, 32}, {4, 12}, {0, 4}}, 176, 256},     /* q5_K */
        {{{0, 128}, {128, 64}, {192, 16}, {208, 2}}, 210, 256}, /* q6_K */
        {{{4, 16}, {0, 4}}, 20, 32},                            /* q4_1 */
        {{{6, 16}, {2, 4}, {0, 2}}, 22, 32},                    /* q5_0 */
        {{{8, 16}, {4, 4}, {0, 4}}, 24, 32},                    /* q5_1 */
        {{{16, 64}, {0, 16}, {80, 4}}, 84, 256},                /* q2_K */
        {{{32, 64}, {0, 32}, {96, 12}, {108, 2}}, 110, 256},    /* q3_K */
        {{{2, 16}, {0, 2}}, 18, 32},                            /* iq4_nl */
        {{{8, 128}, {0, 8}}, 136, 256},                         /* iq4_xs */
    };
    const hpc_block_parts none = {{{0, 0}}, 0, 0};
    return dtype >= HPC_Q8_0 && dtype <= HPC_IQ4_XS ? parts[dtype - HPC_Q8_0] : none;
}

#endif
