/*
 * vector.h: loops that are worth vectorizing.
 */
#ifndef HPC_PRAGMA_VECTOR_H
#define HPC_PRAGMA_VECTOR_H

#include "infer/pragma/answer.h"
#include "infer/pragma/loop.h"

/* True if the loop suits vectors; if not, the reason is added to the evidence. */
bool vector_fits(answer *a, const loop_facts *l, prover *pr);
/* True if an iteration consists of arithmetic, accesses and calls that devices and vectors support.
 * False: *why is the reason, at *node. vectors: a switch is not supported either. */
bool vector_is_plain(const char **why, int32_t *node, const loop_facts *l, bool vectors);

#endif
