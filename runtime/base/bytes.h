/*
 * bytes.h: little-endian integers and hashes at unaligned addresses, for hpccoder's own files.
 */
#ifndef HPC_BYTES_H
#define HPC_BYTES_H

#include "runtime/base/base.h"

static inline void hpc_put32(uint8_t *at, uint32_t x)
{
    for (int k = 0; k < 4; k++) at[k] = (uint8_t)(x >> (8 * k));
}
static inline void hpc_put64(uint8_t *at, uint64_t x)
{
    for (int k = 0; k < 8; k++) at[k] = (uint8_t)(x >> (8 * k));
}
static inline uint32_t hpc_get32(const uint8_t *at)
{
    uint32_t x = 0;
    for (int k = 0; k < 4; k++) x |= (uint32_t)at[k] << (8 * k);
    return x;
}
static inline uint64_t hpc_get64(const uint8_t *at)
{
    uint64_t x = 0;
    for (int k = 0; k < 8; k++) x |= (uint64_t)at[k] << (8 * k);
    return x;
}
static inline void hpc_put_hash(uint8_t *at, hpc_hash128 h)
{
    hpc_put64(at, h.low);
    hpc_put64(at + 8, h.high);
}
static inline hpc_hash128 hpc_get_hash(const uint8_t *at)
{
    hpc_hash128 h;
    h.low = hpc_get64(at);
    h.high = hpc_get64(at + 8);
    return h;
}
static inline bool hpc_same_hash(hpc_hash128 a, hpc_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

#endif
