/*
 * pragma.h: shared by the files of `hpccoder pragma`: its options, the results for a file's loops,
 * and their output as text, JSON, SARIF, patch or edit.
 */
#ifndef HPC_CMD_PRAGMA_H
#define HPC_CMD_PRAGMA_H

#include <pthread.h>

#include "cmd/compiler.h"
#include "infer/complete/directive_model.h"
#include "infer/pragma/directives.h"
#include "infer/pragma/line_profile.h"
#include "infer/pragma/trust.h"

typedef struct pragma_options {
    int64_t at;
    bool diff, fix, force, check, guard, conditional, default_none, simd, target, rank, json, quiet;
    bool sandbox;
    double tolerance, seconds;
    const char *format, *database, *verify, *folder, *build, *run, *model, *from, *trust,
        *line_profile;
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

/* A run. Each worker has a copy, of which it changes only `checker`. */
typedef struct pragma_judging {
    const pragma_options *o;
    const char *const *given; /* flags, NULL-terminated; NULL: none were given */
    hpc_checker *checker;
    hpc_directive_model *model; /* NULL: no model is asked */
    pthread_mutex_t *asking;
    hpc_trust *trust; /* NULL: nothing is confirmed; only the printing thread changes it */
    const hpc_line_profile *profile; /* NULL: none */
    bool sarif, json;
    int64_t by_verdict[4], already_n, wrong_n, directives_n, files_n;
    int worst; /* exit code */
    char warned[2][800];
} pragma_judging;

/* ---- pragma_file.c: the analysis of one file ---- */
/* Fills *f; a file that cannot be used has f->failed, and is no error. */
int pragma_judge(pragma_file *f, pragma_judging *j, const char *path);
/* For the result of a step: records in *f why the file cannot be used, and returns HPC_OK. Errors
 * of memory and of output end the run: they are returned. */
int pragma_give_up_on(pragma_file *f, int rc);

/* ---- pragma_print.c: the results of one file ---- */
/* Prints warnings and results, or writes the edits, and adds the file to the counts of the run. */
int pragma_print_file(pragma_file *f, pragma_judging *j);
int pragma_print_summary(const pragma_judging *j);
/* Warns of each confirmed assumption on which no loop of its file depends. */
void pragma_warn_of_trust(const pragma_judging *j);

/* ---- pragma_many.c ---- */
/* Judges n files on several workers and prints the results in order. *stop, if set, ends the run
 * early. NULL: nothing ends it. */
int pragma_judge_all(pragma_judging *j, char **path, int64_t n, const int *stop);

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
