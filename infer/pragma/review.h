/*
 * review.h: what review.c and review_slot.c share: a directive under review.
 */
#ifndef HPC_PRAGMA_REVIEW_H
#define HPC_PRAGMA_REVIEW_H

#include "infer/pragma/clause.h"
#include "infer/pragma/existing.h"

enum { COLLAPSE_MOST = 8 };

typedef struct review {
    study *s;
    const directives *d;
    const program *p;
    hpc_pragma_loop *l;
    clause_list clauses, around; /* the directive's, and those of the region around it */
    uint32_t words;
    int32_t region; /* the node that a parallel region around the loop has; 0: none is in sight */
    bool binds;     /* it makes threads itself, so what is outside is shared */
    bool synced;    /* there are directives in the loop, which may take care of what is found */
    bool simd;      /* no threads, only vectors */
    int32_t head[COLLAPSE_MOST]; /* loops that it takes, outermost first */
    int heads_n;
    hpc_existing wrong; /* NONE: nothing wrong is found */
    bool unproven, harmless, redundant;
    hpc_buf why;
    uint32_t why_line;
} review;

/* `text` has one %s, for the name. What other directives may take care of is unproven. */
void review_wrong(review *r, hpc_existing what, int32_t node, const char *text, const char *name)
    __attribute__((nonnull));
/* Whether a clause other than shared names it. */
bool review_lists(const clause_list *l, const char *name);
/* Whether all threads of the loop have one and the same variable, as far as can be seen. */
bool review_shares(const review *r, int32_t symbol);
/* Whether a node stands under a condition within the loop. `rare`: only under one that may hold but
 * once. */
bool review_under_condition(const review *r, int32_t node, bool rare);

bool review_ops_differ(uint8_t a, uint8_t b); /* they surely give different results */

/* ---- review_slot.c ---- */
/* Variables that the loop assigns, and what clauses name beside them. */
int review_variables(review *r);
bool review_is_head(const review *r, int32_t symbol); /* of a loop that the directive takes */

#endif
