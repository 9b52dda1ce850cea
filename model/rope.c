/*
 * rope.c: rotary frequencies, plain and scaled for longer contexts.
 */
#include <math.h>

#include "model/priv.h"

static const double TWO_PI = 6.283185307179586476925;

static int64_t turned(const hpc_model_config *c)
{
    return (int64_t)((double)hpc_model_config_head_dim(c) * c->rope.share);
}

/* Wavelengths beyond original / low are stretched by factor, those below original / high are left,
 * between them the two are mixed by how often a wave fits into the original length. */
double model_rope_llama3(const hpc_rope_config *r, double f)
{
    double turns = (double)r->original * f / TWO_PI;
    if (turns < r->low) return f / r->factor;
    if (turns > r->high) return f;
    double share = (turns - r->low) / (r->high - r->low);
    return (1 - share) * f / r->factor + share * f;
}

/* The index of the frequency that turns so many times within the original length. */
static double index_of(const hpc_rope_config *r, int64_t d, double turns)
{
    return (double)d * log((double)r->original / (turns * TWO_PI)) / (2 * log(r->theta));
}

/* Frequencies at indices below that of `high` turns are unchanged, those above that of `low` turns
 * are scaled; in between a linear ramp with integer ends within the head. */
static double scale_yarn(const hpc_rope_config *r, int64_t d, int64_t i, double f)
{
    double from = fmax(floor(index_of(r, d, r->high)), 0);
    double to = fmin(ceil(index_of(r, d, r->low)), (double)d - 1);
    if (to == from) to += 0.001;
    double ramp = fmin(fmax(((double)i - from) / (to - from), 0), 1);
    return f / r->factor * ramp + f * (1 - ramp);
}

void hpc_rope_frequencies(float *out, const hpc_model_config *c)
{
    const hpc_rope_config *r = &c->rope;
    int64_t d = turned(c);
    for (int64_t i = 0; i < d / 2; i++) {
        double f = pow(r->theta, -2.0 * (double)i / (double)d);
        if (r->scaling == HPC_ROPE_LINEAR) f /= r->factor;
        if (r->scaling == HPC_ROPE_LLAMA3) f = model_rope_llama3(r, f);
        if (r->scaling == HPC_ROPE_YARN) f = scale_yarn(r, d, i, f);
        out[i] = (float)f;
    }
}

void hpc_rope_local_frequencies(float *out, const hpc_model_config *c)
{
    int64_t d = turned(c);
    for (int64_t i = 0; i < d / 2; i++)
        out[i] = (float)pow(c->rope.local_theta, -2.0 * (double)i / (double)d);
}

int64_t hpc_rope_frequencies_n(const hpc_model_config *c)
{
    return c->position == HPC_ROTARY ? turned(c) / 2 : 0;
}

double hpc_rope_factor(const hpc_model_config *c)
{
    const hpc_rope_config *r = &c->rope;
    if (c->position != HPC_ROTARY || r->scaling != HPC_ROPE_YARN) return 1;
    if (r->attention > 0) return r->attention;
    return r->factor <= 1 ? 1 : 0.1 * log(r->factor) + 1;
}
