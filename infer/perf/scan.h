/*
 * scan.h: functions as lists of events, and the words that stand for events.
 */
#ifndef HPC_PERF_SCAN_H
#define HPC_PERF_SCAN_H

#include "infer/perf/change.h"
#include "infer/perf/event.h"
#include "runtime/source/bracket.h"
#include "runtime/source/pair.h"

/* ---- words.c ----------------------------------------------------------------------------------
 */
enum {                         /* conditions under which a word counts */
       PERF_WORD_CALLED = 1,   /* before a parenthesis */
       PERF_WORD_MEMBER = 2,   /* and after '.', '->' or '::' */
       PERF_WORD_ALONE = 4,    /* anywhere */
       PERF_WORD_CPP = 8,      /* not in C or Fortran */
       PERF_WORD_TYPE = 16,    /* type that is expensive to copy, before a variable */
       PERF_WORD_KEYWORD = 32, /* not called, even before a parenthesis */
       PERF_WORD_SCALAR = 64,  /* a type of a single number */
       PERF_WORD_FORTRAN = 128 /* only in Fortran */
};
typedef struct perf_word {
    uint32_t hash;
    uint8_t kind, how; /* how 0: a free slot */
} perf_word;
enum { PERF_WORD_SLOTS = 2048 };
typedef struct perf_words {
    perf_word c[PERF_WORD_SLOTS], fortran[PERF_WORD_SLOTS];
} perf_words;
void perf_words_init(perf_words *w);
/* The word with this hash; how 0: none. */
perf_word perf_word_find(const perf_word *slot, uint32_t hash);

/* ---- scan.c: events of a function -----------------------------------------------------
 */
typedef struct perf_region { /* repeated code: a loop */
    uint32_t from;           /* first repeated byte; the initialization of a loop is before */
    uint32_t end, at, line;
    uint32_t variable; /* hash of the loop variable; 0: unknown */
    uint64_t bound;    /* hash of its bound; 0: unknown */
    float trips;       /* trip count from literals, or PERF_TRIPS */
    bool inner;        /* contains no other */
} perf_region;
enum { PERF_TRIPS = 64 };
enum { PERF_DEPTH = 15, PERF_OPEN = 64 };
typedef struct perf_number { /* a name with one constant value in a file */
    uint32_t name;
    double value;
} perf_number;
typedef struct perf_scan {
    const perf_words *words;
    const perf_number *number; /* by name; possible loop bounds */
    int64_t numbers_n;
    const hpc_perf_source *s;
    int64_t function;
    bool fortran, cpp;
    hpc_buf code;   /* int64_t: indices of code tokens in s->t */
    int64_t n;      /* of them */
    int32_t *mate;  /* by token: the matching bracket, or -1 */
    uint8_t *depth; /* by token: number of enclosing loops */
    int64_t mate_cap, depth_cap;
    perf_region *region; /* by `from` */
    int64_t regions_n, regions_cap;
    hpc_perf_event *event;
    int64_t events_n, events_cap;
    hpc_loops loops;
    hpc_brackets brackets;
    hpc_tokens own; /* all tokens of the function, also outside code */
    /* state of the scan: */
    int64_t i; /* in `code` */
    int32_t open[PERF_OPEN];
    int32_t open_n;             /* regions around i, at most PERF_OPEN */
    int64_t next;               /* region */
    uint32_t choice[PERF_OPEN]; /* ends of enclosing `switch` statements */
    int32_t choices_n;
    struct {
        uint32_t end;
        float share;    /* fraction of executions that enter it */
    } guard[PERF_OPEN]; /* enclosing `if` statements */
    int32_t guards_n;
    int64_t late; /* start of the statement of an `if` */
} perf_scan;
int perf_scan_run(perf_scan *x, const hpc_perf_source *s, int64_t function);
void perf_scan_release(perf_scan *x);
static inline const hpc_token *perf_token(const perf_scan *x, int64_t i)
{
    return &x->s->t.item[((const int64_t *)(const void *)x->code.data)[i]];
}
static inline bool perf_is(const perf_scan *x, int64_t i, const char *word, size_t n)
{
    if (i < 0 || i >= x->n) return false;
    const hpc_token *t = perf_token(x, i);
    return t->n == n && __builtin_memcmp(x->s->text.data + t->at, word, n) == 0;
}
#define PERF_IS(x, i, word) perf_is(x, i, word, sizeof(word) - 1)
/* Adds an event named by token i. */
int perf_event_add(perf_scan *x, hpc_perf_event_kind kind, int64_t i);
int perf_scan_regions(perf_scan *x);                           /* regions.c */
int perf_scan_index(perf_scan *x, int64_t *behind, int64_t i); /* index.c: the access to name i */
int perf_scan_directive(perf_scan *x);                         /* directive.c: at x->i */
int perf_scan_build(perf_scan *x);                             /* build.c: a whole file */
int perf_scan_fortran(perf_scan *x);            /* scan_fortran.c: the token at x->i */
int perf_scan_signature(perf_scan *x);          /* signature.c: parameters by value */
int perf_scan_element(perf_scan *x, int64_t i); /* signature.c: the `for` at i, of a container */
/* Hash of the last part of the name "A::f". */
uint32_t perf_function_name(const hpc_perf_source *s, int64_t function);
/* The event of an MPI call at i, or -1. */
int perf_scan_message(const perf_scan *x, int64_t i);
/* The name at i is that of the scanned function. */
bool perf_scan_is_itself(const perf_scan *x, int64_t i);

#endif
