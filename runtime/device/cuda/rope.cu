/*
 * rope.cu: rotary position embedding, a pair of elements for each thread.
 */
#include "runtime/device/cuda/table.h"
#include "runtime/device/cuda/tensor.h"

namespace {

struct rope {
    typedef hpc_rope_args args;
    enum { threads = 256 };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        const int64_t heads = a.x.extent[1], d = a.x.extent[2], pairs = a.freq.extent[0];
        const int64_t each = d - pairs, k = t.block() * threads + t.thread();
        const int64_t row = k / each, i = k % each;
        if (row >= a.x.extent[0] * heads || live_cols(a.x, row) == 0) return;
        if (i >= pairs) {
            set(a.y, row * d + pairs + i, get(a.x, row * d + pairs + i));
            return;
        }
        /* Reduced to a turn in f64, because f32 would lose the angle of a late position. */
        const double turn = 6.283185307179586477,
                     angle = (double)get_index(a.pos, row / heads) * get(a.freq, i);
        const float rest =
            (float)(angle - rint(angle / turn) * turn) * (a.attr.inverse ? -1.0f : 1.0f);
        const float c = cosf(rest) * (float)a.attr.scale, s = sinf(rest) * (float)a.attr.scale;
        const int64_t at = row * d + (a.attr.interleaved ? 2 * i : i);
        const int64_t pair = at + (a.attr.interleaved ? 1 : pairs);
        const float u = get(a.x, at), v = get(a.x, pair);
        set(a.y, at, u * c - v * s);
        set(a.y, pair, u * s + v * c);
    }
};

} // namespace

int hpc_cuda_rope(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_rope_args *a = (const hpc_rope_args *)args;
    const int64_t n = a->x.extent[0] * a->x.extent[1] * (a->x.extent[2] - a->freq.extent[0]);
    const simt_shape shape = {(n + rope::threads - 1) / rope::threads, 1, rope::threads, 0, true};
    return simt_launch<rope>(s, shape, *a);
}
