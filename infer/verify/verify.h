/*
 * verify.h: what a compiler and a run of the program say about loops that were judged from their
 * text (infer/pragma/pragma.h). Each level adds lines of evidence, each can turn a verdict down,
 * none turns one up.
 *
 * The program is built and run in a copy of its folder, under limits, by default in a sandbox that
 * shows the copy where the folder is; the user's own files are only read.
 */
#ifndef HPC_VERIFY_H
#define HPC_VERIFY_H

#include "infer/pragma/pragma.h"
#include "runtime/proc/proc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_verify_options {
    const char *folder; /* where the commands run; what they need is in it */
    const char *path;   /* of the file whose loops these are, from the folder */
    const char *build;  /* for the shell: "make", "cc -O2 x.c -o x"; NULL: nothing is to be built */
    const char *run;    /* "./x 100" */
    const char *scratch; /* a folder that copies may be made in; beside it nothing is written */
    double rtol, atol;   /* numbers in outputs are the same within them */
    double seconds;      /* of one run, and of one build; the witness has ten times as long */
    size_t memory_bytes; /* of one process; the witness has six times as much */
    int64_t copy_bytes;  /* a larger folder is refused (.git aside) */
    hpc_sandbox sandbox;
    const char *const *readable; /* more that the sandbox shows, NULL-terminated: compilers */
} hpc_verify_options;
#define HPC_VERIFY_DEFAULTS                                                                        \
    {                                                                                              \
        .rtol = 1e-6, .atol = 1e-12, .seconds = 60, .memory_bytes = (size_t)4 << 30,               \
        .copy_bytes = (int64_t)512 << 20, .sandbox = HPC_SANDBOX_REQUIRED                          \
    }

/* The file as a verification sees it. */
typedef struct hpc_verify_file {
    const hpc_tree *tree;
    const char *text; /* what the tree and the loops were made of, and the file holds */
    size_t n;
    hpc_language language;
} hpc_verify_file;

typedef struct hpc_verify_compiler {
    const char *path;             /* of the file; what it includes is looked for beside it */
    const hpc_check_flags *flags; /* NULL: none */
    hpc_checker *checker;         /* NULL: libclang is not asked */
    const char *compiler;         /* "gcc"; NULL: cc or c++, if it is in PATH; "": none is asked */
    double seconds;               /* of one call */
} hpc_verify_compiler;
#define HPC_VERIFY_COMPILER_DEFAULTS                                                               \
    {                                                                                              \
        .seconds = 120                                                                             \
    }

/* Why a level did nothing for any loop of a file. */
typedef struct hpc_verify_skip {
    const char *why; /* with what to do, on one line; it lives as long as the loops; NULL: it ran */
    bool of_file;    /* the compiler rejects the file as it is */
} hpc_verify_skip;   /* zero to begin with */

/* "compile": whether libclang and the compiler accept each proposed directive, word for word. One
 * that is rejected makes its loop unknown, with the first message. Nothing is run, no file is
 * written. */
int hpc_verify_compile(hpc_verify_skip *skip, hpc_pragma_loops *l, const hpc_verify_file *f,
                       const hpc_verify_compiler *c);

/* "witness": runs the serial program with every access of its loops recorded. Two iterations that
 * touch one location, one of them writing, make a loop unsafe: "iteration i = 3 writes a[5] at line
 * 12, iteration i = 5 reads it at line 13". What the directive makes private counts only where a
 * value comes from another iteration; reductions do not count. HPC_E_UNSUPPORTED: there can be no
 * sandbox; HPC_E_ARG: an option is wrong. That the program cannot be built or run is evidence. */
int hpc_verify_witness(hpc_pragma_loops *l, const hpc_verify_file *f, const hpc_verify_options *o);

/* "run": the program as it is against the program with the proposed directives, on 1, 2 and 4
 * threads: standard output, exit status and the files that it writes. Numbers that change from one
 * serial run to the next, and those with a unit of time behind them, are not held against a loop.
 * What else differs makes a loop unsafe; a build that fails, unknown; time that runs out, nothing.
 */
int hpc_verify_run(hpc_pragma_loops *l, const hpc_verify_file *f, const hpc_verify_options *o);

/* "race": the program with the proposed directives, built with clang, on 4 threads under
 * ThreadSanitizer, which Archer tells what OpenMP synchronises. A race in a loop makes it unsafe,
 * with both lines. The level is skipped where clang, its ThreadSanitizer or Archer is missing:
 * without Archer every barrier would look like a race. */
int hpc_verify_race(hpc_verify_skip *skip, hpc_pragma_loops *l, const hpc_verify_file *f,
                    const hpc_verify_options *o);

#ifdef __cplusplus
}
#endif
#endif
