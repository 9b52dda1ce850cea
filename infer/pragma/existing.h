/*
 * existing.h: the directives that a file has already: on its loops, and around them.
 */
#ifndef HPC_PRAGMA_EXISTING_H
#define HPC_PRAGMA_EXISTING_H

#include "infer/pragma/priv.h"

typedef struct directives {
    hpc_tokens tokens;
    hpc_functions functions;
    hpc_loops loops;
    const char *text;
    size_t n;
    hpc_language language;
} directives; /* zero to begin with */
int directives_open(directives *d, const char *text, size_t n, hpc_language l, bool fixed_form);
void directives_close(directives *d);
/* The loop that begins at a byte; -1: none that is spelled out. */
int64_t directives_loop(const directives *d, size_t at);
/* The OpenMP directive of a loop, the innermost where several are stacked; -1. */
int64_t directives_of(const directives *d, int64_t loop);

/* Whether nothing but comments and lines of #if and their like stands between a directive and a
 * byte behind it. */
bool directives_reach(const directives *d, int64_t pragma, size_t at);

/* share.c: adds to `shared` all that default(none) wants to be named and no other clause names. */
void share_rest(study *s);

/* ---- existing.c, review.c ---- */
/* What loops have, what stands around them, and why nothing can be put before them. */
int existing_find(hpc_pragma_loops *out, const program *p, const hpc_pragma_options *o);

/* review.c: what a loop's directive is worth. */
int existing_review(hpc_pragma_loop *l, const directives *d, int64_t loop, const program *p);

#endif
