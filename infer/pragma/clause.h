/*
 * clause.h: clauses of an OpenMP directive: the variables that they name, and their numbers.
 */
#ifndef HPC_PRAGMA_CLAUSE_H
#define HPC_PRAGMA_CLAUSE_H

#include "infer/pragma/answer.h"

typedef enum clause_kind {
    CLAUSE_PRIVATE,
    CLAUSE_FIRST,
    CLAUSE_LAST,
    CLAUSE_LINEAR,
    CLAUSE_REDUCTION, /* also task_reduction and in_reduction */
    CLAUSE_SHARED,
    CLAUSE_KIND_N
} clause_kind;
typedef struct clause_item { /* a variable in a clause */
    clause_kind kind;
    uint8_t op;       /* REDUCTION: as reduction_name takes it; 0: user-defined */
    bool conditional; /* lastprivate(conditional: x) */
    bool section;     /* x[0:n] */
    const char *name; /* without qualifiers; n bytes of the text */
    size_t n;
} clause_item;
typedef struct clause_list {
    clause_item *item; /* in the arena */
    int64_t n;
    int64_t collapse, threads; /* 1 and 0: no such clause; -1: not a number */
    bool ordered, nowait, has_if, none,
        privates; /* default(none); default(private), (firstprivate) */
    bool odd;     /* contains something unknown, such as a macro */
} clause_list;
/* Reads a directive on one line, as hpc_pragma_text renders it. The list points into the text. */
int clauses_read(clause_list *out, const char *text, hpc_arena *a);
/* The item of a kind that names a variable; NULL: none. */
const clause_item *clause_of(const clause_list *l, clause_kind kind, const char *name);
bool clause_names(const clause_item *c, const char *name);

#endif
