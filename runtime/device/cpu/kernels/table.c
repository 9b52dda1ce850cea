/*
 * table.c: the table of kernels of one instruction set.
 */
#include "runtime/device/cpu/kernels/priv.h"

/* Named by whoever looks for a table: cpu/priv.h. */
extern const hpc_kernels HPC_ISA(hpc_cpu_kernels);

const hpc_kernels HPC_ISA(hpc_cpu_kernels) = {
    .nop = HPC_WIDTH(cpu_nop),
    .matmul = HPC_ISA(cpu_matmul),
    .norm = HPC_WIDTH(cpu_norm),
    .norm_grad = HPC_WIDTH(cpu_norm_grad),
    .rope = HPC_WIDTH(cpu_rope),
    .attention = HPC_ISA(cpu_attention),
    .attention_grad = HPC_ISA(cpu_attention_grad),
    .act = HPC_WIDTH(cpu_act),
    .act_grad = HPC_WIDTH(cpu_act_grad),
    .glu = HPC_WIDTH(cpu_glu),
    .glu_grad = HPC_WIDTH(cpu_glu_grad),
    .head_loss = HPC_ISA(cpu_head_loss),
    .head_loss_grad = HPC_ISA(cpu_head_loss_grad),
    .dropout = HPC_WIDTH(cpu_dropout),
    .binary = HPC_WIDTH(cpu_binary),
    .scale = HPC_WIDTH(cpu_scale),
    .copy = HPC_WIDTH(cpu_copy),
    .pack = HPC_WIDTH(cpu_pack),
    .fill = HPC_WIDTH(cpu_fill),
    .gather = HPC_WIDTH(cpu_gather),
    .scatter = HPC_WIDTH(cpu_scatter),
    .route = HPC_WIDTH(cpu_route),
    .pick = HPC_WIDTH(cpu_pick),
    .spread = HPC_WIDTH(cpu_spread),
    .reduce = HPC_WIDTH(cpu_reduce),
    .sgd = HPC_WIDTH(cpu_sgd),
    .adamw = HPC_WIDTH(cpu_adamw),
    .adam = HPC_WIDTH(cpu_adam),
    .apply = HPC_WIDTH(cpu_apply),
    .combine = HPC_WIDTH(cpu_combine),
    .map = HPC_WIDTH(cpu_map),
    .soft = HPC_ISA(cpu_soft),
    .below = HPC_WIDTH(cpu_below),
    .tile = HPC_WIDTH(cpu_tile),
    .bundle = HPC_WIDTH(cpu_bundle),
    .eigh = HPC_WIDTH(cpu_eigh),
    .graph_edge = HPC_WIDTH(cpu_graph_edge),
    .graph_merge = HPC_WIDTH(cpu_graph_merge),
    .graph_reduce = HPC_WIDTH(cpu_graph_reduce),
    .graph_scale = HPC_WIDTH(cpu_graph_scale),
    .graph_softmax = HPC_WIDTH(cpu_graph_softmax),
    .graph_softmax_grad = HPC_WIDTH(cpu_graph_softmax_grad),
};
