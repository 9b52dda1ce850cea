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
    int64_t y;              /* element of y that the result begins with */
};

/* Groups of rows, or none: rows start[e] .. start[e + 1] - 1 of a are multiplied by matrix e of b
 * or, with sum, form matrix e of y with those of b. Then g.y and g.a are whole. */
struct product_groups {
    const int32_t *start;
    int n;
    bool sum;
};

SIMT_DEVICE int64_t group_rows(const product_groups &s, int64_t e, int64_t most, int64_t *first)
{
    int64_t lo = s.start[e], hi = s.start[e + 1];
    lo = lo < 0 ? 0 : lo > most ? most : lo;
    hi = hi < lo ? lo : hi > most ? most : hi;
    *first = lo;
    return hi - lo;
}

SIMT_DEVICE product_view group_of(const hpc_matmul_args &g, const product_groups &s, int64_t e)
{
    const int64_t ac = g.a.extent[1], bc = cols_of(g.b), br = g.b.extent[g.b.rank - 2];
    const bool panels = g.b.pack == HPC_PANEL16;
    const int64_t padded = panels ? (br + HPC_PANEL - 1) / HPC_PANEL * HPC_PANEL : br;
    product_view v = {};
    int64_t first;
    const int64_t rows = group_rows(s, e, g.a.extent[0], &first);
    v.n = cols_of(g.y);
    v.m = s.sum ? ac : rows;
    v.k = s.sum ? rows : ac;
    v.y = s.sum ? e * v.m * v.n : first * v.n;
    v.a = {first * ac, s.sum ? 1 : ac, s.sum ? ac : 1, v.m, false};
    v.b = {s.sum ? first * bc : e * padded * bc, g.attr.trans_b ? bc : 1, g.attr.trans_b ? 1 : bc,
           v.n, panels};
    return v;
}

/* Whole matrices of batch entry `batch`; a.rows 0: it is not live. */
SIMT_DEVICE product_view batch_of(const hpc_matmul_args &g, int64_t batch)
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
    v.y = batch * v.m * v.n;
    return v;
}

SIMT_DEVICE product_view product_of(const hpc_matmul_args &g, const product_groups &s,
                                    int64_t entry)
{
    return s.start ? group_of(g, s, entry) : batch_of(g, entry);
}

/* A block's tile: its product, and the first row and column. With groups of rows, tiles of `side`
 * rows begin at each group's first; blocks that are left over get rows beyond the last. */
struct product_tile {
    product_view v;
    int64_t row, col;
};

SIMT_DEVICE product_tile tile_of(const simt &t, const hpc_matmul_args &g, const product_groups &s,
                                 int side)
{
    const int64_t across = (cols_of(g.y) + side - 1) / side;
    int64_t at = t.block() / across, entry = t.block_y(), first;
    const int64_t col = t.block() % across * side;
    for (entry = s.start && !s.sum ? 0 : entry; s.start && !s.sum && entry < s.n - 1; entry++) {
        const int64_t tiles = (group_rows(s, entry, g.a.extent[0], &first) + side - 1) / side;
        if (at < tiles) break;
        at -= tiles;
    }
    return {product_of(g, s, entry), at * side, col};
}

/* A product of groups, on the host: its operands as those of one product, and the groups. */
inline hpc_matmul_args grouped_product(const hpc_grouped_args &g)
{
    hpc_matmul_args m = {};
    m.y = g.y;
    m.a = g.a;
    m.b = g.b;
    m.attr.trans_a = g.attr.sum;
    m.attr.trans_b = g.attr.trans_b;
    m.attr.halves = g.attr.halves;
    m.attr.alpha = 1;
    return m;
}

inline product_groups groups_of(const hpc_grouped_args &g)
{
    return {(const int32_t *)g.start.data, (int)g.start.extent[0] - 1, g.attr.sum};
}

/* Blocks of tiles for a product. On the host. */
inline simt_shape tiles_of(const hpc_matmul_args &g, const product_groups &s, int side,
                           int threads, int shared)
{
    const int64_t m = g.y.extent[g.y.rank - 2], n = cols_of(g.y);
    const int64_t up = (m + side - 1) / side + (s.start && !s.sum ? s.n : 0);
    const int batch = g.y.rank == 3 ? (int)g.y.extent[0] : 1;
    return {up * ((n + side - 1) / side), batch, threads, shared, false};
}

/* Integer sums have no epilogue. */
SIMT_DEVICE void product_store(const hpc_matmul_args &g, const product_view &v, int64_t i,
                               int64_t j, int sum)
{
    if (i >= v.a.rows || j >= v.n) return;
    int32_t *y = (int32_t *)g.y.data + v.y + i * v.n + j;
    *y = g.y.adds ? *y + sum : sum;
}

/* Stores the sum of row i by column j. */
SIMT_DEVICE void product_store(const hpc_matmul_args &g, const product_view &v, int64_t i,
                               int64_t j, float sum)
{
    const int64_t at = v.y + i * v.n + j;
    if (i >= v.a.rows || j >= v.n || (g.attr.symmetric && j > i)) return;
    float x = (float)g.attr.alpha * sum;
    if (present(g.bias)) x += get(g.bias, (g.bias.rank == 2 ? v.batch * v.n : 0) + j);
    if (present(g.pre)) set(g.pre, at, x);
    x = act_of(g.attr.act, x);
    if (present(g.residual)) x += get(g.residual, at);
    put(g.y, at, x);
    if (g.attr.symmetric && j < i) set(g.y, v.y + j * v.n + i, get(g.y, at));
}

#endif
