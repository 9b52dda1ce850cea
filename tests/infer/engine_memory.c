/*
 * engine_memory.c: a model that the memory of a GPU is too small for is answered with sizes that
 * fit: a shorter cache, or other weights. An engine with these sizes opens.
 */
/* tsan: left out, it knows nothing of the shim's stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/engine/engine.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

static int drawn(float *out, const hpc_model_tensor *t, void *user)
{
    (void)user;
    hpc_model_init(out, t, 0, hpc_model_tensor_n(t), 5);
    return HPC_OK;
}

static void make_model(char path[PATH_MAX], void **state)
{
    const hpc_gguf_options o = {.dtype = HPC_Q8_0, .read = drawn};
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    c.vocab = 48, c.hidden = 256, c.layers = 4, c.ffn = 512;
    c.heads = c.kv_heads = 4, c.positions = 8192;
    test_ok(hpc_weights_save_gguf(hpc_test_path(path, *state, "model.gguf"), &c, &o));
}

/* The number before `unit` in the message. */
static long number_before(const char *text, const char *unit)
{
    const char *at = strstr(text, unit);
    assert_non_null(at);
    while (at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    return strtol(at, NULL, 10);
}

static int open_engine(hpc_engine_options *o)
{
    hpc_engine *e;
    const int rc = hpc_engine_open(&e, o);
    if (rc >= 0) hpc_engine_close(e);
    return rc;
}

static void sizes_that_fit_are_named(void **state)
{
    char model[PATH_MAX], library[PATH_MAX], text[1024];
    make_model(model, state);
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    hpc_engine_options o = {.model = model,
                            .backend = "cuda-shim",
                            .library = library,
                            .isa = "memory=8000000",
                            .weights = HPC_DTYPE_N,
                            .cache = HPC_BF16,
                            .cache_tokens = 4096,
                            .batch_tokens = 8,
                            .requests = 1};
    assert_int_equal(open_engine(&o), HPC_E_NOMEM);
    snprintf(text, sizeof text, "%s", hpc_error_get()->text);
    hpc_error_clear();
    assert_null(strchr(text, '\n'));
    hpc_test_says(text, "device cuda-shim cannot hold weights of 3 MiB (1 MiB with --weights q4_K) "
                        "and a key-value cache of 16 MiB");
    hpc_test_says(text, "memory for parameters and other state: cuda-shim: no memory for ");
    o.cache_tokens = number_before(text, " tokens fits");
    assert_in_range(o.cache_tokens, 512, 4095);
    test_ok(open_engine(&o));
    o.cache_tokens += 2 * HPC_ENGINE_PAGE;
    test_fails(open_engine(&o), HPC_E_NOMEM, "a cache of ");
    o.isa = "memory=3000000";
    test_fails(open_engine(&o), HPC_E_NOMEM, "tokens fits, or one of ");
    o.isa = "memory=2500000";
    test_fails(open_engine(&o), HPC_E_NOMEM,
               "MiB are available, where --weights q4_K with a cache");
    o.isa = "memory=1000000";
    test_fails(open_engine(&o), HPC_E_NOMEM, "where not even --weights q4_K fits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sizes_that_fit_are_named, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests_name("infer/engine_memory", tests, NULL, NULL);
}
