/*
 * ops.h: one op at a time, everywhere: a program of a few instructions, run in
 * f64 by the reference kernels and in its own types on every backend,
 * instruction set and number of threads, results held against each other.
 *
 * A case is built between hpc_test_case_begin and hpc_test_case_check, which
 * also frees it. What is beyond a run-time extent is given as NaN (indices: far
 * out of range), so that reading it shows.
 */
#ifndef HPC_TEST_OPS_H
#define HPC_TEST_OPS_H

#include "tests/support/values.h"

/* How far results may be from the reference; the figures and their reasons are in ops.c. */
typedef enum hpc_test_bound {
    HPC_TEST_EXACT,   /* moved or chosen, not computed: the reference's value, rounded */
    HPC_TEST_ROUNDED, /* a few operations in f32 for each element */
    HPC_TEST_SUMMED,  /* sums of products: see terms */
    HPC_TEST_CURVED,  /* exp, tanh, division and the like, of sums too */
    HPC_TEST_HALVED,  /* as the last, and factors made on the way are rounded to bf16 */
    HPC_TEST_CHAINED, /* several instructions, what is between them rounded to its type */
    HPC_TEST_BOUND_N
} hpc_test_bound;

/* ---- the bench ---------------------------------------------------------------- */
/* Devices of all kinds, opened once, and the ops that have had a case. As group state. */
typedef struct hpc_test_bench hpc_test_bench;
int hpc_test_bench_open(void **state, const char *file); /* "product": of tests/ops */
int hpc_test_bench_close(void **state);
/* Asserts that each op of the table is some file's to test, and each of this file's had a case. */
void hpc_test_bench_covers(void **state);
/* Asserts that each op with a backward rule has been in a program that was differentiated. */
void hpc_test_bench_differentiates(void **state);

/* ---- a case ------------------------------------------------------------------- */
enum { HPC_TEST_GIVEN_MOST = 32, HPC_TEST_WANTED_MOST = 16 };

typedef struct hpc_test_given {
    hpc_value value;
    double *data;  /* rounded to the value's type */
    uint8_t *raw;  /* of block formats: the blocks that data is read from; to go there and back
                      again would change them */
    int64_t n;     /* elements */
    bool constant; /* no gradient passes to it; results need not depend on each element */
} hpc_test_given;

typedef struct hpc_test_wanted {
    hpc_value value;
    hpc_test_bound bound;
    int64_t terms;
    double exponent;
    double half_step; /* what storing may cost, of what is stored */
    int64_t n;        /* elements in memory, padding included */
    double *correct;  /* by the reference */
    bool *live;
} hpc_test_wanted;

typedef struct hpc_test_case {
    hpc_test_bench *bench;
    hpc_program *p; /* emission goes to its segment forward[0] */
    char name[128];
    hpc_test_given given[HPC_TEST_GIVEN_MOST];
    int given_n;
    hpc_test_wanted wanted[HPC_TEST_WANTED_MOST];
    int wanted_n;
    int64_t terms;     /* of the longest sum in what is wanted next ... */
    double exponent;   /* ... and its largest argument of an exp */
    bool fixes;        /* somewhere bf16 is multiplied by bf16 (but in panels): see launch.h */
    hpc_value same[2]; /* to lie at one address where there is one to see */
} hpc_test_case;

/* f32[5,7] is test_type(HPC_F32, 5, 7); a scalar is hpc_type_of(d, 0, NULL). */
#define test_type(dtype, ...)                                                                      \
    hpc_type_of((dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                \
                (int64_t[]){__VA_ARGS__})

void hpc_test_case_begin(hpc_test_case *c, void **state, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
/* Normals times scale. */
hpc_value hpc_test_input(hpc_test_case *c, hpc_type t, double scale);
hpc_value hpc_test_state(hpc_test_case *c, hpc_type t, double scale, bool trainable);
/* Given elements, of any type. */
hpc_value hpc_test_input_of(hpc_test_case *c, hpc_type t, const double *data);
hpc_value hpc_test_indices(hpc_test_case *c, hpc_type t, const int32_t *data);
hpc_value hpc_test_scalar(hpc_test_case *c, hpc_dtype d, double x);
void hpc_test_zeros(hpc_test_case *c, hpc_value v); /* v exists already; it is given zeros */
hpc_test_given *hpc_test_given_of(hpc_test_case *c, hpc_value v);
/* A value computed from x, equal to it, whose memory is free after its last use. */
hpc_value hpc_test_temporary(hpc_test_case *c, hpc_value x);
void hpc_test_want(hpc_test_case *c, hpc_value v, hpc_test_bound bound);
/* y takes the memory of x. */
void hpc_test_in_place(hpc_test_case *c, hpc_value y, hpc_value x);

/* Runs it everywhere, all segments in order, and asserts: within bounds of the reference on every
 * device; the same bits for 1, 2 and 7 threads, and on mock; out of bounds when an element that a
 * result depends on is changed, for each real operand given. */
void hpc_test_case_check(hpc_test_case *c);
/* The reference alone, into wanted[].correct; then hpc_test_case_free. */
void hpc_test_case_solve(hpc_test_case *c);
void hpc_test_case_free(hpc_test_case *c);

/* Rounds to what d can hold. */
void hpc_test_round(double *x, hpc_dtype d, int64_t n);

/* ---- for harnesses on top: p is the program that e runs, c->p or its form in f64 --- */
/* Elements of v in memory as doubles; the caller frees. */
double *hpc_test_fetch(hpc_exec *e, const hpc_program *p, hpc_value v, int64_t *n);
/* Which elements of v are live, by the counts that e holds; the caller frees. */
bool *hpc_test_live(hpc_exec *e, const hpc_program *p, hpc_value v, int64_t n);
/* Writes all that is given; what is not live is spoiled. */
void hpc_test_give(hpc_exec *e, const hpc_program *p, const hpc_test_case *c);
/* The device of the bench that the reference runs on: cpu, one thread. */
hpc_device *hpc_test_bench_device(hpc_test_bench *b);
void hpc_test_bench_saw(hpc_test_bench *b, const hpc_program *p);
/* Counts cases begun and not freed: after a failure, theirs are the devices still in use. */
void hpc_test_bench_hold(hpc_test_bench *b, int more);

#endif
