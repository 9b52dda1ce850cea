/*
 * select.h: what the files of selectors share: the lists of operands with the types that kernels
 * take.
 */
#ifndef HPC_CUDA_SELECT_H
#define HPC_CUDA_SELECT_H

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/priv.h"

enum {
    F32 = 1 << HPC_F32,
    REAL = F32 | 1 << HPC_BF16,
    WIDE = REAL | 1 << HPC_F16,
    INDEX = 1 << HPC_I32,
    COUNTER = INDEX | 1 << HPC_I64,
    BYTE = 1 << HPC_I8,
    PLAIN = WIDE | COUNTER | BYTE,
    BLOCKS = (2 << HPC_IQ4_XS) - (1 << HPC_Q8_0), /* plain or in planes */
    PANELS = 1 << 30                              /* also in panels */
};
_Static_assert(HPC_DTYPE_N < 30, "a bit for each type");

typedef struct operand {
    const hpc_tensor *t; /* NULL: the end of a list */
    const char *name;
    int types; /* bits by dtype */
} operand;

static inline bool has_layout(const operand *o)
{
    if (o->t->pack == HPC_PANEL16) return o->types & PANELS;
    return o->t->pack == HPC_PLAIN || hpc_dtype_get((hpc_dtype)o->t->dtype)->quantised;
}

/* Plans kernel `run`, if every present operand has one of its types and layouts. */
static inline int accept(hpc_plan *p, hpc_kernel *run, const char *name, const operand *o)
{
    char text[96];
    for (; o->t; o++) {
        if (o->t->rank < 0) continue;
        if (o->types >> o->t->dtype & 1 && has_layout(o)) continue;
        return hpc_fail(HPC_E_UNSUPPORTED, "%s does not take %s as its operand %s", name,
                        hpc_tensor_text(text, o->t), o->name);
    }
    *p = (hpc_plan){.run = run, .name = name};
    return HPC_OK;
}

static inline const hpc_cuda_launchers *of(const hpc_launch *l)
{
    return &((const hpc_cuda_stream *)l->stream)->library->launch;
}

/* ---- selectors of other files ------------------------------------------------------------- */
/* select_update.c */
int cuda_sgd(hpc_plan *p, int workers, const hpc_sgd_args *a);
int cuda_adamw(hpc_plan *p, int workers, const hpc_adamw_args *a);
int cuda_adam(hpc_plan *p, int workers, const hpc_adam_args *a);
int cuda_adam_add(hpc_plan *p, int workers, const hpc_adam_add_args *a);
int cuda_adam_step(hpc_plan *p, int workers, const hpc_adam_step_args *a);
int cuda_apply(hpc_plan *p, int workers, const hpc_apply_args *a);
int cuda_below(hpc_plan *p, int workers, const hpc_below_args *a);
int cuda_combine(hpc_plan *p, int workers, const hpc_combine_args *a);
int cuda_map(hpc_plan *p, int workers, const hpc_map_args *a);
int cuda_tile(hpc_plan *p, int workers, const hpc_tile_args *a);
int cuda_bundle(hpc_plan *p, int workers, const hpc_bundle_args *a);
/* select_graph.c */
int cuda_graph_reduce(hpc_plan *p, int workers, const hpc_graph_reduce_args *a);
int cuda_graph_edge(hpc_plan *p, int workers, const hpc_graph_edge_args *a);
int cuda_graph_softmax(hpc_plan *p, int workers, const hpc_graph_softmax_args *a);
int cuda_graph_softmax_grad(hpc_plan *p, int workers, const hpc_graph_softmax_grad_args *a);
int cuda_graph_attend(hpc_plan *p, int workers, const hpc_graph_attend_args *a);
int cuda_graph_attend_source(hpc_plan *p, int workers, const hpc_graph_attend_source_args *a);
int cuda_graph_attend_target(hpc_plan *p, int workers, const hpc_graph_attend_target_args *a);
int cuda_graph_scale(hpc_plan *p, int workers, const hpc_graph_scale_args *a);
int cuda_graph_merge(hpc_plan *p, int workers, const hpc_graph_merge_args *a);
int cuda_gate(hpc_plan *p, int workers, const hpc_gate_args *a);
int cuda_gate_grad(hpc_plan *p, int workers, const hpc_gate_grad_args *a);
int cuda_dispatch(hpc_plan *p, int workers, const hpc_dispatch_args *a);
int cuda_grouped(hpc_plan *p, int workers, const hpc_grouped_args *a);
int cuda_eigh(hpc_plan *p, int workers, const hpc_eigh_args *a);

#endif
