/*
 * change.h: difference of two commits: changed files, and the functions in them before and after.
 *
 * It runs nothing, reads no headers and expands no macros, so the text need not compile. The
 * repository is untrusted: large, binary and unreadable files are skipped and marked.
 */
#ifndef HPC_PERF_CHANGE_H
#define HPC_PERF_CHANGE_H

#include "runtime/git/git.h"
#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one version of a file ---------------------------------------------------------------- */
typedef enum hpc_perf_kind {
    HPC_PERF_OTHER, /* never read */
    HPC_PERF_SOURCE,
    HPC_PERF_BUILD /* build description: CMakeLists.txt, Makefile, configure, ... */
} hpc_perf_kind;
hpc_perf_kind hpc_perf_kind_of_path(const char *path);

typedef enum hpc_perf_skip {
    HPC_PERF_TAKEN,
    HPC_PERF_BINARY,
    HPC_PERF_LARGE,    /* above the limit for a file or for a change */
    HPC_PERF_ABSENT,   /* a partial or shallow clone */
    HPC_PERF_CORRUPT,  /* no readable blob */
    HPC_PERF_NO_SOURCE /* named like source code, but with other contents */
} hpc_perf_skip;
const char *hpc_perf_skip_name(hpc_perf_skip s); /* "binary", ...; "" for TAKEN */

typedef struct hpc_perf_source { /* the reader owns it; valid until its next change */
    hpc_perf_kind kind;
    hpc_perf_skip skip; /* unless TAKEN, the members below are unset */
    hpc_language language;
    hpc_buf text;
    hpc_tokens t; /* for a BUILD file: words as NAME, comments as COMMENT */
    hpc_functions f;
    uint32_t *line; /* offset of each line in the text */
    uint32_t lines_n;
} hpc_perf_source;

/* ---- a change ------------------------------------------------------------------------------- */
typedef enum hpc_perf_state { HPC_PERF_ADDED, HPC_PERF_DELETED, HPC_PERF_MODIFIED } hpc_perf_state;

typedef struct hpc_perf_file {
    size_t path, base_path; /* in `names`; they differ after a rename */
    hpc_perf_kind kind;
    hpc_perf_state state;
    hpc_perf_skip skip;                 /* of either side; then its functions are missing */
    const hpc_perf_source *base, *head; /* NULL: absent, or unchanged content */
} hpc_perf_file;

typedef struct hpc_perf_edit { /* lines from 1; base_n or head_n 0: after line - 1 */
    uint32_t base_line, base_n, head_line, head_n;
} hpc_perf_edit;

typedef struct hpc_perf_side {     /* a function in one commit */
    const hpc_perf_source *source; /* NULL: absent */
    int64_t function;              /* of source->f; -1: code outside functions */
    uint32_t at, end;              /* its text; the whole file for code outside functions */
    uint32_t line, end_line;
} hpc_perf_side;

typedef struct hpc_perf_function {
    int64_t file;           /* in head, or in base if it was removed */
    int64_t base_file;      /* in base, or in head if it was added */
    size_t name, base_name; /* in `names`; "": code outside functions */
    hpc_perf_state state;
    bool same_code; /* both sides differ in comments and white space only */
    hpc_perf_side base, head;
    int64_t first, edits_n; /* of `edit`; none if it was added or removed */
    int64_t lines_added, lines_removed;
} hpc_perf_function;

typedef struct hpc_perf_change {
    hpc_git_id base, head;
    hpc_perf_file *file; /* changed SOURCE and BUILD files, by path */
    int64_t files_n, files_cap;
    hpc_perf_function *function; /* by file and line; code outside functions last */
    int64_t n, cap;
    hpc_perf_edit *edit;
    int64_t edits_n, edits_cap;
    hpc_buf names;
    int64_t skipped_n;     /* of these files, those with a `skip` */
    int64_t other_n;       /* changed files of kind OTHER */
    int64_t aside_n;       /* changed files of any kind outside the program */
    int64_t other_aside_n; /* of these, files of kind OTHER */
    int64_t modules_n;     /* changed submodules */
    bool too_many;         /* more files than the limit; then the change is empty */
} hpc_perf_change;         /* zero to begin with; reused by the next call */
void hpc_perf_change_release(hpc_perf_change *c);

/* ---- the program -------------------------------------------------------------------------- */
/* Which files of a repository the measured program contains. */
typedef struct hpc_perf_program {
    const char *const *part; /* files and folders that belong to it, whatever their names */
    int64_t part_n;
    const char *const *built; /* absolute paths of the sources that its build compiles */
    int64_t built_n;          /* 0: unknown */
} hpc_perf_program;
/* Sets out->built to the files of a compile_commands.json; texts live in the arena. */
int hpc_perf_program_read_built(hpc_perf_program *out, const char *path, hpc_arena *a);
/* False for sources that are known not to be built. If that is unknown: false for tests, documents
 * and examples, by the names of folders and files, but true for benchmarks among tests. p NULL:
 * nothing is known. */
bool hpc_perf_program_has(const hpc_perf_program *p, const char *path);

typedef struct hpc_perf_limits {
    int64_t files;       /* of a change */
    size_t file_bytes;   /* of one version of a file */
    size_t change_bytes; /* of all files of a change */
    size_t cache_bytes;  /* of the cache: the head of a change is the base of the next */
} hpc_perf_limits;
#define HPC_PERF_LIMITS_DEFAULTS                                                                   \
    {                                                                                              \
        .files = 1000, .file_bytes = 2 << 20, .change_bytes = 32 << 20, .cache_bytes = 256 << 20   \
    }

typedef struct hpc_perf_reader hpc_perf_reader; /* belongs to one thread */
/* Borrows g until it is freed. limits NULL: the defaults. */
int hpc_perf_reader_create(hpc_perf_reader **out, hpc_git *g, const hpc_perf_limits *limits);
/* Ignores files outside the program, as hpc_perf_program_has decides, also for NULL. Borrows p.
 * Without this call no file is ignored. */
void hpc_perf_reader_set_program(hpc_perf_reader *r, const hpc_perf_program *p);
void hpc_perf_reader_free(hpc_perf_reader *r);
/* A file of the working tree. */
typedef struct hpc_perf_text {
    const char *path; /* from the root of the repository, as git spells it; in a list, once */
    const char *text; /* NULL: the file does not exist */
    size_t n;
} hpc_perf_text;
/* From now on a zero head means the base with these files, which are borrowed. Call once. A file
 * that is in neither gives HPC_E_ARG when the change is read. */
int hpc_perf_reader_set_work(hpc_perf_reader *r, const hpc_perf_text *file, int64_t n);
/* Replaces out by the difference of base and head. A zero id is an empty commit: the base of the
 * first commit of a history. The base of a merge is its first parent. Functions are paired across
 * files: by position and name, by content, by name, by similarity. Functions that only moved are
 * left out. Returns READ, or ABSENT or CORRUPT for a commit or tree, with the reason in `names`; a
 * negative code: out of memory. */
int hpc_perf_change_read(hpc_perf_change *out, hpc_perf_reader *r, const hpc_git_id *base,
                         const hpc_git_id *head);
/* Files that were parsed since the reader was created, and those found in the cache. */
void hpc_perf_reader_counts(int64_t *read, int64_t *kept, const hpc_perf_reader *r);

#ifdef __cplusplus
}
#endif
#endif
