/*
 * spm.h: the SentencePiece library behind a C table, in a shared object of its own
 * (hpccoder-spm.so), so that only training needs it. No exception crosses it.
 *
 * The library writes its messages to a stream of the process and sets its level of messages for
 * the process: one training at a time.
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
    /* Names and values by turns, ended by NULL: what spm_train takes as --NAME=VALUE. */
    const char *const *options;
    /* 1: *text is the next word, without tabs, and how often it is there; 0: no more; below 0:
     * failed. */
    int (*next)(const char **text, size_t *n, int64_t *count, void *user);
    void (*log)(const char *line, void *user); /* each message of the library; NULL */
    void *user;
} hpc_spm_train;

typedef struct hpc_spm_model hpc_spm_model;

/* Functions return 0, 1 when next() failed, or -1 with one line in `error`. */
typedef struct hpc_spm {
    int version; /* HPC_SPM_VERSION */
    int (*train)(char **model, size_t *n, const hpc_spm_train *train,
                 char error[HPC_SPM_ERROR_BYTES]);
    void (*release)(void *p); /* of what is handed out below and above */
    /* The oracle of tests and measurements; ids and text are handed out. */
    int (*open)(hpc_spm_model **out, const void *data, size_t n, char error[HPC_SPM_ERROR_BYTES]);
    void (*close)(hpc_spm_model *m);
    int (*encode)(int32_t **id, size_t *ids_n, const hpc_spm_model *m, const char *text, size_t n,
                  char error[HPC_SPM_ERROR_BYTES]);
    int (*decode)(char **text, size_t *n, const hpc_spm_model *m, const int32_t *id, size_t ids_n,
                  char error[HPC_SPM_ERROR_BYTES]);
} hpc_spm;

/* The one symbol of the shared object. */
#define HPC_SPM_SYMBOL "hpc_spm_table"
extern const hpc_spm hpc_spm_table;

#ifdef __cplusplus
}
#endif
#endif
