/*
 * priv.h: shared by infer/verify: a scratch copy of a program's folder for running commands, edits
 * of a file, and evidence.
 */
#ifndef HPC_VERIFY_PRIV_H
#define HPC_VERIFY_PRIV_H

#include "infer/verify/verify.h"

/* ---- scratch.c: copies, and commands that run in them ---------------------------------------- */
typedef struct scratch {
    hpc_arena *arena;
    const hpc_verify_options *o;
    const char *source; /* the user's folder */
    const char *root, *tree, *built, *tools;
    const char *shown; /* where commands see the tree */
} scratch;
int scratch_open(scratch *s, const hpc_verify_options *o);
void scratch_close(scratch *s);
int scratch_fresh(scratch *s); /* copies the user's tree again; sources get the newest times */
int scratch_keep(scratch *s);  /* saves the tree */
int scratch_again(scratch *s); /* restores the saved tree */
int scratch_write(scratch *s, const char *text, size_t n); /* sets the file in the tree */

typedef struct scratch_command {
    const char *text;    /* for the shell */
    const char *wrapper; /* folder of tools placed first in PATH; NULL: none */
    const char *exports; /* "A=b C=d"; NULL: none */
    double seconds;
    size_t memory_bytes;
} scratch_command;
/* scratch_mark sets a mark; scratch_written lists the files that are newer, NUL-separated. */
int scratch_mark(scratch *s);
int scratch_written(hpc_buf *names, scratch *s);
int scratch_read(hpc_buf *out, scratch *s, const char *name);
int scratch_run(hpc_proc_result *r, scratch *s, const scratch_command *c);
/* Why a finished command failed, on one line; NULL: it succeeded. */
const char *scratch_failure(scratch *s, const hpc_proc_result *r, const char *what);

/* ---- tools.c: compilers that add flags, the witness's runtime ------------------------------- */
/* Folders of tools; each holds cc, gcc, g++, clang, ... */
#define TOOLS_WITNESS "witness"
#define TOOLS_OPENMP  "openmp"
/* Builds with this variable set call compilers by the same paths, without our flags, so that a
 * program that records its compiler prints the same text. */
#define TOOLS_PLAIN "HPC_VERIFY_PLAIN=1"
#define TOOLS_RACE  "race"
int tools_wrap(scratch *s, const char *folder);
/* Compiles the runtime. *why: why that failed, or NULL. */
int tools_runtime(const char **why, scratch *s);

/* ---- compile_fortran.c: gfortran --------------------------------------------------------------
 */
typedef struct fortran_compiler {
    hpc_arena *arena;
    const char *compiler;
    const char *folder;           /* of the file: its include files, and sources of modules */
    const hpc_check_flags *flags; /* NULL: none; only -I and -D count */
    double seconds;               /* of one call */
    const char *modules;          /* a temporary folder for module files */
    int runs;                     /* calls so far */
} fortran_compiler;
typedef struct fortran_text {
    const char *text; /* NUL-terminated */
    size_t n;
    bool fixed; /* form */
} fortran_text;
int fortran_open(fortran_compiler *c, const char *folder); /* creates one for module files */
void fortran_close(fortran_compiler *c);
/* *message: the first error; NULL: the text compiles. *line: of the error in the text; 0: it is
 * elsewhere. */
int fortran_compile(const char **message, uint32_t *line, fortran_compiler *c,
                    const fortran_text *x);

/* ---- edit.c: edits of a text ----------------------------------------------------------------- */
typedef struct edit {
    size_t at, drop; /* replaces `drop` bytes at `at`, but keeps line ends */
    const char *text;
    int64_t order;
} edit;
typedef struct edits {
    hpc_arena *arena;
    edit *item;
    int64_t n, cap, order; /* order: of the next edit at the same position */
} edits;                   /* zero initially, except for the arena */
int edits_add(edits *e, size_t at, size_t drop, const char *text);
int edits_apply(hpc_buf *out, edits *e, const char *text, size_t n);
void edits_release(edits *e);
/* Removes the directives that stand directly before a loop. */
int edits_drop_pragmas(edits *e, const char *text, size_t at);

