/*
 * tiny.c: a language model of random weights.
 */
#include "tests/support/tiny.h"

#include "model/model.h"
#include "tests/support/expect.h"

static int first_values(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = hpc_model_tensor_n(t);
    (void)user;
    hpc_model_init(out, t, 0, n, 5);
    for (int64_t k = 0; t->role == HPC_ROLE_MATRIX && k < n; k++) out[k] *= 8;
    return HPC_OK;
}

const char *hpc_test_tiny(char *path, const hpc_test_folder *f, int64_t positions)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    const hpc_weights_save_options o = {.dtype = HPC_F32, .read = first_values};
    c.vocab = HPC_TINY_VOCAB, c.hidden = 64, c.ffn = 96, c.heads = 4, c.kv_heads = 2;
    c.positions = positions;
    hpc_test_path(path, f, "model");
    test_ok(hpc_weights_save(path, &c, &o));
    return path;
}
