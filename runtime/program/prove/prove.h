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
    const hpc_program *serial; /* as it was before it was sharded, with layouts as wished */
    const hpc_grid_shape *shape;
    const hpc_program *const *program; /* [n], of these ranks of the grid: */
    const int *rank; /* the first is 0; for each axis there is the second along it alone */
    int n;
    uint64_t optional; /* bit set of segments that need not run before a later one */
} hpc_prove;

typedef struct hpc_proof {
    int64_t instructions; /* of the serial program, all matched */
    int64_t moves;        /* views, tiles and collectives that only change who holds what */
    int64_t collectives;
} hpc_proof;

/* Ranks to compare: all, or, of more than `most`, those that tell apart what a rank's place may
 * change: the first, second and last along each axis, and the last along all. rank: room for
 * `most`, at least 32. Returns how many. */
int hpc_prove_ranks(int *rank, int most, const hpc_grid_shape *shape);

/* All ranks start the same collectives, of the same kinds, types, sizes and peers, over the same
 * axes, in the same order, and under guards that all have alike: none waits for another for ever.
 * HPC_E_STATE names rank, instruction, value and what differs. */
int hpc_prove_order(hpc_proof *out, const hpc_prove *w);
/* Every instruction has operands in layouts under which it computes its part of the serial one;
 * partial sums are summed once, replicas agree, parts cover their tensor once. HPC_E_STATE
 * likewise; HPC_E_UNSUPPORTED for what has no rule here (messages). */
int hpc_prove_layouts(hpc_proof *out, const hpc_prove *v);

#ifdef __cplusplus
}
#endif
#endif
