/*
 * programs.h: small programs with loops, read and judged, for tests of infer/verify.
 */
#ifndef HPC_TESTS_VERIFY_PROGRAMS_H
#define HPC_TESTS_VERIFY_PROGRAMS_H

#include <stdio.h>
#include <stdlib.h>

#include "infer/verify/verify.h"
#include "tests/source/check.h"
#include "tests/support/folder.h"

typedef struct program {
    hpc_checker *checker;
    hpc_tree_source *source;
    hpc_buf text;
    hpc_tree tree;
    hpc_pragma_loops loops;
    hpc_verify_file file;
    hpc_verify_options options;
    char folder[PATH_MAX], path[PATH_MAX];
} program;

/* Opens folder/path and judges it; it runs in the test's folder. */
static inline void program_open(program *p, hpc_test_folder *f, const char *folder,
                                const char *path)
{
    static const hpc_pragma_options study = HPC_PRAGMA_DEFAULTS;
    static const hpc_verify_options defaults = HPC_VERIFY_DEFAULTS;
    char whole[PATH_MAX];
    memset(p, 0, sizeof *p);
    snprintf(whole, sizeof whole, "%.3000s/%.1000s", folder, path);
    p->checker = open_checker(0);
    OK(hpc_file_read(&p->text, whole, 1 << 20));
    hpc_language l = hpc_language_of(whole, p->text.data, p->text.n);
    OK(hpc_tree_open(
        &p->source, p->checker,
        &(hpc_tree_file){.path = whole, .text = p->text.data, .n = p->text.n, .language = l}));
    OK(hpc_tree_get(&p->tree, p->source));
    bool fixed =
        l == HPC_LANGUAGE_FORTRAN && hpc_language_fixed_form(whole, p->text.data, p->text.n);
    hpc_pragma_options options = study;
    options.fixed_form = fixed;
    OK(hpc_pragma_find(&p->loops, &p->tree, p->text.data, p->text.n, l, &options));
    if (l == HPC_LANGUAGE_FORTRAN) OK(hpc_pragma_translate(&p->loops));
    p->file = (hpc_verify_file){
        .tree = &p->tree, .text = p->text.data, .n = p->text.n, .language = l, .fixed_form = fixed};
    p->options = defaults;
    snprintf(p->folder, sizeof p->folder, "%s", folder);
    p->options.folder = p->folder;
    p->options.path = path;
    p->options.scratch = f->root;
    p->options.seconds = PATIENCE;
    if (!hpc_proc_exists("bwrap")) p->options.sandbox = HPC_SANDBOX_NONE;
}

static inline void program_close(program *p)
{
    hpc_pragma_loops_release(&p->loops);
    hpc_tree_release(&p->tree);
    hpc_tree_close(p->source);
    hpc_checker_close(p->checker);
    hpc_buf_release(&p->text);
}

/* Evidence of a kind that contains a text; NULL: none. */
static inline const hpc_evidence *evidence_of(const hpc_pragma_loop *l, const char *kind,
                                              const char *text)
{
    for (int64_t k = 0; k < l->evidence_n; k++)
        if (strcmp(l->evidence[k].kind, kind) == 0 && strstr(l->evidence[k].text, text))
            return &l->evidence[k];
    return NULL;
}

static inline void show_loop(const hpc_pragma_loop *l)
{
    print_message("line %u: %s %s\n", l->line, hpc_verdict_name(l->verdict),
                  l->pragma ? l->pragma : "");
    for (int64_t k = 0; k < l->evidence_n; k++)
        print_message("    %s %u: %s\n", l->evidence[k].kind, l->evidence[k].line,
                      l->evidence[k].text);
}

/* Writes a program of one file to the test's folder. */
static inline void program_write(program *p, hpc_test_folder *f, const char *name, const char *text)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    hpc_test_path(folder, f, "program");
    OK(hpc_file_mkdir(folder));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    OK(hpc_file_save(path, text, strlen(text)));
    program_open(p, f, folder, name);
}

#endif
