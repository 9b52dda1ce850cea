/*
 * select.h: what the selectors of CUDA kernels share: types of operands, and the check of them.
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
    PLAIN = WIDE | COUNTER | 1 << HPC_I8
};

typedef struct operand {
    const hpc_tensor *t; /* NULL: the end of a list */
    const char *name;
    int types; /* bits by dtype */
} operand;

/* Plans kernel `run`, if every present operand has one of its types and is not in panels. */
static inline int accept(hpc_plan *p, hpc_kernel *run, const char *name, const operand *o)
{
    char text[96];
    for (; o->t; o++) {
        if (o->t->rank < 0) continue;
        if (o->types >> o->t->dtype & 1 && o->t->pack == HPC_PLAIN) continue;
        const bool block = hpc_dtype_get((hpc_dtype)o->t->dtype)->block > 1;
        return hpc_fail(HPC_E_UNSUPPORTED, "%s does not take %s as its operand %s%s", name,
                        hpc_tensor_text(text, o->t), o->name,
                        block ? "; convert block formats by --weights bf16" : "");
    }
    *p = (hpc_plan){.run = run, .name = name};
    return HPC_OK;
}

static inline const hpc_cuda_launchers *of(const hpc_launch *l)
{
    return &((const hpc_cuda_stream *)l->stream)->library->launch;
}

/* select_attend.c */
int cuda_select_attention(hpc_plan *p, int workers, const hpc_attention_args *a);
int cuda_select_attention_grad(hpc_plan *p, int workers, const hpc_attention_grad_args *a);
int cuda_select_head_loss(hpc_plan *p, int workers, const hpc_head_loss_args *a);
int cuda_select_head_loss_grad(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a);

#endif
