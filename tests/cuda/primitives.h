/*
 * primitives.h: the arguments of the kernel that runs one primitive of simt.cuh in a warp.
 */
#ifndef HPC_TEST_PRIMITIVES_H
#define HPC_TEST_PRIMITIVES_H

#include <stdint.h>

enum { PRIMITIVES_IN = 256, PRIMITIVES_OUT = 128 }; /* words; the output has four for each lane */

typedef enum primitive {
    PRIMITIVE_COPY,       /* copy_async, copy_commit, copy_wait */
    PRIMITIVE_LOAD,       /* load_matrices */
    PRIMITIVE_TRANSPOSED, /* load_matrices_transposed */
    PRIMITIVE_MULTIPLY,
    PRIMITIVE_BYTES, /* multiply_bytes */
    PRIMITIVE_WORDS, /* dot4, permute, shuffle_xor, ballot */
    PRIMITIVES
} primitive;

typedef struct primitive_args {
    uint32_t *y;
    const uint32_t *x;
    int32_t kind; /* primitive */
} primitive_args;

#endif
