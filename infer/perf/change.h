/*
 * change.h: what lies between two commits: the files that differ, and in them, function by
 * function, what was before and what is after.
 *
 * Nothing is run, no header is looked for and nothing is expanded: text may not compile. The
 * repository is untrusted: files above a size, binary ones and what cannot be read are skipped, and
 * it is said which.
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
    HPC_PERF_OTHER, /* neither: never read */
    HPC_PERF_SOURCE,
    HPC_PERF_BUILD /* says how it is compiled: CMakeLists.txt, Makefile, configure, ... */
} hpc_perf_kind;
hpc_perf_kind hpc_perf_kind_of_path(const char *path);

typedef enum hpc_perf_skip {
    HPC_PERF_TAKEN,
    HPC_PERF_BINARY,
    HPC_PERF_LARGE,    /* above the limit of one file, or of all files of a change */
    HPC_PERF_ABSENT,   /* a partial or shallow clone */
    HPC_PERF_CORRUPT,  /* no blob that can be read */
    HPC_PERF_NO_SOURCE /* named like source code, but none by what is in it */
} hpc_perf_skip;
const char *hpc_perf_skip_name(hpc_perf_skip s); /* "binary", ...; "" for TAKEN */

typedef struct hpc_perf_source { /* belongs to the reader, good until its next change */
    hpc_perf_kind kind;
    hpc_perf_skip skip; /* unless TAKEN, there is nothing below */
    hpc_language language;
    hpc_buf text;
    hpc_tokens t; /* of a BUILD file: words as NAME, comments as COMMENT */
    hpc_functions f;
    uint32_t *line; /* where each begins in the text */
    uint32_t lines_n;
} hpc_perf_source;

/* ---- a change ------------------------------------------------------------------------------- */
typedef enum hpc_perf_state { HPC_PERF_ADDED, HPC_PERF_DELETED, HPC_PERF_MODIFIED } hpc_perf_state;

typedef struct hpc_perf_file {
    size_t path, base_path; /* in `names`; they differ when it was renamed */
    hpc_perf_kind kind;
    hpc_perf_state state;
    hpc_perf_skip skip;                 /* of either side: nothing is told of its functions */
    const hpc_perf_source *base, *head; /* NULL: not there, or the content did not change */
} hpc_perf_file;

typedef struct hpc_perf_edit { /* lines from 1; base_n or head_n may be 0, then behind line - 1 */
    uint32_t base_line, base_n, head_line, head_n;
} hpc_perf_edit;

typedef struct hpc_perf_side {     /* a function in one of the commits */
    const hpc_perf_source *source; /* NULL: not there */
    int64_t function;              /* of source->f; -1: what is in no function of the file */
    uint32_t at, end;              /* its text; of what is in no function the whole file */
    uint32_t line, end_line;
} hpc_perf_side;

typedef struct hpc_perf_function {
    int64_t file;           /* where it is, or was if it is gone */
    int64_t base_file;      /* where it was, or is if it is new */
    size_t name, base_name; /* in `names`; "" for what is in no function */
    hpc_perf_state state;
    bool same_code; /* both sides are the same but for comments and white space */
    hpc_perf_side base, head;
    int64_t first, edits_n; /* of `edit`; none when it is new or gone */
    int64_t lines_added, lines_removed;
} hpc_perf_function;

typedef struct hpc_perf_change {
    hpc_git_id base, head;
    hpc_perf_file *file; /* of SOURCE and BUILD that differ, by path */
    int64_t files_n, files_cap;
    hpc_perf_function *function; /* in order of file and line, what is in none last */
    int64_t n, cap;
    hpc_perf_edit *edit;
    int64_t edits_n, edits_cap;
    hpc_buf names;
    int64_t skipped_n;     /* files of them with a `skip` */
    int64_t other_n;       /* files of kind OTHER that differ */
    int64_t aside_n;       /* files of any kind that differ and the program does not contain */
    int64_t other_aside_n; /* files of kind OTHER among these */
    int64_t modules_n;     /* submodules that differ */
    bool too_many;         /* more files than the limit: then it is empty */
} hpc_perf_change;         /* zero to begin with; reused by the next call */
void hpc_perf_change_release(hpc_perf_change *c);

/* ---- the program -------------------------------------------------------------------------- */
/* Which files of a repository the measured program contains. */
typedef struct hpc_perf_program {
    const char *const *part; /* files and folders that belong to it whatever their names say */
    int64_t part_n;
    const char *const *built; /* absolute paths of the sources that its build compiles */
    int64_t built_n;          /* 0: not known */
} hpc_perf_program;
/* False for sources that are not built, where that is known; else for files of tests, documents and
 * examples, by the names of folders and files. Benchmarks among tests belong to it: they are what
 * is measured. p NULL: nothing is known. */
/* Sets out->built to the files of a compile_commands.json; texts live in the arena. */
int hpc_perf_program_read_built(hpc_perf_program *out, const char *path, hpc_arena *a);
bool hpc_perf_program_has(const hpc_perf_program *p, const char *path);

typedef struct hpc_perf_limits {
    int64_t files;       /* of a change */
    size_t file_bytes;   /* of one version of a file */
    size_t change_bytes; /* of all files of a change */
    size_t cache_bytes;  /* kept for the changes to come: the head of one is the base of the next */
} hpc_perf_limits;
#define HPC_PERF_LIMITS_DEFAULTS                                                                   \
    {                                                                                              \
        .files = 1000, .file_bytes = 2 << 20, .change_bytes = 32 << 20, .cache_bytes = 256 << 20   \
    }

typedef struct hpc_perf_reader hpc_perf_reader; /* belongs to one thread */
/* g is borrowed for as long as it lives. limits NULL: the defaults. */
int hpc_perf_reader_create(hpc_perf_reader **out, hpc_git *g, const hpc_perf_limits *limits);
/* Leaves files aside that the program does not contain; borrowed as `g` is. NULL: as
 * hpc_perf_program_has takes it. Without this call no file is left aside. */
void hpc_perf_reader_set_program(hpc_perf_reader *r, const hpc_perf_program *p);
void hpc_perf_reader_free(hpc_perf_reader *r);
/* A file of the working tree. */
typedef struct hpc_perf_text {
    const char *path; /* from the root of the repository */
    const char *text; /* NULL: the file does not exist */
    size_t n;
} hpc_perf_text;
/* From now on a head of zero stands for the base with these files, which are borrowed. Call once.
 * A file that is in neither gives HPC_E_ARG when the change is read. */
int hpc_perf_reader_set_work(hpc_perf_reader *r, const hpc_perf_text *file, int64_t n);
/* Replaces out by what differs from base to head. A zero id stands for nothing at all: give it as
 * base for the first commit of a history; for a merge give its first parent. Functions are paired
 * over all files: by place and name, by content, by name, by likeness; one that merely moved is not
 * told of. READ, or ABSENT or CORRUPT (a commit or a tree, the reason in `names`); a negative code
 * when memory ran out. */
int hpc_perf_change_read(hpc_perf_change *out, hpc_perf_reader *r, const hpc_git_id *base,
                         const hpc_git_id *head);
/* Files read and parsed since it was created, and those found in the cache. */
void hpc_perf_reader_counts(int64_t *read, int64_t *kept, const hpc_perf_reader *r);

#ifdef __cplusplus
}
#endif
#endif
