/*
 * select.c: the table of CUDA kernels: for each op, the operands that its kernels take. They are in
 * the file of the op's family (*.cu).
 */
#include "runtime/device/cuda/select.h"

/* ---- element-wise ops -------------------------------------------------------------------------
 */

static int act_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->act, args);
}

static int act(hpc_plan *p, int workers, const hpc_act_args *a)
{
    (void)workers;
    return accept(p, act_run, "act_cuda", (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {0}});
}

static int act_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->act_grad, args);
}

static int act_grad(hpc_plan *p, int workers, const hpc_act_grad_args *a)
{
    (void)workers;
    return accept(p, act_grad_run, "act_grad_cuda",
                  (operand[]){{&a->dx, "dx", REAL}, {&a->dy, "dy", REAL}, {&a->x, "x", REAL}, {0}});
}

static int glu_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->glu, args);
}

static int glu(hpc_plan *p, int workers, const hpc_glu_args *a)
{
    (void)workers;
    return accept(
        p, glu_run, "glu_cuda",
        (operand[]){{&a->y, "y", REAL}, {&a->gate, "gate", REAL}, {&a->up, "up", REAL}, {0}});
}

static int glu_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->glu_grad, args);
}

static int glu_grad(hpc_plan *p, int workers, const hpc_glu_grad_args *a)
{
    (void)workers;
    return accept(p, glu_grad_run, "glu_grad_cuda",
                  (operand[]){{&a->dgate, "dgate", REAL},
                              {&a->dup, "dup", REAL},
                              {&a->dy, "dy", REAL},
                              {&a->gate, "gate", REAL},
                              {&a->up, "up", REAL},
                              {0}});
}

static int binary_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->binary, args);
}

static int binary(hpc_plan *p, int workers, const hpc_binary_args *a)
{
    (void)workers;
    return accept(p, binary_run, "binary_cuda",
                  (operand[]){{&a->y, "y", REAL}, {&a->a, "a", REAL}, {&a->b, "b", REAL}, {0}});
}

static int scale_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->scale, args);
}

static int scale(hpc_plan *p, int workers, const hpc_scale_args *a)
{
    (void)workers;
    return accept(p, scale_run, "scale_cuda",
                  (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {&a->by, "by", REAL}, {0}});
}

static int copy_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->copy, args);
}

static int copy(hpc_plan *p, int workers, const hpc_copy_args *a)
{
    (void)workers;
    const int from = a->y.dtype == a->x.dtype ? PLAIN : WIDE | BLOCKS;
    return accept(p, copy_run, "copy_cuda",
                  (operand[]){{&a->y, "y", PLAIN}, {&a->x, "x", from}, {0}});
}

static int fill_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->fill, args);
}

static int fill(hpc_plan *p, int workers, const hpc_fill_args *a)
{
    (void)workers;
    return accept(p, fill_run, "fill_cuda", (operand[]){{&a->y, "y", PLAIN}, {0}});
}

static int dropout_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->dropout, args);
}

static int dropout(hpc_plan *p, int workers, const hpc_dropout_args *a)
{
    (void)workers;
    return accept(p, dropout_run, "dropout_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->x, "x", REAL},
                              {&a->step, "step", COUNTER},
                              {&a->base, "base", COUNTER},
                              {0}});
}

static int soft_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->soft, args);
}

static int soft(hpc_plan *p, int workers, const hpc_soft_args *a)
{
    (void)workers;
    return accept(p, soft_run, "soft_cuda",
                  (operand[]){{&a->y, "y", F32},
                              {&a->a, "a", F32},
                              {&a->b, "b", F32},
                              {&a->target, "target", INDEX},
                              {0}});
}

static int nop_run(const hpc_launch *l, const void *args)
{
    (void)l, (void)args;
    return HPC_OK;
}

static int nop(hpc_plan *p, int workers, const hpc_nop_args *a)
{
    (void)workers, (void)a;
    return accept(p, nop_run, "nop_cuda", (operand[]){{0}});
}

/* ---- rows
 * ---------------------------------------------------------------------------------------- */

static int norm_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->norm, args);
}

static int norm(hpc_plan *p, int workers, const hpc_norm_args *a)
{
    (void)workers;
    return accept(p, norm_run, "norm_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->stats, "stats", F32},
                              {&a->x, "x", REAL},
                              {&a->w, "w", REAL},
                              {&a->b, "b", REAL},
                              {0}});
}

static int norm_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->norm_grad, args);
}

