/*
 * attend_part.cuh: attention by parts of a sequence's keys: the states of parts, which are added in
 * ascending order, and the kernel that adds those of different blocks.
 *
 * A block that has all parts of its rows, and blocks that share them out, add them by the same
 * operations. So the bits of a row depend neither on the other rows nor on their number.
 */
#ifndef HPC_CUDA_ATTEND_PART_H
#define HPC_CUDA_ATTEND_PART_H

#include "runtime/device/cuda/attend_page.cuh"

struct attend_args {
    hpc_attention_args a;
    int length, parts;
    float *total; /* [rows,heads,dim] */
    float *part;  /* [few,heads,parts,dim + 2]: the maximum, the sum, the weighted values */
};

static inline attend_args attend_args_of(const hpc_attention_args &a, void *workspace)
{
    const hpc_cuda_parts p = hpc_cuda_parts_of(&a);
    return {a, p.length, p.parts, (float *)workspace,
            (float *)((unsigned char *)workspace + p.part_at)};
}

/* Do blocks share out the parts of a row? */
SIMT_DEVICE bool attend_splits(const attend_args &g)
{
    return g.parts > 1 && live_extent(g.a.q, 0, 0) <= HPC_CUDA_FEW;
}

/* The maximum of a row's scores and the sum of its weights; 0: it has seen no key. */
struct attend_sum {
    float most, sum;
};

/* Factors of the weighted values so far and of a part that is added to them. */
struct attend_factors {
    float before, part;
};

/* base2: scores are exponents of 2. */
SIMT_DEVICE attend_factors attend_merge(const simt &t, attend_sum *total, const attend_sum &part,
                                        bool base2)
{
    if (part.sum == 0) return {1, 0};
    const float most = fmaxf(total->most, part.most), before = total->most - most,
                now = part.most - most;
    const attend_factors by = {total->sum == 0 ? 0
                               : base2         ? exp2f(before)
                                               : expf(before),
                               base2 ? exp2f(now) : expf(now)};
    total->sum = by.before == 0 ? t.times(part.sum, by.part)
                                : fmaf(part.sum, by.part, t.times(total->sum, by.before));
    total->most = most;
    return by;
}

/* A factor of 0 leaves out its value, which may be undefined. */
SIMT_DEVICE float attend_blend(const simt &t, const attend_factors &by, float before, float part)
{
    if (by.part == 0) return by.before == 0 ? 0 : t.times(before, by.before);
    if (by.before == 0) return t.times(part, by.part);
    return fmaf(part, by.part, t.times(before, by.before));
}

/* The keys of part p among those of a tile. */
SIMT_DEVICE attend_span attend_in_part(const attend_args &g, attend_span all, int p)
{
    const int lo = p * g.length, hi = lo + g.length;
    return {all.lo > lo ? all.lo : lo, all.hi < hi ? all.hi : hi};
}

/* Where the state of part p of the row with element 0 at `at` lies. */
SIMT_DEVICE float *attend_part_of(const attend_args &g, int64_t at, int dim, int p)
{
    return g.part + (at / dim * g.parts + p) * (dim + 2);
}

SIMT_DEVICE float attend_lse(const simt &t, const attend_sum &row, bool base2)
{
    const float ln2 = 0.69314718f;
    if (row.sum == 0) return -INFINITY;
    return (base2 ? t.times(row.most, ln2) : row.most) + logf(row.sum);
}

/* A warp adds the parts of a row. */
template <int BASE2> struct attend_combine {
    typedef attend_args args;
    enum { threads = 128, ROWS = 16, EACH = HPC_CUDA_HEAD_MOST / SIMT_WARP };

    static SIMT_DEVICE void add_part(const simt &t, float o[EACH], attend_sum *total,
                                     const float *part, int dim)
    {
        const attend_factors by = attend_merge(t, total, {part[0], part[1]}, BASE2);
        SIMT_UNROLL for (int i = 0; i < EACH; i++)
        {
            const int e = i * SIMT_WARP + t.lane();
            if (e < dim) o[i] = attend_blend(t, by, o[i], part[2 + e]);
        }
    }

    static SIMT_DEVICE void finish(const simt &t, const hpc_attention_args &a, int64_t at, int dim,
                                   const float o[EACH], const attend_sum &total)
    {
        const float by = total.sum == 0 ? 0 : 1 / total.sum;
        SIMT_UNROLL for (int i = 0; i < EACH; i++)
        {
            const int e = i * SIMT_WARP + t.lane();
            if (e < dim) put(a.o, at + e, o[i] * by);
        }
        if (t.lane() == 0 && present(a.lse)) set(a.lse, at / dim, attend_lse(t, total, BASE2));
    }

    static SIMT_DEVICE void run(const simt &t, const args &g)
    {
        attend_tile tile;
        const attend_shape s = attend_shape_of(g.a.q, g.a.k);
        if (!attend_splits(g)) return;
        if (!attend_find(t, &tile, g.a.start, live_extent(g.a.q, 0, 0), s.group, ROWS)) return;
        attend_set_keys(t, &tile, g.a);
        for (int r = t.warp(); r < ROWS; r += threads / SIMT_WARP) {
            const int64_t at = attend_query(s, tile, r, t.block_y());
            const attend_span sees = attend_row_span(g.a.attr, s, tile, r);
            attend_sum total = {-INFINITY, 0};
            float o[EACH] = {0};
            if (at < 0) continue;
            for (int p = sees.lo / g.length; p * g.length < sees.hi; p++)
                add_part(t, o, &total, attend_part_of(g, at, s.dim, p), s.dim);
            finish(t, g.a, at, s.dim, o, total);
        }
    }
};

/* After the kernel of all parts. */
template <int BASE2> int attend_launch_combine(const hpc_cuda_stream *s, const attend_args &g)
{
    typedef attend_combine<BASE2> kernel;
    const attend_shape shape = attend_shape_of(g.a.q, g.a.k);
    const int64_t rows = g.a.q.extent[0] < HPC_CUDA_FEW ? g.a.q.extent[0] : (int64_t)HPC_CUDA_FEW;
    const int64_t n = attend_tiles(rows, g.a.start.extent[0], shape.group, kernel::ROWS);
    if (g.parts < 2) return 0;
    return simt_launch<kernel>(s, {n, shape.key_heads, kernel::threads, 0, false}, g);
}

#endif
