/*
 * tokenizer.h: opens and saves the tokenizer of a model directory, a GGUF file (ours or from
 * llama.cpp) or a packed file.
 *
 * Encoding is in tokenizer/. This header covers only where tokenizers are stored and the settings
 * stored with them.
 */
#ifndef HPC_MODEL_TOKENIZER_H
#define HPC_MODEL_TOKENIZER_H

#include "model/model.h"
#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens everything that hpc_tokenizer_open does, plus FILE.gguf and FILE.packed. A directory's
 * tokenizer_config.json sets add_bos_token and add_eos_token (Llama's tokenizer classes add a begin
 * token by default). The keys of a GGUF set them too, and the ids of begin, end and padding. */
int hpc_model_tokenizer(hpc_tokenizer **out, const char *model);
/* Writes a tokenizer into the model directory `dir`. From a directory it copies the tokenizer's
 * files. From a GGUF, packed or single file it writes the tokenizer file and a
 * tokenizer_config.json, plus a tokenizer.json for a SentencePiece model that does not normalise
 * text. */
int hpc_model_tokenizer_copy(const char *dir, const char *model);
/* Like hpc_model_tokenizer_copy, with other names for special tokens: each of the n pairs is
 * "OLD=NEW". HPC_E_ARG: OLD is no special token, NEW exists, or a name is not printable ASCII.
 * HPC_E_UNSUPPORTED: there is no tokenizer.json. */
int hpc_model_tokenizer_rename(const char *dir, const char *model, const char *const *pairs,
                               int64_t n);
typedef struct hpc_model_tokenizer_options {
    int32_t end;              /* end-of-text token, or -1 */
    bool json;                /* the directory has a tokenizer.json */
    const hpc_json *metadata; /* of metadata.h, for chat templates; NULL: none */
    bool always;              /* write add_bos_token and add_eos_token even if false */
} hpc_model_tokenizer_options;
/* Appends a tokenizer_config.json with which transformers and llama.cpp's converter produce the
 * same ids as t. */
int hpc_model_tokenizer_config(hpc_buf *out, const hpc_tokenizer *t,
                               const hpc_model_tokenizer_options *o);
/* Appends the tokenizer file stored in a GGUF; *name is "tokenizer.model" or "tokenizer.json". For
 * our own models it is the original file, byte for byte. Otherwise the file is built from
 * tokenizer.ggml.*, for kind llama (SentencePiece with scores) and kind gpt2 (byte-level BPE with a
 * pre-tokenizer of gguf_pre.c). Another kind or pre-tokenizer is HPC_E_UNSUPPORTED; the message
 * names key and value. HPC_E_ARG: the file has no tokenizer.
 *
 * Ids then equal llama.cpp's, except with SentencePiece, where they equal the SentencePiece
 * library's. There, U+2581 in a text is not a blank; an unused piece is split again; <unk> in a
 * text is plain text. The dummy prefix is added only before the text, not after special tokens. Of
 * overlapping special and user-defined tokens the first match wins, then the longest. GGUF does not
 * record normalisation (Qwen's NFC). */
int hpc_gguf_tokenizer(const char **name, hpc_buf *file, const hpc_gguf *g);

#ifdef __cplusplus
}
#endif
#endif
