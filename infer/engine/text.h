/*
 * text.h: tokens as they are made become text as it can be shown.
 *
 * Held back is what may still become a stop string, and a character of which bytes are
 * missing. What comes out, all together, is what decoding all tokens at once gives, up to
 * the first stop string.
 */
#ifndef HPC_TEXT_H
#define HPC_TEXT_H

#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_text hpc_text;

/* stop: NULL-terminated, or NULL: none; copied. begins: a text, and does not go on with one. */
int hpc_text_create(hpc_text **out, const hpc_tokenizer *t, const char *const *stop, bool begins);
void hpc_text_free(hpc_text *x);
/* Appends to `ready`; *stopped: a stop string has come, which is not shown, and nothing else will
 * be. */
int hpc_text_push(hpc_text *x, int32_t token, hpc_buf *ready, bool *stopped);
/* No more tokens come: what was held back is shown. */
int hpc_text_end(hpc_text *x, hpc_buf *ready);

#ifdef __cplusplus
}
#endif
#endif
