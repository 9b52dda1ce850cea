/*
 * tokenizer.h: the tokenizer that a model has, wherever it keeps it: in its
 * directory, in a GGUF file of ours, or as the pieces of other people's.
 *
 * What text becomes is the tokenizer room's; here are only the places where
 * tokenizers lie, and what is said beside them.
 */
#ifndef HPC_MODEL_TOKENIZER_H
#define HPC_MODEL_TOKENIZER_H

#include "model/model.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens what hpc_tokenizer_open does, a FILE.gguf and a FILE.packed. Whether a begin and an end
 * token go around a text is what a directory's tokenizer_config.json says (or Llama's classes
 * there), or the keys of a GGUF; begin, end and padding of a GGUF are those of its keys. */
int hpc_model_tokenizer(hpc_tokenizer **out, const char *model);
/* Its files into a model directory, under the names that they have in one: out of a directory those
 * that are there, out of a GGUF the file, and a tokenizer_config.json where the file cannot say all
 * of what the keys do. */
int hpc_model_tokenizer_copy(const char *dir, const char *model);
/* Appends a GGUF's tokenizer as the file that it is opened from; *name is "tokenizer.model" or
 * "tokenizer.json". Of models of ours it is the file that they were saved with, byte for byte.
 * Otherwise it is made of tokenizer.ggml.*, for kind llama (SentencePiece with scores) and for kind
 * gpt2 (byte-level BPE) with the pre-tokenizers of gguf_pre.c; another kind or name is
 * HPC_E_UNSUPPORTED with the key and what it says. HPC_E_ARG: the file holds none.
 *
 * The ids are then those of llama.cpp, but for SentencePiece, where ours are the library's: U+2581
 * in a text is no blank; an unused piece comes apart again; a dummy prefix goes before a text, not
 * behind special tokens too; <unk> in a text is text. Of special and user-defined tokens that
 * overlap the first is found, there the longest. Such a file does not tell of normalising (Qwen's
 * NFC). */
int hpc_gguf_tokenizer(const char **name, hpc_buf *file, const hpc_gguf *g);

#ifdef __cplusplus
}
#endif
#endif
