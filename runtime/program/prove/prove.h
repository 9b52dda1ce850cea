/*
 * prove.h: proof, before any rank starts, that the programs of all ranks together
 * compute what the serial program computes.
 *
 * The proof does not depend on how programs were sharded. It trusts the labels of the
 * op table, follows which elements of the serial program's values each rank holds, and
 * requires that each serial instruction is executed once on all of its elements. It
 * runs nothing. It covers neither rounding nor the elements that an index picks.
 */
#ifndef HPC_PROVE_H
#define HPC_PROVE_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_prove {
    const hpc_program *serial; /* before sharding, with the requested layouts */
    const hpc_grid_shape *shape;
    const hpc_program *const *program; /* [n]: of the ranks in `rank` */
    const int *rank; /* [n]: begins with 0; for each axis, contains the second rank along it */
    int n;
    uint64_t optional; /* bit set of segments that need not run before a later one */
} hpc_prove;

typedef struct hpc_proof {
    int64_t instructions; /* of the serial program, all matched */
    int64_t moves;        /* views, tiles and collectives that only move elements */
    int64_t collectives;
    int64_t exchanges; /* of rows of experts, there or back */
} hpc_proof;

/* Selects ranks to compare, and returns their number: all ranks if there are at most `most`;
 * otherwise the first, second and last along each axis, and the last along all axes, because a
 * program depends on such coordinates only. rank: [most], at least 32. */
int hpc_prove_ranks(int *rank, int most, const hpc_grid_shape *shape);

/* Proves that no rank waits for ever: all start the same collectives, with the same kinds, types,
 * sizes and peers, over the same axes, in the same order, and under the same guards. HPC_E_STATE
 * names rank, instruction, value and the difference. */
int hpc_prove_order(hpc_proof *out, const hpc_prove *w);
/* Proves that the layouts of operands let every instruction compute its part of the serial one,
 * that partial sums are summed once, replicas agree, and parts cover their tensor once.
 * HPC_E_STATE as above; HPC_E_UNSUPPORTED: an instruction without a rule, such as a message. */
int hpc_prove_layouts(hpc_proof *out, const hpc_prove *v);
/* Part of it: rows that an exchange brings to the ranks of their experts return to their places.
 * p: the serial program. */
int hpc_prove_exchanges(hpc_proof *out, const hpc_program *p);

/* The stages of a pipeline, cut by hpc_stage from one program. */
typedef struct hpc_prove_stages {
    const hpc_program *const *whole;   /* [ranks]: before hpc_stage */
    const hpc_program *const *program; /* [ranks]: by coordinate on the pipe axis */
    int ranks, chunks;
    bool interlaced;       /* with shared segments (hpc_stage) */
    int forward, backward; /* the divided segments of `whole` */
    const int *moved;      /* as from hpc_stage */
} hpc_prove_stages;
/* Proves that each instruction runs on every stage that holds what it writes, that each stage has
 * what it reads, and that each message is sent once and received once, as the same value. All
 * stages start each collective along pipe. Shared segments read nothing of others on ranks where
 * they have no memory of the microbatch.
 * out->moves: messages of a microbatch. HPC_E_STATE as above. The order of messages between
 * microbatches is that of tasks: train/plan.h. */
int hpc_prove_stages_of(hpc_proof *out, const hpc_prove_stages *w);

#ifdef __cplusplus
}
#endif
#endif
