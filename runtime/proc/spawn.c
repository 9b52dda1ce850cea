/*
 * spawn.c: starts a child process with its environment, streams and limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/proc/priv.h"

void proc_close(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* ---- program and environment ------------------------------------------------ */

static bool can_execute(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

static bool find(char file[4096], const char *name)
{
    const char *path = getenv("PATH");
    if (!path || !*path) path = "/usr/local/bin:/usr/bin:/bin";
    if (strchr(name, '/')) return snprintf(file, 4096, "%s", name) < 4096 && can_execute(file);
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, ":");
        if (n > 0 && snprintf(file, 4096, "%.*s/%s", (int)n, p, name) < 4096 && can_execute(file))
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

bool hpc_proc_exists(const char *name)
{
    char file[4096];
    return find(file, name);
}

int proc_resolve(char file[4096], const char *name)
{
    if (find(file, name)) return 0;
    return hpc_fail(HPC_E_IO, "cannot start '%.200s': there is no such program%s", name,
                    strchr(name, '/') ? "" : " in PATH");
}

const char *hpc_proc_variable(hpc_arena *a, const char *name)
{
    const char *value = getenv(name);
    const char *usual = strcmp(name, "PATH") == 0   ? "/usr/local/bin:/usr/bin:/bin"
                        : strcmp(name, "HOME") == 0 ? "/"
                                                    : "";
    return hpc_arena_text(a, "%s=%s", name, value && *value ? value : usual);
}

int proc_environment(proc_command *c, hpc_arena *a, const hpc_proc_options *o)
{
    bool boxed = o->sandbox != HPC_SANDBOX_NONE;
    if (o->environment) {
        c->environment = (const char **)(uintptr_t)o->environment;
        return 0;
    }
    c->environment = hpc_arena_alloc(a, 4, sizeof *c->environment);
    if (!c->environment) return HPC_E_NOMEM;
    c->environment[0] = hpc_proc_variable(a, "PATH");
    c->environment[1] = boxed ? "HOME=/tmp" : hpc_proc_variable(a, "HOME");
    c->environment[2] = "LANG=C";
    return c->environment[0] && c->environment[1] ? 0 : HPC_E_NOMEM;
}

/* ---- the child's side: only what is safe between fork and exec ------------------------- */

typedef struct ends { /* of the pipes: [0] is read from, [1] written to */
    int in[2], out[2], err[2], status[2], failure[2];
} ends;

static void limit(int resource, uint64_t value)
{
    struct rlimit l = {.rlim_cur = value, .rlim_max = value};
    if (value > 0) setrlimit(resource, &l);
}

static void reset_signals(void)
{
    sigset_t none;
    for (int s = 1; s < NSIG; s++) {
        struct sigaction a;
        memset(&a, 0, sizeof a);
        a.sa_handler = SIG_DFL;
        sigaction(s, &a, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Every descriptor of ours is close-on-exec; dup2 gives copies that are not. The pipes' ends are
 * moved out of the way first, in case that one of them has a number that is to be replaced. */
static bool connect_streams(const ends *e)
{
    int in = fcntl(e->in[0], F_DUPFD_CLOEXEC, 10), out = fcntl(e->out[1], F_DUPFD_CLOEXEC, 10);
    int err = fcntl(e->err[1], F_DUPFD_CLOEXEC, 10);
    int status = e->status[1] < 0 ? -1 : fcntl(e->status[1], F_DUPFD_CLOEXEC, 10);
    if (in < 0 || out < 0 || err < 0 || (e->status[1] >= 0 && status < 0)) return false;
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) return false;
    return status < 0 || dup2(status, PROC_STATUS_FD) >= 0;
}

/* From here on another process is the command. Nothing of ours stays open in the one that keeps. */
static void split(pid_t caller)
{
    setpgid(0, 0);
    reset_signals();
    proc_keep_begin(caller);
    pid_t command = fork();
    if (command == 0) return;
    for (int fd = 0; fd < 1024; fd++) close(fd);
    if (command < 0) _exit(127);
    proc_keep(command);
}

/* False if root cannot give up its rights. */
static bool drop_rights(bool wanted)
{
    enum { NOBODY = 65534 };
    if (!wanted || geteuid() != 0) return true;
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static void become(const proc_command *c, const hpc_proc_options *o, const ends *e, pid_t caller)
{
    if (o->kept) split(caller);
    int failure = fcntl(e->failure[1], F_DUPFD_CLOEXEC, 20);
    setpgid(0, 0);
    reset_signals();
    if (connect_streams(e) && (!o->folder || chdir(o->folder) == 0)) {
        limit(RLIMIT_AS, o->memory_bytes);
        limit(RLIMIT_FSIZE, o->file_bytes > 0 ? (uint64_t)o->file_bytes : 0);
        limit(RLIMIT_NPROC, o->processes > 0 ? (uint64_t)o->processes : 0);
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        if (drop_rights(o->unprivileged))
            execve(c->file, (char *const *)(uintptr_t)c->argv,
                   (char *const *)(uintptr_t)c->environment);
    }
    int os = errno;
    ssize_t told = write(failure, &os, sizeof os);
    _exit(told == (ssize_t)sizeof os ? 127 : 126);
}

/* ---- our side ------------------------------------------------------------------------- */

static void close_ends(ends *e)
{
    int *all[] = {e->in, e->out, e->err, e->status, e->failure};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        proc_close(&all[k][0]);
        proc_close(&all[k][1]);
    }
}

static int open_ends(ends *e, bool with_status)
{
    *e = (ends){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(e->in, O_CLOEXEC) == 0 && pipe2(e->out, O_CLOEXEC) == 0 &&
        pipe2(e->err, O_CLOEXEC) == 0 && pipe2(e->failure, O_CLOEXEC) == 0 &&
        (!with_status || pipe2(e->status, O_CLOEXEC) == 0))
        return 0;
    return hpc_fail_os(HPC_E_IO, "cannot create pipes for a child process");
}

static int take(int *from)
{
    int fd = *from;
    if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    *from = -1;
    return fd;
}

/* Nothing comes through the pipe when exec succeeded: it closes by itself. */
static int wait_for_exec(int fd, const char *name, const char *folder)
{
    int os = 0;
    ssize_t n;
    do n = read(fd, &os, sizeof os);
    while (n < 0 && errno == EINTR);
    if (n <= 0) return 0;
    errno = os;
    return hpc_fail_os(HPC_E_IO, "cannot start '%.200s'%s%.100s", name, folder ? " in " : "",
                       folder ? folder : "");
}

int proc_spawn(proc_child *out, const proc_command *c, const hpc_proc_options *o)
{
    sigset_t all, before;
    ends e;
    *out = (proc_child){.pid = -1, .in = -1, .out = -1, .err = -1, .status = -1, .life = -1};
    int rc = 0;
    TRY(open_ends(&e, o->sandbox != HPC_SANDBOX_NONE));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of ours runs in the child */
    pid_t caller = getpid(), pid = fork();
    if (pid == 0) become(c, o, &e, caller);
    int os = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        errno = os;
        rc = hpc_fail_os(HPC_E_IO, "cannot start '%.200s'", o->argv[0]);
        goto out;
    }
    setpgid(pid, pid); /* here too, so that the group exists for us at once */
    proc_close(&e.failure[1]);
    out->pid = pid;
    out->life = (int)syscall(SYS_pidfd_open, pid, 0);
    rc = wait_for_exec(e.failure[0], o->argv[0], o->folder);
    out->in = take(&e.in[1]);
    out->out = take(&e.out[0]);
    out->err = take(&e.err[0]);
    out->status = take(&e.status[0]);
out:
    close_ends(&e);
    return rc;
}
