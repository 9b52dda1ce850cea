/*
 * table.c: the reference as a complete table of kernels, which every backend may use for operations
 * in double.
 */
#include "runtime/device/ref/priv.h"

static int nop_run(const hpc_launch *l, const void *args)
{
    (void)l, (void)args;
    return 0;
}

static int nop(hpc_plan *p, int workers, const hpc_nop_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, nop_run, "ref_nop");
}

const hpc_kernels hpc_ref_kernels = {
    .nop = nop,
    .matmul = hpc_ref_matmul,
    .norm = hpc_ref_norm,
    .norm_grad = hpc_ref_norm_grad,
    .rope = hpc_ref_rope,
    .attention = hpc_ref_attention,
    .attention_grad = hpc_ref_attention_grad,
    .act = hpc_ref_activate,
    .act_grad = hpc_ref_activate_grad,
    .glu = hpc_ref_glu,
    .glu_grad = hpc_ref_glu_grad,
    .head_loss = hpc_ref_head_loss,
    .head_loss_grad = hpc_ref_head_loss_grad,
    .dropout = hpc_ref_dropout,
    .binary = hpc_ref_binary,
    .scale = hpc_ref_scale,
    .copy = hpc_ref_copy,
    .pack = hpc_ref_pack,
    .fill = hpc_ref_fill,
    .gather = hpc_ref_gather,
    .scatter = hpc_ref_scatter,
    .route = hpc_ref_route,
    .gate = hpc_ref_gate,
    .gate_grad = hpc_ref_gate_grad,
    .dispatch = hpc_ref_dispatch,
    .grouped = hpc_ref_grouped,
    .pick = hpc_ref_pick,
    .spread = hpc_ref_spread,
    .reduce = hpc_ref_reduce,
    .sample = hpc_ref_sample,
    .sgd = hpc_ref_sgd,
    .adamw = hpc_ref_adamw,
    .adam = hpc_ref_adam,
    .adam_add = hpc_ref_adam_add,
    .adam_step = hpc_ref_adam_step,
    .apply = hpc_ref_apply,
    .combine = hpc_ref_combine,
    .map = hpc_ref_map,
    .soft = hpc_ref_soft,
    .below = hpc_ref_below,
    .tile = hpc_ref_tile,
    .bundle = hpc_ref_bundle,
    .eigh = hpc_ref_eigh,
    .graph_attend = hpc_ref_graph_attend,
    .graph_attend_source = hpc_ref_graph_attend_source,
    .graph_attend_target = hpc_ref_graph_attend_target,
    .graph_edge = hpc_ref_graph_edge,
    .graph_merge = hpc_ref_graph_merge,
    .graph_reduce = hpc_ref_graph_reduce,
    .graph_scale = hpc_ref_graph_scale,
    .graph_softmax = hpc_ref_graph_softmax,
    .graph_softmax_grad = hpc_ref_graph_softmax_grad,
};
