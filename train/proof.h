/*
 * proof.h: a step on a grid before any rank starts: the programs of all ranks,
 * what is proven of them, and the memory that each would need.
 */
#ifndef HPC_TRAIN_PROOF_H
#define HPC_TRAIN_PROOF_H

#include "runtime/program/prove/prove.h"
#include "train/train.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_STEP_RANKS = 64 };
/* The caller's storage; the programs are its own. Of a grid of more than HPC_STEP_RANKS ranks those
 * that stand for all (hpc_prove_ranks). Of a pruned step all have as many picked elements as the
 * rank that asks, which those of other parts of a matrix need not have. */
typedef struct hpc_step_ranks {
    hpc_program *program[HPC_STEP_RANKS];
    hpc_step io; /* of each of them */
    int rank[HPC_STEP_RANKS], n;
    hpc_program *serial;   /* a copy, its segments put together as those of ranks are */
    const hpc_parallel *q; /* borrowed */
} hpc_step_ranks;
/* serial, io: as hpc_step_emit left them, with the layouts of q. most: programs at most, at least
 * 32; 0: HPC_STEP_RANKS. */
int hpc_step_ranks_init(hpc_step_ranks *out, const hpc_program *serial, const hpc_step *io,
                        const hpc_parallel *q, int most);
void hpc_step_ranks_release(hpc_step_ranks *r);
hpc_prove hpc_step_ranks_prove(const hpc_step_ranks *r); /* for hpc_prove_order and _layouts */
/* Both, in a grid's first rank, before it opens: HPC_E_STATE says what is wrong. What has no rule
 * to be proven by passes, and `unproven` says what that is and why; else it is "". */
int hpc_step_prove(char unproven[160], const hpc_program *serial, const hpc_step *io,
                   const hpc_parallel *q);

/* Bytes of a rank, by what they are for; `all` is what the executor allocates, the others without
 * the ends of its arenas' blocks. activations: and workspace. */
typedef struct hpc_step_memory {
    double parameters, gradients, optimizer, activations, all;
} hpc_step_memory;
/* Of a program, sharded or not. device: whose kernels' workspace counts; NULL: none does. */
int hpc_step_memory_of(hpc_step_memory *out, const hpc_program *p, const hpc_step *io,
                       const hpc_model_config *c, hpc_device *device);
/* The same of the rank of r that needs most. */
int hpc_step_memory_most(hpc_step_memory *out, int *rank, const hpc_step_ranks *r,
                         const hpc_model_config *c, hpc_device *device);

#ifdef __cplusplus
}
#endif
#endif
