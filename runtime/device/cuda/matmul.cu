/*
 * matmul.cu: products with sums in f32, of any mix of f32, bf16 and f16. A block computes a tile of
 * y; every sum goes through k in order, so that a row's bits do not depend on m.
 */
#include "runtime/device/cuda/product.h"
#include "runtime/device/cuda/table.h"

namespace {

enum {
    THREADS = 256,
    TILE = 64,  /* rows and columns of a block's tile */
    DEPTH = 16, /* of k at a time */
    EACH = 4,   /* rows and columns of a thread */
    PITCH = TILE + 4,
    SHARED = 2 * DEPTH * PITCH * (int)sizeof(float)
};

struct product {
    typedef hpc_matmul_args args;
    enum { threads = THREADS };

    /* Rows first ... of one side, at k0 ..., rounded to bf16 on request; zeros beyond live parts.
     */
    static SIMT_DEVICE void load(const simt &t, simt_shared<float> to, const hpc_tensor &x,
                                 const product_side &s, int64_t first, int64_t k0, int64_t k,
                                 bool halves)
    {
        for (int e = t.thread(); e < TILE * DEPTH; e += THREADS) {
            const int r = s.depth == 1 ? e / DEPTH : e % TILE,
                      c = s.depth == 1 ? e % DEPTH : e / TILE;
            float v = 0;
            if (first + r < s.rows && k0 + c < k)
                v = get(x, s.base + (first + r) * s.row + (k0 + c) * s.depth);
            to[c * PITCH + r] = halves ? hpc_bf16_to_f32(hpc_bf16_from_f32(v)) : v;
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        const product_view v = product_of(g, t.block_y());
        const int64_t across = (v.n + TILE - 1) / TILE;
        const int64_t row = t.block() / across * TILE, col = t.block() % across * TILE;
        const int up = t.thread() / (TILE / EACH) * EACH, left = t.thread() % (TILE / EACH) * EACH;
        const simt_shared<float> a = t.shared<float>(0, DEPTH * PITCH);
        const simt_shared<float> b = t.shared<float>(SHARED / 2, DEPTH * PITCH);
        float sum[EACH][EACH] = {{0}};
        if (row >= v.a.rows || (g.attr.symmetric && col > row + TILE - 1)) return;
        for (int64_t k0 = 0; k0 < v.k; k0 += DEPTH) {
            t.sync(); /* readers of the tiles before */
            load(t, a, g.a, v.a, row, k0, v.k, g.attr.halves);
            load(t, b, g.b, v.b, col, k0, v.k, g.attr.halves);
            t.sync();
            for (int k = 0; k < DEPTH; k++) {
                float x[EACH], y[EACH];
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

} // namespace

int hpc_cuda_matmul(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_matmul_args *a = (const hpc_matmul_args *)args;
    const int64_t m = a->y.extent[a->y.rank - 2], n = a->y.extent[a->y.rank - 1];
    const int batch = a->y.rank == 3 ? (int)a->y.extent[0] : 1;
    const simt_shape shape = {(m + TILE - 1) / TILE * ((n + TILE - 1) / TILE), batch, THREADS,
                              SHARED, false};
    return simt_launch<product>(s, shape, *a);
}
