/*
 * tree_priv.h: internals of tree.h: decoding trees from the libclang process.
 */
#ifndef HPC_SOURCE_TREE_PRIV_H
#define HPC_SOURCE_TREE_PRIV_H

#include "runtime/source/check_priv.h"
#include "runtime/source/clang/clang.h"
#include "runtime/source/tree.h"

/* Appends it to a message. */
void tree_put(hpc_buf *b, const hpc_clang_tree *t);
/* HPC_E_FORMAT unless it is one of a text of n bytes in every point that tree.h promises; what
 * follows from the rest (parents, lines, columns) is set. *out is replaced. */
int tree_take(hpc_tree *out, check_reader *r, const char *text, size_t n);

/* Parameters that are written as arrays become the pointers that they are. */
int tree_parameters(hpc_tree *t);

#endif
