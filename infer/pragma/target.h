/*
 * target.h: map clauses of a loop that runs on a device.
 */
#ifndef HPC_PRAGMA_TARGET_H
#define HPC_PRAGMA_TARGET_H

#include "infer/pragma/walk.h"

/* Appends the map clauses. False: the mapped memory is not known; the reason is added to the
 * evidence. */
bool target_maps(hpc_buf *maps, walk *w);

#endif
