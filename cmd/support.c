/*
 * support.c: shared by long-running commands: progress, warnings, signals, and the paths of files
 * that come with the program. A thread waits for signals, so no handler runs and no globals are
 * needed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "model/packed.h"

static void write_stderr(void *user, const char *text, size_t n)
{
    (void)user;
    fwrite(text, 1, n, stderr);
    fflush(stderr);
}

static void write_nothing(void *user, const char *text, size_t n)
{
    (void)user;
    (void)text;
    (void)n;
}

void hpc_cmd_progress(hpc_progress *out, bool quiet)
{
    *out = (hpc_progress){.write = quiet ? write_nothing : write_stderr,
                          .terminal = !quiet && terminal_moves(stderr),
                          .columns = terminal_error_columns()};
}

void hpc_cmd_warn(const char *line, void *command)
{
    fprintf(stderr, "%shpccoder %s:%s %s\n", terminal_begin(stderr, STYLE_DOUBT),
            (const char *)command, terminal_end(stderr, STYLE_DOUBT), line);
}

int hpc_cmd_read(hpc_buf *out, const char *file)
{
    return hpc_file_read(out, strcmp(file, "-") == 0 ? "/dev/stdin" : file, SIZE_MAX);
}

int hpc_cmd_edit(const char *command, const char *file, const hpc_buf *from, const hpc_buf *to,
                 bool force)
{
    hpc_buf lost = {0};
    int rc = hpc_file_edit(&lost, file, from, to, force);
    if (rc >= 0 && lost.n > 0)
        fprintf(stderr, "hpccoder %s: %s: the new file could not keep %s\n", command, file,
                lost.data);
    hpc_buf_release(&lost);
    return rc;
}

int hpc_cmd_threads(int64_t asked)
{
    cpu_set_t set[64]; /* 65536 CPUs: the kernel rejects a mask that is too short */
    if (asked > 0) return (int)asked;
    CPU_ZERO_S(sizeof set, set);
    return sched_getaffinity(0, sizeof set, set) == 0 ? CPU_COUNT_S(sizeof set, set) : 1;
}

int hpc_cmd_name_path(const char **name, const char **path, char *text)
{
    char *equals = strchr(text, '=');
    *name = NULL;
    *path = text;
    if (!equals || hpc_file_exists(text)) return HPC_OK;
    if (equals == text || !equals[1])
        return hpc_fail(HPC_E_ARG, "'%s': expected PATH or NAME=PATH", text);
    *equals = '\0';
    *name = text;
    *path = equals + 1;
    return HPC_OK;
}

/* ---- signals ---------------------------------------------------------------- */

struct hpc_cmd_signals {
    const char *command, *then;
    pthread_t thread;
    sigset_t before;
    int stop; /* by atomic built-ins, as those below */
    int save; /* USR1: for commands that can save while they run */
    int ended;
    int follows;
};

static sigset_t signals_of_interest(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    return set;
}

static void *wait_for_signals(void *user)
{
    hpc_cmd_signals *s = user;
    sigset_t set = signals_of_interest();
    sigaddset(&set, SIGUSR2); /* from hpc_cmd_signals_end */
    for (;;) {
        int number = 0;
        if (sigwait(&set, &number) != 0) continue;
        if (__atomic_load_n(&s->ended, __ATOMIC_ACQUIRE)) return NULL;
        if (number == SIGUSR1) __atomic_store_n(&s->save, 1, __ATOMIC_RELEASE);
        if (number == SIGUSR1 || number == SIGUSR2) continue;
        /* A terminal that closes hangs up twice, and some that terminate do it again: only a person
         * who cannot wait ends it at once. */
        if (__atomic_exchange_n(&s->stop, 1, __ATOMIC_ACQ_REL)) {
            if (number == SIGINT) _exit(EXIT_FAILURE_INTERNAL);
            continue;
        }
        if (__atomic_load_n(&s->follows, __ATOMIC_ACQUIRE)) continue;
        fprintf(stderr, "\nhpccoder %s: stopping; %s (Ctrl-C again: at once)\n", s->command,
                s->then);
    }
}

int hpc_cmd_signals_start(hpc_cmd_signals **out, const char *command, const char *then)
{
    int rc = HPC_OK;
    sigset_t set = signals_of_interest();
    hpc_cmd_signals *s = hpc_alloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    s->command = command;
    s->then = then;
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &s->before);
    errno = pthread_create(&s->thread, NULL, wait_for_signals, s);
    if (errno) {
        rc = hpc_fail_os(HPC_E_NOMEM, "cannot start the thread that handles Ctrl-C");
        pthread_sigmask(SIG_SETMASK, &s->before, NULL);
        hpc_free(s);
        return rc;
    }
    *out = s;
    return rc;
}

