/*
 * bench_step.h: what the benchmarks of whole steps share.
 */
#ifndef HPC_CMD_BENCH_STEP_H
#define HPC_CMD_BENCH_STEP_H

#include "cmd/model_options.h"
#include "train/run.h"

/* A trainer of that model with everything else as it is benchmarked: clipped, whole rows. */
hpc_trainer_options hpc_bench_trainer(const model_options *m, const hpc_optimizer_config *o,
                                      hpc_device_options device);
/* Rows of generated loops, bytes as tokens (modulo vocab); every token's target is the next. */
void hpc_bench_text(hpc_batch *b, int64_t vocab, int64_t step);

#endif
