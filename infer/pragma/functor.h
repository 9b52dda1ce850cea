/*
 * functor.h: calls of objects as functions, and members that keep the values of an initialiser.
 */
#ifndef HPC_PRAGMA_FUNCTOR_H
#define HPC_PRAGMA_FUNCTOR_H

#include "infer/pragma/syntax.h"

/* The FUNCTION that a call of an object runs; 0: none is known. */
int32_t functor_method(const hpc_tree *t, int32_t call);
bool functor_is_object(const hpc_tree *t, int32_t e);         /* a variable or parameter */
bool functor_is_member(const hpc_tree *t, int32_t i);         /* of `this` */
bool functor_names_members(const hpc_tree *t, int32_t block); /* `this` has no other use */
/* The expression in braces that a member of a local object always has; 0. */
int32_t functor_value(const hpc_tree *t, int32_t object, int32_t field);

#endif
