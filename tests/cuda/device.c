/*
 * device.c: opening the backend cuda: without a driver or a GPU, the error names the missing part;
 * with one, memory, copies and fills work. The shim rejects unknown schedules.
 */
/* tsan: left out, it knows nothing of the shim's stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "runtime/device/kernel/backend.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"

enum { BYTES = 1000 };

/* Bytes return as they went, and those that were filled are. */
static void move_bytes(hpc_device *d)
{
    uint8_t out[BYTES], in[BYTES];
    void *p;
    for (int k = 0; k < BYTES; k++) out[k] = (uint8_t)(k * 7);
    test_ok(hpc_device_alloc(&p, d, BYTES));
    test_ok(hpc_device_copy(d, HPC_COMPUTE, p, out, BYTES, HPC_TO_DEVICE));
    test_ok(hpc_device_fill(d, HPC_COMPUTE, p, 9, 10));
    test_ok(hpc_device_copy(d, HPC_COMPUTE, in, p, BYTES, HPC_TO_HOST));
    test_ok(hpc_device_fence(d));
    memset(out, 9, 10);
    assert_memory_equal(in, out, BYTES);
    hpc_device_free(d, p);
}

static void shim_moves_bytes(void **state)
{
    char library[PATH_MAX];
    hpc_device *d;
    (void)state;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    hpc_device_options o = {.backend = "cuda-shim", .library = library};
    test_ok(hpc_device_open(&d, &o));
    assert_string_equal(hpc_device_about(d).isa, "ascending");
    move_bytes(d);
    hpc_device_close(d);
    o.isa = "sideways";
    test_fails(hpc_device_open(&d, &o), HPC_E_UNSUPPORTED,
               "cuda-shim: no schedule 'sideways': use ascending, descending or permuted");
}

static void gpu_moves_bytes_or_says_what_is_missing(void **state)
{
    char library[PATH_MAX];
    hpc_device *d;
    (void)state;
    if (!hpc_file_exists(hpc_test_built(library, "hpccoder-cuda.so"))) {
        print_message("SKIP: hpccoder-cuda.so was not built (nvcc)\n");
        skip();
    }
    int rc = hpc_device_open(&d, &(hpc_device_options){.backend = "cuda", .library = library});
    if (rc == HPC_OK) {
        move_bytes(d);
        hpc_device_close(d);
        return;
    }
    assert_int_equal(rc, HPC_E_UNSUPPORTED);
    const char *text = hpc_error_get()->text;
    if (!strstr(text, "cuda: no NVIDIA driver is installed") &&
        !strstr(text, "update the driver") && !strstr(text, "no GPU is visible") &&
        !strstr(text, "built for sm_80 and newer"))
        fail_msg("%s", text);
    print_message("SKIP: %s\n", text);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shim_moves_bytes),
        cmocka_unit_test(gpu_moves_bytes_or_says_what_is_missing),
    };
    return cmocka_run_group_tests_name("cuda/device", tests, NULL, NULL);
}
