/*
 * vector.h: portable 16-byte vectors, by GCC's vector extension.
 */
#ifndef HPC_CORPUS_VECTOR_H
#define HPC_CORPUS_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t corpus_bytes __attribute__((vector_size(16)));

static inline corpus_bytes corpus_bytes_load(const char *p)
{
    corpus_bytes v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Is any bit of `mask` set in any byte? */
static inline bool corpus_bytes_any(corpus_bytes v, uint8_t mask)
{
    uint64_t half[2];
    memcpy(half, &v, sizeof half);
    return ((half[0] | half[1]) & mask * UINT64_C(0x0101010101010101)) != 0;
}

#endif
