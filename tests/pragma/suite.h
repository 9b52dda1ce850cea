/*
 * suite.h: reads the files of labelled loops (tests/pragma/loops/README.md) and analyses them.
 */
#ifndef HPC_TESTS_PRAGMA_SUITE_H
#define HPC_TESTS_PRAGMA_SUITE_H

#include <stdio.h>
#include <stdlib.h>

#include "eval/label.h"
#include "tests/source/check.h"

typedef hpc_eval_label label;

typedef struct suite_file {
    hpc_buf text;
    hpc_tree tree;
    hpc_tree_source *source;
    hpc_pragma_loops loops;
    hpc_eval_labels labels;
    label *label; /* [labels_n] */
    int64_t labels_n;
} suite_file;

/* A file of the folder of loops, or with flags a file of that of loops of C++20. */
static inline void suite_open_with(suite_file *f, hpc_checker *c, const char *name,
                                   const hpc_check_flags *flags)
{
    static const hpc_pragma_options options = HPC_PRAGMA_DEFAULTS;
    char path[PATH_MAX];
    memset(f, 0, sizeof *f);
    snprintf(path, sizeof path, "tests/pragma/%s/%s", flags ? "loops20" : "loops", name);
    OK(hpc_file_read(&f->text, path, 1 << 20));
    OK(hpc_eval_labels_read(&f->labels, f->text.data, path));
    f->label = f->labels.item, f->labels_n = f->labels.n;
    hpc_language l = hpc_language_of(path, f->text.data, f->text.n);
    OK(hpc_tree_open(
        &f->source, c,
        &(hpc_tree_file){
            .path = path, .text = f->text.data, .n = f->text.n, .language = l, .flags = flags}));
    OK(hpc_tree_get(&f->tree, f->source));
    OK(hpc_pragma_find(&f->loops, &f->tree, f->text.data, f->text.n, l, &options));
}

static inline void suite_open(suite_file *f, hpc_checker *c, const char *name)
{
    suite_open_with(f, c, name, NULL);
}

static inline void suite_close(suite_file *f)
{
    hpc_pragma_loops_release(&f->loops);
    hpc_tree_release(&f->tree);
    hpc_tree_close(f->source);
    hpc_free(f->labels.item);
    hpc_buf_release(&f->text);
}

#endif
