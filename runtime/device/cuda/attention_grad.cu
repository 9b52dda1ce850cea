/*
 * attention_grad.cu: the gradient of attention in f32 arithmetic, of any mix of f32 and bf16.
 */
#include "runtime/device/cuda/attend_grad.cuh"
#include "runtime/device/cuda/attend_plain.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum { EACH = ATTEND_EACH };

/* A warp for each row of queries. */
struct attend_deltas {
    typedef attend_grad_args args;
    enum { threads = 256 };
    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        const int64_t d = g.a.q.extent[2], row = t.block() * (threads / SIMT_WARP) + t.warp();
        float sum = 0;
        if (row >= live_extent(g.a.q, 0, 0) * g.a.q.extent[1]) return;
        for (int64_t e = t.lane(); e < d; e += SIMT_WARP)
            sum += get(g.a.dout, row * d + e) * get(g.a.o, row * d + e);
        for (int by = SIMT_WARP / 2; by > 0; by /= 2) sum += t.shuffle_xor(sum, by);
        if (t.lane() == 0) g.delta[row] = sum;
    }
};

struct attend_dq {
    typedef attend_grad_args args;
    enum { threads = ATTEND_THREADS };
    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        attend_tile tile;
        const hpc_attention_grad_args &a = g.a;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int head = t.block_y(), d = s.dim;
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), s.group, ATTEND_ROWS)) return;
        const simt_shared<float> q = attend_matrix(t, 0, d), dout = attend_matrix(t, 1, d);
        const simt_shared<float> k = attend_matrix(t, 2, d), v = attend_matrix(t, 3, d);
        const simt_shared<float> ds = attend_square(t, 4, 0, d);
        const int r = t.thread() / ATTEND_BESIDE, part = t.thread() % ATTEND_BESIDE;
        const attend_row row = attend_row_of(g, s, tile, r, head);
        const attend_span all = attend_tile_span(a.attr, s, tile, ATTEND_ROWS);
        float sum[ATTEND_PARTS] = {0}, x[EACH], y[EACH];
        attend_load(t, q, a.q, d, attend_query_rows{s, tile, head});
        attend_load(t, dout, a.dout, d, attend_query_rows{s, tile, head});
        for (int first = all.lo; first < all.hi; first += ATTEND_ROWS) {
            t.sync(); /* readers of the block before */
            attend_load(t, k, a.k, d, attend_own_rows{s, tile, first, head});
            attend_load(t, v, a.v, d, attend_own_rows{s, tile, first, head});
            t.sync();
            attend_dots(x, q.from(r * attend_pitch(d)), k, d, part);
            attend_dots(y, dout.from(r * attend_pitch(d)), v, d, part);
            for (int j = 0; j < EACH; j++) {
                const int key = part + j * ATTEND_BESIDE, at = first + key;
                attend_pair(a.attr, &x[j], &y[j], at >= row.sees.lo && at < row.sees.hi, row.lse,
                            row.delta);
                ds[r * ATTEND_PITCH + key] = y[j];
            }
            t.sync_warp();
            attend_add(sum, ds.from(r * ATTEND_PITCH), 1, k, d, part);
        }
        const int64_t at = attend_query(s, tile, r, head);
        if (at >= 0) attend_put(a.dq, at, sum, d, part, (float)a.attr.scale);
    }
};

/* Rows of keys. */
struct attend_dkv {
    typedef attend_grad_args args;
    enum { threads = ATTEND_THREADS };

