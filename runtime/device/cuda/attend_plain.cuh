/*
 * attend_plain.cuh: attention in f32 arithmetic: rows of queries and keys in shared memory, and
 * sums of their products. Eight neighbouring threads share a row.
 */
#ifndef HPC_CUDA_ATTEND_PLAIN_H
#define HPC_CUDA_ATTEND_PLAIN_H

#include "runtime/device/cuda/attend.cuh"

enum {
    ATTEND_THREADS = 256,
    ATTEND_BESIDE = 8,                                 /* threads of a row */
    ATTEND_ROWS = ATTEND_THREADS / ATTEND_BESIDE,      /* of a tile, and of a block of keys */
    ATTEND_EACH = ATTEND_ROWS / ATTEND_BESIDE,         /* of a block's rows, for a thread */
    ATTEND_PARTS = HPC_CUDA_HEAD_MOST / ATTEND_BESIDE, /* of a row's elements, for a thread */
    ATTEND_PITCH = ATTEND_ROWS + 1                     /* of a square of rows and keys */
};

/* Rows lie at an odd distance: a column is in as many banks. */
SIMT_BOTH int attend_pitch(int dim)
{
    return dim | 1;
}

/* Shared memory of some matrices [ATTEND_ROWS,dim] and then some squares. */
SIMT_BOTH int attend_bytes(int matrices, int squares, int dim)
{
    const int floats = matrices * attend_pitch(dim) + squares * ATTEND_PITCH;
    return ATTEND_ROWS * floats * (int)sizeof(float);
}

SIMT_DEVICE simt_shared<float> attend_matrix(const simt &t, int k, int dim)
{
    return t.shared<float>(attend_bytes(k, 0, dim), ATTEND_ROWS * attend_pitch(dim));
}

SIMT_DEVICE simt_shared<float> attend_square(const simt &t, int matrices, int k, int dim)
{
    return t.shared<float>(attend_bytes(matrices, k, dim), ATTEND_ROWS * ATTEND_PITCH);
}

/* Loads the rows that rows(r) names by their element 0 of x; zeros where that is negative. */
template <class Rows>
SIMT_DEVICE void attend_load(const simt &t, simt_shared<float> to, const hpc_tensor &x, int dim,
                             const Rows &rows)
{
    for (int r = t.warp(); r < ATTEND_ROWS; r += ATTEND_THREADS / SIMT_WARP) {
        const int64_t at = rows(r);
        for (int e = t.lane(); e < dim; e += SIMT_WARP)
            to[r * attend_pitch(dim) + e] = at < 0 ? 0 : get(x, at + e);
    }
}

/* The products of a row with rows part, part + ATTEND_BESIDE, ... of another matrix. */
SIMT_DEVICE void attend_dots(float out[ATTEND_EACH], simt_shared<float> row,
                             simt_shared<float> other, int dim, int part)
{
    const int pitch = attend_pitch(dim);
    for (int j = 0; j < ATTEND_EACH; j++) out[j] = 0;
    for (int e = 0; e < dim; e++) {
        const float x = row[e];
        SIMT_UNROLL for (int j = 0; j < ATTEND_EACH; j++) out[j] +=
            x * other[(part + j * ATTEND_BESIDE) * pitch + e];
    }
}

/* Adds the rows of a matrix, each times its weight, to the elements part, part + ATTEND_BESIDE, ...
 * of a sum. The weights lie `step` apart. */
SIMT_DEVICE void attend_add(float sum[ATTEND_PARTS], simt_shared<float> weight, int step,
                            simt_shared<float> x, int dim, int part)
{
    const int pitch = attend_pitch(dim);
    for (int j = 0; j < ATTEND_ROWS; j++) {
        const float by = weight[j * step];
        SIMT_UNROLL for (int i = 0; i < ATTEND_PARTS; i++)
        {
            const int e = part + i * ATTEND_BESIDE;
            if (e < dim) sum[i] += by * x[j * pitch + e];
        }
    }
}

/* The elements of a thread times a factor, by `put`. */
SIMT_DEVICE void attend_put(const hpc_tensor &y, int64_t at, const float sum[ATTEND_PARTS], int dim,
                            int part, float by)
{
    SIMT_UNROLL for (int i = 0; i < ATTEND_PARTS; i++)
    {
        const int e = part + i * ATTEND_BESIDE;
        if (e < dim) put(y, at + e, sum[i] * by);
    }
}

#endif
