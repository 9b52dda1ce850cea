/*
 * Tests of `hpccoder complete` with models that cannot complete: each gives a clear error within
 * the time limit.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>

#include "runtime/base/base.h"
#include "tests/support/chain.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

#define FUNCTION "int f(int a)\n{\n"

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

/* Completes FUNCTION with a model of these phrases. */
static void complete(void **state, const hpc_test_phrase *phrase, int n, const char *words)
{
    char path[PATH_MAX];
    hpc_test_chain(hpc_test_path(path, *state, "model"), phrase, n);
    test_ok(hpc_file_save(hpc_test_path(path, *state, "f.c"), FUNCTION, strlen(FUNCTION)));
    hpc_test_command_in(&o, root_of(state), words);
}

static bool file_is_unchanged(void **state)
{
    char path[PATH_MAX];
    hpc_buf now = {0};
    test_ok(hpc_file_read(&now, hpc_test_path(path, *state, "f.c"), 1 << 20));
    bool same = strcmp(now.data, FUNCTION) == 0;
    hpc_buf_release(&now);
    return same;
}

#define COMPLETE "complete @f.c --model @model --stop function --check brackets"

static void model_that_only_repeats_is_closed_or_incomplete(void **state)
{
    static const hpc_test_phrase again[] = {{"    a += 1;\n", {1}}};
    static const hpc_test_phrase broken[] = {{"    a = f(", {1}}};
    complete(state, again, 1, COMPLETE);
    assert_int_equal(o.code, 0);
    hpc_test_says(o.err, "f.c:3: the model did not end; its brackets were closed after the last "
                         "statement");
    hpc_test_says(o.out, "    a += 1;\n}\n");
    complete(state, broken, 1, COMPLETE);
    assert_int_equal(o.code, 1);
    hpc_test_says(
        o.err,
        "f.c:3: the completion is incomplete: the model repeats itself within the first statement");
}

static void model_that_never_ends_stops_at_a_limit(void **state)
{
    /* Sampled, no two lines need be the same: nothing but a limit ends it. */
    static const hpc_test_phrase endless[] = {
        {"(a ", {2, 3}}, {"+ (b ", {1, 3}}, {"* (c ", {1, 2}}};
    const int64_t start = hpc_clock_ns();
    complete(state, endless, 3, COMPLETE " --seconds 5 --write");
    assert_int_equal(o.code, 1);
    assert_true(hpc_clock_ns() - start < 20 * INT64_C(1000000000));
    hpc_test_says(o.err, "f.c:3: the completion is incomplete: ");
    hpc_test_says(o.err, "nothing was written (--partial accepts it)");
    assert_true(file_is_unchanged(state));
}

static void model_that_ends_at_once_has_nothing_to_add(void **state)
{
    static const hpc_test_phrase silent[] = {{"\n\n", {HPC_CHAIN_END}}};
    complete(state, silent, 1, COMPLETE " --write");
    assert_int_equal(o.code, 1);
    hpc_test_says(
        o.err,
        "f.c:3: the completion is incomplete: the model ended it within the first statement");
    assert_true(file_is_unchanged(state));
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(model_that_only_repeats_is_closed_or_incomplete),
        TEST(model_that_never_ends_stops_at_a_limit),
        TEST(model_that_ends_at_once_has_nothing_to_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
