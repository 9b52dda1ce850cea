/*
 * proc.c: runs a child process to its end: writes its input, reads its output, enforces its limits.
 */
#include "runtime/proc/proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/proc/priv.h"

enum { TICK_MS = 20, GRACE_MS = 1000, PIPE_BYTES = 1 << 16 };

typedef struct session {
    proc_child child;
    const hpc_proc_options *o;
    hpc_proc_result *r;
    hpc_buf reports; /* bubblewrap's */
    size_t fed;
    int64_t start_ns, end_ns, killed_ns; /* killed_ns: when TERM was sent, or 0 */
    bool exited;
    int wait_status;
    struct rusage usage;
    int counter; /* or -1 */
} session;

/* ---- streams ------------------------------------------------------------------ */

/* What a stream gives beyond `most` is read and dropped, so that its writer never waits for us. */
static int listen_to(int *fd, hpc_buf *out, size_t most, bool *cut)
{
    char piece[PIPE_BYTES];
    for (;;) {
        ssize_t n = read(*fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return 0;
        if (n <= 0) {
            proc_close(fd);
            return 0;
        }
        size_t room = most > out->n ? most - out->n : 0;
        size_t kept = (size_t)n < room ? (size_t)n : room;
        if (kept < (size_t)n) *cut = true;
        int rc = hpc_buf_add(out, piece, kept);
        if (rc < 0) return rc;
    }
}

static void feed(session *s)
{
    const char *input = s->o->input;
    while (s->fed < s->o->input_bytes) {
        size_t rest = s->o->input_bytes - s->fed;
        ssize_t n = write(s->child.in, input + s->fed, rest < PIPE_BYTES ? rest : PIPE_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) break; /* it does not want more: no failure of ours */
        s->fed += (size_t)n;
    }
    proc_close(&s->child.in);
}

static int exchange(session *s, int wait_ms)
{
    struct pollfd p[5] = {{.fd = s->child.in, .events = POLLOUT},
                          {.fd = s->child.out, .events = POLLIN},
                          {.fd = s->child.err, .events = POLLIN},
                          {.fd = s->child.status, .events = POLLIN},
                          {.fd = s->child.life, .events = POLLIN}};
    bool ignored = false;
    int rc = 0;
    poll(p, 5, wait_ms);
    if (p[0].fd >= 0 && p[0].revents) feed(s);
    if (p[1].fd >= 0 && p[1].revents)
        TRY(listen_to(&s->child.out, &s->r->out, s->o->output_bytes, &s->r->cut));
    if (p[2].fd >= 0 && p[2].revents)
        TRY(listen_to(&s->child.err, &s->r->err, s->o->output_bytes, &s->r->cut));
    if (p[3].fd >= 0 && p[3].revents)
        TRY(listen_to(&s->child.status, &s->reports, 1 << 12, &ignored));
out:
    return rc;
}

/* ---- time and end ---------------------------------------------------------------- */

/* Whoever keeps others has a second for them, and then to end them. */
static int grace_of(const session *s)
{
    return s->o->kept ? 10 * GRACE_MS : GRACE_MS;
}

static void enforce_time(session *s)
{
    int64_t now = hpc_clock_ns();
    bool late = s->o->seconds > 0 && (double)(now - s->start_ns) * 1e-9 > s->o->seconds;
    bool stopped = s->o->stop && __atomic_load_n(s->o->stop, __ATOMIC_RELAXED);
    if ((late || stopped) && !s->killed_ns) {
        s->killed_ns = now;
        s->r->timed_out = late;
        s->r->stopped = !late;
        kill(-s->child.pid, SIGTERM);
    } else if (s->killed_ns && now - s->killed_ns > (int64_t)grace_of(s) * 1000000) {
        kill(-s->child.pid, SIGKILL);
    }
}

/* Once the child is gone, whatever it left running goes too: that also closes the pipes. It is not
 * reaped before, so that its group cannot have become somebody else's. */
static void reap(session *s, bool wait)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int flags = WEXITED | WNOWAIT | (wait ? 0 : WNOHANG);
    if (waitid(P_PID, (id_t)s->child.pid, &info, flags) < 0 || info.si_pid == 0) return;
    s->end_ns = hpc_clock_ns();
    kill(-s->child.pid, SIGKILL);
    while (wait4(s->child.pid, &s->wait_status, 0, &s->usage) < 0 && errno == EINTR) continue;
    s->exited = true;
}

