/*
 * split.h: edits that move statements of a loop into a loop of their own, or before the loop.
 */
#ifndef HPC_PRAGMA_SPLIT_H
#define HPC_PRAGMA_SPLIT_H

#include "infer/pragma/walk.h"

typedef struct split_edits { /* NULL: no edit of this kind makes the loop, or a part, parallel */
    const char *hoist;       /* "move line 12 before the loop: ..." */
    const char *split;       /* "split the loop after line 12: ..." */
} split_edits;
split_edits split_of(walk *w);

#endif
