/*
 * matmul.cu: products with sums in f32, of any mix of f32, bf16, f16 and block formats, and of i8
 * with sums in i32. A block computes a tile of y; every sum goes through k in order, so that a
 * row's bits do not depend on m.
 */
#include "runtime/device/cuda/blocks.cuh"
#include "runtime/device/cuda/lt.cuh"
#include "runtime/device/cuda/product.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum {
    THREADS = 256,
    TILE = 64,  /* rows and columns of a block's tile */
    DEPTH = 16, /* of k at a time */
    EACH = 4,   /* rows and columns of a thread */
    PITCH = TILE + 4,
    SHARED = 2 * DEPTH * PITCH * (int)sizeof(float)
};

struct product_args {
    hpc_matmul_args g;
    block_view b; /* if b has a block format */
    product_groups groups;
};

SIMT_DEVICE float element(const hpc_tensor &x, int64_t i, bool halves, float)
{
    const float v = get(x, i);
    return halves ? hpc_bf16_to_f32(hpc_bf16_from_f32(v)) : v;
}

SIMT_DEVICE int element(const hpc_tensor &x, int64_t i, bool, int)
{
    return ((const int8_t *)x.data)[i];
}

/* Sums in T: float, or int of i8. */
template <class T> struct product {
    typedef product_args args;
    enum { threads = THREADS };

    /* Rows first ... of one side, at k0 ..., rounded to bf16 on request; zeros beyond live parts.
     */
    static SIMT_DEVICE void load(const simt &t, simt_shared<T> to, const hpc_tensor &x,
                                 const product_side &s, int64_t first, int64_t k0, int64_t k,
                                 bool halves)
    {
        const bool by_depth = s.depth == 1 && !s.panels;
        for (int e = t.thread(); e < TILE * DEPTH; e += THREADS) {
            const int r = by_depth ? e / DEPTH : e % TILE, c = by_depth ? e % DEPTH : e / TILE;
            T v = 0;
            if (first + r < s.rows && k0 + c < k)
                v = element(x, product_at(s, first + r, k0 + c), halves, T());
            to[c * PITCH + r] = v;
        }
    }

    /* The same of a block format: half a unit of each row. */
    static SIMT_DEVICE void load_blocks(const simt &t, simt_shared<T> to, const args &a,
                                        const product_side &s, int64_t first, int64_t k0)
    {
        const int64_t before = s.base / cols_of(a.g.b) + first;
        for (int r = t.thread(); r < TILE; r += THREADS) {
            block_unit u = {};
            if (first + r < s.rows) load_unit(t, u, a.b, before + r, k0 / UNIT);
            for (int c = 0; c < DEPTH; c++) {
                const float v = unit_quad(t, u, (int)(k0 % UNIT + c) / 4).v[c % 4];
                const float half = hpc_bf16_to_f32(hpc_bf16_from_f32(v));
                to[c * PITCH + r] = (T)(a.g.attr.halves ? half : v);
            }
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &p)
    {
        const hpc_matmul_args &g = p.g;
        const product_tile tile = tile_of(t, g, p.groups, TILE);
        const product_view &v = tile.v;
        const int64_t row = tile.row, col = tile.col;
        const int up = t.thread() / (TILE / EACH) * EACH, left = t.thread() % (TILE / EACH) * EACH;
        const simt_shared<T> a = t.shared<T>(0, DEPTH * PITCH);
        const simt_shared<T> b = t.shared<T>(SHARED / 2, DEPTH * PITCH);
        T sum[EACH][EACH] = {{0}};
        if (row >= v.a.rows || (g.attr.symmetric && col > row + TILE - 1)) return;
        for (int64_t k0 = 0; k0 < v.k; k0 += DEPTH) {
            t.sync(); /* readers of the tiles before */
            load(t, a, g.a, v.a, row, k0, v.k, g.attr.halves);
            if (p.b.block > 0)
                load_blocks(t, b, p, v.b, col, k0);
            else
                load(t, b, g.b, v.b, col, k0, v.k, g.attr.halves);
            t.sync();
            for (int k = 0; k < DEPTH; k++) {
                T x[EACH], y[EACH];
                for (int e = 0; e < EACH; e++) x[e] = a[k * PITCH + up + e];
                for (int e = 0; e < EACH; e++) y[e] = b[k * PITCH + left + e];
                for (int i = 0; i < EACH; i++)
                    for (int j = 0; j < EACH; j++) sum[i][j] += x[i] * y[j];
            }
        }
        for (int i = 0; i < EACH; i++)
            for (int j = 0; j < EACH; j++)
                product_store(g, v, row + up + i, col + left + j, sum[i][j]);
    }
};

template <class T>
int launch(const hpc_cuda_stream *s, const hpc_matmul_args &g, const product_groups &groups)
{
    const product_args a = {g, block_view_of(g.b), groups};
    return simt_launch<product<T>>(s, tiles_of(g, groups, TILE, THREADS, SHARED), a);
}

} // namespace

int hpc_cuda_matmul(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_matmul_args &g = *(const hpc_matmul_args *)args;
    int rc;
    if (hpc_lt_multiply(s, g, &rc)) return rc;
    return launch<float>(s, g, product_groups());
}

int hpc_cuda_matmul_i8(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_matmul_args &g = *(const hpc_matmul_args *)args;
    int rc;
    if (hpc_lt_multiply(s, g, &rc)) return rc;
    return launch<int>(s, g, product_groups());
}

int hpc_cuda_grouped(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_grouped_args &g = *(const hpc_grouped_args *)args;
    return launch<float>(s, grouped_product(g), groups_of(g));
}
