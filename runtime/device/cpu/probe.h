/*
 * probe.h: what a core does at most with an instruction set, and how fast it
 * reads: the loops by which benchmarks find the limits of their kernels.
 *
 * They are compiled like the kernels, once for each set. How long to run them,
 * on how many threads and with which clock is the caller's affair.
 */
#ifndef HPC_CPU_PROBE_H
#define HPC_CPU_PROBE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HPC_PROBE_STATE = 2048, /* bytes of a register loop's state, aligned to HPC_ALIGN */
    HPC_PROBE_BLOCK = 4096  /* bytes read at once; a size is a multiple of it */
};

/* Independent chains of multiply-adds that stay in registers. */
typedef struct hpc_cpu_registers {
    void (*run)(void *state, int64_t rounds); /* NULL: the set has no such instruction */
    double operations;                        /* of a round: a multiply-add is two */
} hpc_cpu_registers;

typedef struct hpc_cpu_probe {
    hpc_cpu_registers f32, bf16, i8; /* bf16 and i8: dot products summed in f32 and i32 */
    /* Reads every byte once and returns some sum of them. data: aligned to HPC_ALIGN. */
    uint64_t (*read)(const void *data, size_t bytes);
} hpc_cpu_probe;

/* isa: one of hpc_device_isas(); another is HPC_E_UNSUPPORTED. */
int hpc_cpu_probe_find(const hpc_cpu_probe **out, const char *isa);

#ifdef __cplusplus
}
#endif
#endif
