/*
 * matrix.cu: linear combinations of matrices, element-wise functions, and matrices as blocks.
 */
#include "runtime/device/cuda/table.cuh"
#include "runtime/device/cuda/tensor.cuh"

namespace {

struct combine {
    typedef hpc_combine_args args;
    const args &g;
    int64_t rows, cols;
    SIMT_DEVICE combine(const simt &, const args &a)
        : g(a), rows(a.y.rank > 1 ? a.y.extent[a.y.rank - 2] : 1), cols(cols_of(a.y))
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    /* a s of matrix k. */
    SIMT_DEVICE float factor(const hpc_tensor &s, double a, int64_t k) const
    {
        return (float)a * (present(s) ? get(s, s.rank > 0 ? k : 0) : 1.0f);
    }
    SIMT_DEVICE void four(int64_t row, int64_t col, int64_t i, int n) const
    {
        const int64_t k = g.y.rank == 3 ? row / rows : 0, r = row % rows;
        const float by1 = factor(g.s1, g.attr.a1, k), by2 = factor(g.s2, g.attr.a2, k);
        quad y = {{0, 0, 0, 0}};
        for (int e = 0; e < n; e++) {
            const int64_t turned = k * rows * cols + (col + e) * rows + r;
            float v = g.attr.a0 != 0 && r == col + e ? factor(g.s0, g.attr.a0, k) : 0;
            if (present(g.x1)) v += by1 * get(g.x1, i + e);
            if (present(g.x2)) v += by2 * get(g.x2, g.attr.trans ? turned : i + e);
            y.v[e] = v;
        }
        store4(g.y, i, n, y);
    }
};

struct map {
    typedef hpc_map_args args;
    const args &g;
    SIMT_DEVICE map(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.x; }
    SIMT_DEVICE double one(double x) const
    {
        const hpc_map_attr &m = g.attr;
        if (m.guarded && (x == 0 || x - x != 0)) return m.other;
        const double y = m.alpha * pow(x, m.power) + m.beta;
        if (m.lo == 0 && m.hi == 0) return y;
        return y < m.lo ? m.lo : y > m.hi ? m.hi : y;
    }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        for (int k = 0; k < n; k++) set(g.y, i + k, (float)one(get(g.x, i + k)));
    }
};

struct tile {
    typedef hpc_tile_args args;
    const args &g;
    SIMT_DEVICE tile(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a)
    {
        return a.attr.inverse ? &a.x : &a.y;
    }
    SIMT_DEVICE void four(int64_t r, int64_t c, int64_t i, int count) const
    {
        const hpc_tensor &blocks = g.attr.inverse ? g.x : g.y, &whole = g.attr.inverse ? g.y : g.x;
        const int64_t rows = blocks.extent[1], cols = blocks.extent[2];
        const int64_t width = whole.extent[whole.rank - 1], across = width / cols;
        const int64_t block = r / rows, row = block / across * rows + r % rows;
        const int64_t at = row * width + block % across * cols + c;
        if (g.attr.inverse)
            store4(g.y, at, count, load4(g.x, i, count));
        else
            store4(g.y, i, count, load4(g.x, at, count));
    }
};

struct bundle {
    typedef hpc_bundle_args args;
    const args &g;
    int64_t part; /* elements of all tensors' parts */
    SIMT_DEVICE bundle(const simt &, const args &a)
        : g(a), part(extents(a.y, 0, a.y.rank) / a.attr.parts)
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        for (int e = 0; e < n; e++) {
            const int64_t p = (i + e) / part;
            int64_t at = (i + e) % part;
            int k = 0;
            for (;; k++) {
                const int64_t own = extents(g.x[k], 0, g.x[k].rank) / g.attr.parts;
                if (at < own) {
                    at += p * own;
                    break;
                }
                at -= own;
            }
            set(g.y, i + e, get(g.x[k], at));
        }
    }
};

/* Matrix block_y() into panels, whose rows are padded with zeros. */
struct pack {
    typedef hpc_pack_args args;
    enum { threads = 256 };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t n = a.x.extent[a.x.rank - 2], k = cols_of(a.x);
        const int64_t all = (n + HPC_PANEL - 1) / HPC_PANEL * HPC_PANEL * k;
        const int64_t e = t.block() * threads + t.thread();
        if (e >= all) return;
        const int64_t row = e / (HPC_PANEL * k) * HPC_PANEL + e % HPC_PANEL,
                      col = e % (HPC_PANEL * k) / HPC_PANEL;
        set(a.y, t.block_y() * all + e,
            row < n ? get(a.x, (t.block_y() * n + row) * k + col) : 0.0f);
    }
};

} // namespace

int hpc_cuda_pack(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_pack_args *a = (const hpc_pack_args *)args;
    const int64_t n = a->x.extent[a->x.rank - 2], k = cols_of(a->x);
    const int64_t all = (n + HPC_PANEL - 1) / HPC_PANEL * HPC_PANEL * k;
    const int batch = a->x.rank == 3 ? (int)a->x.extent[0] : 1;
    const simt_shape shape = {(all + pack::threads - 1) / pack::threads, batch, pack::threads, 0,
                              true};
    return simt_launch<pack>(s, shape, *a);
}

int hpc_cuda_combine(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<combine>(s, args);
}

int hpc_cuda_map(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<map>(s, args);
}

int hpc_cuda_tile(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<tile>(s, args);
}

int hpc_cuda_bundle(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<bundle>(s, args);
}
