/*
 * conflict.h: the conflicts of a loop's accesses, for the edits that would remove them.
 */
#ifndef HPC_PRAGMA_CONFLICT_H
#define HPC_PRAGMA_CONFLICT_H

#include "infer/pragma/walk.h"

/* Records two accesses that conflict, certainly or perhaps. `fresh`: they have new evidence. */
void conflict_note(walk *w, const access *write, const access *other, bool sure, bool fresh);

#endif
