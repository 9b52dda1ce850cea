/*
 * packed.h: FILE.packed, a single-file model with parameters stored in the layout that the
 * inference program reads. The file is mapped without a copy, and processes share its pages.
 *
 * A file belongs to one parameter layout. A program with another layout rejects it; export the
 * original model again.
 */
#ifndef HPC_PACKED_H
#define HPC_PACKED_H

#include "model/serve.h"

#ifdef __cplusplus
extern "C" {
#endif

bool hpc_is_packed(const char *path); /* by the suffix ".packed" */

/* The file is untrusted. Opening checks version, byte order and layout (else HPC_E_UNSUPPORTED),
 * the hash of everything before the parameters, and the configuration. It checks that exactly the
 * configuration's tensors are there, each with a valid shape and type, aligned and contiguous up to
 * the end of the file. It does not read the parameters: see hpc_packed_verify. */
typedef struct hpc_packed hpc_packed;
int hpc_packed_open(hpc_packed **out, const char *path);
void hpc_packed_close(hpc_packed *k);
const hpc_model_config *hpc_packed_config(const hpc_packed *k);
/* Stored type of a parameter; HPC_F32 for a tensor that the file does not have. */
hpc_dtype hpc_packed_dtype(const hpc_packed *k, const hpc_model_tensor *t);
/* Gives all parameters of a program from hpc_serve_emit for this configuration and these types, for
 * hpc_exec_open. The caller frees *list and keeps k open while they are in use. */
int hpc_packed_lend(hpc_lent **list, int64_t *n, const hpc_packed *k, const hpc_program *p);
/* Reads the whole file. HPC_E_FORMAT names the first tensor with a wrong hash, or reports that the
 * prepared tokenizer does not match the tokenizer file. */
int hpc_packed_verify(const hpc_packed *k);

/* Replaces `path` atomically; holds one tensor in memory at a time. */
typedef struct hpc_packed_options {
    hpc_dtype dtype;                              /* of matrices, as for hpc_serve_choose */
    const char *tokenizer;                        /* path for hpc_model_tokenizer; NULL: none */
    const hpc_json *metadata;                     /* of metadata.h; NULL: none */
    void (*done)(int64_t parameters, void *user); /* progress, may be NULL */
    void *user;
} hpc_packed_options;
int hpc_packed_save(const char *path, const hpc_weights *w, const hpc_model_config *c,
                    const hpc_packed_options *o);

#ifdef __cplusplus
}
#endif
#endif
