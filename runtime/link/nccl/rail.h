/*
 * rail.h: NCCL behind a C table, in a shared object of its own (hpccoder-nccl.so),
 * so that nothing else needs it or CUDA. It calls nothing of ours; the link is
 * made of it in runtime/link/nccl.c.
 *
 * Functions return 0, or nonzero with the reason in `why`. One thread at a time
 * calls them for one rail. Buffers are memory of the rail's device.
 */
#ifndef HPC_RAIL_H
#define HPC_RAIL_H

#include "runtime/link/link.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_RAIL_VERSION = 1, HPC_RAIL_TEXT = 256, HPC_RAIL_ID = 128 };

typedef struct hpc_rail_call {
    hpc_comm c;
    const hpc_dtype_info *info; /* of its dtype */
    void *mark;                 /* of hpc_rail's: set once all calls up to this one are done */
} hpc_rail_call;

typedef struct hpc_rail {
    int version;
    int (*devices)(int *n, char why[HPC_RAIL_TEXT]);
    int (*id)(char id[HPC_RAIL_ID], char why[HPC_RAIL_TEXT]); /* on one rank, for all */
    /* Collective: returns on all ranks or on none. */
    int (*open)(void **self, int device, const char id[HPC_RAIL_ID], int rank, int size,
                char why[HPC_RAIL_TEXT]);
    int (*mark)(void *self, void **mark, char why[HPC_RAIL_TEXT]); /* to be used again and again */
    void (*unmark)(void *self, void *mark);
    /* As one group, behind what was started before; each call's mark is set behind it. */
    int (*start)(void *self, const hpc_rail_call *call, int n, char why[HPC_RAIL_TEXT]);
    int (*test)(void *self, void *mark, bool *done, char why[HPC_RAIL_TEXT]); /* never blocks */
    void (*abort)(void *self); /* frees the devices of everything that was started */
    void (*close)(void *self); /* waits for what was started, unless aborted */
} hpc_rail;

#define HPC_RAIL_SYMBOL "hpc_rail_nccl"

#ifdef __cplusplus
}
#endif
#endif
