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

typedef struct answer {
    const program *p;
    hpc_evidence *evidence;
    hpc_assumption *assumption;
    int64_t evidence_n, evidence_cap, assumptions_n, assumptions_cap;
    clauses clauses;
    bool unsafe, unknown; /* verdicts of the evidence so far */
    bool reads_loop;      /* a check reads memory that the loop reads only if it iterates */
    bool muted;
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
/* Does nothing if `stronger` is assumed, and replaces `weaker`; each may be NULL. */
void answer_assume_instead(answer *a, const char *text, const char *check, const char *stronger,
                           const char *weaker);
void answer_reads_loop(answer *a);
void answer_fail(answer *a, int rc); /* rc < 0; 0 is ignored */

#endif
