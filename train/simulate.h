/*
 * simulate.h: predicts a step on a described machine: time, exposed communication, bytes by axis.
 *
 * It walks the program that a rank would run, instruction by instruction. Times are predictions
 * from a few machine parameters; bytes, operations and memory are exact counts.
 */
#ifndef HPC_TRAIN_SIMULATE_H
#define HPC_TRAIN_SIMULATE_H

#include "train/proof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- machines -------------------------------------------------------------------------- */
enum { HPC_MACHINE_LEVELS = 4, HPC_MACHINE_RATES = 3 };
/* Links in a hierarchy: level 0 connects devices, level 1 groups of `devices` members of level 0,
 * and so on. */
typedef struct hpc_machine_level {
    char name[24];
    int devices;      /* members of a group of this level; 0: all */
    double bandwidth; /* bytes per second out of, and into, a member */
    double latency;   /* seconds per message */
} hpc_machine_level;
typedef struct hpc_machine {
    char name[64];
    bool host;                                    /* a CPU: kernels' workspace counts as memory */
    double memory;                                /* bytes per device */
    double rate[HPC_MACHINE_RATES];               /* peak operations per second: f64, f32, bf16 */
    double product[HPC_MACHINE_RATES], attention; /* fractions of the peak that large ones reach */
    double other;     /* fraction of the f32 peak for other ops, unless memory-bound */
    double half;      /* shortest side at which a product reaches half its fraction */
    double bandwidth; /* memory bandwidth, bytes per second */
    double stream;
    double launch; /* seconds of overhead per instruction */
    int level_n;
    hpc_machine_level level[HPC_MACHINE_LEVELS];
} hpc_machine;
/* Reads a JSON file. HPC_E_FORMAT names key and value. */
int hpc_machine_read(hpc_machine *out, const char *path);
int hpc_machine_parse(hpc_machine *out, const hpc_json *root, const char *source);

/* One collective that all links over the same axes run concurrently: bytes that this rank sends,
 * and seconds, the minimum of one ring and of hierarchical rings. n: elements, as in hpc_comm. */
typedef struct hpc_simulated_link {
    int size, rank;                 /* number of ranks in the link; this rank's index */
    int across[HPC_MACHINE_LEVELS]; /* members of each level that it connects */
} hpc_simulated_link;
hpc_simulated_link hpc_simulate_link(const hpc_machine *m, const hpc_grid_shape *s,
                                     const int *coord, hpc_axes axes);
int64_t hpc_simulate_sent(const hpc_simulated_link *l, hpc_comm_kind kind, hpc_dtype dtype,
                          int64_t n);
double hpc_simulate_seconds(const hpc_machine *m, const hpc_simulated_link *l, hpc_comm_kind kind,
                            double bytes);

/* ---- a step ---------------------------------------------------------------------------- */
enum { HPC_AXES_N = 1 << HPC_AXIS_N, HPC_SIMULATED_SEGMENTS = 2 * HPC_STAGES + 16 };
typedef struct hpc_simulation {
    double step_s;                     /* without a refresh */
    double refresh_s;                  /* one refresh */
    double compute_s, communication_s; /* per step, each without overlap */
    double exposed_s;                  /* exposed communication */
    double least_s;                    /* the larger of the two: perfect overlap */
    double flops, bytes;               /* per step, from the op table, with the rows expected */
    double message_s, bubble_s; /* of a pipeline: its longest message; most time without a task */
    double rest_s;              /* of a pipeline: after the gradients */
    double segment_s[HPC_SIMULATED_SEGMENTS], times[HPC_SIMULATED_SEGMENTS]; /* one run; runs */
    int64_t sent[HPC_AXES_N], messages[HPC_AXES_N]; /* per step, by set of axes */
} hpc_simulation;
/* p: the sharded program of the rank at coord, or the whole program for one rank. accumulate:
 * microbatches. */
int hpc_simulate(hpc_simulation *out, const hpc_machine *m, const hpc_program *p,
                 const hpc_step *io, const hpc_grid_shape *s, const int coord[HPC_AXIS_N],
                 int64_t accumulate);
/* A pipeline, from the program before hpc_step_shard: the makespan of its tasks and what follows.
 * Counts are of the rank that computes most. */
int hpc_simulate_stages(hpc_simulation *out, const hpc_machine *m, const hpc_program *serial,
                        const hpc_step *io, const hpc_parallel *q, int64_t accumulate);
int64_t hpc_simulation_sent(const hpc_simulation *s); /* sum over all axes */

/* Activation elements that a rank sends in a block's four products, forward and backward, divided
 * by m h, for m rows of width h on a row x col plane; closed form. */
double hpc_simulate_volume(int row, int col);
/* The row x col = ranks with the lowest volume. */
void hpc_simulate_best_plane(int *row, int *col, int ranks);

#ifdef __cplusplus
}
#endif
#endif
