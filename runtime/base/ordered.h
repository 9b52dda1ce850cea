/*
 * ordered.h: parallel work on numbered items whose results are emitted in the order of the items.
 */
#ifndef HPC_ORDERED_H
#define HPC_ORDERED_H

#include "runtime/base/base.h"

typedef struct hpc_ordered_options {
    int64_t n;
    int workers;     /* at least 1 */
    int64_t window;  /* at least 1: items started and not yet emitted, at most; 1: serial */
    const int *stop; /* read atomically; not 0: no further item starts. NULL: never */
    /* Called in a worker. After a failure no further item starts. */
    int (*work)(int64_t k, int worker, void *user);
    /* Called in the calling thread, in the order of the items, as soon as an item is done. */
    int (*emit)(int64_t k, void *user);
    /* Called in the calling thread several times a second while it waits; NULL: not called. */
    void (*look)(int64_t emitted, void *user);
    void *user;
} hpc_ordered_options;
/* Runs the items. After a stop, the items already started are still completed and emitted.
 * *emitted: number of emitted items, fewer than n after a stop or a failure. Returns the code of
 * the first failure and records its message in the calling thread. */
int hpc_ordered_run(int64_t *emitted, const hpc_ordered_options *o);

#endif
