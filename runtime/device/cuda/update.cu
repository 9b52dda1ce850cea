/*
 * update.cu: the element-wise parts of optimizers, and the test that enables them.
 */
#include "runtime/device/cuda/table.cuh"
#include "runtime/device/cuda/tensor.cuh"

namespace {

SIMT_DEVICE float scalar(const hpc_tensor &t, float absent)
{
    return present(t) ? get(t, 0) : absent;
}

struct sgd {
    typedef hpc_sgd_args args;
    const args &g;
    float lr;
    SIMT_DEVICE sgd(const simt &, const args &a) : g(a), lr(get(a.lr, 0)) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.param; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        const float decay = (float)g.attr.decay, momentum = (float)g.attr.momentum;
        quad param = load4(g.param, i, n), grad = load4(g.grad, i, n), mom = load4(g.mom, i, n);
        for (int k = 0; k < 4; k++) {
            grad.v[k] += decay * param.v[k];
            mom.v[k] = momentum * mom.v[k] + grad.v[k];
            const float step = g.attr.nesterov ? grad.v[k] + momentum * mom.v[k] : mom.v[k];
            param.v[k] -= lr * step;
        }
        store4(g.mom, i, n, mom);
        store4(g.param, i, n, param);
    }
};

/* 1 - beta^step, for the first and the second moment. */
struct bias {
    float first, second;
    SIMT_DEVICE bias(const hpc_adamw_attr &t, int64_t step)
        : first((float)(1 - pow(t.beta1, (double)step))),
          second((float)(1 - pow(t.beta2, (double)step)))
    {
    }
};

/* The step, which the first thread checks. */
SIMT_DEVICE int64_t step_of(const simt &t, const hpc_tensor &step)
{
    const int64_t n = get_index(step, 0);
    if (n < 1 && t.block() == 0 && t.thread() == 0) t.fail(HPC_FAULT_STEP, n, 0, 0, 0);
    return n;
}

struct adamw {
    typedef hpc_adamw_args args;
    const args &g;
    float lr, clip;
    int64_t step;
    bias b;
    SIMT_DEVICE adamw(const simt &t, const args &a)
        : g(a), lr(get(a.lr, 0)), clip(scalar(a.clip, 1)), step(step_of(t, a.step)), b(a.attr, step)
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.param; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        const float beta1 = (float)g.attr.beta1, rest1 = (float)(1 - g.attr.beta1);
        const float beta2 = (float)g.attr.beta2, rest2 = (float)(1 - g.attr.beta2);
        const float keep = (float)(1 - lr * g.attr.decay), eps = (float)g.attr.eps;
        if (step < 1) return;
        quad param = load4(g.param, i, n), m = load4(g.m, i, n), v = load4(g.v, i, n);
        const quad given = load4(g.grad, i, n);
        for (int k = 0; k < 4; k++) {
            const float grad = given.v[k] * clip;
            m.v[k] = beta1 * m.v[k] + rest1 * grad;
            v.v[k] = beta2 * v.v[k] + rest2 * grad * grad;
            param.v[k] =
                param.v[k] * keep - lr * (m.v[k] / b.first) / (sqrtf(v.v[k] / b.second) + eps);
        }
        store4(g.m, i, n, m);
        store4(g.v, i, n, v);
        store4(g.param, i, n, param);
        if (present(g.half)) store4(g.half, i, n, param);
    }
};

/* A gradient into the moments. */
struct adam_add {
    typedef hpc_adam_add_args args;
    const args &g;
    float clip;
    SIMT_DEVICE adam_add(const simt &, const args &a) : g(a), clip(scalar(a.clip, 1)) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.m; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        const float keep1 = get(g.keep, 0), rest1 = (float)(1 - g.attr.beta1);
        const float keep2 = get(g.keep, 1), rest2 = (float)(1 - g.attr.beta2);
        quad m = load4(g.m, i, n), v = load4(g.v, i, n);
        quad y = load4(g.grad, i, n);
        for (int k = 0; k < 4; k++) {
            const float grad = y.v[k] * clip;
            m.v[k] = keep1 * m.v[k] + rest1 * grad;
            v.v[k] = keep2 * v.v[k] + rest2 * grad * grad;
            y.v[k] = y.v[k] * y.v[k];
        }
        store4(g.m, i, n, m);
        store4(g.v, i, n, v);
        store4(g.y, i, n, y);
    }
};

