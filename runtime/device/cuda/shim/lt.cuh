/*
 * lt.cuh: the stub of cuBLASLt, and how it enqueues work in the shim's queues.
 */
#ifndef HPC_SHIM_LT_H
#define HPC_SHIM_LT_H

#include "runtime/device/cuda/lt_api.cuh"

extern const hpc_lt_api hpc_shim_lt;

/* Enqueues run(a copy of args) in a stream of the shim. It takes `ns` of the shim's time. */
int hpc_shim_call(void *stream, void (*run)(const void *args), const void *args, size_t bytes,
                  int64_t ns);

#endif
