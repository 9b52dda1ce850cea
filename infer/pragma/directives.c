/*
 * The analysis of one file for directives: syntax tree, loops, limits on threads, choice.
 */
#include "infer/pragma/directives.h"

#include <stdio.h>
#include <string.h>

static int read_tree(hpc_tree *tree, const hpc_directive_file *f, hpc_checker *checker,
                     const hpc_check_flags *flags)
{
    hpc_tree_source *source = NULL;
    int rc;
    TRY(hpc_tree_open(&source, checker,
                      &(hpc_tree_file){.path = f->path,
                                       .text = f->text.data,
                                       .n = f->text.n,
                                       .language = f->language,
                                       .flags = flags && flags->n > 0 ? flags : NULL,
                                       .once = true}));
    TRY(hpc_tree_get(tree, source));
out:
    hpc_tree_close(source);
    return rc;
}

static bool is_fixed_form(const hpc_directive_file *f)
{
    return f->language == HPC_LANGUAGE_FORTRAN &&
           hpc_language_fixed_form(f->path, f->text.data, f->text.n);
}

/* Without a syntax tree the loops are listed with the reason. */
static int list(hpc_directive_file *f, const hpc_pragma_options *o)
{
    return hpc_pragma_list(&f->loops, f->text.data, f->text.n, f->language, is_fixed_form(f),
                           f->untyped, o);
}

static int keep_errors(hpc_directive_file *f, const hpc_tree *t)
{
    f->errors = t->errors;
    f->cut = t->cut;
    memcpy(f->missing, t->missing, sizeof f->missing);
    if (t->errors == 0) return HPC_OK;
    const char *in = t->error_in[0] ? ": " : "";
    f->error = t->error_line > 0 ? hpc_arena_text(f->arena, "%s%s%s:%u: %s", f->path, in,
                                                  t->error_in, t->error_line, t->error)
                                 : hpc_arena_text(f->arena, "%s: %s", f->path, t->error);
    return f->error ? HPC_OK : HPC_E_NOMEM;
}

static int analyse(hpc_directive_file *f, const hpc_tree *tree, const hpc_directive_options *o)
{
    hpc_pragma_options loops = o->loops;
    int rc;
    loops.fixed_form = is_fixed_form(f);
    TRY(hpc_pragma_find(&f->loops, tree, f->text.data, f->text.n, f->language, &loops));
    if (o->ask) TRY(o->ask(f, tree, o->user));
    if (!o->loops.target) TRY(hpc_pragma_limit(&f->loops));
    if (o->guard) TRY(hpc_pragma_guard(&f->loops));
    if (f->language == HPC_LANGUAGE_FORTRAN) TRY(hpc_pragma_translate(&f->loops));
    if (o->verify) TRY(o->verify(f, tree, o->user));
    hpc_pragma_weigh(&f->loops);
    TRY(keep_errors(f, tree));
    rc = hpc_directives_doubt(f, o->flags);
out:
    return rc;
}

/* Reads a file with a missing header again, with the folders that have it. */
static int read_again(hpc_tree *tree, hpc_check_flags *found, hpc_directive_file *f,
                      hpc_checker *checker, const hpc_check_flags *known)
{
    static const hpc_check_flags none = {0};
    int rc;
    if (!tree->missing[0] || f->language == HPC_LANGUAGE_FORTRAN) return HPC_OK;
    TRY(hpc_check_flags_search(found, known ? known : &none, f->path, f->text.data));
    if (found->n == 0) return HPC_OK;
    hpc_tree_release(tree);
    f->searched = true;
    rc = read_tree(tree, f, checker, found);
out:
    return rc;
}

static int find_loops(hpc_directive_file *f, hpc_checker *checker, const hpc_directive_options *o)
{
    hpc_tree tree = {0};
    hpc_check_flags found = {0};
    hpc_directive_options with = *o;
    int rc = HPC_E_UNSUPPORTED;
    if (!hpc_tree_knows(f->language)) {
        f->untyped = "OpenCL is not analysed, only C, C++, CUDA, HIP and Fortran are";
    } else if (!f->untyped) {
        rc = read_tree(&tree, f, checker, o->flags);
        if (rc >= 0) rc = read_again(&tree, &found, f, checker, o->flags);
        if (found.n > 0) with.flags = &found;
        if (rc == HPC_E_UNSUPPORTED)
            f->untyped = hpc_arena_text(f->arena, "%s", hpc_error_get()->text);
        if (rc == HPC_E_UNSUPPORTED) hpc_error_clear();
    }
    if (rc == HPC_E_UNSUPPORTED)
        rc = f->untyped ? list(f, &o->loops) : HPC_E_NOMEM;
    else if (rc >= 0)
        rc = analyse(f, &tree, &with);
    hpc_tree_release(&tree);
    hpc_check_flags_release(&found);
    return rc;
}

int hpc_directives_find(hpc_directive_file *f, hpc_checker *checker, const hpc_directive_options *o)
{
    int rc;
    if (!f->arena) f->arena = hpc_arena_create(0);
    if (!f->arena) return HPC_E_NOMEM;
    TRY(find_loops(f, checker, o));
    rc = hpc_directives_choose(f, o);
out:
    return rc;
}

void hpc_directive_file_release(hpc_directive_file *f)
{
    hpc_pragma_loops_release(&f->loops);
    hpc_arena_free(f->arena);
    *f = (hpc_directive_file){.path = f->path, .text = f->text, .language = f->language};
}
