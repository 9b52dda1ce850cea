/*
 * own.h: variables that each iteration can have for itself, after an edit of their declarations.
 */
#ifndef HPC_PRAGMA_OWN_H
#define HPC_PRAGMA_OWN_H

#include "infer/pragma/walk.h"

/* "declare t in the loop: ..."; NULL: this does not make the loop parallel. */
const char *own_of(walk *w);

#endif
