/*
 * attend_page.cuh: where the keys of a sequence lie: in the pages of a cache, or in the rows of its
 * queries.
 */
#ifndef HPC_CUDA_ATTEND_PAGE_H
#define HPC_CUDA_ATTEND_PAGE_H

#include "runtime/device/cuda/attend.cuh"

/* The keys of a tile's sequence, as many as its pages hold; notes a larger number. */
SIMT_DEVICE void attend_set_keys(const simt &t, attend_tile *tile, const hpc_attention_args &a)
{
    if (!present(a.pages) || tile->sequence < 0) return;
    const int64_t most = a.k.extent[1] * a.pages.extent[1], n = get_index(a.len, tile->sequence);
    if ((n < 0 || n > most) && t.thread() == 0) t.fail(HPC_FAULT_KEYS, tile->sequence, n, most, 0);
    tile->keys = (int)(n < 0 ? 0 : n < most ? n : most);
}

/* Element 0 of keys first, first + 1, ... of a sequence. */
struct attend_key_rows {
    const simt &t;
    const hpc_attention_args &a;
    const attend_shape &s;
    const attend_tile &tile;
    int first, head;

    /* -1: past the last key, or without a page, which is noted. */
    SIMT_DEVICE int64_t operator()(int r) const
    {
        const int key = first + r;
        if (!present(a.pages)) return attend_own_rows{s, tile, first, head}(r);
        if (key >= tile.keys) return -1;
        const int page = (int)a.k.extent[1], at = key / page;
        const int64_t id = get_index(a.pages, tile.sequence * a.pages.extent[1] + at);
        if (id < 0 || id >= a.k.extent[0]) {
            t.fail(HPC_FAULT_PAGE, at, tile.sequence, id, a.k.extent[0]);
            return -1;
        }
        return ((id * page + key % page) * s.key_heads + head) * s.dim;
    }
};

#endif
