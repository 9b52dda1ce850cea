/*
 * random.cuh: one block of Philox4x32-10 in a thread, with the bits of base/philox.h, which works
 * on groups of blocks.
 */
#ifndef HPC_CUDA_RANDOM_H
#define HPC_CUDA_RANDOM_H

#include "runtime/device/cuda/simt.cuh"

struct philox4 {
    uint32_t word[4];
};

SIMT_DEVICE philox4 philox(uint64_t block, uint32_t tensor, uint32_t step, uint64_t seed)
{
    philox4 p = {{(uint32_t)block, (uint32_t)(block >> 32), tensor, step}};
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)p.word[0] * 0xd2511f53u, b = (uint64_t)p.word[2] * 0xcd9e8d57u;
        p = {{(uint32_t)(b >> 32) ^ p.word[1] ^ key0, (uint32_t)b,
              (uint32_t)(a >> 32) ^ p.word[3] ^ key1, (uint32_t)a}};
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    return p;
}

#endif
