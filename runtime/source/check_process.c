/*
 * check_process.c: the caller's side of the compiler's process, which is the program
 * hpccoder-clang (clang/main.c) or hpccoder-flang (flang/main.c).
 *
 * It is here and not in runtime/proc, which starts other programs and waits for their
 * end. A fork without an exec would be faster, but in a process with threads the child
 * may inherit a lock of the allocator without an owner, and wait for it forever.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/source/check_priv.h"

enum { START_SECONDS = 60, NO_EXEC = 127 };

void check_process_stop(check_process *p)
{
    if (p->pid <= 0) return;
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(p->fd);
    p->pid = 0;
}

static const char *tool_of(const check_process *p)
{
    return p->is_flang ? "flang" : "libclang";
}

/* Notes how it ended, which it may be about to do by itself. Returns 1. */
static int lose(check_process *p, double seconds, bool late)
{
    int status = 0;
    if (late) kill(p->pid, SIGKILL);
    close(p->fd); /* so that it ends in any case */
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) continue;
    p->pid = 0;
    if (late)
        snprintf(p->why, sizeof p->why, "%s did not finish within %g s", tool_of(p), seconds);
    else if (WIFSIGNALED(status))
        snprintf(p->why, sizeof p->why, "%s was killed by signal %d (%s)", tool_of(p),
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == NO_EXEC)
        snprintf(p->why, sizeof p->why, "%s is missing; install %s", tool_of(p),
                 p->is_flang ? "libllvm19" : "libclang1-19");
    else
        snprintf(p->why, sizeof p->why, "the process of %s ended", tool_of(p));
    return 1;
}

/* The first message is the version. */
static int greet(check_process *p, const char *program)
{
    hpc_buf hello = {0};
    int rc;
    int64_t until = hpc_clock_ns() + START_SECONDS * INT64_C(1000000000);
    TRY(check_receive(&hello, p->fd, until));
    if (rc == 1) {
        lose(p, START_SECONDS, hpc_clock_ns() >= until);
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "code cannot be checked: %s", p->why));
    }
    check_reader r = {.at = (const uint8_t *)hello.data};
    r.end = r.at + hello.n;
    if (check_get(&r) != CHECK_VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%.300s has another version; rebuild it", program));
out:
    hpc_buf_release(&hello);
    if (rc < 0) check_process_stop(p);
    return rc;
}

/* A group of its own, so that what a terminal sends to the caller is the caller's to answer; no
 * signal is blocked or ignored. */
static int describe(posix_spawnattr_t *how, posix_spawn_file_actions_t *files, int fd)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int os = posix_spawnattr_setsigdefault(how, &all);
    if (os == 0) os = posix_spawnattr_setsigmask(how, &none);
    if (os == 0)
        os = posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                               POSIX_SPAWN_SETPGROUP);
    if (os == 0) os = posix_spawn_file_actions_adddup2(files, fd, 3);
    return os;
}

static int spawn(check_process *p, const char *program, int fd, size_t memory_bytes)
{
    char bytes[32], *argv[] = {(char *)program, bytes, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    snprintf(bytes, sizeof bytes, "%zu", memory_bytes);
    int os = posix_spawnattr_init(&how);
    if (os) return os;
    os = posix_spawn_file_actions_init(&files);
    if (os == 0) {
        os = describe(&how, &files, fd);
        if (os == 0) os = posix_spawn(&p->pid, program, &files, &how, argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&how);
    return os;
}

int check_process_start(check_process *p, const char *program, size_t memory_bytes)
{
    int ends[2] = {-1, -1};
    int rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        TRY(hpc_fail_os(HPC_E_IO, "cannot create a socket for the process of %s", tool_of(p)));
    errno = spawn(p, program, ends[1], memory_bytes);
    p->fd = ends[0];
    if (errno) p->pid = 0;
    if (errno == ENOENT)
        rc = hpc_fail(HPC_E_UNSUPPORTED, "%s needs %.200s: install %s and run `make` again",
                      p->is_flang ? "Fortran" : "checking code", program,
                      p->is_flang ? "libflang-19-dev and llvm-19-dev" : "libclang-19-dev");
    else
        rc = errno ? hpc_fail_os(HPC_E_IO, "cannot start %.200s", program) : HPC_OK;
    close(ends[1]);
    if (rc < 0) close(ends[0]);
    TRY(rc);
    TRY(greet(p, program));
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
