/*
 * directive_prompt.h: prompts about loops, and answers to them, as the tokens of training.
 */
#ifndef HPC_COMPLETE_DIRECTIVE_PROMPT_H
#define HPC_COMPLETE_DIRECTIVE_PROMPT_H

#include "infer/engine/coder.h"

/* Opens a coder of loop samples. HPC_E_UNSUPPORTED: the tokenizer of this model lacks a mark. */
int directive_coder_open(hpc_coder *out, const hpc_tokenizer *t, const char *model);
/* Appends an answer and the end token; "" is the end token alone. */
int directive_encode_answer(hpc_ids *out, const hpc_coder *c, const char *directive);

#endif
