/*
 * Test of share/models/perf/kernels.sh, which measures the histories in share/models/perf/kernels.
 * HPC_TEST_LONG=1 measures all of them; otherwise one small history, by time, without valgrind.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/git/repository.h"

#include <limits.h>

#include "runtime/proc/proc.h"
#include "tests/support/command.h"

/* Two runs of the script: the first measures, the second finds all there, under the same ids. */
#define TWICE                                                                                      \
    "run() { sh \"$kernels.sh\" \"$PWD/f\" -m $metric -n 1 --warm-up 0 >$1; "                      \
    "git -C f/kernels branch -v >$1.ids; }; "                                                      \
    "run first; run second; cmp first.ids second.ids; "                                            \
    "names=${KERNELS:-$(ls f/patches | sed 's/.patch$//')}; "                                      \
    "if grep 'that do not.* [1-9]' first second || grep 'measured now.* [1-9]' second; "           \
    "then exit 1; fi; "                                                                            \
    "for k in $names; do cat \"f/patches/$k.patch\"; done | grep -c '^Subject: ' >expected; "      \
    "awk '/measured now/ { n += $NF } END { print n }' first | cmp - expected"

static void measures_histories(void **state)
{
    place *p = *state;
    bool all = getenv("HPC_TEST_LONG") != NULL;
    char program[PATH_MAX], kernels[PATH_MAX], *build;
    hpc_buf text = {0};
    if (!hpc_proc_exists("g++") || !hpc_proc_exists("make") || !hpc_proc_exists("cmake") ||
        !hpc_proc_exists("valgrind"))
    {
        print_message("SKIP a compiler, make, cmake or valgrind is missing\n");
        skip();
    }
    hpc_test_built(program, "hpccoder");
    snprintf(kernels, sizeof kernels, "%s", program);
    build = strstr(kernels, "/build/");
    assert_non_null(build);
    snprintf(build, sizeof kernels - (size_t)(build - kernels), "/share/models/perf/kernels");
    assert_int_equal(hpc_buf_printf(&text,
                                    "export HPCCODER='%s'; kernels='%s'; metric=%s; %s; " TWICE,
                                    program, kernels, all ? "cost" : "time",
                                    all ? "unset KERNELS" : "export KERNELS=digest"),
                     0);
    script(p, text.data);
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(measures_histories, place_setup, place_teardown)};
    return cmocka_run_group_tests_name("cmd/perf_kernels", tests, NULL, NULL);
}
