/*
 * matmul_mma.cu: products of operands in bf16, or rounded to it, by the matrix instructions of a
 * warp, with sums in f32. A block of four warps computes a tile of y, each warp a quarter.
 */
#include "runtime/device/cuda/lt.cuh"
#include "runtime/device/cuda/product.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum {
    THREADS = 128,
    TILE = 64,
    DEPTH = 32,   /* of k at a time; a row of shared memory has four groups of 8 */
    QUARTER = 32, /* rows and columns of a warp */
    TILE_BYTES = TILE * DEPTH * 2,
    SHARED = 2 * TILE_BYTES
};

/* Element (row, k) of a tile. Groups of 8 change places, so that the 8 rows that a matrix load
 * reads at once lie in different banks: two rows have 128 bytes, all banks. */
SIMT_DEVICE int place(int row, int k)
{
    return row * DEPTH + ((k / 8) ^ (row / 2 & 3)) * 8 + k % 8;
}

SIMT_DEVICE uint16_t half_of(const hpc_tensor &x, int64_t i)
{
    return x.dtype == HPC_BF16 ? ((const uint16_t *)x.data)[i] : hpc_bf16_from_f32(get(x, i));
}

struct mma_args {
    hpc_matmul_args g;
    product_groups groups;
};

struct product_mma {
    typedef mma_args args;
    enum { threads = THREADS };

    static SIMT_DEVICE void load(const simt &t, simt_shared<uint16_t> to, const hpc_tensor &x,
                                 const product_side &s, int64_t first, int64_t k0, int64_t k)
    {
        const bool plain = x.dtype == HPC_BF16 && s.depth == 1 && s.row % 8 == 0 && !s.panels &&
                           (uintptr_t)x.data % 16 == 0 && s.base % 8 == 0;
        for (int e = t.thread(); e < TILE * DEPTH / 8; e += THREADS) {
            const int r = s.depth == 1 ? e / (DEPTH / 8) : e % TILE;
            const int c = s.depth == 1 ? e % (DEPTH / 8) * 8 : e / TILE * 8;
            if (plain && first + r < s.rows && k0 + c + 8 <= k) {
                const int64_t at = product_at(s, first + r, k0 + c);
                t.copy_async(to, place(r, c), (const uint16_t *)x.data + at);
                continue;
            }
            for (int i = 0; i < 8; i++) {
                const bool live = first + r < s.rows && k0 + c + i < k;
                const int64_t at = product_at(s, first + r, k0 + c + i);
                to[place(r, c + i)] = live ? half_of(x, at) : (uint16_t)0;
            }
        }
        t.copy_commit();
    }

    /* A warp's 32 x 32 by 16 of k: b's rows are columns of y. */
    static SIMT_DEVICE void multiply(const simt &t, float sum[2][4][4], simt_shared<uint16_t> a,
                                     simt_shared<uint16_t> b, int up, int left, int k)
    {
        const int l = t.lane(), row = l % 16, col = k + l / 16 * 8;
        uint32_t x[2][4], y[2][4];
        for (int i = 0; i < 2; i++) t.load_matrices(x[i], a, place(up + i * 16 + row, col));
        for (int j = 0; j < 2; j++) t.load_matrices(y[j], b, place(left + j * 16 + row, col));
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++)
                t.multiply(sum[i][j], x[i], y[j / 2][j % 2], y[j / 2][j % 2 + 2]);
    }

    static SIMT_DEVICE void run(const simt &t, const args &p)
    {
        const hpc_matmul_args &g = p.g;
        const product_tile tile = tile_of(t, g, p.groups, TILE);
        const product_view &v = tile.v;
        const int64_t row = tile.row, col = tile.col;
        const int up = t.warp() / 2 * QUARTER, left = t.warp() % 2 * QUARTER, l = t.lane();
        const simt_shared<uint16_t> a = t.shared<uint16_t>(0, TILE * DEPTH);
        const simt_shared<uint16_t> b = t.shared<uint16_t>(TILE_BYTES, TILE * DEPTH);
        float sum[2][4][4] = {{{0}}};
        if (row >= v.a.rows || (g.attr.symmetric && col > row + TILE - 1)) return;
        for (int64_t k0 = 0; k0 < v.k; k0 += DEPTH) {
            t.sync(); /* readers of the tiles before */
            load(t, a, g.a, v.a, row, k0, v.k);
            load(t, b, g.b, v.b, col, k0, v.k);
            t.copy_wait<0>();
            t.sync();
            for (int k = 0; k < DEPTH; k += 16) multiply(t, sum, a, b, up, left, k);
        }
        SIMT_UNROLL for (int e = 0; e < 2 * 4 * 4; e++)
        {
            const int i = e / 16, j = e / 4 % 4, part = e % 4;
            product_store(g, v, row + up + i * 16 + l / 4 + part / 2 * 8,
                          col + left + j * 8 + l % 4 * 2 + part % 2, sum[i][j][part]);
        }
    }
};

int launch(const hpc_cuda_stream *s, const hpc_matmul_args &g, const product_groups &groups)
{
    const mma_args a = {g, groups};
    return simt_launch<product_mma>(s, tiles_of(g, groups, TILE, THREADS, SHARED), a);
}

} // namespace

int hpc_cuda_matmul_mma(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_matmul_args &g = *(const hpc_matmul_args *)args;
    int rc;
    if (hpc_lt_multiply(s, g, &rc)) return rc;
    return launch(s, g, product_groups());
}

int hpc_cuda_grouped_mma(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_grouped_args &g = *(const hpc_grouped_args *)args;
    return launch(s, grouped_product(g), groups_of(g));
}
