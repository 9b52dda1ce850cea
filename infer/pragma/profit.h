/*
 * Profitability model of directives with threads.
 */
#ifndef HPC_PRAGMA_PROFIT_H
#define HPC_PRAGMA_PROFIT_H

#include "infer/pragma/propose.h"
#include "infer/pragma/spell.h"

/* Sets `idle` and `least` of a loop whose directive is chosen. */
void profit_of(hpc_pragma_loop *out, study *s);

#endif
