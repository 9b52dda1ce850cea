/*
 * metadata.h: model metadata: name, licence, tags, chat templates.
 *
 * Keys and values are those of GGUF files, general.* and tokenizer.chat_template*, as members of a
 * JSON object: strings, integers and lists of strings. Keys that describe the container
 * (architecture, file type, alignment) are excluded.
 */
#ifndef HPC_MODEL_METADATA_H
#define HPC_MODEL_METADATA_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a GGUF file, a packed file, or a directory's README.md (its front matter),
 * chat_template.jinja and tokenizer_config.json. The caller frees *out, which may be empty. */
int hpc_model_metadata_read(hpc_json **out, const char *model);
/* Writes the general.* members as the front matter of dir/README.md, where users of transformers
 * and llama.cpp's converter look for them. Without such members it writes no file. */
int hpc_model_card_save(const char *dir, const hpc_json *metadata);

#ifdef __cplusplus
}
#endif
#endif
