/*
 * bytes.cuh: products of rows rounded to 8 bits with columns in block formats. A unit of 32 along k
 * contributes to an element
 *
 *     row's scale * (scale * sum of products - min * sum of the row's integers)
 *
 * with exact integer sums. Units are added in f32 in ascending order, in PARTS parts of k that are
 * added in their order. So the kernels for few and for many rows give a row the same bits.
 */
#ifndef HPC_CUDA_BYTES_H
#define HPC_CUDA_BYTES_H

#include "runtime/device/cuda/blocks.cuh"
#include "runtime/device/cuda/product.cuh"

enum { FEW_ROWS = 8, PARTS = 8 };

struct bytes_args {
    hpc_matmul_args g;
    block_view b;
    int8_t *q;    /* rows of a: [rows,k] */
    float *scale; /* [rows,units] */
    int32_t *sum; /* of the integers of the unit's halves, 16 bits each */
    int64_t units;
    product_groups groups;
};

SIMT_BOTH int64_t steps_of(int64_t units)
{
    return (units + UNITS - 1) / UNITS;
}

/* Row of b that is column 0 of the product. */
SIMT_DEVICE int64_t first_column(const bytes_args &a, const product_view &v)
{
    return a.units > 0 ? v.b.base / (a.units * UNIT) : 0;
}

/* Steps of UNITS units in a part. */
SIMT_BOTH int64_t part_steps(int64_t units)
{
    return (steps_of(units) + PARTS - 1) / PARTS;
}

/* The factors of a column's unit, in form `form`: d: sums of products of the halves; sum: of the
 * row's integers. */
template <int form>
SIMT_DEVICE float unit_term(int d0, int d1, float scale, float min, const int half[2],
                            const int half_min[2], int32_t sum)
{
    const bool halves = form == FORM_HALF || form == FORM_HALF_MIN;
    const int d = halves ? half[0] * d0 + half[1] * d1 : d0 + d1;
    if (form == FORM_PLAIN || form == FORM_HALF) return scale * (float)d;
    const int s0 = (int16_t)sum, s1 = sum >> 16;
    const int s = form == FORM_HALF_MIN ? half_min[0] * s0 + half_min[1] * s1 : s0 + s1;
    return fmaf(scale, (float)d, -(min * (float)s));
}

#endif
