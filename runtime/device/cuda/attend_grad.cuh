/*
 * attend_grad.cuh: what the gradient's kernels share. For a query and a key that it sees,
 *
 *     p = exp(score - lse),   ds = p (dout.v - dout.o) slope
 *
 * and dq = scale sum ds k,  dk = scale sum ds q,  dv = sum p dout, each summed in order by a block
 * that has its rows to itself: scores are computed once for dq and once for dk and dv.
 */
#ifndef HPC_CUDA_ATTEND_GRAD_H
#define HPC_CUDA_ATTEND_GRAD_H

#include "runtime/device/cuda/attend.cuh"

struct attend_grad_args {
    hpc_attention_grad_args a;
    float *delta; /* dout.o of every row of queries */
};

/* attention_grad.cu. Computes the deltas. */
int hpc_cuda_attend_deltas(const hpc_cuda_stream *s, const attend_grad_args &g);

/* A row of queries; dead: it has none, or sees nothing. */
struct attend_row {
    float lse, delta;
    attend_span sees;
};

SIMT_DEVICE attend_row attend_row_of(const attend_grad_args &g, const attend_shape &s,
                                     const attend_tile &tile, int r, int head)
{
    const int64_t at = attend_query(s, tile, r, head);
    if (at < 0) return {0, 0, {0, 0}};
    return {get(g.a.lse, at / s.dim), g.delta[at / s.dim], attend_row_span(g.a.attr, s, tile, r)};
}

/* From q.k and dout.v to p and ds. */
SIMT_DEVICE void attend_pair(const hpc_attention_attr &a, float *p, float *ds, bool seen, float lse,
                             float delta)
{
    const float log2e = 1.44269504f, score = attend_score(a, *p);
    *p = seen ? exp2f((score - lse) * log2e) : 0;
    *ds = seen ? *p * (*ds - delta) * attend_slope(a, score) : 0;
}

/* The queries of a sequence that see some of `n` keys of a tile. */
SIMT_DEVICE attend_span attend_queries(const hpc_attention_attr &a, const attend_tile &tile, int n)
{
    attend_span s = {a.causal ? tile.first : 0, tile.keys};
    if (a.causal && a.window > 0 && tile.first + n - 1 + a.window < s.hi)
        s.hi = tile.first + n - 1 + (int)a.window;
    return s;
}

#endif
