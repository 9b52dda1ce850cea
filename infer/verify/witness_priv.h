/*
 * witness_priv.h: shared by witness.c and witness_name.c: the loops, and what runs reported about
 * them.
 */
#ifndef HPC_VERIFY_WITNESS_PRIV_H
#define HPC_VERIFY_WITNESS_PRIV_H

#include "infer/verify/priv.h"

enum { NAMES_MOST = 64 };

typedef struct witness_place {
    uint64_t pc;
    const char *module;
    const char *file; /* NULL: our own file; otherwise the name to print */
    uint32_t line;    /* 0: unknown */
} witness_place;
typedef struct witness_candidate {
    int name;
    long long offset, element;
    const char *subscripts; /* "3,-1", of an array of Fortran; NULL */
} witness_candidate;
typedef struct witness_finding {
    int64_t loop;
    char kind;
    unsigned before, now;
    long long value_before, value;
    witness_place place[2];
    witness_candidate name[NAMES_MOST];
    int names_n;
    bool said;
} witness_finding;
typedef struct witness_passage {            /* observations of one loop in all runs */
    long long entered, iterations, refused; /* the last while another loop was watched */
    long long met, entries; /* sum of the two: in the current run; the most in one run */
    long long cost, most;   /* accesses in iterations, at most in one */
    long long by_static, by_guided, by_dynamic; /* of the busiest thread, summed over entries */
    bool hidden;                                /* arrays on the stack were not instrumented */
    bool shared[NAMES_MOST]; /* names that clauses handle and that iterations share */
} witness_passage;

typedef struct witness_state {
    scratch s;
    instrumented w;
    hpc_pragma_loops *l;
    const hpc_verify_file *f;
    const hpc_verify_options *o;
    witness_finding *finding;
    witness_passage *seen;
    int64_t findings_n, cap;
    long long accesses; /* of the program in a run */
    const char *failed; /* why no further round runs */
    bool ended;         /* the last run completed */
} witness_state;

/* ---- witness_name.c: names of memory --------------------------------------------------------- */
/* True if a line of our file is under a directive that admits one thread at a time. */
bool witness_guarded(const witness_state *z, const witness_place *p);
/* The most likely name of the memory, or NULL. */
const witness_candidate *witness_name_of(const witness_state *z, const witness_finding *f);
/* The name to print, with an index if it is an element; *scalar: it has no elements. */
const char *witness_object(witness_state *z, const witness_finding *f, bool *scalar);

/* ---- worth.c --------------------------------------------------------------------------------- */
/* Records each loop's share of the program's accesses, and fits the collapse and schedule clauses
 * of its proposal to the measured costs of its iterations. */
int witness_worth(witness_state *z);

#endif
