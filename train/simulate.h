/*
 * simulate.h: what a step would take on a machine that is not here: time, what
 * of it is communication and is waited for, bytes by axis.
 *
 * It walks the very program that a rank would run, instruction by instruction.
 * What it says of time is a prediction, by a few numbers of a machine; bytes,
 * operations and memory are counts.
 */
#ifndef HPC_TRAIN_SIMULATE_H
#define HPC_TRAIN_SIMULATE_H

#include "train/proof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- machines -------------------------------------------------------------------------- */
enum { HPC_MACHINE_LEVELS = 4, HPC_MACHINE_RATES = 3 };
/* Links in a hierarchy: level 0 connects devices, level 1 groups of `devices` of level 0, ... */
typedef struct hpc_machine_level {
    char name[24];
    int devices;      /* in one group of this level; 0: all that there are */
    double bandwidth; /* bytes a second out of a member (a device, a group below), and into it */
    double latency;   /* seconds of a message */
} hpc_machine_level;
typedef struct hpc_machine {
    char name[64];
    bool host;                      /* a processor: kernels' workspace here counts as memory */
    double memory;                  /* bytes of a device */
    double rate[HPC_MACHINE_RATES]; /* operations a second at most: of f64, f32, bf16 */
    double product[HPC_MACHINE_RATES], attention; /* shares of that which large ones reach */
    double other;     /* share of f32's that all else reaches, where memory does not bound it */
    double half;      /* a product's shortest side at which it reaches half of its share */
    double bandwidth; /* of memory, bytes a second, and the share of it that is reached: */
    double stream;
    double launch; /* seconds that an instruction takes besides */
    int level_n;
    hpc_machine_level level[HPC_MACHINE_LEVELS];
} hpc_machine;
/* A JSON file; HPC_E_FORMAT names key and value. */
int hpc_machine_read(hpc_machine *out, const char *path);
int hpc_machine_parse(hpc_machine *out, const hpc_json *root, const char *source);

/* Of one operation, which all links over the same axes do at once: bytes that this rank sends, as
 * links count them, and seconds, the least of a ring and of rings level by level. n: elements, as
 * hpc_comm has them. */
typedef struct hpc_simulated_link {
    int size, rank;                 /* ranks of the link, and which of them this one is */
    int across[HPC_MACHINE_LEVELS]; /* members of each level that it connects */
} hpc_simulated_link;
hpc_simulated_link hpc_simulate_link(const hpc_machine *m, const hpc_grid_shape *s,
                                     const int *coord, hpc_axes axes);
int64_t hpc_simulate_sent(const hpc_simulated_link *l, hpc_comm_kind kind, hpc_dtype dtype,
                          int64_t n);
double hpc_simulate_seconds(const hpc_machine *m, const hpc_simulated_link *l, hpc_comm_kind kind,
                            double bytes);

/* ---- a step ---------------------------------------------------------------------------- */
enum { HPC_AXES_N = 1 << HPC_AXIS_N };
typedef struct hpc_simulation {
    double step_s;                     /* without a refresh */
    double refresh_s;                  /* of one */
    double compute_s, communication_s; /* of the step, each as if alone */
    double exposed_s;                  /* of communication, waited for */
    double least_s;                    /* the longer of both: were everything hidden that can be */
    double flops, bytes;               /* of the step's instructions, by the op table */
    int64_t sent[HPC_AXES_N], messages[HPC_AXES_N]; /* by set of axes, of the step */
} hpc_simulation;
/* p: of the rank at coord, sharded, or whole for a shape of one rank. accumulate: microbatches. */
int hpc_simulate(hpc_simulation *out, const hpc_machine *m, const hpc_program *p,
                 const hpc_step *io, const hpc_grid_shape *s, const int coord[HPC_AXIS_N],
                 int64_t accumulate);
int64_t hpc_simulation_sent(const hpc_simulation *s); /* over all axes */

/* Elements sent of activations in a block's four products, a rank, forward and backward, of m rows
 * of width h, over m h: on a plane of row x col, by the closed form. */
double hpc_simulate_volume(int row, int col);
/* The row x col = ranks with the least of it. */
void hpc_simulate_best_plane(int *row, int *col, int ranks);

#ifdef __cplusplus
}
#endif
#endif
