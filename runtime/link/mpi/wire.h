/*
 * wire.h: point-to-point messages between processes as a C function table. Its
 * implementation is a shared object (hpccoder-mpi.so), so that nothing else links MPI.
 * It calls no hpccoder function; runtime/link builds collectives, matching and errors
 * on top of it.
 *
 * One thread at a time may call it. Functions return 0 or a code of the library, which
 * `text` converts to text.
 */
#ifndef HPC_WIRE_H
#define HPC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_WIRE_VERSION = 1, HPC_WIRE_TEXT = 256, HPC_WIRE_ANY = -1 };

typedef struct hpc_wire_request { /* opaque; may be moved */
    uint64_t word;
} hpc_wire_request;

typedef struct hpc_wire_info {
    int rank, size;
    int tag_most;         /* tags are 0 to this */
    bool device_pointers; /* the library takes memory of a GPU */
    char library[HPC_WIRE_TEXT];
} hpc_wire_info;

/* The library's own collectives on floats, as baselines. */
typedef enum hpc_wire_peer { HPC_WIRE_SUM, HPC_WIRE_GATHER, HPC_WIRE_SCATTER } hpc_wire_peer;

typedef struct hpc_wire {
    int version;
    /* Initializes the library if necessary and creates a separate communicator. Collective. On
     * failure returns nonzero and the reason in `why`. */
    int (*open)(void **self, hpc_wire_info *info, char why[HPC_WIRE_TEXT]);
    /* Buffers must not change until the request is done. bytes < 2 GiB. Messages of one pair and
     * tag arrive in the order in which they were sent. */
    int (*send)(void *self, hpc_wire_request *q, const void *data, size_t bytes, int to, int tag);
    /* from: a rank, or HPC_WIRE_ANY. */
    int (*recv)(void *self, hpc_wire_request *q, void *data, size_t bytes, int from, int tag);
    int (*test)(void *self, hpc_wire_request *q, bool *done); /* makes progress; never blocks */
    /* Cancels a receive. It must still be tested until done, and may still receive its data. */
    int (*cancel)(void *self, hpc_wire_request *q);
    /* Blocking; n counts as in hpc_comm. */
    int (*peer)(void *self, hpc_wire_peer what, float *recv, const float *send, int n);
    void (*text)(void *self, int code, char out[HPC_WIRE_TEXT]);
    /* Finalizes the library if open initialized it, and waits for all ranks; unless `orderly` is
     * false. */
    void (*close)(void *self, bool orderly);
} hpc_wire;

#define HPC_WIRE_SYMBOL "hpc_wire_mpi"

#ifdef __cplusplus
}
#endif
#endif