static int norm_grad(hpc_plan *p, int workers, const hpc_norm_grad_args *a)
{
    (void)workers;
    int rc = accept(p, norm_grad_run, "norm_grad_cuda",
                    (operand[]){{&a->dx, "dx", REAL},
                                {&a->dw, "dw", REAL},
                                {&a->db, "db", REAL},
                                {&a->dy, "dy", REAL},
                                {&a->x, "x", REAL},
                                {&a->stats, "stats", F32},
                                {&a->w, "w", REAL},
                                {0}});
    if (rc < 0) return rc;
    const int64_t rows = hpc_tensor_rows(&a->x), chunk = hpc_cuda_chunk(rows);
    p->workspace =
        (size_t)((rows + chunk - 1) / chunk * 2 * hpc_tensor_cols(&a->x)) * sizeof(float);
    return HPC_OK;
}

static int rope_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->rope, args);
}

static int rope(hpc_plan *p, int workers, const hpc_rope_args *a)
{
    (void)workers;
    return accept(p, rope_run, "rope_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->x, "x", REAL},
                              {&a->pos, "pos", INDEX},
                              {&a->freq, "freq", F32},
                              {0}});
}

static int gather_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->gather, args);
}

static int gather(hpc_plan *p, int workers, const hpc_gather_args *a)
{
    (void)workers;
    return accept(
        p, gather_run, "gather_cuda",
        (operand[]){
            {&a->y, "y", REAL}, {&a->x, "x", WIDE | BLOCKS}, {&a->index, "index", COUNTER}, {0}});
}

static int scatter_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->scatter, args);
}

static int scatter(hpc_plan *p, int workers, const hpc_scatter_args *a)
{
    (void)workers;
    return accept(
        p, scatter_run, "scatter_cuda",
        (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {&a->index, "index", COUNTER}, {0}});
}

static int route_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->route, args);
}

static int route(hpc_plan *p, int workers, const hpc_route_args *a)
{
    (void)workers;
    return accept(p, route_run, "route_cuda",
                  (operand[]){{&a->index, "index", INDEX},
                              {&a->count, "count", INDEX},
                              {&a->group, "group", COUNTER},
                              {0}});
}

static int pick_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->pick, args);
}

static int pick(hpc_plan *p, int workers, const hpc_pick_args *a)
{
    (void)workers;
    return accept(
        p, pick_run, "pick_cuda",
        (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {&a->index, "index", COUNTER}, {0}});
}

static int spread_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->spread, args);
}

static int spread(hpc_plan *p, int workers, const hpc_spread_args *a)
{
    (void)workers;
    return accept(
        p, spread_run, "spread_cuda",
        (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {&a->index, "index", COUNTER}, {0}});
}

static int reduce_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->reduce, args);
}

static int reduce(hpc_plan *p, int workers, const hpc_reduce_args *a)
{
    (void)workers;
    int rc = accept(p, reduce_run, "reduce_cuda",
                    (operand[]){{&a->y, "y", REAL | INDEX}, {&a->x, "x", REAL}, {0}});
    if (rc < 0) return rc;
    const int64_t rows = hpc_tensor_rows(&a->x), cols = hpc_tensor_cols(&a->x);
    const bool all = a->attr.over == HPC_OVER_ALL;
    const int64_t n = all ? rows * cols : rows, chunk = hpc_cuda_chunk(n);
    if (a->attr.over != HPC_OVER_COLS)
        p->workspace = (size_t)((n + chunk - 1) / chunk * (all ? 1 : cols)) * sizeof(double);
    return HPC_OK;
}

static int sample_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->sample, args);
}

static int sample(hpc_plan *p, int workers, const hpc_sample_args *a)
{
    (void)workers;
    return accept(p, sample_run, "sample_cuda",
                  (operand[]){{&a->token, "token", INDEX},
                              {&a->logprob, "logprob", F32},
                              {&a->logits, "logits", F32},
                              {&a->how, "how", 1 << HPC_I64},
                              {0}});
}

/* ---- products
 * --------------------------------------------------------------------------------------- */

static int matmul_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->matmul, args);
}

static int matmul_mma_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->matmul_mma, args);
}

static int matmul_i8_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->matmul_i8, args);
}

static int matmul_bytes_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->matmul_bytes, args);
}

/* An accepted plan that cuBLASLt may take (lt.cuh). */
static int multiplies(hpc_plan *p, int rc)
{
    if (rc >= 0) p->multiplies = true;
    return rc;
}

