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
    const int from = a->y.dtype == a->x.dtype ? PLAIN : WIDE;
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
        (operand[]){{&a->y, "y", REAL}, {&a->x, "x", WIDE}, {&a->index, "index", COUNTER}, {0}});
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

/* ---- optimizers
 * ---------------------------------------------------------------------------------- */

static int sgd_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->sgd, args);
}

static int sgd(hpc_plan *p, int workers, const hpc_sgd_args *a)
{
    (void)workers;
    return accept(p, sgd_run, "sgd_cuda",
                  (operand[]){{&a->param, "param", F32},
                              {&a->mom, "mom", F32},
                              {&a->grad, "grad", REAL},
                              {&a->lr, "lr", F32},
                              {0}});
}

static int adamw_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->adamw, args);
}

static int adamw(hpc_plan *p, int workers, const hpc_adamw_args *a)
{
    (void)workers;
    return accept(p, adamw_run, "adamw_cuda",
                  (operand[]){{&a->param, "param", F32},
                              {&a->m, "m", F32},
                              {&a->v, "v", F32},
                              {&a->half, "half", REAL},
                              {&a->grad, "grad", REAL},
                              {&a->lr, "lr", F32},
                              {&a->step, "step", INDEX},
                              {&a->clip, "clip", F32},
                              {0}});
}

static int adam_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->adam, args);
}

static int adam(hpc_plan *p, int workers, const hpc_adam_args *a)
{
    (void)workers;
    return accept(p, adam_run, "adam_cuda",
                  (operand[]){{&a->u, "u", REAL},
                              {&a->m, "m", F32},
                              {&a->v, "v", F32},
                              {&a->grad, "grad", REAL},
                              {&a->top, "top", REAL},
                              {&a->step, "step", INDEX},
                              {&a->clip, "clip", F32},
                              {0}});
}

static int apply_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->apply, args);
}

static int apply(hpc_plan *p, int workers, const hpc_apply_args *a)
{
    (void)workers;
    return accept(p, apply_run, "apply_cuda",
                  (operand[]){{&a->param, "param", F32},
                              {&a->half, "half", REAL},
                              {&a->dir, "dir", REAL},
                              {&a->lr, "lr", F32},
                              {&a->by, "by", F32},
                              {0}});
}

static int below_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->below, args);
}

static int below(hpc_plan *p, int workers, const hpc_below_args *a)
{
    (void)workers;
    return accept(
        p, below_run, "below_cuda",
        (operand[]){{&a->ok, "ok", INDEX}, {&a->x, "x", REAL}, {&a->limit, "limit", REAL}, {0}});
}

static int combine_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->combine, args);
}

static int combine(hpc_plan *p, int workers, const hpc_combine_args *a)
{
    (void)workers;
    return accept(p, combine_run, "combine_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->x1, "x1", REAL},
                              {&a->x2, "x2", REAL},
                              {&a->s0, "s0", F32},
                              {&a->s1, "s1", F32},
                              {&a->s2, "s2", F32},
                              {0}});
}

static int map_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->map, args);
}

static int map(hpc_plan *p, int workers, const hpc_map_args *a)
{
    (void)workers;
    return accept(p, map_run, "map_cuda", (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {0}});
}

static int tile_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->tile, args);
}

static int tile(hpc_plan *p, int workers, const hpc_tile_args *a)
{
    (void)workers;
    return accept(p, tile_run, "tile_cuda",
                  (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {0}});
}

static int bundle_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->bundle, args);
}

static int bundle(hpc_plan *p, int workers, const hpc_bundle_args *a)
{
    operand list[HPC_BUNDLE_MAX + 2] = {{&a->y, "y", REAL}};
    (void)workers;
    for (int k = 0; k < HPC_BUNDLE_MAX; k++) list[k + 1] = (operand){&a->x[k], "x", REAL};
    return accept(p, bundle_run, "bundle_cuda", list);
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

static int matmul(hpc_plan *p, int workers, const hpc_matmul_args *a)
{
    const bool halves = a->attr.halves || (a->a.dtype == HPC_BF16 && a->b.dtype == HPC_BF16);
    (void)workers;
    return accept(p, halves ? matmul_mma_run : matmul_run,
                  halves ? "matmul_mma_cuda" : "matmul_cuda",
                  (operand[]){{&a->y, "y", REAL},
                              {&a->pre, "pre", REAL},
                              {&a->a, "a", REAL},
                              {&a->b, "b", halves ? REAL : WIDE},
                              {&a->bias, "bias", REAL},
                              {&a->residual, "residual", REAL},
                              {0}});
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
    .sgd = sgd,
    .adamw = adamw,
    .adam = adam,
    .apply = apply,
    .below = below,
    .combine = combine,
    .map = map,
    .tile = tile,
    .bundle = bundle,
    .matmul = matmul,
    .attention = cuda_select_attention,
    .attention_grad = cuda_select_attention_grad,
    .head_loss = cuda_select_head_loss,
    .head_loss_grad = cuda_select_head_loss_grad,
};
