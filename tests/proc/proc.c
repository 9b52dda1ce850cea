/*
 * Tests of runtime/proc: streams, limits, all kinds of exits, the sandbox.
 */
/* tsan: left out, starts no thread. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/proc/proc.h"
#include "tests/support/folder.h"

/* A script of the shell as a child: the shell is the child's business here. */
static int shell(hpc_proc_result *r, hpc_proc_options *o, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    o->argv = argv;
    int rc = hpc_proc_run(r, o);
    o->argv = NULL;
    return rc;
}

static void expect_out(const hpc_proc_result *r, const char *text)
{
    assert_string_equal(r->out.data ? r->out.data : "", text);
}

static void test_streams_and_status(void **state)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    (void)state;
    o.input = "one two";
    o.input_bytes = 7;
    assert_int_equal(shell(&r, &o, "cat; echo err >&2; exit 7"), 0);
    expect_out(&r, "one two");
    assert_string_equal(r.err.data, "err\n");
    assert_int_equal(r.status, 7);
    assert_int_equal(r.signal, 0);
    assert_false(r.timed_out || r.cut);
    assert_true(r.seconds > 0 && r.peak_bytes > 0);
    hpc_proc_release(&r);
    assert_int_equal(shell(&r, &o, "kill -9 $$"), 0);
    assert_int_equal(r.status, -1);
    assert_int_equal(r.signal, SIGKILL);
    hpc_proc_release(&r);
    assert_int_equal(shell(&r, &o, "printf 'a\\0b'"), 0);
    assert_int_equal(r.out.n, 3);
    assert_memory_equal(r.out.data, "a\0b", 3);
    hpc_proc_release(&r);
}

static int64_t counted(hpc_counter counter, bool kept, const char *command)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    o.counter = counter;
    o.kept = kept;
    assert_int_equal(shell(&r, &o, command), 0);
    assert_int_equal(r.status, 0);
    int64_t n = r.counted;
    hpc_proc_release(&r);
    return n;
}

/* Of a child of the command's child as well, under a keeper too, and nothing of ours. */
static void test_counters(void **state)
{
    static const char nothing[] = "true",
                      much[] = "sh -c 'dd if=/dev/zero of=/dev/null bs=40M count=1 2>&1; true'";
    (void)state;
    assert_true(counted(HPC_COUNTER_NONE, false, nothing) == -1);
    for (int kept = 0; kept < 2 && hpc_proc_counts(HPC_COUNTER_FAULTS); kept++) {
        int64_t least = counted(HPC_COUNTER_FAULTS, kept, nothing);
        int64_t more = counted(HPC_COUNTER_FAULTS, kept, much);
        print_message("faults of pages: %lld and %lld\n", (long long)least, (long long)more);
        assert_true(least > 0 && least < 1000 && more > least);
    }
    if (!hpc_proc_counts(HPC_COUNTER_INSTRUCTIONS)) {
        assert_true(counted(HPC_COUNTER_INSTRUCTIONS, false, nothing) == -1);
        return;
    }
    int64_t few = counted(HPC_COUNTER_INSTRUCTIONS, true, nothing);
    int64_t many = counted(HPC_COUNTER_INSTRUCTIONS, true,
                           "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'");
    assert_true(few > 10000 && many > few + 20000 * 50);
}

/* More input than a pipe holds to a child that reads none of it, and more output than is kept. */
static void test_no_deadlock(void **state)
{
    size_t n = 4 << 20;
    char *input = calloc(n, 1);
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    (void)state;
    o.input = input;
    o.input_bytes = n;
    o.output_bytes = 100;
    assert_int_equal(shell(&r, &o, "exit 3"), 0);
    assert_int_equal(r.status, 3);
    hpc_proc_release(&r);
    assert_int_equal(shell(&r, &o, "cat"), 0);
    assert_int_equal(r.out.n, 100);
    assert_true(r.cut);
    assert_int_equal(r.status, 0);
    hpc_proc_release(&r);
    free(input);
}

