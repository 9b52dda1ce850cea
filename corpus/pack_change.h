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
    uint32_t at, n;          /* of the file's text without secrets */
    uint8_t language;
    bool fixed, masked; /* fixed-form Fortran; there were secrets in the file */
} change_side;
typedef struct change {
    change_side base, head;
    size_t path; /* in `paths`: where it is, or was */
} change;
typedef struct changes {
    change *item;
    int64_t n, cap;
    hpc_buf paths;
    hpc_reason held_out; /* KEPT, or what holds out a file or a function in it: then it is empty */
} changes;               /* zero to begin with */
void changes_release(changes *c);

typedef struct change_scratch change_scratch; /* of one worker, with a git handle */
/* name: of the repository, "" when it has none; sketch: NULL when nothing is held out. Both are
 * borrowed for as long as it lives. */
int change_scratch_create(change_scratch **out, const hpc_git *like, const char *name,
                          const hpc_sketch *sketch);
void change_scratch_free(change_scratch *s);

/* Replaces out by the functions of C-family and Fortran files whose code differs, comments and
 * white space apart: in order of path and place; functions that only moved are left out, those
 * that moved and changed are found by name. An outer function without what its inner ones are.
 * Files are masked before functions are looked for, so one that differs by its secrets does not.
 * 1: found; 0: empty, as something in it is held out, too much changed, or a commit or file cannot
 * be read. */
int change_find(changes *out, change_scratch *s, const hpc_git_id *base, const hpc_git_id *head);
/* Replaces out by the text of one side, without secrets; "" when it is not there. */
int change_read(hpc_buf *out, change_scratch *s, const change_side *side);

#endif
