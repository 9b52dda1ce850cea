/*
 * tensor.cuh: elements and live parts of tensors in kernels, and the frame of element-wise kernels.
 */
#ifndef HPC_CUDA_TENSOR_H
#define HPC_CUDA_TENSOR_H

#include "runtime/device/cuda/simt.cuh"
#include "runtime/device/priv.h"

/* ---- extents: as in device/tensor.c ------------------------------------------------------- */

SIMT_BOTH bool present(const hpc_tensor &t)
{
    return t.data != nullptr;
}

SIMT_BOTH int64_t extents(const hpc_tensor &t, int from, int to)
{
    int64_t n = 1;
    for (int k = from; k < to; k++) n *= t.extent[k];
    return n;
}

SIMT_BOTH int64_t cols_of(const hpc_tensor &t)
{
    return t.rank > 0 ? t.extent[t.rank - 1] : 1;
}

SIMT_BOTH int64_t rows_of(const hpc_tensor &t)
{
    return extents(t, 0, t.rank - 1);
}

SIMT_DEVICE int64_t live_of(const hpc_tensor &t, int64_t lead)
{
    const int64_t most = t.extent[t.ragged], n = t.count[lead];
    return n < 0 ? 0 : n > most ? most : n;
}

/* Extent of dimension dim below leading index lead. */
SIMT_DEVICE int64_t live_extent(const hpc_tensor &t, int dim, int64_t lead)
{
    return t.ragged == dim ? live_of(t, lead) : t.extent[dim];
}

SIMT_DEVICE int64_t live_cols(const hpc_tensor &t, int64_t row)
{
    if (t.ragged < 0) return cols_of(t);
    if (t.ragged == t.rank - 1) return live_of(t, row);
    const int64_t at = row / extents(t, t.ragged + 1, t.rank - 1), extent = t.extent[t.ragged];
    return at % extent < live_of(t, at / extent) ? cols_of(t) : 0;
}

SIMT_DEVICE bool is_element_live(const hpc_tensor &t, int64_t i)
{
    const int64_t cols = cols_of(t);
    return i % cols < live_cols(t, i / cols);
}

/* ---- elements ---------------------------------------------------------------------------------
 */

SIMT_DEVICE float get(const hpc_tensor &t, int64_t i)
{
    if (t.dtype == HPC_F32) return ((const float *)t.data)[i];
    const uint16_t half = ((const uint16_t *)t.data)[i];
    return t.dtype == HPC_BF16 ? hpc_bf16_to_f32(half) : hpc_f16_to_f32(half);
}

SIMT_DEVICE void set(const hpc_tensor &t, int64_t i, float v)
{
    if (t.dtype == HPC_F32)
        ((float *)t.data)[i] = v;
    else
        ((uint16_t *)t.data)[i] = t.dtype == HPC_BF16 ? hpc_bf16_from_f32(v) : hpc_f16_from_f32(v);
}

SIMT_DEVICE void put(const hpc_tensor &t, int64_t i, float v)
{
    set(t, i, t.adds ? get(t, i) + v : v);
}

/* An element of an index: i32, or i64 unchanged. */
SIMT_DEVICE int64_t get_index(const hpc_tensor &t, int64_t i)
{
    return t.dtype == HPC_I64 ? ((const int64_t *)t.data)[i] : ((const int32_t *)t.data)[i];
}

/* ---- four elements at once --------------------------------------------------------------------
 */

struct quad {
    float v[4];
};
struct alignas(16) simt_16 {
    uint32_t word[4];
};
struct alignas(8) simt_8 {
    uint32_t word[2];
};

SIMT_DEVICE quad load4(const hpc_tensor &t, int64_t i, int n)
{
    quad q = {{0, 0, 0, 0}};
    if (n == 4 && t.dtype == HPC_F32 && (uintptr_t)((const float *)t.data + i) % 16 == 0) {
        const simt_16 bits = *(const simt_16 *)((const float *)t.data + i);
        for (int k = 0; k < 4; k++) q.v[k] = hpc_bits_f32(bits.word[k]);
        return q;
    }
    if (n == 4 && t.dtype == HPC_BF16 && (uintptr_t)((const uint16_t *)t.data + i) % 8 == 0) {
        const simt_8 bits = *(const simt_8 *)((const uint16_t *)t.data + i);
        for (int k = 0; k < 4; k++)
            q.v[k] = hpc_bf16_to_f32((uint16_t)(bits.word[k / 2] >> k % 2 * 16));
        return q;
    }
    for (int k = 0; k < 4; k++)
        if (k < n) q.v[k] = get(t, i + k);
    return q;
}

