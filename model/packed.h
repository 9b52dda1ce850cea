/*
 * packed.h: a model in one file, FILE.packed, whose parameters lie as the program
 * that answers reads them: it is mapped, nothing is copied, and processes share it.
 *
 * The file belongs to the layout of parameters that this program has; where that
 * is another one, it is refused, and made again of the model that it came from.
 */
#ifndef HPC_PACKED_H
#define HPC_PACKED_H

#include "model/serve.h"

#ifdef __cplusplus
extern "C" {
#endif

bool hpc_is_packed(const char *path); /* by its name */

/* Untrusted: version, byte order and layout are ours; what leads up to the numbers has the hash
 * that the file says; the configuration is one that config.json may have; its tensors are all
 * there, and no others, each of its shape and of a type that it can have; they lie one behind the
 * other, aligned, within the file, which ends with the last. HPC_E_UNSUPPORTED: another version or
 * layout. The numbers themselves may be any: what they say is not looked at (hpc_packed_verify). */
typedef struct hpc_packed hpc_packed;
int hpc_packed_open(hpc_packed **out, const char *path);
void hpc_packed_close(hpc_packed *k);
const hpc_model_config *hpc_packed_config(const hpc_packed *k);
/* In which type a parameter of its configuration is. */
hpc_dtype hpc_packed_dtype(const hpc_packed *k, const hpc_model_tensor *t);
/* All parameters of a program that hpc_serve_emit made of its configuration, in those types, as
 * hpc_exec_open takes them; *list is the caller's to free, and k stays open as long as they are
 * used. */
int hpc_packed_lend(hpc_lent **list, int64_t *n, const hpc_packed *k, const hpc_program *p);
/* Reads all of it: HPC_E_FORMAT names the first tensor whose bytes are not those that were written,
 * or the tokenizer whose two forms are not of each other. */
int hpc_packed_verify(const hpc_packed *k);

/* Whole or not at all, one tensor in memory at a time. */
typedef struct hpc_packed_options {
    hpc_dtype dtype;                              /* of matrices, as hpc_serve_choose takes it */
    const char *tokenizer;                        /* what hpc_model_tokenizer takes; NULL: none */
    const hpc_json *metadata;                     /* of metadata.h; NULL: none */
    void (*done)(int64_t parameters, void *user); /* so many more are written; may be NULL */
    void *user;
} hpc_packed_options;
int hpc_packed_save(const char *path, const hpc_weights *w, const hpc_model_config *c,
                    const hpc_packed_options *o);

#ifdef __cplusplus
}
#endif
#endif
