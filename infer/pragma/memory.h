/*
 * memory.h: conflicts between the memory accesses of different iterations.
 */
#ifndef HPC_PRAGMA_MEMORY_H
#define HPC_PRAGMA_MEMORY_H

#include "infer/pragma/relate.h"
#include "infer/pragma/walk.h"

/* ---- memory.c ---- */
/* Compares all pairs of accesses. Adds evidence of conflicts, assumptions that exclude them, and
 * clauses that make them harmless. */
void memory_judge(walk *w);
/* The accesses of one pair, in different iterations. Adds to the answer. */
typedef enum pair_kind {
    PAIR_APART,    /* they never meet, or it is assumed that they do not */
    PAIR_HARMLESS, /* a clause makes it harmless */
    PAIR_MEETS,    /* they meet, certainly or perhaps */
    PAIR_UNKNOWN   /* not analysed */
} pair_kind;
pair_kind pair_judge(walk *w, const access *a, const access *b);

/* ---- hidden.c ---- */
/* A call of the loop may read memory that its arguments do not lead to: assumes that it does not
 * read what the loop writes, or adds evidence why that cannot be assumed. */
void hidden_judge(walk *w);

/* ---- reach.c ---- */
/* True if a clause for the variable or member of an access applies to it: the loop names it there,
 * and not in a function that it calls. */
bool clause_reaches(const walk *w, const access *a);

/* ---- depend.c ---- */
/* Dependence test of one access with another one in a different iteration. SURE: *apart is
 * the number of iterations between them; else it is 0. May add assumptions about sorted arrays. */
typedef enum meeting { MEETING_NEVER, MEETING_MAYBE, MEETING_SURE } meeting;
meeting places_meet(int64_t *apart, const loop_facts *l, prover *pr, answer *assumed,
                    const access *a, const access *b);
/* True if they never meet when arrays of indices have no repeated entry. The prover has the arrays.
 */
bool apart_if_distinct(const loop_facts *l, prover *pr, const access *a, const access *b);
/* As above, when no entry of such an array exceeds a number. */
bool apart_if_limited(const loop_facts *l, prover *pr, const access *a, const access *b);
/* The difference of one index of the two: factor * (iterations between them) + rest. The factor
 * does not vary, and is positive if it is a number. False: no index has this form. */
typedef struct gap {
    const poly *factor, *rest;
    const fact *facts;
} gap;
bool places_gap(gap *out, const loop_facts *l, prover *pr, const access *a, const access *b,
                bool later);

/* ---- apart.c ---- */
/* Assumes that two accesses never meet, or adds evidence why that cannot be assumed. */
void assume_apart(walk *w, const access *a, const access *b);

/* ---- rows.c ----
 * Arrays that the loop reaches through pointers in memory: the rows of an array of pointers. */
/* a[i][j]: assumes that different rows are disjoint. False: that does not decide whether the
 * accesses meet. */
bool rows_apart(walk *w, const access *a, const access *b);
/* One of the accesses is in a row: assumes that rows and the other array are disjoint. False: no
 * access is in a row, or that cannot be assumed. */
bool assume_rows_apart(walk *w, const access *a, const access *b);
/* An array in memory: "A->vals", "edge[].to", "cell[]->data". */
void array_text(hpc_buf *b, const walk *w, const place *p);
void owner_text(hpc_buf *b, const walk *w, const place *p); /* all in front of its first index */

/* ---- distinct.c ---- */
/* Assumes that the arrays that hold indices of two accesses have no repeated entry. False: that
 * does not separate them, or they add values up, so that entries probably repeat. */
bool assume_distinct(walk *w, const access *a, const access *b);
/* Assumes that no entry of the arrays that hold lengths exceeds the distance of the parts which
 * they fill: a[64 * i + k] for k < length[i]. False: that does not separate the accesses. */
bool assume_limited(walk *w, const access *a, const access *b);

/* ---- index.c ---- */
/* Assumes relations of numbers that make two indices differ; false: no such relations exist. */
bool assume_index(walk *w, const access *a, const access *b);

#endif