static int converse(session *s)
{
    int rc = 0;
    while (!s->exited) {
        bool silent = s->child.out < 0 && s->child.err < 0;
        TRY(exchange(s, TICK_MS));
        enforce_time(s);
        reap(s, false);
        if (silent && !s->exited && s->child.in < 0 && s->o->seconds <= 0 && !s->o->stop)
            reap(s, true);
    }
    /* Drains the pipes; a process that left the group could keep them open for ever. */
    for (int k = 0; k < 50 && (s->child.out >= 0 || s->child.err >= 0); k++)
        TRY(exchange(s, TICK_MS));
out:
    return rc;
}

static void conclude(session *s)
{
    hpc_proc_result *r = s->r;
    r->status = WIFEXITED(s->wait_status) ? WEXITSTATUS(s->wait_status) : -1;
    r->signal = WIFSIGNALED(s->wait_status) ? WTERMSIG(s->wait_status) : 0;
    r->seconds = (double)(s->end_ns - s->start_ns) * 1e-9;
    r->user_seconds = (double)s->usage.ru_utime.tv_sec + (double)s->usage.ru_utime.tv_usec * 1e-6;
    r->cpu_seconds = r->user_seconds + (double)s->usage.ru_stime.tv_sec +
                     (double)s->usage.ru_stime.tv_usec * 1e-6;
    r->peak_bytes = (int64_t)s->usage.ru_maxrss * 1024;
    r->counted = proc_counter_read(s->counter);
}

/* ---- SIGPIPE: blocked here while we write to the child, and taken out if it came ---------- */

static bool hold_sigpipe(sigset_t *before)
{
    sigset_t pipe_only, pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_only, before);
    return sigismember(&pending, SIGPIPE) == 1;
}

static void release_sigpipe(const sigset_t *before, bool was_pending)
{
    static const struct timespec at_once = {0, 0};
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    if (!was_pending)
        while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int run(session *s, const proc_command *c)
{
    sigset_t before;
    int rc = 0;
    s->start_ns = hpc_clock_ns();
    bool pending = hold_sigpipe(&before);
    rc = proc_spawn(&s->child, c, s->o);
    if (rc == 0) rc = converse(s);
    if (s->child.pid > 0 && !s->exited) {
        if (s->o->kept) kill(s->child.pid, SIGTERM);
        if (s->o->kept) reap(s, true);
    }
    if (s->child.pid > 0 && !s->exited) {
        kill(-s->child.pid, SIGKILL);
        kill(s->child.pid, SIGKILL);
        reap(s, true);
    }
    proc_close(&s->child.in);
    proc_close(&s->child.out);
    proc_close(&s->child.err);
    proc_close(&s->child.status);
    proc_close(&s->child.life);
    release_sigpipe(&before, pending);
    return rc;
}

int hpc_proc_run(hpc_proc_result *out, const hpc_proc_options *o)
{
    proc_command command = {0};
    session s = {.o = o, .r = out, .counter = -1};
    int rc = HPC_E_NOMEM;
    *out = (hpc_proc_result){.status = -1};
    hpc_arena *a = hpc_arena_create(0);
    if (!a) goto out;
    TRY(proc_environment(&command, a, o));
    if (o->sandbox == HPC_SANDBOX_REQUIRED) {
        TRY(proc_sandbox(&command, a, o));
    } else {
        TRY(proc_resolve(command.file, o->argv[0]));
        command.argv = (const char **)(uintptr_t)o->argv;
    }
    s.counter = proc_counter_open(o->counter);
    TRY(run(&s, &command));
    conclude(&s);
    if (o->sandbox == HPC_SANDBOX_REQUIRED) TRY(proc_sandbox_result(out, &s.reports, o->argv[0]));
out:
    proc_close(&s.counter);
    hpc_buf_release(&s.reports);
    hpc_arena_free(a);
    if (rc < 0) hpc_proc_release(out);
    return rc;
}

void hpc_proc_release(hpc_proc_result *r)
{
    hpc_buf_release(&r->out);
    hpc_buf_release(&r->err);
    *r = (hpc_proc_result){.status = -1};
}
