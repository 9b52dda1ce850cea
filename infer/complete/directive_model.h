/*
 * directive_model.h: a language model that answers questions about loops (infer/pragma/ask.h).
 */
#ifndef HPC_COMPLETE_DIRECTIVE_MODEL_H
#define HPC_COMPLETE_DIRECTIVE_MODEL_H

#include "infer/engine/engine.h"
#include "infer/pragma/ask.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_directive_model hpc_directive_model; /* one thread at a time */
/* Reads model, backend, isa, threads and weights of the options. HPC_E_UNSUPPORTED: the tokenizer
 * of the model has no marks for loops. */
int hpc_directive_model_open(hpc_directive_model **out, const hpc_engine_options *o);
void hpc_directive_model_close(hpc_directive_model *a); /* NULL is fine */
/* Valid until the model is closed. */
const hpc_pragma_model *hpc_directive_model_interface(const hpc_directive_model *m);

#ifdef __cplusplus
}
#endif
#endif
