/* Options of `hpccoder serve`. */
#ifndef HPC_CMD_SERVE_H
#define HPC_CMD_SERVE_H

#include "cmd/cmd.h"

typedef struct serve_options {
    const char *unix_path, *http, *token_file, *cache_dir, *model, *passages, *device, *weights,
        *cache, *alias, *tags, *disable, *chat_template;
    int64_t requests, cache_tokens, context, predict, threads, guess;
    double idle_exit;
    bool log_prompts, quiet;
} serve_options;

extern const hpc_option serve_option_table[];

#endif
