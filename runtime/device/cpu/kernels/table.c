/*
 * table.c: the kernels of one instruction set, as a device offers them.
 */
#include "runtime/device/cpu/kernels/priv.h"

/* Named by whoever looks for a table: cpu/priv.h. */
extern const hpc_kernels HPC_ISA(hpc_cpu_kernels);

const hpc_kernels HPC_ISA(hpc_cpu_kernels) = {
    .nop = HPC_ISA(cpu_nop),
    .matmul = HPC_ISA(cpu_matmul),
    .norm = HPC_ISA(cpu_norm),
    .norm_grad = HPC_ISA(cpu_norm_grad),
    .rope = HPC_ISA(cpu_rope),
    .attention = HPC_ISA(cpu_attention),
    .attention_grad = HPC_ISA(cpu_attention_grad),
    .act = HPC_ISA(cpu_act),
    .act_grad = HPC_ISA(cpu_act_grad),
    .glu = HPC_ISA(cpu_glu),
    .glu_grad = HPC_ISA(cpu_glu_grad),
    .head_loss = HPC_ISA(cpu_head_loss),
    .head_loss_grad = HPC_ISA(cpu_head_loss_grad),
    .dropout = HPC_ISA(cpu_dropout),
    .binary = HPC_ISA(cpu_binary),
    .scale = HPC_ISA(cpu_scale),
    .copy = HPC_ISA(cpu_copy),
    .pack = HPC_ISA(cpu_pack),
    .fill = HPC_ISA(cpu_fill),
    .gather = HPC_ISA(cpu_gather),
    .scatter = HPC_ISA(cpu_scatter),
    .route = HPC_ISA(cpu_route),
    .pick = HPC_ISA(cpu_pick),
    .spread = HPC_ISA(cpu_spread),
    .reduce = HPC_ISA(cpu_reduce),
    .sgd = HPC_ISA(cpu_sgd),
    .adamw = HPC_ISA(cpu_adamw),
    .adam = HPC_ISA(cpu_adam),
    .apply = HPC_ISA(cpu_apply),
    .combine = HPC_ISA(cpu_combine),
    .map = HPC_ISA(cpu_map),
    .soft = HPC_ISA(cpu_soft),
    .below = HPC_ISA(cpu_below),
    .tile = HPC_ISA(cpu_tile),
    .bundle = HPC_ISA(cpu_bundle),
    .eigh = HPC_ISA(cpu_eigh),
};
