/*
 * select_attend.c: selectors of attention, of the head with its loss, and of their gradients.
 */
#include "runtime/device/cuda/select.h"

/* ---- attention ------------------------------------------------------------------------------ */

static int check_heads(const hpc_tensor *q)
{
    if (q->extent[2] <= HPC_CUDA_HEAD_MOST) return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED, "attention_cuda takes heads of up to %d elements, not %lld",
                    HPC_CUDA_HEAD_MOST, (long long)q->extent[2]);
}

static int attention_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->attention, args);
}

static int attention_mma_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->attention_mma, args);
}

int cuda_select_attention(hpc_plan *p, int workers, const hpc_attention_args *a)
{
    const bool mma = a->q.dtype == HPC_BF16 && a->k.dtype == HPC_BF16 && a->v.dtype == HPC_BF16;
    int rc;
    (void)workers;
    TRY(check_heads(&a->q));
    TRY(accept(p, mma ? attention_mma_run : attention_run,
               mma ? "attention_mma_cuda" : "attention_cuda",
               (operand[]){{&a->o, "o", REAL},
                           {&a->lse, "lse", F32},
                           {&a->q, "q", REAL},
                           {&a->k, "k", REAL},
                           {&a->v, "v", REAL},
                           {&a->start, "start", INDEX},
                           {&a->len, "len", INDEX},
                           {&a->pages, "pages", INDEX},
                           {0}}));
out:
    return rc;
}

static int attention_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->attention_grad, args);
}

static int attention_grad_mma_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->attention_grad_mma, args);
}

int cuda_select_attention_grad(hpc_plan *p, int workers, const hpc_attention_grad_args *a)
{
    enum { MMA_MOST = 128 }; /* elements of a head: two sums of them are in registers */
    const bool mma = a->q.dtype == HPC_BF16 && a->k.dtype == HPC_BF16 && a->v.dtype == HPC_BF16 &&
                     a->dout.dtype == HPC_BF16 && a->q.extent[2] <= MMA_MOST;
    int rc;
    (void)workers;
    TRY(check_heads(&a->q));
    TRY(accept(p, mma ? attention_grad_mma_run : attention_grad_run,
               mma ? "attention_grad_mma_cuda" : "attention_grad_cuda",
               (operand[]){{&a->dq, "dq", REAL},
                           {&a->dk, "dk", REAL},
                           {&a->dv, "dv", REAL},
                           {&a->dout, "dout", REAL},
                           {&a->q, "q", REAL},
                           {&a->k, "k", REAL},
                           {&a->v, "v", REAL},
                           {&a->o, "o", REAL},
                           {&a->lse, "lse", F32},
                           {&a->start, "start", INDEX},
                           {0}}));
    p->workspace = (size_t)(a->q.extent[0] * a->q.extent[1]) * sizeof(float);
out:
    return rc;
}

/* ---- head and loss -------------------------------------------------------------------------- */

static int head_loss_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->head_loss, args);
}

int cuda_select_head_loss(hpc_plan *p, int workers, const hpc_head_loss_args *a)
{
    int rc;
    (void)workers;
    TRY(accept(p, head_loss_run, "head_loss_cuda",
               (operand[]){{&a->loss, "loss", F32},
                           {&a->lse, "lse", F32},
                           {&a->x, "x", REAL},
                           {&a->w, "w", REAL},
                           {&a->target, "target", INDEX},
                           {0}}));
    p->workspace = hpc_cuda_head_of(a->x.extent[0], a->w.extent[0], false).bytes;
out:
    return rc;
}

static int head_loss_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->head_loss_grad, args);
}

int cuda_select_head_loss_grad(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a)
{
    const bool halves = a->x.dtype == HPC_BF16 && a->w.dtype == HPC_BF16;
    int rc;
    (void)workers;
    TRY(accept(p, head_loss_grad_run, "head_loss_grad_cuda",
               (operand[]){{&a->loss, "loss", F32},
                           {&a->dx, "dx", REAL},
                           {&a->dw, "dw", REAL},
                           {&a->dloss, "dloss", REAL},
                           {&a->lse, "lse", F32},
                           {&a->x, "x", REAL},
                           {&a->w, "w", REAL},
                           {&a->target, "target", INDEX},
                           {0}}));
    p->workspace = hpc_cuda_head_of(a->x.extent[0], a->w.extent[0], halves).bytes;
out:
    return rc;
}
