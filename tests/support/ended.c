/*
 * ended.c: see ended.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "tests/support/command.h"
#include "tests/support/ended.h"

extern char **environ;

/* limit: bytes of a file, 0: none. */
static pid_t start(const char *root, const char *words, const char *folder, long limit)
{
    char program[PATH_MAX], text[HPC_TEST_WORDS], more[HPC_TEST_WORDS], *argv[HPC_TEST_ARGS];
    snprintf(more, sizeof more, "%s --out @%s", words, folder);
    hpc_test_split(argv, hpc_test_in(text, root, more));
    hpc_test_built(program, "hpccoder");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(99);
    struct rlimit r = {(rlim_t)limit, (rlim_t)limit};
    if (limit > 0 && setrlimit(RLIMIT_FSIZE, &r) < 0) _exit(97);
    execve(program, argv, environ);
    _exit(98);
}

/* Exit code, or -signal. */
static int finish(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void shell(const char *root, const char *text)
{
    char all[1024];
    assert_true(snprintf(all, sizeof all, "cd '%s' && { %s; }", root, text) < (int)sizeof all);
    if (system(all) != 0) fail_msg("%s", all);
}

/* How long it took, in nanoseconds. */
static int64_t make_whole(const char *root, const char *words)
{
    int64_t start_ns = hpc_clock_ns();
    assert_int_equal(finish(start(root, words, "whole", 0)), 0);
    return hpc_clock_ns() - start_ns;
}

static void make_part(const char *root, const char *words)
{
    assert_int_equal(finish(start(root, words, "part", 0)), 0);
    shell(root, "diff -r whole part");
}

/* Moments spread over a whole run and a little more; a run that finished earlier is restarted. */
void hpc_test_end_by_signals(const char *root, const char *words)
{
    int64_t whole = make_whole(root, words);
    int rounds = getenv("HPC_TEST_LONG") ? 20 : 3, killed = 0, stopped = 0;
    for (int k = 0; killed < rounds || stopped < rounds; k++) {
        assert_true(k < 100 * rounds);
        int signal_sent = killed < rounds ? SIGKILL : SIGTERM;
        pid_t child = start(root, words, "part", 0);
        int64_t wait = (int64_t)(hpc_random_bits(1, 1, 1, (uint64_t)k) % 1000) * whole / 1000;
        nanosleep(&(struct timespec){wait / 1000000000, wait % 1000000000}, NULL);
        kill(child, signal_sent);
        int code = finish(child);
        killed += code == -SIGKILL;
        /* Before the program has its handler, a signal ends it as any other. */
        stopped += code == 3 || code == -SIGTERM;
        assert_true(code == 0 || code == 3 || code == -SIGKILL || code == -SIGTERM);
        if (code == 0) shell(root, "diff -r whole part && rm -rf part");
    }
    make_part(root, words);
}

void hpc_test_end_by_full_disk(const char *root, const char *words, const long *bytes, int n,
                               const char *check)
{
    make_whole(root, words);
    for (int k = 0; k < n; k++) {
        assert_int_equal(finish(start(root, words, "part", bytes[k])), 3);
        if (check) shell(root, check);
    }
    make_part(root, words);
}
