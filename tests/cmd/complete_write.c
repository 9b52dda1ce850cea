/*
 * Tests of `hpccoder complete --write`: files that it must not change, and interruption.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;
static char path[PATH_MAX];

#define DOT                                                                                        \
    "/* the inner product of x and y */\ndouble dot(int n, const double *x, const double *y)\n{\n" \
    "    double sum = 0.0;\n"

static const char *root_of(void **state)
{
    return ((const hpc_test_folder *)*state)->root;
}

static void write_dot(void **state)
{
    test_ok(hpc_file_save(hpc_test_path(path, *state, "dot.c"), DOT, strlen(DOT)));
}

static bool is_unchanged(void)
{
    hpc_buf now = {0};
    test_ok(hpc_file_read(&now, path, 1 << 20));
    bool same = strcmp(now.data, DOT) == 0;
    hpc_buf_release(&now);
    return same;
}

static void read_only_file_needs_force(void **state)
{
    struct stat st;
    write_dot(state);
    assert_int_equal(chmod(path, 0444), 0);
    hpc_test_refuses(&o, root_of(state), "complete @dot.c --at 4 --stop function --write",
                     "dot.c: it is read-only (mode 0444); --force changes it");
    assert_true(is_unchanged());
    hpc_test_command_in(&o, root_of(state),
                        "complete @dot.c --at 4 --stop function --write --force");
    assert_int_equal(o.code, 0);
    assert_false(is_unchanged());
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0444);
    hpc_test_refuses(&o, root_of(state), "complete @dot.c --at 4 --force", "--force needs --write");
}

/* One SIGINT after `delay` seconds: without --foreground, timeout sends a second one. */
static void interrupt(const char *root, const char *options, double delay, hpc_buf *err)
{
    char built[PATH_MAX], log[PATH_MAX];
    hpc_buf line = {0};
    snprintf(log, sizeof log, "%.4000s/log", root);
    hpc_buf_printf(&line,
                   "timeout --foreground -s INT %.2f '%s' complete %s '%s' >/dev/null 2>'%s'",
                   delay, hpc_test_built(built, "hpccoder"), options, path, log);
    assert_int_equal(line.failed, 0);
    assert_true(system(line.data) != -1);
    err->n = 0;
    test_ok(hpc_file_read(err, log, 1 << 20));
    hpc_buf_release(&line);
}

/* Sooner or later a signal comes while the model generates; none leaves a fragment. */
static void interrupted_write_leaves_the_file_unchanged(void **state)
{
    hpc_buf err = {0};
    bool stopped = false;
    for (double delay = 0.02; delay < 8 && !stopped; delay *= 1.3) {
        write_dot(state);
        interrupt(root_of(state), "--write --raw --max-tokens 900", delay, &err);
        stopped = err.n > 0 && strstr(err.data, "stopped before the completion was finished");
        if (stopped) assert_true(is_unchanged());
        assert_null(err.n > 0 ? strstr(err.data, "--resume") : NULL);
    }
    assert_true(stopped);
    hpc_test_says(err.data, "stopping; the file stays unchanged");
    hpc_buf_release(&err);
}

/* The first of many samples is whole long before the last: a stop leaves the file alone all the
 * same. */
static void announced_stop_leaves_the_file_unchanged(void **state)
{
    hpc_buf err = {0};
    bool stopping = true;
    int64_t stops = 0;
    for (double delay = 0.1; delay < 30 && (stopping || stops == 0); delay *= 1.3) {
        write_dot(state);
        interrupt(root_of(state), "--write --samples 64 --check none --max-tokens 64", delay, &err);
        stopping = err.n > 0 && strstr(err.data, "stopping; the file stays unchanged");
        if (stopping) assert_true(is_unchanged());
        if (stopping) hpc_test_says(err.data, "stopped before the completion was finished");
        stops += stopping;
    }
    assert_true(stops > 0);
    hpc_buf_release(&err);
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(read_only_file_needs_force),
                                       TEST(interrupted_write_leaves_the_file_unchanged),
                                       TEST(announced_stop_leaves_the_file_unchanged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
