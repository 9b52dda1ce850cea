/*
 * update.h: arguments of the optimizers' ops. Whole updates: sgd, adamw. The two parts of an
 * update: adam, apply. Its accumulation: adam_add, adam_step. Second-order methods on batches of
 * small matrices: combine, map, below, tile, bundle, eigh. Trained elements of a pruned model:
 * pick, spread.
 *
 * Include kernel.h, which has the rules for all kernels.
 */
#ifndef HPC_UPDATE_H
#define HPC_UPDATE_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
typedef struct hpc_no_attr { char unused; } hpc_no_attr; /* of ops that have no attributes */

/* mom = momentum mom + grad + decay param; param -= lr (nesterov ? grad' + momentum mom : mom),
 * grad' = grad + decay param. lr: f32 (f64) device scalar. All f32 (f64) but grad. */
typedef struct hpc_sgd_attr { double momentum, decay; bool nesterov; } hpc_sgd_attr;
typedef struct hpc_sgd_args { hpc_tensor param, mom, grad, lr; hpc_sgd_attr attr; } hpc_sgd_args;
/* As torch.optim.AdamW; step (i32) counts from 1; grad is multiplied by clip (optional scalar);
 * half (optional): a bf16 copy of the new param. */
typedef struct hpc_adamw_attr { double beta1, beta2, eps, decay; } hpc_adamw_attr;
typedef struct hpc_adamw_args {
    hpc_tensor param, m, v, half, grad, lr, step, clip;
    hpc_adamw_attr attr;
} hpc_adamw_args;

/* AdamW's direction, for apply: u = (t / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + eps).
 * v is updated like adamw's. t is m, updated like adamw's, or the given `top`: exactly one of
 * the two is present. grad is multiplied by clip (optional scalar); step (i32) counts from 1;
 * decay is unused here, apply uses it. All f32 (f64) except grad and top. u INPLACE grad, top. */
typedef struct hpc_adam_args {
    hpc_tensor u, m, v, grad, top, step, clip;
    hpc_adamw_attr attr;
} hpc_adam_args;
/* param = (1 - lr decay) param - lr alpha by dir;  by (optional): a device scalar, or for a batch
 * of matrices one number for each, [batch]; half (optional): a bf16 copy of the new param. All f32
 * (f64) but dir. adam, then apply with alpha 1, is adamw. */
typedef struct hpc_apply_attr { double alpha, decay; } hpc_apply_attr;
typedef struct hpc_apply_args {
    hpc_tensor param, half, dir, lr, by;
    hpc_apply_attr attr;
} hpc_apply_args;

/* m = keep[0] m + (1 - beta1) g, v = keep[1] v + (1 - beta2) g^2, g = clip grad (clip: optional
 * scalar). keep [2], f32 (f64): the betas for the first gradient of a step, and 1 for the others.
 * y = grad^2, without clip. With the betas, m and v are adamw's bits. All f32 (f64) but grad.
 * y INPLACE grad. */
typedef struct hpc_adam_add_attr { double beta1, beta2; } hpc_adam_add_attr;
typedef struct hpc_adam_add_args {
    hpc_tensor y, m, v, grad, keep, clip;
    hpc_adam_add_attr attr;
} hpc_adam_add_args;
/* AdamW's update of param from m and v, which adam_add has computed: adamw's bits. step (i32)
 * counts from 1; half (optional): a bf16 copy of the new param. All f32 (f64) but half. */
typedef struct hpc_adam_step_args {
    hpc_tensor param, half, m, v, lr, step;
    hpc_adamw_attr attr;
} hpc_adam_step_args;

/* y = a0 s0 I + a1 s1 x1 + a2 s2 x2, or x2^T if trans, for matrices [m,n] or batches [batch,m,n].
 * They are square unless a0 is 0; if a0 is 0 and trans is false, tensors of any shape.
 * The term of an absent x1 or x2 is 0. s0, s1, s2 (f32 or f64; absent: 1): a scalar, or for a batch
 * one number for each matrix, [batch]. y INPLACE x1 (and never x2). */
