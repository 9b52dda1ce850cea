/*
 * pragma.h: what the files of `hpccoder pragma` share: its options, what is made of a file's loops,
 * and how that is told or put into the file.
 */
#ifndef HPC_CMD_PRAGMA_H
#define HPC_CMD_PRAGMA_H

#include "cmd/compiler.h"
#include "infer/pragma/ask.h"

typedef struct pragma_options {
    int64_t at;
    bool diff, fix, force, check, guard, conditional, default_none, simd, target, rank, json, quiet;
    bool sandbox;
    double tolerance, seconds;
    const char *format, *database, *verify, *folder, *build, *run, *model, *from;
    int64_t threads;
} pragma_options;
extern const hpc_option pragma_option_table[];

typedef struct pragma_note { /* what is made of a loop */
    const char *directive;   /* that is proposed, with its if clause; NULL: none is */
    bool put;                /* --fix and --diff put it in */
    const char *because;     /* why it is not proposed, or not put in; NULL */
    int64_t rank;            /* of what is proposed in its file, from 1; 0: nothing is */
} pragma_note;
typedef struct pragma_file {
    const char *path;
    hpc_buf text;
    hpc_language language;
    hpc_pragma_loops loops;
    pragma_note *note;      /* of each loop */
    const char *kept;       /* why nothing is put into this file; NULL */
    const char *failed;     /* why there is nothing to tell of it; NULL */
    int64_t errors;         /* of the compiler */
    const char *skipped[2]; /* why --verify compile, and ThreadSanitizer, did nothing; NULL */
    bool rejected;          /* by the compiler, as it is */
    const char *error;      /* the first, where it is: "a.c:7: ...", "a.c: x.h:2: ..."; NULL */
    char missing[128];      /* a header */
    bool cut;               /* too large: functions at its end are left out */
    hpc_buf warnings;       /* to be printed before its results; each with a NUL */
    hpc_arena *arena;
} pragma_file; /* zero to begin with */
void pragma_file_release(pragma_file *f);

/* Whether the directive that a loop has gives a wrong result. */
bool pragma_is_wrong(const hpc_pragma_loop *l);
const char *pragma_advice(const hpc_pragma_loop *l); /* what to do about it; NULL: nothing */

/* ---- pragma_verify.c: --verify ---- */
int pragma_verify_options(const pragma_options *o);
int pragma_verify(pragma_file *f, const hpc_tree *tree, const hpc_check_flags *flags,
                  hpc_checker *checker, const pragma_options *o);

/* ---- pragma_choose.c: which loops get a directive: the outermost of a nest that may. ---- */
int pragma_choose(pragma_file *f, const pragma_options *o);

/* ---- pragma_text.c, pragma_json.c, pragma_sarif.c ---- */
int pragma_put_text(hpc_buf *out, const pragma_file *f, const pragma_options *o);
const char *pragma_error_advice(const pragma_file *f); /* on the first error of the compiler */
/* In a list that is open. */
void pragma_put_json(hpc_json_out *w, const pragma_file *f);
/* Of all files: the whole log. */
void pragma_put_sarif(hpc_json_out *w, const pragma_file *f, int64_t n);
/* Where the first line behind `at` begins, and where its text ends: without the line's end. */
size_t pragma_line_begin(const hpc_buf *text, size_t at);
size_t pragma_line_end(const hpc_buf *text, size_t at);

/* ---- pragma_fix.c: the file with its directives ---- */
typedef struct pragma_change { /* a line of the text becomes others */
    size_t at, end;            /* with its end */
    uint32_t line;
    size_t to, to_n; /* of `text` below: what comes in its place */
} pragma_change;
typedef struct pragma_changes {
    pragma_change *item;
    int64_t n, cap, directives_n;
    hpc_buf text;
} pragma_changes; /* zero to begin with */
int pragma_changes_find(pragma_changes *out, const pragma_file *f);
void pragma_changes_release(pragma_changes *c);
int pragma_changes_apply(hpc_buf *out, const pragma_changes *c, const pragma_file *f);
/* As a patch that `git apply` and `patch -p1` take, in the folder that the path starts from. */
int pragma_changes_diff(hpc_buf *out, const pragma_changes *c, const pragma_file *f);

#endif
