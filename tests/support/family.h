/*
 * family.h: the fixtures in tests/fixtures/families: expected values, and comparisons with them.
 */
#ifndef HPC_TEST_FAMILY_H
#define HPC_TEST_FAMILY_H

#include "tests/support/model.h"

enum { HPC_TEST_FAMILY_MOST = 8192 }; /* numbers of a tensor */

/* Writes the path of a fixture's file, or with "" of its folder, of PATH_MAX chars; returns it. */
const char *hpc_test_family_path(char *out, const char *fixture, const char *file);
/* A tensor of expected.safetensors as doubles; returns its length. */
int64_t hpc_test_family_expected(double *out, const char *fixture, const char *tensor);
/* The largest difference, relative to the largest magnitude of b, and to `least` at least. NaN if
 * there is one. */
double hpc_test_distance(const double *a, const double *b, int64_t n, double least);
/* Reads all parameters from a model directory into m. */
void hpc_test_family_load(hpc_test_model *m, const char *dir);
/* Feeds the fixture's documents. */
void hpc_test_family_feed(hpc_test_model *m, const char *fixture);
/* Compares the projections of all gradients of m with the fixture's; differences are relative to
 * the length of a gradient. Writes the gradients as a model directory first. */
void hpc_test_family_gradients(hpc_test_model *m, const char *fixture, double bound);

#endif
