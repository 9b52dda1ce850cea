/*
 * propose.h: what find.c, propose.c, nest.c, vector.c and target.c share: the directive of a loop
 * whose iterations are independent.
 */
#ifndef HPC_PRAGMA_PROPOSE_H
#define HPC_PRAGMA_PROPOSE_H

#include "infer/pragma/memory.h"

typedef struct proposal {
    int collapse;       /* loops that become one; 1: no more than this one */
    bool threads, simd; /* of them neither: nothing to propose */
    bool target;
    hpc_buf maps; /* the clauses that move data to the device and back */
} proposal;

/* ---- propose.c ---- */
/* Chooses the directive of a loop under study, judged with clauses `c`.
 * What is chosen may assume more. */
void propose(hpc_pragma_loop *out, study *s, const clauses *c, const hpc_pragma_options *o);
/* Whether an iteration is made of arithmetic, accesses and calls that a device and vectors have.
 * False: *why says what is not, at *node. `vectors`: no switch either. */
bool propose_is_plain(const char **why, int32_t *node, const study *s, bool vectors);

/* ---- nest.c ---- */
/* How many loops may become one, from this one on: one, or those for which it pays; `all`: all
 * those. Evidence says why, or why not. */
int nest_collapse(study *s, const clauses *c, bool all);
/* Whether the head of a loop inside of the studied one, which counts by `h`, says the same in all
 * its iterations, and may be looked at before the first of them. */
bool nest_is_settled(study *s, const loop_head *h);
double nest_trips(study *s, const loop_head *h); /* -1: not known */

/* ---- vector.c ---- */
/* Whether the loop runs well in vectors; if not, evidence says why. */
bool vector_fits(study *s, const clauses *c);

/* ---- target.c ---- */
/* The map clauses, and whether there are any that are right; if not, evidence says why. */
bool target_maps(hpc_buf *maps, study *s, const clauses *c);

#endif
