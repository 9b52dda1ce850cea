/*
 * attention_mma.cu: attention of operands in bf16 by the matrix instructions: a warp has 16 rows,
 * and an online softmax over blocks of keys, which are loaded while the block before is used.
 *
 * Blocks begin at multiples of their length, and keys that a query does not see leave its state as
 * it is, so that a query's bits depend on its own sequence alone.
 */
#include "runtime/device/cuda/attend_mma.cuh"
#include "runtime/device/cuda/attend_part.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

constexpr float LOG2E = 1.44269504f;

/* PARTS: the keys of a sequence may be several parts. */
template <int D, bool PARTS> struct attention_body {
    typedef attend_args args;
    enum {
        threads = MMA_THREADS,
        KEYS = D > 128 ? 32 : 64,
        COLUMNS = KEYS / 8,
        SHARED = (MMA_ROWS + 4 * KEYS) * D * 2
    };

    static SIMT_DEVICE int parts_of(const args &g) { return PARTS ? g.parts : 1; }

    struct state { /* two rows of this lane; maxima and exponents are of 2 */
        float most[2], sum[2], o[D / 8][4];
    };

    /* Sums and maxima of a row are in the four lanes that share it. */
    static SIMT_DEVICE float row_most(const simt &t, float v)
    {
        v = fmaxf(v, t.shuffle_xor(v, 1));
        return fmaxf(v, t.shuffle_xor(v, 2));
    }

    static SIMT_DEVICE float row_sum(const simt &t, float v)
    {
        v += t.shuffle_xor(v, 1);
        return v + t.shuffle_xor(v, 2);
    }

    /* The products of a row (half 0 or 1 of the lane's two) in one block become its weights. */
    static SIMT_DEVICE void soften(const simt &t, const hpc_attention_args &a,
                                   float score[COLUMNS][4], int half, attend_span sees, state *s)
    {
        float most = s->most[half], sum = 0;
        SIMT_UNROLL for (int i = 0; i < COLUMNS * 2; i++)
        {
            const int key = i / 2 * 8 + t.lane() % 4 * 2 + i % 2;
            float &x = score[i / 2][half * 2 + i % 2];
            x = key >= sees.lo && key < sees.hi ? attend_score(a.attr, x) * LOG2E : -INFINITY;
            most = fmaxf(most, x);
        }
        most = row_most(t, most);
        const float shift = most == -INFINITY ? 0 : most; /* weights of 0, not NaN */
        SIMT_UNROLL for (int i = 0; i < COLUMNS * 2; i++)
        {
            float &x = score[i / 2][half * 2 + i % 2];
            x = exp2f(x - shift);
            sum += x;
        }
        const float shrink = exp2f(s->most[half] - shift);
        s->most[half] = most;
        s->sum[half] = s->sum[half] * shrink + row_sum(t, sum);
        SIMT_UNROLL for (int j = 0; j < D / 8; j++)
        {
            s->o[j][half * 2] *= shrink;
            s->o[j][half * 2 + 1] *= shrink;
        }
    }

    static SIMT_DEVICE void finish(const simt &t, const hpc_attention_args &a, int64_t at, int half,
                                   int d, const state &s)
    {
        const float sum = s.sum[half];
        mma_put<D>(t, a.o, at, s.o, half, d, sum == 0 ? 0 : 1 / sum);
        if (at >= 0 && t.lane() % 4 == 0 && present(a.lse))
            set(a.lse, at / d, attend_lse(t, {s.most[half], sum}, true));
    }

    /* Adds the state of a part to that of the parts before, and leaves the sum in `s`, too. */
    static SIMT_DEVICE void fold(const simt &t, const args &g, attend_sum *total, state *s,
                                 int half, int64_t at, int d)
    {
        const attend_factors by = attend_merge(t, total, {s->most[half], s->sum[half]}, true);
        SIMT_UNROLL for (int i = 0; i < D / 4; i++)
        {
            const int e = i / 2 * 8 + t.lane() % 4 * 2 + i % 2;
            float &o = s->o[i / 2][half * 2 + i % 2];
            if (at < 0 || e >= d) continue;
            o = attend_blend(t, by, g.total[at + e], o);
            g.total[at + e] = o;
        }
        s->most[half] = total->most;
        s->sum[half] = total->sum;
    }

    static SIMT_DEVICE void clear(state *s)
    {
        for (int half = 0; half < 2; half++) {
            s->most[half] = -INFINITY;
            s->sum[half] = 0;
        }
        SIMT_UNROLL for (int i = 0; i < D / 2; i++) s->o[i / 4][i % 4] = 0;
    }

    /* The state of the part that this block has. */
    static SIMT_DEVICE void store(const simt &t, const args &g, const state &s, int half,
                                  int64_t at, int d, int p)
    {
        if (at < 0) return;
        float *const to = attend_part_of(g, at, d, p);
        if (t.lane() % 4 == 0) to[0] = s.most[half];
        if (t.lane() % 4 == 0) to[1] = s.sum[half];
        SIMT_UNROLL for (int i = 0; i < D / 4; i++)
        {
            const int e = i / 2 * 8 + t.lane() % 4 * 2 + i % 2;
            if (e < d) to[2 + e] = s.o[i / 2][half * 2 + i % 2];
        }
    }

    /* Keys and values of a block: of turn 0 or 1 in shared memory. */
    static SIMT_DEVICE simt_shared<uint16_t> buffer(const simt &t, int k)
    {
        return t.shared<uint16_t>((MMA_ROWS + k * KEYS) * D * 2, KEYS * D);
    }

    static SIMT_DEVICE void load(const simt &t, const args &g, const attend_shape &s,
                                 const attend_tile &tile, int first, int turn)
    {
        const hpc_attention_args &a = g.a;
        const attend_key_rows rows = {t, a, s, tile, first, t.block_y() / parts_of(g)};
        mma_load<D>(t, buffer(t, turn), a.k, KEYS, s.dim, rows);
        mma_load<D>(t, buffer(t, 2 + turn), a.v, KEYS, s.dim, rows);
        t.copy_commit();
    }

    /* The blocks of keys `all`. The states of parts, but for the last, are added to totals. */
    static SIMT_DEVICE void attend(const simt &t, const args &g, const attend_shape &s,
                                   const attend_tile &tile, attend_span all, state *mine,
                                   attend_sum total[2])
    {
        const int up = t.warp() * MMA_WARP_ROWS, row = up + t.lane() / 4;
        const int head = t.block_y() / parts_of(g);
        const simt_shared<uint16_t> q = t.shared<uint16_t>(0, MMA_ROWS * D);
        const attend_span sees[2] = {attend_row_span(g.a.attr, s, tile, row),
                                     attend_row_span(g.a.attr, s, tile, row + 8)};
        int turn = 0;
        load(t, g, s, tile, all.lo / KEYS * KEYS, 0);
        for (int first = all.lo / KEYS * KEYS; first < all.hi; first += KEYS, turn ^= 1) {
            float score[COLUMNS][4] = {{0}};
            t.copy_wait<0>();
            t.sync();
            if (first + KEYS < all.hi) load(t, g, s, tile, first + KEYS, turn ^ 1);
            mma_rows<D, COLUMNS>(t, score, q, up, buffer(t, turn), s.dim);
            if (PARTS && first > all.lo && first % g.length == 0) {
                for (int half = 0; half < 2; half++)
                    fold(t, g, &total[half], mine, half,
                         attend_query(s, tile, row + half * 8, head), s.dim);
                clear(mine);
            }
            for (int half = 0; half < 2; half++) {
                const attend_span in = {sees[half].lo - first, sees[half].hi - first};
                soften(t, g.a, score, half, in, mine);
            }
            mma_add<D, COLUMNS>(t, mine->o, score, buffer(t, 2 + turn), s.dim);
        }
        t.copy_wait<0>();
    }

    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        attend_tile tile;
        const hpc_attention_args &a = g.a;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int head = t.block_y() / parts_of(g), part = t.block_y() % parts_of(g);
        const bool splits = PARTS && attend_splits(g);
        if (!splits && part > 0) return;
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), s.group, MMA_ROWS)) return;
        attend_set_keys(t, &tile, a);
        const attend_span whole = attend_tile_span(a.attr, s, tile, MMA_ROWS);
        const attend_span all = splits ? attend_in_part(g, whole, part) : whole;
        attend_sum total[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
        state mine;
        if (splits && all.lo >= all.hi) return;
        clear(&mine);
        mma_load<D>(t, t.shared<uint16_t>(0, MMA_ROWS * D), a.q, MMA_ROWS, s.dim,
                    attend_query_rows{s, tile, head});
        attend(t, g, s, tile, all, &mine, total);
        for (int half = 0; half < 2; half++) {
            const int row = t.warp() * MMA_WARP_ROWS + t.lane() / 4 + half * 8;
            const int64_t at = attend_query(s, tile, row, head);
            if (splits) {
                store(t, g, mine, half, at, s.dim, part);
                continue;
            }
            if (PARTS && total[half].sum != 0) fold(t, g, &total[half], &mine, half, at, s.dim);
            finish(t, a, at, half, s.dim, mine);
        }
    }
};

template <int D> struct attention_mma : attention_body<D, false> {
};
template <int D> struct attention_mma_parts : attention_body<D, true> {
};

template <int D> int launch(const hpc_cuda_stream *s, const attend_args &g)
{
    typedef attention_mma<D> kernel;
    const attend_shape shape = attend_shape_of(g.a.q, g.a.k);
    const int64_t n = attend_tiles(g.a.q.extent[0], g.a.start.extent[0], shape.group, MMA_ROWS);
    const simt_shape blocks = {n, shape.key_heads * g.parts, kernel::threads, kernel::SHARED,
                               false};
    if (g.parts == 1) return simt_launch<kernel>(s, blocks, g);
    if (simt_launch<attention_mma_parts<D>>(s, blocks, g) != 0) return 1;
    return attend_launch_combine<1>(s, g);
}

} // namespace

int hpc_cuda_attention_mma(const hpc_cuda_stream *s, const void *args, void *workspace)
{
    const attend_args g = attend_args_of(*(const hpc_attention_args *)args, workspace);
    const int64_t dim = g.a.q.extent[2];
    return dim <= 64 ? launch<64>(s, g) : dim <= 128 ? launch<128>(s, g) : launch<256>(s, g);
}
