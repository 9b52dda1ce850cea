/*
 * remedy.h: the change of the code that would make a loop parallel, where the analysis knows one.
 */
#ifndef HPC_PRAGMA_REMEDY_H
#define HPC_PRAGMA_REMEDY_H

#include "infer/pragma/walk.h"

/* "split the loop after line 12: ..."; NULL: none is known. Before the assumptions are joined. */
const char *remedy_of(walk *w);

#endif
