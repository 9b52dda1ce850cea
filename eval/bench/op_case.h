/*
 * op_case.h: what emitters of the op benchmark share.
 */
#ifndef HPC_EVAL_BENCH_OP_CASE_H
#define HPC_EVAL_BENCH_OP_CASE_H

#include "eval/bench/priv.h"

static inline hpc_bench_fill normal(double deviation)
{
    return (hpc_bench_fill){.kind = HPC_FILL_NORMAL, .by = deviation};
}

static inline hpc_bench_fill filled(hpc_fill_kind kind, double by)
{
    return (hpc_bench_fill){.kind = kind, .by = by};
}

static const double byte_deviation = 40; /* of i8: few are as large as they can be */

/* Activations: of mean 0 and, unless they are i8, deviation 1. */
static inline hpc_value real(hpc_bench_emitter *e, const char *name, int rank,
                             const int64_t *extent)
{
    double deviation = e->job->dtype == HPC_I8 ? byte_deviation : 1;
    return hpc_bench_input(e, name, e->job->dtype, normal(deviation), rank, extent);
}

static inline hpc_value index_of(hpc_bench_emitter *e, const char *name, hpc_bench_fill fill,
                                 int rank, const int64_t *extent)
{
    return hpc_bench_input(e, name, HPC_I32, fill, rank, extent);
}

/* The type of statistics and scalars. */
static inline hpc_dtype wide(const hpc_bench_emitter *e)
{
    return e->job->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
}

static inline void instruct(hpc_bench_emitter *e, hpc_value *operand)
{
    hpc_emit(e->p, e->job->c->op, operand, e->attr);
}

/* Emitters of updates and of matrices of second-order optimizers (op_case_update.c). */
void hpc_bench_emit_sgd(hpc_bench_emitter *e);
void hpc_bench_emit_adamw(hpc_bench_emitter *e);
void hpc_bench_emit_adam(hpc_bench_emitter *e);
void hpc_bench_emit_apply(hpc_bench_emitter *e);
void hpc_bench_emit_below(hpc_bench_emitter *e);
void hpc_bench_emit_combine(hpc_bench_emitter *e);
void hpc_bench_emit_map(hpc_bench_emitter *e);
void hpc_bench_emit_tile(hpc_bench_emitter *e);
void hpc_bench_emit_bundle(hpc_bench_emitter *e);
void hpc_bench_emit_eigh(hpc_bench_emitter *e);

#endif
