/*
 * lt_open.cuh: opening of cuBLASLt.
 */
#ifndef HPC_CUDA_LT_OPEN_H
#define HPC_CUDA_LT_OPEN_H

#include "runtime/device/cuda/lt_api.cuh"

enum { HPC_LT_TEXT = 64 };
/* Fills `out`; text: the library's name and version. Fails where the library or a function is
 * missing; then text is the reason, and that products have our own kernels. */
int hpc_lt_load(hpc_lt_api *out, char text[HPC_LT_TEXT]);

#endif
