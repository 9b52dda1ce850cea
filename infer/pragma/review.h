/*
 * review.h: the review of a directive that a loop has already.
 */
#ifndef HPC_PRAGMA_REVIEW_H
#define HPC_PRAGMA_REVIEW_H

#include "infer/pragma/clause.h"
#include "infer/pragma/loop.h"
#include "infer/pragma/written.h"

enum { COLLAPSE_MOST = 8 };

typedef struct review {
    const directives *d;
    const program *p;
    hpc_pragma_loop *l;
    clause_list clauses, around; /* of the directive, and of the region around it */
    uint32_t words;
    int32_t region; /* node of the parallel region around the loop; 0: none in this file */
    bool binds;     /* the directive starts threads itself, so outer variables are shared */
    bool synced;    /* the loop contains directives, which may synchronize what is found */
    bool simd;      /* vectors only, no threads */
    int32_t head[COLLAPSE_MOST]; /* the loops of the directive, outermost first */
    int heads_n;
    hpc_existing wrong; /* NONE: nothing wrong is found */
    bool unproven, harmless, redundant;
    hpc_buf why;
    uint32_t why_line;
} review;

/* ---- review.c ---- */
/* Sets existing_is of a loop with a directive, and adds evidence if the directive is wrong. */
int existing_review(hpc_pragma_loop *l, const directives *d, int64_t loop, const program *p);

/* ---- review_scope.c ---- */
/* Reports an error; `text` has one %s, for the name. An error that other directives may prevent
 * counts as unproven. */
void review_wrong(review *r, hpc_existing what, int32_t node, const char *text, const char *name)
    __attribute__((nonnull));
bool review_lists(const clause_list *l, const char *name); /* in a clause other than shared */
bool review_shares(const review *r, int32_t symbol);       /* by all threads, as far as visible */
/* True if a node is under a condition within the loop. rare: only under one that may hold but
 * once. */
bool review_under_condition(const review *r, int32_t node, bool rare);
bool review_ops_differ(uint8_t a, uint8_t b);         /* they certainly give different results */
bool review_is_head(const review *r, int32_t symbol); /* the variable of a loop of the directive */

/* ---- review_slot.c ---- */
/* Reviews the variables that the loop assigns, and those that clauses name. */
int review_variables(review *r, const loop_facts *l);

#endif
