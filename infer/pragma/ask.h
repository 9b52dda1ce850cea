/*
 * ask.h: what a model says of loops that learnt from those that experts marked.
 *
 * Nothing of it is proven, and none of it changes a verdict. It ranks what the analysis lets pass,
 * chooses how iterations are handed out, which changes no result, and guesses a directive where the
 * analysis knows nothing.
 */
#ifndef HPC_PRAGMA_ASK_H
#define HPC_PRAGMA_ASK_H

#include "infer/engine/engine.h"
#include "infer/pragma/pragma.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_asker hpc_asker; /* one thread at a time */
/* Of the options, model, backend, isa, threads and weights count. HPC_E_UNSUPPORTED: a model whose
 * tokenizer has no marks for loops. */
int hpc_asker_open(hpc_asker **out, const hpc_engine_options *o);
void hpc_asker_close(hpc_asker *a); /* NULL is fine */

/* Sets `likely` of each loop that the model can be shown, and of those whose verdict is
 * - parallel or conditional, a schedule, where `pragma` has none and the model has one that is
 *   likelier than none;
 * - unknown, `guess`: the likeliest directive over variables that the loop uses.
 * The loops are those of hpc_pragma_find from this tree and text; `path` is what the model sees. */
int hpc_ask(hpc_pragma_loops *l, hpc_asker *a, const hpc_tree *t, const char *path,
            const char *text, size_t n, hpc_language language);

#ifdef __cplusplus
}
#endif
#endif
