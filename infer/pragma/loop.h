/*
 * loop.h: facts about one loop. The walk over the body records them; later steps only read them.
 */
#ifndef HPC_PRAGMA_LOOP_H
#define HPC_PRAGMA_LOOP_H

#include "infer/pragma/program.h"
#include "infer/pragma/prover.h"

typedef struct access { /* of memory, in each iteration that reaches it */
    place place;
    int32_t node;
    int32_t depth;  /* number of conditions around it */
    uint8_t update; /* operator of the update `x op= e` that it is part of; 0: none */
    bool write;
    int32_t order; /* in which the walk met it */
    const fact *facts;
} access;

/* A variable of a simple type that the loop assigns, or a counter of an open type. An absent node
 * is -1. */
typedef struct slot {
    int32_t symbol;
    bool inside;          /* declared in the body: each iteration has its own */
    bool escaped;         /* its address is taken */
    int32_t exposed;      /* a node that reads the value of an earlier iteration */
    int32_t write;        /* the first assignment */
    int32_t writes_n;     /* number of assignments, without updates */
    int32_t update_write; /* the first update */
    uint8_t update;       /* operator of its updates; 0: none; OP_MIXED */
    int32_t plain_read;   /* a read outside its updates */
    const poly *stride;   /* of an induction variable: its step per iteration; NULL */
    bool always;          /* every iteration assigns it */
    bool blocks;          /* no clause makes it harmless */
    int32_t step_node;    /* the statement that steps an induction variable */
} slot;

#define HEAD_BOUND_CHANGES "its bound may change during the loop"
enum { HEAD_OTHERS = 3 };
typedef struct head_part {       /* a variable that the head of a loop initialises and steps */
    int32_t symbol, first, step; /* nodes: of its first value, of the statement that steps it */
} head_part;
typedef struct loop_head {
    int32_t node, symbol; /* the loop variable, or -1 */
    const poly *lo, *hi;  /* of the variable's values, inclusive */
    const poly *stride;   /* > 0 upwards, < 0 downwards; may be symbolic */
    bool down;
    const poly *first;   /* the initial value */
    int32_t body, limit; /* limit: the expression that bounds the variable; 0 */
    bool own;            /* the head declares the variable */
    int32_t over;        /* RANGE: the expression of the range; else -1 */
    bool tests_unequal;
    head_part other[HEAD_OTHERS]; /* of an inner loop: variables next to the loop variable */
    int32_t others_n;
    const char *reason; /* why the loop is not canonical; NULL */
    uint32_t reason_line;
} loop_head;

/* An lvalue that the loop assigns: the variable at its root, its last field, its type; -1: any. */
typedef struct store {
    int32_t root, field, type;
} store;

/* A nest of inner loops with unknown trip counts that do not vary between iterations. */
enum { NEST_LOOPS = 3, TRIPS_GUESSED = 16 };
typedef struct nest_cost {
    const poly *width[NEST_LOOPS]; /* trip counts times strides, innermost first */
    int32_t n;
    double strides;    /* their product */
    double operations; /* of one iteration of the nest; all of the loop if n is 0 */
} nest_cost;
typedef struct loop_cost { /* of one iteration */
    double operations;     /* simple ones; unknown trip counts are TRIPS_GUESSED */
    nest_cost nest;        /* the one with the highest estimate */
    bool guessed;          /* it contains a loop with an unknown trip count */
    bool uneven;           /* iterations differ much in cost: where, and why */
    int32_t uneven_at;
    const char *uneven_why;
} loop_cost;

enum { HIDDEN_MOST = 4 };
typedef struct loop_facts {
    const program *p;
    int32_t node, function;
    bool is_instance; /* of a template: other instances may have other types */
    bool open;        /* in a template itself, so unknown types are those of its parameters */
    loop_head head;
    int32_t iteration;         /* the atom of the loop variable */
    const fact *before, *runs; /* facts before the loop; facts in each iteration */
    access *item;
    int64_t n, cap;
    slot *slots; /* `slots_cap` of them; the walk fills the fields after `escaped` */
    int32_t slots_n, slots_cap;
    int32_t *slot_of; /* by symbol; -1 */
    store *stores;
    int64_t stores_n, stores_cap;
    loop_cost cost;
    int32_t hidden[HIDDEN_MOST]; /* calls, one for each function that may read memory by itself */
    int32_t hidden_n;            /* HIDDEN_MOST + 1: more */
    int rc;                      /* first allocation failure */
} loop_facts;
/* Finds the variables that the loop assigns, and its stores. Release is valid after a failure. */
int loop_open(loop_facts *l, const program *p, int32_t node, int32_t function);
void loop_release(loop_facts *l);

int32_t loop_assigned_by(const program *p, int32_t i);   /* a variable with a slot; -1 */
int32_t slot_index(const loop_facts *l, int32_t symbol); /* -1: the loop does not assign it */
bool is_inside(const loop_facts *l, int32_t symbol);     /* each iteration has its own variable */
/* The name as the loop spells it: "total", "ns::total". */
const char *name_in_clause(const loop_facts *l, int32_t symbol);
double trips_of(prover *pr, const loop_head *h); /* trip count; -1: unknown */

#endif
