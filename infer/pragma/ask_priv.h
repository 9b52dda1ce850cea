/*
 * ask_priv.h: what ask.c takes from ask_names.c and ask_prompt.c: names that a directive may have,
 * and samples as tokens.
 */
#ifndef HPC_PRAGMA_ASK_PRIV_H
#define HPC_PRAGMA_ASK_PRIV_H

#include "infer/engine/coder.h"
#include "runtime/source/tree.h"

enum { ASK_ROOM = 2048 }; /* tokens of a question and its answer at most */

/* Variables that a loop uses and that are declared outside of it, sorted, each once. */
typedef struct ask_names {
    const char **item; /* into the tree */
    int64_t n, cap;
} ask_names; /* zero to begin with */
int ask_names_find(ask_names *out, const hpc_tree *t, int32_t loop);
void ask_names_release(ask_names *names);

/* For samples of loops. HPC_E_UNSUPPORTED: the tokenizer of this model lacks a mark. */
int ask_coder_open(hpc_coder *out, const hpc_tokenizer *t, const char *model);
/* Appends the answer to one, with the end; "" is the end alone. */
int ask_encode_answer(hpc_ids *out, const hpc_coder *c, const char *directive);

#endif
