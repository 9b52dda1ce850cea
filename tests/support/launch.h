/*
 * launch.h: launches kernels directly: tensors on the heap, and one launch on the real threads of
 * a CPU device, without programs or executors.
 */
#ifndef HPC_TEST_LAUNCH_H
#define HPC_TEST_LAUNCH_H

#include "runtime/device/kernel/kernel.h"

/* Instruction sets to test: all that this CPU supports, best first, NULL-terminated. With the
 * thread sanitizer only the best: sharing between threads does not depend on the set. */
const char *const *hpc_test_isas(void);

/* Does a set without bf16 instructions multiply bf16 by bf16, unless packed in panels, in integer
 * blocks (gemm.h)? hpc_test_fix applies the rounding of that to an operand of `lines` lines of
 * length n. Element (l,p) is at l ld + p or, by columns, at p ld + l. */
bool hpc_test_fixes(const char *isa);
void hpc_test_fix(double *x, int64_t lines, int64_t n, int64_t ld, bool columns);

/* All memory that a test allocates, freed together. Initialise with zeros. */
typedef struct hpc_test_heap {
    void *block[512];
    int n;
} hpc_test_heap;
void *hpc_test_heap_alloc(hpc_test_heap *h, size_t bytes); /* exactly `bytes`, aligned to 64 */
double *hpc_test_heap_doubles(hpc_test_heap *h, int64_t n);
void hpc_test_heap_free(hpc_test_heap *h);

/* A new tensor, filled with NaN patterns. Unused extents are 0. */
hpc_tensor hpc_test_tensor(hpc_test_heap *h, hpc_dtype d, int rank, int64_t e0, int64_t e1,
                           int64_t e2, int64_t e3);
hpc_tensor hpc_test_absent(void);
/* A copy with memory of its own. */
hpc_tensor hpc_test_twin(hpc_test_heap *h, const hpc_tensor *t);
void hpc_test_tensor_draw(const hpc_tensor *t, uint32_t seed, double scale); /* normals */
void hpc_test_tensor_set(const hpc_tensor *t, const double *x);              /* rounds */
void hpc_test_tensor_get(double *x, const hpc_tensor *t);
double *hpc_test_tensor_doubles(hpc_test_heap *h, const hpc_tensor *t);

/* Asserts that |x - wanted| <= tolerance * scale (NULL: 1) for each element. */
void hpc_test_near(const char *what, const double *x, const double *wanted, const double *scale,
                   double tolerance, int64_t n);

typedef int hpc_test_select(hpc_plan *p, const hpc_kernels *k, int workers, const void *args);
/* Selects with args and runs on `workers` threads; the workspace is filled with NaN patterns. isa:
 * one of hpc_test_isas, NULL, or a string that stays valid. */
int hpc_test_launch(hpc_test_select *select, const char *isa, int workers, const void *args);
/* Launches on two threads. Operands that the plan marks as touched only after a barrier contain NaN
 * patterns until the other worker waits for the first. operand: members of args in the order of the
 * plan's bits, at most 8. Returns whether the plan marks any. */
bool hpc_test_launch_late(hpc_test_select *select, const char *isa, const void *args,
                          const hpc_tensor *const *operand, int n);

#endif
