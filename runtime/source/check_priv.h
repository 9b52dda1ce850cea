/*
 * check_priv.h: internals of the checker (check.h): issues of the compiler, the process
 * that finds them, and the comparison of issues.
 */
#ifndef HPC_SOURCE_CHECK_PRIV_H
#define HPC_SOURCE_CHECK_PRIV_H

#include <sys/types.h>

#include "runtime/source/check.h"

enum { CHECK_TEXT_MOST = 16 << 20, CHECK_ISSUES_MOST = 16384, CHECK_MESSAGE_MOST = 240 };

/* ---- issues ------------------------------------------------------------------- */
enum { CHECK_PARSE = 1 << 0, CHECK_INSIDE = 1 << 1 };
typedef struct check_issue {
    uint32_t flags, line, column, at; /* as hpc_clang_issue has them */
    uint32_t text_at, text_n;         /* of the message, in `text` below */
    uint32_t header_at, header_n, header_line;
} check_issue;
typedef struct check_issues {
    check_issue *item;
    int64_t n, cap;
    hpc_buf text;
    bool cut;   /* there were more */
} check_issues; /* zero to begin with; reused by the next call */
void check_issues_release(check_issues *s);

/* ---- messages between the two processes (check_wire.c) --------------------------- */
enum { CHECK_VERSION = 5 }; /* of the messages; the first one has it */
typedef struct check_reader {
    const uint8_t *at, *end;
    bool failed; /* it ended too early; all that is read then is 0 */
} check_reader;
void check_put(hpc_buf *b, uint64_t value);
void check_put_bytes(hpc_buf *b, const void *data, size_t n);
uint64_t check_get(check_reader *r);
/* Borrowed; followed by a NUL. */
const char *check_get_bytes(check_reader *r, size_t *n);
/* One message. 1: the other side is gone, or `until` (of hpc_clock_ns; 0: never) has come. */
int check_send(int fd, const hpc_buf *b, int64_t until);
int check_receive(hpc_buf *b, int fd, int64_t until);

/* A request: the kind, the number of the file, the seconds that it may take, and the following.
 *   OPEN: the flags CHECK_BODIES, ...; the set of headers that it may share (two numbers); path
 *         and contents of each text: the file, then one that declares names; compiler flags.
 *   PARSE: lo, hi, the text between them.
 *   CLOSE: nothing. The process sends no answer.
 *   TREE: nothing. The answer is the tree of the last parse.
 * Answers: 0 and the issues or the tree (tree_priv.h), or 1 and a message. */
enum { CHECK_BODIES = 1 << 0, CHECK_ONCE = 1 << 1, CHECK_REOPENED = 1 << 2 };
enum { CHECK_OPEN = 1, CHECK_PARSE_AGAIN, CHECK_CLOSE, CHECK_TREE, CHECK_FILES_MOST = 1 << 16 };
void check_put_issues(hpc_buf *b, const check_issues *s);
int check_get_issues(check_issues *out, check_reader *r);

/* ---- the process (check_process.c; check_serve.c is what runs in it) --------------- */
typedef struct check_process {
    pid_t pid; /* 0: none */
    int fd;
    char why[160]; /* the last one was lost */
    bool is_flang; /* else libclang */
} check_process;
/* HPC_E_UNSUPPORTED: the program is missing, cannot start or has another version. */
int check_process_start(check_process *p, const char *program, size_t memory_bytes);
/* 1: the process was lost; p->why has the reason. */
int check_process_ask(hpc_buf *answer, check_process *p, const hpc_buf *question, double seconds);
/* Sends a message and does not wait for an answer. */
void check_process_tell(check_process *p, const hpc_buf *message);
void check_process_stop(check_process *p);
/* Answers requests until the other side closes the connection. `program`: a file that exists. */
struct hpc_clang;
void check_serve(int fd, const struct hpc_clang *table, const char *program)
    __attribute__((noreturn));
/* check_program.c: confines itself and serves; returns only if it cannot. */
int check_program(int argc, char **argv, const struct hpc_clang *table);

