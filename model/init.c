/*
 * init.c: first values of parameters, the same for any number of ranks.
 */
#include <math.h>

#include "model/model.h"

void hpc_rope_frequencies(float *out, int64_t d, double theta)
{
    for (int64_t i = 0; i < d / 2; i++) out[i] = (float)pow(theta, -2.0 * (double)i / (double)d);
}

int hpc_model_init(float *out, const hpc_program *p, hpc_value v, uint64_t seed)
{
    const hpc_type *t = &p->value[v].type;
    int64_t n = 1;
    uint32_t index = 0;
    if (!p->value[v].trainable)
        return hpc_fail(HPC_E_ARG, "%s is not a parameter", p->value[v].name);
    for (int k = 0; k < t->rank; k++) n *= t->extent[k];
    for (hpc_value k = 0; k < v; k++) index += p->value[k].trainable;
    if (t->rank < 2) {
        for (int64_t i = 0; i < n; i++) out[i] = 1;
        return HPC_OK;
    }
    hpc_random_fill_normal(out, n, seed, index, 0, 0);
    for (int64_t i = 0; i < n; i++) out[i] *= 0.02f;
    return HPC_OK;
}
