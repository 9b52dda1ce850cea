/*
 * gather_priv.h: scores of a language model for the commits of one history, as features of the
 * examples that are gathered from it.
 */
#ifndef HPC_PERF_GATHER_PRIV_H
#define HPC_PERF_GATHER_PRIV_H

#include "infer/perf/gather.h"

typedef struct gather_language {
    hpc_perf_language *l; /* NULL: no model for this repository */
    int64_t first;        /* number of the first example of this history */
    int64_t *commit;      /* by example from `first` on: its commit in l */
    int64_t n, cap, commits;
} gather_language; /* zero to begin with */
/* first: examples that exist already. */
int gather_language_open(gather_language *t, const hpc_perf_gather_options *o,
                         const char *repository, int64_t first);
int gather_language_add(gather_language *t, const hpc_perf_change *c); /* the next commit */
int gather_language_note(gather_language *t); /* an example of the last commit was added */
int gather_language_put(gather_language *t, hpc_perf_examples *x); /* scores into all examples */
void gather_language_close(gather_language *t);

#endif
