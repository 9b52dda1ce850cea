/*
 * untaught.h: a tiny untrained model that compares functions, with the pilot's tokenizer.
 */
#ifndef HPC_TESTS_PERF_UNTAUGHT_H
#define HPC_TESTS_PERF_UNTAUGHT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/tokenizer.h"

#define PILOT "share/pilot.gguf"
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) < 0) fail_msg("%s: %s", #call, hpc_error_get()->text);                          \
    } while (0)

static inline int untaught_draw(float *out, const hpc_model_tensor *t, void *user)
{
    int64_t n = t->extent[0] * (t->rank > 1 ? t->extent[1] : 1);
    (void)user;
    hpc_model_init(out, t, 0, n, 7);
    for (int64_t k = 0; k < n && t->role != HPC_ROLE_NORM; k++) out[k] *= 12;
    return HPC_OK;
}

static inline hpc_model_config tiny(void)
{
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    OK(hpc_model_config_read(&c, PILOT)); /* for the vocabulary */
    hpc_model_config out = HPC_MODEL_CONFIG_DEFAULTS;
    out.vocab = c.vocab, out.begin = c.begin, out.end = c.end, out.tied = true;
    out.hidden = 32, out.layers = 2, out.heads = 2, out.kv_heads = 1, out.ffn = 48;
    out.positions = 1024, out.head = HPC_HEAD_PAIRS, out.classes = 3;
    return out;
}

static inline void make_model(const char *dir, const hpc_model_config *c)
{
    hpc_weights_save_options o = {.dtype = HPC_F32, .read = untaught_draw};
    OK(hpc_weights_save(dir, c, &o));
    OK(hpc_model_tokenizer_copy(dir, PILOT));
}

#endif
