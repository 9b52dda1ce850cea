/*
 * pragma_file.c: the analysis of one file: compiler flags, libclang, model and --verify.
 */
#include <string.h>

#include "cmd/pragma.h"

/* Workers only collect warnings: the thread that prints results prints them next to the results. */
static int add_warning(pragma_file *f, const char *line)
{
    return hpc_buf_add(&f->warnings, line, strlen(line) + 1);
}

/* A damaged database that was not requested causes a warning. */
static int find_flags(hpc_check_flags *out, pragma_file *f, const pragma_judging *j)
{
    char found[PATH_MAX];
    const char *database = j->o->database, *path = f->d.path;
    *out = (hpc_check_flags){0};
    if (j->given) return hpc_check_flags_given(out, j->given, NULL);
    if (database && strcmp(database, "none") == 0) return HPC_OK;
    if (database) return hpc_check_flags_find(out, database, path);
    hpc_check_database_find(found, path);
    int rc = *found ? hpc_check_flags_find(out, found, path) : HPC_OK;
    if (rc < 0 && rc != HPC_E_NOMEM) {
        rc = add_warning(f, hpc_error_get()->text);
        hpc_error_clear();
    }
    return rc;
}

typedef struct judged { /* a file, for the callbacks of its analysis */
    pragma_file *f;
    pragma_judging *j;
    const hpc_check_flags *flags;
} judged;

static int ask(hpc_directive_file *d, const hpc_tree *tree, void *user)
{
    const judged *x = user;
    pthread_mutex_lock(x->j->asking);
    int rc = hpc_ask(&d->loops, hpc_directive_model_interface(x->j->model), tree, d->path,
                     d->text.data, d->text.n, d->language);
    pthread_mutex_unlock(x->j->asking);
    return rc;
}

/* Before the loops are ranked. */
static int rate(hpc_directive_file *d, const hpc_tree *tree, void *user)
{
    const judged *x = user;
    if (x->j->profile) hpc_line_profile_rate(x->j->profile, &d->loops, d->path);
    return x->j->model ? ask(d, tree, user) : HPC_OK;
}

static int verify(hpc_directive_file *d, const hpc_tree *tree, void *user)
{
    const judged *x = user;
    (void)d;
    return pragma_verify(x->f, tree, x->flags, x->j->checker, x->j->o);
}

/* Without libclang the loops of a file are listed with the reason. */
static int open_checker(pragma_file *f, pragma_judging *j)
{
    int rc = j->checker ? HPC_OK : hpc_cmd_open_checker(&j->checker);
    if (rc != HPC_E_UNSUPPORTED) return rc;
    f->d.untyped = hpc_arena_text(f->d.arena, "%s", hpc_error_get()->text);
    hpc_error_clear();
    return f->d.untyped ? HPC_OK : HPC_E_NOMEM;
}

static int64_t trusted(const void *user, const char *function, const char *text)
{
    const judged *x = user;
    return hpc_trust_line(x->j->trust, x->f->d.path, function, text);
}

static int find_loops(pragma_file *f, pragma_judging *j)
{
    const pragma_options *o = j->o;
    hpc_check_flags flags = {0};
    judged x = {f, j, &flags};
    hpc_directive_options d = {.loops = HPC_PRAGMA_DEFAULTS,
                               .guard = o->guard,
                               .conditional = o->conditional,
                               .flags = &flags,
                               .ask = rate,
                               .verify = verify,
                               .user = &x};
    int rc = HPC_OK;
    d.loops.default_none = o->default_none;
    d.loops.simd = o->simd;
    d.loops.target = o->target;
    d.loops.line = (uint32_t)o->at;
    d.loops.trust = j->trust ? trusted : NULL;
    d.loops.user = &x;
    if (hpc_tree_knows(f->d.language)) {
        TRY(find_flags(&flags, f, j));
        TRY(open_checker(f, j));
    }
    TRY(hpc_directives_find(&f->d, j->checker, &d));
    if (f->d.untyped && hpc_tree_knows(f->d.language) && !o->quiet)
        TRY(add_warning(f, f->d.untyped));
out:
    hpc_check_flags_release(&flags);
    return rc;
}

int pragma_give_up_on(pragma_file *f, int rc)
{
    if (rc == HPC_E_NOMEM || rc >= 0) return rc;
    if (rc == HPC_E_IO && f->d.choice) return rc; /* an error of output ends the run */
    f->failed = hpc_arena_text(f->d.arena, "%s", hpc_error_get()->text);
    f->d.loops.n = 0;
    rc = add_warning(f, hpc_error_get()->text);
    hpc_error_clear();
    return f->failed ? rc : HPC_E_NOMEM;
}

int pragma_judge(pragma_file *f, pragma_judging *j, const char *path)
{
    int rc;
    f->d.path = path;
    f->d.arena = hpc_arena_create(0);
    if (!f->d.arena) return HPC_E_NOMEM;
    TRY(hpc_directive_file_read(&f->d));
    TRY(hpc_directive_file_check_line(&f->d, j->o->at));
    TRY(find_loops(f, j));
out:
    return pragma_give_up_on(f, rc);
}
