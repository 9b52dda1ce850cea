/*
 * source.h: analysis of source code by tokens: languages, parallel models, functions, loops with
 * their directives, and samples rendered the same way for training and inference.
 *
 * Everything works on text that may not compile: headers missing, macros unexpanded, braces
 * unbalanced. Nothing here reads files or keeps state. All input is untrusted: no text makes a
 * function read outside it, recurse without bound or take more than linear time, apart from
 * sorting.
 */
#ifndef HPC_SOURCE_H
#define HPC_SOURCE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- languages ------------------------------------------------------------- */
typedef enum hpc_language {
    HPC_LANGUAGE_NONE,
    HPC_LANGUAGE_C,
    HPC_LANGUAGE_CPP,
    HPC_LANGUAGE_CUDA,
    HPC_LANGUAGE_HIP,
    HPC_LANGUAGE_FORTRAN,
    HPC_LANGUAGE_OPENCL,
    HPC_LANGUAGE_N
} hpc_language;
const char *hpc_language_name(hpc_language l);     /* "none", "c", "c++", "cuda", "hip", ... */
hpc_language hpc_language_named(const char *name); /* NONE when unknown */
/* By the file name; NONE: not source code in one of these languages. ".h" is C. */
hpc_language hpc_language_of_path(const char *path);
/* By name and text: a ".h" may be C++, a ".cpp" HIP, a ".inc" Fortran. */
hpc_language hpc_language_of(const char *path, const char *text, size_t n);
/* Fixed-form Fortran (".f", ".for", ".F" ..., unless the text shows free form). */
bool hpc_language_fixed_form(const char *path, const char *text, size_t n);

/* ---- tokens ----------------------------------------------------------------
 * Every byte of the text is in one token, in blank space or in a spliced line end.
 * Directives: a SENTINEL token ("#", "!$omp", "c$acc", "!$", ...), the directive's own tokens
 * flagged IN_DIRECTIVE with continuations joined, then an empty END_DIRECTIVE; the sentinel, the
 * end and comments between them also have the flag. Comments are tokens, so that licences and
 * secrets can be found in them. A name cut in two by a spliced line end is one token with the hash
 * of the whole name. */
typedef enum hpc_token_kind {
    HPC_TOKEN_NAME, /* identifiers and keywords */
    HPC_TOKEN_NUMBER,
    HPC_TOKEN_STRING, /* with prefix, quotes and raw delimiters; <x.h> after an include */
    HPC_TOKEN_CHARACTER,
    HPC_TOKEN_PUNCT, /* longest operator of the language, or one unknown byte */
    HPC_TOKEN_COMMENT,
    HPC_TOKEN_SENTINEL,
    HPC_TOKEN_END_DIRECTIVE,
    HPC_TOKEN_NEWLINE, /* Fortran only: the end of a statement, also ';' */
    HPC_TOKEN_LABEL    /* Fortran only: a statement label */
} hpc_token_kind;
enum { HPC_TOKEN_IN_DIRECTIVE = 1, HPC_TOKEN_FIRST_ON_LINE = 2, HPC_TOKEN_UNTERMINATED = 4 };
typedef struct hpc_token {
    uint32_t at, n, line; /* bytes [at, at + n) of the text; line from 1 */
    uint32_t hash;        /* of the spelling; Fortran: in lower case, except strings, comments */
    uint8_t kind, flags;
} hpc_token;
typedef struct hpc_tokens {
    hpc_token *item;
    int64_t n, cap;
} hpc_tokens; /* zero to begin with; reused by the next call */
/* A text of 4 GiB or more is an error. fixed: fixed-form Fortran. */
int hpc_lex(hpc_tokens *out, const char *text, size_t n, hpc_language l, bool fixed);
void hpc_tokens_release(hpc_tokens *t);
/* For a text that ends, or begins, at a cursor: removes the branches of each #if around the cursor
 * that do not hold it, and the directives of these #if. A text that begins at a cursor may have
 * the beginning of the statement or directive around it, which ends at offset `cursor`. */
int hpc_tokens_keep_last_branch(hpc_tokens *t, const char *text);
void hpc_tokens_keep_first_branch(hpc_tokens *t, const char *text, size_t cursor);
/* The first token that begins at or after `at`; t->n if no token does. */
int64_t hpc_token_at(const hpc_tokens *t, size_t at);
/* The hash of a token with this spelling. */
uint32_t hpc_token_hash(const char *spelling, size_t n);
/* Identifies this build's tokenization. Data that are keyed by token hashes are valid only for
 * the same value. */
int hpc_lexer_hash(uint64_t *out);
/* True if a token counts as code: not a comment, an END_DIRECTIVE or a NEWLINE. Counts of
 * tokens, shingles and containment use these tokens only. */
static inline bool hpc_token_is_code(const hpc_token *t)
{
    return t->kind != HPC_TOKEN_COMMENT && t->kind != HPC_TOKEN_END_DIRECTIVE &&
           t->kind != HPC_TOKEN_NEWLINE;
}

/* ---- parallel models ---------------------------------------------------------
 * Detected in tokens: comments and strings do not count. */
