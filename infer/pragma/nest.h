/*
 * nest.h: loop nests that can be collapsed.
 */
#ifndef HPC_PRAGMA_NEST_H
#define HPC_PRAGMA_NEST_H

#include "infer/pragma/walk.h"

/* The number of loops to collapse, from the analysed one inwards: 1, or as many as pay; all: as
 * many as possible. Adds the reasons to the evidence. */
int nest_collapse(walk *w, bool all);
/* True if the head of an inner loop is the same in all iterations of the analysed loop, and can be
 * evaluated before the first of them. */
bool nest_is_settled(walk *w, const loop_head *h);

#endif
