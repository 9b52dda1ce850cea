/*
 * files.h: a model as it lies in files, looked into once: its configuration, its
 * tokenizer and its parameters come out of what was opened, whatever becomes of the path.
 *
 * Of a directory the configuration alone is read; the rest is opened when it is asked for.
 */
#ifndef HPC_MODEL_FILES_H
#define HPC_MODEL_FILES_H

#include "model/packed.h"
#include "model/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a directory, a FILE.gguf or a FILE.packed; with the errors of hpc_model_config_read. What is
 * opened of it is read there: the files stay open as long as weights or what was lent are used. */
typedef struct hpc_model_files hpc_model_files;
int hpc_model_files_open(hpc_model_files **out, const char *model);
void hpc_model_files_close(hpc_model_files *f);
const hpc_model_config *hpc_model_files_config(const hpc_model_files *f);
const hpc_packed *hpc_model_files_packed(const hpc_model_files *f); /* NULL: it is none */
/* As hpc_model_tokenizer and hpc_weights_open of the path, with the configuration that was read. */
int hpc_model_files_tokenizer(hpc_tokenizer **out, const hpc_model_files *f);
int hpc_model_files_weights(hpc_weights **out, const hpc_model_files *f);

#ifdef __cplusplus
}
#endif
#endif
