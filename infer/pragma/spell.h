/*
 * spell.h: numbers and addresses of the analysis as C expressions that have the same value right
 * before the loop.
 */
#ifndef HPC_PRAGMA_SPELL_H
#define HPC_PRAGMA_SPELL_H

#include "infer/pragma/walk.h"

typedef struct spelling {
    walk *w;
    hpc_buf text;
    bool failed; /* no expression at the loop has this value */
    bool wide;   /* products are computed in 64 bits */
    bool runs; /* it reads memory that the loop reads in each iteration, but not before the first */
} spelling;    /* zero except for the walk */

/* True if a variable can be named right before the loop, and has its value of the loop there. */
bool is_visible(const loop_facts *l, int32_t symbol);

/* The spelled text; NULL: it failed. Records in the answer whether it reads memory of the loop. */
const char *spelled(spelling *x);
/* True if the loop computes the index of an access in more than 32 bits, or if that is unknown. */
bool has_wide_index(const hpc_tree *t, const access *a);

void spell_number(spelling *x, const poly *p); /* "n*m - 1" */
/* "(long long)n*(m - 1)"; no factor is NULL or 0. */
void spell_product(spelling *x, const poly *const *factor, int32_t n);
/* "a >= b", as numbers without wraparound, independent of the types of the names. */
void spell_compare(spelling *x, const poly *a, const char *op, const poly *b);
/* The address of element `offset` after a pointer: "x + n". as_bytes: cast to const char *. */
void spell_address(spelling *x, int32_t base, const poly *offset, bool as_bytes);
/* The address of the object that holds the elements at a place: "(const void *)&v". */
void spell_container(spelling *x, const place *p);

/* ---- guard.c ---- */
/* The condition under which all assumptions of a loop hold that are not trusted, for an if clause:
 * "x + n <= y && n > 0". NULL: there is no such
 * assumption, or one has no check. */
const char *guard_of(walk *w, const hpc_pragma_loop *l);

#endif
