/*
 * Tests of share/problems: the reference of each problem passes, and a broken one does not.
 */
/* release: left out, 28 builds take half a minute. */
/* tsan: left out, the code has no threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "eval/pareval.h"
#include "tests/support/expect.h"

static void references_pass_and_broken_ones_fail(void **state)
{
    bool mpi = hpc_proc_exists("mpicxx") && hpc_proc_exists("mpirun");
    const hpc_eval_pareval_options o = {.checkout = "share/problems",
                                        .models = mpi ? "serial,omp,mpi" : "serial,omp",
                                        .samples_in = "tests/eval/problems.json",
                                        .shrink = 4,
                                        .resources = 2,
                                        .build_seconds = 60,
                                        .run_seconds = 20,
                                        .tmp = "/tmp"};
    hpc_buf settings = {0};
    hpc_eval_log *log;
    int64_t unmatched;
    (void)state;
    hpc_buf_text(&settings, "{}");
    test_ok(hpc_eval_log_open(&log, NULL, &settings));
    hpc_buf_release(&settings);
    if (hpc_eval_pareval(log, &unmatched, &o) == HPC_E_UNSUPPORTED) {
        print_message("SKIP: %s\n", hpc_error_get()->text);
        hpc_error_clear();
        hpc_eval_log_close(log);
        skip();
    }
    assert_int_equal(hpc_eval_log_n(log), mpi ? 14 : 9);
    for (int64_t k = 0; k < hpc_eval_log_n(log); k++) {
        const hpc_json *sample = hpc_eval_log_at(log, k);
        bool first, second;
        const hpc_json *list = hpc_json_get(sample, "candidates");
        test_ok(hpc_json_bool(&first, hpc_json_get(hpc_json_at(list, 0), "valid"), "valid"));
        test_ok(hpc_json_bool(&second, hpc_json_get(hpc_json_at(list, 1), "valid"), "valid"));
        assert_true(first && !second);
        assert_true(hpc_eval_number(sample, "build_1") == 1);
    }
    hpc_eval_log_close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(references_pass_and_broken_ones_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
