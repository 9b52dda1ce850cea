/*
 * Tests of `hpccoder bench link` with threads as ranks: every operation and size once, bandwidths
 * consistent with times, and invalid arguments. Times are not checked.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/command.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

static double number(const hpc_json *object, const char *key)
{
    double x;
    test_ok(hpc_json_real(&x, hpc_json_get(object, key), key));
    return x;
}

static void every_operation_and_size(void **state)
{
    (void)state;
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "send"};
    static const double factor[] = {4.0 / 3, 2.0 / 3, 2.0 / 3, 1}; /* of three ranks */
    hpc_json *root;
    hpc_test_command(&o, "bench link --ranks 3 --least 12 --most 200 --rounds 1 -q --json");
    assert_int_equal(o.code, 0);
    test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "stdout"));
    const hpc_json *results = hpc_json_get(root, "results");
    assert_int_equal(number(root, "ranks"), 3);
    assert_int_equal(hpc_json_n(results), 4 * 4); /* 12, 48, 192, 200 bytes */
    for (int64_t k = 0; k < hpc_json_n(results); k++) {
        const hpc_json *r = hpc_json_at(results, k);
        const char *name = NULL;
        double us = number(r, "us"), bytes = number(r, "bytes");
        test_ok(hpc_json_text(&name, hpc_json_get(r, "operation"), "operation"));
        assert_string_equal(name, names[k / 4]);
        assert_true(us > 0 && number(r, "copy_us") >= 0);
        assert_true(fabs(number(r, "algorithm_gb_s") * us * 1e3 / bytes - 1) < 1e-6);
        assert_true(fabs(number(r, "bus_gb_s") / number(r, "algorithm_gb_s") / factor[k / 4] - 1) <
                    1e-6);
        assert_int_equal(hpc_json_kind_of(hpc_json_get(r, "peer_us")), HPC_JSON_NULL);
    }
    hpc_json_free(root);
}

static void one_operation_as_a_table(void **state)
{
    (void)state;
    hpc_test_command(&o, "bench link --operation send --most 8 --rounds 1 -q");
    assert_int_equal(o.code, 0);
    hpc_test_says(o.out, "2 ranks over threads");
    hpc_test_says(o.out, "send");
    assert_null(strstr(o.out, "all_reduce"));
}

static void refusals(void **state)
{
    (void)state;
    static const char *const variables[] = {
        "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK",
        "SLURM_STEP_NUM_TASKS", "PMI_RANK"};
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) unsetenv(variables[k]);
    hpc_test_refuses(&o, "", "bench link --link mpi", "mpirun -n N hpccoder bench link --link mpi");
    hpc_test_refuses(&o, "", "bench link --least 64 --most 8", "--least 64 is more than --most 8");
    hpc_test_refuses(&o, "", "bench link --ranks 1", "ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_and_size),
        cmocka_unit_test(one_operation_as_a_table),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("cmd/bench_link", tests, NULL, NULL);
}
