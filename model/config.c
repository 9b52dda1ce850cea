/*
 * config.c: what a configuration must satisfy, and what follows from it.
 */
#include "model/model.h"

static int check_divides(const char *a, int64_t na, const char *b, int64_t nb)
{
    if (nb > 0 && na % nb == 0) return HPC_OK;
    return hpc_fail(HPC_E_SHAPE, "%s=%lld is not a multiple of %s=%lld", a, (long long)na, b,
                    (long long)nb);
}

int hpc_model_config_check(const hpc_model_config *c)
{
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {{"vocab", c->vocab}, {"hidden", c->hidden},     {"layers", c->layers},
                 {"heads", c->heads}, {"kv-heads", c->kv_heads}, {"ffn", c->ffn}};
    int rc = HPC_OK;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (sizes[k].value < 1)
            TRY(hpc_fail(HPC_E_ARG, "%s=%lld: at least 1 is needed", sizes[k].key,
                         (long long)sizes[k].value));
    TRY(check_divides("hidden", c->hidden, "heads", c->heads));
    TRY(check_divides("heads", c->heads, "kv-heads", c->kv_heads));
    if (c->hidden / c->heads % 2)
        TRY(hpc_fail(HPC_E_SHAPE, "hidden / heads = %lld: rotary positions need an even number",
                     (long long)(c->hidden / c->heads)));
    if (!(c->dropout >= 0 && c->dropout < 1))
        TRY(hpc_fail(HPC_E_ARG, "dropout=%g is not in [0, 1)", c->dropout));
out:
    return rc;
}

int64_t hpc_model_config_params(const hpc_model_config *c)
{
    int64_t kv = c->hidden / c->heads * c->kv_heads;
    int64_t block =
        2 * c->hidden * c->hidden + 2 * c->hidden * kv + 3 * c->hidden * c->ffn + 2 * c->hidden;
    return c->layers * block + c->hidden + c->vocab * c->hidden * (c->tied ? 1 : 2);
}
