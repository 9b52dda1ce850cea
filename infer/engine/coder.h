/*
 * coder.h: samples as the tokens that a model was taught.
 *
 * What it makes of a sample is what corpus/pack_encode.c does; tests hold one against the other.
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
    int32_t mark[HPC_MARK_N]; /* -1: not asked for */
    int32_t begin;            /* -1: none */
} hpc_coder;                  /* zero to begin with */
/* marks: bits 1 << hpc_mark. HPC_E_UNSUPPORTED: the tokenizer of this model lacks one, so it did
 * not learn from what task `task` of corpus pack shows of such `things`. */
int hpc_coder_open(hpc_coder *out, const hpc_tokenizer *t, unsigned marks, const char *model,
                   const char *things, const char *task);
void hpc_coder_close(hpc_coder *c);
/* Appends a sample that has no other marks. */
int hpc_coder_encode(hpc_ids *out, const hpc_coder *c, const hpc_sample *s);

#ifdef __cplusplus
}
#endif
#endif
