/*
 * faults.c: a complete training program is emitted, differentiated, sharded, opened and run with
 * each allocation failing: always a clean error without leaks (under the address sanitizer).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "train/train.h"
#include "tests/support/fault.h"
#include "tests/support/values.h"

static int whole_life(void *user)
{
    const char *backend = user;
    const hpc_model_config c = {.vocab = 16,
                                .hidden = 8,
                                .layers = 1,
                                .heads = 2,
                                .kv_heads = 1,
                                .ffn = 8,
                                .positions = 8,
                                .norm_eps = 1e-5,
                                .rope = {.theta = 1e4, .share = 1},
                                .act = HPC_SILU,
                                .gated = true,
                                .dropout = 0.1};
    const hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    const hpc_grid_shape serial = {{0}};
    int coord[HPC_AXIS_N] = {0}, rc = HPC_E_NOMEM;
    hpc_step io;
    hpc_device *d = NULL;
    hpc_exec *e = NULL;
    hpc_buf text = {0};
    hpc_program *p = hpc_program_create();
    if (!p) goto out;
    TRY(hpc_step_emit(&io, p, &c, &o, &(hpc_step_options){.model = {.tokens = 8, .sequences = 2}}));
    TRY(hpc_shard(p, &serial, coord, NULL));
    TRY(hpc_device_open(&d, &(hpc_device_options){.backend = backend, .threads = 2}));
    TRY(hpc_exec_open(&e, p, d, NULL, NULL));
    TRY(hpc_exec_run(e, io.update, 0) == HPC_E_NOMEM ? HPC_E_NOMEM : HPC_OK);
    hpc_error_clear(); /* the mock rightly minds that no learning rate was written */
    TRY(hpc_exec_print(&text, e));
out:
    hpc_buf_release(&text);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
    return rc;
}

static void on_cpu(void **state)
{
    (void)state, assert_true(hpc_test_each_alloc(whole_life, "cpu") > 50);
}
static void on_mock(void **state)
{
    (void)state, assert_true(hpc_test_each_alloc(whole_life, "mock") > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_cpu), cmocka_unit_test(on_mock)};
    return cmocka_run_group_tests_name("model/faults", tests, NULL, NULL);
}
