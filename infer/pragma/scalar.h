/*
 * scalar.h: clauses for the variables that a loop assigns.
 */
#ifndef HPC_PRAGMA_SCALAR_H
#define HPC_PRAGMA_SCALAR_H

#include "infer/pragma/walk.h"

/* Adds clauses, or evidence against them, for each slot. */
void scalars_judge(walk *w);
/* For default(none): lists as shared all variables that no other clause names. */
void share_rest(answer *a, const loop_facts *l);

/* ---- live.c ---- */
/* True if a variable's value may be read after the loop, or when the loop is entered again. */
bool is_live(const loop_facts *l, int32_t symbol);
/* True if a part of the tree that runs to its end assigns a variable before it reads it. */
bool part_assigns_first(const hpc_tree *t, int32_t symbol, int32_t part);

#endif
