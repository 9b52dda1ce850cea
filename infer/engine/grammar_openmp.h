/*
 * grammar_openmp.h: tables of OpenMP 5.2 for C and C++: directives and their clauses
 * (grammar_openmp.c), the forms of arguments (grammar_form.c), and the automata for an argument
 * (grammar_argument.c) and the names in it (grammar_name.c). grammar_directive.c handles the line
 * around an argument.
 */
#ifndef HPC_INFER_GRAMMAR_OPENMP_H
#define HPC_INFER_GRAMMAR_OPENMP_H

#include "infer/engine/grammar_priv.h"

/* ---- forms of arguments -----------------------------------------------------------------------
 * "(head: body)", "(body: tail)" or "(body)"; a head is a list of words separated by commas. */
typedef enum openmp_body {
    BODY_NONE,
    BODY_NAMES,       /* variables, separated by commas */
    BODY_PLACES,      /* also members, array sections and dereferenced pointers */
    BODY_EXPRESSION,  /* one */
    BODY_EXPRESSIONS, /* separated by commas */
    BODY_CHOICE,      /* one word of `words` */
    BODY_ANYTHING     /* balanced brackets */
} openmp_body;

enum {                    /* flags of a word: */
       WORD_BEFORE = 1,   /* a comma and another word may follow */
       WORD_LAST = 2,     /* the colon may follow */
       WORD_ALONE = 4,    /* the end may follow, without a colon */
       WORD_EMPTY = 8,    /* the end may follow its colon */
       WORD_VECTOR = 16,  /* expressions follow its colon, whatever the form's body is */
       WORD_ARGUMENT = 32 /* parentheses may follow; of a choice: the tail */
};
typedef struct openmp_word {
    const char *text;
    uint8_t flags;
} openmp_word;
typedef struct openmp_words {
    const openmp_word *word; /* sorted by strcmp */
    uint8_t n;
} openmp_words;

typedef struct openmp_form {
    openmp_words head;
    bool head_must;  /* the head is required */
    bool head_any;   /* any identifier may be the last word of a head */
    bool head_named; /* words of the head must be in the directive's name */
    bool optional;   /* the whole argument may be omitted */
    bool single;     /* one name or place */
    bool made_up;    /* the name of no variable */
    openmp_body body;
    openmp_words words;
    openmp_body tail; /* after a colon, or with tail_comma after a comma */
    bool tail_comma;
    openmp_words tail_words;
} openmp_form;

typedef enum openmp_form_id {
    OPENMP_NO_FORM, /* no argument */
    OPENMP_AFFINITY,
    OPENMP_ALIGNED,
    OPENMP_ALLOCATE,
    OPENMP_ANYTHING,
    OPENMP_AT,
    OPENMP_BIND,
    OPENMP_COMBINER,
    OPENMP_DEFAULT,
    OPENMP_DEFAULTMAP,
    OPENMP_DEPEND,
    OPENMP_DEPOBJ_UPDATE,
    OPENMP_DEVICE,
    OPENMP_DEVICE_TYPE,
    OPENMP_DIST_SCHEDULE,
    OPENMP_DOACROSS,
    OPENMP_EXPRESSION,
    OPENMP_EXPRESSIONS,
    OPENMP_EXPRESSION_MAY,
    OPENMP_IF,
    OPENMP_LASTPRIVATE,
    OPENMP_LINEAR,
    OPENMP_MAP,
    OPENMP_MEMORY_ORDER,
    OPENMP_MOTION,
    OPENMP_NAME,
    OPENMP_NAMES,
    OPENMP_NAMES_MAY,
    OPENMP_NAME_MAY,
    OPENMP_NUM_TEAMS,
    OPENMP_ORDER,
    OPENMP_PLACE,
    OPENMP_PLACES,
    OPENMP_PROC_BIND,
    OPENMP_REDUCED,
    OPENMP_REDUCTION,
    OPENMP_SCHEDULE,
    OPENMP_SEVERITY,
    OPENMP_STRICT
} openmp_form_id;
extern const openmp_form openmp_forms[];

/* ---- clauses and directives -------------------------------------------------------------------
 */
typedef struct openmp_clause {
    const char *text;
    uint8_t form;  /* openmp_form_id */
    uint8_t group; /* not 0: at most one clause of each group */
    bool many;     /* may occur more than once */
} openmp_clause;
extern const openmp_clause openmp_clauses[]; /* sorted by strcmp */
extern const uint8_t openmp_clause_n;        /* at most 128 */

enum { OPENMP_ANY_CLAUSE = 255 };
typedef struct openmp_directive {
    const char *text;
    uint64_t of;      /* the directives that it combines */
    uint8_t form;     /* of its own argument */
    uint8_t needs[4]; /* required: one of these clauses plus one, or OPENMP_ANY_CLAUSE; 0: end */
} openmp_directive;
extern const openmp_directive openmp_directives[]; /* sorted by strcmp */
extern const uint8_t openmp_directive_n;

/* Bit c % 64 of set[c / 64]: the directive accepts clause c. */
void openmp_clauses_of(uint64_t set[2], uint8_t directive);
/* How often the clause may occur: an `if` once for each part of the directive that accepts one. */
int openmp_clause_most(uint8_t directive, uint8_t clause);

/* ---- matching of rows -------------------------------------------------------------------------
 * The first member of a row is its text; one blank in it stands for any number of blanks. */
typedef struct openmp_rows {
    const void *row;
    size_t row_bytes;
    uint8_t n;
} openmp_rows;
grammar_phrase openmp_phrase_begin(const openmp_rows *rows);
/* False: no row continues with this byte, and [lo, hi) is empty. */
bool openmp_phrase_step(grammar_phrase *p, const openmp_rows *rows, uint8_t byte);
/* True if row p->lo has been matched completely. */
bool openmp_phrase_is_whole(const grammar_phrase *p, const openmp_rows *rows);

/* Starts after the opening parenthesis. */
void openmp_argument_begin(grammar_directive *d, uint8_t form);
/* Depends on d->nested; *closed: this byte closes the argument. */
bool openmp_argument_step(grammar_directive *d, uint8_t byte, bool *closed);
uint32_t openmp_argument_any_of(const grammar_directive *d);

/* The steps for lists and expressions with d->rule: every byte is passed here first. */
bool openmp_name_step(grammar_directive *d, uint8_t byte);
/* True unless an incomplete name has begun. */
bool openmp_name_is_whole(const grammar_directive *d);
uint32_t openmp_name_any_of(const grammar_directive *d);

#endif
