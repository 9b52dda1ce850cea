/*
 * attention.cu: attention in f32 arithmetic, of any mix of f32 and bf16: an online softmax over
 * blocks of keys. Eight threads share a query row.
 *
 * Blocks begin at multiples of KEYS of their sequence, and keys that a query does not see leave its
 * state as it is, so that a query's bits depend on its own sequence alone.
 */
#include "runtime/device/cuda/attend_part.cuh"
#include "runtime/device/cuda/attend_plain.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

enum { KEYS = ATTEND_ROWS, EACH = ATTEND_EACH };

/* PARTS: the keys of a sequence may be several parts. */
template <bool PARTS> struct attention_body {
    typedef attend_args args;
    enum { threads = ATTEND_THREADS };

    struct state {
        float most, sum, o[ATTEND_PARTS];
    };

    /* The products of a row in one block become its weights. */
    static SIMT_DEVICE void soften(const simt &t, const hpc_attention_args &a, float score[EACH],
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

    static SIMT_DEVICE void finish(const simt &t, const hpc_attention_args &a, int64_t at, int part,
                                   int d, const state &row)
    {
        const float by = row.sum == 0 ? 0 : 1 / row.sum;
        if (at < 0) return;
        attend_put(a.o, at, row.o, d, part, by);
        if (part == 0 && present(a.lse))
            set(a.lse, at / d, attend_lse(t, {row.most, row.sum}, false));
    }

    /* Adds the state of a part to that of the parts before, and leaves the sum in `row`, too. */
    static SIMT_DEVICE void fold(const simt &t, const args &g, attend_sum *total, state *row,
                                 int64_t at, int d)
    {
        const int part = t.thread() % ATTEND_BESIDE;
        const attend_factors by = attend_merge(t, total, {row->most, row->sum}, false);
        SIMT_UNROLL for (int i = 0; i < ATTEND_PARTS; i++)
        {
            const int e = part + i * ATTEND_BESIDE;
            if (at < 0 || e >= d) continue;
            row->o[i] = attend_blend(t, by, g.total[at + e], row->o[i]);
            g.total[at + e] = row->o[i];
        }
        row->most = total->most;
        row->sum = total->sum;
    }

    /* The state of the part that this block has. */
    static SIMT_DEVICE void store(const simt &t, const args &g, const state &row, int64_t at, int d,
                                  int p)
    {
        const int part = t.thread() % ATTEND_BESIDE;
        if (at < 0) return;
        float *const to = attend_part_of(g, at, d, p);
        if (part == 0) to[0] = row.most;
        if (part == 0) to[1] = row.sum;
        SIMT_UNROLL for (int i = 0; i < ATTEND_PARTS; i++)
        {
            const int e = part + i * ATTEND_BESIDE;
            if (e < d) to[2 + e] = row.o[i];
        }
    }

    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        attend_tile tile;
        const hpc_attention_args &a = g.a;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int parts = PARTS ? g.parts : 1;
        const int head = t.block_y() / parts, mine_part = t.block_y() % parts;
        const bool splits = PARTS && attend_splits(g);
        if (!splits && mine_part > 0) return;
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), s.group, ATTEND_ROWS)) return;
        attend_set_keys(t, &tile, a);
        const simt_shared<float> q = attend_matrix(t, 0, s.dim), k = attend_matrix(t, 1, s.dim);
        const simt_shared<float> v = attend_matrix(t, 2, s.dim);
        const simt_shared<float> weight = attend_square(t, 3, 0, s.dim);
        const int row = t.thread() / ATTEND_BESIDE, part = t.thread() % ATTEND_BESIDE;
        const attend_span sees = attend_row_span(a.attr, s, tile, row);
        const attend_span whole = attend_tile_span(a.attr, s, tile, ATTEND_ROWS);
        const attend_span all = splits ? attend_in_part(g, whole, mine_part) : whole;
        const int64_t at = attend_query(s, tile, row, head);
        attend_sum total = {-INFINITY, 0};
        state mine = {-INFINITY, 0, {0}};
        if (splits && all.lo >= all.hi) return;
        attend_load(t, q, a.q, s.dim, attend_query_rows{s, tile, head});
        for (int first = all.lo / KEYS * KEYS; first < all.hi; first += KEYS) {
            float score[EACH];
            t.sync(); /* readers of the block before */
            attend_load(t, k, a.k, s.dim, attend_key_rows{t, a, s, tile, first, head});
            attend_load(t, v, a.v, s.dim, attend_key_rows{t, a, s, tile, first, head});
            t.sync();
            attend_dots(score, q.from(row * attend_pitch(s.dim)), k, s.dim, part);
            if (PARTS && first > all.lo && first % g.length == 0) {
                fold(t, g, &total, &mine, at, s.dim);
                mine = {-INFINITY, 0, {0}};
            }
            soften(t, a, score, {sees.lo - first, sees.hi - first}, &mine);
            for (int j = 0; j < EACH; j++)
                weight[row * ATTEND_PITCH + part + j * ATTEND_BESIDE] = score[j];
            t.sync_warp();
            attend_add(mine.o, weight.from(row * ATTEND_PITCH), 1, v, s.dim, part);
        }
        if (splits) return store(t, g, mine, at, s.dim, mine_part);
        if (PARTS && total.sum != 0) fold(t, g, &total, &mine, at, s.dim);
        finish(t, a, at, part, s.dim, mine);
    }
};

struct attention : attention_body<false> {};
struct attention_parts : attention_body<true> {};

} // namespace

int hpc_cuda_attention(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const attend_args g = attend_args_of(*(const hpc_attention_args *)args, workspace);
    const attend_shape shape = attend_shape_of(g.a.q, g.a.k);
    const int64_t n = attend_tiles(g.a.q.extent[0], g.a.start.extent[0], shape.group, ATTEND_ROWS);
    const simt_shape blocks = {n, shape.key_heads * g.parts, attention::threads,
                               attend_bytes(3, 1, shape.dim), false};
    if (g.parts == 1) return simt_launch<attention>(s, blocks, g);
    if (simt_launch<attention_parts>(s, blocks, g) != 0) return 1;
    return attend_launch_combine<0>(s, g);
}
