/*
 * cover.h: reads whose values come from the same iteration.
 */
#ifndef HPC_PRAGMA_COVER_H
#define HPC_PRAGMA_COVER_H

#include "infer/pragma/walk.h"

/* True if the write assigns, before each read r of its iteration, what r reads. */
bool covers(const loop_facts *l, prover *pr, const access *write, const access *r);
/* True if each iteration writes the parts of a base that it reads, before it reads them. */
bool assigns_first(const loop_facts *l, prover *pr, int32_t base);

#endif
