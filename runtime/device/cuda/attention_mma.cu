/*
 * attention_mma.cu: attention of operands in bf16 by the matrix instructions: a warp has 16 rows,
 * and an online softmax over blocks of keys, which are loaded while the block before is used.
 *
 * Blocks begin at multiples of their length, and keys that a query does not see leave its state as
 * it is, so that a query's bits depend on its own sequence alone.
 */
#include "runtime/device/cuda/attend_mma.cuh"
#include "runtime/device/cuda/attend_page.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

constexpr float LOG2E = 1.44269504f, LN2 = 0.69314718f;

template <int D> struct attention_mma {
    typedef hpc_attention_args args;
    enum {
        threads = MMA_THREADS,
        KEYS = D > 128 ? 32 : 64,
        COLUMNS = KEYS / 8,
        SHARED = (MMA_ROWS + 4 * KEYS) * D * 2
    };

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
    static SIMT_DEVICE void soften(const simt &t, const args &a, float score[COLUMNS][4], int half,
                                   attend_span sees, state *s)
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

    static SIMT_DEVICE void finish(const simt &t, const args &a, int64_t at, int half, int d,
                                   const state &s)
    {
        const float sum = s.sum[half];
        mma_put<D>(t, a.o, at, s.o, half, d, sum == 0 ? 0 : 1 / sum);
        if (at >= 0 && t.lane() % 4 == 0 && present(a.lse))
            set(a.lse, at / d, sum == 0 ? -INFINITY : s.most[half] * LN2 + logf(sum));
    }

    /* Keys and values of a block: of turn 0 or 1 in shared memory. */
    static SIMT_DEVICE simt_shared<uint16_t> buffer(const simt &t, int k)
    {
        return t.shared<uint16_t>((MMA_ROWS + k * KEYS) * D * 2, KEYS * D);
    }

    static SIMT_DEVICE void load(const simt &t, const args &a, const attend_shape &s,
                                 const attend_tile &tile, int first, int turn)
    {
        const attend_key_rows rows = {t, a, s, tile, first, t.block_y()};
        mma_load<D>(t, buffer(t, turn), a.k, KEYS, s.dim, rows);
        mma_load<D>(t, buffer(t, 2 + turn), a.v, KEYS, s.dim, rows);
        t.copy_commit();
    }

    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        attend_tile tile;
        const attend_shape s = attend_shape_of(a.q, a.k);
        const int head = t.block_y(), up = t.warp() * MMA_WARP_ROWS, row = up + t.lane() / 4;
        if (!attend_find(t, &tile, a.start, live_extent(a.q, 0, 0), s.group, MMA_ROWS)) return;
        attend_set_keys(t, &tile, a);
        const simt_shared<uint16_t> q = t.shared<uint16_t>(0, MMA_ROWS * D);
        const attend_span sees[2] = {attend_row_span(a.attr, s, tile, row),
                                     attend_row_span(a.attr, s, tile, row + 8)};
        const attend_span all = attend_tile_span(a.attr, s, tile, MMA_ROWS);
        state mine = {{-INFINITY, -INFINITY}, {0, 0}, {{0}}};
        int turn = 0;
        mma_load<D>(t, q, a.q, MMA_ROWS, s.dim, attend_query_rows{s, tile, head});
        load(t, a, s, tile, all.lo / KEYS * KEYS, 0);
        for (int first = all.lo / KEYS * KEYS; first < all.hi; first += KEYS, turn ^= 1) {
            float score[COLUMNS][4] = {{0}};
            t.copy_wait<0>();
            t.sync();
            if (first + KEYS < all.hi) load(t, a, s, tile, first + KEYS, turn ^ 1);
            mma_rows<D, COLUMNS>(t, score, q, up, buffer(t, turn), s.dim);
            for (int half = 0; half < 2; half++) {
                const attend_span in = {sees[half].lo - first, sees[half].hi - first};
                soften(t, a, score, half, in, &mine);
            }
            mma_add<D, COLUMNS>(t, mine.o, score, buffer(t, 2 + turn), s.dim);
        }
        t.copy_wait<0>();
        for (int half = 0; half < 2; half++)
            finish(t, a, attend_query(s, tile, row + half * 8, head), half, s.dim, mine);
    }
};

template <int D> int launch(const hpc_cuda_stream *s, const hpc_attention_args &a)
{
    typedef attention_mma<D> kernel;
    const attend_shape shape = attend_shape_of(a.q, a.k);
    const int64_t n = attend_tiles(a.q.extent[0], a.start.extent[0], shape.group, MMA_ROWS);
    return simt_launch<kernel>(s, {n, shape.key_heads, kernel::threads, kernel::SHARED, false}, a);
}

} // namespace

int hpc_cuda_attention_mma(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_attention_args *a = (const hpc_attention_args *)args;
    const int64_t dim = a->q.extent[2];
    return dim <= 64 ? launch<64>(s, *a) : dim <= 128 ? launch<128>(s, *a) : launch<256>(s, *a);
}