SIMT_DEVICE void store4(const hpc_tensor &t, int64_t i, int n, const quad &q)
{
    if (n == 4 && t.dtype == HPC_F32 && (uintptr_t)((const float *)t.data + i) % 16 == 0) {
        simt_16 bits;
        for (int k = 0; k < 4; k++) bits.word[k] = hpc_f32_bits(q.v[k]);
        *(simt_16 *)((float *)t.data + i) = bits;
        return;
    }
    if (n == 4 && t.dtype == HPC_BF16 && (uintptr_t)((const uint16_t *)t.data + i) % 8 == 0) {
        simt_8 bits = {{0, 0}};
        for (int k = 0; k < 4; k++)
            bits.word[k / 2] |= (uint32_t)hpc_bf16_from_f32(q.v[k]) << k % 2 * 16;
        *(simt_8 *)((uint16_t *)t.data + i) = bits;
        return;
    }
    for (int k = 0; k < 4; k++)
        if (k < n) set(t, i + k, q.v[k]);
}

SIMT_DEVICE void put4(const hpc_tensor &t, int64_t i, int n, quad q)
{
    if (t.adds) {
        const quad old = load4(t, i, n);
        for (int k = 0; k < 4; k++) q.v[k] += old.v[k];
    }
    store4(t, i, n, q);
}

/* ---- element-wise kernels ----------------------------------------------------------------------
 */

/* Body(args) is made once per thread; operand(args) is the tensor that is gone through; four(row,
 * col, i, n) does its n <= 4 live elements from i = row cols + col on. */
template <class Body> struct point {
    typedef typename Body::args args;
    enum { threads = 256, BLOCKS_MOST = 4096 };

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const hpc_tensor &over = *Body::operand(a);
        const int64_t cols = cols_of(over), quads = (cols + 3) / 4, n = rows_of(over) * quads;
        const Body body(t, a);
        for (int64_t k = t.block() * threads + t.thread(); k < n; k += t.blocks() * threads) {
            const int64_t row = k >> 31 ? k / quads : (int64_t)((uint32_t)k / (uint32_t)quads);
            const int64_t col = (k - row * quads) * 4, left = live_cols(over, row) - col;
            if (left > 0) body.four(row, col, row * cols + col, left < 4 ? (int)left : 4);
        }
    }
};

template <class Body> int launch_point(const hpc_cuda_stream *s, const void *args)
{
    typedef point<Body> kernel;
    const typename Body::args &a = *(const typename Body::args *)args;
    const hpc_tensor *over = Body::operand(a);
    const int64_t n = rows_of(*over) * ((cols_of(*over) + 3) / 4),
                  blocks = (n + kernel::threads - 1) / kernel::threads;
    const int64_t most = kernel::BLOCKS_MOST;
    const simt_shape shape = {blocks < most ? blocks : most, 1, kernel::threads, 0, true};
    return simt_launch<kernel>(s, shape, a);
}

/* ---- one item for each thread --------------------------------------------------------------- */

/* Body::one(t, args, i) for each i below Body::items(args). */
template <class Body> struct items {
    typedef typename Body::args args;
    enum { threads = 256 };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t i = t.block() * threads + t.thread();
        if (i < Body::items(a)) Body::one(t, a, i);
    }
};

template <class Body> int launch_items(const hpc_cuda_stream *s, const typename Body::args &a)
{
    typedef items<Body> kernel;
    const int64_t blocks = (Body::items(a) + kernel::threads - 1) / kernel::threads;
    const simt_shape shape = {blocks, 1, kernel::threads, 0, true};
    return simt_launch<kernel>(s, shape, a);
}

#endif
