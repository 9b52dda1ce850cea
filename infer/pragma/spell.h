/*
 * spell.h: expressions for clauses: C text that has, right before the loop, the value that a number
 * or an address has in the analysis.
 */
#ifndef HPC_PRAGMA_SPELL_H
#define HPC_PRAGMA_SPELL_H

#include "infer/pragma/memory.h"

typedef struct spelling {
    study *s;
    hpc_buf text;
    bool failed; /* no expression at the loop has this value */
    bool wide;   /* products may exceed int: the loop computes its indices in 64 bits */
    bool runs; /* it reads memory that the loop reads in each iteration, but not before the first */
} spelling;    /* zero to begin with, but for the study */

/* True if a variable can be named right before the loop, and has its value of the loop there. */
bool is_visible(const study *s, int32_t symbol);

/* The spelled text; NULL: it failed. Notes the variables that it reads. */
const char *spelled(spelling *x);
/* True if the loop computes the index of an access in more than 32 bits, as far as is known. */
bool has_wide_index(const study *s, const access *a);

void spell_number(spelling *x, const poly *p); /* "n*m - 1" */
/* "a >= b", as numbers without wraparound, whatever types the names have. */
void spell_compare(spelling *x, const poly *a, const char *op, const poly *b);
/* The address of element `offset` behind a pointer: "x + n". as_bytes: cast to const char *. */
void spell_address(spelling *x, int32_t base, const poly *offset, bool as_bytes);
/* The address of the object that holds the elements at a place: "(const void *)&v". */
void spell_container(spelling *x, const place *p);

/* ---- guard.c ---- */
/* The condition under which all assumptions hold, for an if clause: "x + n <= y && n > 0". NULL:
 * nothing is assumed, or an assumption has no check. */
const char *guard_of(study *s);

#endif
