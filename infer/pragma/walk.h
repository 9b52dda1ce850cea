/*
 * walk.h: evaluation of one iteration of a loop, statement by statement and expression by
 * expression. It records accesses, assigned variables and costs in the facts of the loop, and
 * obstacles as evidence in the answer.
 */
#ifndef HPC_PRAGMA_WALK_H
#define HPC_PRAGMA_WALK_H

#include "infer/pragma/answer.h"
#include "infer/pragma/loop.h"
#include "infer/pragma/text.h"

typedef struct var_state { /* of a slot, at a point of the walk */
    const poly *is;
    const place *refers; /* the target of a reference */
    bool assigned;       /* in this iteration, on each path to here */
} var_state;

typedef struct walk {
    const hpc_tree *t;
    prover *prover;
    answer *answer;
    loop_facts *loop;
    var_state *now;    /* by slot */
    const fact *facts; /* that hold at this point */
    int32_t depth;     /* number of conditions around this point */
    int32_t order;     /* number of accesses so far */
    var_state *left;   /* joined states of the jumps to the end of the innermost loop; NULL: none */
    bool leaves;       /* there is such a jump */
    var_state *broken; /* joined states of the breaks of the innermost switch; NULL: none */
    int32_t breakable; /* number of loops and switches around this point */
    int32_t switches;  /* in the innermost loop */
    int32_t choices;   /* number of conditions so far that select a value */
    int64_t visits;    /* evaluated expressions */
    int32_t resolving, indexing;    /* nested looks at an initialiser; at an index */
    const struct binding *bindings; /* parameters of the call that is being inlined */
    const place *self;              /* its object; NULL: that of the function itself */
    int32_t inlining, inlined_at;   /* nested inlined calls; the outermost */
    int rc;                         /* first allocation failure */
} walk;
/* The loop must be open, the others initialised; all outlive the walk. */
int walk_begin(walk *w, loop_facts *l, prover *pr, answer *a);
/* Evaluates the body. The head of the loop is known. */
void walk_loop(walk *w);

/* ---- head.c ----
 * Reads the head of a loop: the analysed one, or one inside or around it. */
void head_read(loop_head *out, walk *w, int32_t loop);
/* The same of a loop inside the analysed one, which may step several variables. */
void head_read_inner(loop_head *out, walk *w, int32_t loop);

/* ---- induction.c ---- */
/* Variables next to the loop variable in the head of an inner loop: evaluates their first values;
 * sets their values in an iteration. Those that the body does not assign advance with `var`. */
void others_begin(walk *w, const loop_head *h, const poly *first[HEAD_OTHERS]);
void others_step(walk *w, const loop_head *h, const poly *first[HEAD_OTHERS], const poly *var);
void induction_find(walk *w); /* sets the stride of slots that advance by the same step each time */

/* ---- value.c ---- */
const poly *value_of(walk *w, int32_t e); /* evaluates an expression, with its accesses */
/* The value of a variable that the loop does not change: its initialiser, if that is known. */
const poly *settled_value(walk *w, int32_t v);
/* The value of an object's member that the loop does not change; NULL. */
const poly *settled_member(walk *w, const place *p);
/* True if the loop may store to a place through the same variable. */
bool is_stored(const walk *w, const place *p);
void access_add(walk *w, const place *p, int32_t node, bool write, uint8_t update);
void access_everything(walk *w, int32_t node); /* an access to unknown memory */
const poly *slot_read(walk *w, int32_t k, int32_t node);
void slot_write(walk *w, int32_t k, int32_t node, const poly *v);
const poly *load_from(walk *w, const place *p, int32_t node);

/* ---- place.c ----
 * The place of an lvalue, with the accesses that find it, but not the access to the place itself.
 * place_of_call: v[i], v.at(i) of a container; false for another call. */
bool place_of(place *out, walk *w, int32_t e);
bool place_of_call(place *out, walk *w, int32_t e);
const place *place_keep(walk *w, const place *p); /* the target of a reference, as a copy */
bool place_behind(place *out, walk *w, const poly *pointer, int32_t type); /* *pointer */

/* ---- refer.c ----
 * The place that a reference from outside the loop refers to, in place of the reference; false: the
 * place is reached in no such way. */
bool place_referred(place *out, walk *w, const place *p);

/* ---- call.c, condition.c ---- */
const poly *call_value(walk *w, int32_t call);
/* The facts that hold if a condition is true, or false, in front of `next`. */
const fact *facts_of(walk *w, const fact *next, int32_t condition, bool holds);

/* ---- cost.c ---- */
double nest_estimate(const nest_cost *n); /* operations, with TRIPS_GUESSED for each trip count */
/* Adds an inner loop to the cost `before` it; the walk over its body, with an empty nest to begin
 * with, added one iteration. head: NULL if its trip count is unknown. */
void cost_add_inner(walk *w, const loop_cost *before, const loop_head *head);

/* ---- state.c ---- */
var_state *state_copy(walk *w, const var_state *from);
void state_join(walk *w, var_state *into, const var_state *other); /* keeps what both agree on */
/* Joins the state at the end of the `then` branch with the present one. */
void state_join_if(walk *w, const var_state *yes, const fact *if_so, const fact *if_not);
void state_forget(walk *w, int32_t part); /* variables that a part of the tree assigns */

/* ---- walk.c ---- */
bool walk_ends(const hpc_tree *t, int32_t i); /* control does not pass the end of a statement */

#endif
