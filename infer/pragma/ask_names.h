/*
 * ask_names.h: the variables that a directive before a loop may name.
 */
#ifndef HPC_PRAGMA_ASK_NAMES_H
#define HPC_PRAGMA_ASK_NAMES_H

#include "runtime/source/tree.h"

typedef struct ask_names {
    const char **item; /* sorted, each once; in the tree */
    int64_t n, cap;
} ask_names; /* zero to begin with */
/* Finds the variables that a loop uses and that are declared outside it. */
int ask_names_find(ask_names *out, const hpc_tree *t, int32_t loop);
void ask_names_release(ask_names *names);

#endif
