/*
 * plan.h: what kernels on a pool of host threads ask of their executor, besides a workspace: memory
 * of each worker, memory of cooperative kernels, and operands that are ready only at a barrier.
 * Kernels of backends with queues leave it zero.
 */
#ifndef HPC_CPU_PLAN_H
#define HPC_CPU_PLAN_H

#include <stddef.h>

typedef struct hpc_cpu_plan { /* a selector's result */
    /* For each worker. Instructions that share nothing else need no barrier. */
    size_t worker_bytes;
    /* Of each of two buffers, chosen by the barrier's generation: read until the next barrier. */
    size_t coop_bytes;
    /* Operands, as bits, that the kernel accesses only after its first barrier. */
    unsigned after_barrier;
} hpc_cpu_plan;

typedef struct hpc_cpu_launch {
    void *worker;  /* plan.worker_bytes, this worker's alone, aligned to HPC_ALIGN */
    void *coop[2]; /* plan.coop_bytes each, shared by workers and instructions */
} hpc_cpu_launch;

#endif
