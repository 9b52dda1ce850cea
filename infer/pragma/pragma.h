/*
 * pragma.h: finds the loops of a file that may run in parallel, their OpenMP directives, and the
 * evidence.
 *
 * The analysis needs no language model. A `parallel` loop is proven from the text, a `conditional`
 * loop is proven under the stated assumptions, `unsafe` names the obstacle, and `unknown` states
 * what stopped the analysis. The proofs presuppose a program without undefined behaviour: indices
 * within the bounds of their arrays, no signed overflow, accesses with the type of the object. They
 * also presuppose that floating-point sums may be reordered; evidence marks such sums.
 */
#ifndef HPC_PRAGMA_H
#define HPC_PRAGMA_H

#include "runtime/source/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_verdict {
    HPC_VERDICT_UNKNOWN,
    HPC_VERDICT_UNSAFE,
    HPC_VERDICT_CONDITIONAL,
    HPC_VERDICT_PARALLEL
} hpc_verdict;
const char *hpc_verdict_name(hpc_verdict v); /* "unknown", "unsafe", "conditional", "parallel" */

/* A reason for a verdict. Kinds: "form" (the loop itself), "dependence", "scalar", "reduction",
 * "call", "control", "alias", "memory", "cost", "order", "existing". */
typedef struct hpc_evidence {
    const char *kind;
    uint32_t line; /* 0: none */
    const char *text;
    hpc_verdict
        alone; /* the verdict of this reason alone: UNSAFE or UNKNOWN; PARALLEL: no objection */
    const char *access[2]; /* alias: the two accesses; NULL otherwise */
} hpc_evidence;

typedef struct hpc_assumption {
    const char *text;  /* "x and y do not overlap" */
    const char *check; /* an expression in the scope of the loop that is true only if the assumption
                          holds: "x + n <= y || y + n <= x"; or NULL */
    const char *code;  /* no check: statements before the loop that declare an int and set it to 1
                          only if the assumption holds; or NULL */
    int64_t trusted;   /* as the trust function of the options returns it; 0: not confirmed */
} hpc_assumption;

/* The judgement of an existing directive. */
typedef enum hpc_existing {
    HPC_EXISTING_NONE, /* the loop has no OpenMP directive */
    HPC_EXISTING_RIGHT,
    HPC_EXISTING_RACY,      /* the loop carries a dependence */
    HPC_EXISTING_CLAUSE,    /* a private, lastprivate or linear is missing or wrong */
    HPC_EXISTING_REDUCTION, /* a reduction is missing or has another operator */
    HPC_EXISTING_UNPROVEN,  /* the analysis found no proof */
    HPC_EXISTING_HARMLESS,  /* correct, with clauses that have no effect */
    HPC_EXISTING_REDUNDANT  /* correct, with clauses that state the default */
} hpc_existing;
const char *hpc_existing_name(hpc_existing e);
struct hpc_pragma_loop;
/* "already parallel" for a call that a library runs in parallel, else the name of the verdict. */
const char *hpc_loop_verdict_name(const struct hpc_pragma_loop *l);

