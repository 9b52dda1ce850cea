/*
 * part.h: arguments of ops on rows by index, on one rank's part of a table of rows, and of the ops
 * that combine softmax from its parts.
 *
 * Include kernel.h, which has the rules for all kernels.
 */
#ifndef HPC_PART_H
#define HPC_PART_H

#include <math.h>

#include "runtime/device/device.h"
#include "runtime/device/kernel/everywhere.h"

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/* This rank holds rows [first, first + own) of a table of `rows`; rows 0: all of it. Indices count
 * over the whole table. gather gives zeros for rows of other ranks; scatter, which has the same two
 * attributes, skips them. own, used by sharding: index and table are split alike, and indices count
 * over the rank's part. */
typedef struct hpc_part_attr { int64_t first, rows; bool own; } hpc_part_attr;
/* y[i...] = x[index[i...]] by rows of x's last extent; a negative index gives zeros; one past the
 * rows of x fails. x may be f16 or a block format (embedding), and [n,k] in panels. */
typedef struct hpc_gather_args { hpc_tensor y, x, index; hpc_part_attr attr; } hpc_gather_args;
/* The reverse: rows of x go to rows index[...] of y; negative: nowhere. ADD: y (zeros, if not
 * adding) += in order of x's rows; SET: the row is replaced, the rest of y stays (y is INOUT).
 * rows (i32, optional): a scalar, the live rows of a new y; others are not written. */
typedef enum hpc_scatter_mode { HPC_SCATTER_ADD, HPC_SCATTER_SET } hpc_scatter_mode;
typedef struct hpc_scatter_attr { int mode; int64_t rows, first; bool own; } hpc_scatter_attr;
typedef struct hpc_scatter_args {
    hpc_tensor y, x, index, rows; hpc_scatter_attr attr;
} hpc_scatter_args;

/* Rows are vocabulary entries of a head. Gradients use the lse of all rows; dx has the terms of
 * this rank's rows only. part, for head_loss: lse is that of this rank's rows only, and `loss` is
 * the logit of the target, 0 if the target is negative or in other rows. cap > 0: logits are
 * cap tanh(x.w / cap); gradients then need lse. */
typedef struct hpc_head_attr { int64_t first, rows; bool part; double cap; } hpc_head_attr;

/* EXP: y = exp(a - b), 0 where b is -inf. LOG: y = b + log(a), b where a is 0. LESS: y = a - b, 0
 * where `target` (i32, optional) is negative. All have the same shape; f32 (f64). */
typedef enum hpc_soft_kind { HPC_SOFT_EXP, HPC_SOFT_LOG, HPC_SOFT_LESS } hpc_soft_kind;
typedef struct hpc_soft_attr { int kind; } hpc_soft_attr;
typedef struct hpc_soft_args { hpc_tensor y, a, b, target; hpc_soft_attr attr; } hpc_soft_args;
/* clang-format on */

HPC_EVERYWHERE static inline double hpc_soft(int kind, double a, double b)
{
    if (kind == HPC_SOFT_EXP) return b == -INFINITY ? 0 : exp(a - b);
    if (kind == HPC_SOFT_LOG) return a == 0 ? b : b + log(a);
    return a - b;
}

/* Local row of an index into the whole table, among this rank's `own` rows. HPC_PART_NONE:
 * negative; HPC_PART_OTHER: another rank's row; HPC_PART_PAST: past the end of the table. */
enum { HPC_PART_NONE = -1, HPC_PART_OTHER = -2, HPC_PART_PAST = -3 };
HPC_EVERYWHERE static inline int64_t hpc_part_row(int64_t index, int64_t first, int64_t rows,
                                                  int64_t own)
{
    if (index < 0) return HPC_PART_NONE;
    if (index >= (rows ? rows : own)) return HPC_PART_PAST;
    return index >= first && index - first < own ? index - first : (int64_t)HPC_PART_OTHER;
}

#ifdef __cplusplus
}
#endif
#endif
