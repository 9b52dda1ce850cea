/*
 * block_view.cuh: where the parts of blocks lie, in planes or in plain rows, and an unpacked unit.
 */
#ifndef HPC_CUDA_BLOCK_VIEW_H
#define HPC_CUDA_BLOCK_VIEW_H

#include "runtime/device/cuda/tensor.cuh"
#include "runtime/device/kernel/planes.h"

enum { UNIT = 32, UNIT_WORDS = UNIT / 4, UNITS = 8 /* of a block of 256 elements */ };

/* Which factors a format has beside `scale`. */
enum block_form { FORM_PLAIN, FORM_MIN, FORM_HALF, FORM_HALF_MIN };

struct block_view {
    const uint8_t *part[HPC_PARTS_MOST];
    int stride[HPC_PARTS_MOST]; /* between blocks */
    int dtype, block;
    int64_t across; /* blocks of a row */
};

struct block_unit {
    uint32_t q[UNIT_WORDS]; /* four bytes each */
    float scale, min;
    int half[2], half_min[2];
};

SIMT_BOTH bool is_block_format(int dtype)
{
    return dtype >= HPC_Q8_0 && dtype <= HPC_IQ4_XS;
}

/* On the host. */
inline block_view block_view_of(const hpc_tensor &t)
{
    const hpc_block_parts of = hpc_block_parts_of(t.dtype);
    block_view v = {};
    if (of.block == 0) return v;
    const int64_t blocks = extents(t, 0, t.rank) / of.block;
    int64_t before = 0;
    for (int p = 0; p < HPC_PARTS_MOST; p++) {
        const bool planes = t.pack == HPC_PLANES;
        v.part[p] = (const uint8_t *)t.data + (planes ? blocks * before : of.part[p].at);
        v.stride[p] = planes ? of.part[p].bytes : of.block_bytes;
        before += of.part[p].bytes;
    }
    v.dtype = t.dtype;
    v.block = of.block;
    v.across = cols_of(t) / of.block;
    return v;
}

#endif
