/*
 * select_update.c: selectors of the optimizers' ops and of ops on matrices as wholes.
 */
#include "runtime/device/cuda/select.h"

static int sgd_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->sgd, args);
}

int cuda_sgd(hpc_plan *p, int workers, const hpc_sgd_args *a)
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

int cuda_adamw(hpc_plan *p, int workers, const hpc_adamw_args *a)
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

int cuda_adam(hpc_plan *p, int workers, const hpc_adam_args *a)
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

static int adam_add_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->adam_add, args);
}

int cuda_adam_add(hpc_plan *p, int workers, const hpc_adam_add_args *a)
{
    (void)workers;
    return accept(p, adam_add_run, "adam_add_cuda",
                  (operand[]){{&a->y, "y", F32},
                              {&a->m, "m", F32},
                              {&a->v, "v", F32},
                              {&a->grad, "grad", REAL},
                              {&a->keep, "keep", F32},
                              {&a->clip, "clip", F32},
                              {0}});
}

static int adam_step_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->adam_step, args);
}

int cuda_adam_step(hpc_plan *p, int workers, const hpc_adam_step_args *a)
{
    (void)workers;
    return accept(p, adam_step_run, "adam_step_cuda",
                  (operand[]){{&a->param, "param", F32},
                              {&a->half, "half", REAL},
                              {&a->m, "m", F32},
                              {&a->v, "v", F32},
                              {&a->lr, "lr", F32},
                              {&a->step, "step", INDEX},
                              {0}});
}

static int apply_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->apply, args);
}

int cuda_apply(hpc_plan *p, int workers, const hpc_apply_args *a)
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

int cuda_below(hpc_plan *p, int workers, const hpc_below_args *a)
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

int cuda_combine(hpc_plan *p, int workers, const hpc_combine_args *a)
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

int cuda_map(hpc_plan *p, int workers, const hpc_map_args *a)
{
    (void)workers;
    return accept(p, map_run, "map_cuda", (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {0}});
}

static int tile_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->tile, args);
}

int cuda_tile(hpc_plan *p, int workers, const hpc_tile_args *a)
{
    (void)workers;
    return accept(p, tile_run, "tile_cuda",
                  (operand[]){{&a->y, "y", REAL}, {&a->x, "x", REAL}, {0}});
}

static int bundle_run(const hpc_launch *l, const void *args)
{
    return hpc_cuda_run(l, of(l)->bundle, args);
}

int cuda_bundle(hpc_plan *p, int workers, const hpc_bundle_args *a)
{
    operand list[HPC_BUNDLE_MAX + 2] = {{&a->y, "y", REAL}};
    (void)workers;
    for (int k = 0; k < HPC_BUNDLE_MAX; k++) list[k + 1] = (operand){&a->x[k], "x", REAL};
    return accept(p, bundle_run, "bundle_cuda", list);
}
