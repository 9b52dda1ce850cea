/*
 * mix.h: fast hashes of 64-bit numbers and of sequences of 32-bit hashes.
 */
#ifndef HPC_MIX_H
#define HPC_MIX_H

#include "runtime/base/base.h"

/* A bijection in which every bit of the input reaches every bit of the output. */
#define HPC_MIX UINT64_C(0xd6e8feb86659fd93)
static inline uint64_t hpc_mix(uint64_t h)
{
    h = (h ^ (h >> 32)) * HPC_MIX;
    h = (h ^ (h >> 32)) * HPC_MIX;
    return h ^ (h >> 32);
}

/* Base B of the rolling hash of a window: sum of h[i] * B^(width - 1 - i) modulo 2^64. Its low bits
 * are weak; apply hpc_mix before use. */
#define HPC_ROLL_BASE UINT64_C(0x9fb21c651e98df25)

/* Hash of a whole sequence: start from 0, add the elements in order, end with their number. */
static inline uint64_t hpc_stream_add(uint64_t stream, uint32_t hash)
{
    stream = (stream ^ hash) * HPC_ROLL_BASE;
    return stream ^ stream >> 29;
}
static inline uint64_t hpc_stream_end(uint64_t stream, int64_t n)
{
    return hpc_mix(stream + (uint64_t)n);
}

#endif
