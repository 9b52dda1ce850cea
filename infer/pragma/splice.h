/*
 * splice.h: a syntax tree in which loops have the bodies of the local lambdas and functors that
 * they call.
 */
#ifndef HPC_PRAGMA_SPLICE_H
#define HPC_PRAGMA_SPLICE_H

#include "infer/pragma/syntax.h"

/* The node is a BLOCK or an expression that replaces a call. Internal to infer/pragma. */
enum { TREE_SPLICED = 1 << 15 };

typedef struct spliced {
    hpc_tree tree;  /* types and names belong to the original */
    int32_t *from;  /* by node: the node of the original that it copies */
    bool any;       /* false: no call is replaced, and the other members are unset */
    bool *captured; /* by symbol of the original: a replaced lambda refers to this variable */
} spliced;
/* Replaces each call of a lambda or of a functor within a loop whose body can stand there instead.
 * Copies of loops have the flag ELSEWHERE: the original is in the tree as well. `t` must outlive
 * the result. */
int splice_lambdas(spliced *out, const hpc_tree *t);
void splice_release(spliced *s);

#endif
