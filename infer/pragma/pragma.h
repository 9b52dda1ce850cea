/*
 * pragma.h: which loops of a file may run in parallel, under which OpenMP directive, and why.
 *
 * The analysis proves or refutes by itself and needs no model: `parallel` is proven from the text,
 * `conditional` is proven under assumptions that are spelled out, `unsafe` names what stands in the
 * way, `unknown` says what stopped the analysis. What it takes for granted: programs without
 * undefined behaviour (indices stay within their arrays' bounds, signed sums do not overflow,
 * objects are accessed as what they are), and that sums of floating-point numbers may be added up
 * in another order (evidence says where).
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

/* What the answer rests on. kinds: "form" (the loop itself), "dependence", "scalar", "reduction",
 * "call", "control", "alias", "memory", "cost", "order", "existing". */
typedef struct hpc_evidence {
    const char *kind;
    uint32_t line; /* 0: of none */
    const char *text;
    hpc_verdict alone;     /* what it would decide by itself: UNSAFE, UNKNOWN; PARALLEL: nothing */
    const char *access[2]; /* alias: the two accesses; NULL otherwise */
} hpc_evidence;

typedef struct hpc_assumption {
    const char *text;  /* "x and y do not overlap" */
    const char *check; /* an expression of the loop's scope that is true only then, where the loop
                          runs: "x + n <= y || y + n <= x"; or NULL */
} hpc_assumption;

/* What is wrong with the directive that is there. */
typedef enum hpc_existing {
    HPC_EXISTING_NONE, /* there is none of OpenMP for this loop */
    HPC_EXISTING_RIGHT,
    HPC_EXISTING_RACY,      /* the loop carries a dependence */
    HPC_EXISTING_CLAUSE,    /* a private, lastprivate or linear is missing or wrong */
    HPC_EXISTING_REDUCTION, /* a reduction is missing or has another operator */
    HPC_EXISTING_UNPROVEN,  /* the analysis cannot say */
    HPC_EXISTING_HARMLESS,  /* right, but some of it serves nothing */
    HPC_EXISTING_REDUNDANT  /* right, but some of it holds anyway */
} hpc_existing;
const char *hpc_existing_name(hpc_existing e);

typedef struct hpc_pragma_loop {
    uint32_t line, column, end_line;
    size_t at, end; /* of the loop's text */
    int32_t outer;  /* the loop around it, or -1 */
    int32_t node;   /* in the tree; -1: it has none for it */
    const char *function;
    hpc_verdict verdict;
    const char *pragma;   /* "#pragma omp parallel for ..."; NULL unless parallel or conditional */
    const char *existing; /* on one line; NULL: none */
    hpc_existing existing_is;
    double
        confidence; /* how often experts did as is proposed with such loops: a directive, or none */
    double likely;  /* that an expert would put one there, by a model; -1: none was asked */
    const char *guess;  /* of an unknown loop, by a model: nothing of it is proven; NULL */
    bool again;         /* of a template that is instantiated in the file */
    bool small;         /* it runs so short that threads do not pay */
    bool vectors;       /* what is proposed makes vectors, and no threads */
    const char *plain;  /* the directive without collapse, simd and target; NULL: it has none */
    const char *vector; /* a directive for vectors alone, for a loop with a reduction; NULL */
    const char *idle;   /* why threads do not pay for each entry of the loop; NULL */
    const char *least;  /* is true before the loop if it has enough iterations for threads; NULL */
    bool inside;        /* of a parallel region, or of a loop with a directive, in the text */
    const char *fixed;  /* why no directive can be put before it; NULL */
    const char *guard;  /* is true before the loop only if all assumptions hold; NULL: nothing is
                           assumed, or an assumption has no check */
    hpc_assumption *assumption;
    hpc_evidence *evidence; /* what decides comes first */
    int64_t assumptions_n, evidence_n;
} hpc_pragma_loop;

typedef struct hpc_pragma_loops {
    hpc_arena *arena;
    hpc_pragma_loop *item; /* in the order of the text */
    int64_t n;
} hpc_pragma_loops; /* zero to begin with */
void hpc_pragma_loops_release(hpc_pragma_loops *l);

typedef struct hpc_pragma_options {
    bool default_none; /* default(none), with what is shared */
    bool simd;         /* vectors, where they fit */
    bool target;       /* a device, with what is mapped, where that is known */
    uint32_t line;     /* only loops that cover this line; 0: all */
} hpc_pragma_options;
#define HPC_PRAGMA_DEFAULTS                                                                        \
    {                                                                                              \
        .default_none = false, .simd = false, .target = false, .line = 0                           \
    }
/* All loops of the functions of a tree. `text` is what the tree was made of. */
int hpc_pragma_find(hpc_pragma_loops *out, const hpc_tree *t, const char *text, size_t n,
                    hpc_language l, const hpc_pragma_options *o);
/* The same of a text that has no tree, in Fortran or any other language: every loop is unknown, and
 * `why` says what stopped the analysis. fixed_form: of Fortran. */
int hpc_pragma_list(hpc_pragma_loops *out, const char *text, size_t n, hpc_language l,
                    bool fixed_form, const char *why, const hpc_pragma_options *o);

/* Adds if clauses that test the guard of each conditional loop to its directive. A loop without a
 * guard keeps its directive as it is. */
int hpc_pragma_guard(hpc_pragma_loops *l);

/* Limits threads to where they pay, for loops without a directive: adds an if clause that tests
 * `least`, and takes `vector` where `idle` is set. Call it before hpc_pragma_guard. */
int hpc_pragma_limit(hpc_pragma_loops *l);

/* Sets `confidence` of all loops of a file anew, after verdicts or `likely` have changed. It is
 * calibrated on loops of repositories that no model of ours was trained on (tests/pragma/README.md
 * says how well). */
void hpc_pragma_weigh(hpc_pragma_loops *l);

#ifdef __cplusplus
}
#endif
#endif
