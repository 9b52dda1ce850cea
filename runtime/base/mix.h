/*
 * mix.h: hashes of numbers and of sequences of them, in a few instructions each.
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

/* The hash of a window: sum of h[i] * B^(width - 1 - i), modulo 2^64, which rolls; its low bits are
 * weak, so that it is finished by hpc_mix before use. */
#define HPC_ROLL_BASE UINT64_C(0x9fb21c651e98df25)

/* Of a whole sequence: from 0, one after the other; then finished with how many they were. */
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
