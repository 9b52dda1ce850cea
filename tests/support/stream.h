/*
 * stream.h: numbers that follow from a name. tests/fixtures/streams.py computes the same ones, so
 * that fixtures need not store them.
 */
#ifndef HPC_TEST_STREAM_H
#define HPC_TEST_STREAM_H

#include <stdint.h>

typedef struct hpc_test_stream {
    uint64_t state, word;
    int left; /* bytes of the word */
} hpc_test_stream;

enum { HPC_TEST_PROJECTIONS = 4 };

hpc_test_stream hpc_test_stream_of(const char *name);
uint8_t hpc_test_stream_byte(hpc_test_stream *s);
/* A signed integer of `bits` bits. */
float hpc_test_stream_whole(hpc_test_stream *s, int bits);
/* Scalar products of x with vectors that follow from the name, then the length of x. */
void hpc_test_projections(double out[HPC_TEST_PROJECTIONS + 1], const char *name, const float *x,
                          int64_t n);

#endif
