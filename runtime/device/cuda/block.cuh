/*
 * block.cuh: sums and maxima of a value over the threads of a block, in a fixed order.
 */
#ifndef HPC_CUDA_BLOCK_H
#define HPC_CUDA_BLOCK_H

#include "runtime/device/cuda/tensor.cuh"

/* Shared memory from byte `at` on has one float for each warp. A NaN does not count. */
SIMT_DEVICE float block_most(const simt &t, float v, int at)
{
    const int warps = t.threads() / SIMT_WARP;
    const simt_shared<float> part = t.shared<float>(at, warps);
    for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) v = fmaxf(v, t.shuffle_xor(v, mask));
    t.sync(); /* the readers of the last maximum */
    if (t.lane() == 0) part[t.warp()] = v;
    t.sync();
    for (int w = 0; w < warps; w++) v = fmaxf(v, part[w]);
    return v;
}

/* Shared memory that block_sum uses, from byte `at` on: one T for each warp. */
template <class T> SIMT_DEVICE T block_sum(const simt &t, T v, int at)
{
    const int warps = t.threads() / SIMT_WARP;
    const simt_shared<T> part = t.shared<T>(at, warps);
    for (int mask = SIMT_WARP / 2; mask > 0; mask /= 2) v += t.shuffle_xor(v, mask);
    t.sync(); /* the last sum's readers */
    if (t.lane() == 0) part[t.warp()] = v;
    t.sync();
    T sum = 0;
    for (int w = 0; w < warps; w++) sum += part[w];
    return sum;
}

#endif
