/*
 * point.cu: binary ops, scaling, copies, fills, dropout and the parts of softmax.
 */
#include "runtime/device/cuda/blocks.cuh"
#include "runtime/device/cuda/random.cuh"
#include "runtime/device/cuda/table.cuh"
#include "runtime/device/cuda/tensor.cuh"

namespace {

struct binary {
    typedef hpc_binary_args args;
    const args &g;
    int64_t all, n; /* elements of b */
    bool columns;
    SIMT_DEVICE binary(const simt &, const args &a)
        : g(a), all(extents(a.a, 0, a.a.rank)), n(extents(a.b, 0, a.b.rank)),
          columns(a.b.rank >= 2 && cols_of(a.b) == 1)
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t row, int64_t col, int64_t i, int count) const
    {
        quad a = load4(g.a, i, count), b;
        if (n == all)
            b = load4(g.b, i, count);
        else if (n > 1 && !columns)
            b = load4(g.b, col, count);
        else
            b.v[0] = b.v[1] = b.v[2] = b.v[3] = get(g.b, n == 1 ? 0 : row);
        for (int k = 0; k < 4; k++)
            a.v[k] = g.attr.kind == HPC_ADD   ? a.v[k] + b.v[k]
                     : g.attr.kind == HPC_SUB ? a.v[k] - b.v[k]
                                              : a.v[k] * b.v[k];
        store4(g.y, i, count, a);
    }
};

struct scale {
    typedef hpc_scale_args args;
    const args &g;
    float by;
    SIMT_DEVICE scale(const simt &, const args &a)
        : g(a), by((float)a.attr.alpha * (present(a.by) ? get(a.by, 0) : 1.0f))
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        quad x = load4(g.x, i, n);
        for (int k = 0; k < 4; k++) x.v[k] *= by;
        put4(g.y, i, n, x);
    }
};

/* Towards zero, into [bottom, top]; NaN gives 0. */
SIMT_DEVICE int64_t whole(double v, double low, int64_t bottom, double high, int64_t top)
{
    if (v != v) return 0;
    return v <= low ? bottom : v >= high ? top : (int64_t)v;
}

SIMT_DEVICE void set_any(const hpc_tensor &t, int64_t i, double v)
{
    switch (t.dtype) {
    case HPC_I8: ((int8_t *)t.data)[i] = (int8_t)whole(v, -128, -128, 127, 127); break;
    case HPC_I32:
        ((int32_t *)t.data)[i] = (int32_t)whole(v, -0x1p31, INT32_MIN, 0x1p31 - 1, INT32_MAX);
        break;
    case HPC_I64: ((int64_t *)t.data)[i] = whole(v, -0x1p63, INT64_MIN, 0x1p63, INT64_MAX); break;
    default: set(t, i, (float)v);
    }
}

struct copy_args {
    hpc_copy_args g;
    block_view blocks; /* if x has a block format */
};

struct copy {
    typedef copy_args args;
    const hpc_copy_args &g;
    const block_view &blocks;
    const simt &t;
    SIMT_DEVICE copy(const simt &thread, const args &a) : g(a.g), blocks(a.blocks), t(thread) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.g.x; }
    SIMT_DEVICE void bits(int64_t i) const
    {
        switch (g.x.dtype) {
        case HPC_I64: ((int64_t *)g.y.data)[i] = ((const int64_t *)g.x.data)[i]; break;
        case HPC_F32:
        case HPC_I32: ((int32_t *)g.y.data)[i] = ((const int32_t *)g.x.data)[i]; break;
        case HPC_I8: ((int8_t *)g.y.data)[i] = ((const int8_t *)g.x.data)[i]; break;
        default: ((uint16_t *)g.y.data)[i] = ((const uint16_t *)g.x.data)[i];
        }
    }
    SIMT_DEVICE void four(int64_t row, int64_t col, int64_t i, int n) const
    {
        const bool real = g.y.dtype == HPC_F32 || g.y.dtype == HPC_BF16 || g.y.dtype == HPC_F16;
        for (int k = 0; g.x.dtype == g.y.dtype && k < n; k++) bits(i + k);
        if (g.x.dtype == g.y.dtype) return;
        const quad x = load_real(t, g.x, blocks, row, col, n);
        if (real) {
            store4(g.y, i, n, x);
            return;
        }
        for (int k = 0; k < n; k++) set_any(g.y, i + k, x.v[k]);
    }
};

struct fill {
    typedef hpc_fill_args args;
    const args &g;
    SIMT_DEVICE fill(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        for (int k = 0; k < n; k++) set_any(g.y, i + k, g.attr.value);
    }
};

struct dropout {
    typedef hpc_dropout_args args;
    const args &g;
    int64_t base, cols, step;
    uint32_t share;
    SIMT_DEVICE dropout(const simt &, const args &a)
        : g(a), base((present(a.base) ? get_index(a.base, 0) : 0) + a.attr.row0),
          cols(a.attr.global_cols > 0 ? a.attr.global_cols : cols_of(a.x)),
          step(present(a.step) ? get_index(a.step, 0) : 0),
          share((uint32_t)(a.attr.p * 65536 + 0.5))
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t row, int64_t col, int64_t i, int n) const
    {
        quad x = load4(g.x, i, n);
        uint64_t last = ~(uint64_t)0;
        philox4 bits = {{0, 0, 0, 0}};
        for (int k = 0; k < 4 && step >= 0; k++) {
            const uint64_t at = (uint64_t)((base + row) * cols + g.attr.col0 + col + k);
            if (at / 8 != last)
                bits =
                    philox(at / 8, (uint32_t)g.attr.tensor, (uint32_t)step, (uint64_t)g.attr.seed);
            last = at / 8;
            const uint32_t half = bits.word[at / 2 % 4] >> at % 2 * 16 & 0xffff;
            x.v[k] = half >= share ? x.v[k] * 65536.0f / (float)(65536 - share) : 0;
        }
        store4(g.y, i, n, x);
    }
};

struct soft {
    typedef hpc_soft_args args;
    const args &g;
    SIMT_DEVICE soft(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        for (int k = 0; k < n; k++) {
            const bool counts = !present(g.target) || get_index(g.target, i + k) >= 0;
            const double y = hpc_soft(g.attr.kind, get(g.a, i + k), get(g.b, i + k));
            set(g.y, i + k, counts ? (float)y : 0);
        }
    }
};

} // namespace

int hpc_cuda_binary(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<binary>(s, args);
}

int hpc_cuda_scale(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<scale>(s, args);
}

int hpc_cuda_copy(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_copy_args &g = *(const hpc_copy_args *)args;
    const copy_args a = {g, block_view_of(g.x)};
    return launch_point<copy>(s, &a);
}

int hpc_cuda_fill(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<fill>(s, args);
}

int hpc_cuda_dropout(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<dropout>(s, args);
}

int hpc_cuda_soft(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<soft>(s, args);
}
