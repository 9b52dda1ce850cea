/*
 * gradient.h: compares gradients with central differences. A case of ops.h is differentiated as a
 * program, so the test covers the backward rules, not only kernels.
 */
#ifndef HPC_TEST_GRADIENT_H
#define HPC_TEST_GRADIENT_H

#include "tests/support/ops.h"

/* Gradients of inputs, by input number; HPC_NONE for constants and integers. */
typedef struct hpc_test_gradient {
    hpc_value of[HPC_TEST_GIVEN_MOST];
} hpc_test_gradient;

/* Differentiates all outputs of c with random seeds, which become inputs, by all inputs that are
 * not constant. Accumulators start at zero. `accumulate`: add to them in a separate segment. */
hpc_test_gradient hpc_test_differentiate(hpc_test_case *c, bool accumulate);
/* Returns the error code for a program that cannot be differentiated. */
int hpc_test_differentiate_fails(hpc_test_case *c);
/* Differentiates c, whose values must all be f64, compares elements of each gradient with central
 * differences, and frees c. */
void hpc_test_gradient_check(hpc_test_case *c);

#endif
