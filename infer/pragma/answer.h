/*
 * answer.h: the answer for one loop under construction: evidence, assumptions, clauses.
 *
 * The analysis adds to an answer through the functions below and reads its fields; nothing else
 * writes them.
 */
#ifndef HPC_PRAGMA_ANSWER_H
#define HPC_PRAGMA_ANSWER_H

#include "infer/pragma/program.h"

/* Operators of reductions: '+', '*', '&', '|', '^', HPC_OP_AND, HPC_OP_OR, or one of these. */
enum { OP_MIN = 'm', OP_MAX = 'M', OP_MIXED = 1 };
const char *reduction_name(uint8_t op);

typedef struct clauses { /* lists of names, separated by ", " */
    hpc_buf privates, last, conditional, linear, shared;
    struct {
        uint8_t op;
        hpc_buf names;
    } reduction[9];
    int n;
} clauses;
void clauses_release(clauses *c);
void clauses_add(hpc_buf *b, const char *name); /* once per name */
void clauses_reduce(clauses *c, uint8_t op, const char *name);

/* The form of an assumption. Assumptions of one form, without a test, are reported together. */
typedef enum assume_form {
    ASSUME_OTHER,
    ASSUME_APART,          /* `one` and `two` do not overlap */
    ASSUME_APART_OR_EQUAL, /* or are one array */
    ASSUME_ROWS,           /* the rows of `one` do not overlap */
    ASSUME_DISTINCT,       /* `one` has no repeated entry */
    ASSUME_ELEMENTS,       /* different indices of `one` are different elements */
    ASSUME_FORMS
} assume_form;
typedef struct premise { /* strings are in program.out, except as a parameter; NULL: none */
    const char *text, *check, *code; /* as in hpc_assumption */
    assume_form form;
    const char *one, *two;                     /* by the form */
    const struct place *place_one, *place_two; /* of accesses to two arrays; NULL */
    bool limited; /* few enough assumptions without a test, or the loop is unknown */
} premise;

/* Accesses of different iterations that conflict, for the edits (conflict.h). */
enum { CONFLICT_BASES = 4, CONFLICT_ORDERED = 8 };
typedef struct conflicts {
    int64_t n;                         /* with evidence of their own */
    int64_t memory, scalars;           /* objections of pairs of accesses; of variables */
    int32_t ordered[CONFLICT_ORDERED]; /* calls that must keep their order and touch no variable */
    int ordered_n;                     /* CONFLICT_ORDERED + 1: more */
    int32_t update;               /* an update of one kind through an index from memory; 0: none */
    bool plain;                   /* some are not such updates */
    bool cut;                     /* not all pairs were compared */
    int32_t base[CONFLICT_BASES]; /* the atoms of memory that both accesses of a pair are in */
    int bases_n;
    bool elsewhere; /* a pair has no base in common, or there are more bases */
} conflicts;

typedef struct answer {
    const program *p;
    hpc_evidence *evidence;
    premise *assumption;
    int64_t evidence_n, evidence_cap, assumptions_n, assumptions_cap;
    clauses clauses;
    bool unsafe, unknown; /* verdicts of the evidence so far */
    int64_t objections;   /* number of reasons for them, with repeated ones */
    bool reads_loop;      /* a check reads memory that the loop reads only if it iterates */
    bool muted;
    conflicts conflicts;
    int32_t conflict, conflict_other; /* nodes of two accesses that certainly conflict; 0: none */
    int rc;                           /* first failure */
} answer;                             /* zero except for p */
void answer_release(answer *a);

/* Ignores evidence while on; the former state. Assumptions are kept. */
bool answer_mute(answer *a, bool on);
/* Evidence of a kind, at the line of a node; -1: no line. The verdict of this reason alone:
 * parallel, unsafe, unknown. Repeated evidence is ignored. */
void answer_note(answer *a, const char *kind, int32_t node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void answer_unsafe(answer *a, const char *kind, int32_t node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void answer_unknown(answer *a, const char *kind, int32_t node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Unsafe: the order of a library's calls matters, and nothing else of them. */
void answer_ordered(answer *a, int32_t call, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Unknown: the accesses of two nodes may overlap. */
void answer_alias(answer *a, int32_t node, int32_t other, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The form of the loop is not analysed; the reason has a line. */
void answer_rejects(answer *a, const char *reason, uint32_t line);
/* The loop exceeds a limit of the analysis; recorded even while muted. */
void answer_too_large(answer *a, int32_t loop);
void answer_conflict(answer *a, int32_t node, int32_t other); /* the first call counts */

/* An assumption, and an expression that tests it; NULL: none does. */
void answer_assume(answer *a, const char *text, const char *check);
void answer_assume_form(answer *a, const premise *what); /* copies the strings */
/* Does nothing if `stronger` is assumed, and replaces `weaker`; each may be NULL. */
void answer_assume_instead(answer *a, const premise *what, const char *stronger,
                           const char *weaker);
void answer_reads_loop(answer *a);
void answer_fail(answer *a, int rc); /* rc < 0; 0 is ignored */

/* Joins assumptions without a test that have one form or one array in common (gather.c). Unknown: a
 * limited one is among them, and they name too many arrays or remain more than three. */
void answer_gather(answer *a, int32_t loop);

#endif
