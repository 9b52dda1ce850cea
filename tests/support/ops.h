/*
 * ops.h: tests ops everywhere: a program of a few instructions runs in f64 with the reference
 * kernels and in its own types on every backend, instruction set and number of threads; results
 * are compared.
 *
 * A case is built between hpc_test_case_begin and hpc_test_case_check, which frees it. Elements
 * beyond a run-time extent are NaN (indices: far out of range), to detect reads.
 */
#ifndef HPC_TEST_OPS_H
#define HPC_TEST_OPS_H

#include "tests/support/values.h"

/* Bounds on the distance from the reference; ops.c has and explains the numbers. */
typedef enum hpc_test_bound {
    HPC_TEST_EXACT,   /* moved or selected, not computed: the reference's value, rounded */
    HPC_TEST_ROUNDED, /* a few operations in f32 for each element */
    HPC_TEST_SUMMED,  /* sums of products: see terms */
    HPC_TEST_CURVED,  /* exp, tanh, division and similar, also of sums */
    HPC_TEST_HALVED,  /* like CURVED, with intermediate operands rounded to bf16 */
    HPC_TEST_CHAINED, /* several instructions; intermediate values are rounded to their type */
    HPC_TEST_BOUND_N
} hpc_test_bound;

/* ---- the bench ---------------------------------------------------------------- */
/* Devices of all kinds, opened once, and the set of tested ops. For use as group state. */
typedef struct hpc_test_bench hpc_test_bench;
int hpc_test_bench_open(void **state, const char *file); /* "product" for product.c */
int hpc_test_bench_close(void **state);
/* Asserts that every op of the table is assigned to a file, and every op of this file
 * was tested. */
void hpc_test_bench_covers(void **state);
/* Asserts that every op with a backward rule was differentiated. */
void hpc_test_bench_differentiates(void **state);

/* ---- a case ------------------------------------------------------------------- */
enum { HPC_TEST_GIVEN_MOST = 32, HPC_TEST_WANTED_MOST = 16 };

typedef struct hpc_test_given {
    hpc_value value;
    double *data;  /* rounded to the value's type */
    uint8_t *raw;  /* block formats: the blocks that `data` was read from; converting back would
                      change them */
    int64_t n;     /* elements */
    bool constant; /* has no gradient; results need not depend on every element */
} hpc_test_given;

typedef struct hpc_test_wanted {
    hpc_value value;
    hpc_test_bound bound;
    int64_t terms;
    double exponent;
    double half_step; /* relative error of storing */
    int64_t n;        /* elements in memory, padding included */
    double *correct;  /* result of the reference */
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
    int64_t terms;     /* longest sum in the next output */
    double exponent;   /* largest argument of exp in it */
    bool fixes;        /* multiplies bf16 by bf16, not in panels: see launch.h */
    hpc_value same[2]; /* two values that must share an address, where visible */
} hpc_test_case;

/* f32[5,7] is test_type(HPC_F32, 5, 7); a scalar is hpc_type_of(d, 0, NULL). */
#define test_type(dtype, ...)                                                                      \
    hpc_type_of((dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                \
                (int64_t[]){__VA_ARGS__})

void hpc_test_case_begin(hpc_test_case *c, void **state, const char *name, ...)
    __attribute__((format(printf, 3, 4)));
/* An input of normals times scale. */
hpc_value hpc_test_input(hpc_test_case *c, hpc_type t, double scale);
hpc_value hpc_test_state(hpc_test_case *c, hpc_type t, double scale, bool trainable);
/* An input with these elements, of any type. */
hpc_value hpc_test_input_of(hpc_test_case *c, hpc_type t, const double *data);
hpc_value hpc_test_indices(hpc_test_case *c, hpc_type t, const int32_t *data);
hpc_value hpc_test_scalar(hpc_test_case *c, hpc_dtype d, double x);
void hpc_test_zeros(hpc_test_case *c, hpc_value v); /* fills the existing v with zeros */
hpc_test_given *hpc_test_given_of(hpc_test_case *c, hpc_value v);
/* A value computed from x and equal to it, whose memory is released after its last use. */
hpc_value hpc_test_temporary(hpc_test_case *c, hpc_value x);
void hpc_test_want(hpc_test_case *c, hpc_value v, hpc_test_bound bound);
/* y reuses the memory of x. */
void hpc_test_in_place(hpc_test_case *c, hpc_value y, hpc_value x);

/* Runs the case everywhere, all segments in order. Asserts that results are within bounds of the
 * reference on every device, and that bits are the same for 1, 2 and 7 threads and on mock. Asserts
 * for each real input that changing an element that results depend on exceeds the bounds. */
void hpc_test_case_check(hpc_test_case *c);
/* Runs the reference only, into wanted[].correct; free with hpc_test_case_free. */
void hpc_test_case_solve(hpc_test_case *c);
void hpc_test_case_free(hpc_test_case *c);

/* Rounds to type d. */
void hpc_test_round(double *x, hpc_dtype d, int64_t n);

/* ---- for harnesses on top: p is the program that e runs, c->p or its form in f64 --- */
/* Elements of v in memory as doubles; the caller frees. */
double *hpc_test_fetch(hpc_exec *e, const hpc_program *p, hpc_value v, int64_t *n);
/* Live elements of v by the counts in e; the caller frees. */
bool *hpc_test_live(hpc_exec *e, const hpc_program *p, hpc_value v, int64_t n);
/* Writes all inputs; fills elements that are not live with invalid values. */
void hpc_test_give(hpc_exec *e, const hpc_program *p, const hpc_test_case *c);
/* The bench's reference device: cpu, one thread. */
hpc_device *hpc_test_bench_device(hpc_test_bench *b);
void hpc_test_bench_saw(hpc_test_bench *b, const hpc_program *p);
/* Counts cases that were begun and not freed: after a failure their devices are still in use. */
void hpc_test_bench_hold(hpc_test_bench *b, int more);

#endif
