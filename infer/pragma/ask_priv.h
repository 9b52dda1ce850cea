/*
 * ask_priv.h: what ask.c takes from ask_names.c and ask_prompt.c: names that a directive may have,
 * and samples as tokens.
 */
#ifndef HPC_PRAGMA_ASK_PRIV_H
#define HPC_PRAGMA_ASK_PRIV_H

#include "runtime/source/source.h"
#include "runtime/source/tree.h"
#include "tokenizer/tokenizer.h"

enum { ASK_ROOM = 2048 }; /* tokens of a question and its answer at most */

/* Variables that a loop uses and that are declared outside of it, sorted, each once. */
typedef struct ask_names {
    const char **item; /* into the tree */
    int64_t n, cap;
} ask_names; /* zero to begin with */
int ask_names_find(ask_names *out, const hpc_tree *t, int32_t loop);
void ask_names_release(ask_names *names);

typedef struct ask_coder {
    const hpc_tokenizer *t;
    hpc_tokenizer_scratch *scratch;
    int32_t file, loop, pragma, end; /* marks */
    int32_t begin;                   /* -1: none */
} ask_coder;
/* HPC_E_UNSUPPORTED: the tokenizer of this model lacks a mark. */
int ask_coder_open(ask_coder *out, const hpc_tokenizer *t, const char *model);
void ask_coder_close(ask_coder *c);
/* The ids that corpus/pack_encode.c makes of a sample of a loop. */
int ask_encode(hpc_ids *out, const ask_coder *c, const hpc_sample *s);
/* And of its answer, with the end; "" is the end alone. */
int ask_encode_answer(hpc_ids *out, const ask_coder *c, const char *directive);

#endif
