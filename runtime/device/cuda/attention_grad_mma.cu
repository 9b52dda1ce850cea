/*
 * attention_grad_mma.cu: the gradient of attention of operands in bf16 by the matrix instructions:
 * a warp has 16 rows of queries for dq, or 16 keys for dk and dv. The next block is loaded while
 * one is used.
 */
#include "runtime/device/cuda/attend_grad.cuh"
#include "runtime/device/cuda/attend_mma.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum { STEP = 32, COLUMNS = STEP / 8 }; /* keys or rows of queries at a time */

/* Shared memory: two matrices of MMA_ROWS rows, then two buffers of two of STEP rows. */
template <int D> SIMT_DEVICE simt_shared<uint16_t> own(const simt &t, int k)
{
    return t.shared<uint16_t>(k * MMA_ROWS * D * 2, MMA_ROWS * D);
}

template <int D> SIMT_DEVICE simt_shared<uint16_t> other(const simt &t, int k, int turn)
{
    return t.shared<uint16_t>((2 * MMA_ROWS + (2 * turn + k) * STEP) * D * 2, STEP * D);
}

template <int D> struct attend_dq_mma {
    typedef attend_grad_args args;
    enum { threads = MMA_THREADS, SHARED = (2 * MMA_ROWS + 4 * STEP) * D * 2 };

    static SIMT_DEVICE void load(const simt &t, const args &g, const attend_own_rows &keys,
                                 int turn)
    {
        mma_load<D>(t, other<D>(t, 0, turn), g.a.k, STEP, keys.s.dim, keys);
        mma_load<D>(t, other<D>(t, 1, turn), g.a.v, STEP, keys.s.dim, keys);
        t.copy_commit();
    }

    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        attend_tile tile;
        const hpc_attention_grad_args &a = g.a;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int head = t.block_y(), up = t.warp() * MMA_WARP_ROWS, r = up + t.lane() / 4;
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), s.group, MMA_ROWS)) return;
        const attend_query_rows queries = {s, tile, head};
        const attend_row row[2] = {attend_row_of(g, s, tile, r, head),
                                   attend_row_of(g, s, tile, r + 8, head)};
        const attend_span all = attend_tile_span(a.attr, s, tile, MMA_ROWS);
        float sum[D / 8][4] = {{0}};
        int turn = 0;
        mma_load<D>(t, own<D>(t, 0), a.q, MMA_ROWS, s.dim, queries);
        mma_load<D>(t, own<D>(t, 1), a.dout, MMA_ROWS, s.dim, queries);
        load(t, g, {s, tile, all.lo, head}, 0);
        for (int first = all.lo; first < all.hi; first += STEP, turn ^= 1) {
            float p[COLUMNS][4] = {{0}}, ds[COLUMNS][4] = {{0}};
            t.copy_wait<0>();
            t.sync();
            if (first + STEP < all.hi) load(t, g, {s, tile, first + STEP, head}, turn ^ 1);
            mma_rows<D, COLUMNS>(t, p, own<D>(t, 0), up, other<D>(t, 0, turn), s.dim);
            mma_rows<D, COLUMNS>(t, ds, own<D>(t, 1), up, other<D>(t, 1, turn), s.dim);
            SIMT_UNROLL for (int i = 0; i < COLUMNS * 4; i++)
            {
                const attend_row &in = row[i % 4 / 2];
                const int key = first + i / 4 * 8 + t.lane() % 4 * 2 + i % 2;
                attend_pair(a.attr, &p[i / 4][i % 4], &ds[i / 4][i % 4],
                            key >= in.sees.lo && key < in.sees.hi, in.lse, in.delta);
            }
            mma_add<D, COLUMNS>(t, sum, ds, other<D>(t, 0, turn), s.dim);
        }
        t.copy_wait<0>();
        for (int half = 0; half < 2; half++)
            mma_put<D>(t, a.dq, queries(r + half * 8), sum, half, s.dim, (float)a.attr.scale);
    }
};

