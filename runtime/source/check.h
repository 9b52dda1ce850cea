/*
 * check.h: checks that a text parses in its context and compiles with the file's flags.
 * Candidate completions are inserted into a gap of a file, and the errors are compared
 * with those of the file without them. Uses libclang, for C, C++, CUDA and HIP.
 *
 * libclang runs in a program of its own (hpccoder-clang), because a malicious text can
 * make it crash, hang or exhaust memory. The program has none of the caller's open
 * files, may write no file, and has limits on memory and time. It ends when the checker
 * is closed or its owner ends. Any thread may open a checker.
 */
#ifndef HPC_SOURCE_CHECK_H
#define HPC_SOURCE_CHECK_H

#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- flags ------------------------------------------------------------
 * Of a compiler's flags, these are kept because they change the meaning of a text. None of them
 * loads or runs a program, writes a file or reads a list of further flags.
 *   -I -isystem -iquote -idirafter -include -imacros -isysroot --sysroot
 *   -D -U -std= -ansi -nostdinc -nostdinc++ -stdlib= -pthread -O...
 *   -fopenmp and its names in other compilers (-qopenmp, -fiopenmp, -mp).
 *   -f(no-): exceptions, rtti, char8_t, coroutines, signed-char, unsigned-char, short-enums,
 *   ms-extensions, permissive, gnu89-inline, freestanding, hosted, blocks, declspec, builtin,
 *   fast-math, signed-zeros, concepts, wchar.
 *   -m32 -m64 -march= -mcpu= -mtune= and instruction sets (-mavx2, -mno-fma, ...)
 *   --target= -target
 * All others are dropped: -c, -o, -M..., -W..., -x, -Xclang, -Xlinker, -Xpreprocessor, -mllvm and
 * their operands, -fplugin, -load, -specs, -B, @files, names of inputs. The operand of -Xcompiler
 * is treated as a flag. */
typedef struct hpc_check_flags {
    hpc_arena *arena;
    const char **item; /* "-I/abs/include", "-DN=3", ..., NULL-terminated */
    int64_t n;
    const char *from; /* the file in the database whose flags they are; NULL: given by the user */
    bool exact;       /* that is the file that was asked for */
} hpc_check_flags;    /* zero to begin with: none */
/* From a compile_commands.json, or the one in this folder: the entry of `path`, else of a file of
 * the same stem, else of the one with most folders in common (first entry wins). HPC_E_FORMAT names
 * the entry that is wrong. A database without entries gives none: from NULL, n 0. */
int hpc_check_flags_find(hpc_check_flags *out, const char *database, const char *path);
/* The compile_commands.json of a file: in its folder, in `build` there, or in a folder above. ""
 * if not found. out: PATH_MAX chars. */
void hpc_check_database_find(char *out, const char *file);
/* From a list, NULL-terminated; relative folders are relative to `folder` (NULL: the working one).
 */
int hpc_check_flags_given(hpc_check_flags *out, const char *const *list, const char *folder);
/* The flags and the folders of headers that the file includes, directly or not, if the tree
 * around it has them. text: of the file, NUL-terminated. n 0: none was found. */
int hpc_check_flags_search(hpc_check_flags *out, const hpc_check_flags *known, const char *path,
                           const char *text);
void hpc_check_flags_release(hpc_check_flags *f);
/* The root of the tree around a file: the folder with .git, else the highest one with a build file,
 * else the file's own. file: an absolute path. out: PATH_MAX chars. */
void hpc_check_tree_root(char *out, const char *file);

/* ---- the checker --------------------------------------------------------------- */
typedef struct hpc_checker_options {
    const char *program;  /* path of hpccoder-clang; NULL: in the working folder */
    double open_seconds;  /* of wall clock, for a file with its headers */
    double check_seconds; /* for one candidate */
    size_t memory_bytes;  /* that the program may allocate */
    const char *fortran;  /* path of hpccoder-flang, for trees of Fortran; NULL: in the working
                             folder */
} hpc_checker_options;
#define HPC_CHECKER_DEFAULTS                                                                       \
    {                                                                                              \
        .open_seconds = 60, .check_seconds = 10, .memory_bytes = (size_t)3 << 30                   \
    }
/* A checker and its files belong to one thread at a time. */
typedef struct hpc_checker hpc_checker;
/* HPC_E_UNSUPPORTED: the program is missing or cannot start; the message says why. */
int hpc_checker_open(hpc_checker **out, const hpc_checker_options *o);
void hpc_checker_close(hpc_checker *c); /* after its files; NULL is fine */

/* True if the checker supports the language. */
bool hpc_check_knows(hpc_language l);

/* ---- a file, and what may stand in its gap -------------------------------------- */
typedef struct hpc_check_source {
    const char *path; /* need not exist; quoted includes are searched in its folder */
    const char *text;
    size_t n;      /* at most 16 MiB */
    size_t lo, hi; /* the gap: candidates replace text[lo..hi) */
    hpc_language language;
    const hpc_check_flags *flags; /* NULL: none */
} hpc_check_source;

typedef struct hpc_check_base { /* the file with its gap empty */
    /* All semantic errors count: no header is missing, no type before the gap is unknown, and
     * either the flags are known or no name is unknown. Otherwise errors of the parser count, and
     * of the others those that no declaration elsewhere could mend: a redefinition, a missing
     * return, and where no header is missing, a variable that nothing declares. Never for CUDA and
     * HIP, which are read with a few declarations of ours instead of the toolkit's headers. */
    bool strict;
    int64_t parse, semantic; /* errors, missing headers among them */
    char missing[128];       /* the first header that was not found, or "" */
    /* Errors of the unmodified file before its gap: */
    uint32_t line;
    char error[200]; /* the first of them, or "" */
    /* Standard headers that its names suggest and it does not include: it is checked as if it
     * did. "<vector>, <cmath>", or "" */
    char headers[400];
} hpc_check_base;

typedef struct hpc_check_file hpc_check_file;
/* Parses the file; headers are parsed once. HPC_E_UNSUPPORTED: no check for the language, or
 * libclang fails on the file. Copies *s. */
int hpc_check_file_open(hpc_check_file **out, hpc_checker *c, const hpc_check_source *s);
void hpc_check_file_close(hpc_check_file *f); /* NULL is fine */
const hpc_check_base *hpc_check_file_base(const hpc_check_file *f);

typedef enum hpc_check_verdict {
    HPC_CHECK_GOOD,
    HPC_CHECK_BAD, /* it brings errors that count */
    HPC_CHECK_LOST /* libclang failed on it; `text` has the reason, nothing else is known */
} hpc_check_verdict;
typedef struct hpc_check {
    hpc_check_verdict verdict;
    /* Number of errors, anywhere, that the file does not have without the candidate. The file
     * without it is the one with an empty gap. If that does not parse, it is the one with the
     * simplest filling that parses best, so that errors due to the gap do not count. Errors that
     * only move with the text are not new. If headers are missing, unknown types are declared
     * for the whole file when they occur. Parser errors then do not count after an undeclared
     * name in the same statement or an enclosing one, as long as brackets match. */
    int64_t parse, semantic;
    bool of_parser;        /* the first of those that count; in the text with the candidate: */
    uint32_t line, column; /* from 1; 0 when it is in a header and nothing in the file led to it */
    char text[256];        /* the message; "" when GOOD */
} hpc_check;
/* The file with text[0..n) in its gap. */
int hpc_check_text(hpc_check *out, hpc_check_file *f, const char *text, size_t n);

#ifdef __cplusplus
}
#endif
#endif
