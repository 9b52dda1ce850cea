/*
 * pack_change.h: finds the functions that differ between two commits.
 */
#ifndef HPC_CORPUS_PACK_CHANGE_H
#define HPC_CORPUS_PACK_CHANGE_H

#include "corpus/corpus.h"

/* Larger changes are skipped: their effect cannot be attributed to functions. */
enum {
    CHANGE_FILES = 500,
    CHANGE_FUNCTIONS = 256,
    CHANGE_FILE_BYTES = 1 << 20,
    CHANGE_FUNCTION_BYTES = 1 << 15
};

typedef struct change_side { /* a function in one commit */
    hpc_git_id blob;         /* zero: absent */
    uint32_t at, n;          /* range in the file's text with secrets masked */
    uint8_t language;
    bool fixed, masked; /* fixed-form Fortran; the file has secrets */
} change_side;
typedef struct change {
    change_side base, head;
    size_t path; /* in `paths`: current or previous path */
} change;
typedef struct changes {
    change *item;
    int64_t n, cap;
    hpc_buf paths;
    hpc_reason held_out; /* KEPT, or the reason that a file or function is held out: then empty */
} changes;               /* initialise with zeros */
void changes_release(changes *c);

typedef struct change_scratch change_scratch; /* of one worker, with a git handle */
/* name: of the repository, or "". sketch: NULL: no check. Both are borrowed until
 * change_scratch_free. */
int change_scratch_create(change_scratch **out, const hpc_git *like, const char *name,
                          const hpc_sketch *sketch);
void change_scratch_free(change_scratch *s);

/* Replaces out with the functions of C-family and Fortran files whose code differs, ignoring
 * comments and white space, in order of path and position. Functions that only moved are omitted;
 * functions that moved and changed are matched by name. The code of an inner function does not
 * count for its outer function. Secrets are masked first, so a different secret is no difference.
 * Returns 1: found; 0: empty, because something is held out, too much changed, or a commit or file
 * is unreadable. */
int change_find(changes *out, change_scratch *s, const hpc_git_id *base, const hpc_git_id *head);
/* Replaces out with the text of one side, secrets masked; "": absent. */
int change_read(hpc_buf *out, change_scratch *s, const change_side *side);

#endif