static void *raise_flag(void *user)
{
    const struct timespec wait = {0, 100 * 1000000};
    nanosleep(&wait, NULL);
    __atomic_store_n((int *)user, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void stop_flag_ends_the_child(void **state)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    pthread_t t;
    int flag = 0;
    (void)state;
    o.stop = &flag;
    o.seconds = 0;
    assert_int_equal(pthread_create(&t, NULL, raise_flag, &flag), 0);
    assert_int_equal(shell(&r, &o, "exec >&- 2>&-; exec sleep 30"), 0);
    assert_true(r.stopped && !r.timed_out);
    assert_int_equal(r.signal, SIGTERM);
    assert_true(r.seconds < 10);
    hpc_proc_release(&r);
    pthread_join(t, NULL);
}

static void test_time(void **state)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    (void)state;
    o.seconds = 0.2;
    assert_int_equal(shell(&r, &o, "exec sleep 30"), 0);
    assert_true(r.timed_out);
    assert_int_equal(r.signal, SIGTERM);
    hpc_proc_release(&r);
    /* Ignores SIGTERM, closed its streams, and left a child. */
    assert_int_equal(shell(&r, &o, "trap '' TERM; exec >&- 2>&-; sleep 30 & while :; do :; done"),
                     0);
    assert_true(r.timed_out);
    assert_int_equal(r.signal, SIGKILL);
    assert_true(r.seconds < 10);
    hpc_proc_release(&r);
}

static bool is_gone(pid_t pid)
{
    assert_true(pid > 1);
    for (int k = 0; k < 500; k++) { /* init reaps it */
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
        if (f) fclose(f);
        if (n == 0 || strstr(text, ") Z ") != NULL) return true;
        usleep(10000);
    }
    return false;
}

/* What a child leaves running is gone too, and does not hold up the return. */
static void test_leaves_nothing(void **state)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    (void)state;
    assert_int_equal(shell(&r, &o, "sleep 300 & echo $!"), 0);
    assert_true(r.seconds < 20);
    assert_true(is_gone((pid_t)atoi(r.out.data)));
    hpc_proc_release(&r);
}

/* A build that forks away: sessions of their own, orphans, and children of these. */
#define AWAY                                                                                       \
    "setsid sh -c 'echo $$; sleep 300 & echo $!; setsid sleep 300 & echo $!; exec sleep 300' & "   \
    "(setsid sleep 300 & echo $!); sleep 0.3; "

static void all_gone(const char *pids, int n)
{
    int found = 0;
    for (const char *at = pids; *at; at = strchr(at, '\n') + 1, found++)
        assert_true(is_gone((pid_t)atoi(at)));
    assert_int_equal(found, n);
}

static void test_keeps_what_leaves(void **state)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    (void)state;
    o.kept = true;
    assert_int_equal(shell(&r, &o, AWAY "exit 7"), 0);
    assert_int_equal(r.status, 7);
    assert_true(r.seconds < 20);
    all_gone(r.out.data, 4);
    hpc_proc_release(&r);
    assert_int_equal(shell(&r, &o, "kill -9 $$"), 0);
    assert_int_equal(r.signal, SIGKILL);
    hpc_proc_release(&r);
    o.seconds = 1;
    assert_int_equal(shell(&r, &o, AWAY "trap '' TERM; while :; do :; done"), 0);
    assert_true(r.timed_out);
    assert_int_equal(r.signal, SIGKILL);
    assert_true(r.cpu_seconds > 0.1 && r.user_seconds > 0 && r.user_seconds <= r.cpu_seconds);
    all_gone(r.out.data, 4);
    hpc_proc_release(&r);
    o.argv = (const char *[]){"/nowhere/at/all", NULL};
    assert_int_equal(hpc_proc_run(&r, &o), HPC_E_IO);
    hpc_error_clear();
}

/* Whoever runs it is killed, and so cannot end anything. */
static void test_keeps_when_we_are_gone(void **state)
{
    char path[PATH_MAX], script[PATH_MAX + 512];
    hpc_buf pids = {0};
    snprintf(script, sizeof script, "cd '%s'; { " AWAY "} >some; mv some pids; exec sleep 300",
             ((hpc_test_folder *)*state)->root);
    pid_t runner = fork();
    if (runner == 0) {
        hpc_proc_options o = HPC_PROC_DEFAULTS;
        hpc_proc_result r;
        o.kept = true;
        shell(&r, &o, script);
        _exit(1);
    }
    hpc_test_path(path, *state, "pids");
    for (int k = 0; k < 1000 && !hpc_file_exists(path); k++) usleep(10000);
    kill(runner, SIGKILL);
    assert_int_equal(waitpid(runner, NULL, 0), runner);
    assert_int_equal(hpc_file_read(&pids, path, 4096), 0);
    all_gone(pids.data, 4);
    hpc_buf_release(&pids);
}

/* To a fraction of the 20 ms between two looks at the clock. */
static void test_tells_time(void **state)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    double least = 1;
    (void)state;
    for (int k = 0; k < 20; k++) {
        o.kept = k % 2;
        assert_int_equal(shell(&r, &o, ":"), 0);
        if (r.seconds < least) least = r.seconds;
        hpc_proc_release(&r);
    }
    assert_true(least > 0 && least < 0.015);
}

