/*
 * complete.h: the options of `hpccoder complete`.
 */
#ifndef HPC_CMD_COMPLETE_H
#define HPC_CMD_COMPLETE_H

#include "cmd/cmd.h"

typedef struct complete_options {
    const char *at, *stop, *grammar, *model, *device, *weights, *cache, *name, *check, *database,
        *context;
    int64_t max_tokens, samples, top_k, seed, prompt_tokens, guess, threads;
    double temperature, top_p, min_p, repeat;
    bool raw, write, json, verbose, quiet;
} complete_options;

extern const hpc_option complete_option_table[];

#endif
