/*
 * index.cu: rows gathered and scattered by index, and tokens sorted into groups. A block that looks
 * for the rows of one target goes through the index in order, so that sums have the order of rows.
 */
#include "runtime/device/cuda/blocks.cuh"
#include "runtime/device/cuda/table.cuh"
#include "runtime/device/cuda/tensor.cuh"

namespace {

enum { THREADS = 256, WARPS = THREADS / SIMT_WARP, SHARED = WARPS * (int)sizeof(uint32_t) };

struct gather_args {
    hpc_gather_args g;
    block_view blocks; /* if x has a block format */
};

struct gather {
    typedef gather_args args;
    const hpc_gather_args &g;
    const block_view &blocks;
    const simt &t;
    int64_t rows;
    SIMT_DEVICE gather(const simt &thread, const args &a)
        : g(a.g), blocks(a.blocks), t(thread), rows(rows_of(a.g.x))
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.g.y; }
    SIMT_DEVICE void four(int64_t row, int64_t col, int64_t i, int n) const
    {
        if (!is_element_live(g.index, row)) return;
        const int64_t index = get_index(g.index, row);
        const int64_t at = hpc_part_row(index, g.attr.first, g.attr.rows, rows);
        const quad zero = {{0, 0, 0, 0}};
        if (at == HPC_PART_PAST)
            t.fail(HPC_FAULT_ROW, index, row, g.attr.rows ? g.attr.rows : rows, 0);
        store4(g.y, i, n, at >= 0 ? load_real(t, g.x, blocks, at, col, n) : zero);
    }
};

/* A block's bits for THREADS entries: bit l of word w is thread 32 w + l's. */
SIMT_DEVICE simt_shared<uint32_t> block_bits(const simt &t, bool bit)
{
    const simt_shared<uint32_t> words = t.shared<uint32_t>(0, WARPS);
    const uint32_t bits = t.ballot(bit);
    t.sync(); /* readers of the bits before */
    if (t.lane() == 0) words[t.warp()] = bits;
    t.sync();
    return words;
}

SIMT_DEVICE int64_t target_of(const hpc_scatter_args &a, int64_t i)
{
    return hpc_part_row(get_index(a.index, i), a.attr.first, a.attr.rows, rows_of(a.y));
}

/* Row block() of y, COLUMNS of its columns; each thread sums up those THREADS apart. */
enum { EACH = 8, COLUMNS = EACH * THREADS };

struct scatter_rows {
    typedef hpc_scatter_args args;
    enum { threads = THREADS };

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t n = extents(a.index, 0, a.index.rank), cols = cols_of(a.y);
        const int64_t left = (int64_t)t.block_y() * COLUMNS + t.thread();
        const bool adds = a.attr.mode == HPC_SCATTER_ADD;
        float sum[EACH] = {0};
        bool any = adds;
        for (int64_t from = 0; from < n; from += THREADS) {
            const int64_t i = from + t.thread();
            const bool live = i < n && is_element_live(a.index, i);
            const int64_t target = live ? target_of(a, i) : (int64_t)HPC_PART_NONE;
            if (target == HPC_PART_PAST && t.block() == 0)
                t.fail(HPC_FAULT_ROW, get_index(a.index, i), i,
                       a.attr.rows ? a.attr.rows : rows_of(a.y), 0);
            const simt_shared<uint32_t> words = block_bits(t, target == t.block());
            for (int w = 0; w < WARPS; w++) {
                const uint32_t bits = words[w];
                for (int l = 0; bits != 0 && l < SIMT_WARP; l++) {
                    if (!(bits >> l & 1)) continue;
                    any = true;
                    const int64_t at = (from + w * SIMT_WARP + l) * cols + left;
                    for (int k = 0; k < EACH; k++)
                        if (left + k * THREADS < cols)
                            sum[k] = (adds ? sum[k] : 0) + get(a.x, at + k * THREADS);
                }
            }
        }
        for (int k = 0; any && k < EACH; k++) {
            const int64_t c = left + k * THREADS, at = t.block() * cols + c;
            if (c < cols && adds) put(a.y, at, sum[k]);
            if (c < cols && !adds) set(a.y, at, sum[k]);
        }
    }
};

