/*
 * library.h: calls of libraries that run a loop body in parallel: Kokkos, RAJA, std::execution.
 */
#ifndef HPC_PRAGMA_LIBRARY_H
#define HPC_PRAGMA_LIBRARY_H

#include "infer/pragma/written.h"

/* Appends a loop without a node for each call, in the order of the text. Its `already` names the
 * function. The list has an arena. */
int library_find(hpc_pragma_loops *out, int64_t *cap, const directives *d);

#endif
