/*
 * oracle.h: functions that a program made by ../oracle.py calls: marks of iterations and names for
 * the shadow memory (shadow.c), and random inputs that can be reproduced (inputs.c).
 */
#ifndef HPC_TESTS_PRAGMA_ORACLE_H
#define HPC_TESTS_PRAGMA_ORACLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ORACLE_SHARED,  /* every access counts, even on the stack */
    ORACLE_PRIVATE, /* written in each iteration before it is read */
    ORACLE_FIRST,   /* like PRIVATE, or reads the value before the loop */
    ORACLE_FREE     /* counters, reductions, inductions: not checked */
};

/* ---- marks: at most one loop of a run is checked --------------------------------------------- */
void oracle_begin(int loop);
void oracle_iteration(int loop);
void oracle_end(int loop);
void oracle_name(int loop, const void *at, size_t bytes, int kind);
void oracle_holds(int loop, int yes);    /* an assumption about this iteration */
void oracle_value(int loop, long value); /* a value of an expression that must not repeat */

/* ---- inputs ---- */
long oracle_int(int is_size);
double oracle_real(void);
/* An element inside a buffer of such elements, with random contents for numbers ("d:double",
 * "i:int", ...; "r:" and "p:" mark records and pointers). If aliases are requested, it may be one
 * returned earlier. */
void *oracle_buffer(const char *kind, size_t element, long before, long after, int alone);
int oracle_is_new(void); /* is the last buffer new? If not, it already has contents */
/* Registers a global array. */
void oracle_adopt(const char *kind, void *at, size_t element, long n);
void oracle_fill(const char *kind, void *at, size_t element, long n);
void oracle_records(void (*show)(void *), void *at, size_t element, long n);
void oracle_shown(double x); /* a result that must equal the serial run's */

extern int oracle_on; /* the loop that runs with its directive, in runs for results */

/* ---- made by oracle.py ---- */
void oracle_globals(void);
void oracle_call(int function);
void oracle_show_globals(void);

#ifdef __cplusplus
}
#endif
#endif
