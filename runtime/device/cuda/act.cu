/*
 * act.cu: activations and gates, with their gradients.
 */
#include "runtime/device/cuda/act.h"
#include "runtime/device/cuda/table.h"
#include "runtime/device/cuda/tensor.h"

namespace {

struct act {
    typedef hpc_act_args args;
    const args &g;
    SIMT_DEVICE act(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        quad x = load4(g.x, i, n);
        for (int k = 0; k < 4; k++) x.v[k] = act_of(g.attr.act, x.v[k]);
        store4(g.y, i, n, x);
    }
};

struct act_grad {
    typedef hpc_act_grad_args args;
    const args &g;
    SIMT_DEVICE act_grad(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.dx; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        quad x = load4(g.x, i, n);
        const quad dy = load4(g.dy, i, n);
        for (int k = 0; k < 4; k++) x.v[k] = dy.v[k] * act_slope(g.attr.act, x.v[k]);
        store4(g.dx, i, n, x);
    }
};

struct glu {
    typedef hpc_glu_args args;
    const args &g;
    SIMT_DEVICE glu(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.y; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        quad gate = load4(g.gate, i, n);
        const quad up = load4(g.up, i, n);
        for (int k = 0; k < 4; k++) gate.v[k] = act_of(g.attr.act, gate.v[k]) * up.v[k];
        store4(g.y, i, n, gate);
    }
};

struct glu_grad {
    typedef hpc_glu_grad_args args;
    const args &g;
    SIMT_DEVICE glu_grad(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.dgate; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        const quad gate = load4(g.gate, i, n), dy = load4(g.dy, i, n);
        quad up = load4(g.up, i, n), dgate;
        for (int k = 0; k < 4; k++) {
            dgate.v[k] = dy.v[k] * up.v[k] * act_slope(g.attr.act, gate.v[k]);
            up.v[k] = dy.v[k] * act_of(g.attr.act, gate.v[k]);
        }
        store4(g.dgate, i, n, dgate);
        store4(g.dup, i, n, up);
    }
};

} // namespace

int hpc_cuda_act(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<act>(s, args);
}

int hpc_cuda_act_grad(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<act_grad>(s, args);
}

int hpc_cuda_glu(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<glu>(s, args);
}

int hpc_cuda_glu_grad(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<glu_grad>(s, args);
}
