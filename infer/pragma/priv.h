/* Accesses of a loop's iterations, and the comparison of two of them: private to infer/pragma. */
#ifndef HPC_PRAGMA_PRIV_H
#define HPC_PRAGMA_PRIV_H

#include "infer/pragma/answer.h"
#include "infer/pragma/text.h"

/* ---- what an iteration does ------------------------------------------------------------------ */
typedef struct access {
    place place;
    int32_t node;
    int32_t depth;  /* conditions around it */
    uint8_t update; /* op of a reduction `x op= e` that this is part of; 0: none */
    bool write, atomic;
    int32_t order;
    const fact *facts;
} access;

/* A variable of a simple type that the loop assigns. */
typedef struct slot {
    int32_t symbol;
    bool inside;          /* declared in the loop's body: each iteration has its own */
    bool live;            /* may be read behind the loop */
    bool escaped;         /* its address is taken */
    int32_t exposed;      /* a node that reads what another iteration left; -1 */
    int32_t write;        /* the first that writes it; -1 */
    int32_t writes_n;     /* not counting updates */
    int32_t update_write; /* the first update; -1 */
    uint8_t update;       /* op of its updates; 0: none; OP_MIXED */
    int32_t plain_read;   /* one outside of its updates; -1 */
    const poly *stride;   /* of an induction variable: by how much each iteration steps it */
    bool always;          /* every iteration assigns it */
    int32_t step_node;    /* the statement that steps it, of an induction variable; -1 */
} slot;
typedef struct var_state { /* of a slot, where the walk is */
    const poly *is;
    const place *refers; /* a reference is bound to */
    bool assigned;       /* in this iteration, on every way here */
} var_state;

typedef struct loop_head {
    int32_t node, symbol; /* the variable, or -1 */
    const poly *lo, *hi;  /* of the variable's values, inclusive */
    const poly *stride;   /* > 0 upwards, < 0 downwards; may be symbolic */
    bool down;
    const poly *first;   /* the value that it begins with */
    int32_t body, limit; /* limit: the expression that bounds it; 0 */
    bool own;            /* the variable is declared in the head */
    int32_t over;        /* RANGE: what it runs over; else -1 */
    bool tests_unequal;
    const char *reason; /* why it is no canonical loop; NULL */
    uint32_t reason_line;
} loop_head;

/* ---- one loop under study -------------------------------------------------------------------- */
typedef struct study {
    const hpc_tree *t; /* of the program */
    const program *program;
    prover prover[1];
    answer answer[1];
    int rc; /* the first failure of memory; all goes on, and is thrown away */
    int32_t loop, function;
    loop_head head;
    int32_t iteration; /* the atom */
    access *item;
    int64_t n, cap;
    slot *slots;
    int32_t slots_n;
    int32_t *slot_of; /* by symbol; -1 */
    var_state *now;   /* by slot */
    const fact *facts;
    bool is_instance;   /* of a template: other instances may have other types */
    const fact *before; /* that hold before the loop, whether it runs or not */
    int32_t depth, order;
    var_state
        *left;   /* the state where the innermost loop is left or goes on early; NULL: nowhere */
    bool leaves; /* there is such a place */
    int32_t loops, breakable; /* loops, and loops and switches, around what is being walked */
    int32_t switches;         /* within the innermost loop */
    int32_t choices;          /* conditions that numbers were chosen by */
    int64_t visits;           /* calls of value_of() */
    bool reorders;            /* sums of floating-point numbers */
    double cost;              /* of one iteration, in simple operations */
    bool guessed;             /* it holds a loop that counts to what is not known */
    bool uneven;              /* iterations differ much in cost: where, and why */
    int32_t uneven_at;
    const char *uneven_why;
    int32_t resolving;
    struct store *stores;
    int64_t stores_n, stores_cap;
    int32_t indexing; /* an index is being looked at */
    const struct binding
        *bindings;                /* what parameters stand for, in a call that is looked through */
    const place *self;            /* and what its object is; NULL: that of the function itself */
    int32_t inlining, inlined_at; /* how many such calls there are around; the outermost */
    var_state *broken;            /* the state where the switch that is walked is left */
} study;

