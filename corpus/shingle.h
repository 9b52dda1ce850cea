/*
 * shingle.h: windows of code tokens as 64-bit hashes, one after the other; what shingle.c and the
 * files of the sketch have in common.
 */
#ifndef HPC_CORPUS_SHINGLE_H
#define HPC_CORPUS_SHINGLE_H

#include "corpus/priv.h"

/* The hash of the last `width` tokens: sum of h[i] * B^(width - 1 - i), modulo 2^64, which rolls;
 * its low bits are weak, so that it is finished by corpus_mix before use. */
enum { CORPUS_ROLL = 64 }; /* the widest window; a power of two */
typedef struct corpus_roll {
    uint64_t sum, top; /* top: B^width */
    uint32_t ring[CORPUS_ROLL];
    int64_t n; /* tokens pushed */
    int width;
} corpus_roll;

/* A bijection in which every bit of the input reaches every bit of the output. */
static inline uint64_t corpus_mix(uint64_t h)
{
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

/* hpc_token_is_code without a branch: 1 or 0. */
static inline int corpus_is_code(const hpc_token *t)
{
    const unsigned not_code =
        1u << HPC_TOKEN_COMMENT | 1u << HPC_TOKEN_END_DIRECTIVE | 1u << HPC_TOKEN_NEWLINE;
    return ~not_code >> t->kind & 1;
}

#define CORPUS_ROLL_BASE 0x9fb21c651e98df25u

void corpus_roll_start(corpus_roll *r, int width); /* 1 to CORPUS_ROLL */

/* True when the window is full: then corpus_mix(r->sum) is its hash. */
static inline bool corpus_roll_push(corpus_roll *r, uint32_t hash)
{
    uint32_t *oldest = &r->ring[(r->n - r->width) & (CORPUS_ROLL - 1)];
    uint64_t out = r->n >= r->width ? *oldest : 0;
    r->sum = r->sum * CORPUS_ROLL_BASE + hash - out * r->top;
    r->ring[r->n & (CORPUS_ROLL - 1)] = hash;
    return ++r->n >= r->width;
}

/* Sorts ascending by digits, with scratch of the same length; equal ones stay. */
void corpus_sort(uint64_t *a, uint64_t *scratch, int64_t n);
/* Of a sorted array: distinct ones to the front; how many there are. */
int64_t corpus_unique(uint64_t *a, int64_t n);

#endif