enum {
    HPC_PARALLEL_OPENMP = 1 << 0,
    HPC_PARALLEL_MPI = 1 << 1,
    HPC_PARALLEL_CUDA = 1 << 2,
    HPC_PARALLEL_HIP = 1 << 3,
    HPC_PARALLEL_OPENACC = 1 << 4,
    HPC_PARALLEL_SYCL = 1 << 5,
    HPC_PARALLEL_KOKKOS = 1 << 6,
    HPC_PARALLEL_RAJA = 1 << 7,
    HPC_PARALLEL_PTHREADS = 1 << 8,
    HPC_PARALLEL_STD = 1 << 9, /* std::execution */
    HPC_PARALLEL_OPENCL = 1 << 10,
    HPC_PARALLEL_N = 11
};
uint32_t hpc_parallel_of(const hpc_tokens *t, const char *text, hpc_language l);
const char *hpc_parallel_name(int bit); /* of 1 << bit: "openmp", "mpi", ... */

/* ---- functions -------------------------------------------------------------- */
typedef struct hpc_function {
    uint32_t at, end;         /* from the start of the declaration to after the last brace */
    uint32_t name_at, name_n; /* "f", "A::f", "operator()"; name_n 0: a Fortran main program */
    uint32_t body_at;         /* of '{', or after the Fortran header statement */
    uint32_t line, end_line;
    int32_t outer; /* the function around it (Fortran `contains`), or -1 */
} hpc_function;
typedef struct hpc_functions {
    hpc_function *item;
    int64_t n, cap;
} hpc_functions;
/* Definitions only, in order of `at`: functions, methods, kernels, templates, constructors;
 * Fortran program, subroutine and function. Lambdas belong to the function around them. */
int hpc_functions_find(hpc_functions *out, const hpc_tokens *t, const char *text, hpc_language l);
void hpc_functions_release(hpc_functions *f);

/* ---- loops and pragmas -------------------------------------------------------- */
typedef enum hpc_directive_api {
    HPC_DIRECTIVE_NONE,
    HPC_DIRECTIVE_OMP,
    HPC_DIRECTIVE_ACC
} hpc_directive_api;
/* The words of a directive's name, as bits: "target teams distribute parallel for simd". */
enum {
    HPC_OMP_PARALLEL = 1 << 0,
    HPC_OMP_FOR = 1 << 1, /* for, do */
    HPC_OMP_SIMD = 1 << 2,
    HPC_OMP_TARGET = 1 << 3,
    HPC_OMP_TEAMS = 1 << 4,
    HPC_OMP_DISTRIBUTE = 1 << 5,
    HPC_OMP_TASKLOOP = 1 << 6,
    HPC_OMP_SECTIONS = 1 << 7,
    HPC_OMP_LOOP = 1 << 8, /* of OpenMP and of OpenACC */
    HPC_ACC_KERNELS = 1 << 9,
    HPC_OMP_TILE_UNROLL = 1 << 10,
    HPC_OMP_MASKED = 1 << 11,
    HPC_OMP_OTHER = 1 << 12 /* any other directive: barrier, critical, task, data, ... */
};
typedef struct hpc_pragma {
    hpc_directive_api api;
    uint32_t words;
    uint32_t at, end; /* in the source, with all continuation lines */
    uint32_t line;
    uint32_t first, last; /* its tokens after the sentinel and the "omp": [first, last); for a
                             _Pragma: only its strings */
    int32_t loop;         /* the first loop that it applies to, or with `closes` ends; or -1 */
    bool closes;          /* "!$omp end do" */
    bool alternative;     /* under an #else: an alternative to the previous directive */
} hpc_pragma;
typedef struct hpc_loop {
    uint32_t at, end; /* from `for`/`do` (or its label) to after the body */
    uint32_t body_at; /* of the body: '{' or the first statement */
    uint32_t line, end_line;
    int32_t outer;     /* the loop around it in the same function, or -1 */
    int32_t depth;     /* 0 for an outermost loop */
    int32_t function;  /* or -1 */
    int32_t pragma;    /* the directive that applies to this loop itself, or -1 */
    int32_t pragmas_n; /* directives stacked on it: [pragma, pragma + pragmas_n), the innermost
                        * last; `pragma` is the first of them */
    bool braced, concurrent; /* `do concurrent`; range-for counts as a for */
    bool complete;           /* the end was found before the function's or the file's */
    bool in_parallel;        /* lexically inside a parallel region or another annotated loop */
} hpc_loop;
typedef struct hpc_loops {
    hpc_loop *item;
    int64_t n, cap;
    hpc_pragma *pragma; /* all directives of both kinds in the file, in order */
    int64_t pragma_n, pragma_cap;
} hpc_loops;
/* Finds every `for` and Fortran `do` (also labelled ones; not `do while` and `while`), in order
 * of `at`. A loop made by a macro is one loop if a `for` is spelled out. Loops inside a #define
 * and inside #if 0 are ignored. A collapsed inner loop has pragma -1 and in_parallel true.
 *
 * A directive applies to a loop if only comments, blank lines, other pragmas and #if lines
 * separate them. In C, so do `parallel`, `target`, `teams` and `kernels` directly before it,
 * which also set in_parallel; in Fortran these are regions up to their end directive. `single`,
 * `task` and similar directives never apply to a loop, but a loop inside them has in_parallel.
 *
 * Two loops that open in branches of an #if and share their body end together. In fixed form,
 * words must be separated by blanks: `DO10I=1,3` counts as a name. */
