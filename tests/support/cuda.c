/*
 * cuda.c: see cuda.h.
 */
#include "tests/support/cuda.h"
#include "runtime/device/device.h"
#include "tests/support/command.h"

int hpc_test_cuda_list(hpc_test_cuda out[HPC_TEST_CUDA_MOST])
{
    hpc_device *d;
    out[0].backend = "cuda-shim";
    hpc_test_built(out[0].library, "hpccoder-cuda-shim.so");
    out[1].backend = "cuda";
    hpc_test_built(out[1].library, "hpccoder-cuda.so");
    const hpc_device_options gpu = {.backend = out[1].backend, .library = out[1].library};
    if (hpc_device_open(&d, &gpu) < 0) {
        hpc_error_clear();
        return 1;
    }
    hpc_device_close(d);
    return HPC_TEST_CUDA_MOST;
}
