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
/* Writes its files into a model directory: copies of those in a directory, or of a GGUF, packed or
 * single file the tokenizer's file and a tokenizer_config.json. A SentencePiece model that changes
 * no text gets a tokenizer.json too. */
int hpc_model_tokenizer_copy(const char *dir, const char *model);
typedef struct hpc_model_tokenizer_options {
    int32_t end;              /* the token that ends a text, or -1 */
    bool json;                /* a tokenizer.json is beside it */
    const hpc_json *metadata; /* of metadata.h, which has the chat templates; NULL: none */
    bool always;              /* write add_bos_token and add_eos_token even where they are false */
} hpc_model_tokenizer_options;
/* Appends a tokenizer_config.json with which transformers and llama.cpp's converter give the ids
 * that t gives here. */
int hpc_model_tokenizer_config(hpc_buf *out, const hpc_tokenizer *t,
                               const hpc_model_tokenizer_options *o);
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
