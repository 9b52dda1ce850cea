/*
 * expect.h: assertions about the return codes and error records of functions that can fail.
 */
#ifndef HPC_TEST_EXPECT_H
#define HPC_TEST_EXPECT_H

#include "runtime/base/base.h"

/* Asserts rc >= 0, printing the recorded error otherwise. */
#define test_ok(expr) hpc_test_ok((expr), #expr, __FILE__, __LINE__)
void hpc_test_ok(int rc, const char *expr, const char *file, int line);
/* Asserts that rc == code and that the recorded text contains `part`; clears the record. */
#define test_fails(expr, code, part) hpc_test_fails((expr), (code), (part), __FILE__, __LINE__)
void hpc_test_fails(int rc, int code, const char *part, const char *file, int line);
/* A fixture, plain or compressed by zstd; fails the test if it cannot be read. */
hpc_json *hpc_test_json(const char *path);

#endif