template <int D> struct attend_dkv_mma {
    typedef attend_grad_args args;
    enum {
        threads = MMA_THREADS,
        MATRICES = (2 * MMA_ROWS + 4 * STEP) * D * 2,
        ROW_BYTES = STEP * 4,
        SHARED = MATRICES + 2 * 4 * ROW_BYTES
    };

    /* lse and delta of the rows of a buffer; 0 or 1. */
    static SIMT_DEVICE simt_shared<float> number(const simt &t, int k, int turn)
    {
        return t.shared<float>(MATRICES + (4 * turn + k) * ROW_BYTES, STEP);
    }

    /* The first and last key that they see. */
    static SIMT_DEVICE simt_shared<int> bound(const simt &t, int k, int turn)
    {
        return t.shared<int>(MATRICES + (4 * turn + 2 + k) * ROW_BYTES, STEP);
    }

    static SIMT_DEVICE void load(const simt &t, const args &g, const attend_query_rows &rows,
                                 int turn)
    {
        const int r = t.thread();
        mma_load<D>(t, other<D>(t, 0, turn), g.a.q, STEP, rows.s.dim, rows);
        mma_load<D>(t, other<D>(t, 1, turn), g.a.dout, STEP, rows.s.dim, rows);
        t.copy_commit();
        if (r >= STEP) return;
        const attend_row row = attend_row_of(g, rows.s, rows.tile, r, rows.head);
        number(t, 0, turn)[r] = row.lse;
        number(t, 1, turn)[r] = row.delta;
        bound(t, 0, turn)[r] = row.sees.lo;
        bound(t, 1, turn)[r] = row.sees.hi;
    }

    /* p and ds of a warp's keys, from `key` of this lane on, and the rows of a buffer. */
    static SIMT_DEVICE void pairs(const simt &t, const args &g, float p[COLUMNS][4],
                                  float ds[COLUMNS][4], int key, int turn)
    {
        SIMT_UNROLL for (int i = 0; i < COLUMNS * 4; i++)
        {
            const int r = i / 4 * 8 + t.lane() % 4 * 2 + i % 2, at = key + i % 4 / 2 * 8;
            const bool seen = at >= bound(t, 0, turn)[r] && at < bound(t, 1, turn)[r];
            attend_pair(g.a.attr, &p[i / 4][i % 4], &ds[i / 4][i % 4], seen, number(t, 0, turn)[r],
                        number(t, 1, turn)[r]);
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        attend_tile tile;
        const hpc_attention_grad_args &a = g.a;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int head = t.block_y(), up = t.warp() * MMA_WARP_ROWS, key = up + t.lane() / 4;
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), 1, MMA_ROWS)) return;
        const attend_own_rows keys = {s, tile, tile.first, head};
        const attend_span see = attend_queries(a.attr, tile, MMA_ROWS);
        const int end = see.hi * s.group;
        float dk[D / 8][4] = {{0}}, dv[D / 8][4] = {{0}};
        int turn = 0;
        attend_tile rows = tile;
        rows.first = see.lo * s.group;
        mma_load<D>(t, own<D>(t, 0), a.k, MMA_ROWS, s.dim, keys);
        mma_load<D>(t, own<D>(t, 1), a.v, MMA_ROWS, s.dim, keys);
        load(t, g, {s, rows, head}, 0);
        for (; rows.first < end; turn ^= 1) {
            float p[COLUMNS][4] = {{0}}, ds[COLUMNS][4] = {{0}};
            t.copy_wait<0>();
            t.sync();
            rows.first += STEP;
            if (rows.first < end) load(t, g, {s, rows, head}, turn ^ 1);
            mma_rows<D, COLUMNS>(t, p, own<D>(t, 0), up, other<D>(t, 0, turn), s.dim);
            mma_rows<D, COLUMNS>(t, ds, own<D>(t, 1), up, other<D>(t, 1, turn), s.dim);
            pairs(t, g, p, ds, tile.first + key, turn);
            mma_add<D, COLUMNS>(t, dv, p, other<D>(t, 1, turn), s.dim);
            mma_add<D, COLUMNS>(t, dk, ds, other<D>(t, 0, turn), s.dim);
        }
        t.copy_wait<0>();
        for (int half = 0; half < 2; half++) {
            mma_put<D>(t, a.dk, keys(key + half * 8), dk, half, s.dim, (float)a.attr.scale);
            mma_put<D>(t, a.dv, keys(key + half * 8), dv, half, s.dim, 1);
        }
    }
};

template <int D> int launch(const hpc_cuda_stream *s, const attend_grad_args &g)
{
    typedef attend_dq_mma<D> dq;
    typedef attend_dkv_mma<D> dkv;
    const attend_shape shape = attend_shape_of(g.a.q, g.a.k);
    const int64_t rows = g.a.q.extent[0], n = g.a.start.extent[0];
    const int64_t tiles_q = attend_tiles(rows, n, shape.group, MMA_ROWS);
    const int64_t tiles_k = attend_tiles(rows, n, 1, MMA_ROWS);
    int rc = hpc_cuda_attend_deltas(s, g);
    if (rc == 0)
        rc = simt_launch<dq>(s, {tiles_q, shape.key_heads, MMA_THREADS, dq::SHARED, false}, g);
    if (rc != 0) return rc;
    return simt_launch<dkv>(s, {tiles_k, shape.key_heads, MMA_THREADS, dkv::SHARED, false}, g);
}

} // namespace

int hpc_cuda_attention_grad_mma(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const attend_grad_args g = {*(const hpc_attention_grad_args *)args, (float *)workspace};
    return g.a.q.extent[2] <= 64 ? launch<64>(s, g) : launch<128>(s, g);
}
