/*
 * chat.h: what a model's files state about chats: templates, the texts of special tokens that
 * templates use, and the tokens that end an answer.
 *
 * infer/template renders templates.
 */
#ifndef HPC_MODEL_CHAT_H
#define HPC_MODEL_CHAT_H

#include "tokenizer/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a GGUF file, a packed file, or the files of a directory (chat_template.jinja,
 * tokenizer_config.json, special_tokens_map.json, generation_config.json). The caller frees *out.
 *
 * "templates" has {"default": TEXT, NAME: TEXT, ...} and is empty if the model has none.
 * "bos_token", "eos_token", "unk_token" and "pad_token" are the texts that transformers gives to
 * templates; a token that the model lacks is absent. "end" has ids of tokens that end an answer,
 * from generation_config.json or tokenizer.ggml.eot_token_id. t: the model's tokenizer. */
int hpc_model_chat_read(hpc_json **out, const char *model, const hpc_tokenizer *t);

#ifdef __cplusplus
}
#endif
#endif
