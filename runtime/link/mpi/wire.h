/*
 * wire.h: messages between processes behind a C table, in a shared object of
 * its own (hpccoder-mpi.so), so that nothing else needs MPI. It calls nothing of
 * ours; collectives, matching and errors are made of it in runtime/link.
 *
 * One thread at a time calls it. Functions return 0 or a code of the library's,
 * of which `text` makes words.
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

typedef struct hpc_wire_request { /* the library's own, wherever it lies */
    uint64_t word;
} hpc_wire_request;

typedef struct hpc_wire_info {
    int rank, size;
    int tag_most;         /* tags are 0 to this */
    bool device_pointers; /* the library takes memory of a GPU */
    char library[HPC_WIRE_TEXT];
} hpc_wire_info;

/* What the library does itself, for comparison: sums and gathers of floats. */
typedef enum hpc_wire_peer { HPC_WIRE_SUM, HPC_WIRE_GATHER, HPC_WIRE_SCATTER } hpc_wire_peer;

typedef struct hpc_wire {
    int version;
    /* Starts the library unless it is, and makes a space of messages of its own. Collective. On
     * failure returns nonzero and says why. */
    int (*open)(void **self, hpc_wire_info *info, char why[HPC_WIRE_TEXT]);
    /* Buffers stay untouched until the request is done. bytes < 2 GiB. Messages of one pair and tag
     * are received in the order in which they were sent. */
    int (*send)(void *self, hpc_wire_request *q, const void *data, size_t bytes, int to, int tag);
    /* from: a rank, or HPC_WIRE_ANY. */
    int (*recv)(void *self, hpc_wire_request *q, void *data, size_t bytes, int from, int tag);
    int (*test)(void *self, hpc_wire_request *q, bool *done); /* makes progress; never blocks */
    /* Of a receive: it is tested until done all the same, with or without data. */
    int (*cancel)(void *self, hpc_wire_request *q);
    /* n floats as hpc_comm counts them, blocking. */
    int (*peer)(void *self, hpc_wire_peer what, float *recv, const float *send, int n);
    void (*text)(void *self, int code, char out[HPC_WIRE_TEXT]);
    /* Ends the library if open started it, waiting for all ranks; not if `orderly` is false. */
    void (*close)(void *self, bool orderly);
} hpc_wire;

#define HPC_WIRE_SYMBOL "hpc_wire_mpi"

#ifdef __cplusplus
}
#endif
#endif
