/*
 * prune.h: masks that select the matrix elements that continue to train; the others are
 * permanently zero.
 *
 * Masks are selected by magnitude, identically on every rank, and cover whole tensors. step.c and
 * sparse.c keep the state of a pruned model.
 */
#ifndef HPC_TRAIN_PRUNE_H
#define HPC_TRAIN_PRUNE_H

#include "train/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_prune_config {
    double sparsity; /* fraction of elements to set to zero, in [0, 1) */
    bool asked;      /* false: no pruning */
    bool each;       /* apply the fraction to each matrix, not to all together */
    bool early_bird; /* freeze once successive masks agree; false: after step `after` */
    int64_t after;   /* steps */
    int64_t every;   /* early_bird: steps between masks */
    double distance; /* early_bird: largest distance of masks that agree, 0 to 1 */
} hpc_prune_config;
enum { HPC_PRUNE_STAYS = 4 }; /* successive comparisons that must agree */

/* HPC_E_ARG or HPC_E_UNSUPPORTED for values out of range, an optimizer that does not support pruned
 * state, ZeRO stages 2 and 3, and adapters. */
int hpc_prune_check(const hpc_prune_config *c, const hpc_optimizer_config *o,
                    const hpc_model_config *m, const hpc_parallel *q);

typedef struct hpc_mask {
    char name[HPC_TENSOR_NAME];
    int64_t n, kept; /* number of elements; how many are kept */
    uint8_t *bits;   /* element i: bit i % 8 of byte i / 8; NULL: only counts are known
                        (hpc_masks_assume) */
} hpc_mask;
struct hpc_masks {
    hpc_mask *mask;
    int64_t mask_n, n, kept; /* number of masks; elements of all masks */
};

/* Creates masks for the matrices of the blocks (no embedding, head, norm or bias), with no element
 * kept. */
int hpc_masks_create(hpc_masks **out, const hpc_model_config *c);
void hpc_masks_free(hpc_masks *m);
int hpc_masks_copy(hpc_masks **out, const hpc_masks *m);
/* Number of elements kept of n: n - round(sparsity n). */
int64_t hpc_prune_kept(double sparsity, int64_t n);
/* Keeps the elements of largest magnitude; of equal ones, the first in table order. `read` gives a
 * tensor's values as f32; it is called several times per tensor. */
typedef int hpc_masks_read(float *out, const hpc_mask *m, void *user);
int hpc_masks_choose(hpc_masks *m, const hpc_prune_config *c, hpc_masks_read *read, void *user);
/* For plans without values: only counts of kept elements, no bits. Equal parts of a matrix have
 * equal counts; the first parts have one more if the count is not divisible. */
int hpc_masks_assume(hpc_masks **out, const hpc_model_config *c, const hpc_prune_config *o);
/* Hamming distance relative to its maximum: 0: equal; 1: disjoint. */
double hpc_masks_distance(const hpc_masks *a, const hpc_masks *b);
const hpc_mask *hpc_masks_find(const hpc_masks *m, const char *name); /* NULL: not pruned */
/* Lists the kept elements in ascending order, as in a checkpoint; hpc_mask_set sets a mask from
 * such a list (HPC_E_FORMAT: invalid). */
void hpc_mask_list(int32_t *out, const hpc_mask *m);
int hpc_mask_set(hpc_mask *m, const int32_t *list, int64_t n);
/* Number of kept elements in a rank's part of the tensor, of type `local` out of `whole`. index, if
 * not NULL, receives their indices within the part; it must be NULL for an assumed mask. */
int64_t hpc_mask_part(int32_t *index, const hpc_mask *m, const hpc_type *local,
                      const hpc_type *whole, const hpc_grid_shape *s, const int *coord);

#ifdef __cplusplus
}
#endif
#endif