/* ---- flags (check_words.c, check_flags.c) ------------------------------------------- */
/* Splits a command as a shell would that has no variables and no patterns. */
int check_words(const char ***out, int64_t *n, hpc_arena *a, const char *text);
/* "/a/b" of "/a/./c/../b", or of "b" in `folder`. */
const char *check_path(hpc_arena *a, const char *folder, const char *path);

/* ---- texts of ours (check_prelude.c) ------------------------------------------------ */
#define CHECK_FOLDER "/hpccoder-check" /* where they seem to be; nothing is there */
extern const char check_prelude_cuda[], check_prelude_omp[];
/* ---- (check_cuda.c) ---- */
extern const char check_cuda_calls[];
extern const char *const check_cuda_headers[]; /* names of the toolkits' headers */
extern const int check_cuda_headers_n;

/* ---- headers that files share (check_headers.c) -------------------------------------- */
typedef struct check_headers { /* a set of standard headers */
    uint64_t bits[2];
} check_headers;
/* Those that the compiler certainly includes for this file, and before any code. */
int check_headers_find(check_headers *out, const hpc_check_file *f);
int check_headers_ms(const check_headers *s); /* about what a parse of them takes */
check_headers check_headers_common(const check_headers *a, const check_headers *b);
bool check_headers_within(const check_headers *a, const check_headers *b); /* a in b */
/* The lines that include them, in the same order for each set. */
int check_headers_text(hpc_buf *out, const check_headers *s);
int check_headers_add_missing(hpc_check_file *f, const char *name, size_t n);

/* ---- new or not (check_compare.c) ---------------------------------------------------- */
/* A text that issues were found in: `mid_n` bytes from `lo` on are what fills the gap. */
typedef struct check_version {
    const char *text;
    size_t n, lo, mid_n;
    const check_issues *issues;
} check_version;
/* Sets fresh[i] = 1 for each issue of `now` that `before` does not have; leaves others
 * unchanged. */
void check_compare(uint8_t *fresh, uint8_t *used, const check_version *now,
                   const check_version *before, bool strict);

/* ---- undeclared names (check_names.c, check_excuse.c) ------------------------------------ */
bool check_is_missing_header(const check_issues *s, const check_issue *i);
/* The name in "unknown type name 'X'" and its like; NULL when it is another message. *call: it was
 * called as a function. */
const char *check_unknown_name(size_t *n, bool *call, const check_issues *s, const check_issue *i);
/* "RAJA_HOST_DEVICE": macros are written so, and few other names. */
bool check_is_shouted(const char *name, size_t n);
enum { CHECK_NAME_TYPE = 1, CHECK_NAME_MACRO, CHECK_NAME_VALUE, CHECK_NAME_TEMPLATE };
/* Appends declarations of unknown names of `v` to `prelude`, and adds the names to `known`. A name
 * used as a type is declared as __int128 for a tree, else as int; a name used as a value gets that
 * type, and for a tree a template is an alias of it. Adjacent names that can only be macros are
 * defined. Unless `needed`, this happens only if a type or a macro is among
 * the names, because the parser skips code that it does not understand after these. Returns how
 * many names were added, or a negative code. */
int check_names_declare(hpc_buf *prelude, hpc_map *known, const check_version *v,
                        const hpc_tokens *t, bool needed, bool for_tree);
/* Clears fresh[i] of issues of the parser that follow from an unknown name. */
int check_excuse(uint8_t *fresh, const check_version *v, const hpc_tokens *t, const hpc_map *known);

/* ---- standard headers of a fragment (check_fragment.c) ------------------------------------- */
/* True if a standard name is declared nowhere. */
bool check_is_fragment(const check_issues *s, bool cpp);
/* Appends an #include of each header that names of the text suggest and that `set` does not have,
 * and adds it to `set`. 1: there were such headers. */
int check_fragment_headers(uint64_t *set, hpc_buf *includes, const hpc_tokens *t, const char *text,
                           bool cpp);
/* "<vector>, <cmath>" */
void check_fragment_list(char *out, size_t n, uint64_t set, bool cpp);

/* ---- brackets (check_bracket.c) ----------------------------------------------------------- */
/* Number of unmatched brackets, and the first of them at or after `from` (t->n: none). */
int check_unmatched(int64_t *n, int64_t *first, const hpc_tokens *t, const char *text, size_t from);
/* Fillings of a gap that may complete the text around it: *n NUL-terminated texts, the simplest
 * first. */
