/*
 * probe.h: measured limits of a device: arithmetic in registers, memory bandwidth, an empty call
 * and the handoff of a cache line. Benchmarks measure them in the same run, with the same
 * instruction set and number of threads.
 */
#ifndef HPC_DEVICE_PROBE_H
#define HPC_DEVICE_PROBE_H

#include "runtime/device/device.h"

typedef struct hpc_limits {
    double f32, bf16, i8; /* operations a second; 0: the instruction set has no such instruction */
    double read;          /* bytes a second, from memory that no cache holds */
} hpc_limits;

typedef struct hpc_probe hpc_probe;

/* Borrows d. Limits are those of its instruction set and threads, on the host. Memory is sized for
 * measurements of so many seconds each: below a tenth it may lie in caches, and `read` be theirs.
 */
int hpc_probe_open(hpc_probe **out, hpc_device *d, double seconds);
void hpc_probe_close(hpc_probe *p);
/* Takes a tenth of a second, or less after little memory was asked for. */
int hpc_probe_limits(hpc_limits *out, hpc_probe *p);
/* Nanoseconds of a call of an empty function, and until one thread sees what another wrote (0 with
 * one thread). */
int hpc_probe_latency(double *call_ns, double *handoff_ns, hpc_probe *p);
/* Of the last level, all of its instances together; a guess where the system does not tell. */
size_t hpc_probe_cache_bytes(void);

#endif
