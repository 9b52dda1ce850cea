/*
 * plan.h: what kernels on a pool of host threads ask of their executor, besides a workspace: memory
 * of each worker, memory of cooperative kernels, and operands that are ready only at a barrier.
 * Kernels of backends with queues leave it zero.
 */
#ifndef HPC_CPU_PLAN_H
#define HPC_CPU_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* Facts on the CPU that choose blocks and prefetches, read when a device is opened. They change no
 * bit of a result. */
typedef struct hpc_cpu_traits {
    bool intel;
    int l1_ways;     /* of the data cache; 0: unknown */
    size_t l2_bytes; /* of one core; 0: unknown */
} hpc_cpu_traits;

typedef struct hpc_cpu_plan {     /* a selector's result, except: */
    const hpc_cpu_traits *traits; /* an input of the selector; never NULL for CPU kernels */
    /* For each worker. Instructions that share nothing else need no barrier. */
    size_t worker_bytes;
    /* The size of each of two buffers. The barrier's generation chooses one, which is read until
     * the next barrier. */
    size_t coop_bytes;
    /* Operands, as bits, that the kernel accesses only after its first barrier. */
    unsigned after_barrier;
} hpc_cpu_plan;

typedef struct hpc_cpu_launch {
    const hpc_cpu_traits *traits; /* as in the plan */
    void *worker;                 /* plan.worker_bytes, this worker's alone, aligned to HPC_ALIGN */
    void *coop[2];                /* plan.coop_bytes each, shared by workers and instructions */
} hpc_cpu_launch;

#endif
