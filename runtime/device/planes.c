/*
 * planes.c: HPC_PLANES, the layout in which GPUs read block formats: one part of all blocks after
 * the other, so that neighbouring threads load neighbouring, aligned quants.
 */
#include "runtime/device/kernel/planes.h"
#include "runtime/device/priv.h"

/* Bytes of the parts before `part`, in a block. */
static size_t bytes_before(const hpc_block_parts *of, int part)
{
    size_t sum = 0;
    for (int p = 0; p < part; p++) sum += of->part[p].bytes;
    return sum;
}

bool hpc_planes_part(size_t *from, size_t *bytes, hpc_dtype d, int part, int64_t rows,
                     int64_t first, int64_t n, int64_t k)
{
    const hpc_block_parts of = hpc_block_parts_of(d);
    if (part >= HPC_PARTS_MOST || of.part[part].bytes == 0) return false;
    const size_t across = (size_t)(k / of.block), each = of.part[part].bytes;
    *from = ((size_t)rows * bytes_before(&of, part) + (size_t)first * each) * across;
    *bytes = (size_t)n * across * each;
    return true;
}

void hpc_planes(void *planes, int64_t rows, int64_t first, const void *plain, hpc_dtype d,
                int64_t n, int64_t k)
{
    const hpc_block_parts of = hpc_block_parts_of(d);
    const uint8_t *from = plain;
    size_t at, bytes;
    hpc_assert(of.block > 0 && k % of.block == 0 && first >= 0 && first + n <= rows);
    for (int p = 0; hpc_planes_part(&at, &bytes, d, p, rows, first, n, k); p++) {
        const size_t each = of.part[p].bytes;
        uint8_t *to = (uint8_t *)planes + at;
        for (size_t b = 0; b < bytes / each; b++)
            memcpy(to + b * each, from + b * of.block_bytes + of.part[p].at, each);
    }
}
