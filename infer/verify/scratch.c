/*
 * scratch.c: a copy of a program's folder in which commands build and run. The user's files are
 * never written. In a sandbox, the copy appears at the path of the original folder, so that
 * absolute paths recorded by a build lead into the copy.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "infer/verify/priv.h"

enum { PATIENCE_SECONDS = 300, WRITTEN_MOST = 16 << 20 };

/* A program of the system, outside of the sandbox. */
static int system_run(hpc_proc_result *r, const char *const *argv, const char *folder)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    o.argv = argv;
    o.folder = folder;
    o.seconds = PATIENCE_SECONDS;
    return hpc_proc_run(r, &o);
}

static int system_do(const char *const *argv, const char *folder)
{
    hpc_proc_result r;
    int rc = system_run(&r, argv, folder);
    if (rc < 0) return rc;
    const char *said = r.err.data ? r.err.data : "";
    if (r.timed_out)
        rc = hpc_fail(HPC_E_IO, "%s takes longer than %d s in %.200s", argv[0], PATIENCE_SECONDS,
                      folder ? folder : "its folder");
    else if (r.status != 0)
        rc = hpc_fail(HPC_E_IO, "%.*s", (int)strcspn(said, "\n"), *said ? said : argv[0]);
    hpc_proc_release(&r);
    return rc;
}

/* ---- copies --------------------------------------------------------------------------------- */

static int measure(const scratch *s)
{
    const char *argv[] = {"du", "-s", "-B1", "--apparent-size", "--exclude=./.git",
                          "--", ".",  NULL};
    hpc_proc_result r;
    int rc = system_run(&r, argv, s->source);
    if (rc < 0) return rc;
    long long bytes = strtoll(r.out.data ? r.out.data : "0", NULL, 10);
    hpc_proc_release(&r);
    if (bytes <= s->o->copy_bytes) return 0;
    return hpc_fail(HPC_E_ARG,
                    "%.200s has %lld MiB, and at most %lld are copied to run a program: choose a "
                    "smaller folder, or raise the limit",
                    s->source, bytes >> 20, (long long)(s->o->copy_bytes >> 20));
}

/* All of a folder, but its history. */
static int copy(const char *to, const char *from)
{
    const char *find[] = {"find", ".",     "-mindepth", "1",     "-maxdepth", "1",
                          "!",    "-name", ".git",      "-exec", "cp",        "-a",
                          "-t",   to,      "--",        "{}",    "+",         NULL};
    const char *gone[] = {"rm", "-rf", "--", to, NULL};
    int rc = 0;
    TRY(system_do(gone, NULL));
    TRY(hpc_file_mkdir(to));
    TRY(system_do(find, from));
out:
    return rc;
}

int scratch_fresh(scratch *s)
{
    /* Outputs are then older than the sources, so a build with other flags rebuilds them. */
    const char *touch[] = {
        "find",       ".",
        "-type",      "f",
        "-regextype", "posix-extended",
        "-regex",     ".*\\.([cChH]|cc|cpp|cxx|c\\+\\+|hh|hpp|hxx|cu|cuh|inl|tpp)",
        "-exec",      "touch",
        "--",         "{}",
        "+",          NULL};
    int rc = 0;
    TRY(copy(s->tree, s->source));
    TRY(system_do(touch, s->tree));
out:
    return rc;
}

int scratch_keep(scratch *s)
{
    return copy(s->built, s->tree);
}

int scratch_again(scratch *s)
{
    return copy(s->tree, s->built);
}

int scratch_write(scratch *s, const char *text, size_t n)
{
    const char *path = hpc_arena_text(s->arena, "%s/%s", s->tree, s->o->path);
    return path ? hpc_file_save(path, text, n) : HPC_E_NOMEM;
}

/* ---- what a run writes ---------------------------------------------------------------------- */

int scratch_mark(scratch *s)
{
    const char *path = hpc_arena_text(s->arena, "%s/mark", s->root);
    return path ? hpc_file_save(path, "", 0) : HPC_E_NOMEM;
}

int scratch_written(hpc_buf *names, scratch *s)
{
    const char *argv[] = {"find", ".", "-type", "f", "-newer", "../mark", "-printf", "%P\\0", NULL};
    hpc_proc_result r;
    int rc = system_run(&r, argv, s->tree);
    if (rc < 0) return rc;
    rc = hpc_buf_add(names, r.out.data ? r.out.data : "", r.out.n);
    hpc_proc_release(&r);
    return rc;
}

