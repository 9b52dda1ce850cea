/*
 * prover.h: symbolic numbers, memory places, and proofs about the sign of a number.
 *
 * A number is a polynomial of atoms with integer coefficients. An atom is anything with a value
 * that is not computed further: a variable, a load from memory, a loop counter. The prover shows
 * that a number is never negative, from the bounds of its atoms and from facts that the caller
 * passes. It knows symbols and types of the syntax tree, but nothing of loops or of statements.
 */
#ifndef HPC_PRAGMA_PROVER_H
#define HPC_PRAGMA_PROVER_H

#include "infer/pragma/syntax.h"

/* ---- numbers (poly.c) ----
 * A pointer is a number in elements of its target type, with exactly one atom that is a pointer.
 * NULL stands for a number about which nothing is known. Numbers live in the prover's arena and are
 * immutable. */
enum { TERM_ATOMS = 4, POLY_TERMS = 24 };
typedef struct term {
    int64_t c;
    int32_t atom[TERM_ATOMS]; /* ascending; -1 after the last */
} term;
typedef struct poly {
    int32_t n;
    term t[]; /* ordered by atoms; no coefficient is 0 */
} poly;

/* ---- places ----
 * A place in memory: a base, and steps from it into fields and elements. */
enum { PLACE_STEPS = 8 };
enum { STEP_INDEX = -1, STEP_CONTENT = -2 }; /* CONTENT: the elements that a container owns */
typedef struct place_step {
    int32_t field;     /* a field's symbol, or one of the above */
    const poly *index; /* of STEP_INDEX; NULL: unknown */
    bool whole;        /* all elements of the dimension; `index` is any of them */
} place_step;
typedef struct place {
    int32_t base; /* the atom of an object (ATOM_OBJECT) or of a dereferenced pointer; -1: unknown
                   */
    int32_t n;
    int32_t type; /* of the object at the place; -1: unknown */
    place_step step[PLACE_STEPS];
} place;

/* ---- atoms (atom.c) ---- */
typedef enum atom_kind {
    ATOM_SYMBOL,    /* the value of a variable that does not change */
    ATOM_OBJECT,    /* a variable, as a place; a reference: its target */
    ATOM_THIS,      /* the pointer */
    ATOM_LOAD,      /* the value at a place that does not change */
    ATOM_POINT,     /* a pointer to a place */
    ATOM_AS,        /* the pointer to void `of`, used as a pointer to type `node` */
    ATOM_ITERATION, /* the counter of the analysed loop */
    ATOM_INNER,     /* the counter of an inner loop */
    ATOM_FUNCTION,  /* an operator applied to two numbers */
    ATOM_OPAQUE,    /* an unknown value; each is distinct */
    ATOM_SIZE,      /* of a container at a place */
    ATOM_CHOICE,    /* one of two numbers, selected by a condition */
    ATOM_STEP,      /* number of iterations between two iterations under test */
    ATOM_TWIN       /* the value of atom `of` in the other iteration under test */
} atom_kind;
typedef struct atom {
    uint8_t kind;
    uint8_t op;
    bool varies; /* between iterations of the analysed loop */
    int32_t symbol, node, of;
    const place *place;
    const poly *a, *b;           /* FUNCTION: operands; CHOICE: value if true, value if false */
    const struct fact *yes, *no; /* CHOICE: facts if true and if false; `of` names the condition */
    const poly *lo, *hi;         /* bounds, inclusive; NULL: none known */
    uint64_t hash;
} atom;

/* A list of numbers known to be >= 0, or known not to be 0, at a point of the program. */
typedef struct fact {
    const poly *p;
    bool unequal; /* not 0 */
    uint32_t id;  /* unique in its prover */
    const struct fact *next;
} fact;

