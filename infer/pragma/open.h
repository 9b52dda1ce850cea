/*
 * open.h: loops in templates that the file does not instantiate. Types that depend on a parameter
 * are open: objects of them may be indexed, operators and functions may be applied to them, and
 * the verdict lists what it assumes of these.
 */
#ifndef HPC_PRAGMA_OPEN_H
#define HPC_PRAGMA_OPEN_H

#include "infer/pragma/walk.h"

/* The element x[i] or x(i, j) of an object of an open type. False: `e` is something else, or the
 * object is unknown; accesses of evaluated parts are recorded. */
bool open_element(place *out, walk *w, int32_t e);
/* A call that depends on an open type, of which the value is used: records what it reads of its
 * arguments. False: it is another call, or may be there for its effects. */
bool open_call(walk *w, int32_t call);
/* True if a call in the head of a loop depends on open types only. */
bool is_open_call(const walk *w, int32_t call);
/* Adds the assumptions about open types. */
void open_judge(walk *w);
/* Updates of a variable of an open type: assumes that it is a number, which a reduction needs. */
bool open_reduction(walk *w, const access *a, const access *b);

#endif
