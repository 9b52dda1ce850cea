/*
 * bench_step.h: what the benchmarks of whole steps share.
 */
#ifndef HPC_CMD_BENCH_STEP_H
#define HPC_CMD_BENCH_STEP_H

#include "cmd/model_options.h"
#include "cmd/probe.h"
#include "train/run.h"

/* A trainer of that model with everything else as it is benchmarked: clipped, whole rows. */
hpc_trainer_options hpc_bench_trainer(const model_options *m, const hpc_optimizer_config *o,
                                      hpc_device_options device);
/* Rows of generated loops, bytes as tokens (modulo vocab); every token's target is the next. */
void hpc_bench_text(hpc_batch *b, int64_t vocab, int64_t step);

/* ---- what a step could take at the least (bench_step_floor.c) --------------------- */

typedef struct hpc_step_limits {
    hpc_limits machine;
    double peer_rate; /* operations a second, of the fastest peer's products of the step's shapes */
    const char *peer; /* NULL: there is none for such elements */
} hpc_step_limits;
typedef struct hpc_step_ruler hpc_step_ruler;
/* Before anything else makes OpenMP start: peers are told how many threads to use. */
int hpc_step_ruler_open(hpc_step_ruler **out, const model_options *m,
                        const hpc_device_options *device);
int hpc_step_ruler_measure(hpc_step_limits *out, hpc_step_ruler *r);
void hpc_step_ruler_close(hpc_step_ruler *r);

#endif
