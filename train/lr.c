/*
 * lr.c: learning-rate schedules.
 */
#include <math.h>

#include "train/train.h"

const char *const hpc_lr_names[] = {
    [HPC_LR_CONSTANT] = "constant", [HPC_LR_COSINE] = "cosine", [HPC_LR_LINEAR] = "linear",
    [HPC_LR_STEP] = "step",         [HPC_LR_WSD] = "wsd",       NULL};

/* Fraction of the peak at `t` in [0, 1] after the warmup. */
static double share_at(const hpc_lr_config *c, double t)
{
    double falling = 1 - c->decay;
    switch (c->kind) {
    case HPC_LR_COSINE: return c->least + (1 - c->least) * 0.5 * (1 + cos(acos(-1) * t));
    case HPC_LR_LINEAR: return c->least + (1 - c->least) * (1 - t);
    case HPC_LR_STEP: return t * 3 < 1 ? 1 : t * 3 < 2 ? c->factor : c->factor * c->factor;
    case HPC_LR_WSD:
        return t <= falling ? 1 : c->least + (1 - c->least) * (1 - sqrt((t - falling) / c->decay));
    default: return 1;
    }
}

double hpc_lr_at(const hpc_lr_config *c, int64_t step, int64_t steps)
{
    if (step <= c->warmup) return c->peak * (double)step / (double)c->warmup;
    int64_t n = steps - c->warmup;
    double t = n > 0 ? (double)(step - c->warmup) / (double)n : 1;
    return c->peak * share_at(c, t < 1 ? t : 1);
}