/* Inserts a loop's proposal before the loop and removes the directive that it replaces. Adds
 * nothing if the existing directive is to stay. */
int edits_direct(edits *e, const char *text, const hpc_pragma_loop *loop);

/* ---- edit_fortran.c: the same for directives of Fortran, which have lines of their own --------
 */
/* A line marker gives the next line its number again: "# 12". */
int fortran_mark(hpc_buf *b, uint32_t line);
size_t fortran_line_begin(const char *text, size_t at);
size_t fortran_line_after(const char *text, size_t n, size_t at); /* the next line, or n */
/* Removes the directive before a loop, and the one that ends it. */
int edits_drop_fortran(edits *e, const hpc_verify_file *f, const hpc_pragma_loop *loop);
int edits_direct_fortran(edits *e, const hpc_verify_file *f, const hpc_pragma_loop *loop);

/* ---- evidence.c ----------------------------------------------------------------------------- */
int evidence_add(hpc_pragma_loops *l, hpc_pragma_loop *loop, const char *kind, uint32_t line,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The directive that a loop would run under: the proposal, otherwise the existing one, or NULL. */
const char *directive_of(const hpc_pragma_loop *loop);

/* ---- direct.c: loops with a directive to try ---- */
bool is_candidate_loop(const hpc_pragma_loop *l);
int depth_of_loop(const hpc_pragma_loops *l, int64_t k); /* number of enclosing candidates */
/* Writes the file with the directives of the chosen loops. Other loops get none where theirs can be
 * removed. */
int write_directed(scratch *s, const hpc_pragma_loops *l, const hpc_verify_file *f,
                   const bool *chosen);

/* ---- compare.c ------------------------------------------------------------------------------ */
typedef struct unsteady { /* tokens of an output that change between serial runs */
    bool *token;
    int64_t n, known, cap;
    bool all; /* the runs differ in more than numbers */
} unsteady;   /* initially zero */
int unsteady_note(unsteady *u, const hpc_buf *a, const hpc_buf *b, const hpc_verify_options *o);
void unsteady_release(unsteady *u);
typedef struct compared {
    int64_t numbers, of_time;
} compared; /* initially zero; accumulates */
/* A description of the difference; NULL: the texts are equal. */
const char *texts_differ(scratch *s, compared *c, const hpc_buf *serial, const hpc_buf *other,
                         const unsteady *u);
const char *files_differ(scratch *s, compared *c, const hpc_buf *serial, const hpc_buf *other);

/* ---- clause_items.c ------------------------------------------------------------------------- */
typedef enum witness_kind { WITNESS_SHARED, WITNESS_PRIVATE, WITNESS_IGNORED } witness_kind;
/* The text and length of a clause's list, "i, j"; moves *from after it. NULL: no further one. */
const char *clause_next(const char **from, const char *kind, size_t *n);
/* Calls `take` for each item of the clauses that give each thread its own copy, or combine. */
typedef int (*clause_item)(void *user, witness_kind kind, const char *text, size_t n);
int clause_items(const char *directive, clause_item take, void *user);

/* ---- instrument.c: calls of witness.h in a file --------------------------------------------- */
typedef struct witness_name {
    const char *text; /* "a" */
    int32_t type;
    bool own; /* the loop's variable */
} witness_name;
typedef struct witness_loop {
    int64_t loop; /* index of the loop */
    bool on;      /* it is instrumented */
    const char *variable;
    const char *why_not;
    witness_name *name;
    int64_t names_n, cap;
    size_t at, end; /* byte range of the loop */
} witness_loop;
typedef struct instrumented {
    hpc_arena *arena;
    const hpc_verify_file *file;
    const hpc_pragma_loops *loops;
    witness_loop *item; /* one for each loop, in the same order */
    bool plain;         /* functions are not instrumented */
} instrumented;
/* Selects the loops, and adds the edits that instrument them. */
int instrument(edits *e, instrumented *w);
int instrument_fortran(edits *e, instrumented *w); /* instrument_fortran.c */
void instrumented_release(instrumented *w, int64_t n);

#endif
