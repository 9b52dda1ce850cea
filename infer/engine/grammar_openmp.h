/*
 * grammar_openmp.h: what OpenMP 5.2 has for C and C++, as tables: directives and their clauses
 * (grammar_openmp.c), the forms of arguments (grammar_form.c), and how bytes are led
 * through an argument (grammar_argument.c) and the names in it (grammar_name.c).
 * grammar_directive.c has the line around it.
 */
#ifndef HPC_INFER_GRAMMAR_OPENMP_H
#define HPC_INFER_GRAMMAR_OPENMP_H

#include "infer/engine/grammar_priv.h"

/* ---- forms of arguments -----------------------------------------------------------------------
 * "(head: body)", "(body: tail)" or "(body)", where a head is words with commas between.
 */
typedef enum openmp_body {
    BODY_NONE,
    BODY_NAMES,       /* of variables, with commas between */
    BODY_PLACES,      /* the same with members, array sections and what pointers point to */
    BODY_EXPRESSION,  /* one */
    BODY_EXPRESSIONS, /* with commas between */
    BODY_CHOICE,      /* one word of `words` */
    BODY_ANYTHING     /* balanced */
} openmp_body;

enum {                    /* of words: */
       WORD_BEFORE = 1,   /* a comma and another word may follow */
       WORD_LAST = 2,     /* the colon may follow */
       WORD_ALONE = 4,    /* the end may follow, without a colon */
       WORD_EMPTY = 8,    /* the end may follow its colon */
       WORD_VECTOR = 16,  /* behind its colon are expressions, whatever the form says */
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
    bool head_must;  /* there is one */
    bool head_any;   /* any identifier is a last word of one */
    bool head_named; /* its words must be in the directive's name */
    bool optional;   /* the whole argument may be left out */
    bool single;     /* one name or place */
    bool made_up;    /* a name of no variable */
    openmp_body body;
    openmp_words words;
    openmp_body tail; /* behind a colon; or behind a comma: */
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
    uint8_t group; /* not 0: of all with this number, one at most */
    bool many;     /* may come more than once */
} openmp_clause;
extern const openmp_clause openmp_clauses[]; /* sorted by strcmp */
extern const uint8_t openmp_clause_n;        /* at most 128 */

enum { OPENMP_ANY_CLAUSE = 255 };
typedef struct openmp_directive {
    const char *text;
    uint64_t of;      /* what it is combined of */
    uint8_t form;     /* of its own argument */
    uint8_t needs[4]; /* one of these clauses, plus one, or OPENMP_ANY_CLAUSE; 0: no more of them */
} openmp_directive;
extern const openmp_directive openmp_directives[]; /* sorted by strcmp */
extern const uint8_t openmp_directive_n;

/* Bit c % 64 of word c / 64: the directive takes clause c. */
void openmp_clauses_of(uint64_t set[2], uint8_t directive);
/* How often it may come: an `if` once for each part of the directive that takes one. */
int openmp_clause_most(uint8_t directive, uint8_t clause);

/* ---- ways through them ------------------------------------------------------------------------
 * Rows whose first member is their text; one blank stands there for any number of them.
 */
typedef struct openmp_rows {
    const void *row;
    size_t row_bytes;
    uint8_t n;
} openmp_rows;
grammar_phrase openmp_phrase_begin(const openmp_rows *rows);
/* False: no row goes on with this byte, and [lo, hi) is empty. */
bool openmp_phrase_step(grammar_phrase *p, const openmp_rows *rows, uint8_t byte);
/* Row p->lo is what has come. */
bool openmp_phrase_is_whole(const grammar_phrase *p, const openmp_rows *rows);

/* Behind the opening parenthesis. */
void openmp_argument_begin(grammar_directive *d, uint8_t form);
/* d->nested and *closed tell where it is: the last step closes the argument. */
bool openmp_argument_step(grammar_directive *d, uint8_t byte, bool *closed);
uint32_t openmp_argument_any_of(const grammar_directive *d);

/* Of lists and expressions, with d->rule: the same byte first goes here. */
bool openmp_name_step(grammar_directive *d, uint8_t byte);
/* No name has begun that may not end. */
bool openmp_name_is_whole(const grammar_directive *d);
uint32_t openmp_name_any_of(const grammar_directive *d);

#endif
