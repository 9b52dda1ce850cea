/*
 * rail.h: NCCL as a C function table. Its implementation is a shared object
 * (hpccoder-nccl.so), so that nothing else links NCCL or CUDA. It calls no hpccoder
 * function; runtime/link/nccl.c implements the link on top of it.
 *
 * Functions return 0, or nonzero with the reason in `why`. One thread at a time may
 * call them for one rail. Buffers are memory of the rail's device.
 */
#ifndef HPC_RAIL_H
#define HPC_RAIL_H

#include "runtime/link/link.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_RAIL_VERSION = 3, HPC_RAIL_TEXT = 256, HPC_RAIL_ID = 128 };

typedef struct hpc_rail_call {
    hpc_comm c;                 /* c.stream is a cudaStream_t */
    const hpc_dtype_info *info; /* of its dtype */
    void *mark;                 /* from `mark`; signalled once all calls up to this one are done */
} hpc_rail_call;

typedef struct hpc_rail {
    int version;
    int (*devices)(int *n, char why[HPC_RAIL_TEXT]);
    int (*id)(char id[HPC_RAIL_ID], char why[HPC_RAIL_TEXT]); /* on one rank, for all */
    /* Collective: succeeds on all ranks or fails on all. */
    int (*open)(void **self, int device, const char id[HPC_RAIL_ID], int rank, int size,
                char why[HPC_RAIL_TEXT]);
    int (*mark)(void *self, void **mark, char why[HPC_RAIL_TEXT]); /* reusable */
    void (*unmark)(void *self, void *mark);
    /* Issues the calls as one NCCL group in their streams, and records each call's mark there. */
    int (*start)(void *self, const hpc_rail_call *call, int n, char why[HPC_RAIL_TEXT]);
    int (*test)(void *self, void *mark, bool *done, char why[HPC_RAIL_TEXT]); /* never blocks */
    /* Memory that calls use later, so that NCCL copies directly; *handle NULL: it cannot. */
    int (*register_memory)(void *self, void **handle, void *memory, size_t bytes,
                           char why[HPC_RAIL_TEXT]);
    void (*deregister_memory)(void *self, void *handle);
    void (*abort)(void *self); /* stops everything that was started */
    void (*close)(void *self); /* after all calls are complete, unless aborted */
} hpc_rail;

#define HPC_RAIL_SYMBOL "hpc_rail_nccl"

#ifdef __cplusplus
}
#endif
#endif
