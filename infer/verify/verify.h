/*
 * verify.h: checks of proposed directives by compilers and by runs of the program (verdicts from
 * the text: infer/pragma/pragma.h). Each level adds evidence. A level may make a verdict less
 * favourable, never more.
 *
 * The program is built and run in a copy of its folder, under limits, by default in a sandbox that
 * shows the copy in place of the folder. The user's own files are only read.
 */
#ifndef HPC_VERIFY_H
#define HPC_VERIFY_H

#include "infer/pragma/pragma.h"
#include "runtime/proc/proc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_verify_options {
    const char *folder;  /* working folder of the commands, with all files that they need */
    const char *path;    /* the file with the loops, relative to the folder */
    const char *build;   /* shell command: "make", "cc -O2 x.c -o x"; NULL: no build */
    const char *run;     /* "./x 100" */
    const char *scratch; /* folder for copies; nothing is written elsewhere */
    double rtol, atol;   /* tolerances for numbers in outputs */
    double seconds;      /* limit of one run or build; ten times as long for the witness */
    size_t memory_bytes; /* limit of one process; six times as much for the witness */
    int64_t copy_bytes;  /* a larger folder is rejected (without .git) */
    hpc_sandbox sandbox;
    const char *const
        *readable; /* NULL-terminated: further paths in the sandbox, such as compilers */
} hpc_verify_options;
#define HPC_VERIFY_DEFAULTS                                                                        \
    {                                                                                              \
        .rtol = 1e-6, .atol = 1e-12, .seconds = 60, .memory_bytes = (size_t)4 << 30,               \
        .copy_bytes = (int64_t)512 << 20, .sandbox = HPC_SANDBOX_REQUIRED                          \
    }

/* The file to verify. */
typedef struct hpc_verify_file {
    const hpc_tree *tree;
    const char *text; /* content of the file, and source of the tree and the loops */
    size_t n;
    hpc_language language;
    bool fixed_form; /* Fortran in fixed form */
} hpc_verify_file;

typedef struct hpc_verify_compiler {
    const char *path;             /* the file; its includes are searched in its folder */
    const hpc_check_flags *flags; /* NULL: none */
    hpc_checker *checker;         /* NULL: without libclang */
    const char *compiler;         /* "gcc"; NULL: cc, c++ or gfortran, if in PATH; "": none */
    const char *scratch;          /* folder for module files of Fortran; NULL: /tmp */
    double seconds;               /* of one call */
} hpc_verify_compiler;
#define HPC_VERIFY_COMPILER_DEFAULTS                                                               \
    {                                                                                              \
        .seconds = 120                                                                             \
    }

/* The reason why a level was skipped for all loops of a file. */
typedef struct hpc_verify_skip {
    const char *why; /* one line with advice, valid as long as the loops; NULL: the level ran */
    bool of_file;    /* the compiler rejects the unchanged file */
} hpc_verify_skip;   /* initially zero */

/* "compile": asks libclang and the compiler to accept the exact text of each proposed directive. A
 * rejected directive makes its loop unknown, with the first message as evidence. Runs nothing and
 * writes only module files, which it removes. Fortran is compiled by gfortran, after the sources in
 * the file's folder and in those of -I that define its modules. */
int hpc_verify_compile(hpc_verify_skip *skip, hpc_pragma_loops *l, const hpc_verify_file *f,
                       const hpc_verify_compiler *c);

/* "witness": runs the serial program and records all accesses of its loops. Two iterations that
 * access one location, at least one of them writing, make a loop unsafe: "iteration i = 3 writes
 * a[5] at line 12, iteration i = 5 reads it at line 13". Private variables count only if a value
 * comes from another iteration; reductions do not count. HPC_E_UNSUPPORTED: no sandbox is
 * available; HPC_E_ARG: an option is wrong. A failed build or run is reported as evidence. */
int hpc_verify_witness(hpc_pragma_loops *l, const hpc_verify_file *f, const hpc_verify_options *o);

/* "run": compares the serial program with the program with the proposed directives on 1, 2 and 4
 * threads: standard output, exit status, and written files. Numbers that differ between serial
 * runs, and numbers with a unit of time, are ignored. Other differences make a loop unsafe; a
 * failed build makes it unknown; a timeout changes nothing. */
int hpc_verify_run(hpc_pragma_loops *l, const hpc_verify_file *f, const hpc_verify_options *o);

/* "race": builds the program with the proposed directives with clang and runs it on 4 threads under
 * ThreadSanitizer; Archer informs it of OpenMP's synchronisation. A race in a loop makes it unsafe,
 * with both lines as evidence. The level is skipped if clang, its ThreadSanitizer or Archer is
 * missing: without Archer, every barrier would look like a race. */
int hpc_verify_race(hpc_verify_skip *skip, hpc_pragma_loops *l, const hpc_verify_file *f,
                    const hpc_verify_options *o);

#ifdef __cplusplus
}
#endif
#endif
