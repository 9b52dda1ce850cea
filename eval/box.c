/*
 * Commands with generated code: inside bubblewrap without network, as an unprivileged user, with
 * limits of time, memory, file size, temporary space and processes.
 *
 * The limit of processes is set inside the sandbox, where it counts its own processes only.
 */
#include "eval/box.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGUMENTS = 64 };

struct hpc_eval_box {
    hpc_arena *arena;
    const char *folder;
    bool is_unsafe;
};

const char *hpc_eval_box_folder(const hpc_eval_box *b)
{
    return b->folder;
}

/* prlimit --nproc=N:N -- COMMAND */
static int put_limit(const char **out, char text[32], const char *const *argv, int processes)
{
    int n = 3, rc = HPC_OK;

    snprintf(text, 32, "--nproc=%d:%d", processes, processes);
    out[0] = "prlimit", out[1] = text, out[2] = "--";
    for (int k = 0; argv[k]; k++) {
        if (n + 1 >= ARGUMENTS) return hpc_fail(HPC_E_ARG, "too many arguments of a command");
        out[n++] = argv[k];
    }
    out[n] = NULL;
    return rc;
}

int hpc_eval_box_run(hpc_proc_result *out, const hpc_eval_box *b, const hpc_eval_command *c,
                     const hpc_eval_limits *limits)
{
    const char *argv[ARGUMENTS], *readable[3] = {NULL, NULL, NULL};
    char text[32];
    bool boxed = !b->is_unsafe;
    int n = 0, rc;

    *out = (hpc_proc_result){0};
    TRY(put_limit(argv, text, c->argv, limits->processes));
    if (c->readable) readable[n++] = c->readable;
    if (!c->writes && c->folder) readable[n++] = c->folder;
    const hpc_proc_options o = {.argv = boxed ? argv : c->argv,
                                .folder = c->writes || !boxed ? c->folder : NULL,
                                .readable = readable,
                                .seconds = limits->seconds,
                                .memory_bytes = (size_t)limits->memory_bytes,
                                .output_bytes = limits->output_bytes,
                                .file_bytes = limits->file_bytes,
                                .space_bytes = limits->space_bytes,
                                .unprivileged = boxed,
                                .kept = true,
                                .stop = c->stop,
                                .sandbox = boxed ? HPC_SANDBOX_REQUIRED : HPC_SANDBOX_NONE};
    TRY(hpc_proc_run(out, &o));
out:
    return rc;
}

static int check_sandbox(const hpc_eval_box *b)
{
    static const char *const argv[] = {"true", NULL};
    const hpc_eval_limits limits = HPC_EVAL_LIMITS_DEFAULTS;
    const hpc_eval_command c = {.argv = argv, .folder = b->folder, .writes = true};
    hpc_proc_result r = {0};
    int rc = hpc_eval_box_run(&r, b, &c, &limits);

    if (rc >= 0 && r.status != 0)
        rc = hpc_fail(HPC_E_UNSUPPORTED, "the sandbox does not run 'prlimit' and 'true': %.*s",
                      r.err.n > 0 ? (int)strcspn(r.err.data, "\n") : 0, r.err.n ? r.err.data : "");
    hpc_proc_release(&r);
    return rc;
}

/* Only the user of the sandbox may write what is built and run there. */
static int give(const char *path)
{
    if (geteuid() != 0 || chown(path, HPC_PROC_NOBODY, HPC_PROC_NOBODY) == 0) return HPC_OK;
    return hpc_fail_os(HPC_E_IO, "cannot change the owner of %s", path);
}

int hpc_eval_box_mkdir(const char *path)
{
    int rc = hpc_file_mkdir(path);
    return rc < 0 ? rc : give(path);
}

int hpc_eval_box_open(hpc_eval_box **out, const char *tmp, bool is_unsafe)
{
    hpc_eval_box *b = hpc_alloc(1, sizeof(*b));
    int rc = b ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) return rc;
    b->is_unsafe = is_unsafe;
    b->arena = hpc_arena_create(0);
    char *folder = b->arena ? hpc_arena_text(b->arena, "%s/hpccoder-eval-XXXXXX", tmp) : NULL;
    if (!folder) TRY(HPC_E_NOMEM);
    if (!mkdtemp(folder)) TRY(hpc_fail_os(HPC_E_IO, "cannot create a folder in %s", tmp));
    b->folder = folder;
    TRY(give(folder));
    if (!is_unsafe) TRY(check_sandbox(b));
    *out = b;
    b = NULL;
out:
    hpc_eval_box_close(b);
    if (rc == HPC_E_UNSUPPORTED)
        return hpc_error_where("generated code runs only in a sandbox; --unsafe-run runs it "
                               "without one");
    return rc;
}

void hpc_eval_box_close(hpc_eval_box *b)
{
    if (!b) return;
    if (b->folder) {
        const char *argv[] = {"rm", "-rf", "--", b->folder, NULL};
        hpc_proc_options o = HPC_PROC_DEFAULTS;
        hpc_proc_result r = {0};
        o.argv = argv;
        (void)hpc_proc_run(&r, &o);
        hpc_proc_release(&r);
    }
    hpc_arena_free(b->arena);
    hpc_free(b);
}
