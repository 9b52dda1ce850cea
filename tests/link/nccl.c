/*
 * nccl.c: opening the link over NCCL where there is no GPU or no NCCL: one clear
 * line on every rank, and the host's link lives on. Operations need two GPUs and
 * are not tested here.
 */
#include "tests/support/ranks.h"

#include <dlfcn.h>
#include <limits.h>

#include "runtime/link/nccl/rail.h"
#include "tests/support/command.h"

static const hpc_rail *rail_of(char path[PATH_MAX])
{
    void *object;
    if (!hpc_file_exists(hpc_test_built(path, "hpccoder-nccl.so"))) return NULL;
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return object ? dlsym(object, HPC_RAIL_SYMBOL) : NULL;
}

static int devices(char path[PATH_MAX])
{
    char why[HPC_RAIL_TEXT];
    const hpc_rail *rail = rail_of(path);
    int n = 0;
    return rail && rail->devices(&n, why) == 0 ? n : 0;
}

static int opens_none(hpc_link *host, void *user)
{
    hpc_link *l;
    EXPECT_FAILURE(hpc_nccl_open(&l, host, 0, user), HPC_E_UNSUPPORTED,
                   "nccl: no CUDA device here");
    EXPECT(!l);
    int64_t one = 1, sum; /* the host's link lives on */
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &one, .recv = &sum};
    EXPECT(hpc_link_run(host, &c) == 0 && sum == host->size);
    return 0;
}

static void without_a_device(void **state)
{
    (void)state;
    char path[PATH_MAX];
    if (!rail_of(path)) {
        print_message("SKIP: hpccoder-nccl.so was not built (CUDA and libnccl-dev)\n");
        skip();
    }
    if (devices(path) > 0) {
        print_message("SKIP: there is a CUDA device\n");
        skip();
    }
    run_ranks(2, opens_none, path);
}

static int opens_nothing(hpc_link *host, void *user)
{
    hpc_link *l;
    EXPECT_FAILURE(
        hpc_nccl_open(&l, host, 0, user), HPC_E_UNSUPPORTED,
        "hpccoder-nccl.so is not there: this build has none; install CUDA and libnccl-dev");
    EXPECT(!l);
    return 0;
}

static void without_nccl(void **state)
{
    (void)state;
    char path[PATH_MAX];
    run_ranks(2, opens_nothing, (void *)(uintptr_t)hpc_test_built(path, "no-such.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_device, start_over),
        cmocka_unit_test_setup(without_nccl, start_over),
    };
    return cmocka_run_group_tests_name("link/nccl", tests, NULL, NULL);
}
