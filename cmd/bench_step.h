/*
 * bench_step.h: what the benchmarks of whole steps share.
 */
#ifndef HPC_CMD_BENCH_STEP_H
#define HPC_CMD_BENCH_STEP_H

#include "train/run.h"

/* Rows of generated loops, bytes as tokens (modulo vocab); every token's target is the next. */
void hpc_bench_text(hpc_batch *b, int64_t vocab, int64_t step);

#endif
