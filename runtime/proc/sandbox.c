/*
 * sandbox.c: running a command inside bubblewrap: no network, a separate process space,
 * a read-only system, one writable folder.
 *
 * Bubblewrap reports its progress on a pipe. This distinguishes "the sandbox could not
 * be created" from "the program in it failed".
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/proc/priv.h"

static const char *const system_folders[] = {"/usr",   "/bin",   "/sbin", "/lib",
                                             "/lib32", "/lib64", "/etc",  "/opt"};

typedef struct words { /* argv as it grows */
    const char **item;
    int64_t n, cap;
} words;

static int put(words *w, const char *word)
{
    int rc = hpc_grow(&w->item, &w->cap, w->n + 2, sizeof *w->item);
    if (rc == 0) w->item[w->n++] = word;
    return rc;
}

static int put_three(words *w, const char *option, const char *from, const char *to)
{
    int rc = put(w, option);
    if (rc == 0) rc = put(w, from);
    return rc == 0 ? put(w, to) : rc;
}

/* Temporary folders: in memory, with a limit of space if there is one. */
static int put_space(words *w, hpc_arena *a, int64_t bytes)
{
    const char *size = bytes > 0 ? hpc_arena_text(a, "%lld", (long long)bytes) : "";
    int rc = size ? 0 : HPC_E_NOMEM;
    if (rc < 0) return rc;
    if (bytes > 0) {
        TRY(put_three(w, "--size", size, "--tmpfs"));
        TRY(put_three(w, "/dev/shm", "--remount-ro", "/dev"));
        TRY(put(w, "--size"));
        TRY(put(w, size));
    }
    TRY(put(w, "--tmpfs"));
    TRY(put(w, "/tmp"));
out:
    return rc;
}

/* All mounts are done: the root can become read-only. */
static int put_chdir(words *w, int64_t bytes)
{
    int rc = bytes > 0 ? put(w, "--remount-ro") : 0;
    if (rc == 0 && bytes > 0) rc = put(w, "/");
    return rc == 0 ? put(w, "--chdir") : rc;
}

static int fill(words *w, hpc_arena *a, const hpc_proc_options *o)
{
    static const char *const fixed[] = {
        "bwrap",
        "--die-with-parent",
        "--new-session",
        "--unshare-all",
        "--json-status-fd",
        "3",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    };
    int rc = 0;
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) TRY(put(w, fixed[k]));
    TRY(put_space(w, a, o->space_bytes));
    for (size_t k = 0; k < sizeof system_folders / sizeof *system_folders; k++)
        TRY(put_three(w, "--ro-bind-try", system_folders[k], system_folders[k]));
    for (const char *const *p = o->readable; p && *p; p++) TRY(put_three(w, "--ro-bind", *p, *p));
    if (o->folder) {
        char *whole = realpath(o->folder, NULL);
        const char *kept = whole ? hpc_arena_text(a, "%s", whole) : o->folder;
        free(whole);
        if (!kept) return HPC_E_NOMEM;
        const char *shown = o->folder_shown ? o->folder_shown : kept;
        TRY(put_three(w, "--bind", kept, shown));
        TRY(put_chdir(w, o->space_bytes));
        TRY(put(w, shown));
    } else {
        TRY(put_chdir(w, o->space_bytes));
        TRY(put(w, "/tmp"));
    }
    TRY(put(w, "--"));
    for (const char *const *p = o->argv; *p; p++) TRY(put(w, *p));
out:
    return rc;
}

int proc_sandbox(proc_command *c, hpc_arena *a, const hpc_proc_options *o)
{
    words w = {0};
    int rc = 0;
    if (!hpc_proc_exists("bwrap"))
        return hpc_fail(
            HPC_E_UNSUPPORTED,
            "'%.200s' needs a sandbox, but bwrap is not installed (Debian package bubblewrap)",
            o->argv[0]);
    TRY(proc_resolve(c->file, "bwrap"));
    TRY(fill(&w, a, o));
    c->argv = hpc_arena_alloc(a, (size_t)w.n + 1, sizeof *c->argv);
    if (!c->argv) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    memcpy(c->argv, w.item, (size_t)w.n * sizeof *c->argv);
out:
    hpc_free(w.item);
    return rc;
}

int proc_sandbox_result(hpc_proc_result *r, const hpc_buf *reports, const char *name)
{
    static const char exec_failed[] = "bwrap: execvp ";
    const char *said = r->err.data ? r->err.data : "";
    if (r->timed_out) return 0;
    if (!reports->data || !strstr(reports->data, "child-pid"))
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "'%.100s' needs a sandbox, which cannot be created here (user namespaces "
                        "must be allowed): %.*s",
                        name, (int)strcspn(said, "\n"), said);
    if (strncmp(said, exec_failed, sizeof exec_failed - 1) == 0 &&
        !strstr(reports->data, "\"exit-code\": 0"))
        return hpc_fail(HPC_E_IO, "cannot start '%.200s': there is no such program in the sandbox",
                        name);
    if (r->status > 128 && r->status < 192) { /* as shells have it */
        r->signal = r->status - 128;
        r->status = -1;
    }
    return 0;
}
