/*
 * relate.h: relations between two places: objects and origins of their pointers.
 */
#ifndef HPC_PRAGMA_RELATE_H
#define HPC_PRAGMA_RELATE_H

#include "infer/pragma/loop.h"

/* ---- relate.c ---- */
typedef enum relation {
    RELATION_SAME,
    RELATION_APART,
    RELATION_EITHER, /* the same object, or disjoint as a whole */
    RELATION_MAYBE   /* unknown */
} relation;
bool is_open_base(const prover *pr, int32_t base); /* an object of an open type, as a pointer */
relation relate(const program *f, const prover *pr, const place *p, const place *q);
bool field_in_union(const hpc_tree *t, int32_t field);
bool is_container_place(const place *p); /* an element that a container owns */

/* ---- origin.c ---- */
/* Two places may derive from one pointer of this file. Then the text contradicts the
 * assumption that they are disjoint. */
typedef enum kinship {
    KIN_NONE,
    KIN_SAME, /* a call passes the same pointer for both */
    KIN_PARTS /* one derives from the other, or both from a third */
} kinship;
kinship same_origin(const loop_facts *l, const prover *pr, const place *a, const place *b);

#endif
