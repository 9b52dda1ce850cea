/*
 * propose.h: the directive of a loop with independent iterations.
 */
#ifndef HPC_PRAGMA_PROPOSE_H
#define HPC_PRAGMA_PROPOSE_H

#include "infer/pragma/walk.h"

/* Chooses the directive of a loop from the clauses of its answer. The choice may add assumptions
 * and evidence. */
void propose(hpc_pragma_loop *out, walk *w, const hpc_pragma_options *o);

#endif
