/*
 * table.c: the op table, and the error messages of shape rules. The entries are in the files of
 * their families.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/program/op/priv.h"

const hpc_op *const hpc_op_table[] = {
    &hpc_op_nop,
    &hpc_op_view,
    &hpc_op_matmul,
    &hpc_op_pack,
    &hpc_op_norm,
    &hpc_op_norm_grad,
    &hpc_op_rope,
    &hpc_op_attention,
    &hpc_op_attention_grad,
    &hpc_op_act,
    &hpc_op_act_grad,
    &hpc_op_glu,
    &hpc_op_glu_grad,
    &hpc_op_head_loss,
    &hpc_op_head_loss_grad,
    &hpc_op_soft,
    &hpc_op_dropout,
    &hpc_op_binary,
    &hpc_op_scale,
    &hpc_op_copy,
    &hpc_op_fetch,
    &hpc_op_stow,
    &hpc_op_fill,
    &hpc_op_gather,
    &hpc_op_scatter,
    &hpc_op_route,
    &hpc_op_gate,
    &hpc_op_gate_grad,
    &hpc_op_dispatch,
    &hpc_op_grouped,
    &hpc_op_pick,
    &hpc_op_spread,
    &hpc_op_reduce,
    &hpc_op_sample,
    &hpc_op_sgd,
    &hpc_op_adamw,
    &hpc_op_adam,
    &hpc_op_adam_add,
    &hpc_op_adam_step,
    &hpc_op_apply,
    &hpc_op_combine,
    &hpc_op_map,
    &hpc_op_below,
    &hpc_op_tile,
    &hpc_op_bundle,
    &hpc_op_eigh,
    &hpc_op_graph_attend,
    &hpc_op_graph_attend_source,
    &hpc_op_graph_attend_target,
    &hpc_op_graph_edge,
    &hpc_op_graph_merge,
    &hpc_op_graph_reduce,
    &hpc_op_graph_scale,
    &hpc_op_graph_softmax,
    &hpc_op_graph_softmax_grad,
    &hpc_op_all_reduce,
    &hpc_op_all_gather,
    &hpc_op_reduce_scatter,
    &hpc_op_all_to_all,
    &hpc_op_broadcast,
    &hpc_op_send,
    &hpc_op_recv,
    &hpc_op_exchange_plan,
    &hpc_op_exchange,
    &hpc_op_admit,
    NULL,
};

const hpc_op *hpc_op_find(const char *name)
{
    for (const hpc_op *const *op = hpc_op_table; *op; op++)
        if (strcmp((*op)->sig.name, name) == 0) return *op;
    return NULL;
}

bool hpc_type_same_shape(const hpc_type *a, const hpc_type *b)
{
    if (a->rank != b->rank || a->ragged != b->ragged) return false;
    if (a->ragged >= 0 && a->count != b->count) return false;
    for (int d = 0; d < a->rank; d++)
        if (a->extent[d] != b->extent[d]) return false;
    return true;
}

int hpc_misfit(const hpc_insn *i, const hpc_type *type, int a, int b, const char *why, ...)
{
    char text_a[128], text_b[128], reason[200];
    va_list list;
    va_start(list, why);
    vsnprintf(reason, sizeof reason, why, list);
    va_end(list);
    hpc_type_text(text_a, &type[a]);
    const char *name_a = i->op->sig.operand[a].name;
    if (b < 0) return hpc_fail(HPC_E_SHAPE, "%s is %s: %s", name_a, text_a, reason);
    return hpc_fail(HPC_E_SHAPE, "%s is %s and %s is %s: %s", name_a, text_a,
                    i->op->sig.operand[b].name, hpc_type_text(text_b, &type[b]), reason);
}
