/*
 * text.h: converts generated tokens to text.
 *
 * Text is held back while it may be part of a stop string, or while bytes of a character are
 * missing. The concatenated output equals the decoding of all tokens at once, up to the first stop
 * string.
 */
#ifndef HPC_TEXT_H
#define HPC_TEXT_H

#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_text hpc_text;

/* stop: NULL-terminated list, copied; NULL: none. begins: the first token begins a text. */
int hpc_text_create(hpc_text **out, const hpc_tokenizer *t, const char *const *stop, bool begins);
void hpc_text_free(hpc_text *x);
/* Appends to `ready`. *stopped: a stop string was found; neither it nor later text is appended. */
int hpc_text_push(hpc_text *x, int32_t token, hpc_buf *ready, bool *stopped);
/* Appends the text that was held back. No tokens may follow. */
int hpc_text_end(hpc_text *x, hpc_buf *ready);

#ifdef __cplusplus
}
#endif
#endif