int hpc_loops_find(hpc_loops *out, const hpc_tokens *t, const char *text, hpc_language l,
                   const hpc_functions *f);
void hpc_loops_release(hpc_loops *l);
int64_t hpc_loops_at(const hpc_loops *l, size_t at); /* the loop that begins there; -1 */
/* The directive on one line, normalised: "#pragma omp parallel for reduction(+:sum)" or "!$omp
 * parallel do ...". Continuations are joined, words are separated by one blank, and inside
 * parentheses blanks follow only commas; a _Pragma's string is unescaped. Clauses keep their
 * order. */
int hpc_pragma_text(hpc_buf *out, const hpc_loops *l, int64_t pragma, const hpc_tokens *t,
                    const char *text, hpc_language lang);
/* Appends a directive, or several lines of them, from hpc_pragma_text without machine-dependent
 * and stylistic clauses. Kept: the name, private, firstprivate, lastprivate, linear, reduction,
 * collapse, and a schedule other than plain static. Dropped: numbers of threads, if, default,
 * shared, nowait, maps, macros. */
int hpc_pragma_plain(hpc_buf *out, const char *directive);
/* Equal for loops that differ only in white space, comments and their own directive. */
hpc_hash128 hpc_loop_hash(const hpc_loop *loop, const hpc_loops *l, const hpc_tokens *t,
                          const char *text);

/* ---- samples ------------------------------------------------------------------
 * A model's input as parts: text, or a mark that is one token in all of our tokenizers. A mark is
 * never part of a text, so source that contains "<fim_middle>" stays text. */
typedef enum hpc_mark {
    HPC_MARK_NONE, /* a text part */
    HPC_MARK_FIM_PREFIX,
    HPC_MARK_FIM_SUFFIX,
    HPC_MARK_FIM_MIDDLE,
    HPC_MARK_FILE,       /* followed by the path and a newline, then the file */
    HPC_MARK_REPOSITORY, /* followed by the name and a newline */
    HPC_MARK_END,        /* the end of a document */
    HPC_MARK_PRAGMA,     /* the answer follows: a directive, or nothing */
    HPC_MARK_LOOP,       /* the loop begins here, within its context */
    HPC_MARK_PERF_BASE,  /* a function before the change */
    HPC_MARK_PERF_HEAD,  /* and after it */
    HPC_MARK_PERF_LABEL, /* the answer follows: slower, same or faster */
    HPC_MARK_N
} hpc_mark;
const char *hpc_mark_text(hpc_mark m); /* "<fim_prefix>", ...; NULL for NONE */
typedef struct hpc_sample_part {
    hpc_mark mark;
    size_t at, n; /* of `text` below */
} hpc_sample_part;
typedef struct hpc_sample {
    hpc_buf text;
    hpc_sample_part *part;
    int64_t n, cap;
} hpc_sample; /* zero to begin with */
void hpc_sample_clear(hpc_sample *s);
void hpc_sample_release(hpc_sample *s);
int hpc_sample_mark(hpc_sample *s, hpc_mark m);
int hpc_sample_text(hpc_sample *s, const char *text, size_t n);

typedef struct hpc_render_options {
    size_t before, after; /* bytes of context at most; cut at line ends */
    size_t loop;          /* of the loop at most; text after a truncated loop is omitted */
} hpc_render_options;
#define HPC_RENDER_DEFAULTS                                                                        \
    {                                                                                              \
        .before = 768, .after = 256, .loop = 1536                                                  \
    }
/* REPOSITORY name FILE path text END; a NULL name is omitted, with its mark. */
int hpc_render_file(hpc_sample *out, const char *repository, const char *path, const char *text,
                    size_t n);
/* Fill-in-the-middle of text[lo..hi): prefix first (PREFIX a SUFFIX c MIDDLE b) or suffix first
 * (PREFIX SUFFIX c MIDDLE a b), then END. */
int hpc_render_fim(hpc_sample *out, const char *path, const char *text, size_t n, size_t lo,
                   size_t hi, bool suffix_first);
/* A loop in its context without its own directives (those of other loops stay): context LOOP loop
 * text-after PRAGMA; then, if `answer` is not NULL, the answer and END. The answer is a result of
 * hpc_pragma_text, or "" for a loop that must stay serial. */
int hpc_render_loop(hpc_sample *out, const hpc_loops *l, int64_t loop, const hpc_functions *f,
                    const char *path, const char *text, size_t n, const char *answer,
                    const hpc_render_options *options);
/* PERF_BASE base PERF_HEAD head PERF_LABEL, then label and END unless it is NULL. */
int hpc_render_change(hpc_sample *out, const char *path, const char *base, size_t base_n,
                      const char *head, size_t head_n, const char *label);

#ifdef __cplusplus
}
#endif
#endif
