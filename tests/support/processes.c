/*
 * processes.c: see processes.h. Sets mpirun's options for one machine with few cores.
 */
#include "tests/support/processes.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/sanitized.h"

void hpc_test_need_mpi(void)
{
    char path[PATH_MAX];
    const char *why = NULL;
    if (HPC_TEST_TSAN) why = "MPI is not built for the thread sanitizer";
    if (system("command -v mpirun >/dev/null 2>&1") != 0) why = "no mpirun (openmpi-bin)";
    if (!hpc_file_exists(hpc_test_built(path, "hpccoder-mpi.so")))
        why = "hpccoder-mpi.so was not built (libopenmpi-dev)";
    if (!why) return;
    print_message("SKIP: %s\n", why);
    skip();
}

/* Works with any mpirun: Open MPI's options are environment variables. */
int hpc_test_processes(int ranks, const char *arguments, ...)
{
    char command[2 * PATH_MAX + 128], self[PATH_MAX], words[PATH_MAX];
    va_list values;
    static const char *const set[][2] = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
        {"OMPI_MCA_hwloc_base_binding_policy", "none"},
        {"OMPI_MCA_btl", "self,vader"},
        {"ASAN_OPTIONS", "detect_leaks=0"}, /* MPI keeps what it has */
    };
    for (size_t k = 0; k < sizeof set / sizeof *set; k++) setenv(set[k][0], set[k][1], 0);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = '\0';
    va_start(values, arguments);
    vsnprintf(words, sizeof words, arguments, values);
    va_end(values);
    snprintf(command, sizeof command, "exec timeout 120 mpirun -n %d '%s' %s", ranks, self, words);
    return system(command);
}
