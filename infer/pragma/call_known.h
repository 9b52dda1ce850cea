/*
 * call_known.h: effects of functions of the C and C++ libraries.
 */
#ifndef HPC_PRAGMA_CALL_KNOWN_H
#define HPC_PRAGMA_CALL_KNOWN_H

#include "infer/pragma/syntax.h"

typedef enum call_known {
    CALL_UNKNOWN,
    CALL_VALUE,     /* depends only on the values of its arguments */
    CALL_READS,     /* also reads what its arguments point to */
    CALL_STORES,    /* stores one value through each pointer argument: sincos, modf, frexp */
    CALL_COPIES,    /* writes through the first argument, reads through the second */
    CALL_ALLOCATES, /* returns memory that nothing else points to */
    CALL_FREES,
    CALL_STATE, /* changes hidden state: rand */
    CALL_IO,
    CALL_LEAVES,  /* exit, abort */
    CALL_ASSERTS, /* what assert calls where its condition does not hold */
    CALL_LOCK,
    CALL_METHOD_READ,   /* of a container: size, empty */
    CALL_METHOD_PLACE,  /* at, front, back, data, begin, end, operator[] */
    CALL_METHOD_CHANGE, /* push_back, insert */
    CALL_METHOD_OWN     /* reads the object itself, or with an argument changes it: real */
} call_known;
/* By the function's name, scope and kind. */
call_known call_known_of(const hpc_tree *t, int32_t symbol);
/* As above, and operators by the types of their operands. */
call_known call_known_at(const hpc_tree *t, int32_t call);
/* True for the statement expression that a C library's assert consists of. */
bool is_assertion(const hpc_tree *t, int32_t i);

#endif
