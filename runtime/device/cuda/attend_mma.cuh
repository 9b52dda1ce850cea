/*
 * attend_mma.cuh: attention by the matrix instructions of a warp: rows of bf16 in shared memory,
 * loaded asynchronously, and products of 16 rows of a warp with the rows of a block.
 *
 * Heads are padded to D elements with zeros. An accumulator of a warp, float [n][4], has 16 rows
 * and columns 8 i to 8 i + 7 in entry i; element e of lane l is at row l / 4 + e / 2 * 8 and column
 * l % 4 * 2 + e % 2 of these.
 */
#ifndef HPC_CUDA_ATTEND_MMA_H
#define HPC_CUDA_ATTEND_MMA_H

#include "runtime/device/cuda/attend.cuh"

enum {
    MMA_THREADS = 128,
    MMA_WARP_ROWS = 16,
    MMA_ROWS = MMA_THREADS / SIMT_WARP * MMA_WARP_ROWS, /* of a block's tile */
};

/* Element (row, c) of rows of D. Groups of 8 change places, so that the 8 rows that a matrix load
 * reads at once lie in different banks. */
template <int D> SIMT_DEVICE int mma_place(int row, int c)
{
    return row * D + ((c / 8) ^ (row & 7)) * 8 + c % 8;
}

/* Starts to load n rows that rows(r) names by their element 0 of x, bf16; zeros where that is
 * negative, and from element dim on. */
template <int D, class Rows>
SIMT_DEVICE void mma_load(const simt &t, simt_shared<uint16_t> to, const hpc_tensor &x, int n,
                          int dim, const Rows &rows)
{
    const bool plain = dim % 8 == 0 && (uintptr_t)x.data % 16 == 0;
    for (int i = t.thread(); i < n * (D / 8); i += MMA_THREADS) {
        const int r = i / (D / 8), c = i % (D / 8) * 8;
        const int64_t at = c < dim ? rows(r) : -1;
        if (plain && at >= 0) {
            t.copy_async(to, mma_place<D>(r, c), (const uint16_t *)x.data + at + c);
            continue;
        }
        for (int e = 0; e < 8; e++)
            to[mma_place<D>(r, c + e)] =
                at >= 0 && c + e < dim ? ((const uint16_t *)x.data)[at + c + e] : (uint16_t)0;
    }
}

/* sum += the 16 rows of a from `row` on times the N x 8 rows of b, over dim elements: each row with
 * each row. */
template <int D, int N>
SIMT_DEVICE void mma_rows(const simt &t, float sum[N][4], simt_shared<uint16_t> a, int row,
                          simt_shared<uint16_t> b, int dim)
{
    const int l = t.lane(), r = l % 16, c = l / 16 * 8;
    SIMT_UNROLL for (int k = 0; k < D; k += 16)
    {
        uint32_t x[4], y[4];
        if (k >= dim) continue;
        t.load_matrices(x, a, mma_place<D>(row + r, k + c));
        SIMT_UNROLL for (int j = 0; j < N; j += 2)
        {
            t.load_matrices(y, b, mma_place<D>(j * 8 + r, k + c));
            t.multiply(sum[j], x, y[0], y[2]);
            t.multiply(sum[j + 1], x, y[1], y[3]);
        }
    }
}

SIMT_DEVICE uint32_t mma_pair(float low, float high)
{
    return hpc_bf16_from_f32(low) | (uint32_t)hpc_bf16_from_f32(high) << 16;
}

/* sum += factors [16, N x 8] times the N x 8 rows of b: the columns of the factors by the rows. */
template <int D, int N>
SIMT_DEVICE void mma_add(const simt &t, float sum[D / 8][4], const float factor[N][4],
                         simt_shared<uint16_t> b, int dim)
{
    const int l = t.lane(), r = l % 16, c = l / 16 * 8;
    SIMT_UNROLL for (int k = 0; k < N; k += 2)
    {
        const uint32_t x[4] = {mma_pair(factor[k][0], factor[k][1]),
                               mma_pair(factor[k][2], factor[k][3]),
                               mma_pair(factor[k + 1][0], factor[k + 1][1]),
                               mma_pair(factor[k + 1][2], factor[k + 1][3])};
        SIMT_UNROLL for (int j = 0; j < D / 8; j += 2)
        {
            uint32_t y[4];
            if (j * 8 >= dim) continue;
            t.load_matrices_transposed(y, b, mma_place<D>(k * 8 + r, j * 8 + c));
            t.multiply(sum[j], x, y[0], y[1]);
            t.multiply(sum[j + 1], x, y[2], y[3]);
        }
    }
}

/* Stores elements of a row of an accumulator, times a factor: half 0 or 1 of the lane's rows. */
template <int D>
SIMT_DEVICE void mma_put(const simt &t, const hpc_tensor &y, int64_t at, const float sum[D / 8][4],
                         int half, int dim, float by)
{
    if (at < 0) { /* braces: the macro below may be empty, and clang warns of its column */
        return;
    }
    SIMT_UNROLL for (int j = 0; j < D / 8; j++)
    {
        const int e = j * 8 + t.lane() % 4 * 2;
        const float low = sum[j][half * 2] * by, high = sum[j][half * 2 + 1] * by;
        if (e + 1 < dim && dim % 2 == 0 && y.dtype == HPC_BF16 && !y.adds) {
            *(uint32_t *)((uint16_t *)y.data + at + e) = mma_pair(low, high);
            continue;
        }
        if (e < dim) put(y, at + e, low);
        if (e + 1 < dim) put(y, at + e + 1, high);
    }
}

#endif
