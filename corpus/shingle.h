/*
 * shingle.h: windows of code tokens as 64-bit hashes; shared by shingle.c and the sketch files.
 */
#ifndef HPC_CORPUS_SHINGLE_H
#define HPC_CORPUS_SHINGLE_H

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "corpus/priv.h"
#include "runtime/base/mix.h"

#ifdef __x86_64__
/* For code compiled for AVX-512: eight numbers, and a load that widens from 32 bits. */
typedef uint64_t corpus_vector __attribute__((vector_size(64)));
#define CORPUS_WIDEN(from)                                                                         \
    ((corpus_vector)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const void *)(from))))
#endif

/* hpc_token_is_code without a branch: 1 or 0. */
static inline int corpus_is_code(const hpc_token *t)
{
    const unsigned not_code =
        1u << HPC_TOKEN_COMMENT | 1u << HPC_TOKEN_END_DIRECTIVE | 1u << HPC_TOKEN_NEWLINE;
    return ~not_code >> t->kind & 1;
}

/* Hashes of the n shingles that end at tokens at, at + 1, ... */
void corpus_shingles(uint64_t *out, const corpus_code *c, int64_t at, int64_t n);

#endif
