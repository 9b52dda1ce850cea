/*
 * gradient.h: backward rules against central differences: a case of ops.h,
 * differentiated as a program, so that it is the rules which are tested and not
 * kernels alone.
 */
#ifndef HPC_TEST_GRADIENT_H
#define HPC_TEST_GRADIENT_H

#include "tests/support/ops.h"

/* Gradients of what is given, by its number; HPC_NONE where it is constant, or not real. */
typedef struct hpc_test_gradient {
    hpc_value of[HPC_TEST_GIVEN_MOST];
} hpc_test_gradient;

/* Differentiates all that c wants, by drawn seeds, which are given too, for all that is given and
 * not constant. Accumulators start at zero. `accumulate`: add to them in a segment of its own. */
hpc_test_gradient hpc_test_differentiate(hpc_test_case *c, bool accumulate);
/* The return code of the same, for what cannot be differentiated. */
int hpc_test_differentiate_fails(hpc_test_case *c);
/* c, all in f64: does that, and compares elements of each gradient with central differences of
 * what c wants; frees c. */
void hpc_test_gradient_check(hpc_test_case *c);

#endif
