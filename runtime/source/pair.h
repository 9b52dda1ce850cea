/*
 * pair.h: which function of one version of a program is which of another: by place and name, by
 * content, by name alone, by likeness.
 */
#ifndef HPC_SOURCE_PAIR_H
#define HPC_SOURCE_PAIR_H

#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a function consists of ------------------------------------------------------------ */
/* The first function after function k and those inside it; f->n at the end. */
int64_t hpc_function_behind(const hpc_functions *f, int64_t k);
/* Replaces `out` by the indices (int64_t) of the code tokens of function k, without those of
 * functions inside it, which follow it in the list. k == -1: the tokens outside of all
 * functions. */
int hpc_function_code(hpc_buf *out, const hpc_tokens *t, const hpc_functions *f, int64_t k);
/* A hash of these tokens; comments and white space do not count. Overwrites `scratch`. */
int hpc_function_content(uint64_t *out, hpc_buf *scratch, const hpc_tokens *t,
                         const hpc_functions *f, int64_t k);

/* ---- likeness --------------------------------------------------------------------------------
 * A sketch of the runs of four elements in a sequence: two sequences have as many slots alike as
 * they have runs in common, on average. */
enum { HPC_LIKENESS_SLOTS = 64 };
typedef struct hpc_likeness {
    uint32_t least[HPC_LIKENESS_SLOTS];
} hpc_likeness;
void hpc_likeness_of(hpc_likeness *out, const uint64_t *item, int64_t n);
double hpc_likeness_share(const hpc_likeness *a, const hpc_likeness *b); /* 0: nothing, 1: all */

/* ---- pairs ----------------------------------------------------------------------------------- */
typedef struct hpc_known {        /* what a function, or a file, is known by: hashes */
    uint64_t path, name, content; /* path: the same for a file and what it was renamed to */
    const hpc_likeness *like;     /* NULL: not asked for */
} hpc_known;
typedef enum hpc_pair_step {
    HPC_PAIR_SAME,    /* path, name and content */
    HPC_PAIR_CHANGED, /* path and name; of several, those that are most alike, where asked for */
    HPC_PAIR_MOVED,   /* name and content */
    HPC_PAIR_NAMED,   /* name; not where both have a likeness and that is small */
    HPC_PAIR_ALIKE    /* half alike at least, the most alike first; of 256 on each side */
} hpc_pair_step;
/* Steps [first, last] for those of `base` that have no partner yet: partner[i] is an index of
 * `head`, or -1, as all are to begin with. Of equals, the first goes with the first. */
int hpc_pairs_find(int32_t *partner, const hpc_known *base, int64_t base_n, const hpc_known *head,
                   int64_t head_n, hpc_pair_step first, hpc_pair_step last);

#ifdef __cplusplus
}
#endif
#endif
