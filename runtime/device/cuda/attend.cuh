/*
 * attend.cuh: what the kernels of attention share: the tiles of query rows or keys of a sequence,
 * the keys that a query sees, scores, and the addresses of keys in pages.
 *
 * The query rows of a sequence and a key head are counted query by query, and within a query by
 * head of the group, so that a tile of a decoded token has the heads of the whole group.
 */
#ifndef HPC_CUDA_ATTEND_H
#define HPC_CUDA_ATTEND_H

#include "runtime/device/cuda/tensor.cuh"

struct attend_shape {
    int heads, key_heads, group, dim;
};

SIMT_BOTH attend_shape attend_shape_of(const hpc_tensor &q, const hpc_tensor &k)
{
    const int heads = (int)q.extent[1], key_heads = (int)k.extent[k.rank - 2];
    return {heads, key_heads, heads / key_heads, (int)q.extent[2]};
}

/* A tile, or less at the end of its sequence. */
struct attend_tile {
    int row;      /* of the sequence's first query */
    int sequence; /* -1: rows of no sequence, which see no keys */
    int queries, keys;
    int first; /* row of the tile within the sequence */
};

/* Most tiles of `length` rows that `rows` rows of up to n sequences have, `each` for every one.
 * The rows before and after all sequences count as two more. */
SIMT_BOTH int64_t attend_tiles(int64_t rows, int64_t n, int each, int length)
{
    return rows * each / length + n + 2;
}

/* The rows of sequence i - 1; i = 0 and i = n: those before and after all sequences. */
SIMT_DEVICE int attend_rows(const hpc_tensor &start, int64_t i, int64_t n, int64_t rows, int *first)
{
    const int64_t from = i == 0 ? 0 : get_index(start, i - 1);
    const int64_t end = i == n ? rows : get_index(start, i);
    *first = (int)from;
    return from < 0 || end < from || end > rows ? -1 : (int)(end - from);
}

/* Finds the tile of this block, the same for all of its warps; false: there are fewer. Each row of
 * a sequence has `each` in its tiles of `length`. Notes sequences whose rows are out of range. */
SIMT_DEVICE bool attend_find(const simt &t, attend_tile *out, const hpc_tensor &start, int64_t rows,
                             int each, int length)
{
    const int64_t n = live_extent(start, 0, 0);
    int left = (int)t.block();
    for (int64_t base = 0; base <= n; base += SIMT_WARP) {
        const int64_t i = base + t.lane();
        int first = 0;
        const int queries = i <= n ? attend_rows(start, i, n, rows, &first) : 0;
        const int tiles = queries > 0 ? (queries * each + length - 1) / length : 0;
        int sum = tiles;
        if (queries < 0 && i > 0 && i < n && t.block() == 0 && t.block_y() == 0 && t.warp() == 0)
            t.fail(HPC_FAULT_START, i - 1, first, get_index(start, i), rows);
        for (int by = 1; by < SIMT_WARP; by *= 2) {
            const int before = t.shuffle(sum, (t.lane() - by) & (SIMT_WARP - 1));
            sum += t.lane() >= by ? before : 0;
        }
        const uint32_t has = t.ballot(sum > left);
        if (has == 0) {
            left -= t.shuffle(sum, SIMT_WARP - 1);
            continue;
        }
        int at = 0;
        while (!(has >> at & 1)) at++;
        out->row = t.shuffle(first, at);
        out->sequence = base + at > 0 && base + at < n ? (int)(base + at) - 1 : -1;
        out->queries = t.shuffle(queries, at);
        out->keys = out->sequence < 0 ? 0 : out->queries;
        out->first = (left - t.shuffle(sum - tiles, at)) * length;
        return true;
    }
    return false;
}

/* The keys [lo, hi) that a query at a position sees. */
struct attend_span {
    int lo, hi;
};

SIMT_DEVICE attend_span attend_visible(const hpc_attention_attr &a, int position, int keys)
{
    int hi = a.causal && position + 1 < keys ? position + 1 : keys;
    hi = hi < 0 ? 0 : hi;
    return {a.window > 0 && hi > a.window ? hi - (int)a.window : 0, hi};
}

SIMT_DEVICE float attend_score(const hpc_attention_attr &a, float product)
{
    const float x = (float)a.scale * product, cap = (float)a.cap;
    return cap > 0 ? cap * tanhf(x / cap) : x;
}

/* The slope of attend_score by the scaled product, at a score. */
SIMT_DEVICE float attend_slope(const hpc_attention_attr &a, float score)
{
    const float cap = (float)a.cap;
    return cap > 0 ? (1 - score / cap) * (1 + score / cap) : 1;
}

/* Element 0 of the query of a tile's row r, for a key head; -1: past the end of the sequence. */
SIMT_DEVICE int64_t attend_query(const attend_shape &s, const attend_tile &tile, int r,
                                 int key_head)
{
    const int at = tile.first + r, query = at / s.group;
    if (query >= tile.queries) return -1;
    return (((int64_t)tile.row + query) * s.heads + key_head * s.group + at % s.group) * s.dim;
}

/* Element 0 of the queries of a tile's rows. */
struct attend_query_rows {
    const attend_shape &s;
    const attend_tile &tile;
    int head;
    SIMT_DEVICE int64_t operator()(int r) const { return attend_query(s, tile, r, head); }
};

/* Element 0 of keys first, first + 1, ... where keys are in the rows of their queries. */
struct attend_own_rows {
    const attend_shape &s;
    const attend_tile &tile;
    int first, head;
    SIMT_DEVICE int64_t operator()(int r) const
    {
        if (first + r >= tile.queries) return -1;
        return (((int64_t)tile.row + first + r) * s.key_heads + head) * s.dim;
    }
};

/* The keys that the query of a row of a tile sees. */
SIMT_DEVICE attend_span attend_row_span(const hpc_attention_attr &a, const attend_shape &s,
                                        const attend_tile &tile, int r)
{
    const int query = (tile.first + r) / s.group;
    if (query >= tile.queries) return {0, 0};
    return attend_visible(a, tile.keys - tile.queries + query, tile.keys);
}

/* The keys that some of the first `length` rows of a tile see. */
SIMT_DEVICE attend_span attend_tile_span(const hpc_attention_attr &a, const attend_shape &s,
                                         const attend_tile &tile, int length)
{
    const int end = tile.queries * s.group - tile.first, last = (end < length ? end : length) - 1;
    return {attend_row_span(a, s, tile, 0).lo, attend_row_span(a, s, tile, last).hi};
}

#endif
