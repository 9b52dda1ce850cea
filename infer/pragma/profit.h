/*
 * profit.h: profitability model of directives with threads.
 */
#ifndef HPC_PRAGMA_PROFIT_H
#define HPC_PRAGMA_PROFIT_H

#include "infer/pragma/walk.h"

/* Sets `idle` and `least` of a loop with a chosen directive. */
void profit_of(hpc_pragma_loop *out, walk *w);

#endif
