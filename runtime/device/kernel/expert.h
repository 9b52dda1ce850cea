/*
 * expert.h: arguments of the ops of mixtures of experts: the gate, the dispatch of tokens to
 * experts, and products whose rows belong to groups.
 *
 * Include kernel.h, which has the rules for all kernels.
 */
#ifndef HPC_EXPERT_H
#define HPC_EXPERT_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_EXPERTS_MOST = 1024 };

/* clang-format off */
/* Tokens to groups: index[e][0..count[e]) = the t with group[t] == e, ascending. index [E,cap];
 * group [T], negative: none. More than cap for one group fails. */
typedef struct hpc_route_attr { int64_t groups, cap; } hpc_route_attr;
typedef struct hpc_route_args {
    hpc_tensor index, count, group;
    hpc_route_attr attr;
} hpc_route_args;

/* Experts of each token, from logits z [T,E]. p = softmax(z), or 1/(1 + exp(-z)) with SIGMOID.
 * expert [T,k] has the k largest scores of a row, descending; equal scores in order of experts. The
 * scores are p + bias. With anneal [2] = {tau, threshold} they are softmax((z + g) / tau) instead,
 * g from Gumbel's distribution; entries after the first with a score of at most the threshold are
 * -1 and have weight 0. weight [T,k] has the p of these experts (noisy: their scores), divided by
 * their sum if `normalise`, times scale. prob [T,E] = p; lse [T] = log(sum(exp(z))).
 * g of element (t, e) depends on seed, tensor, step and (base + row0 + t) * E + e alone. step (i32)
 * and base (i64): optional device scalars, 0 if absent. A negative step: g = 0, for evaluation.
 * weight, prob and lse are f32 (f64). At most HPC_EXPERTS_MOST experts. */
typedef enum hpc_gate_kind { HPC_GATE_SOFTMAX, HPC_GATE_SIGMOID } hpc_gate_kind;
typedef struct hpc_gate_attr {
    int kind;
    bool normalise, noisy;
    int64_t k, seed, tensor, row0;
    double scale;
} hpc_gate_attr;
typedef struct hpc_gate_args {
    hpc_tensor weight, expert, prob, lse, logits, bias, anneal, step, base;
    hpc_gate_attr attr;
} hpc_gate_args;
/* Gradients of weight, prob and lse, each optional. No gradient passes through the selection. */
typedef struct hpc_gate_grad_args {
    hpc_tensor dlogits, dweight, dprob, dlse, logits, expert, anneal, step, base;
    hpc_gate_attr attr;
} hpc_gate_grad_args;

/* Sorts the slots of tokens by expert. Slot t * k + j is entry (t, j) of expert [T,k]; a negative
 * one goes nowhere. Rows start[e] .. start[e + 1] - 1 belong to expert e: slot[r], token[r] =
 * slot[r] / k and group[r] = e describe row r. Within an expert, first choices (j = 0) come before
 * second ones, and tokens ascend. cap > 0: later slots of an expert are dropped, and counted in
 * `dropped`. slot, token, group [T k] have `rows` live elements; start [E+1]; rows is a scalar: all
 * i32. dropped, a scalar, and load [E], the slots of each expert per token, dropped ones too, are
 * f32 (f64). tokens: those of all ranks, which `load` is of; 0: the T of this one.
 * wide: new ones are f64. */
typedef struct hpc_dispatch_attr { int64_t experts, cap, tokens; bool wide; } hpc_dispatch_attr;
typedef struct hpc_dispatch_args {
    hpc_tensor slot, token, group, start, rows, dropped, load, expert;
    hpc_dispatch_attr attr;
} hpc_dispatch_args;

/* Rows start[e] .. start[e + 1] - 1 form group e. start [E+1] ascends from 0; later rows are not
 * read or written. Groups may be empty.
 * y[r] = a[r] op(b[e]) for each row r of each group: a [M,K], b [E,K,N], or [E,N,K] if trans_b.
 * sum: y[e] = sum of a[r]^T b[r] over group e: a [M,N], b [M,K], y [E,N,K]; y ACC.
 * owned, used by sharding: ranks along expert have some matrices, and their rows; `start` may have
 * more elements than these need.
 * b may be f16, a block format or PANEL16 as in matmul (trans_b). halves as in matmul. int8 (b is a
 * block format, in PANEL16 or plain): as in matmul, with the same bits for both. */
typedef struct hpc_grouped_attr { bool trans_b, sum, halves, int8, owned; } hpc_grouped_attr;
typedef struct hpc_grouped_args {
    hpc_tensor y, a, b, start;
    hpc_grouped_attr attr;
} hpc_grouped_args;
/* clang-format on */

/* ---- rows of the gate, in double: all backends share them (device/gate.c) ------------------- */
typedef struct hpc_gate_row {
    int64_t experts;
    uint64_t first; /* index of element (t, 0) for random numbers */
    uint32_t step;
    double tau, threshold;  /* tau 0: no anneal */
    const double *z, *bias; /* [E]; bias may be NULL */
} hpc_gate_row;
/* Selects: expert[k], weight[k], prob[E]; *lse. */
void hpc_gate_select(int32_t *expert, double *weight, double *prob, double *lse,
                     const hpc_gate_row *row, const hpc_gate_attr *attr);
/* dz [E], from dweight [k], dprob [E] (may be NULL) and dlse, given the selection. */
void hpc_gate_gradient(double *dz, const double *dweight, const double *dprob, double dlse,
                       const int32_t *expert, const hpc_gate_row *row, const hpc_gate_attr *attr);

#ifdef __cplusplus
}
#endif
#endif
