/*
 * upcycle.c: mixtures whose experts start as copies of one MLP: the configuration, and the first
 * values of the experts.
 */
#include <math.h>
#include <string.h>

#include "model/priv.h"

/* Families of dense models, and those that add experts to them and nothing else. */
static const struct {
    const char *dense, *sparse;
} pairs[] = {
    {"llama", "mixtral"}, {"mistral", "mixtral"}, {"qwen3", "qwen3_moe"}};

static const char *sparse_of(const char *dense)
{
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (strcmp(pairs[k].dense, dense) == 0) return pairs[k].sparse;
    return NULL;
}

int hpc_model_config_upcycle(hpc_model_config *out, const hpc_model_config *one,
                             const hpc_upcycle_options *o)
{
    const char *family = one->experts > 0 ? one->family : sparse_of(one->family);
    if (one->experts > 1)
        return hpc_fail(HPC_E_ARG,
                        "experts=%lld: the model has %lld experts already; start from a model with "
                        "one, or without any",
                        (long long)o->experts, (long long)one->experts);
    if (!family)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "experts=%lld: no family adds experts to a %s; start from a llama, "
                        "mistral or qwen3",
                        (long long)o->experts, one->family);
    *out = *one;
    if (family != one->family) memcpy(out->family, family, strlen(family) + 1);
    out->experts = o->experts;
    out->top_k = o->top_k;
    if (one->experts == 0) out->expert_every = o->every;
    if (one->experts == 0) out->expert_ffn = one->ffn;
    out->normalise = strcmp(family, "mixtral") == 0 || o->normalise;
    return hpc_model_config_check(out);
}

/* The matrix of which those of the batch t are copies. */
static hpc_model_tensor single_of(const hpc_model_config *one, const hpc_model_tensor *t)
{
    static const int dense[HPC_PART_N] = {[HPC_PART_EXPERT_GATE] = HPC_PART_GATE,
                                          [HPC_PART_EXPERT_UP] = HPC_PART_UP,
                                          [HPC_PART_EXPERT_DOWN] = HPC_PART_DOWN};
    hpc_model_tensor single;
    bool has = model_tensor_at(&single, one, one->experts ? t->part : dense[t->part], t->block, 0);
    hpc_assert(has && single.extent[0] == t->extent[0] && single.extent[1] == t->extent[1]);
    return single;
}

int hpc_weights_read_copies(float *out, const hpc_weights *w, const hpc_model_config *one,
                            const hpc_model_tensor *t, const hpc_upcycle_options *o)
{
    const hpc_model_tensor single = single_of(one, t);
    const int64_t n = t->extent[0] * t->extent[1];
    const uint32_t tensor = (uint32_t)(t->part << 16 | t->block);
    const double below = ldexp(o->zeros, 32);
    int rc = hpc_weights_read(out, w, &single);
    if (rc < 0) return rc;
    for (int64_t e = t->batch - 1; e >= 0; e--) /* the first, which is read, is changed last */
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits = hpc_random_bits(o->seed, tensor, (uint32_t)e, (uint64_t)i);
            out[e * n + i] = (double)bits < below ? 0 : out[i];
        }
    return HPC_OK;
}
