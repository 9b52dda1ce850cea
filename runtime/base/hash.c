/*
 * hash.c: XXH3 hashes, the same on every machine and in every build.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/base.h"

uint64_t hpc_hash(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

hpc_hash128 hpc_hash_wide(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);
    return (hpc_hash128){.low = h.low64, .high = h.high64};
}
