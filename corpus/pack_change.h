/*
 * pack_change.h: the functions that differ between two commits.
 */
#ifndef HPC_CORPUS_PACK_CHANGE_H
#define HPC_CORPUS_PACK_CHANGE_H

#include "corpus/corpus.h"

/* A change of more files or functions tells nothing about any of them. */
enum {
    CHANGE_FILES = 500,
    CHANGE_FUNCTIONS = 256,
    CHANGE_FILE_BYTES = 1 << 20,
    CHANGE_FUNCTION_BYTES = 1 << 15
};

typedef struct change_side { /* a function in one of the commits */
    hpc_git_id blob;         /* zero: it is not there */
    uint32_t at, n;
} change_side;
typedef struct change {
    change_side base, head;
    size_t path; /* in `paths`: where it is, or was */
} change;
typedef struct changes {
    change *item;
    int64_t n, cap;
    hpc_buf paths;
} changes; /* zero to begin with */
void changes_release(changes *c);

typedef struct change_scratch change_scratch; /* of one worker, with a git handle */
int change_scratch_create(change_scratch **out, const hpc_git *like);
void change_scratch_free(change_scratch *s);
hpc_git *change_git(change_scratch *s);

/* Replaces out by the functions of C-family and Fortran files whose code differs, comments and
 * white space apart: in order of path and place; functions that only moved are left out, those
 * that moved and changed are found by name. An outer function without what its inner ones are.
 * 1: found; 0: too much changed, or a commit or file cannot be read. */
int change_find(changes *out, change_scratch *s, const hpc_git_id *base, const hpc_git_id *head);

#endif
