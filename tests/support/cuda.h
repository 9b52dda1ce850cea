/*
 * cuda.h: the devices that run the kernels of CUDA: the shim and, where one is visible, a GPU.
 */
#ifndef HPC_TEST_CUDA_H
#define HPC_TEST_CUDA_H

#include <limits.h>

enum { HPC_TEST_CUDA_MOST = 2 };

typedef struct hpc_test_cuda {
    const char *backend;
    char library[PATH_MAX];
} hpc_test_cuda;

/* Returns their number. */
int hpc_test_cuda_list(hpc_test_cuda out[HPC_TEST_CUDA_MOST]);

#endif
