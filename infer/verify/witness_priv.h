/*
 * witness_priv.h: what witness.c and witness_name.c share: what a run told, and of which loops.
 */
#ifndef HPC_VERIFY_WITNESS_PRIV_H
#define HPC_VERIFY_WITNESS_PRIV_H

#include "infer/verify/priv.h"

enum { NAMES_MOST = 64 };

typedef struct witness_place {
    uint64_t pc;
    const char *module;
    const char *file; /* NULL: ours; else as it is to be shown */
    uint32_t line;    /* 0: not known */
} witness_place;
typedef struct witness_candidate {
    int name;
    long long offset, element;
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
typedef struct witness_passage { /* what runs saw of one loop */
    long long entered, iterations, refused;
    bool hidden;             /* arrays on the stack were */
    bool shared[NAMES_MOST]; /* names that clauses handle, and that iterations share */
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
    const char *failed; /* why there are no more rounds */
    bool ended;         /* the last run came to its end */
} witness_state;

/* ---- witness_name.c: what memory is called -------------------------------------------------- */
/* Whether a line of our file stands under a directive that lets one thread at a time do it. */
bool witness_guarded(const witness_state *z, const witness_place *p);
/* The name that the memory most likely has; NULL: none fits. */
const witness_candidate *witness_name_of(const witness_state *z, const witness_finding *f);
/* What it is called, an element of it as the case may be; *scalar: it has no elements. */
const char *witness_object(witness_state *z, const witness_finding *f, bool *scalar);

#endif
