/*
 * existing.h: directives that the loops of a file have already.
 */
#ifndef HPC_PRAGMA_EXISTING_H
#define HPC_PRAGMA_EXISTING_H

#include "infer/pragma/program.h"

/* Sets `existing`, `existing_is`, `inside` and `fixed` of all loops, and adds loops that the tree
 * lacks. */
int existing_find(hpc_pragma_loops *out, const program *p, const hpc_pragma_options *o);

/* Records which loops hold others, and leaves only those that cover a line; 0: all. The results for
 * a loop do not depend on the line. */
int pragma_list_line(hpc_pragma_loops *l, uint32_t line);

#endif
