/*
 * memory.h: what memory.c, depend.c, apart.c and index.c share: when two accesses meet.
 */
#ifndef HPC_PRAGMA_MEMORY_H
#define HPC_PRAGMA_MEMORY_H

#include "infer/pragma/priv.h"

/* ---- depend.c, relate.c, origin.c ---- */
/* What an iteration left in place a is never what another finds in b; *why_not: the pair is known
 * to meet, `apart` iterations from each other (0: that is not known). */
typedef enum meeting { MEETING_NEVER, MEETING_MAYBE, MEETING_SURE } meeting;
meeting places_meet(int64_t *apart, study *s, const access *a, const access *b);
typedef enum relation {
    RELATION_SAME,
    RELATION_APART,
    RELATION_EITHER, /* the same object, or apart as a whole */
    RELATION_MAYBE   /* nothing is known */
} relation;
relation relate(study *s, const place *p, const place *q);
bool field_in_union(const study *s, int32_t field);
/* Whether the two may come from one pointer in this file, so that to assume that they are apart
 * would be to assume the opposite of what the text says. */
typedef enum kinship {
    KIN_NONE,
    KIN_SAME, /* some call hands the same to both */
    KIN_PARTS /* one is made of the other, or both of a third */
} kinship;
kinship same_origin(const study *s, const place *a, const place *b);
/* Of one index: factor * (how many iterations lie between) + rest is what the two differ by; the
 * factor is settled, and positive where it is a number. False when no index is of that form. */
typedef struct gap {
    const poly *factor, *rest;
    const fact *facts;
} gap;
bool places_gap(gap *out, study *s, const access *a, const access *b, bool later);

/* ---- apart.c ---- */
bool is_container_place(const place *p);
/* Assumes that they never meet, or says why that cannot be assumed. */
void assume_apart(study *s, const access *a, const access *b);
/* a[i][j] by an array of pointers: if no two of these are the same, what lies behind different ones
 * is apart. True when that decides it. */
bool rows_apart(study *s, const access *a, const access *b);

/* ---- index.c ---- */
/* Assumes of the numbers in two indices what makes them differ; false when nothing would. */
bool assume_index(study *s, const access *a, const access *b);

#endif
