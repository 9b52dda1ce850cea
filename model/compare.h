/*
 * compare.h: what a head for pairs reads of a change: two sequences, of what is before and of what
 * is after.
 *
 * A change is a document: a lead (the file's name), a mark, the text before, a mark, the text
 * after, and a mark behind which is told what it came to. Both sequences begin with the lead, and
 * neither has a mark: the same text is the same sequence. What is told is in none.
 */
#ifndef HPC_MODEL_COMPARE_H
#define HPC_MODEL_COMPARE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_compare_marks { /* their tokens */
    int32_t base, head, label;
} hpc_compare_marks;
typedef struct hpc_compare_span { /* tokens of the document */
    int64_t at, n;
} hpc_compare_span;
typedef struct hpc_compare {
    hpc_compare_span lead, side[2]; /* sequence k is lead, side[k]; a side may be empty */
} hpc_compare;

/* false: there is no lead, or the marks are not there in their order. */
bool hpc_compare_find(hpc_compare *out, const int32_t *token, int64_t n,
                      const hpc_compare_marks *m);
/* Both sequences together become at most `room` tokens, 2 at least. What is left out of a longer
 * one is what is far from where the sides differ, the same on both sides as far as that goes; of
 * the lead its beginning. With the sides swapped it is the same, swapped. */
void hpc_compare_fit(hpc_compare *c, const int32_t *token, int64_t room);
/* Sequence k, 0 or 1; returns its length, 1 at least. */
int64_t hpc_compare_write(int32_t *out, const hpc_compare *c, const int32_t *token, int k);

#ifdef __cplusplus
}
#endif
#endif