typedef struct hpc_combine_attr { double a0, a1, a2; bool trans; } hpc_combine_attr;
typedef struct hpc_combine_args {
    hpc_tensor y, x1, x2, s0, s1, s2;
    hpc_combine_attr attr;
} hpc_combine_args;
/* y = alpha x^power + beta (C's pow: NaN for a fractional power of x < 0), then clamped to [lo,
 * hi] unless both are 0; NaN stays NaN. If `guarded`, y = other where x is 0 or not finite.
 * Computed in f64, one element at a time: for scalars of blocks and norms, not for long tensors.
 * INPLACE x. */
typedef struct hpc_map_attr {
    double alpha, power, beta, lo, hi, other;
    bool guarded;
} hpc_map_attr;
typedef struct hpc_map_args { hpc_tensor y, x; hpc_map_attr attr; } hpc_map_args;
/* ok (i32) = 1 if x is finite and at most `limit` (optional), else 0; all are scalars. With a NaN
 * limit, ok is 0. Used as a guard of instructions that must not run on invalid numbers. */
typedef struct hpc_below_args { hpc_tensor ok, x, limit; hpc_no_attr attr; } hpc_below_args;
/* y [blocks,rows,cols] = the blocks of x [m,n], which rows, cols divide, one row of blocks after
 * the other; of a batch [batch,m,n], matrix by matrix. inverse: y [m,n], or [batch,m,n] if batch is
 * not 0, from x [blocks,rows,cols]; only then batch, m, n are read. */
typedef struct hpc_tile_attr {
    int64_t rows, cols, m, n;
    bool inverse;
    int64_t batch;
} hpc_tile_attr;
typedef struct hpc_tile_args { hpc_tensor y, x; hpc_tile_attr attr; } hpc_tile_args;
/* y [n] = the elements of all x: each is divided into `parts` equal parts, and y has the first part
 * of all, then the second, and so on. All have the same dtype. Present x precede absent ones. */
#define HPC_BUNDLE_MAX 11
typedef struct hpc_bundle_attr { int64_t parts; } hpc_bundle_attr;
typedef struct hpc_bundle_args {
    hpc_tensor y, x[HPC_BUNDLE_MAX];
    hpc_bundle_attr attr;
} hpc_bundle_args;
/* Eigendecomposition of each symmetric matrix of x [batch,n,n] or [n,n]; only the lower triangle
 * is read. values [batch,n]: the eigenvalues, ascending. vectors [batch,n,n]: the eigenvectors
 * as ROWS of V. Both f32 (f64). |x V' - V' D| <= 1e-5 |x| and |V V' - I| <= 1e-5, Frobenius
 * (f64: 1e-12). The first element of a row that is within 0.1% of the row's largest is positive.
 * A matrix that is not finite gives NaN for all its results and does not affect other matrices. */
typedef struct hpc_eigh_args { hpc_tensor values, vectors, x; hpc_no_attr attr; } hpc_eigh_args;

/* y[i] = x[index[i]], with x as a flat array; a negative index gives 0, one past the end fails.
 * y, index [n]. y ACC. `layout`, used by sharding, is that of x by axis. */
enum { HPC_PICK_AXES = 8 };
typedef struct hpc_pick_attr { int8_t layout[HPC_PICK_AXES]; } hpc_pick_attr;
typedef struct hpc_pick_args { hpc_tensor y, x, index; hpc_pick_attr attr; } hpc_pick_args;
/* The inverse of pick: y is zero, except y[index[i]] = x[i]. The index ascends; negative
 * entries, which come last, are ignored. A new y is [m,n]; `layout` is that of y. */
typedef struct hpc_spread_attr {
    int64_t m, n;
    int8_t layout[HPC_PICK_AXES];
} hpc_spread_attr;
typedef struct hpc_spread_args { hpc_tensor y, x, index; hpc_spread_attr attr; } hpc_spread_args;
/* clang-format on */

#ifdef __cplusplus
}
#endif
#endif
