/*
 * driver.cuh: the messages of drivers and devices that kernels cannot run on, from what the driver
 * answers. The shim has them too, so that tests see each.
 */
#ifndef HPC_CUDA_DRIVER_H
#define HPC_CUDA_DRIVER_H

#include <stdio.h>

#include "runtime/device/cuda/cuda.h"

/* driver, runtime: CUDA versions as 13000; driver 0: none is installed. */
static inline int hpc_cuda_check_driver(int driver, int runtime, char *why)
{
    if (driver == 0) {
        snprintf(why, HPC_CUDA_TEXT, "no NVIDIA driver is installed");
        return 1;
    }
    if (driver / 1000 >= runtime / 1000) return 0;
    snprintf(why, HPC_CUDA_TEXT,
             "the NVIDIA driver supports CUDA %d.%d, this build needs %d.0: update the driver",
             driver / 1000, driver % 1000 / 10, runtime / 1000);
    return 1;
}

static inline int hpc_cuda_check_number(int number, int devices, char *why)
{
    if (number >= 0 && number < devices) return 0;
    if (devices == 0)
        snprintf(why, HPC_CUDA_TEXT, "no GPU is visible");
    else
        snprintf(why, HPC_CUDA_TEXT, "device %d: devices are 0 to %d", number, devices - 1);
    return 1;
}

/* architecture: 90 for sm_90. */
static inline int hpc_cuda_check_architecture(const char *name, int architecture, char *why)
{
    if (architecture >= 80) return 0;
    snprintf(why, HPC_CUDA_TEXT, "built for sm_80 and newer, %s is sm_%d", name, architecture);
    return 1;
}

#endif
