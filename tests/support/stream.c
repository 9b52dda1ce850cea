/*
 * stream.c: see stream.h.
 */
#include <math.h>
#include <stdio.h>

#include "tests/support/stream.h"

hpc_test_stream hpc_test_stream_of(const char *name)
{
    hpc_test_stream s = {.state = 14695981039346656037u};
    for (; *name; name++) s.state = (s.state ^ (uint8_t)*name) * 1099511628211u;
    return s;
}

uint8_t hpc_test_stream_byte(hpc_test_stream *s)
{
    if (s->left == 0) {
        uint64_t z = s->state += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        s->word = z ^ (z >> 31);
        s->left = 8;
    }
    uint8_t b = (uint8_t)s->word;
    s->word >>= 8;
    s->left--;
    return b;
}

float hpc_test_stream_whole(hpc_test_stream *s, int bits)
{
    uint32_t low = hpc_test_stream_byte(s), high = hpc_test_stream_byte(s) ^ 0x80u;
    return (float)((high << 8 | low) >> (16 - bits)) - (float)(1 << (bits - 1));
}

void hpc_test_projections(double out[HPC_TEST_PROJECTIONS + 1], const char *name, const float *x,
                          int64_t n)
{
    char text[256];
    double squares = 0;
    for (int k = 0; k < HPC_TEST_PROJECTIONS; k++) {
        snprintf(text, sizeof text, "%d%s", k, name);
        hpc_test_stream s = hpc_test_stream_of(text);
        out[k] = 0;
        for (int64_t i = 0; i < n; i++)
            out[k] += (double)x[i] * (double)hpc_test_stream_whole(&s, 8) / 128;
    }
    for (int64_t i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    out[HPC_TEST_PROJECTIONS] = sqrt(squares);
}
