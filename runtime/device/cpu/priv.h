/*
 * priv.h: the CPU backend's inside: the tables that cpu/kernels/ defines, one
 * for each instruction set that it is compiled for.
 */
#ifndef HPC_CPU_PRIV_H
#define HPC_CPU_PRIV_H

#include "runtime/device/priv.h"

#if defined(__x86_64__)
extern const hpc_kernels hpc_cpu_kernels_base, hpc_cpu_kernels_avx2, hpc_cpu_kernels_avx512,
    hpc_cpu_kernels_avx512vnni, hpc_cpu_kernels_avx512bf16, hpc_cpu_kernels_amx;
#elif defined(__aarch64__)
extern const hpc_kernels hpc_cpu_kernels_neon;
#else
#error "no CPU kernels for this architecture: name its instruction sets here, in isa.c and Makefile"
#endif

#endif
