/*
 * disjoint.h: edits that make the assumption needless that two arrays do not overlap.
 */
#ifndef HPC_PRAGMA_DISJOINT_H
#define HPC_PRAGMA_DISJOINT_H

#include "infer/pragma/walk.h"

/* Of a loop that is conditional: "restrict in the declarations excludes an overlap of x and y";
 * NULL: no edit replaces all assumptions. */
const char *disjoint_of(walk *w);

#endif
