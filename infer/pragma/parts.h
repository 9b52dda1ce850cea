/*
 * parts.h: the statements of a loop's body, and the dependences between their iterations.
 */
#ifndef HPC_PRAGMA_PARTS_H
#define HPC_PRAGMA_PARTS_H

#include "infer/pragma/walk.h"

enum { PARTS_MOST = 24 };
typedef struct parts {
    int32_t node[PARTS_MOST]; /* the statements, in the order of the text */
    int n;
    bool blocks[PARTS_MOST][PARTS_MOST]; /* [k][l], k <= l: a loop with both is not parallel */
    bool joined[PARTS_MOST]
               [PARTS_MOST];  /* [k][l], k < l: k must not run for all iterations first */
    bool writes[PARTS_MOST];  /* memory, or a variable that is used after the loop */
    bool repeats[PARTS_MOST]; /* a declaration that several loops can have, on its own line */
    bool uses[PARTS_MOST][PARTS_MOST]; /* [k][l]: l uses a variable that k declares and repeats */
} parts;
/* Compares all accesses of different statements again. False: an obstacle of the loop is neither a
 * dependence of known accesses or variables nor input and output, or a jump leaves the body. */
bool parts_read(parts *p, walk *w);
/* True if an assignment stores the same value in each iteration, and the loop reads it only later:
 * it can run once before the loop. */
bool parts_stores_one_value(const parts *p, walk *w, int k);
uint32_t parts_first_line(const parts *p, const walk *w, int k);
uint32_t parts_last_line(const parts *p, const walk *w, int k);

#endif
