/*
 * fuse.h: a map from 64-bit keys to small numbers that keeps no keys, in 1.13 slots each.
 *
 * A binary fuse filter (Graf and Lemire 2022) of three places a key. A key that is in it always
 * gives its value; any other gives an accident, each value as likely as the next. It takes slots of
 * one byte or two. A set is such a map whose values are all 0.
 */
#ifndef HPC_FUSE_H
#define HPC_FUSE_H

#include "runtime/base/mix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_fuse {
    uint64_t seed;
    uint32_t segment_log2, segments;
    const uint8_t *slots; /* NULL when it is empty */
} hpc_fuse;
/* Appends the slots, of `width` 1 or 2 bytes, to out; keys are distinct. value NULL: all 0; else
 * `width` bytes of each count. Leaves f->slots alone. The same keys give the same bytes on every
 * machine. */
int hpc_fuse_build(hpc_fuse *f, hpc_buf *out, const uint64_t *keys, const uint16_t *value,
                   int64_t n, int width);
uint64_t hpc_fuse_slots(const hpc_fuse *f); /* how many there are; 0: no such map */

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
/* Of slots of two bytes, and of one. */
static inline uint16_t hpc_fuse_wide(const hpc_fuse *f, const hpc_fuse_at *p)
{
    uint16_t value = p->print;
    for (int k = 0; k < 3; k++)
        value = (uint16_t)(value ^ f->slots[2 * p->at[k]] ^ f->slots[2 * p->at[k] + 1] << 8);
    return value;
}
static inline uint8_t hpc_fuse_narrow(const hpc_fuse *f, const hpc_fuse_at *p)
{
    return (uint8_t)(p->print ^ f->slots[p->at[0]] ^ f->slots[p->at[1]] ^ f->slots[p->at[2]]);
}

#ifdef __cplusplus
}
#endif
#endif
