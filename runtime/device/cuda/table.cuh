/*
 * table.cuh: the launchers, by file, and the table of them that both libraries contain.
 */
#ifndef HPC_CUDA_TABLE_H
#define HPC_CUDA_TABLE_H

#include "runtime/device/cuda/cuda.h"

extern "C" {
/* act.cu */
hpc_cuda_launcher hpc_cuda_act, hpc_cuda_act_grad, hpc_cuda_glu, hpc_cuda_glu_grad;
/* point.cu */
hpc_cuda_launcher hpc_cuda_binary, hpc_cuda_scale, hpc_cuda_copy, hpc_cuda_fill, hpc_cuda_dropout,
    hpc_cuda_soft;
/* norm.cu, rope.cu, index.cu, reduce.cu */
hpc_cuda_launcher hpc_cuda_norm, hpc_cuda_norm_grad, hpc_cuda_rope;
hpc_cuda_launcher hpc_cuda_gather, hpc_cuda_scatter, hpc_cuda_route, hpc_cuda_pick, hpc_cuda_spread;
hpc_cuda_launcher hpc_cuda_reduce;
/* update.cu, matrix.cu */
hpc_cuda_launcher hpc_cuda_sgd, hpc_cuda_adamw, hpc_cuda_adam, hpc_cuda_apply, hpc_cuda_below;
hpc_cuda_launcher hpc_cuda_adam_add, hpc_cuda_adam_step;
/* matmul.cu, matmul_mma.cu */
hpc_cuda_launcher hpc_cuda_matmul, hpc_cuda_matmul_mma;
hpc_cuda_launcher hpc_cuda_combine, hpc_cuda_map, hpc_cuda_tile, hpc_cuda_bundle;
}

/* In the order of hpc_cuda_launchers. */
#define HPC_CUDA_LAUNCHERS                                                                         \
    {                                                                                              \
        .act = hpc_cuda_act, .act_grad = hpc_cuda_act_grad, .glu = hpc_cuda_glu,                   \
        .glu_grad = hpc_cuda_glu_grad, .binary = hpc_cuda_binary, .scale = hpc_cuda_scale,         \
        .copy = hpc_cuda_copy, .fill = hpc_cuda_fill, .dropout = hpc_cuda_dropout,                 \
        .soft = hpc_cuda_soft, .norm = hpc_cuda_norm, .norm_grad = hpc_cuda_norm_grad,             \
        .rope = hpc_cuda_rope, .gather = hpc_cuda_gather, .scatter = hpc_cuda_scatter,             \
        .route = hpc_cuda_route, .pick = hpc_cuda_pick, .spread = hpc_cuda_spread,                 \
        .reduce = hpc_cuda_reduce, .sgd = hpc_cuda_sgd, .adamw = hpc_cuda_adamw,                   \
        .adam = hpc_cuda_adam, .apply = hpc_cuda_apply, .below = hpc_cuda_below,                   \
        .combine = hpc_cuda_combine, .map = hpc_cuda_map, .tile = hpc_cuda_tile,                   \
        .bundle = hpc_cuda_bundle, .adam_add = hpc_cuda_adam_add, .adam_step = hpc_cuda_adam_step, \
        .matmul = hpc_cuda_matmul, .matmul_mma = hpc_cuda_matmul_mma,                              \
    }

#endif