/* Rows rounded to 8 bits, with a scale and a sum for each unit of 32. */
static int matmul_bytes(hpc_plan *p, const hpc_matmul_args *a)
{
    int rc = accept(p, matmul_bytes_run, "matmul_bytes_cuda",
                    (operand[]){{&a->y, "y", REAL},
                                {&a->pre, "pre", REAL},
                                {&a->a, "a", REAL},
                                {&a->b, "b", BLOCKS},
                                {&a->bias, "bias", REAL},
                                {&a->residual, "residual", REAL},
                                {0}});
    p->workspace = hpc_cuda_rounded(hpc_tensor_n(&a->a));
    return rc;
}

static int matmul(hpc_plan *p, int workers, const hpc_matmul_args *a)
{
    const bool both = a->a.dtype == HPC_BF16 && a->b.dtype == HPC_BF16;
    const bool blocks = hpc_dtype_get((hpc_dtype)a->b.dtype)->quantised;
    const bool mma = (a->attr.halves || both) && !blocks;
    (void)workers;
    if (a->attr.int8) return matmul_bytes(p, a);
    if (a->a.dtype == HPC_I8)
        return multiplies(
            p,
            accept(p, matmul_i8_run, "matmul_i8_cuda",
                   (operand[]){{&a->y, "y", INDEX}, {&a->a, "a", BYTE}, {&a->b, "b", BYTE}, {0}}));
    return multiplies(p, accept(p, mma ? matmul_mma_run : matmul_run,
                                mma ? "matmul_mma_cuda" : "matmul_cuda",
                                (operand[]){{&a->y, "y", REAL},
                                            {&a->pre, "pre", REAL},
                                            {&a->a, "a", REAL},
                                            {&a->b, "b", (mma ? REAL : WIDE | BLOCKS) | PANELS},
                                            {&a->bias, "bias", REAL},
                                            {&a->residual, "residual", REAL},
                                            {0}}));
}

static int pack_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->pack, args);
}

static int pack(hpc_plan *p, int workers, const hpc_pack_args *a)
{
    (void)workers;
    return accept(p, pack_run, "pack_cuda",
                  (operand[]){{&a->y, "y", WIDE | PANELS}, {&a->x, "x", WIDE}, {0}});
}

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

static int attention(hpc_plan *p, int workers, const hpc_attention_args *a)
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
    p->workspace = hpc_cuda_parts_of(a).bytes;
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

static int attention_grad(hpc_plan *p, int workers, const hpc_attention_grad_args *a)
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

static int head_loss(hpc_plan *p, int workers, const hpc_head_loss_args *a)
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
    return multiplies(p, rc);
}

static int head_loss_grad_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->head_loss_grad, args);
}

static int head_loss_grad(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a)
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
    return multiplies(p, rc);
}

const hpc_kernels hpc_cuda_kernels = {
    .nop = nop,
    .act = act,
    .act_grad = act_grad,
    .glu = glu,
    .glu_grad = glu_grad,
    .soft = soft,
    .dropout = dropout,
    .binary = binary,
    .scale = scale,
    .copy = copy,
    .fill = fill,
    .norm = norm,
    .norm_grad = norm_grad,
    .rope = rope,
    .gather = gather,
    .scatter = scatter,
    .route = route,
    .pick = pick,
    .spread = spread,
    .reduce = reduce,
    .sample = sample,
    .sgd = cuda_sgd,
    .adamw = cuda_adamw,
    .adam = cuda_adam,
    .adam_add = cuda_adam_add,
    .adam_step = cuda_adam_step,
    .apply = cuda_apply,
    .below = cuda_below,
    .combine = cuda_combine,
    .map = cuda_map,
    .tile = cuda_tile,
    .bundle = cuda_bundle,
    .graph_reduce = cuda_graph_reduce,
    .graph_edge = cuda_graph_edge,
    .graph_softmax = cuda_graph_softmax,
    .graph_softmax_grad = cuda_graph_softmax_grad,
    .graph_attend = cuda_graph_attend,
    .graph_attend_source = cuda_graph_attend_source,
    .graph_attend_target = cuda_graph_attend_target,
    .graph_scale = cuda_graph_scale,
    .graph_merge = cuda_graph_merge,
    .gate = cuda_gate,
    .gate_grad = cuda_gate_grad,
    .dispatch = cuda_dispatch,
    .grouped = cuda_grouped,
    .eigh = cuda_eigh,
    .matmul = matmul,
    .pack = pack,
    .attention = attention,
    .attention_grad = attention_grad,
    .head_loss = head_loss,
    .head_loss_grad = head_loss_grad,
};
