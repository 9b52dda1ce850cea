/*
 * change_priv.h: cached versions of files, and the comparison of two versions.
 */
#ifndef HPC_PERF_CHANGE_PRIV_H
#define HPC_PERF_CHANGE_PRIV_H

#include <string.h>
#include <strings.h>

#include "infer/perf/change.h"
#include "runtime/source/diff.h"
#include "runtime/source/pair.h"

/* ---- cache.c: versions of files ------------------------------------------------------------- */
typedef struct perf_part { /* a function, or the code outside functions */
    uint64_t content;      /* hash of its code */
    uint64_t bytes;        /* hash of its text, with comments and white space */
} perf_part;
typedef struct perf_kept perf_kept;
struct perf_kept {
    hpc_perf_source s; /* first member, so that a source converts to its perf_kept */
    hpc_git_id id;
    uint64_t key;     /* of id and the relevant part of the path */
    perf_part *part;  /* of functions, then of the code outside */
    size_t bytes;     /* of memory, approximately */
    int64_t used;     /* the change that used it last */
    perf_kept *chain; /* next in the slot */
};
static inline const perf_part *perf_part_of(const hpc_perf_source *s, int64_t function)
{
    const perf_kept *k = (const perf_kept *)(const void *)s;
    return &k->part[function < 0 ? s->f.n : function];
}
typedef struct perf_work_file { /* of the working tree */
    const hpc_perf_text *file;
    hpc_git_id id;   /* zero: it does not exist */
    hpc_git_id base; /* its blob in the commit; zero: none */
} perf_work_file;
enum { PERF_SLOTS = 4096 };
struct hpc_perf_reader {
    hpc_git *git;
    hpc_perf_limits limits;
    bool leaves_aside; /* ignores files outside the program */
    const hpc_perf_program *program;
    perf_work_file *work; /* by path */
    int64_t work_n;
    perf_kept *slot[PERF_SLOTS];
    size_t bytes;        /* of all cached files */
    size_t change_bytes; /* of text of this change */
    int64_t change, read_n, kept_n;
    hpc_git_changes diff;
    hpc_buf scratch;
    hpc_edits edits;
};
/* The file with this id: from the cache, or read and parsed. */
int perf_cache_get(const hpc_perf_source **out, hpc_perf_reader *r, const hpc_git_id *id,
                   const char *path);
void perf_cache_trim(hpc_perf_reader *r); /* drops files that this change did not use */
void perf_cache_free(hpc_perf_reader *r);

/* ---- worktree.c ---- */
/* As hpc_git_diff into r->diff, with the files of the working tree as head. */
int perf_work_diff(hpc_perf_reader *r, const hpc_git_id *base,
                   bool (*want)(const char *path, void *user), void *user);
/* The file with this id; NULL: the id is a blob's. */
const hpc_perf_text *perf_work_find(const hpc_perf_reader *r, const hpc_git_id *id);

/* ---- match.c: files and functions before and after ---- */
/* Sets the files of out from `diff`; a renamed file is one file. */
int perf_match_files(hpc_perf_change *out, hpc_perf_reader *r);
int perf_match_functions(hpc_perf_change *out, hpc_perf_reader *r);

/* ---- lines.c ----------------------------------------------------------------------------------
 */
int perf_line_edits(hpc_perf_change *out, hpc_perf_function *f, hpc_perf_reader *r);

/* ---- build.c ----------------------------------------------------------------------------------
 */
bool perf_is_build(const char *path);
int perf_build_words(hpc_tokens *out, const char *text, size_t n);

/* ---- lists of words ---------------------------------------------------------------------------
 */
/* Ignores case. NULL ends the list. */
static inline bool perf_is_one_of(const char *word, size_t n, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == n && strncasecmp(word, *list, n) == 0) return true;
    return false;
}

#endif
