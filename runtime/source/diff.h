/*
 * diff.h: minimal edit script between two sequences of hashes (lines or tokens).
 */
#ifndef HPC_SOURCE_DIFF_H
#define HPC_SOURCE_DIFF_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_edit { /* base[base_at, + base_n) becomes head[head_at, + head_n) */
    int64_t base_at, base_n, head_at, head_n;
} hpc_edit;
typedef struct hpc_edits {
    hpc_edit *item;
    int64_t n, cap;
} hpc_edits; /* zero to begin with; reused by the next call */

/* Computes the edits in order of position. Adjacent edits are separated by equal elements, so no
 * two touch. The script is minimal, except for long sequences that differ much: work and memory are
 * bounded by about 2^24 steps, and linear beyond; the result is then valid but may not be
 * minimal. */
int hpc_diff(hpc_edits *out, const uint64_t *base, int64_t base_n, const uint64_t *head,
             int64_t head_n);
void hpc_edits_release(hpc_edits *e);

#ifdef __cplusplus
}
#endif
#endif
