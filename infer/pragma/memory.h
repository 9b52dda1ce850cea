/*
 * memory.h: what memory.c, depend.c and index.c share: when two accesses meet.
 */
#ifndef HPC_PRAGMA_MEMORY_H
#define HPC_PRAGMA_MEMORY_H

#include "infer/pragma/priv.h"

/* Of one index: factor * (how many iterations lie between) + rest is what the two differ by; the
 * factor is settled, and positive where it is a number. False when no index is of that form. */
typedef struct gap {
    const poly *factor, *rest;
    const fact *facts;
} gap;
bool places_gap(gap *out, study *s, const access *a, const access *b, bool later);

#endif