static void test_limits(void **state)
{
    char path[PATH_MAX];
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    o.folder = ((hpc_test_folder *)*state)->root;
    o.file_bytes = 4096;
    assert_int_equal(shell(&r, &o, "exec dd if=/dev/zero of=big bs=1024 count=100 2>/dev/null"), 0);
    assert_true(r.status != 0);
    hpc_proc_release(&r);
    hpc_file_view v;
    assert_int_equal(hpc_file_open(&v, hpc_test_path(path, *state, "big")), 0);
    assert_int_equal(v.bytes, 4096);
    hpc_file_close(&v);
    o.memory_bytes = 64 << 20;
    assert_int_equal(shell(&r, &o, "exec dd if=/dev/zero of=/dev/null bs=200M count=1"), 0);
    assert_true(r.status != 0);
    hpc_proc_release(&r);
}

static void test_environment(void **state)
{
    static const char *const own[] = {"A=1", NULL};
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    (void)state;
    setenv("HPC_TEST_SECRET", "x", 1);
    assert_int_equal(shell(&r, &o, "echo \"$HPC_TEST_SECRET$LANG\""), 0);
    expect_out(&r, "C\n");
    hpc_proc_release(&r);
    o.environment = own;
    assert_int_equal(shell(&r, &o, "echo $A$LANG"), 0);
    expect_out(&r, "1\n");
    hpc_proc_release(&r);
}

static void test_cannot_start(void **state)
{
    static const char *const missing[] = {"no-such-program-hpc", NULL};
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    (void)state;
    o.argv = missing;
    assert_int_equal(hpc_proc_run(&r, &o), HPC_E_IO);
    assert_non_null(strstr(hpc_error_get()->text, "no-such-program-hpc"));
    hpc_error_clear();
    o.folder = "/no/such/folder";
    assert_int_equal(shell(&r, &o, "true"), HPC_E_IO);
    assert_non_null(strstr(hpc_error_get()->text, "/no/such/folder"));
    hpc_error_clear();
    assert_false(hpc_proc_exists("no-such-program-hpc"));
    assert_true(hpc_proc_exists("sh"));
}

static void test_sandbox(void **state)
{
    char path[PATH_MAX];
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r;
    o.sandbox = HPC_SANDBOX_REQUIRED;
    o.folder = ((hpc_test_folder *)*state)->root;
    int rc = shell(&r, &o,
                   "echo in > inside; echo out > /etc/hpc-outside; ls /proc | grep -c "
                   "'^[0-9]'; test -e /sys/class/net/eth0 || echo no net; exit 5");
    if (rc == HPC_E_UNSUPPORTED) {
        printf("SKIP: %s\n", hpc_error_get()->text);
        hpc_error_clear();
        skip();
    }
    assert_int_equal(rc, 0);
    assert_int_equal(r.status, 5);
    assert_non_null(strstr(r.out.data, "no net"));
    assert_true(atoi(r.out.data) > 0 && atoi(r.out.data) < 10); /* it sees its own processes only */
    assert_true(hpc_file_exists(hpc_test_path(path, *state, "inside")));
    assert_false(hpc_file_exists("/etc/hpc-outside"));
    hpc_proc_release(&r);
    assert_int_equal(shell(&r, &o, "kill -11 $$"), 0);
    assert_int_equal(r.signal, SIGSEGV);
    hpc_proc_release(&r);
    o.folder_shown = "/elsewhere/shown";
    assert_int_equal(shell(&r, &o, "pwd; cat /elsewhere/shown/inside; echo x > there"), 0);
    expect_out(&r, "/elsewhere/shown\nin\n");
    assert_true(hpc_file_exists(hpc_test_path(path, *state, "there")));
    hpc_proc_release(&r);
    o.folder_shown = NULL;
    o.seconds = 0.3;
    assert_int_equal(shell(&r, &o, "trap '' TERM; sleep 30"), 0);
    assert_true(r.timed_out);
    hpc_proc_release(&r);
    static const char *const missing[] = {"no-such-program-hpc", NULL};
    o.argv = missing;
    assert_int_equal(hpc_proc_run(&r, &o), HPC_E_IO);
    hpc_error_clear();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_streams_and_status),
        TEST(test_counters),
        TEST(test_no_deadlock),
        TEST(test_time),
        TEST(stop_flag_ends_the_child),
        TEST(test_leaves_nothing),
        TEST(test_keeps_what_leaves),
        TEST(test_keeps_when_we_are_gone),
        TEST(test_tells_time),
        TEST(test_limits),
        TEST(test_environment),
        TEST(test_cannot_start),
        TEST(test_sandbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