/* A parameter from the moments. */
struct adam_step {
    typedef hpc_adam_step_args args;
    const args &g;
    float lr;
    int64_t step;
    bias b;
    SIMT_DEVICE adam_step(const simt &t, const args &a)
        : g(a), lr(get(a.lr, 0)), step(step_of(t, a.step)), b(a.attr, step)
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.param; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        const float keep = (float)(1 - lr * g.attr.decay), eps = (float)g.attr.eps;
        if (step < 1) return;
        quad param = load4(g.param, i, n);
        const quad m = load4(g.m, i, n), v = load4(g.v, i, n);
        for (int k = 0; k < 4; k++)
            param.v[k] =
                param.v[k] * keep - lr * (m.v[k] / b.first) / (sqrtf(v.v[k] / b.second) + eps);
        store4(g.param, i, n, param);
        if (present(g.half)) store4(g.half, i, n, param);
    }
};

struct adam {
    typedef hpc_adam_args args;
    const args &g;
    float clip;
    int64_t step;
    bias b;
    SIMT_DEVICE adam(const simt &t, const args &a)
        : g(a), clip(scalar(a.clip, 1)), step(step_of(t, a.step)), b(a.attr, step)
    {
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.v; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        const float beta1 = (float)g.attr.beta1, rest1 = (float)(1 - g.attr.beta1);
        const float beta2 = (float)g.attr.beta2, rest2 = (float)(1 - g.attr.beta2);
        const float eps = (float)g.attr.eps;
        if (step < 1) return;
        quad top = load4(present(g.m) ? g.m : g.top, i, n), v = load4(g.v, i, n), u;
        const quad given = load4(g.grad, i, n);
        for (int k = 0; k < 4; k++) {
            const float grad = given.v[k] * clip;
            if (present(g.m)) top.v[k] = beta1 * top.v[k] + rest1 * grad;
            v.v[k] = beta2 * v.v[k] + rest2 * grad * grad;
            u.v[k] = top.v[k] / b.first / (sqrtf(v.v[k] / b.second) + eps);
        }
        if (present(g.m)) store4(g.m, i, n, top);
        store4(g.v, i, n, v);
        store4(g.u, i, n, u);
    }
};

struct apply {
    typedef hpc_apply_args args;
    const args &g;
    float keep, rate;
    int64_t alike; /* consecutive elements with the same factor `by`; 0: all */
    SIMT_DEVICE apply(const simt &, const args &a)
        : g(a), keep((float)(1 - get(a.lr, 0) * a.attr.decay)),
          rate(get(a.lr, 0) * (float)a.attr.alpha),
          alike(present(a.by) && a.by.rank > 0
                    ? rows_of(a.param) * cols_of(a.param) / a.by.extent[0]
                    : 0)
    {
        if (alike == 0) rate *= scalar(a.by, 1);
    }
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.param; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t i, int n) const
    {
        quad param = load4(g.param, i, n);
        const quad dir = load4(g.dir, i, n);
        for (int k = 0; k < 4; k++) {
            const float by = alike > 0 && k < n ? get(g.by, (i + k) / alike) : 1;
            param.v[k] = param.v[k] * keep - rate * by * dir.v[k];
        }
        store4(g.param, i, n, param);
        if (present(g.half)) store4(g.half, i, n, param);
    }
};

struct below {
    typedef hpc_below_args args;
    const args &g;
    SIMT_DEVICE below(const simt &, const args &a) : g(a) {}
    static SIMT_BOTH const hpc_tensor *operand(const args &a) { return &a.x; }
    SIMT_DEVICE void four(int64_t, int64_t, int64_t, int) const
    {
        const float x = get(g.x, 0);
        const bool most = !present(g.limit) || x <= get(g.limit, 0);
        *(int32_t *)g.ok.data = x - x == 0 && most; /* finite */
    }
};

} // namespace

int hpc_cuda_sgd(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<sgd>(s, args);
}

int hpc_cuda_adamw(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<adamw>(s, args);
}

int hpc_cuda_adam(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<adam>(s, args);
}

int hpc_cuda_adam_add(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<adam_add>(s, args);
}

int hpc_cuda_adam_step(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<adam_step>(s, args);
}

int hpc_cuda_apply(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<apply>(s, args);
}

int hpc_cuda_below(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_point<below>(s, args);
}