typedef struct hpc_pragma_loop {
    uint32_t line, column, end_line;
    size_t at, end; /* byte range of the loop */
    int32_t outer;  /* the enclosing loop, or -1 */
    int32_t node;   /* in the tree, or -1 */
    const char *function;
    hpc_verdict verdict;
    const char *pragma;   /* "#pragma omp parallel for ..."; NULL unless parallel or conditional */
    const char *existing; /* on one line; NULL: none */
    hpc_existing existing_is;
    double confidence; /* share of such loops where experts did as proposed: a directive, or none */
    double likely;     /* probability that an expert would add one, by a model; -1: no model */
    const char *guess; /* a model's directive for an unknown loop, without any proof; NULL */
    bool again;        /* in a template that the file instantiates */
    bool holds;        /* other loops of the file are inside */
    bool small;        /* too short for threads to pay */
    bool vectors;      /* the proposal is for vectors, without threads */
    const char *plain; /* the directive without collapse, simd and target; NULL: none */
    const char *vector;  /* a directive for vectors alone, for a loop with a reduction; NULL */
    const char *idle;    /* reason why threads do not pay for each entry of the loop; NULL */
    const char *least;   /* condition before the loop: enough iterations for threads; NULL */
    bool inside;         /* textually in a parallel region or in a loop with a directive */
    const char *fixed;   /* reason why no directive can be inserted before it; NULL */
    const char *guard;   /* condition before the loop that implies all assumptions that are not
                            trusted; NULL: no such assumption, or one has no check */
    bool untested;       /* an assumption has no check and is not trusted */
    const char *already; /* the library function that runs it in parallel; NULL */
    hpc_assumption *assumption;
    hpc_evidence *evidence; /* the decisive ones first */
    int64_t assumptions_n, evidence_n;
    double share;     /* of the time of a line profile, or else of the accesses of a recorded run;
                         0: none was measured */
    const char *edit; /* the change of the code that would make it parallel; NULL: none is known */
    bool recorded;    /* the share is one of accesses */
    int64_t entered, iterations; /* in a recorded run; 0: none was recorded */
} hpc_pragma_loop;

typedef struct hpc_pragma_loops {
    hpc_arena *arena;
    hpc_pragma_loop *item; /* in the order of the text */
    int64_t n;
} hpc_pragma_loops; /* initially zero */
void hpc_pragma_loops_release(hpc_pragma_loops *l);

/* The number of a confirmed assumption about a loop of a function; 0: it is not confirmed. */
typedef int64_t (*hpc_pragma_trust)(const void *user, const char *function, const char *text);

typedef struct hpc_pragma_options {
    bool default_none;      /* default(none), with all shared variables listed */
    bool simd;              /* vectors where they are possible */
    bool target;            /* a device, with map clauses, where the extents are known */
    uint32_t line;          /* lists only loops that cover this line; 0: all */
    hpc_pragma_trust trust; /* NULL: nothing is confirmed */
    const void *user;       /* of trust */
    bool fixed_form;        /* Fortran in fixed form */
} hpc_pragma_options;
#define HPC_PRAGMA_DEFAULTS                                                                        \
    {                                                                                              \
        .default_none = false, .simd = false, .target = false, .line = 0, .trust = NULL,           \
        .user = NULL                                                                               \
    }
/* Judges all loops in the functions of a tree. `text` is the source of the tree. */
int hpc_pragma_find(hpc_pragma_loops *out, const hpc_tree *t, const char *text, size_t n,
                    hpc_language l, const hpc_pragma_options *o);
/* Lists the loops of a text without a tree, in Fortran or another language: all are unknown, and
 * `why` is the reason. fixed_form: fixed-form Fortran. */
int hpc_pragma_list(hpc_pragma_loops *out, const char *text, size_t n, hpc_language l,
                    bool fixed_form, const char *why, const hpc_pragma_options *o);

/* Fortran: translates the directives that the functions below completed. */
int hpc_pragma_translate(hpc_pragma_loops *l);
/* Writes a directive of Fortran on lines of its own, which continue where one is too long. In fixed
 * form it begins in column 1, otherwise after the indentation. */
void hpc_pragma_lines(hpc_buf *out, const char *indent, size_t indent_n, const char *directive,
                      bool fixed, const char *eol);

/* Adds an if clause with the guard to the directive of each conditional loop that has one. */
int hpc_pragma_guard(hpc_pragma_loops *l);

/* Limits threads of loops without a directive to entries that pay: adds an if clause with `least`,
 * and uses `vector` if `idle` is set. Must be called before hpc_pragma_guard. */
int hpc_pragma_limit(hpc_pragma_loops *l);

/* Recomputes `confidence` of all loops of a file after a change of verdicts or `likely`. Calibrated
 * on loops of repositories that no model of ours was trained on (figures: tests/pragma/README.md).
 */
void hpc_pragma_weigh(hpc_pragma_loops *l);

#ifdef __cplusplus
}
#endif
#endif
