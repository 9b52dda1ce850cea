/*
 * model_copy.h: a model, in a directory or a GGUF file, checked and written again
 * as one of them, as `import` and `export` do.
 */
#ifndef HPC_CMD_MODEL_COPY_H
#define HPC_CMD_MODEL_COPY_H

#include "cmd/cmd.h"

typedef struct model_copy_options {
    const char *out, *dtype; /* dtype NULL: as it is stored */
    bool json, quiet;
} model_copy_options;

extern const char *const model_copy_dtypes[]; /* choices of --dtype */
/* One stored tensor is in memory at a time. Leaves nothing in `out` when it fails. */
int model_copy(const char *command, const char *from, const model_copy_options *o);
/* The same to a file; the types are more there. */
extern const char *const model_copy_gguf_dtypes[];
int model_copy_gguf(const char *command, const char *from, const model_copy_options *o);

/* Rows for an option table whose struct begins with a model_copy_options. */
#define MODEL_COPY_OPTIONS                                                                         \
    {.name = "out",                                                                                \
     .letter = 'o',                                                                                \
     .kind = HPC_TEXT,                                                                             \
     .offset = offsetof(model_copy_options, out),                                                  \
     .argument = "DIR",                                                                            \
     .help = "Folder to write; it is made, or empty."},                                            \
        {.name = "dtype",                                                                          \
         .kind = HPC_CHOICE,                                                                       \
         .offset = offsetof(model_copy_options, dtype),                                            \
         .argument = "TYPE",                                                                       \
         .choices = model_copy_dtypes,                                                             \
         .help = "Type of the numbers written: f32, bf16 or f16; as config.json says if not "      \
                 "given."},                                                                        \
        HPC_CMD_JSON(model_copy_options), HPC_CMD_QUIET(model_copy_options)

#endif