void hpc_cmd_signals_follow(hpc_cmd_signals *s, bool quiet)
{
    __atomic_store_n(&s->follows, quiet, __ATOMIC_RELEASE);
}

const int *hpc_cmd_signals_stop(const hpc_cmd_signals *s)
{
    return &s->stop;
}

int *hpc_cmd_signals_save(hpc_cmd_signals *s)
{
    return &s->save;
}

void hpc_cmd_signals_end(hpc_cmd_signals *s)
{
    if (!s) return;
    __atomic_store_n(&s->ended, 1, __ATOMIC_RELEASE);
    pthread_kill(s->thread, SIGUSR2);
    pthread_join(s->thread, NULL);
    /* A launcher ends the other ranks when one has ended: not before the first has said why. */
    if (!s->follows) pthread_sigmask(SIG_SETMASK, &s->before, NULL);
    hpc_free(s);
}

/* ---- files that come with the program --------------------------------------- */

int hpc_cmd_find(char *out, const char *name)
{
    static const char *const places[] = {"", "../lib/hpccoder/", "../share/hpccoder/",
                                         "../../share/"};
    char folder[PATH_MAX];
    out[0] = '\0';
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (n < 0) return hpc_fail_os(HPC_E_IO, "cannot find the path of this program");
    folder[n] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash) slash[1] = '\0';
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        int length = snprintf(out, PATH_MAX, "%s%s%s", folder, places[k], name);
        if (length < PATH_MAX && hpc_file_exists(out)) return HPC_OK;
    }
    out[0] = '\0';
    return HPC_OK;
}

int hpc_cmd_find_installed(char out[PATH_MAX])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const char name[] = "hpccoder/models/hpc-135m.packed";
    int n = -1;
    if (data && *data == '/')
        n = snprintf(out, PATH_MAX, "%s/%s", data, name);
    else if (home && *home)
        n = snprintf(out, PATH_MAX, "%s/.local/share/%s", home, name);
    if (n >= 0 && n < PATH_MAX && hpc_file_exists(out)) return HPC_OK;
    out[0] = '\0';
    return HPC_OK;
}

int hpc_cmd_find_model(char out[PATH_MAX], const char *asked, const char *name)
{
    struct stat st;
    int rc = HPC_OK;
    if (!asked || !*asked) {
        TRY(hpc_cmd_find_installed(out));
        if (!*out) TRY(hpc_cmd_find(out, name));
        if (!*out)
            rc = hpc_fail(
                HPC_E_ARG,
                "cannot find %s in the folders of this program: name a model with --model", name);
        return rc;
    }
    int n = snprintf(out, PATH_MAX, "%s", asked);
    if (n >= PATH_MAX) return hpc_fail(HPC_E_ARG, "--model: the path is too long");
    const char *end = n > 5 ? out + n - 5 : out;
    if (stat(out, &st) == 0 && !S_ISDIR(st.st_mode) && strcmp(end, ".gguf") != 0 &&
        !hpc_is_packed(out))
        rc = hpc_fail(HPC_E_ARG, "%s: neither a model directory nor a FILE.gguf or FILE.packed",
                      out);
out:
    return rc;
}

const char *hpc_cmd_scratch(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

int hpc_cmd_find_passages(char out[PATH_MAX], const char *asked, const char *model)
{
    const char *end = strrchr(model, '.');
    bool file = end && (strcmp(end, ".gguf") == 0 || strcmp(end, ".packed") == 0);
    int length = 0;
    out[0] = '\0';
    if (asked && strcmp(asked, "none") == 0) return HPC_OK;
    if (asked)
        length = snprintf(out, PATH_MAX, "%s", asked);
    else if (file)
        length = snprintf(out, PATH_MAX, "%.*s.passages", (int)(end - model), model);
    else
        length = snprintf(out, PATH_MAX, "%s/model.passages", model);
    if (length >= PATH_MAX)
        return hpc_fail(HPC_E_ARG, "the path of the passage index is too long; name it with "
                                   "--passages");
    if (!asked && !hpc_file_exists(out)) out[0] = '\0';
    return HPC_OK;
}

int hpc_cmd_find_sketch(const char **out, char room[PATH_MAX], const char *asked)
{
    *out = asked && strcmp(asked, "none") == 0 ? NULL : asked;
    if (asked) return HPC_OK;
    int rc = hpc_cmd_find(room, "held-out.sketch");
    if (rc < 0) return rc;
    *out = room;
    if (*room) return HPC_OK;
    return hpc_fail(
        HPC_E_ARG,
        "cannot find held-out.sketch in the folders of this program: name it with --held-out");
}
