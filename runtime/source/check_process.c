/*
 * check_process.c: the caller's side of the libclang process.
 *
 * The process is a fork without an exec, so it is here and not in runtime/proc, which
 * starts other programs and waits for their end. A fork of a process with threads may
 * inherit a lock without an owner. That harms only the child, and the caller survives a
 * child that hangs or crashes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/source/check_priv.h"

enum { START_SECONDS = 60 };

/* ---- the child's first steps ------------------------------------------------------------------
 */

/* Writes go nowhere, reads fail: a pipe whose other end is closed. */
static bool close_streams(void)
{
    int ends[2];
    if (pipe(ends) < 0) return false;
    close(ends[0]);
    for (int fd = 0; fd < 3; fd++)
        if (ends[1] != fd && dup2(ends[1], fd) < 0) return false;
    return true;
}

/* The socket becomes descriptor 3, and nothing else of the parent's stays open: its locks and
 * connections would live as long as we do. */
static bool keep_only(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 4);
    if (high < 0 || !close_streams() || dup2(high, 3) < 0) return false;
    if (close_range(4, ~0u, 0) == 0) return true;
    for (int k = 4; k < 4096; k++) close(k); /* kernels before 5.9 */
    return true;
}

static bool limit(int resource, rlim_t value)
{
    struct rlimit l;
    if (getrlimit(resource, &l) < 0) return false;
    if (l.rlim_max != RLIM_INFINITY && value > l.rlim_max) value = l.rlim_max;
    l.rlim_cur = l.rlim_max = value;
    return setrlimit(resource, &l) == 0;
}

/* A group of its own, so that what a terminal sends to the parent is the parent's to answer. */
static void become(int fd, const char *library, rlim_t data_bytes)
{
    setpgid(0, 0);
    for (int s = 1; s < NSIG; s++) signal(s, s == SIGPIPE || s == SIGXFSZ ? SIG_IGN : SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!keep_only(fd) || !limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, 0) ||
        !limit(RLIMIT_DATA, data_bytes))
        _exit(1);
    check_serve(3, library);
}

/* ---- our side ---------------------------------------------------------------------------------
 */

/* Memory that this process has allocated; its fork starts with the same. */
static int data_bytes_of_ours(rlim_t *out)
{
    hpc_buf text = {0};
    unsigned long long pages = 0;
    int rc;
    TRY(hpc_file_read(&text, "/proc/self/statm", 4096));
    if (sscanf(text.data, "%*s %*s %*s %*s %*s %llu", &pages) != 1)
        TRY(hpc_fail(HPC_E_IO, "/proc/self/statm does not contain the memory in use"));
    *out = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
out:
    hpc_buf_release(&text);
    return rc;
}

void check_process_stop(check_process *p)
{
    if (p->pid <= 0) return;
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(p->fd);
    p->pid = 0;
}

/* Notes how it ended, which it may be about to do by itself. */
static int lose(check_process *p, double seconds, bool late)
{
    int status = 0;
    if (late) kill(p->pid, SIGKILL);
    close(p->fd); /* so that it ends in any case */
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) continue;
    p->pid = 0;
    if (late)
        snprintf(p->why, sizeof p->why, "libclang did not finish within %g s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(p->why, sizeof p->why, "libclang was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(p->why, sizeof p->why, "the process of libclang ended");
    return 1;
}

/* The first message is empty, or states what prevents the start. */
static int greet(check_process *p)
{
    hpc_buf hello = {0};
    int rc;
    int64_t until = hpc_clock_ns() + START_SECONDS * INT64_C(1000000000);
    TRY(check_receive(&hello, p->fd, until));
    if (rc == 1) {
        lose(p, START_SECONDS, hpc_clock_ns() >= until);
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "code cannot be checked: %s", p->why));
    }
    if (hello.n > 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%.*s", (int)(hello.n > 480 ? 480 : hello.n), hello.data));
out:
    hpc_buf_release(&hello);
    if (rc < 0) check_process_stop(p);
    return rc;
}

static int fork_child(check_process *p, const int ends[2], const char *library, rlim_t data_bytes)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the parent's runs in the child */
    pid_t pid = fork();
    if (pid == 0) become(ends[1], library, data_bytes);
    int os = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = os;
    if (pid < 0) return hpc_fail_os(HPC_E_IO, "cannot fork a process for libclang");
    p->pid = pid;
    p->fd = ends[0];
    return HPC_OK;
}

int check_process_start(check_process *p, const char *library, size_t memory_bytes)
{
    int ends[2] = {-1, -1};
    rlim_t data_bytes = 0;
    int rc;
    TRY(data_bytes_of_ours(&data_bytes));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        TRY(hpc_fail_os(HPC_E_IO, "cannot create a socket for the process of libclang"));
    if (memory_bytes > RLIM_INFINITY - data_bytes) memory_bytes = RLIM_INFINITY - data_bytes;
    rc = fork_child(p, ends, library, data_bytes + memory_bytes);
    close(ends[1]);
    if (rc < 0) close(ends[0]);
    TRY(rc);
    TRY(greet(p));
out:
    return rc;
}

int check_process_ask(hpc_buf *answer, check_process *p, const hpc_buf *question, double seconds)
{
    int rc;
    int64_t until = hpc_clock_ns() + (int64_t)(seconds * 1e9);
    TRY(check_send(p->fd, question, until));
    if (rc == 0) TRY(check_receive(answer, p->fd, until));
    if (rc == 1) return lose(p, seconds, hpc_clock_ns() >= until);
out:
    if (rc < 0) check_process_stop(p); /* half a message is under way */
    return rc;
}

void check_process_tell(check_process *p, const hpc_buf *message)
{
    if (p->pid <= 0) return;
    int rc = check_send(p->fd, message, hpc_clock_ns() + INT64_C(1000000000));
    if (rc != 0) check_process_stop(p);
}
