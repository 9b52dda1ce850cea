/*
 * pragma.h: shared by the files of `hpccoder pragma`: its options, the results for a file's loops,
 * and their output as text, JSON, SARIF, patch or edit.
 */
#ifndef HPC_CMD_PRAGMA_H
#define HPC_CMD_PRAGMA_H

#include "cmd/compiler.h"
#include "infer/complete/directive_model.h"
#include "infer/pragma/directives.h"

typedef struct pragma_options {
    int64_t at;
    bool diff, fix, force, check, guard, conditional, default_none, simd, target, rank, json, quiet;
    bool sandbox;
    double tolerance, seconds;
    const char *format, *database, *verify, *folder, *build, *run, *model, *from;
    int64_t threads;
} pragma_options;
extern const hpc_option pragma_option_table[];

typedef struct pragma_file {
    hpc_directive_file d;
    const char *failed; /* reason for missing results; NULL */
    const char
        *skipped[2];  /* reasons why --verify compile and ThreadSanitizer were skipped; NULL */
    bool rejected;    /* the compiler rejects the unchanged file */
    hpc_buf warnings; /* printed before its results; each ends with a NUL */
} pragma_file;        /* initially zero */

/* ---- pragma_many.c: many files ---- */
/* *out: a file is named twice. With --fix, the second analysis must read the result of the first.
 */
int pragma_has_twins(bool *out, char **path, int64_t n);

/* ---- pragma_verify.c: --verify ---- */
int pragma_verify_options(const pragma_options *o);
int pragma_verify(pragma_file *f, const hpc_tree *tree, const hpc_check_flags *flags,
                  hpc_checker *checker, const pragma_options *o);

/* ---- pragma_text.c, pragma_json.c, pragma_sarif.c ---- */
int pragma_put_text(hpc_buf *out, const pragma_file *f, const pragma_options *o);
const char *pragma_error_advice(const pragma_file *f); /* on the first error of the compiler */
/* In a list that is open. */
void pragma_put_json(hpc_json_out *w, const pragma_file *f);
/* Of all files: the whole log. */
void pragma_put_sarif(hpc_json_out *w, const pragma_file *f, int64_t n);

/* As a patch that `git apply` and `patch -p1` take, in the folder that the path starts from.
 * (pragma_diff.c) */
int pragma_diff(hpc_buf *out, const hpc_directive_edits *c, const pragma_file *f);

#endif