int check_fillings(hpc_buf *out, int64_t *n, const hpc_tokens *t, const char *text, size_t lo,
                   size_t hi);

/* ---- a checker and its files (check.c, check_file.c) --------------------------------------- */
struct hpc_checker {
    check_process process;
    int64_t generation; /* of the process, from 1 */
    char *program, *fortran_program;
    hpc_checker_options options;
    uint8_t *taken; /* numbers of files */
    int64_t taken_n;
    hpc_map *missing;            /* headers, with the hash of the flags before each */
    struct hpc_checker *fortran; /* opened for the first Fortran file; NULL */
    bool is_fortran;             /* its program is hpccoder-flang */
};
/* The checker for files of a language: *c, or the one that it opens for Fortran. */
int check_for_language(hpc_checker **out, hpc_checker *c, hpc_language l);
/* The process runs afterwards. */
int check_restart(hpc_checker *c);
int check_take_id(uint64_t *id, hpc_checker *c);
void check_return_id(hpc_checker *c, uint64_t id);

/* The text with one filling of its gap, and what was found in it. */
typedef struct check_filled {
    hpc_buf text;
    check_issues issues;
    size_t mid_n;
} check_filled;

struct hpc_check_file {
    hpc_checker *c;
    uint64_t id;
    bool taken;         /* the number */
    bool for_tree;      /* parsed without OpenMP; unknown types must be recognizable */
    bool once;          /* parsed once, with headers that other files may share */
    int64_t generation; /* of the process that it is open in; 0: in none */
    hpc_check_base base;
    hpc_arena *arena;
    const char *path, *text; /* absolute; with the gap empty */
    size_t n, lo;
    hpc_language language;
    const char **flags; /* libclang's */
    int64_t flags_n;
    bool flags_known;
    bool shares;                     /* parses of headers */
    check_headers headers;           /* that it may share */
    uint64_t suggested;              /* headers, as check_fragment_headers has them */
    hpc_buf includes;                /* of these */
    hpc_buf prelude;                 /* declares names that were unknown */
    hpc_map *known;                  /* those */
    int reopened;                    /* number of times it was reopened to declare such names */
    hpc_buf question;                /* that opens it */
    size_t question_n;               /* bytes of the text in it */
    check_filled empty, filled, now; /* the base line; filled.text.n 0: nothing is better */
    hpc_buf filling;                 /* of `filled` */
    hpc_tokens tokens;
    hpc_buf answer, message;
    uint8_t *fresh, *used;
    int64_t fresh_cap, used_cap;
};
/* for_tree: all of it is the gap's surroundings, and check_file_again may follow. once: it is
 * parsed only once, with headers that other files may share. */
int check_file_create(hpc_check_file **out, hpc_checker *c, const hpc_check_source *s,
                      bool for_tree, bool once);
/* The file with another text, and what is found in it. */
int check_file_again(hpc_check_file *f, const char *text, size_t n);
/* Sends a request that consists of its kind only. 1: the process was lost. */
int check_file_ask(check_reader *answer, hpc_check_file *f, int kind);
check_version check_version_of(const hpc_check_file *f, const check_filled *v);
/* The process has the file open afterwards. */
int check_open_again(hpc_check_file *f);
/* An error in f->now that is a bug wherever names are declared; a missing return (check_bug.c). */
bool check_is_bug(const hpc_check_file *f, const check_issue *i);
bool check_lacks_return(const hpc_check_file *f, const check_issue *i);
/* Parses the file with text[0..n) in the gap. 1: the process was lost. */
int check_look(check_filled *out, hpc_check_file *f, const char *text, size_t n);
/* 1 when standard headers that names of `v` suggest were included and the file is open with them.
 * Only of a file that needed some. */
int check_include(hpc_check_file *f, const check_filled *v);
/* 1 if unknown names of `v` were declared and the file is open with them, with a new baseline. */
int check_declare(hpc_check_file *f, const check_filled *v, bool needed);

/* ---- headers that a text names (check_headers.c) ---- */
/* hpc_file_read of a regular file, because opening a pipe or a device may block. */
int check_read_header(hpc_buf *out, const char *path, size_t limit);

#endif
