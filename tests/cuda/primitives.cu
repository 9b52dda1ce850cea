/*
 * primitives.cu: each primitive of simt.cuh in a warp, on given words: the shim and a GPU must
 * give the same ones.
 */
#include "runtime/device/cuda/simt.cuh"
#include "tests/cuda/primitives.h"

namespace {

enum { TILE = 128 /* words of shared memory */ };

SIMT_DEVICE void copy(const simt &t, const primitive_args &a, uint32_t y[4])
{
    const simt_shared<uint32_t> s = t.shared<uint32_t>(0, TILE);
    t.copy_async(s, t.lane() * 4, a.x + t.lane() * 4);
    t.copy_commit();
    t.copy_wait<0>();
    t.sync_warp();
    for (int k = 0; k < 4; k++) y[k] = s[(t.lane() + 1) % SIMT_WARP * 4 + k];
}

SIMT_DEVICE void load(const simt &t, const primitive_args &a, uint32_t y[4])
{
    const simt_shared<uint32_t> s = t.shared<uint32_t>(0, TILE);
    const simt_shared<uint16_t> halves = t.shared<uint16_t>(0, TILE * 2);
    for (int k = 0; k < 4; k++) s[t.lane() * 4 + k] = a.x[t.lane() * 4 + k];
    t.sync_warp();
    if (a.kind == PRIMITIVE_LOAD)
        t.load_matrices(y, halves, t.lane() * 8);
    else
        t.load_matrices_transposed(y, halves, t.lane() * 8);
}

SIMT_DEVICE void multiply(const simt &t, const primitive_args &a, uint32_t y[4])
{
    const uint32_t *x = a.x + t.lane() * 4, *b = a.x + TILE + t.lane() * 2;
    const uint32_t left[4] = {x[0], x[1], x[2], x[3]};
    float d[4] = {0, 1, 2, 3};
    t.multiply(d, left, b[0], b[1]);
    for (int k = 0; k < 4; k++) y[k] = (uint32_t)(int)d[k];
}

SIMT_DEVICE void bytes(const simt &t, const primitive_args &a, uint32_t y[4])
{
    const uint32_t left[2] = {a.x[t.lane() * 2], a.x[t.lane() * 2 + 1]};
    int d[4] = {0, 1, 2, 3};
    t.multiply_bytes(d, left, a.x[TILE + t.lane()]);
    for (int k = 0; k < 4; k++) y[k] = (uint32_t)d[k];
}

SIMT_DEVICE void words(const simt &t, const primitive_args &a, uint32_t y[4])
{
    const uint32_t u = a.x[t.lane()], v = a.x[t.lane() + SIMT_WARP];
    y[0] = (uint32_t)t.dot4((int)u, (int)v, 7);
    y[1] = t.permute(u, v, a.x[t.lane() + 2 * SIMT_WARP] & 0x7777);
    y[2] = (uint32_t)t.shuffle_xor((int)u, 5);
    y[3] = t.ballot(u & 1);
}

struct primitives {
    typedef primitive_args args;
    enum { threads = SIMT_WARP };
    static SIMT_DEVICE void run(const simt &t, const args &a)
    {
        uint32_t y[4];
        switch (a.kind) {
        case PRIMITIVE_COPY: copy(t, a, y); break;
        case PRIMITIVE_MULTIPLY: multiply(t, a, y); break;
        case PRIMITIVE_BYTES: bytes(t, a, y); break;
        case PRIMITIVE_WORDS: words(t, a, y); break;
        default: load(t, a, y);
        }
        for (int k = 0; k < 4; k++) a.y[t.lane() * 4 + k] = y[k];
    }
};

} // namespace

extern "C" __attribute__((visibility("default"))) hpc_cuda_launcher hpc_cuda_primitive;
int hpc_cuda_primitive(const hpc_cuda_stream *s, const void *args, void *)
{
    const simt_shape shape = {1, 1, SIMT_WARP, TILE * (int)sizeof(uint32_t), false};
    return simt_launch<primitives>(s, shape, *(const primitive_args *)args);
}
