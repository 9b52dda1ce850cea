/*
 * attention.cu: attention in f32 arithmetic, of any mix of f32 and bf16: an online softmax over
 * blocks of keys. Eight threads share a query row.
 *
 * Blocks begin at multiples of KEYS of their sequence, and keys that a query does not see leave its
 * state as it is, so that a query's bits depend on its own sequence alone.
 */
#include "runtime/device/cuda/attend_page.cuh"
#include "runtime/device/cuda/attend_plain.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum { KEYS = ATTEND_ROWS, EACH = ATTEND_EACH };

struct attention {
    typedef hpc_attention_args args;
    enum { threads = ATTEND_THREADS };

    struct state {
        float most, sum, o[ATTEND_PARTS];
    };

    /* The products of a row in one block become its weights. */
    static SIMT_DEVICE void soften(const simt &t, const args &a, float score[EACH],
                                   attend_span sees, state *row)
    {
        const int part = t.thread() % ATTEND_BESIDE;
        float most = row->most, sum = 0;
        for (int j = 0; j < EACH; j++) {
            const int key = part + j * ATTEND_BESIDE;
            const bool seen = key >= sees.lo && key < sees.hi;
            score[j] = seen ? attend_score(a.attr, score[j]) : -INFINITY;
            most = fmaxf(most, score[j]);
        }
        for (int by = 1; by < ATTEND_BESIDE; by *= 2) most = fmaxf(most, t.shuffle_xor(most, by));
        const float shift = most == -INFINITY ? 0 : most; /* weights of 0, not NaN */
        for (int j = 0; j < EACH; j++) {
            score[j] = expf(score[j] - shift);
            sum += score[j];
        }
        for (int by = 1; by < ATTEND_BESIDE; by *= 2) sum += t.shuffle_xor(sum, by);
        const float shrink = expf(row->most - shift);
        row->most = most;
        row->sum = row->sum * shrink + sum;
        SIMT_UNROLL for (int i = 0; i < ATTEND_PARTS; i++) row->o[i] *= shrink;
    }

    static SIMT_DEVICE void finish(const args &a, int64_t at, int part, int d, const state &row)
    {
        const float by = row.sum == 0 ? 0 : 1 / row.sum;
        if (at < 0) return;
        attend_put(a.o, at, row.o, d, part, by);
        if (part == 0 && present(a.lse))
            set(a.lse, at / d, row.sum == 0 ? -INFINITY : row.most + logf(row.sum));
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        attend_tile tile;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int head = t.block_y();
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), s.group, ATTEND_ROWS)) return;
        attend_set_keys(t, &tile, a);
        const simt_shared<float> q = attend_matrix(t, 0, s.dim), k = attend_matrix(t, 1, s.dim);
        const simt_shared<float> v = attend_matrix(t, 2, s.dim);
        const simt_shared<float> weight = attend_square(t, 3, 0, s.dim);
        const int row = t.thread() / ATTEND_BESIDE, part = t.thread() % ATTEND_BESIDE;
        const attend_span sees = attend_row_span(a.attr, s, tile, row);
        const attend_span all = attend_tile_span(a.attr, s, tile, ATTEND_ROWS);
        state mine = {-INFINITY, 0, {0}};
        attend_load(t, q, a.q, s.dim, attend_query_rows{s, tile, head});
        for (int first = all.lo / KEYS * KEYS; first < all.hi; first += KEYS) {
            float score[EACH];
            t.sync(); /* readers of the block before */
            attend_load(t, k, a.k, s.dim, attend_key_rows{t, a, s, tile, first, head});
            attend_load(t, v, a.v, s.dim, attend_key_rows{t, a, s, tile, first, head});
            t.sync();
            attend_dots(score, q.from(row * attend_pitch(s.dim)), k, s.dim, part);
            soften(t, a, score, {sees.lo - first, sees.hi - first}, &mine);
            for (int j = 0; j < EACH; j++)
                weight[row * ATTEND_PITCH + part + j * ATTEND_BESIDE] = score[j];
            t.sync_warp();
            attend_add(mine.o, weight.from(row * ATTEND_PITCH), 1, v, s.dim, part);
        }
        finish(a, attend_query(s, tile, row, head), part, s.dim, mine);
    }
};

} // namespace

int hpc_cuda_attention(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_attention_args *a = (const hpc_attention_args *)args;
    const attend_shape shape = attend_shape_of(a->q, a->k);
    const int64_t n = attend_tiles(a->q.extent[0], a->start.extent[0], shape.group, ATTEND_ROWS);
    return simt_launch<attention>(
        s, {n, shape.key_heads, attention::threads, attend_bytes(3, 1, shape.dim), false}, *a);
}
