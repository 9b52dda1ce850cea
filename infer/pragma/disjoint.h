/*
 * disjoint.h: edits that make the assumption needless that two arrays do not overlap.
 */
#ifndef HPC_PRAGMA_DISJOINT_H
#define HPC_PRAGMA_DISJOINT_H

#include "infer/pragma/walk.h"

/* The edit for a conditional loop: "restrict in the declarations excludes an overlap of x and y";
 * NULL: no edit replaces all assumptions. */
const char *disjoint_of(walk *w);

#endif
