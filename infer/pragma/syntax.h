/*
 * syntax.h: questions about the syntax tree alone: types, lvalues, functions.
 */
#ifndef HPC_PRAGMA_SYNTAX_H
#define HPC_PRAGMA_SYNTAX_H

#include "infer/pragma/pragma.h"

static inline uint8_t kind_of(const hpc_tree *t, int32_t type)
{
    return type < 0 ? HPC_TYPE_UNKNOWN : t->type[type].kind;
}

static inline bool is_loop(uint8_t kind)
{
    return kind == HPC_TREE_FOR || kind == HPC_TREE_RANGE || kind == HPC_TREE_WHILE ||
           kind == HPC_TREE_DO;
}

static inline const char *symbol_name(const hpc_tree *t, int32_t symbol)
{
    return symbol < 0 ? "?" : t->name + t->symbol[symbol].name;
}

bool is_same_type(const hpc_tree *t, int32_t a, int32_t b); /* ignores const */
int32_t bare_type(const hpc_tree *t, int32_t type);         /* without references */
bool is_plain_number(const hpc_tree *t, int32_t type);      /* integer, pointer, bool */
bool is_open_type(const hpc_tree *t, int32_t type);         /* unknown, as types in templates are */
bool in_template(const hpc_tree *t, int32_t i);             /* in a function whose types are open */
/* A variable of an open type that the head of a for loop declares. */
bool is_open_counter(const hpc_tree *t, int32_t symbol);
typedef enum container { CONTAINER_NONE, CONTAINER_PLAIN, CONTAINER_BITS } container;
container container_of(const hpc_tree *t, int32_t type); /* library classes that own an array */
bool is_view(const hpc_tree *t, int32_t type);           /* or a reference to one */

bool is_all_elements(const hpc_tree *t, int32_t e); /* a subscript of Fortran: of its dimension */
/* The variable at the root of an lvalue, or -1. */
int32_t root_of(const hpc_tree *t, int32_t e);
/* The type of an object expression, or the target type of a pointer expression. */
int32_t record_of(const hpc_tree *t, int32_t e);
bool tree_equal(const hpc_tree *t, int32_t a, int32_t b); /* equal expressions without effects */

/* The variable that a node assigns, steps or takes the address of; -1. */
int32_t name_assigned_by(const hpc_tree *t, int32_t i);
bool is_name_assigned(const hpc_tree *t, int32_t v, int32_t from, int32_t to); /* in [from, to) */

/* A constructor that the program defines, or declares without a body. */
bool is_own_constructor(const hpc_tree *t, int32_t construct);
/* A node makes an object of a class that runs code when objects begin or end. */
bool makes_active_object(const hpc_tree *t, int32_t i);
int32_t function_around(const hpc_tree *t, int32_t i); /* innermost function or lambda; 0: none */
/* The returned expression of a function that consists of one return statement; 0: another function.
 */
int32_t inline_body(const hpc_tree *t, int32_t symbol);
int32_t inline_arguments(const hpc_tree *t, int32_t call); /* the first argument; 0: none */
/* The object of a call: of a method, of an operator, or x of std::begin(x); 0: it has none. */
int32_t object_of_call(const hpc_tree *t, int32_t call);

#endif
