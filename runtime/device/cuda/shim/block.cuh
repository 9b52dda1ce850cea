/*
 * block.cuh: the run of one block of threads as fibers: its threads, its shared memory with a
 * record of accesses, and the schedule.
 */
#ifndef HPC_SHIM_BLOCK_H
#define HPC_SHIM_BLOCK_H

#include <vector>

#include "runtime/device/cuda/shim/fiber.cuh"
#include "runtime/device/cuda/simt.cuh"

enum { SHIM_NAME = 96 };
enum shim_schedule { SHIM_ASCENDING, SHIM_DESCENDING, SHIM_PERMUTED, SHIM_SCHEDULES };
enum shim_state { SHIM_READY, SHIM_AT_BARRIER, SHIM_AT_COLLECTIVE, SHIM_DONE };

/* When a thread accessed a byte: its number, and the barriers and collectives that it had passed.
 */
struct shim_access {
    int thread, barrier, collective; /* thread -1: never */
};

/* Accesses are recorded for every few bytes: no element of shared memory is smaller. */
enum { SHIM_GRAIN = 2 };
struct shim_grain {
    shim_access write, read, other; /* other: the last read by a thread that is not read.thread */
    int copier;                     /* of a copy in flight; -1: none */
};

struct shim_copying {
    int byte, group;
    const void *src;
};

struct shim_thread {
    shim_fiber fiber;
    shim_state state;
    int barrier, collective; /* passed so far */
    const char *what;        /* the collective that it waits in */
    int group;               /* copies committed so far */
    std::vector<shim_copying> copying;
};

struct shim_block {
    /* the kernel */
    char name[SHIM_NAME];
    hpc_shim_entry *entry;
    const void *args;
    simt_shape shape;
    int x, y;
    hpc_fault *fault;
    hpc_origin at;
    /* its turn */
    shim_schedule schedule;
    uint32_t seed;
    shim_fiber home;
    std::vector<shim_thread> thread;
    std::vector<unsigned char> memory;
    std::vector<shim_grain> grain;
    std::vector<uint32_t> word; /* [warps][2][SIMT_WARP][SHIM_WORDS], of collectives */
    std::vector<int> order;
    int running;
    char *why; /* the first broken rule; "" so far */
};

/* Puts 0 .. n - 1 into the order of the schedule. */
void hpc_shim_order(std::vector<int> &order, int n, shim_schedule schedule, uint32_t *seed);
void hpc_shim_run_block(shim_block *b, int x, int y);

#endif
