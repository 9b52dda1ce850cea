/*
 * text.h: incremental detokenizer with stop strings.
 *
 * It holds back a possible beginning of a stop string, and an incomplete UTF-8 character. The
 * concatenated output equals the decoded token sequence up to the first stop string.
 */
#ifndef HPC_TEXT_H
#define HPC_TEXT_H

#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_text hpc_text;

/* t: borrowed. stop: NULL-terminated array, copied; NULL: none. begins: the first token starts a
 * text, rather than continuing one. HPC_E_ARG: an empty stop string. */
int hpc_text_create(hpc_text **out, const hpc_tokenizer *t, const char *const *stop, bool begins);
void hpc_text_free(hpc_text *x);
/* Appends complete text to `ready`. *stopped: a stop string was found. It and later tokens produce
 * no output. */
int hpc_text_push(hpc_text *x, int32_t token, hpc_buf *ready, bool *stopped);
/* The stop string that was found, owned by x; NULL: none. */
const char *hpc_text_stop(const hpc_text *x);
/* Appends the text held back, after the last token. */
int hpc_text_end(hpc_text *x, hpc_buf *ready);

#ifdef __cplusplus
}
#endif
#endif
