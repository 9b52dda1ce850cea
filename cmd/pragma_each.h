/*
 * pragma_each.h: work on many items by several workers, and their results in the items' order.
 */
#ifndef HPC_CMD_PRAGMA_EACH_H
#define HPC_CMD_PRAGMA_EACH_H

#include "runtime/base/base.h"

typedef struct pragma_each_options {
    int64_t n;
    int workers;
    int64_t window;  /* items that may be begun before an earlier one is emitted; 1: one by one */
    const int *stop; /* not 0, by atomic built-ins: no further item is begun; NULL */
    /* In a worker. A failure ends all. */
    int (*work)(int64_t k, int worker, void *user);
    /* In the calling thread, in the order of the items, each as soon as it is done. */
    int (*emit)(int64_t k, void *user);
    /* There too, several times a second while it waits; NULL. */
    void (*look)(int64_t emitted, void *user);
    void *user;
} pragma_each_options;
/* *emitted: the first so many, fewer than n after a stop or a failure. */
int pragma_each(int64_t *emitted, const pragma_each_options *o);

#endif
