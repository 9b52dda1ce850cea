/*
 * model_copy.h: the options, the call and the report that `import` and `export` share.
 */
#ifndef HPC_CMD_MODEL_COPY_H
#define HPC_CMD_MODEL_COPY_H

#include "cmd/cmd.h"
#include "train/model_copy.h"

typedef struct model_copy_options {
    hpc_model_copy_options o; /* out, dtype, delta_from, step and base are set by options */
    bool json, quiet;
} model_copy_options;

/* Writes the model and prints a report; command: its name, for warnings. */
int model_copy(const char *command, const char *from, const model_copy_options *o,
               hpc_model_copy_form to);

#endif
