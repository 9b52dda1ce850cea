/*
 * reduce.h: statements that fold a value into a variable.
 */
#ifndef HPC_PRAGMA_REDUCE_H
#define HPC_PRAGMA_REDUCE_H

#include "infer/pragma/answer.h"

typedef struct reduction {
    uint8_t op;     /* as reduction_name takes it; 0: none */
    int32_t target; /* the lvalue */
    int32_t value;  /* the folded expression; -1: 1, of an increment */
    int32_t other;  /* a further expression that is read, or 0 */
} reduction;
bool reduction_match(reduction *out, const hpc_tree *t, int32_t statement);

#endif
