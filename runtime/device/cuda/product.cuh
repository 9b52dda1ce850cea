/*
 * product.cuh: operands of a product as strided matrices with live extents, and what is done with a
 * sum: bias, activation, residual and mirror image.
 */
#ifndef HPC_CUDA_PRODUCT_H
#define HPC_CUDA_PRODUCT_H

#include "runtime/device/cuda/act.cuh"
#include "runtime/device/cuda/tensor.cuh"

/* Element (i, k) of an operand is at base + i row + k depth or, in panels, in that of row i / 16. */
struct product_side {
    int64_t base, row, depth, rows; /* rows: live */
    bool panels;
};

SIMT_DEVICE int64_t product_at(const product_side &s, int64_t i, int64_t k)
{
    if (s.panels) return s.base + i / HPC_PANEL * HPC_PANEL * s.row + k * HPC_PANEL + i % HPC_PANEL;
    return s.base + i * s.row + k * s.depth;
}

struct product_view {
    product_side a, b;
    int64_t m, n, k, batch; /* k: live; m of y, of which a.rows are live */
};

/* Whole matrices of batch entry `batch`; a.rows 0: it is not live. */
SIMT_DEVICE product_view product_of(const hpc_matmul_args &g, int64_t batch)
{
    const hpc_tensor &a = g.a, &b = g.b;
    const int64_t ac = a.extent[a.rank - 1], ar = a.extent[a.rank - 2];
    const int64_t bc = b.extent[b.rank - 1], br = b.extent[b.rank - 2];
    const int64_t b_batch = b.rank == 3 ? batch : 0;
    product_view v;
    v.batch = batch;
    v.m = g.y.extent[g.y.rank - 2];
    v.n = g.y.extent[g.y.rank - 1];
    v.k = g.attr.trans_a ? live_extent(a, a.rank - 2, batch) : ac;
    if (!g.attr.trans_b) {
        const int64_t other = live_extent(b, b.rank - 2, b_batch);
        v.k = other < v.k ? other : v.k;
    }
    v.a.base = a.rank == 3 ? batch * ar * ac : 0;
    v.a.row = g.attr.trans_a ? 1 : ac;
    v.a.depth = g.attr.trans_a ? ac : 1;
    v.a.rows = g.attr.trans_a ? v.m : live_extent(a, a.rank - 2, batch);
    if (a.rank == 3 && a.ragged == 0 && batch >= live_of(a, 0)) v.a.rows = 0;
    v.a.panels = false;
    v.b.panels = b.pack == HPC_PANEL16;
    v.b.base = b_batch * (v.b.panels ? (br + HPC_PANEL - 1) / HPC_PANEL * HPC_PANEL : br) * bc;
    v.b.row = g.attr.trans_b ? bc : 1;
    v.b.depth = g.attr.trans_b ? 1 : bc;
    v.b.rows = v.n;
    return v;
}

/* Integer sums have no epilogue. */
SIMT_DEVICE void product_store(const hpc_matmul_args &g, const product_view &v, int64_t i,
                               int64_t j, int sum)
{
    if (i >= v.a.rows || j >= v.n) return;
    int32_t *y = (int32_t *)g.y.data + (v.batch * v.m + i) * v.n + j;
    *y = g.y.adds ? *y + sum : sum;
}

/* Stores the sum of row i by column j. */
SIMT_DEVICE void product_store(const hpc_matmul_args &g, const product_view &v, int64_t i,
                               int64_t j, float sum)
{
    const int64_t at = (v.batch * v.m + i) * v.n + j;
    if (i >= v.a.rows || j >= v.n || (g.attr.symmetric && j > i)) return;
    float x = (float)g.attr.alpha * sum;
    if (present(g.bias)) x += get(g.bias, (g.bias.rank == 2 ? v.batch * v.n : 0) + j);
    if (present(g.pre)) set(g.pre, at, x);
    x = act_of(g.attr.act, x);
    if (present(g.residual)) x += get(g.residual, at);
    put(g.y, at, x);
    if (g.attr.symmetric && j < i) set(g.y, (v.batch * v.m + j) * v.n + i, get(g.y, at));
}

#endif
