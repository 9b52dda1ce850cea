/*
 * model_copy.h: checks a model (a directory, a GGUF file or a checkpoint of a run) and writes it as
 * a directory, a GGUF file or a packed file.
 */
#ifndef HPC_TRAIN_MODEL_COPY_H
#define HPC_TRAIN_MODEL_COPY_H

#include "model/model.h"

typedef struct hpc_model_copy_options {
    const char *out, *dtype; /* dtype NULL: the stored types */
    const char *delta_from;  /* FILE.gguf: write the differences from it; NULL: the whole model */
    int64_t step;            /* of a run's checkpoint; 0: the newest */
    const char *adapter;     /* directory in the format of peft, to merge; NULL: none */
    const char *base;        /* base model of the checkpoint's adapters; NULL: the recorded one */
    bool quiet;              /* no notes, only warnings */
    const char *label;       /* of the progress */
    hpc_progress *progress;
    void (*warn)(const char *line, void *user); /* called for notes and warnings */
    void *user;
} hpc_model_copy_options;

typedef enum hpc_model_copy_form {
    HPC_MODEL_COPY_FOLDER,
    HPC_MODEL_COPY_GGUF,
    HPC_MODEL_COPY_PACKED,
    HPC_MODEL_COPY_PEFT, /* a run's adapters alone */
    HPC_MODEL_COPY_FORM_N
} hpc_model_copy_form;

typedef struct hpc_model_copy_result {
    hpc_model_config config;
    int64_t params;      /* written, with adapters merged */
    hpc_dtype dtype;     /* HPC_DTYPE_N: the stored types */
    double bytes;        /* of the file, or of the weights in the folder */
    int64_t tokenizer_n; /* tokens of the tokenizer; -1: missing or not usable */
} hpc_model_copy_result;

extern const char *const hpc_model_copy_dtypes[]; /* accepted by `dtype`; ends with NULL */

/* Holds one stored tensor in memory at a time. After a failure, a folder at o->out is empty, and a
 * file is absent or unchanged, except a packed file that fails its final verification: it stays. */
int hpc_model_copy(hpc_model_copy_result *out, const char *from, const hpc_model_copy_options *o,
                   hpc_model_copy_form to);

#endif
