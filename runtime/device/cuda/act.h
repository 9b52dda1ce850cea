/*
 * act.h: activations and their derivatives in f32, accurate in the tails and free of overflow.
 */
#ifndef HPC_CUDA_ACT_H
#define HPC_CUDA_ACT_H

#include "runtime/device/cuda/simt.h"

SIMT_DEVICE float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* gelu(x) = x sigmoid(gelu_argument(x)): 0.5 (1 + tanh u) is sigmoid(2 u). */
SIMT_DEVICE float gelu_argument(float x)
{
    return 1.5957691216057308f * (x + 0.044715f * x * x * x);
}

SIMT_DEVICE float act_of(int act, float x)
{
    switch (act) {
    case HPC_GELU_TANH: return x * sigmoid(gelu_argument(x));
    case HPC_GELU_ERF: return 0.5f * x * erfcf(-0.70710678118654752f * x);
    case HPC_SILU: return x / (1.0f + expf(-x));
    case HPC_RELU: return x > 0 ? x : 0;
    case HPC_RELU2: return x > 0 ? x * x : 0;
    case HPC_TANH: return tanhf(x);
    default: return x;
    }
}

SIMT_DEVICE float gelu_slope(float x)
{
    if (x > 30.0f || x < -30.0f) return x > 0 ? 1.0f : 0.0f;
    const float u = gelu_argument(x), s = sigmoid(u), rest = sigmoid(-u);
    return s + s * rest * x * 1.5957691216057308f * (1.0f + 3.0f * 0.044715f * x * x);
}

SIMT_DEVICE float act_slope(int act, float x)
{
    float s;
    switch (act) {
    case HPC_GELU_TANH: return gelu_slope(x);
    case HPC_GELU_ERF: /* the normal distribution, and x times its density */
        return 0.5f * erfcf(-0.70710678118654752f * x) +
               x * expf(-0.5f * x * x) * 0.3989422804014327f;
    case HPC_SILU: s = sigmoid(x); return s + s * (x * sigmoid(-x));
    case HPC_RELU: return x > 0 ? 1 : 0;
    case HPC_RELU2: return x > 0 ? 2 * x : 0;
    case HPC_TANH: s = 1.0f / coshf(x); return s * s;
    default: return 1;
    }
}

#endif
