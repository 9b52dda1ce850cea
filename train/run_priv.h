/*
 * run_priv.h: a trainer's inside, for its checkpoints.
 */
#ifndef HPC_TRAIN_RUN_PRIV_H
#define HPC_TRAIN_RUN_PRIV_H

#include "train/run.h"

struct hpc_trainer {
    hpc_trainer_options o;
    hpc_program *p;
    hpc_device *device;
    hpc_exec *exec;
    hpc_step io;
    hpc_batch **batch; /* of a step */
    float *real;       /* weights, and losses read back */
    int64_t losses;    /* of a microbatch */
    bool dry;
    hpc_trainer_plan plan;
    bool *keeps; /* by value: state that goes into a checkpoint */
};

enum { RUN_PATH = 4096 };

/* The tokenizer's files into a model directory, under the names that they have in one. */
int run_tokens_copy(const hpc_run_tokens *k, const char *dir);

static inline bool trainer_keeps(const hpc_trainer *t, hpc_value v)
{
    return t->keeps[v];
}

#endif
