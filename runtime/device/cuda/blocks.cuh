/*
 * blocks.cuh: units and elements of any block format (block_formats.cuh) in kernels.
 */
#ifndef HPC_CUDA_BLOCKS_H
#define HPC_CUDA_BLOCKS_H

#include "runtime/device/cuda/block_formats.cuh"

/* ---- any format ------------------------------------------------------------------------------
 */

/* Unit `at` of row `row`, counted from the row's first. Factors that the format lacks are 1, and
 * min is 0. */
template <int dtype>
SIMT_DEVICE void load_unit_of(const simt &t, block_unit &u, const block_view &v, int64_t row,
                              int64_t at)
{
    const int per_block = v.block / UNIT;
    const int64_t b = row * v.across + at / per_block;
    u.min = 0;
    for (int h = 0; h < 2; h++) u.half[h] = u.half_min[h] = 1;
    block_format<dtype>::load(t, u, v, b, (int)(at % per_block));
}

SIMT_DEVICE void load_unit(const simt &t, block_unit &u, const block_view &v, int64_t row,
                           int64_t at)
{
    switch (v.dtype) {
    case HPC_Q8_0: load_unit_of<HPC_Q8_0>(t, u, v, row, at); break;
    case HPC_Q4_0: load_unit_of<HPC_Q4_0>(t, u, v, row, at); break;
    case HPC_Q4_K: load_unit_of<HPC_Q4_K>(t, u, v, row, at); break;
    case HPC_Q5_K: load_unit_of<HPC_Q5_K>(t, u, v, row, at); break;
    case HPC_Q6_K: load_unit_of<HPC_Q6_K>(t, u, v, row, at); break;
    case HPC_Q4_1: load_unit_of<HPC_Q4_1>(t, u, v, row, at); break;
    case HPC_Q5_0: load_unit_of<HPC_Q5_0>(t, u, v, row, at); break;
    case HPC_Q5_1: load_unit_of<HPC_Q5_1>(t, u, v, row, at); break;
    case HPC_Q2_K: load_unit_of<HPC_Q2_K>(t, u, v, row, at); break;
    case HPC_Q3_K: load_unit_of<HPC_Q3_K>(t, u, v, row, at); break;
    case HPC_IQ4_NL: load_unit_of<HPC_IQ4_NL>(t, u, v, row, at); break;
    default: load_unit_of<HPC_IQ4_XS>(t, u, v, row, at); break;
    }
}

/* Four elements of a unit, from element 4 w on: the bits of hpc_to_f32. */
SIMT_DEVICE quad unit_quad(const simt &t, const block_unit &u, int w)
{
    uint32_t word = 0;
    for (int k = 0; k < UNIT_WORDS; k++) word = k == w ? u.q[k] : word; /* in registers */
    const bool second = w >= UNIT_WORDS / 2;
    const float scale = u.scale * (float)(second ? u.half[1] : u.half[0]);
    const float min = u.min * (float)(second ? u.half_min[1] : u.half_min[0]);
    quad x;
    for (int k = 0; k < 4; k++) x.v[k] = t.times(scale, (float)(int8_t)(word >> 8 * k)) - min;
    return x;
}

/* n <= 4 elements of a row of x, a whole multiple of 4 in: of a block format, if blocks has one. */
SIMT_DEVICE quad load_real(const simt &t, const hpc_tensor &x, const block_view &blocks,
                           int64_t row, int64_t col, int n)
{
    block_unit u;
    if (blocks.block == 0) return load4(x, row * cols_of(x) + col, n);
    load_unit(t, u, blocks, row, col / UNIT);
    return unit_quad(t, u, (int)(col % UNIT) / 4);
}

#endif
