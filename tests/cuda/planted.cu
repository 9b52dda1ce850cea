/*
 * planted.cu: small kernels, each right or with one bug, that the shim must find.
 */
#include "runtime/device/cuda/simt.h"
#include "tests/cuda/planted.h"

namespace {

enum { SHARED = PLANTED_N * (int)sizeof(float), COLS = PLANTED_TILE };

SIMT_DEVICE void barrier(const simt &t, const planted_args &a, bool within_warp)
{
    const simt_shared<float> s = t.shared<float>(0, PLANTED_N);
    const int k = t.thread(), other = within_warp ? k ^ 31 : PLANTED_N - 1 - k;
    s[k] = ((const float *)a.x)[k];
    if (!a.bug && within_warp) t.sync_warp();
    if (!a.bug && !within_warp) t.sync();
    a.y[k] = s[other];
}

SIMT_DEVICE void async(const simt &t, const planted_args &a)
{
    const simt_shared<float> s = t.shared<float>(0, PLANTED_N);
    const int k = t.thread();
    if (k < PLANTED_N / 4) t.copy_async(s, k * 4, (const float *)a.x + k * 4);
    t.copy_commit();
    if (!a.bug) t.copy_wait<0>();
    t.sync();
    a.y[k] = s[k];
    if (a.bug) t.copy_wait<0>();
}

SIMT_DEVICE void overrun(const simt &t, const planted_args &a)
{
    const simt_shared<float> s = t.shared<float>(0, PLANTED_N);
    const int k = t.thread(), at = a.bug ? k + 1 : k;
    s[at] = ((const float *)a.x)[k];
    a.y[k] = s[at];
}

SIMT_DEVICE void lane(const simt &t, const planted_args &a)
{
    const int k = t.thread();
    if (a.bug && k == 37) return;
    t.sync();
    a.y[k] = ((const float *)a.x)[k];
}

SIMT_DEVICE void collect(const simt &t, const planted_args &a)
{
    const int k = t.thread();
    const float x = ((const float *)a.x)[k];
    if (a.bug && k == 37)
        t.sync();
    else
        a.y[k] = t.shuffle(x, (t.lane() + 1) % SIMT_WARP);
    if (!(a.bug && k == 37)) t.sync();
}

/* Element (row, col) of a tile of 16 x 16; groups of 8 change places in every second row. */
SIMT_DEVICE int place(int row, int col)
{
    return row * COLS + ((col / 8) ^ (row & 1)) * 8 + col % 8;
}

SIMT_DEVICE void swizzle(const simt &t, const planted_args &a)
{
    const simt_shared<uint16_t> s = t.shared<uint16_t>(0, PLANTED_TILE * COLS);
    const int l = t.lane();
    if (t.warp() > 0) return;
    for (int k = l; k < PLANTED_TILE * COLS; k += SIMT_WARP)
        s[place(k / COLS, k % COLS)] = ((const uint16_t *)a.x)[k];
    t.sync_warp();
    uint32_t r[4];
    const int row = l % 16, col = l / 16 * 8; /* matrices: rows 0-7, 8-15, then the next columns */
    t.load_matrices(r, s, a.bug ? row * COLS + col : place(row, col));
    for (int half = 0; half < 2; half++) { /* columns of xt are rows of x */
        float d[4] = {0, 0, 0, 0};
        t.multiply(d, r, r[half], r[half + 2]);
        for (int e = 0; e < 4; e++)
            a.y[(l / 4 + e / 2 * 8) * COLS + half * 8 + l % 4 * 2 + e % 2] = d[e];
    }
}

struct planted {
    typedef planted_args args;
    enum { threads = PLANTED_N };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        switch (a.kind) {
        case PLANTED_BARRIER: barrier(t, a, false); break;
        case PLANTED_WARP: barrier(t, a, true); break;
        case PLANTED_ASYNC: async(t, a); break;
        case PLANTED_OVERRUN: overrun(t, a); break;
        case PLANTED_LANE: lane(t, a); break;
        case PLANTED_COLLECT: collect(t, a); break;
        case PLANTED_SWIZZLE: swizzle(t, a); break;
        default: a.y[t.thread()] = ((const float *)a.x)[t.thread()];
        }
    }
};

} // namespace

extern "C" __attribute__((visibility("default"))) hpc_cuda_launcher hpc_cuda_planted;
int hpc_cuda_planted(const hpc_cuda_stream *s, const void *args, void *)
{
    const planted_args *a = (const planted_args *)args;
    const int shared = a->kind == PLANTED_SWIZZLE ? PLANTED_TILE * COLS * 2 : SHARED;
    const simt_shape shape = {1, 1, PLANTED_N, shared, false};
    return simt_launch<planted>(s, shape, *a);
}
