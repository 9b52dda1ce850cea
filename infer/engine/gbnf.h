/*
 * gbnf.h: grammars in llama.cpp's GBNF, as automata over bytes.
 *
 * A grammar is compiled to nodes that take bytes, branch, and call rules. Its states are sets of
 * stacks of nodes. They are computed when they are first reached, so use changes an automaton: one
 * thread at a time.
 *
 * Not accepted: left recursion, and tokens of the vocabulary (<[7]>).
 */
#ifndef HPC_GBNF_H
#define HPC_GBNF_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_gbnf hpc_gbnf;

/* HPC_E_ARG: a syntax error, no rule `root`, or too large; the message has the line. */
int hpc_gbnf_parse(hpc_gbnf **out, const char *text, size_t n);
void hpc_gbnf_free(hpc_gbnf *g);

/* States are numbers; -1: the text cannot continue so. */
int32_t hpc_gbnf_start(const hpc_gbnf *g);
/* The state after a byte. Also -1 without memory, or where a state would have too many stacks. */
int32_t hpc_gbnf_step(hpc_gbnf *g, int32_t number, uint8_t byte);
bool hpc_gbnf_may_end(const hpc_gbnf *g, int32_t number);

#ifdef __cplusplus
}
#endif
#endif