enum { PROVER_RISES = 4, PROVER_DISTINCT = 4, PROVER_LIMITS = 4 };
typedef struct prover {
    const hpc_tree *t;
    hpc_arena *arena;
    int rc; /* first allocation failure; results after it are meaningless, but safe to use */
    atom *atoms;
    int64_t atoms_n, atoms_cap;
    void (*full)(void *user); /* called when the table of atoms is full, at each rejected atom */
    void *user;
    uint32_t facts_n;
    int64_t spent; /* steps of all proofs so far */
    bool rising;   /* proofs may assume that arrays are sorted in ascending order */
    const place *rises[PROVER_RISES]; /* the arrays for which they did */
    int32_t rises_n;
    bool distinct; /* proofs may assume that arrays have no repeated entry */
    const place *distinct_of[PROVER_DISTINCT]; /* an entry of each array for which they did */
    int32_t distinct_n;
    bool limited; /* proofs may assume that no entry of an array exceeds a number */
    struct {
        const place *of; /* an entry of the array */
        const poly *most;
    } limit[PROVER_LIMITS]; /* the arrays for which they did */
    int32_t limits_n;
} prover; /* zero except for t, arena, full and user */
void prover_release(prover *pr);

/* Atoms and numbers made after a mark are discarded by the rewind. */
typedef struct prover_mark {
    int64_t atoms_n;
    hpc_arena_mark arena;
} prover_mark;
prover_mark prover_here(const prover *pr);
void prover_rewind(prover *pr, prover_mark mark);

/* ---- poly.c ---- */
const poly *poly_number(prover *pr, int64_t c);
const poly *poly_atom(prover *pr, int32_t which); /* NULL if which < 0 */
const poly *poly_sum(prover *pr, const poly *a, const poly *b);
const poly *poly_less(prover *pr, const poly *a, const poly *b); /* a - b */
const poly *poly_product(prover *pr, const poly *a, const poly *b);
const poly *poly_scaled(prover *pr, const poly *a, int64_t c);
const poly *poly_plus(prover *pr, const poly *a, int64_t c);
bool poly_equal(const poly *a, const poly *b); /* false if either is NULL */
bool poly_is_number(const poly *a, int64_t *c);
bool poly_differ_by(const poly *a, const poly *b, int64_t *c); /* a - b is the constant *c */
bool poly_has(const poly *a, int32_t which);
/* a = *c * atom + *rest, where neither holds the atom. False if the atom occurs squared. */
bool poly_split(prover *pr, const poly *a, int32_t which, const poly **c, const poly **rest);
const poly *poly_put(prover *pr, const poly *a, int32_t which, const poly *value); /* substitutes */
bool place_equal(const place *a, const place *b); /* false if a base is unknown */

/* ---- atom.c ----
 * Each function returns the atom, or -1 if there is no memory or the table is full. Equal atoms
 * have equal numbers. */
int32_t atom_fresh(prover *pr, int32_t node); /* a pointer to memory that an iteration allocates */
int32_t atom_new(prover *pr, const atom *a);
int32_t atom_symbol(prover *pr, int32_t symbol);
int32_t atom_object(prover *pr, int32_t symbol);
int32_t atom_this(prover *pr);
int32_t atom_opaque(prover *pr, int32_t node);
int32_t atom_load(prover *pr, const place *p);
int32_t atom_point(prover *pr, const place *p);
int32_t atom_as(prover *pr, int32_t pointer, int32_t type);
int32_t atom_untyped(const prover *pr, int32_t i); /* the pointer to void of an ATOM_AS; else i */
int32_t atom_size(prover *pr, const place *p);
/* `facts` hold where the operator is evaluated; they bound its result. */
int32_t atom_function(prover *pr, uint8_t op, const poly *a, const poly *b, const fact *facts);
int32_t atom_choice(prover *pr, const atom *c); /* reads a, b, yes, no, op and of */
bool poly_varies(const prover *pr, const poly *p);

/* ---- prove.c ----
 * Each proof has a budget of steps. False: no proof was found. */
bool prove_not_negative(prover *pr, const poly *p, const fact *facts);
bool prove_positive(prover *pr, const poly *p, const fact *facts);
bool prove_not_zero(prover *pr, const poly *p, const fact *facts); /* always of one sign */
/* Both return the list with the new fact in front, or `next` if the fact adds no information. */
const fact *fact_add(prover *pr, const fact *next, const poly *p);
const fact *fact_unequal(prover *pr, const fact *next, const poly *p);
/* Greatest or least value of a number over all iterations; NULL: unknown. */
const poly *poly_extreme(prover *pr, const poly *p, bool greatest, const fact *facts);

#endif
