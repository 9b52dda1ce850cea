/*
 * select_graph.c: selectors of ops on graphs, of mixtures of experts and of eigendecomposition.
 */
#include "runtime/device/cuda/select.h"

/* ---- graphs --------------------------------------------------------------------------------- */

static int graph_reduce_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_reduce, args);
}

int cuda_graph_reduce(hpc_plan *p, int workers, const hpc_graph_reduce_args *a)
{
    (void)workers;
    return accept(p, graph_reduce_run, "graph_reduce_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->arg, "arg", INDEX},
                              {&a->x, "x", REAL},
                              {&a->w, "w", REAL},
                              {&a->start, "start", INDEX},
                              {&a->index, "index", INDEX},
                              {&a->edge, "edge", INDEX},
                              {&a->pick, "pick", INDEX},
                              {0}});
}

static int graph_edge_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_edge, args);
}

int cuda_graph_edge(hpc_plan *p, int workers, const hpc_graph_edge_args *a)
{
    (void)workers;
    return accept(p, graph_edge_run, "graph_edge_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->a, "a", REAL},
                              {&a->b, "b", REAL},
                              {&a->start, "start", INDEX},
                              {&a->index, "index", INDEX},
                              {&a->pick, "pick", INDEX},
                              {0}});
}

static int graph_softmax_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_softmax, args);
}

int cuda_graph_softmax(hpc_plan *p, int workers, const hpc_graph_softmax_args *a)
{
    (void)workers;
    return accept(p, graph_softmax_run, "graph_softmax_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->lse, "lse", F32},
                              {&a->x, "x", REAL},
                              {&a->start, "start", INDEX},
                              {0}});
}

static int graph_softmax_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_softmax_grad, args);
}

int cuda_graph_softmax_grad(hpc_plan *p, int workers, const hpc_graph_softmax_grad_args *a)
{
    (void)workers;
    return accept(p, graph_softmax_grad_run, "graph_softmax_grad_cuda",
                  (operand[]){{&a->dx, "dx", REAL},
                              {&a->dy, "dy", REAL},
                              {&a->y, "y", REAL},
                              {&a->start, "start", INDEX},
                              {0}});
}

static int graph_scale_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_scale, args);
}

int cuda_graph_scale(hpc_plan *p, int workers, const hpc_graph_scale_args *a)
{
    (void)workers;
    return accept(
        p, graph_scale_run, "graph_scale_cuda",
        (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {&a->start, "start", INDEX}, {0}});
}

static int graph_merge_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_merge, args);
}

int cuda_graph_merge(hpc_plan *p, int workers, const hpc_graph_merge_args *a)
{
    (void)workers;
    return accept(p, graph_merge_run, "graph_merge_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->lse, "lse", F32},
                              {&a->x, "x", REAL},
                              {&a->more, "more", F32},
                              {0}});
}

static int graph_attend_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_attend, args);
}

int cuda_graph_attend(hpc_plan *p, int workers, const hpc_graph_attend_args *a)
{
    (void)workers;
    return accept(p, graph_attend_run, "graph_attend_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->lse, "lse", F32},
                              {&a->x, "x", REAL},
                              {&a->target, "target", REAL},
                              {&a->source, "source", REAL},
                              {&a->start, "start", INDEX},
                              {&a->index, "index", INDEX},
                              {0}});
}

static int graph_attend_target_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_attend_target, args);
}

int cuda_graph_attend_target(hpc_plan *p, int workers, const hpc_graph_attend_target_args *a)
{
    (void)workers;
    return accept(p, graph_attend_target_run, "graph_attend_target_cuda",
                  (operand[]){{&a->dtarget, "dtarget", REAL},
                              {&a->delta, "delta", F32},
                              {&a->dy, "dy", REAL},
                              {&a->x, "x", REAL},
                              {&a->target, "target", REAL},
                              {&a->source, "source", REAL},
                              {&a->lse, "lse", F32},
                              {&a->start, "start", INDEX},
                              {&a->index, "index", INDEX},
                              {0}});
}

static int graph_attend_source_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->graph_attend_source, args);
}

