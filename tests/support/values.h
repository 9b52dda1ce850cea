/*
 * values.h: reads and writes values of any dtype as doubles, and draws reproducible ones.
 */
#ifndef HPC_TEST_VALUES_H
#define HPC_TEST_VALUES_H

#include "runtime/program/op/op.h"
#include "runtime/program/run/run.h"
#include "tests/support/expect.h"

int64_t hpc_test_n(const hpc_program *p, hpc_value v);
/* Elements as doubles, rounded to the value's dtype, integers included. */
void hpc_test_write(hpc_exec *e, int slot, hpc_value v, const double *x);
void hpc_test_read(hpc_exec *e, int slot, hpc_value v, double *x);
void hpc_test_write_i32(hpc_exec *e, int slot, hpc_value v, const int32_t *x);
void hpc_test_write_scalar(hpc_exec *e, int slot, hpc_value v, double x);
/* Normals times scale; depend only on seed, not on device, dtype or rank. */
void hpc_test_draw(double *x, int64_t n, uint32_t seed, double scale);
/* Draws elements and writes them. */
void hpc_test_feed(hpc_exec *e, int slot, hpc_value v, uint32_t seed, double scale);
/* Largest |a-b| / (1 + |b|). */
double hpc_test_error(const double *a, const double *b, int64_t n);

#endif
