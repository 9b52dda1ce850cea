/*
 * prune.h: which elements of a model's matrices go on learning, the others being zero for good.
 *
 * Masks are drawn by magnitude, alike on every rank, and are of whole tensors. What is kept of a
 * pruned model's state: step.c, sparse.c.
 */
#ifndef HPC_TRAIN_PRUNE_H
#define HPC_TRAIN_PRUNE_H

#include "train/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_prune_config {
    double sparsity; /* share of elements that become zero, in [0, 1) */
    bool asked;      /* false: nothing is pruned */
    bool each;       /* the share of each matrix, not of all together */
    bool early_bird; /* frozen once successive masks agree; else behind step `after` */
    int64_t after;   /* steps */
    int64_t every;   /* steps from one mask to the next: early_bird */
    double distance; /* what they may differ by, of 0 to 1 */
} hpc_prune_config;
enum { HPC_PRUNE_STAYS = 4 }; /* comparisons on end that find masks agree */

/* HPC_E_ARG, HPC_E_UNSUPPORTED: numbers out of range, an optimizer whose state is not kept picked,
 * ZeRO's stages 2 and 3, adapters. */
int hpc_prune_check(const hpc_prune_config *c, const hpc_optimizer_config *o,
                    const hpc_model_config *m, const hpc_parallel *q);

typedef struct hpc_mask {
    char name[HPC_TENSOR_NAME];
    int64_t n, kept; /* elements */
    uint8_t *bits;   /* element i: bit i % 8 of byte i / 8; NULL: assumed */
} hpc_mask;
struct hpc_masks {
    hpc_mask *mask;
    int64_t mask_n, n, kept; /* masks; elements of all of them */
};

/* Of the matrices of the blocks: no embedding, head, norm or bias. Nothing is kept yet. */
int hpc_masks_create(hpc_masks **out, const hpc_model_config *c);
void hpc_masks_free(hpc_masks *m);
int hpc_masks_copy(hpc_masks **out, const hpc_masks *m);
/* Of n elements so many stay: n - round(sparsity n). */
int64_t hpc_prune_kept(double sparsity, int64_t n);
/* Those of the largest magnitude stay; of equal ones the first, in the table's order. read: a
 * tensor's values, in f32; called several times for each. */
typedef int hpc_masks_read(float *out, const hpc_mask *m, void *user);
int hpc_masks_choose(hpc_masks *m, const hpc_prune_config *c, hpc_masks_read *read, void *user);
/* For plans, without any values: so many elements of each matrix, of which nobody says which they
 * are. All equal parts of a matrix have as many, but the first ones one more if that does not go
 * up. */
int hpc_masks_assume(hpc_masks **out, const hpc_model_config *c, const hpc_prune_config *o);
/* Hamming distance over the most it could be: 0 alike, 1 nothing in common. */
double hpc_masks_distance(const hpc_masks *a, const hpc_masks *b);
const hpc_mask *hpc_masks_find(const hpc_masks *m, const char *name); /* NULL: not pruned */
/* The elements kept, ascending, as a checkpoint has them; and a mask from that: HPC_E_FORMAT. */
void hpc_mask_list(int32_t *out, const hpc_mask *m);
int hpc_mask_set(hpc_mask *m, const int32_t *list, int64_t n);
/* How many of them lie in a rank's part of the tensor, of type `local` out of `whole`, and which,
 * counted within the part; index may be NULL, and must be where the mask is assumed. */
int64_t hpc_mask_part(int32_t *index, const hpc_mask *m, const hpc_type *local,
                      const hpc_type *whole, const hpc_grid_shape *s, const int *coord);

#ifdef __cplusplus
}
#endif
#endif
