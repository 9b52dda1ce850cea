/*
 * launch.h: kernels called by hand: tensors on the heap, and one launch on the
 * real threads of a CPU device. Programs and executors are not involved.
 */
#ifndef HPC_TEST_LAUNCH_H
#define HPC_TEST_LAUNCH_H

#include "runtime/device/kernel/kernel.h"

/* Those to test: all that this CPU can run, best first, and NULL. Under the thread sanitizer the
 * best alone: what threads share does not depend on the set. */
const char *const *hpc_test_isas(void);

/* Whether a set has no instructions for bf16 and multiplies it, bf16 by bf16 but in panels, in
 * blocks of integers (gemm.h); and what that makes of a factor: of `lines` of n along k, element
 * (l,p) at l ld + p or, by columns, at p ld + l. */
bool hpc_test_fixes(const char *isa);
void hpc_test_fix(double *x, int64_t lines, int64_t n, int64_t ld, bool columns);

/* Everything that a test allocates; freed at once. Zero it first. */
typedef struct hpc_test_heap {
    void *block[512];
    int n;
} hpc_test_heap;
void *hpc_test_heap_alloc(hpc_test_heap *h, size_t bytes); /* exactly so many, aligned to 64 */
double *hpc_test_heap_doubles(hpc_test_heap *h, int64_t n);
void hpc_test_heap_free(hpc_test_heap *h);

/* A tensor of its own memory, filled with NaN patterns. Unused extents are 0. */
hpc_tensor hpc_test_tensor(hpc_test_heap *h, hpc_dtype d, int rank, int64_t e0, int64_t e1,
                           int64_t e2, int64_t e3);
hpc_tensor hpc_test_absent(void);
/* The same type with memory of its own, and the same content. */
hpc_tensor hpc_test_twin(hpc_test_heap *h, const hpc_tensor *t);
void hpc_test_tensor_draw(const hpc_tensor *t, uint32_t seed, double scale); /* normals */
void hpc_test_tensor_set(const hpc_tensor *t, const double *x);              /* rounds */
void hpc_test_tensor_get(double *x, const hpc_tensor *t);
double *hpc_test_tensor_doubles(hpc_test_heap *h, const hpc_tensor *t);

/* Asserts that |x - wanted| <= tolerance * scale (1 where NULL) for each element. */
void hpc_test_near(const char *what, const double *x, const double *wanted, const double *scale,
                   double tolerance, int64_t n);

typedef int hpc_test_select(hpc_plan *p, const hpc_kernels *k, int workers, const void *args);
/* Selects with args and runs on `workers` threads, workspace full of NaN patterns. isa: one of
 * hpc_test_isas, NULL, or another string that stays. */
int hpc_test_launch(hpc_test_select *select, const char *isa, int workers, const void *args);
/* The same on two threads, while what its plan says it touches late, behind a meeting, is not there
 * before: full of NaN patterns until the other worker waits for the first. operand: of args, in the
 * order of the plan's bits; at most 8. Returns whether anything was late. */
bool hpc_test_launch_late(hpc_test_select *select, const char *isa, const void *args,
                          const hpc_tensor *const *operand, int n);

#endif