int scratch_read(hpc_buf *out, scratch *s, const char *name)
{
    hpc_file_view v;
    const char *path = hpc_arena_text(s->arena, "%s/%s", s->tree, name);
    if (!path) return HPC_E_NOMEM;
    int rc = hpc_file_open(&v, path);
    if (rc < 0) return rc;
    rc = hpc_buf_add(out, v.data, v.bytes < WRITTEN_MOST ? v.bytes : WRITTEN_MOST);
    hpc_file_close(&v);
    return rc;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static int check(const hpc_verify_options *o)
{
    if (!o->folder || !o->path || !o->run || !o->scratch)
        return hpc_fail(
            HPC_E_ARG,
            "running a program needs its folder, a file in it, a command and a folder for copies");
    if (o->path[0] == '/' || strncmp(o->path, "../", 3) == 0 || strstr(o->path, "/../"))
        return hpc_fail(HPC_E_ARG,
                        "%.200s is outside the folder that the command runs in: choose a folder "
                        "that contains both",
                        o->path);
    return 0;
}

static int name_all(scratch *s)
{
    char template[PATH_MAX], whole[PATH_MAX];
    if (!realpath(s->o->folder, whole))
        return hpc_fail_os(HPC_E_IO, "cannot open the folder %.200s", s->o->folder);
    s->source = hpc_arena_text(s->arena, "%s", whole);
    snprintf(template, sizeof template, "%s/hpc-verify-XXXXXX", s->o->scratch);
    if (!mkdtemp(template))
        return hpc_fail_os(HPC_E_IO, "cannot create a folder in %.200s", s->o->scratch);
    if (!realpath(template, whole)) return hpc_fail_os(HPC_E_IO, "cannot open %.200s", template);
    s->root = hpc_arena_text(s->arena, "%s", whole);
    if (!s->root) return HPC_E_NOMEM;
    s->tree = hpc_arena_text(s->arena, "%s/tree", s->root);
    s->built = hpc_arena_text(s->arena, "%s/built", s->root);
    s->tools = hpc_arena_text(s->arena, "%s/tools", s->root);
    s->shown = s->o->sandbox == HPC_SANDBOX_NONE ? s->tree : s->source;
    if (!s->source || !s->tree || !s->built || !s->tools) return HPC_E_NOMEM;
    return hpc_file_mkdir(s->tools);
}

int scratch_open(scratch *s, const hpc_verify_options *o)
{
    int rc = 0;
    *s = (scratch){.o = o};
    TRY(check(o));
    s->arena = hpc_arena_create(0);
    if (!s->arena) return HPC_E_NOMEM;
    TRY(name_all(s));
    TRY(measure(s));
out:
    if (rc < 0) scratch_close(s);
    return rc;
}

void scratch_close(scratch *s)
{
    if (s->root) {
        const char *gone[] = {"rm", "-rf", "--", s->root, NULL};
        system_do(gone, NULL); /* what cannot be removed is not worth failing for */
    }
    hpc_arena_free(s->arena);
    *s = (scratch){0};
}

/* ---- commands ------------------------------------------------------------------------------- */

int scratch_run(hpc_proc_result *r, scratch *s, const scratch_command *c)
{
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_buf script = {0};
    const char **readable = NULL;
    int64_t n = 0;
    int rc = 0;
    if (c->wrapper)
        hpc_buf_printf(&script, "PATH='%s/%s':\"$PATH\"; export PATH\n", s->tools, c->wrapper);
    if (c->exports) hpc_buf_printf(&script, "export %s\n", c->exports);
    TRY(hpc_buf_printf(&script, "%s\n", c->text));
    while (s->o->readable && s->o->readable[n]) n++;
    readable = hpc_alloc((size_t)n + 2, sizeof *readable);
    if (!readable) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    readable[0] = s->tools;
    for (int64_t k = 0; k < n; k++) readable[k + 1] = s->o->readable[k];
    const char *argv[] = {"sh", "-c", script.data, NULL};
    o.argv = argv;
    o.folder = s->tree;
    o.folder_shown = s->shown;
    o.seconds = c->seconds;
    o.memory_bytes = c->memory_bytes;
    o.output_bytes = 16 << 20;
    o.file_bytes = (int64_t)4 << 30;
    o.sandbox = s->o->sandbox;
    o.readable = readable;
    TRY(hpc_proc_run(r, &o));
    if (r->status > 128 && r->status < 192) { /* as shells have it */
        r->signal = r->status - 128;
        r->status = -1;
    }
out:
    hpc_free(readable);
    hpc_buf_release(&script);
    return rc;
}

static bool tells(const char *line)
{
    static const char *const words[] = {"error", "Error", "undefined reference",
                                        "multiple definition"};
    if (strncmp(line, "collect2", 8) == 0) return false; /* its cause was printed before */
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strstr(line, words[k])) return true;
    return false;
}

/* The first line that speaks of an error, else the last line. */
static const char *line_of(scratch *s, const hpc_buf *b)
{
    if (!b->data || !b->n) return "";
    const char *line = NULL, *p = b->data;
    while (*p) {
        size_t n = strcspn(p, "\n");
        const char *kept = n ? hpc_arena_text(s->arena, "%.*s", (int)(n < 300 ? n : 300), p) : NULL;
        if (kept) line = kept;
        if (kept && tells(kept)) break;
        p += n + (p[n] == '\n');
    }
    return line ? line : "";
}

const char *scratch_failure(scratch *s, const hpc_proc_result *r, const char *what)
{
    if (r->timed_out)
        return hpc_arena_text(s->arena, "%s did not end within %.0f s", what, r->seconds);
    if (r->status == 0) return NULL;
    const char *said = line_of(s, &r->err);
    const char *colon = *said ? ": " : "";
    if (r->signal)
        return hpc_arena_text(s->arena, "%s was killed by signal %d (%s)%s%s", what, r->signal,
                              strsignal(r->signal), colon, said);
    return hpc_arena_text(s->arena, "%s exited with status %d%s%s", what, r->status, colon, said);
}