/* Group block(). */
struct route_groups {
    typedef hpc_route_args args;
    enum { threads = THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t tokens = live_extent(a.group, 0, 0), e = t.block(), cap = a.attr.cap;
        int64_t count = 0;
        for (int64_t from = 0; from < tokens; from += THREADS) {
            const int64_t i = from + t.thread(), group = i < tokens ? get_index(a.group, i) : -1;
            if (group >= a.attr.groups && e == 0)
                t.fail(HPC_FAULT_GROUP, i, group, a.attr.groups, 0);
            const simt_shared<uint32_t> words = block_bits(t, group == e);
            int64_t before = 0, all = 0;
            for (int w = 0; w < WARPS; w++) {
                const uint32_t bits = words[w];
                const int l = w < t.warp() ? SIMT_WARP : w > t.warp() ? 0 : t.lane();
                for (int k = 0; k < SIMT_WARP; k++) {
                    before += k < l && (bits >> k & 1);
                    all += bits >> k & 1;
                }
            }
            if (group == e && count + before < cap)
                ((int32_t *)a.index.data)[e * cap + count + before] = (int32_t)i;
            count += all;
        }
        if (t.thread() != 0) return;
        if (count > cap) t.fail(HPC_FAULT_FULL, e, cap, 0, 0);
        ((int32_t *)a.count.data)[e] = (int32_t)(count < cap ? count : cap);
    }
};

struct pick {
    typedef hpc_pick_args args;
    const args &g;
    const simt &t;
    int64_t all;
    SIMT_DEVICE pick(const simt &thread, const args &a)
        : g(a), t(thread), all(extents(a.x, 0, a.x.rank))
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.index; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        for (int k = 0; k < n; k++) {
            const int64_t at = get_index(g.index, i + k);
            if (at >= all) t.fail(HPC_FAULT_ELEMENT, at, i + k, all, 0);
            put(g.y, i + k, at >= 0 && at < all ? get(g.x, at) : 0);
        }
    }
};

struct zeros {
    typedef hpc_spread_args args;
    const args &g;
    SIMT_DEVICE zeros(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        const quad zero = {{0, 0, 0, 0}};
        store4(g.y, i, n, zero);
    }
};

struct spread {
    typedef hpc_spread_args args;
    const args &g;
    const simt &t;
    int64_t all;
    SIMT_DEVICE spread(const simt &thread, const args &a)
        : g(a), t(thread), all(extents(a.y, 0, a.y.rank))
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.index; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        for (int k = 0; k < n; k++) {
            const int64_t at = get_index(g.index, i + k);
            if (at >= all) t.fail(HPC_FAULT_ELEMENT, at, i + k, all, 0);
            if (at >= 0 && at < all) set(g.y, at, get(g.x, i + k));
        }
    }
};

} // namespace

int hpc_cuda_gather(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_gather_args &g = *(const hpc_gather_args *)args;
    const gather_args a = {g, block_view_of(g.x)};
    return launch_point<gather>(s, &a);
}

int hpc_cuda_scatter(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_scatter_args *a = (const hpc_scatter_args *)args;
    const int across = (int)((cols_of(a->y) + COLUMNS - 1) / COLUMNS);
    const simt_shape shape = {rows_of(a->y), across, THREADS, SHARED, false};
    return simt_launch<scatter_rows>(s, shape, *a);
}

int hpc_cuda_route(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_route_args *a = (const hpc_route_args *)args;
    const simt_shape shape = {a->attr.groups, 1, THREADS, SHARED, false};
    return simt_launch<route_groups>(s, shape, *a);
}

int hpc_cuda_pick(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<pick>(s, args);
}

int hpc_cuda_spread(const hpc_cuda_stream *s, const void *args, void *)
{
    const int rc = launch_point<zeros>(s, args);
    return rc != 0 ? rc : launch_point<spread>(s, args);
}
