/*
 * op_case_update.c: emitters of the op benchmark for updates of parameters and for matrices of
 * second-order optimizers.
 */
#include "eval/bench/op_case.h"

/* ---- updates -------------------------------------------------------------------------------- */

static hpc_value scalar(hpc_bench_emitter *e, const char *name, double x)
{
    return hpc_bench_input(e, name, wide(e), filled(HPC_FILL_SAME, x), 0, NULL);
}

void hpc_bench_emit_sgd(hpc_bench_emitter *e)
{
    hpc_value operand[] = {hpc_bench_state(e, "param", wide(e), normal(1), 1, e->n),
                           hpc_bench_state(e, "mom", wide(e), normal(0.01), 1, e->n),
                           real(e, "grad", 1, e->n), scalar(e, "lr", 1e-3)};
    instruct(e, operand);
}

/* With gradients in bf16 the parameters have their copy in bf16. */
void hpc_bench_emit_adamw(hpc_bench_emitter *e)
{
    bool half = e->job->dtype == HPC_BF16;
    hpc_value operand[] = {
        hpc_bench_state(e, "param", wide(e), normal(1), 1, e->n),
        hpc_bench_state(e, "m", wide(e), normal(0.01), 1, e->n),
        hpc_bench_state(e, "v", wide(e), filled(HPC_FILL_POSITIVE, 0.01), 1, e->n),
        half ? hpc_bench_state(e, "half", HPC_BF16, normal(1), 1, e->n) : HPC_NONE,
        real(e, "grad", 1, e->n),
        scalar(e, "lr", 1e-3),
        index_of(e, "step", filled(HPC_FILL_SAME, 10), 0, NULL),
        HPC_NONE};
    instruct(e, operand);
}

void hpc_bench_emit_adam(hpc_bench_emitter *e)
{
    hpc_value m = hpc_bench_state(e, "m", wide(e), normal(0.01), 1, e->n);
    hpc_value v = hpc_bench_state(e, "v", wide(e), filled(HPC_FILL_POSITIVE, 0.01), 1, e->n);
    hpc_value operand[] = {HPC_NEW,  m,
                           v,        real(e, "grad", 1, e->n),
                           HPC_NONE, index_of(e, "step", filled(HPC_FILL_SAME, 10), 0, NULL),
                           HPC_NONE};
    instruct(e, operand);
}

void hpc_bench_emit_apply(hpc_bench_emitter *e)
{
    bool half = e->job->dtype == HPC_BF16;
    hpc_value param = hpc_bench_state(e, "param", wide(e), normal(1), 1, e->n), copy = HPC_NONE;
    if (half) copy = hpc_bench_state(e, "half", HPC_BF16, normal(1), 1, e->n);
    hpc_value operand[] = {param, copy, real(e, "dir", 1, e->n), scalar(e, "lr", 1e-3), HPC_NONE};
    instruct(e, operand);
}

void hpc_bench_emit_below(hpc_bench_emitter *e)
{
    hpc_value operand[] = {HPC_NEW, real(e, "x", 0, NULL), HPC_NONE};
    instruct(e, operand);
}

/* ---- matrices of second-order optimizers ---------------------------------------------------- */

/* B square matrices, each damped by a number of its own. */
void hpc_bench_emit_combine(hpc_bench_emitter *e)
{
    const int64_t extent[] = {e->n[0], e->n[1], e->n[1]};
    hpc_value x1 = real(e, "x1", 3, extent), x2 = real(e, "x2", 3, extent);
    hpc_value s0 = hpc_bench_input(e, "s0", wide(e), filled(HPC_FILL_POSITIVE, 1), 1, e->n);
    hpc_value operand[] = {HPC_NEW, x1, x2, s0, HPC_NONE, HPC_NONE};
    instruct(e, operand);
}

void hpc_bench_emit_map(hpc_bench_emitter *e)
{
    hpc_value x = hpc_bench_input(e, "x", e->job->dtype, filled(HPC_FILL_POSITIVE, 1), 1, e->n);
    hpc_value operand[] = {HPC_NEW, x};
    instruct(e, operand);
}

/* A matrix of blocks of as many rows as columns, which grow with it. */
void hpc_bench_emit_tile(hpc_bench_emitter *e)
{
    hpc_tile_attr at = *(const hpc_tile_attr *)e->attr;
    int64_t side = e->n[1];
    const int64_t blocks[] = {e->n[0] * e->n[0], side, side};
    const int64_t whole[] = {e->n[0] * side, e->n[0] * side};
    at.rows = at.cols = side;
    at.m = at.n = whole[0];
    hpc_value x = at.inverse ? real(e, "x", 3, blocks) : real(e, "x", 2, whole);
    hpc_value operand[] = {HPC_NEW, x};
    hpc_emit(e->p, &hpc_op_tile, operand, &at);
}

/* Gradients as they come: matrices and vectors. */
void hpc_bench_emit_bundle(hpc_bench_emitter *e)
{
    const int64_t side[] = {e->n[1], e->n[1]};
    hpc_value operand[1 + HPC_BUNDLE_MAX] = {HPC_NEW};
    for (int k = 0; k < HPC_BUNDLE_MAX; k++) {
        const char *name = hpc_op_bundle.sig.operand[1 + k].name;
        operand[1 + k] = k < e->n[0] ? real(e, name, k % 2 ? 1 : 2, side) : HPC_NONE;
    }
    instruct(e, operand);
}

/* Normals: only their lower triangle is read. */
void hpc_bench_emit_eigh(hpc_bench_emitter *e)
{
    const int64_t extent[] = {e->n[0], e->n[1], e->n[1]};
    hpc_value operand[] = {HPC_NEW, HPC_NEW, real(e, "x", 3, extent)};
    instruct(e, operand);
}
