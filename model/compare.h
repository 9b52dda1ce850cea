/*
 * compare.h: splits a code change into the two token sequences that a pair head reads: the text
 * before and the text after.
 *
 * A change is one document: a lead (the file name), the mark `base`, the text before, the mark
 * `head`, the text after, the mark `label`, and the label. Both sequences begin with the lead and
 * contain no marks, so equal texts give equal sequences. Neither contains the label.
 */
#ifndef HPC_MODEL_COMPARE_H
#define HPC_MODEL_COMPARE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_compare_marks { /* token ids of the marks */
    int32_t base, head, label;
} hpc_compare_marks;
typedef struct hpc_compare_span { /* token range of the document */
    int64_t at, n;
} hpc_compare_span;
typedef struct hpc_compare {
    hpc_compare_span lead, side[2]; /* sequence k is lead, side[k]; a side may be empty */
} hpc_compare;

/* Returns false if the lead is empty or the marks do not occur in this order. */
bool hpc_compare_find(hpc_compare *out, const int32_t *token, int64_t n,
                      const hpc_compare_marks *m);
/* Shortens both sequences to at most `room` tokens together; `room` is at least 2. It drops tokens
 * far from the difference first, the same number on both sides where possible, and the beginning of
 * the lead. Swapping the sides swaps the result. */
void hpc_compare_fit(hpc_compare *c, const int32_t *token, int64_t room);
/* Writes sequence k (0 or 1) to `out`; returns its length, at least 1. */
int64_t hpc_compare_write(int32_t *out, const hpc_compare *c, const int32_t *token, int k);

#ifdef __cplusplus
}
#endif
#endif
