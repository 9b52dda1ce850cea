/*
 * oracle.h: what a program made by ../oracle.py calls: marks of iterations and names, which the
 * shadow memory (shadow.c) follows, and inputs by chance that can be told again (inputs.c).
 */
#ifndef HPC_TESTS_PRAGMA_ORACLE_H
#define HPC_TESTS_PRAGMA_ORACLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ORACLE_SHARED,  /* every access counts, though it is on the stack */
    ORACLE_PRIVATE, /* written in each iteration before it is read */
    ORACLE_FIRST,   /* the same, or its value before the loop is read */
    ORACLE_FREE     /* counters, reductions, inductions: nothing counts */
};

/* ---- marks: no more than one loop of a run is looked at ---- */
void oracle_begin(int loop);
void oracle_iteration(int loop);
void oracle_end(int loop);
void oracle_name(int loop, const void *at, size_t bytes, int kind);
void oracle_holds(int loop, int yes);    /* an assumption, in this iteration */
void oracle_value(int loop, long value); /* of an expression that must not have one twice */

/* ---- inputs ---- */
long oracle_int(int is_size);
double oracle_real(void);
/* An element in the midst of a buffer of such elements, filled by chance if they are numbers
 * ("d:double", "i:int", ...; "r:" and "p:" are for records and pointers). Where aliases are asked
 * for, it may be one that was given before. */
void *oracle_buffer(const char *kind, size_t element, long before, long after, int alone);
int oracle_is_new(void); /* the buffer given last: if not, it is filled already */
void oracle_adopt(const char *kind, void *at, size_t element, long n); /* a global array */
void oracle_fill(const char *kind, void *at, size_t element, long n);
void oracle_records(void (*show)(void *), void *at, size_t element, long n);
void oracle_shown(double x); /* a result that must be as in the serial run */

extern int oracle_on; /* the loop whose directive counts, in runs for results */

/* ---- made by oracle.py ---- */
void oracle_globals(void);
void oracle_call(int function);
void oracle_show_globals(void);

#ifdef __cplusplus
}
#endif
#endif
