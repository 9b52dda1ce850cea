/*
 * planted.h: the arguments of kernels with planted bugs.
 */
#ifndef HPC_TEST_PLANTED_H
#define HPC_TEST_PLANTED_H

#include <stdbool.h>
#include <stdint.h>

enum { PLANTED_N = 64, PLANTED_TILE = 16 };

typedef enum planted_kind {
    PLANTED_BARRIER,  /* y = x reversed, across warps */
    PLANTED_WARP,     /* y = x reversed within each warp */
    PLANTED_ASYNC,    /* y = x, through an asynchronous copy */
    PLANTED_OVERRUN,  /* y = x, through shared memory */
    PLANTED_LANE,     /* y = x, after a barrier */
    PLANTED_COLLECT,  /* y = x of the next lane, by a shuffle */
    PLANTED_SWIZZLE,  /* y [16,16] = x xt, by matrices of bf16 in a swizzled tile */
    PLANTED_TRANSFER, /* y = x */
    PLANTED_KINDS
} planted_kind;

typedef struct planted_args {
    float *y;
    const void *x;
    int32_t kind; /* planted_kind */
    bool bug;
} planted_args;

#endif
