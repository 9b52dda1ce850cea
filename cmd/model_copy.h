/*
 * model_copy.h: a model, in a directory, a GGUF file or a checkpoint of a run,
 * checked and written again as one of the first two or packed, as `import` and
 * `export` do.
 */
#ifndef HPC_CMD_MODEL_COPY_H
#define HPC_CMD_MODEL_COPY_H

#include "cmd/cmd.h"

typedef struct model_copy_options {
    const char *out, *dtype; /* dtype NULL: as it is stored */
    const char *delta_from;  /* FILE.gguf: write the differences from it; NULL: the whole model */
    int64_t step;            /* of a run's checkpoint; 0: the newest */
    const char *base;        /* that the checkpoint's adapters are beside; NULL: the recorded one */
    bool json, quiet;
} model_copy_options;

extern const char *const model_copy_dtypes[]; /* choices of --dtype */
typedef enum model_copy_form {
    MODEL_COPY_FOLDER,
    MODEL_COPY_GGUF,
    MODEL_COPY_PACKED,
    MODEL_COPY_FORM_N
} model_copy_form;
/* One stored tensor is in memory at a time. Leaves nothing in `out` when it fails. */
int model_copy(const char *command, const char *from, const model_copy_options *o,
               model_copy_form to);

#endif
