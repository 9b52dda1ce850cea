/*
 * fault.h: run-time failures that depend on data: an index, a page or a target out of range.
 *
 * A kernel on the host fails at once. A kernel on a device notes the fault in a record of the
 * device, skips the element and continues; the first fault wins, and the next fence fails with its
 * message. Both use the same messages.
 */
#ifndef HPC_FAULT_H
#define HPC_FAULT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of a fault, in this order. */
typedef enum hpc_fault_kind {
    HPC_FAULT_NONE,
    HPC_FAULT_ROW,     /* index, its position, rows of the table */
    HPC_FAULT_ELEMENT, /* index, its position, elements of the tensor */
    HPC_FAULT_TARGET,  /* row, its target, vocabulary */
    HPC_FAULT_START,   /* sequence, its first row, its end, rows */
    HPC_FAULT_KEYS,    /* sequence, its keys, keys that its pages hold */
    HPC_FAULT_PAGE,    /* position of the page, sequence, the page, pages of the cache */
    HPC_FAULT_STEP,    /* step of an optimizer, which counts from 1 */
    HPC_FAULT_GROUP,   /* token, its group, groups */
    HPC_FAULT_FULL,    /* group, its capacity */
    HPC_FAULT_EDGES,   /* vertex, its start, the start before, edges */
    HPC_FAULT_SOURCE,  /* row, its position, rows */
    HPC_FAULT_EXPERT,  /* token, its expert, experts */
    HPC_FAULT_KIND_N
} hpc_fault_kind;

/* Where a kernel was launched from, for errors and the mock's reports. The strings belong to the
 * host: a device only carries their addresses. */
typedef struct hpc_origin {
    const char *segment;
    int insn;
    const char *op;
} hpc_origin;

/* Zeros: no fault. The launch that changes `kind` from 0 by compare-and-swap fills the rest. */
typedef struct hpc_fault {
    int32_t kind;
    hpc_origin at;
    int64_t number[4];
} hpc_fault;

/* Records the fault's message, which begins with the name of the op; returns the code. */
int hpc_fault_fail(const hpc_fault *f);

#ifdef __cplusplus
}
#endif
#endif
