/*
 * number.h: numbers as polynomials of what a loop does not change and of what counts its
 * iterations, places in memory, what both are made of, and what can be proven of a number's sign.
 */
#ifndef HPC_PRAGMA_NUMBER_H
#define HPC_PRAGMA_NUMBER_H

#include "infer/pragma/pragma.h"

/* ---- of the tree ------------------------------------------------------------------------------
 */
static inline uint8_t kind_of(const hpc_tree *t, int32_t type)
{
    return type < 0 ? HPC_TYPE_UNKNOWN : t->type[type].kind;
}

static inline bool is_loop(uint8_t kind)
{
    return kind == HPC_TREE_FOR || kind == HPC_TREE_RANGE || kind == HPC_TREE_WHILE ||
           kind == HPC_TREE_DO;
}

/* ---- numbers (poly.c) ----------------------------------------------------------------------
 * Sums of products of atoms with whole coefficients; a pointer is such a sum as well, in elements
 * of what it points to, with one atom that is a pointer. NULL is a number that nothing is known
 * of. They live in the study's arena and never change. */
enum { TERM_ATOMS = 4, POLY_TERMS = 24 };
typedef struct term {
    int64_t c;
    int32_t atom[TERM_ATOMS]; /* ascending; -1 behind the last */
} term;
typedef struct poly {
    int32_t n;
    term t[]; /* ordered by atoms; no coefficient is 0 */
} poly;

typedef struct study study;
const poly *poly_number(study *s, int64_t c);
const poly *poly_atom(study *s, int32_t which);
const poly *poly_sum(study *s, const poly *a, const poly *b);
const poly *poly_less(study *s, const poly *a, const poly *b); /* a - b */
const poly *poly_product(study *s, const poly *a, const poly *b);
const poly *poly_scaled(study *s, const poly *a, int64_t c);
const poly *poly_plus(study *s, const poly *a, int64_t c);
bool poly_equal(const poly *a, const poly *b); /* false when either is NULL */
bool poly_is_number(const poly *a, int64_t *c);
bool poly_differ_by(const poly *a, const poly *b, int64_t *c); /* a - b is a number: it */
bool poly_has(const poly *a, int32_t which);
/* a = *c * atom + *rest, *c without the atom. False when the atom is in a higher power. */
bool poly_split(study *s, const poly *a, int32_t which, const poly **c, const poly **rest);
const poly *poly_put(study *s, const poly *a, int32_t which, const poly *value);
/* "i*n + j", as the source would say it. */
void poly_text(hpc_buf *b, const study *s, const poly *a);

/* ---- places (place.c) ------------------------------------------------------------------------ */
enum { PLACE_STEPS = 8 };
enum { STEP_INDEX = -1, STEP_CONTENT = -2 }; /* of a container: what it holds */
typedef struct place_step {
    int32_t field;     /* a field's symbol, or one of the above */
    const poly *index; /* of STEP_INDEX; NULL: unknown */
} place_step;
typedef struct place {
    int32_t base; /* the atom of an object (ATOM_OBJECT) or of a pointer that is followed; -1:
                     unknown */
    int32_t n;
    int32_t type; /* of what lies there; -1 */
    place_step step[PLACE_STEPS];
} place;

/* ---- atoms (atom.c) -------------------------------------------------------------------------- */
typedef enum atom_kind {
    ATOM_SYMBOL,    /* the value of a variable that the loop does not change */
    ATOM_OBJECT,    /* a variable, as a place; of a reference: what it refers to */
    ATOM_THIS,      /* the pointer */
    ATOM_LOAD,      /* what lies at a place that the loop does not change */
    ATOM_POINT,     /* a pointer to a place */
    ATOM_AS,        /* the pointer to void `of`, used as a pointer to type `node` */
    ATOM_ITERATION, /* the variable of the loop under study */
    ATOM_INNER,     /* that of a loop within */
    ATOM_FUNCTION,  /* of numbers: op and two of them */
    ATOM_OPAQUE,    /* something of an iteration; each is another */
    ATOM_SIZE,      /* of a container at a place */
    ATOM_CHOICE,    /* one of two numbers, as a condition says */
    ATOM_STEP,      /* of the test: how many iterations lie between two */
    ATOM_TWIN       /* of the test: the atom `of`, in the other iteration */
} atom_kind;
typedef struct atom {
    uint8_t kind;
    uint8_t op;
    bool varies; /* from iteration to iteration of the loop under study */
    int32_t symbol, node, of;
    const place *place;
    const poly *a, *b;           /* FUNCTION; of CHOICE: where the condition holds, and where not */
    const struct fact *yes, *no; /* CHOICE: what the condition says; `of` says which condition */
    const poly *lo, *hi;         /* bounds, inclusive; NULL: none known */
    uint64_t hash;
} atom;

/* Numbers known to be >= 0, or not to be 0, where an access happens. */
typedef struct fact {
    const poly *p;
    bool unequal; /* not 0 */
    const struct fact *next;
} fact;

/* ---- atom.c ---- */
int32_t atom_fresh(study *s, int32_t node); /* a pointer to memory that an iteration allocates */
int32_t atom_new(study *s, const atom *a);  /* -1: no memory */
int32_t atom_symbol(study *s, int32_t symbol);
int32_t atom_object(study *s, int32_t symbol);
int32_t atom_this(study *s);
int32_t atom_opaque(study *s, int32_t node);
int32_t atom_load(study *s, const place *p);
int32_t atom_point(study *s, const place *p);
int32_t atom_as(study *s, int32_t pointer, int32_t type);
int32_t atom_untyped(const study *s, int32_t i); /* the pointer to void of an ATOM_AS; else i */
int32_t atom_size(study *s, const place *p);
int32_t atom_function(study *s, uint8_t op, const poly *a, const poly *b);
int32_t atom_choice(study *s, const atom *c); /* a, b, yes, no, of */
bool poly_varies(const study *s, const poly *p);
bool place_varies(const study *s, const place *p);
bool place_equal(const place *a, const place *b);
bool is_same_type(const hpc_tree *t, int32_t a, int32_t b); /* const aside */
void place_text(hpc_buf *b, const study *s, const place *p);
void atom_text(hpc_buf *b, const study *s, int32_t i);

/* ---- prove.c ---- */
bool prove_not_negative(study *s, const poly *p, const fact *facts);
bool prove_positive(study *s, const poly *p, const fact *facts);
bool prove_not_zero(study *s, const poly *p, const fact *facts); /* always of one sign */
const fact *fact_add(study *s, const fact *next, const poly *p);
const fact *fact_unequal(study *s, const fact *next, const poly *p);

#endif
