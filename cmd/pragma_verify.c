/*
 * pragma_verify.c: what a compiler, and runs of the user's program, say about the loops of a file.
 * Nothing is run unless --verify run asks for it, and then in a copy of the folder.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/pragma.h"
#include "infer/verify/verify.h"

int pragma_verify_options(const pragma_options *o)
{
    const bool runs = strcmp(o->verify, "run") == 0;
    if (runs && !o->run)
        return hpc_fail(HPC_E_ARG, "--verify run needs --run 'COMMAND', and --build 'COMMAND' if "
                                   "the program must be built first");
    if (!runs && (o->run || o->build))
        return hpc_fail(HPC_E_ARG, "--run and --build need --verify run");
    return HPC_OK;
}

/* The file's name from the folder that commands run in. */
static int name_within(const char **out, pragma_file *f, const char *folder)
{
    char whole[PATH_MAX];
    const size_t n = strlen(folder);
    if (!realpath(f->d.path, whole)) return hpc_fail_os(HPC_E_IO, "cannot find %.200s", f->d.path);
    if (strncmp(whole, folder, n) != 0 || whole[n] != '/')
        return hpc_fail(HPC_E_ARG,
                        "%.200s is not in %.200s, which --verify run copies to build and run: name "
                        "its folder with --folder",
                        f->d.path, folder);
    *out = hpc_arena_text(f->d.arena, "%s", whole + n + 1);
    return *out ? HPC_OK : HPC_E_NOMEM;
}

/* ---- what a level says -------------------------------------------------------------------------
 */

typedef struct before { /* of a loop, when a level begins */
    hpc_verdict verdict;
    int64_t evidence_n;
} before;

/* The verdict is turned down: what turned it comes first, and nothing is proposed. */
static void turn_down(hpc_pragma_loop *l, const before *b)
{
    const int64_t n = l->evidence_n - b->evidence_n;
    hpc_evidence last[16];
    if (n > (int64_t)(sizeof last / sizeof *last)) return;
    memcpy(last, l->evidence + b->evidence_n, (size_t)n * sizeof *last);
    memmove(l->evidence + n, l->evidence, (size_t)b->evidence_n * sizeof *last);
    for (int64_t i = 0; i < n; i++) {
        l->evidence[i] = last[i];
        l->evidence[i].alone = l->verdict;
    }
    if (l->verdict >= HPC_VERDICT_CONDITIONAL) return;
    l->pragma = NULL;
    l->assumptions_n = 0;
}

static void settle(pragma_file *f, before *b)
{
    for (int64_t k = 0; k < f->d.loops.n; k++) {
        hpc_pragma_loop *l = &f->d.loops.item[k];
        for (int64_t i = b[k].evidence_n; i < l->evidence_n; i++)
            l->evidence[i].alone = HPC_VERDICT_PARALLEL;
        if (l->verdict != b[k].verdict) turn_down(l, &b[k]);
        b[k] = (before){l->verdict, l->evidence_n};
    }
}

/* ---- the levels --------------------------------------------------------------------------------
 */

/* The runs of one file take long; files are verified one after the other. */
static void show_step(hpc_progress *p, const pragma_options *o, int64_t done, const char *what)
{
    if (done == 0) {
        hpc_cmd_progress(p, o->quiet);
        if (!p->terminal) hpc_cmd_progress(p, true);
        hpc_progress_start(p, "pragma", "steps", 3);
    }
    p->shown_ns = 0; /* each step shows, however soon it comes */
    hpc_progress_update(p, done, what);
}

static int by_runs(pragma_file *f, const hpc_verify_file *file, before *b, const pragma_options *o)
{
    static const hpc_verify_options defaults = HPC_VERIFY_DEFAULTS;
    hpc_verify_options v = defaults;
    hpc_progress progress = {0};
    char folder[PATH_MAX];
    int rc;
    if (!realpath(o->folder, folder))
        return hpc_fail_os(HPC_E_IO, "cannot find the folder %.200s", o->folder);
    TRY(name_within(&v.path, f, folder));
    v.folder = folder;
    v.build = o->build;
    v.run = o->run;
    v.scratch = hpc_cmd_scratch();
    v.rtol = o->tolerance;
    v.seconds = o->seconds;
    v.sandbox = o->sandbox ? HPC_SANDBOX_REQUIRED : HPC_SANDBOX_NONE;
    show_step(&progress, o, 0, "witness");
    TRY(hpc_verify_witness(&f->d.loops, file, &v));
    settle(f, b);
    show_step(&progress, o, 1, "threads");
    TRY(hpc_verify_run(&f->d.loops, file, &v));
    settle(f, b);
    hpc_verify_skip skip = {0};
    show_step(&progress, o, 2, "races");
    TRY(hpc_verify_race(&skip, &f->d.loops, file, &v));
    settle(f, b);
    f->skipped[1] = skip.why;
out:
    if (progress.label) hpc_progress_clear(&progress);
    return rc;
}

int pragma_verify(pragma_file *f, const hpc_tree *tree, const hpc_check_flags *flags,
                  hpc_checker *checker, const pragma_options *o)
{
    static const hpc_verify_compiler defaults = HPC_VERIFY_COMPILER_DEFAULTS;
    const hpc_verify_file file = {
        .tree = tree,
        .text = f->d.text.data,
        .n = f->d.text.n,
        .language = f->d.language,
        .fixed_form = f->d.language == HPC_LANGUAGE_FORTRAN &&
                      hpc_language_fixed_form(f->d.path, f->d.text.data, f->d.text.n)};
    hpc_verify_compiler c = defaults;
    int rc;
    if (strcmp(o->verify, "static") == 0) return HPC_OK;
    c.path = f->d.path;
    c.flags = flags->n > 0 ? flags : NULL;
    c.checker = checker;
    c.scratch = hpc_cmd_scratch();
    before *b = hpc_arena_alloc(f->d.arena, (size_t)f->d.loops.n + 1, sizeof *b);
    if (!b) return HPC_E_NOMEM;
    for (int64_t k = 0; k < f->d.loops.n; k++)
        b[k] = (before){f->d.loops.item[k].verdict, f->d.loops.item[k].evidence_n};
    hpc_verify_skip skip = {0};
    TRY(hpc_verify_compile(&skip, &f->d.loops, &file, &c));
    settle(f, b);
    f->skipped[0] = skip.why;
    f->rejected = skip.of_file;
    if (strcmp(o->verify, "run") == 0) TRY(by_runs(f, &file, b, o));
out:
    return rc;
}
