/*
 * blocks.h: random blocks of the block formats, with f16 factors of a given magnitude.
 */
#ifndef HPC_TEST_BLOCKS_H
#define HPC_TEST_BLOCKS_H

#include "runtime/device/device.h"

/* Offset of a block's f16 factor k; -1: it has fewer. */
static inline int hpc_test_factor_at(hpc_dtype d, int k)
{
    switch (d) {
    case HPC_Q2_K: return k < 2 ? 80 + 2 * k : -1;
    case HPC_Q3_K: return k < 1 ? 108 : -1;
    case HPC_Q6_K: return k < 1 ? 208 : -1;
    case HPC_Q4_1:
    case HPC_Q5_1:
    case HPC_Q4_K:
    case HPC_Q5_K: return k < 2 ? 2 * k : -1;
    default: return k < 1 ? 0 : -1;
    }
}

/* Any bytes, except that factors, of either sign, are from 2^(exponent - 1) to 2^exponent. */
static inline void hpc_test_draw_blocks(uint8_t *out, hpc_dtype d, int64_t blocks, int exponent,
                                        uint64_t seed)
{
    size_t width = hpc_dtype_get(d)->block_bytes, bytes = (size_t)blocks * width;
    for (size_t i = 0; i < bytes; i++) out[i] = (uint8_t)hpc_random_bits(seed, 0, 0, i);
    for (uint8_t *b = out; b < out + bytes; b += width)
        for (int k = 0; hpc_test_factor_at(d, k) >= 0; k++) {
            uint8_t *high = b + hpc_test_factor_at(d, k) + 1;
            *high = (uint8_t)((*high & 0x83) | (exponent + 14) << 2);
        }
}

#endif
