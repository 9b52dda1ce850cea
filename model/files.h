/*
 * files.h: a model opened once: its configuration, tokenizer and weights all come from the same
 * open file, even if the path is replaced meanwhile.
 *
 * For a directory, only the configuration is read at open; other files are opened on request.
 */
#ifndef HPC_MODEL_FILES_H
#define HPC_MODEL_FILES_H

#include "model/packed.h"
#include "model/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a directory, a FILE.gguf or a FILE.packed; errors are those of hpc_model_config_read. Keep
 * the handle open as long as its weights or lent parameters are in use. */
typedef struct hpc_model_files hpc_model_files;
int hpc_model_files_open(hpc_model_files **out, const char *model);
void hpc_model_files_close(hpc_model_files *f);
const hpc_model_config *hpc_model_files_config(const hpc_model_files *f);
const hpc_packed *hpc_model_files_packed(const hpc_model_files *f); /* NULL: not a packed file */
/* Like hpc_model_tokenizer and hpc_weights_open for the path, with the configuration
 * already read. */
int hpc_model_files_tokenizer(hpc_tokenizer **out, const hpc_model_files *f);
int hpc_model_files_weights(hpc_weights **out, const hpc_model_files *f);

#ifdef __cplusplus
}
#endif
#endif