    /* p and ds of all rows and keys of a block, in squares of rows of queries. */
    static SIMT_DEVICE void pairs(const simt &t, const args &g, const attend_shape &s,
                                  const attend_tile &rows, int first_key)
    {
        const int d = s.dim, r = t.thread() / ATTEND_BESIDE, part = t.thread() % ATTEND_BESIDE;
        const simt_shared<float> p = attend_square(t, 4, 0, d), ds = attend_square(t, 4, 1, d);
        const attend_row row = attend_row_of(g, s, rows, r, t.block_y());
        float x[EACH], y[EACH];
        attend_dots(x, attend_matrix(t, 0, d).from(r * attend_pitch(d)), attend_matrix(t, 2, d), d,
                    part);
        attend_dots(y, attend_matrix(t, 1, d).from(r * attend_pitch(d)), attend_matrix(t, 3, d), d,
                    part);
        for (int j = 0; j < EACH; j++) {
            const int key = part + j * ATTEND_BESIDE, at = first_key + key;
            attend_pair(g.a.attr, &x[j], &y[j], at >= row.sees.lo && at < row.sees.hi, row.lse,
                        row.delta);
            p[r * ATTEND_PITCH + key] = x[j];
            ds[r * ATTEND_PITCH + key] = y[j];
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        attend_tile tile;
        const hpc_attention_grad_args &a = g.a;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int head = t.block_y(), d = s.dim;
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), 1, ATTEND_ROWS)) return;
        const simt_shared<float> q = attend_matrix(t, 0, d), dout = attend_matrix(t, 1, d);
        const simt_shared<float> p = attend_square(t, 4, 0, d), ds = attend_square(t, 4, 1, d);
        const int key = t.thread() / ATTEND_BESIDE, part = t.thread() % ATTEND_BESIDE;
        const attend_span see = attend_queries(a.attr, tile, ATTEND_ROWS);
        const attend_own_rows keys = {s, tile, tile.first, head};
        float dk[ATTEND_PARTS] = {0}, dv[ATTEND_PARTS] = {0};
        attend_load(t, attend_matrix(t, 2, d), a.k, d, keys);
        attend_load(t, attend_matrix(t, 3, d), a.v, d, keys);
        attend_tile rows = tile;
        for (rows.first = see.lo * s.group; rows.first < see.hi * s.group;
             rows.first += ATTEND_ROWS) {
            t.sync(); /* readers of the block before */
            attend_load(t, q, a.q, d, attend_query_rows{s, rows, head});
            attend_load(t, dout, a.dout, d, attend_query_rows{s, rows, head});
            t.sync();
            pairs(t, g, s, rows, tile.first);
            t.sync();
            attend_add(dk, ds.from(key), ATTEND_PITCH, q, d, part);
            attend_add(dv, p.from(key), ATTEND_PITCH, dout, d, part);
        }
        if (keys(key) < 0) return;
        attend_put(a.dk, keys(key), dk, d, part, (float)a.attr.scale);
        attend_put(a.dv, keys(key), dv, d, part, 1);
    }
};

} // namespace

int hpc_cuda_attend_deltas(const hpc_cuda_stream *s, const attend_grad_args &g)
{
    const int64_t rows = g.a.q.extent[0] * g.a.q.extent[1];
    const int64_t each = attend_deltas::threads / SIMT_WARP;
    return simt_launch<attend_deltas>(
        s, {(rows + each - 1) / each, 1, attend_deltas::threads, 0, false}, g);
}

int hpc_cuda_attention_grad(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const attend_grad_args g = {*(const hpc_attention_grad_args *)args, (float *)workspace};
    const attend_shape shape = attend_shape_of(g.a.q, g.a.k);
    const int64_t rows = g.a.q.extent[0], n = g.a.start.extent[0];
    const int bytes_q = attend_bytes(4, 1, shape.dim), bytes_k = attend_bytes(4, 2, shape.dim);
    const int64_t tiles_q = attend_tiles(rows, n, shape.group, ATTEND_ROWS);
    const int64_t tiles_k = attend_tiles(rows, n, 1, ATTEND_ROWS);
    int rc = hpc_cuda_attend_deltas(s, g);
    if (rc == 0)
        rc = simt_launch<attend_dq>(s, {tiles_q, shape.key_heads, ATTEND_THREADS, bytes_q, false},
                                    g);
    if (rc != 0) return rc;
    return simt_launch<attend_dkv>(s, {tiles_k, shape.key_heads, ATTEND_THREADS, bytes_k, false},
                                   g);
}
