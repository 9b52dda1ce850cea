/*
 * window.h: the next 64 bytes of a text as sets of bits, so that both lexers find
 * tokens by counting zeros.
 *
 * Names and single bytes are all that it knows.
 */
#ifndef HPC_SOURCE_WINDOW_H
#define HPC_SOURCE_WINDOW_H

#include "runtime/source/priv.h"

/* Bit i stands for the byte at `at` + i. */
typedef struct hpc_window {
    const uint8_t *at;
    const uint8_t *bytes; /* the same as `at` or, near the end of the text, a copy */
    uint64_t starts;      /* before bit n: bytes that begin a name or are neither name nor blank */
    uint64_t breaks;      /* bytes that do not continue a name */
    uint32_t n;           /* where the next window opens; 0: a name fills this one */
    uint8_t copy[96];
} hpc_window;

/* At p < end. 80 of its bytes may be read; after the end they are zero. */
void hpc_window_open(hpc_window *w, const uint8_t *p, const uint8_t *end);

/* The starts from bit i < n on, where a token begins even if it cuts a name in two. */
static inline uint64_t hpc_window_from(const hpc_window *w, size_t i)
{
    return (w->starts | (~w->breaks & UINT64_C(1) << i)) & UINT64_MAX << i;
}

#endif
