/*
 * gemm_coop.h: a large product computed cooperatively by all workers. They pack a part
 * of b once for all, reach a barrier, and compute strips: their own first, then those
 * of others. No worker waits for a slower one by more than a small strip, and no data
 * are packed twice. The bits are those of cpu_gemm.
 */
#ifndef HPC_CPU_GEMM_COOP_H
#define HPC_CPU_GEMM_COOP_H

#include "runtime/device/cpu/kernels/gemm.h"

/* Maximum depth of a part of b, or twice as many elements in pairs. A part consists of slabs of
 * GEMM_SLAB; while all of them are multiplied, a strip of c as wide as the part stays in L2. */
enum { COOP_K = GEMM_SLAB > 1024 ? GEMM_SLAB : 1024 };
enum {
    COOP_BLOCK = 256, /* along k: parts end at its multiples, between blocks of every format */
    COOP_COLS = 1024,
    COOP_ROWS = GEMM_WORD_STEP > 1 ? 64 : 48, /* rows of a strip, at most */
    COOP_SPARE = 2                            /* rows of floats as wide as a part, for `done` */
};

typedef struct gemm_job {
    gemm g;
    int64_t m, n;
    float *c; /* [m,c_ld]; NULL: only `done` gets results; then k <= COOP_K and `add` is false */
    int64_t c_ld;
    bool add;      /* adds to c, as a chain that continues from it */
    int64_t grain; /* blocks begin at columns that are its multiples; it divides COOP_COLS / 4. 0:
                      GEMM_TILE_GRAIN */
    /* Called for each complete block by the worker that completed it: a strip of rows at most as
     * wide as a part. NULL: not called. x: the block, in c or in the worker's own memory; it may be
     * overwritten. spare: COOP_SPARE rows. */
    void (*done)(const struct gemm_job *job, gemm_block at, float *x, int64_t ld, float *spare);
    const void *user;
} gemm_job;

/* True if the product is large enough for this many workers, and cpu_gemm_pack supports its
 * operands. */
bool HPC_ISA(cpu_gemm_is_coop)(const gemm *g, int64_t m, int64_t n, int64_t k, int workers);
/* Bytes that cpu_gemm_together needs in each buffer that workers share, and in each worker's
 * `own`. */
size_t HPC_ISA(cpu_gemm_coop_bytes)(const gemm *g, int64_t n, int64_t k, int workers);
size_t HPC_ISA(cpu_gemm_coop_worker)(int64_t n);

/* True if the job packs a, some of it before the first barrier and all before the last, and reads b
 * after the first. Otherwise the roles of a and b are exchanged; b that needs no packing is read
 * after the first barrier. */
bool HPC_ISA(cpu_gemm_turns)(const gemm_job *job);

/* All workers call it. Other workers may still be running when it returns: a barrier must
 * precede the next use of its results. */
void HPC_ISA(cpu_gemm_together)(const hpc_launch *l, const gemm_job *job, float *own);

#endif
