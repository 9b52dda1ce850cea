/*
 * device.c: opening the backend cuda: without a driver or a GPU, the error names the missing part;
 * with one, memory, copies and fills work. The shim rejects unknown schedules. The answers of its
 * driver are set to show the message of each unusable driver and device, and of a small memory.
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
               "cuda-shim: no schedule or setting 'sideways': use ascending, descending, permuted, "
               "graphs=on or graphs=off");
}

static void unusable_drivers_and_devices_are_named(void **state)
{
    static const struct {
        const char *settings;
        int index;
        const char *part;
    } bad[] = {
        {"driver=0", 0, "cuda-shim: no NVIDIA driver is installed"},
        {"driver=12040", 0,
         "cuda-shim: the NVIDIA driver supports CUDA 12.4, this build needs 13.0: update the "
         "driver"},
        {"devices=0", 0, "cuda-shim: no GPU is visible"},
        {"devices=2", 2, "cuda-shim: device 2: devices are 0 to 1"},
        {"permuted architecture=75", 0, "cuda-shim: built for sm_80 and newer, "},
        {"permuted architecture=75", 0, " is sm_75"},
        {"memory=1k", 0, "cuda-shim: no schedule or setting 'memory=1k'"},
    };
    char library[PATH_MAX];
    hpc_device *d;
    (void)state;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        test_fails(hpc_device_open(&d, &(hpc_device_options){.backend = "cuda-shim",
                                                             .library = library,
                                                             .index = bad[k].index,
                                                             .isa = bad[k].settings}),
                   HPC_E_UNSUPPORTED, bad[k].part);
}

static void lacking_memory_says_who_holds_it(void **state)
{
    char library[PATH_MAX];
    hpc_device *d;
    void *most, *more;
    (void)state;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cuda-shim",
                                                      .library = library,
                                                      .isa = "memory=1048576 others=314572"}));
    test_ok(hpc_device_alloc(&most, d, 629145));
    assert_int_equal(hpc_device_available(d), 1048576 - 314572 - 629145);
    test_fails(hpc_device_alloc(&more, d, 209715), HPC_E_NOMEM,
               "cuda-shim: no memory for 0.2 MiB: of the device's 1.0 MiB, this program holds "
               "0.6 MiB and others hold 0.3 MiB");
    hpc_device_free(d, most);
    test_ok(hpc_device_alloc(&more, d, 209715));
    hpc_device_free(d, more);
    hpc_device_close(d);
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
        cmocka_unit_test(unusable_drivers_and_devices_are_named),
        cmocka_unit_test(lacking_memory_says_who_holds_it),
        cmocka_unit_test(gpu_moves_bytes_or_says_what_is_missing),
    };
    return cmocka_run_group_tests_name("cuda/device", tests, NULL, NULL);
}
