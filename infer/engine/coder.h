/*
 * coder.h: encoder of samples into the token sequences of a model's training.
 *
 * Its output is the same as that of corpus/pack_encode.c; tests compare the two.
 */
#ifndef HPC_CODER_H
#define HPC_CODER_H

#include "runtime/source/source.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_coder {
    const hpc_tokenizer *t;
    hpc_tokenizer_scratch *scratch;
    int32_t mark[HPC_MARK_N]; /* -1: not requested */
    int32_t begin;            /* -1: none */
} hpc_coder;                  /* hpc_coder_open sets all fields */
/* marks: bits 1 << hpc_mark. t: borrowed until hpc_coder_close. HPC_E_UNSUPPORTED: the tokenizer
 * lacks a mark. `model`, `things` and `task` (of corpus pack) appear in the message only. */
int hpc_coder_open(hpc_coder *out, const hpc_tokenizer *t, unsigned marks, const char *model,
                   const char *things, const char *task);
void hpc_coder_close(hpc_coder *c);
/* Appends the tokens of s, which must use no marks other than those opened. */
int hpc_coder_encode(hpc_ids *out, const hpc_coder *c, const hpc_sample *s);

#ifdef __cplusplus
}
#endif
#endif
