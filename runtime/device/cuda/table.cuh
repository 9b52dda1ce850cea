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
/* norm.cu, rope.cu, index.cu, reduce.cu, sample.cu */
hpc_cuda_launcher hpc_cuda_norm, hpc_cuda_norm_grad, hpc_cuda_rope;
hpc_cuda_launcher hpc_cuda_gather, hpc_cuda_scatter, hpc_cuda_route, hpc_cuda_pick, hpc_cuda_spread;
hpc_cuda_launcher hpc_cuda_reduce, hpc_cuda_sample;
/* update.cu, matrix.cu */
hpc_cuda_launcher hpc_cuda_sgd, hpc_cuda_adamw, hpc_cuda_adam, hpc_cuda_apply, hpc_cuda_below;
hpc_cuda_launcher hpc_cuda_adam_add, hpc_cuda_adam_step;
/* matmul.cu, matmul_mma.cu, matmul_bytes.cu */
hpc_cuda_launcher hpc_cuda_matmul, hpc_cuda_matmul_i8, hpc_cuda_matmul_mma, hpc_cuda_matmul_bytes;
hpc_cuda_launcher hpc_cuda_pack, hpc_cuda_grouped, hpc_cuda_grouped_mma, hpc_cuda_grouped_bytes;
/* expert.cu, eigh.cu, graph.cu */
hpc_cuda_launcher hpc_cuda_gate, hpc_cuda_gate_grad, hpc_cuda_dispatch, hpc_cuda_eigh;
hpc_cuda_launcher hpc_cuda_graph_reduce, hpc_cuda_graph_edge, hpc_cuda_graph_softmax,
    hpc_cuda_graph_softmax_grad, hpc_cuda_graph_scale, hpc_cuda_graph_merge;
/* graph_attend.cu */
hpc_cuda_launcher hpc_cuda_graph_attend, hpc_cuda_graph_attend_source, hpc_cuda_graph_attend_target;
/* attention.cu, attention_mma.cu, attention_grad.cu, attention_grad_mma.cu */
hpc_cuda_launcher hpc_cuda_attention, hpc_cuda_attention_mma, hpc_cuda_attention_grad,
    hpc_cuda_attention_grad_mma;
/* head.cu */
hpc_cuda_launcher hpc_cuda_head_loss, hpc_cuda_head_loss_grad;
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
        .reduce = hpc_cuda_reduce, .sample = hpc_cuda_sample, .sgd = hpc_cuda_sgd,                 \
        .adamw = hpc_cuda_adamw, .adam = hpc_cuda_adam, .apply = hpc_cuda_apply,                   \
        .below = hpc_cuda_below, .combine = hpc_cuda_combine, .map = hpc_cuda_map,                 \
        .tile = hpc_cuda_tile, .bundle = hpc_cuda_bundle, .adam_add = hpc_cuda_adam_add,           \
        .adam_step = hpc_cuda_adam_step, .matmul = hpc_cuda_matmul,                                \
        .matmul_mma = hpc_cuda_matmul_mma, .matmul_i8 = hpc_cuda_matmul_i8,                        \
        .matmul_bytes = hpc_cuda_matmul_bytes, .pack = hpc_cuda_pack, .grouped = hpc_cuda_grouped, \
        .grouped_mma = hpc_cuda_grouped_mma, .grouped_bytes = hpc_cuda_grouped_bytes,              \
        .gate = hpc_cuda_gate, .gate_grad = hpc_cuda_gate_grad, .dispatch = hpc_cuda_dispatch,     \
        .eigh = hpc_cuda_eigh, .graph_reduce = hpc_cuda_graph_reduce,                              \
        .graph_edge = hpc_cuda_graph_edge, .graph_softmax = hpc_cuda_graph_softmax,                \
        .graph_softmax_grad = hpc_cuda_graph_softmax_grad, .graph_scale = hpc_cuda_graph_scale,    \
        .graph_merge = hpc_cuda_graph_merge, .graph_attend = hpc_cuda_graph_attend,                \
        .graph_attend_source = hpc_cuda_graph_attend_source,                                       \
        .graph_attend_target = hpc_cuda_graph_attend_target, .attention = hpc_cuda_attention,      \
        .attention_mma = hpc_cuda_attention_mma, .attention_grad = hpc_cuda_attention_grad,        \
        .attention_grad_mma = hpc_cuda_attention_grad_mma, .head_loss = hpc_cuda_head_loss,        \
        .head_loss_grad = hpc_cuda_head_loss_grad,                                                 \
    }

#endif