int cuda_graph_attend_source(hpc_plan *p, int workers, const hpc_graph_attend_source_args *a)
{
    (void)workers;
    return accept(p, graph_attend_source_run, "graph_attend_source_cuda",
                  (operand[]){{&a->dsource, "dsource", REAL},
                              {&a->dx, "dx", REAL},
                              {&a->x, "x", REAL},
                              {&a->dy, "dy", REAL},
                              {&a->target, "target", REAL},
                              {&a->source, "source", REAL},
                              {&a->lse, "lse", F32},
                              {&a->delta, "delta", F32},
                              {&a->back_start, "back_start", INDEX},
                              {&a->back_index, "back_index", INDEX},
                              {0}});
}

/* ---- experts --------------------------------------------------------------------------------- */

static int gate_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->gate, args);
}

int cuda_gate(hpc_plan *p, int workers, const hpc_gate_args *a)
{
    (void)workers;
    return accept(p, gate_run, "gate_cuda",
                  (operand[]){{&a->weight, "weight", F32},
                              {&a->expert, "expert", INDEX},
                              {&a->prob, "prob", F32},
                              {&a->lse, "lse", F32},
                              {&a->logits, "logits", REAL},
                              {&a->bias, "bias", REAL},
                              {&a->anneal, "anneal", REAL},
                              {&a->step, "step", COUNTER},
                              {&a->base, "base", COUNTER},
                              {0}});
}

static int gate_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->gate_grad, args);
}

int cuda_gate_grad(hpc_plan *p, int workers, const hpc_gate_grad_args *a)
{
    (void)workers;
    return accept(p, gate_grad_run, "gate_grad_cuda",
                  (operand[]){{&a->dlogits, "dlogits", REAL},
                              {&a->dweight, "dweight", F32},
                              {&a->dprob, "dprob", F32},
                              {&a->dlse, "dlse", F32},
                              {&a->logits, "logits", REAL},
                              {&a->expert, "expert", INDEX},
                              {&a->anneal, "anneal", REAL},
                              {&a->step, "step", COUNTER},
                              {&a->base, "base", COUNTER},
                              {0}});
}

static int dispatch_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->dispatch, args);
}

int cuda_dispatch(hpc_plan *p, int workers, const hpc_dispatch_args *a)
{
    (void)workers;
    int rc = accept(p, dispatch_run, "dispatch_cuda",
                    (operand[]){{&a->slot, "slot", INDEX},
                                {&a->token, "token", INDEX},
                                {&a->group, "group", INDEX},
                                {&a->start, "start", INDEX},
                                {&a->rows, "rows", INDEX},
                                {&a->dropped, "dropped", F32},
                                {&a->load, "load", F32},
                                {&a->expert, "expert", INDEX},
                                {0}});
    p->workspace = (size_t)a->attr.experts * sizeof(int32_t);
    return rc;
}

static int grouped_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->grouped, args);
}

static int grouped_mma_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->grouped_mma, args);
}

static int grouped_bytes_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->grouped_bytes, args);
}

int cuda_grouped(hpc_plan *p, int workers, const hpc_grouped_args *a)
{
    const bool both = a->a.dtype == HPC_BF16 && a->b.dtype == HPC_BF16;
    const bool mma = a->attr.halves || both, bytes = a->attr.int8;
    const int types = bytes ? BLOCKS : mma ? REAL | PANELS : WIDE | PANELS;
    (void)workers;
    int rc = accept(p,
                    bytes ? grouped_bytes_run
                    : mma ? grouped_mma_run
                          : grouped_run,
                    bytes ? "grouped_bytes_cuda"
                    : mma ? "grouped_mma_cuda"
                          : "grouped_cuda",
                    (operand[]){{&a->y, "y", REAL},
                                {&a->a, "a", REAL},
                                {&a->b, "b", types},
                                {&a->start, "start", INDEX},
                                {0}});
    if (bytes) p->workspace = hpc_cuda_rounded(hpc_tensor_n(&a->a));
    return rc;
}

/* ---- matrices -------------------------------------------------------------------------------- */

static int eigh_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->eigh, args);
}

int cuda_eigh(hpc_plan *p, int workers, const hpc_eigh_args *a)
{
    (void)workers;
    int rc = accept(
        p, eigh_run, "eigh_cuda",
        (operand[]){
            {&a->values, "values", F32}, {&a->vectors, "vectors", F32}, {&a->x, "x", REAL}, {0}});
    p->workspace = 2 * (size_t)hpc_tensor_n(&a->x) * sizeof(double);
    return rc;
}
