/*
 * spm.h: C interface to the SentencePiece library in a separate shared object (hpccoder-spm.so),
 * so that only training needs it. C++ exceptions do not cross it.
 *
 * The library writes messages to a process-wide stream and sets a process-wide log level: only one
 * training at a time.
 */
#ifndef HPC_TOKENIZER_SENTENCEPIECE_SPM_H
#define HPC_TOKENIZER_SENTENCEPIECE_SPM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_SPM_VERSION = 1, HPC_SPM_ERROR_BYTES = 400 };

typedef struct hpc_spm_train {
    /* Alternating names and values, NULL-terminated: spm_train's --NAME=VALUE. */
    const char *const *options;
    /* Returns 1 with the next word in *text, without tabs, and its count; 0: end;
     * below 0: error. */
    int (*next)(const char **text, size_t *n, int64_t *count, void *user);
    void (*log)(const char *line, void *user); /* each message of the library; may be NULL */
    void *user;
} hpc_spm_train;

typedef struct hpc_spm_model hpc_spm_model;

/* Functions return 0; 1 if next() failed; -1 with one line in `error`. */
typedef struct hpc_spm {
    int version; /* HPC_SPM_VERSION */
    int (*train)(char **model, size_t *n, const hpc_spm_train *train,
                 char error[HPC_SPM_ERROR_BYTES]);
    void (*release)(void *p); /* frees models, ids and text that this table returned */
    /* Reference for tests and measurements; release ids and text. */
    int (*open)(hpc_spm_model **out, const void *data, size_t n, char error[HPC_SPM_ERROR_BYTES]);
    void (*close)(hpc_spm_model *m);
    int (*encode)(int32_t **id, size_t *ids_n, const hpc_spm_model *m, const char *text, size_t n,
                  char error[HPC_SPM_ERROR_BYTES]);
    int (*decode)(char **text, size_t *n, const hpc_spm_model *m, const int32_t *id, size_t ids_n,
                  char error[HPC_SPM_ERROR_BYTES]);
} hpc_spm;

/* The only symbol of the shared object. */
#define HPC_SPM_SYMBOL "hpc_spm_table"
extern __attribute__((visibility("default"))) const hpc_spm hpc_spm_table;

#ifdef __cplusplus
}
#endif
#endif