/* ---- find.c: one loop, from its tree to accesses and states ---- */
/* rc and release are valid after a failure, too. The study must not move. */
int study_begin(study *s, const program *p, int32_t loop, int32_t function);
bool study_walk(study *s); /* false: the loop cannot be analysed, and evidence says why */
int study_end(study *s);   /* releases all; the first failure */

/* An lvalue that the loop assigns: the variable that it is reached from (-1: not known), the last
 * field on the way (-1), and its type (-1: any). */
typedef struct store {
    int32_t root, field, type;
} store;

/* ---- head.c ---- */
void head_read(loop_head *out, study *s, int32_t loop);

/* ---- value.c ---- */
/* What an expression is worth; records what it reads. */
const poly *value_of(study *s, int32_t e);
/* The value of a variable that the loop does not change: by its initialiser, if that is known.
 */
const poly *settled_value(study *s, int32_t v);
/* The place of an lvalue; records what finding it reads, but not the access itself. */
bool place_of(place *out, study *s, int32_t e);
/* v[i], v.at(i) of a container. False when it is another call, or the place is not known. */
bool place_of_call(place *out, study *s, int32_t e);
/* The place behind a pointer. */
bool place_behind(place *out, study *s, const poly *pointer, int32_t type);
/* Reads or writes what lies at a place. */
void access_add(study *s, const place *p, int32_t node, bool write, uint8_t update);
void access_everything(study *s, int32_t node);
int32_t slot_index(const study *s, int32_t symbol);
const poly *slot_read(study *s, int32_t k, int32_t node);
void slot_write(study *s, int32_t k, int32_t node, const poly *v);
/* Assigns to an lvalue. */
void store_to(study *s, int32_t lvalue, const poly *v, int32_t node);
const poly *load_from(study *s, const place *p, int32_t node);
/* Whether a variable is made anew in each iteration. */
bool is_inside(const study *s, int32_t symbol);
/* The facts that hold where a condition does, or does not. */
const fact *facts_of(study *s, const fact *next, int32_t condition, bool holds);

/* ---- call.c ---- */
const poly *call_value(study *s, int32_t call);

/* ---- state.c ---- */
var_state *state_copy(study *s, const var_state *from);
void state_join(study *s, var_state *into, const var_state *other); /* what holds on both ways */
/* Behind an if: what is there is of where the condition does not hold. */
void state_join_if(study *s, const var_state *yes, const fact *if_so, const fact *if_not);
void state_forget(study *s, int32_t part); /* what a part of the tree assigns */

/* ---- walk.c ---- */
void walk_loop(study *s);
void walk_statement(study *s, int32_t i);
bool walk_ends(const hpc_tree *t, int32_t i); /* what follows it is not reached through it */
/* The variables that the loop assigns, and its stores. */
int slots_find(study *s);
void slots_step(study *s); /* those that step by the same each time; the head is known */
/* Binds the variable of a range-for to element `index` of what it runs over. */
void walk_bind_range(study *s, const loop_head *h, int32_t index);

/* ---- reduce.c ---- */
typedef struct reduction {
    uint8_t op;     /* '+', '*', '&', '|', '^', HPC_OP_AND, HPC_OP_OR, OP_MIN, OP_MAX; 0: none */
    int32_t target; /* the lvalue */
    int32_t value;  /* what goes into it */
    int32_t other;  /* a further condition or value that is read, or 0 */
} reduction;
bool reduction_match(reduction *out, const hpc_tree *t, int32_t statement);

/* ---- scalar.c, memory.c ----
 * Both add evidence, assumptions and clauses to the answer. */
void scalars_judge(study *s);
void memory_judge(study *s);
/* Whether a variable's value may be read after the loop, or by a later entry of it. */
bool is_live(const study *s, int32_t symbol);

/* The name as the loop spells it: "total", "ns::total". */
const char *name_in_clause(const study *s, int32_t symbol);

#endif
