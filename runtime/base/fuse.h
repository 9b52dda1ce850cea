/*
 * fuse.h: a map from 64-bit keys to small numbers that stores no keys, in 1.13 slots per key.
 *
 * A binary fuse filter (Graf and Lemire 2022) with three slots per key. A key of the map gives its
 * value. Any other key gives a random value. A slot has 1 to 16 bits, packed without gaps. A set is
 * a map with the value 0 for every key: of B bits, it accepts one foreign key in 2^B.
 */
#ifndef HPC_FUSE_H
#define HPC_FUSE_H

#include "runtime/base/bytes.h"
#include "runtime/base/mix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* HPC_FUSE_PAD bytes after the slots must be readable; their values do not matter. */
enum { HPC_FUSE_BITS_MOST = 16, HPC_FUSE_PAD = 3 };
typedef struct hpc_fuse {
    uint64_t seed;
    uint32_t segment_log2, segments, bits;
    const uint8_t *slots; /* NULL when it is empty */
} hpc_fuse;
/* Appends the slots, of `bits` bits each, to out; keys are distinct. value NULL: all 0; else the
 * low `bits` bits of each value. Sets all of *f except f->slots. The same keys give the same bytes
 * on every machine. */
int hpc_fuse_build(hpc_fuse *f, hpc_buf *out, const uint64_t *keys, const uint16_t *value,
                   int64_t n, int bits);
uint64_t hpc_fuse_slots(const hpc_fuse *f); /* number of slots; 0: the fields fit no map */
uint64_t hpc_fuse_bytes(const hpc_fuse *f); /* size of the slots, without HPC_FUSE_PAD */

typedef struct hpc_fuse_at {
    uint64_t at[3];
    uint16_t print;
} hpc_fuse_at;
static inline hpc_fuse_at hpc_fuse_place(const hpc_fuse *f, uint64_t key)
{
    uint64_t h = hpc_mix(key + f->seed), segment = UINT64_C(1) << f->segment_log2;
    uint64_t first = (uint64_t)(((unsigned __int128)h * ((uint64_t)f->segments * segment)) >> 64);
    hpc_fuse_at p = {{first, (first + segment) ^ (h >> 18 & (segment - 1)),
                      (first + 2 * segment) ^ (h & (segment - 1))},
                     (uint16_t)(h ^ h >> 32)};
    return p;
}
/* The byte in which a slot begins, to prefetch it. */
static inline const uint8_t *hpc_fuse_byte(const hpc_fuse *f, uint64_t at)
{
    return f->slots + (at * f->bits >> 3);
}
static inline uint32_t hpc_fuse_value(const hpc_fuse *f, const hpc_fuse_at *p)
{
    uint32_t value = p->print;
    for (int k = 0; k < 3; k++)
        value ^= hpc_get32(hpc_fuse_byte(f, p->at[k])) >> (p->at[k] * f->bits & 7);
    return value & ((1u << f->bits) - 1);
}

#ifdef __cplusplus
}
#endif
#endif
