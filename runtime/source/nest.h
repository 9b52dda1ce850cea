/*
 * nest.h: internals of loop.c, loop_fortran.c, nest.c and pragma.c: the open statements
 * and blocks during a walk over a text, and the directives that wait for the next
 * statement.
 *
 * Nodes never change once pushed, so a state is one index: an #if saves the state
 * before it, and an #else restores it, at no cost.
 */
#ifndef HPC_SOURCE_NEST_H
#define HPC_SOURCE_NEST_H

#include "runtime/source/priv.h"

typedef enum hpc_nest_kind {
    HPC_NEST_ROOT,
    HPC_NEST_BLOCK,
    HPC_NEST_PAREN,
    HPC_NEST_EXPR,      /* an expression, a declaration, whatever ends at ';' */
    HPC_NEST_EXPR_DONE, /* its block has ended; the next token may continue it */
    HPC_NEST_HEAD,      /* `if` and the like before the end of its parentheses */
    HPC_NEST_LOOP_HEAD,
    HPC_NEST_LOOP, /* a loop whose body is awaited or open; Fortran: open */
    HPC_NEST_ONE,  /* one statement is awaited: else, while, switch */
    HPC_NEST_IF,
    HPC_NEST_IF_DONE,
    HPC_NEST_DO, /* Fortran: a `do` that is no loop of ours */
    HPC_NEST_DO_DONE,
    HPC_NEST_TRY,
    HPC_NEST_TRY_DONE,
    HPC_NEST_REGION,  /* Fortran: from "!$omp parallel" to its end */
    HPC_NEST_FUNCTION /* Fortran; in C it is the BLOCK of its body */
} hpc_nest_kind;

typedef struct hpc_nest_node {
    int32_t parent;
    int32_t fence;    /* nearest BLOCK, PAREN or ROOT, itself included; Fortran: LOOP or DO */
    int32_t region;   /* Fortran: nearest REGION in this function, or -1 */
    int32_t body;     /* the node of the function's body, or -1 */
    int32_t function; /* or -1 */
    int32_t loop;     /* innermost, or -1 */
    uint32_t label;   /* Fortran: that ends the loop, or 0; of a REGION its words */
    uint8_t kind;
    uint8_t then; /* HEAD: the kind that follows it */
    bool parallel;
} hpc_nest_node;

typedef struct hpc_nest_state {
    int32_t top;
    int32_t chain, chain_n; /* directives waiting for their statement */
    bool chain_region;      /* one of them opens a parallel region of its own */
    bool region;            /* so did one before them, which is not theirs */
} hpc_nest_state;

typedef struct hpc_nest_branch { /* an open #if */
    hpc_nest_state base, first;
    int32_t floor; /* nodes up to here must stay */
    bool has_first, rest_dead;
} hpc_nest_branch;

typedef struct hpc_nest {
    hpc_loops *out;
    const hpc_tokens *t;
    const char *text;
    const hpc_functions *f;
    bool fortran;
    hpc_nest_node *node;
    int64_t node_cap;
    hpc_nest_branch *branch;
    int64_t branch_n, branch_cap;
    int64_t dead;  /* nesting of #if inside a branch that is never compiled, itself included */
    int32_t *twin; /* of a loop: another one, in another branch of an #if, with the same end */
    int64_t twin_cap;
    hpc_nest_state s;
    int64_t function;             /* the next one to be entered */
    uint32_t last_end, last_line; /* of the last token of code */
    int32_t last_closed;          /* Fortran: the loop that the last statement ended, or -1 */
    hpc_tokens words;             /* of a _Pragma */
    hpc_buf string;
} hpc_nest;

typedef enum hpc_pragma_kind {
    HPC_PRAGMA_ALONE,  /* applies to no statement */
    HPC_PRAGMA_LOOP,   /* for a loop; metadirective too */
    HPC_PRAGMA_BLOCK,  /* parallel, target, teams, kernels, serial: for any statement */
    HPC_PRAGMA_REGION, /* what makes sense inside a parallel region alone: single, task, ... */
    HPC_PRAGMA_DATA,   /* holds a block and runs nothing in parallel */
    HPC_PRAGMA_ATOMIC, /* one statement */
    HPC_PRAGMA_CLOSE   /* "!$omp end ..." */
} hpc_pragma_kind;

/* ---- nest.c ---------------------------------------------------------------------- */
int hpc_nest_init(hpc_nest *n);
void hpc_nest_release(hpc_nest *n);
static inline const hpc_nest_node *hpc_nest_top(const hpc_nest *n)
{
    return &n->node[n->s.top];
}
int hpc_nest_push(hpc_nest *n, hpc_nest_kind kind);
int hpc_nest_become(hpc_nest *n, hpc_nest_kind kind); /* the top, by a new node in its place */
/* Enters a function body, after its header: outer directives have no effect inside. `kind` is
 * the node's. */
int hpc_nest_enter(hpc_nest *n, hpc_nest_kind kind, int32_t function);
/* A new loop that begins at the token, with the directives that wait; its node is the top. */
int hpc_nest_loop(hpc_nest *n, hpc_nest_kind kind, const hpc_token *at);
/* The body of loop `i` begins here unless it has begun. */
void hpc_nest_body(hpc_nest *n, int32_t i, const hpc_token *at, bool braced);
/* Loop `i` and its twins end after the last token of code. */
void hpc_nest_close(hpc_nest *n, int32_t i);
/* True if a node of this kind awaits a statement and ends with it. */
bool hpc_nest_awaits(uint8_t kind);
/* The statement that the top awaited has ended, and with it others around it. */
int hpc_nest_finish(hpc_nest *n);
/* True if waiting directives make the next statement parallel; they stop waiting. */
bool hpc_nest_take(hpc_nest *n);
void hpc_nest_forget(hpc_nest *n);
/* Directive i waits, opens a region or closes one. */
int hpc_nest_wait(hpc_nest *n, int32_t i, hpc_pragma_kind kind);
/* A preprocessor line whose '#' is token i. */
int hpc_nest_conditional(hpc_nest *n, int64_t i);
/* The index after the directive, of either kind, that has its sentinel at token i. */
int64_t hpc_nest_behind(const hpc_nest *n, int64_t i);

/* ---- pragma.c --------------------------------------------------------------------- */
/* words from the tokens after "omp" or "acc". */
hpc_pragma_kind hpc_pragma_read(uint32_t *words, hpc_directive_api api, const hpc_token *item,
                                int64_t first, int64_t last, const char *text, bool fortran);
/* "omp" or "acc", in any case for Fortran; NONE otherwise. */
hpc_directive_api hpc_pragma_api(const hpc_token *t, const char *text, bool fortran);
/* Replaces `words` by the tokens of a _Pragma whose strings are [first, last). */
int hpc_pragma_unquote(hpc_tokens *words, hpc_buf *string, const hpc_token *item, int64_t first,
                       int64_t last, const char *text);

/* ---- pragma_find.c ------------------------------------------------------------------
 * Each adds the directive it finds to the loops and makes it wait. *next is the token after it,
 * or i if token i does not begin a known directive. */
int hpc_pragma_line(hpc_nest *n, int64_t *next, int64_t i);      /* "#pragma", "!$omp" */
int hpc_pragma_operator(hpc_nest *n, int64_t *next, int64_t i);  /* _Pragma, __pragma */
int hpc_pragma_attribute(hpc_nest *n, int64_t *next, int64_t i); /* [[omp::directive(...)]] */

/* ---- loop_fortran.c ----------------------------------------------------------------- */
int hpc_loops_fortran(hpc_nest *n);

#endif
