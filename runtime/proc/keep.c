/*
 * keep.c: a keeper process between hpccoder and a command. Descendants that the command
 * orphans become its children. It kills them all when the command ends, on request, and
 * when hpccoder ends.
 *
 * It is a fork of a process with threads: it uses system calls only.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/proc/priv.h"

enum { LIST_BYTES = 1 << 16, ROUNDS_MOST = 10000, PAUSE_NS = 1000000 };

/* ---- those who fell to it ------------------------------------------------------------------- */

static ssize_t list(char *out, size_t room)
{
    size_t n = 0;
    int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    for (;;) {
        ssize_t got = read(fd, out + n, room - 1 - n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    close(fd);
    out[n] = '\0';
    return (ssize_t)n;
}

static void pause_for(long ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

/* A list that is cut ends in a number that is cut: the last of a full list waits for the next. */
static void end_all(void)
{
    char text[LIST_BYTES];
    for (int round = 0; round < ROUNDS_MOST; round++) {
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        ssize_t n = list(text, sizeof text);
        if (n <= 0) return;
        for (char *at = text, *end; *at; at = end + (*end == ' ')) {
            long pid = strtol(at, &end, 10);
            if (end == at || (!*end && n == sizeof text - 1)) break;
            if (pid > 1) kill((pid_t)pid, SIGKILL);
        }
        pause_for(PAUSE_NS);
    }
}

/* ---- the command ------------------------------------------------------------------------------
 */

static bool wait_for(int *status, pid_t command, const sigset_t *told)
{
    struct timespec tick = {1, 0};
    for (;;) {
        pid_t ended = waitpid(-1, status, WNOHANG);
        if (ended == command) return true;
        if (ended > 0) continue; /* one that fell to us */
        int signal = sigtimedwait(told, NULL, &tick);
        if (signal == SIGTERM) return false;
    }
}

/* TERM, and a second for it. */
static int stop(pid_t command)
{
    int status = SIGTERM;
    kill(-command, SIGTERM);
    for (int k = 0; k < 1000; k++) {
        pid_t ended = waitpid(command, &status, WNOHANG);
        if (ended == command) return status;
        pause_for(PAUSE_NS);
    }
    kill(-command, SIGKILL);
    while (waitpid(command, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

static void end_as(int status)
{
    sigset_t all;
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    signal(WTERMSIG(status), SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(WTERMSIG(status));
    _exit(127);
}

void proc_keep_begin(pid_t caller)
{
    sigset_t told;
    sigemptyset(&told);
    sigaddset(&told, SIGTERM);
    sigaddset(&told, SIGCHLD);
    sigprocmask(SIG_SETMASK, &told, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != caller) _exit(127); /* it was gone before that */
}

void proc_keep(pid_t command)
{
    sigset_t told;
    int status = 0;
    sigemptyset(&told);
    sigaddset(&told, SIGTERM);
    sigaddset(&told, SIGCHLD);
    if (!wait_for(&status, command, &told)) status = stop(command);
    kill(-command, SIGKILL); /* its group, at once */
    end_all();
    end_as(status);
    _exit(127);
}
