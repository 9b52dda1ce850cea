/*
 * proof.h: builds the programs of a grid's ranks before any rank starts, proves properties of
 * them, and computes the memory that each needs.
 */
#ifndef HPC_TRAIN_PROOF_H
#define HPC_TRAIN_PROOF_H

#include "runtime/program/prove/prove.h"
#include "train/train.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_STEP_RANKS = 64 };
/* Programs of the ranks; the caller provides this struct, _init creates the programs. For a grid of
 * more than HPC_STEP_RANKS ranks, only representative ranks (hpc_prove_ranks). With pruning, all
 * ranks are assumed to have as many picked elements as the calling rank, although other parts of a
 * matrix may differ. */
typedef struct hpc_step_ranks {
    hpc_program *program[HPC_STEP_RANKS];
    hpc_step io; /* of each program */
    int rank[HPC_STEP_RANKS], n;
    hpc_program *serial;   /* a copy, with segments spliced like those of the ranks */
    const hpc_parallel *q; /* borrowed */
    int64_t
        microbatches; /* of a step, for the memory of a pipeline; 0: as many as ranks along it */
    int64_t offload;  /* elements of a bucket of state outside, for the memory; 0: none */
} hpc_step_ranks;
/* serial, io: from hpc_step_emit, with the layouts of q. most: limit of programs, at least 32; 0:
 * HPC_STEP_RANKS. */
int hpc_step_ranks_init(hpc_step_ranks *out, const hpc_program *serial, const hpc_step *io,
                        const hpc_parallel *q, int most);
void hpc_step_ranks_release(hpc_step_ranks *r);
hpc_prove hpc_step_ranks_prove(const hpc_step_ranks *r); /* for hpc_prove_order and _layouts */
/* Proves a pipeline's stages, cut from the first rank's program; without a pipeline nothing. */
int hpc_step_prove_stages(hpc_proof *out, const hpc_step_ranks *r);
/* Runs all proofs, on a grid's first rank before it opens. HPC_E_STATE describes the defect. An op
 * without a rule passes; `unproven` then names it and the reason, else it is "". */
int hpc_step_prove(char unproven[160], const hpc_program *serial, const hpc_step *io,
                   const hpc_parallel *q);

/* Bytes of a rank by purpose; activations include workspace, the optimizer's the buffers of an
 * offload. `all` is what the executor allocates; the others exclude the unused ends of arena
 * blocks. `outside` is optimizer state in the outside memory, and not part of `all`. */
typedef struct hpc_step_memory {
    double parameters, gradients, optimizer, activations, all, outside;
} hpc_step_memory;
/* Memory of a program, sharded or not, with `slots` microbatches in flight. device: its kernels'
 * workspace is counted; NULL: no workspace. */
int hpc_step_memory_of(hpc_step_memory *out, const hpc_program *p, const hpc_step *io,
                       const hpc_model_config *c, hpc_device *device, int slots);
/* Memory of the rank of r that needs most. HPC_E_ARG: nothing to offload. */
int hpc_step_memory_most(hpc_step_memory *out, int *rank, const hpc_step_ranks *r,
                         const hpc_model_config *c, hpc_device *device);

#ifdef __cplusplus
}
#endif
#endif
